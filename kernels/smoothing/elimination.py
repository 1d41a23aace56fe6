"""Elimination without fill on the dyadic graph.

Vertices are the boundaries 0, ..., B around B thresholds. Edges are the noise nodes
(docs/proofs/dyadic.md). Boundary v is *separated* on the levels on which the thresholds next to
it are under different nodes. It is eliminated when they come under one node. This is done level by
level, so that neighbouring eliminations do not wait for each other. By then its only neighbours are
``left[v]``, the start of that node, and ``right[v]``, the next boundary that is separated at least
as long: the node's end, or v's next sibling. Each boundary has two later neighbours, so time and
memory are O(B).

The conductance of an edge is stored with the end that is eliminated first. Slot 2 v is the edge
from v to ``left[v]`` (empty at first if a sibling stands between). Slot 2 v + 1 is the edge from v
to ``right[v]``. Eliminating v adds to the slot of the edge between its neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


def separations(at: NDArray[np.int64], base: int, levels: int) -> NDArray[np.uint8]:
    """Return the number of levels on which each boundary is separated, (B + 1,).

    The two ends are separated on all levels.

    Parameters
    ----------
    at
        (B,) increasing indices of thresholds.
    base
        Children per node.
    levels
        L + 1, the number of levels of the whole tree.
    """
    separated = np.full(at.size + 1, levels, np.uint8)
    separated[1:-1] = 0
    nodes = at
    while nodes[-1] != nodes[0]:
        separated[1:-1] += nodes[1:] != nodes[:-1]
        nodes = nodes // base
    return separated


Plan = tuple[
    NDArray[np.int64],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.float64],
]


def plan(separated: NDArray[np.uint8]) -> Plan:
    """Return the order of elimination, and the graph with its vertices numbered in that order.

    Parameters
    ----------
    separated
        (B + 1,) from ``separations``, B >= 1.

    Returns
    -------
    order
        (B + 1,) the boundaries, sorted by how long they are separated. It ends with 0 and B.
    left, right
        (B + 1,) the later neighbours of the i-th boundary to be eliminated, by their places in the
        order. Both neighbours of boundary 0 are B, and the last boundary has none.
    fill
        (B + 1,) the slot of the edge between those neighbours.
    conductances
        (2 B + 2,) the number of tree nodes that an edge stands for. 0: no edge.
    """
    order = np.argsort(separated, kind="stable")  # these are bytes, so this is a counting sort
    return (order, *_numbered(separated.astype(np.int64), order))


@kernel
def _numbered(
    separated: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]:
    """Return all results of ``plan`` but the order.

    Invariant: before boundary u, the stack holds the boundaries before u that are separated longer
    than all boundaries between them and u, in decreasing order.
    """
    last = separated.size - 1
    place, stack = np.empty(last + 1, np.int64), np.empty(last + 1, np.int64)
    left, right = np.empty(last + 1, np.int64), np.empty(last + 1, np.int64)
    to_left, to_right = np.empty(last + 1), np.empty(last + 1)
    for v in range(last + 1):
        place[order[v]] = v
        left[v] = right[v] = last
        to_left[v] = to_right[v] = 0.0
    stack[0] = 0
    depth = 1
    for u in range(1, last + 1):
        between = 0  # the longest separation of boundaries between the stack's top and u
        while depth > 1 and separated[stack[depth - 1]] <= separated[u]:
            depth -= 1
            v = stack[depth]
            left[v], right[v] = stack[depth - 1], u
            to_right[v] = separated[v] - between
            between = separated[v]
        if u == last:
            to_right[0] = separated[u] - between  # the root and the nodes that cover as much
        elif between < separated[u]:
            to_left[u] = separated[u] - between
        stack[depth] = u
        depth += 1
    fill, conductances = np.empty(last + 1, np.uint32), np.empty(2 * last + 2)
    new_left, new_right = np.empty(last + 1, np.uint32), np.empty(last + 1, np.uint32)
    for i in range(last + 1):
        v = order[i]
        conductances[2 * i], conductances[2 * i + 1] = to_left[v], to_right[v]
        new_left[i], new_right[i] = place[left[v]], place[right[v]]
        fill[i] = 2 * last
        if 0 < v < last:
            goes_first = separated[left[v]] <= separated[right[v]] > separated[v]
            fill[i] = 2 * place[left[v]] + 1 if goes_first else 2 * place[right[v]]
    return new_left, new_right, fill, conductances


@kernel
def segments(
    fill: NDArray[np.uint32], conductances: NDArray[np.float64]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float32]]:
    """Return the eliminations as a binary tree: each joins two segments of the line into one.

    Eliminating v replaces the two segments that meet in v by one, from ``left[v]`` to ``right[v]``.
    Segment i < B - 1 is the one that the i-th elimination makes. The B segments between
    neighbouring boundaries come after them, in the order in which they are needed.

    Parameters
    ----------
    fill, conductances
        From ``plan``.

    Returns
    -------
    first, second
        (B - 1,) the segments to the left and to the right of an eliminated vertex.
    direct
        (2 B - 1,) the conductance of the edge that joins the two ends of a segment directly.
    """
    last = fill.size - 1
    first, second = np.empty(last - 1, np.uint32), np.empty(last - 1, np.uint32)
    direct = np.empty(2 * last - 1, np.float32)  # the values are small integers
    at_slot = np.full(2 * last + 1, -1)
    fresh = last - 1
    for v in range(last - 1):
        for slot in range(2 * v, 2 * v + 2):
            if at_slot[slot] < 0:
                at_slot[slot] = fresh
                direct[fresh] = conductances[slot]
                fresh += 1
        first[v], second[v] = at_slot[2 * v], at_slot[2 * v + 1]
        at_slot[fill[v]] = v
        direct[v] = conductances[fill[v]]
    if last == 1:
        direct[0] = conductances[1]
    return first, second, direct


@kernel
def add_laplacian(
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    conductances: NDArray[np.float32],
    potentials: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add the Laplacian times ``potentials``, (B + 1,), to ``out``."""
    for v in range(left.size):
        to_left = conductances[2 * v] * (potentials[v] - potentials[left[v]])
        to_right = conductances[2 * v + 1] * (potentials[v] - potentials[right[v]])
        out[left[v]] -= to_left
        out[right[v]] -= to_right
        out[v] += to_left + to_right
