"""The tree of noise nodes over M thresholds, any M, any base: its sums, and its distances.

Node j of level l covers thresholds j base^l + 1, ..., (j + 1) base^l, as far as they exist. There
are ceil(M / base^l) nodes on level l, and levels 0, ..., L = ceil(log_base M). Each node is an edge
between the boundaries at its two ends, and these edges make the *dyadic graph*
(docs/proofs/dyadic.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel


@kernel
def node_count(size: int, base: int) -> int:
    """Return the number of nodes of the tree over ``size`` >= 1 thresholds; O(log size)."""
    total = size
    while size > 1:
        size = (size - 1) // base + 1
        total += size
    return total


@inner
def _hand_down(parents: NDArray[np.int64], children: NDArray[np.int64], base: int) -> None:
    """Add each parent to its children; the last parent may have fewer than ``base`` children."""
    full = children.size // base
    if base == 2:  # most trees; with two additions in a row, the compiler vectorises over parents
        for parent in range(full):
            children[2 * parent] += parents[parent]
            children[2 * parent + 1] += parents[parent]
    else:
        for parent in range(full):
            above = parents[parent]
            for child in range(parent * base, parent * base + base):
                children[child] += above
    for child in range(full * base, children.size):
        children[child] += parents[full]


@kernel
def add_ancestors(nodes: NDArray[np.int64], base: int, out: NDArray[np.int64]) -> None:
    """Add to each threshold the sum of the nodes that cover it; O(M).

    Parameters
    ----------
    nodes
        (R, node_count(M, base)), level 0 first. It is overwritten: levels above 0 are summed in
        place.
    base
        The number of children of a node.
    out
        (R, M), added to in place.

    Notes
    -----
    Invariant: once level l is done, its entries hold the sum of the node and all its ancestors.
    """
    starts = np.zeros(65, np.int64)
    size, top = out.shape[1], 0
    starts[1] = size
    while size > 1:
        size = (size - 1) // base + 1
        top += 1
        starts[top + 1] = starts[top] + size
    for r in range(out.shape[0]):
        row = nodes[r]
        for level in range(top, 0, -1):
            parents = row[starts[level] : starts[level + 1]]
            _hand_down(parents, row[starts[level - 1] : starts[level]], base)
        for i in range(out.shape[1]):
            out[r, i] += row[i]


@inner
def _around(i: int, j: int, length: int) -> int:
    """Return the distance between positions i and j of a cycle."""
    gap = abs(i - j)
    return min(gap, length - gap)


@inner
def _between(
    first: NDArray[np.int64], i: int, second: NDArray[np.int64], j: int, length: int
) -> int:
    """Return the largest distance from a vertex of child i to one of child j > i on a cycle.

    A child is given by its profile (see ``diameter``).
    """
    largest = 0
    for skew in range(3):
        for other in range(3):
            if first[skew] < 0 or second[other] < 0:
                continue
            left = first[skew]
            right = left + skew - 1
            near = second[other]
            far = near + other - 1
            shortest = min(
                left + _around(i, j, length) + near,
                left + _around(i, j + 1, length) + far,
                right + _around(i + 1, j, length) + near,
                right + _around(i + 1, j + 1, length) + far,
            )
            largest = max(largest, shortest)
    return largest


@inner
def _join(
    child: NDArray[np.int64], copies: int, last: NDArray[np.int64], has_last: bool
) -> tuple[NDArray[np.int64], int]:
    """Put ``copies`` equal children and perhaps a last one under a node.

    Return the node's profile, and the largest distance between vertices of *different* children.
    """
    children = copies + has_last
    if children == 1:
        return (last if has_last else child).copy(), 0
    length = children + 1  # the children are in series, and the node itself closes the cycle
    profile = np.full(3, -1, np.int64)
    largest = 0
    for i in range(children):
        here = child if i < copies else last
        for skew in range(3):
            if here[skew] < 0:
                continue
            left = here[skew]
            right = left + skew - 1
            to_first = min(left + _around(i, 0, length), right + _around(i + 1, 0, length))
            to_last = min(
                left + _around(i, children, length), right + _around(i + 1, children, length)
            )
            at = to_last - to_first + 1
            profile[at] = max(profile[at], to_first)
    for i in range(1, copies):  # the children are equal, so only the gap between them matters
        largest = max(largest, _between(child, 0, child, i, length))
    if has_last:
        for i in range(copies):
            largest = max(largest, _between(child, i, last, copies, length))
    return profile, largest


@kernel
def distances(size: int, base: int) -> tuple[int, int]:
    """Return the largest distances in the dyadic graph: between any boundaries, and to the last.

    The first is between boundaries other than the last. The results are exact, in O(base log size),
    without the graph. A node is a unit edge that closes the cycle of its children, so a shortest
    path between two vertices under a node never gains by leaving it. Only d(v, a) and d(v, c) of a
    vertex v under the node (a, c) matter outside of the node, and these differ by at most one. The
    *profile* of a node holds, for each value of d(v, c) - d(v, a) in {-1, 0, 1}, the largest d(v,
    a) (or -1), where v is any boundary of the node except c. Distances grow with d(v, a) when the
    difference is fixed, so the largest decides. The nodes of one level are alike except the last
    one. docs/proofs/dyadic.md, section 4, has the proof.

    Invariant: before height h, ``whole`` and ``ragged`` are the profiles of a full node of height
    h - 1 and of the incomplete last one; ``best`` is the largest distance inside any of them.
    """
    if size < 1:
        return 0, 0
    whole = np.array([-1, -1, 0], np.int64)  # one threshold has only its left boundary
    ragged = np.full(3, -1, np.int64)
    has_ragged = False
    best = 0
    span = 1  # the number of thresholds under a full node of the height below
    while span < size:
        has_full = span <= (size - 1) // base  # span * base < size: the root is higher up
        last_covers = size % (span * base) if has_full else size
        if last_covers > 0:
            last, inside = _join(whole, last_covers // span, ragged, has_ragged)
            best = max(best, inside)
        else:
            last = np.full(3, -1, np.int64)
        if has_full:
            whole, inside = _join(whole, base, ragged, False)
            best = max(best, inside)
            span *= base
        else:
            span = size
        ragged = last
        has_ragged = last_covers > 0
    root = ragged if has_ragged else whole
    to_last = 0  # the last boundary is in no profile
    for skew in range(3):
        if root[skew] >= 0:
            to_last = max(to_last, root[skew] + skew - 1)
    return best, to_last


@kernel
def diameter(size: int, base: int) -> int:
    """Return the largest shortest-path distance in the dyadic graph over ``size`` thresholds."""
    inside, to_last = distances(size, base)
    return max(inside, to_last)
