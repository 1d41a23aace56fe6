"""Counts on all levels of a tree over cells, and the least-squares estimate from noisy ones.

``branching[l]`` is the number of children of a node of level l. Level 0 is the root, and the last
level has the N cells. Node i of level l + 1 is a child of node i // branching[l]. The last node of
a level may have fewer children. An array of nodes has the levels one after the other, root first.
Level l starts at ``starts[l]``, and ``starts[-1]`` is the number of nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel


def level_starts(size: int, branching: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start of each level, (levels + 1,), for ``size`` cells; in plain Python."""
    nodes = [size]
    for children in branching[::-1].tolist():
        nodes.append((nodes[-1] - 1) // children + 1)
    return np.cumsum([0, *nodes[::-1]], dtype=np.int64)


def node_sums(
    counts: NDArray[np.int64], branching: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the exact counts of all nodes from those of the cells, (..., N), with NumPy. O(N)."""
    nodes = np.empty((*counts.shape[:-1], starts[-1]), np.int64)
    nodes[..., starts[-2] :] = counts
    for level in range(branching.size - 1, -1, -1):
        first, child, end = starts[level : level + 3]
        groups = np.arange(0, end - child, branching[level])
        np.add.reduceat(nodes[..., child:end], groups, axis=-1, out=nodes[..., first:child])
    return nodes


@inner
def weights(
    branching: NDArray[np.int64], starts: NDArray[np.int64], variances: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of a node's own count and of the counts below it.

    Parameters
    ----------
    branching, starts
        The tree.
    variances
        (levels,) the variance of the noise in a node's count: 0 for a known root, infinite for a
        level that is not counted, and finite for the cells.

    Returns
    -------
    own, below, sums
        (levels, 2) for a full node and for the last node of a level: the weight of its own count
        against the sum over its children; the variance of the best estimate from the node and the
        nodes below it; and the sum of those variances over its children.

    Notes
    -----
    Hay et al. 2010, section 4, with a variance for each level. Invariant: the nodes of a level
    are alike except the last one.
    """
    levels = starts.size - 1
    own, below, sums = np.empty((levels, 2)), np.empty((levels, 2)), np.empty((levels, 2))
    own[levels - 1, 0] = own[levels - 1, 1] = 1.0
    below[levels - 1, 0] = below[levels - 1, 1] = variances[levels - 1]
    sums[levels - 1, 0] = sums[levels - 1, 1] = 0.0
    for level in range(levels - 2, -1, -1):
        nodes = starts[level + 1] - starts[level]
        ragged = starts[level + 2] - starts[level + 1] - (nodes - 1) * branching[level]
        sums[level, 0] = branching[level] * below[level + 1, 0]
        sums[level, 1] = (ragged - 1) * below[level + 1, 0] + below[level + 1, 1]
        for kind in range(2):
            if np.isinf(variances[level]):
                own[level, kind], below[level, kind] = 0.0, sums[level, kind]
            else:
                own[level, kind] = sums[level, kind] / (sums[level, kind] + variances[level])
                below[level, kind] = own[level, kind] * variances[level]
    return own, below, sums


@kernel
def cumulative_estimates(
    noisy: NDArray[np.int64] | NDArray[np.float64],
    branching: NDArray[np.int64],
    starts: NDArray[np.int64],
    variances: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Set the cumulative counts of the least-squares estimate from noisy counts of all nodes.

    Parameters
    ----------
    noisy
        (R, nodes) each node's count with independent noise.
    branching, starts, variances
        As in ``weights``.
    out
        (R, N) the result: best linear unbiased.

    Notes
    -----
    There are two passes, which take O(nodes). On the way up, a node's count is averaged with the
    sum over its children. On the way down, the difference between a node and its children's sum is
    distributed over the children in proportion to their variances. Invariant: on the way up an
    estimate is the best from all nodes at or below the node, on the way down from all nodes.
    """
    own, below, sums = weights(branching, starts, variances)
    levels = starts.size - 1
    best = np.empty(starts[-1])
    for r in range(noisy.shape[0]):
        for leaf in range(starts[levels - 1], starts[levels]):
            best[leaf] = noisy[r, leaf]
        for level in range(levels - 2, -1, -1):
            child, end = starts[level + 1], starts[level + 2]
            for node in range(starts[level], starts[level + 1]):
                weight = own[level, 1 if node == starts[level + 1] - 1 else 0]
                children = 0.0
                for _ in range(min(branching[level], end - child)):
                    children += best[child]
                    child += 1
                best[node] = weight * noisy[r, node] + (1.0 - weight) * children
        for level in range(levels - 1):
            child, end = starts[level + 1], starts[level + 2]
            for node in range(starts[level], starts[level + 1]):
                after = min(child + branching[level], end)
                rest = best[node]
                for i in range(child, after):
                    rest -= best[i]
                rest /= sums[level, 1 if node == starts[level + 1] - 1 else 0]
                full, last = rest * below[level + 1, 0], rest * below[level + 1, 1]
                for i in range(child, after):
                    best[i] += last if i == end - 1 else full
                child = after
        total = 0.0
        for i in range(out.shape[1]):
            total += best[starts[levels - 1] + i]
            out[r, i] = total
