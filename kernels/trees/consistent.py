"""Noise of prefixes of a tree whose nodes all have noise, refined by what the nodes disagree on.

The tree has levels 1, ..., h from the top, without a root. Level 1 has ``branching[0]`` nodes, and
each node of level l has ``branching[l]`` children. The nodes of level h are the steps. At a step, a
*path* leads from the top to the step that comes next. The state holds, for each level, the noise of
all children of the node on the path, finished ones and those to come.

All variances are in units of the variance of one node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel


@inner
def _refined(branching: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the variance of a finished node on each level, once its descendants have refined it.

    The best estimate from the node (1) and the sum of its refined children (k r).
    """
    levels = branching.size
    variances = np.ones(levels)
    for level in range(levels - 2, -1, -1):
        below = branching[level + 1] * variances[level + 1]
        variances[level] = below / (1.0 + below)
    return variances


@inner
def _digits(at: int, branching: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of finished children before the path, on each level.

    If all steps are taken, the first digit is ``branching[0]`` and the others are 0.
    """
    digits = np.empty(branching.size, np.int64)
    for level in range(branching.size - 1, 0, -1):
        digits[level] = at % branching[level]
        at //= branching[level]
    digits[0] = at
    return digits


@inner
def _weights(
    finished: int, children: int, refined: float, joint: float, own: float
) -> tuple[float, float]:
    """Return by how much an unexplained difference corrects the prefix and the next node.

    ``joint`` is the covariance of the errors of the prefix before the parent and of the parent, and
    ``own`` is the variance of the latter. The difference is the parent's error minus its
    children's: ``finished`` refined ones, and others of variance 1. Both are regressed on it.
    """
    spread = own + finished * refined + (children - finished)
    return (joint - finished * refined) / spread, 1.0 / spread


@kernel
def path_noise(
    whole: NDArray[np.int64],
    rest: NDArray[np.float64],
    draws: NDArray[np.int64],
    nodes: NDArray[np.int64],
    corrections: NDArray[np.float64],
    branching: NDArray[np.int64],
    at: int,
) -> None:
    """Overwrite steps at + 1, at + 2, ... with the noise of the steps so far.

    Parameters
    ----------
    whole
        (K, W), overwritten with the sum of the noise of the largest finished nodes.
    rest
        (K, W), overwritten with the correction. It depends on the differences between nodes and
        the sums over all of their children only, which are taken in integers.
    draws
        (D, W) the noise of the nodes that open, groups of siblings in the order of opening; of
        groups that open together, the highest first.
    nodes
        (sum of branching, W) the noise of the children of the path's nodes, highest level first;
        updated in place. At step 1 all of it is overwritten.
    corrections
        (h, W) the sum of the corrections of the finished children; updated in place.
    branching
        (h,) the children of a node.
    at
        The number of steps that came before.

    Notes
    -----
    O(W (K + D)), and O(W) for each of the nodes held. Invariant, before each step: row l of
    ``sums``, ``shifts`` and ``nexts`` is the noise of the finished nodes down to level l, its
    correction, and that of the node which the path enters there; ``joint`` and ``own`` are the
    covariance and variance of the errors. All follow from the state, so that results do not depend
    on how calls divide the steps.
    """
    levels, width = corrections.shape
    starts = np.zeros(levels + 1, np.int64)
    for level in range(levels):
        starts[level + 1] = starts[level] + branching[level]
    refined = _refined(branching)
    digits = _digits(at, branching)
    partial = np.zeros((levels, width), np.int64)  # noise of the finished children
    apart = np.zeros((levels, width), np.int64)  # a parent minus the sum of its children
    sums = np.zeros((levels + 1, width), np.int64)
    shifts, nexts = np.zeros((levels + 1, width)), np.zeros((levels + 1, width))
    joint, own = np.zeros(levels + 1), np.ones(levels + 1)
    for level in range(levels):
        first = starts[level]
        for child in range(branching[level]):
            for w in range(width):
                if child < digits[level]:
                    partial[level, w] += nodes[first + child, w]
                apart[level, w] -= nodes[first + child, w]
        if level > 0:
            parent = starts[level - 1] + digits[level - 1]
            for w in range(width):
                apart[level, w] += nodes[parent, w]
    changed = 0  # the highest level whose path is not up to date
    opened = levels  # the highest level whose children have not been drawn
    if at == 0:
        opened = 0
    used = 0
    for i in range(whole.shape[0] + 1):
        # at i = 0 the path as it was before is made again
        if i > 0:
            changed = levels - 1
            last = starts[changed] + digits[changed]
            for w in range(width):
                partial[changed, w] += nodes[last, w]
            digits[changed] += 1
            while changed > 0 and digits[changed] == branching[changed]:
                below = branching[changed] * refined[changed]
                share = 1.0 / (1.0 + below)
                parent = starts[changed - 1] + digits[changed - 1]
                for w in range(width):
                    gap = apart[changed, w] - corrections[changed, w]
                    corrections[changed - 1, w] -= share * gap
                    partial[changed - 1, w] += nodes[parent, w]
                digits[changed] = 0
                digits[changed - 1] += 1
                changed -= 1
            opened = changed + 1
        is_over = digits[0] == branching[0]
        if is_over:
            for w in range(width):
                whole[i - 1, w] = partial[0, w]
                rest[i - 1, w] = corrections[0, w]
            break
        for level in range(opened, levels):
            first = starts[level]
            for w in range(width):
                partial[level, w] = 0
                corrections[level, w] = 0.0
                apart[level, w] = 0
            if level > 0:
                parent = starts[level - 1] + digits[level - 1]
                for w in range(width):
                    apart[level, w] = nodes[parent, w]
            for child in range(branching[level]):
                for w in range(width):
                    nodes[first + child, w] = draws[used, w]
                    apart[level, w] -= draws[used, w]
                used += 1
        for level in range(changed, levels):
            if level == 0:  # there is no root to compare with
                on_prefix, on_next = 0.0, 0.0
            else:
                on_prefix, on_next = _weights(
                    digits[level], branching[level], refined[level], joint[level], own[level]
                )
            joint[level + 1], own[level + 1] = on_prefix, 1.0 - on_next
            for w in range(width):
                gap = apart[level, w] + nexts[level, w] - corrections[level, w]
                sums[level + 1, w] = sums[level, w] + partial[level, w]
                shifts[level + 1, w] = shifts[level, w] + corrections[level, w] - on_prefix * gap
                nexts[level + 1, w] = on_next * gap
        if i > 0:
            for w in range(width):
                whole[i - 1, w] = sums[levels, w]
                rest[i - 1, w] = shifts[levels, w]


@kernel
def path_variances(
    steps: NDArray[np.int64], branching: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """Overwrite with the variance of the noise at some steps, 1 to the product of ``branching``.

    In units of the variance of one node. O(h) for each step.
    """
    refined = _refined(branching)
    for i in range(steps.size):
        digits = _digits(steps[i], branching)
        variance, joint, own = digits[0] * refined[0], 0.0, 1.0
        if digits[0] < branching[0]:
            for level in range(1, branching.size):
                j, r = digits[level], refined[level]
                on_prefix, on_next = _weights(j, branching[level], r, joint, own)
                variance += j * r - on_prefix * (joint - j * r)
                joint, own = on_prefix, 1.0 - on_next
        out[i] = variance


@kernel
def path_covariances(
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    branching: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Overwrite with the covariance of the noise at ``first`` and ``last``, 0 <= first < last.

    In units of the variance of one node. O(h) for each pair.

    Notes
    -----
    The noise at the last step is uncorrelated with all differences between nodes that are drawn by
    then. So its covariance with the noise at the first step is that with the noise of the nodes
    that are finished there: the sum of their weights in the noise at the last step. A finished
    child of the last step's path has weight ``on_child`` for its refined sum, which divides it
    among itself (the refined variance r) and its children (1 - r).
    """
    levels = branching.size
    refined = _refined(branching)
    on_prefixes, on_nexts = np.zeros(levels), np.zeros(levels)
    on_child = np.ones(levels)
    for i in range(first.size):
        start, end = _digits(first[i], branching), _digits(last[i], branching)
        joint, own = 0.0, 1.0
        for level in range(1, levels):
            if end[0] < branching[0]:
                on_prefixes[level], on_nexts[level] = _weights(
                    end[level], branching[level], refined[level], joint, own
                )
                joint, own = on_prefixes[level], 1.0 - on_nexts[level]
            else:
                on_prefixes[level], on_nexts[level] = 0.0, 0.0
        on_next = 0.0  # the weight of the error of the path's node
        for level in range(levels - 1, 0, -1):
            on_next = on_nexts[level] * on_next - on_prefixes[level]
            on_child[level] = 1.0 - on_next
        total, is_below, weight = 0.0, False, 1.0
        for level in range(levels):
            if not is_below:
                weight = on_child[level]
            total += start[level] * weight * refined[level]
            is_below = is_below or start[level] != end[level]
            weight *= 1.0 - refined[level]
        out[i] = total
