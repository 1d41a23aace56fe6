"""The consistent tree by one least-squares problem a step, over all nodes that have opened."""

from __future__ import annotations

import numpy as np


def tree_groups(branching):
    """Groups of siblings in their order of opening: (level, first step, parent's column)."""
    size = int(np.prod(branching))
    spans = [size // int(np.prod(branching[:level])) for level in range(len(branching) + 1)]
    opening = sorted(
        (first, level) for level in range(len(branching)) for first in range(0, size, spans[level])
    )
    groups, columns, used = [], {}, 0
    for first, level in opening:
        width = spans[level + 1]
        parent = columns.get((level - 1, first // spans[level] * spans[level]))
        groups.append((level, first, width, used, parent))
        for child in range(branching[level]):
            columns[level, first + child * width] = used + child
        used += branching[level]
    return groups, used


def consistent_matrices(branching):
    """Of all steps: the sums of finished nodes (T, nodes), the invariants, and their openings."""
    groups, count = tree_groups(branching)
    size = int(np.prod(branching))
    sums = np.zeros((size, count), int)
    invariants, openings = [], []
    for level, first, width, start, parent in groups:
        children = branching[level]
        last = first + children * width
        for step in range(1, size + 1):
            finished = (step - first) // width
            if first < step < last or (step == size and level == 0):
                sums[step - 1, start : start + finished] = 1
        if parent is not None:
            row = np.zeros(count, int)
            row[parent] = 1
            row[start : start + children] = -1
            invariants.append(row)
            openings.append(first)
    return sums, np.array(invariants, int).reshape(-1, count), np.array(openings, int)


def consistent_matrix(branching):
    """B (T, nodes): what no opened invariant predicts of the sum of the finished nodes."""
    sums, invariants, openings = consistent_matrices(branching)
    refined = sums.astype(float)
    for step in range(1, len(sums) + 1):
        known = invariants[openings <= step]
        if len(known):
            refined[step - 1] -= known.T @ np.linalg.lstsq(known.T, sums[step - 1], rcond=None)[0]
    return refined


def record_shift(branching, step):
    """The change of all nodes' counts if a record comes at a step, 0 to T - 1."""
    groups, count = tree_groups(branching)
    shift = np.zeros(count, int)
    for level, first, width, start, _ in groups:
        if first <= step < first + branching[level] * width:
            shift[start + (step - first) // width] = 1
    return shift
