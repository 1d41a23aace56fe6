"""Where to cut a row of cells into buckets: what the buckets cost, and the cheapest cuts.

A bucket may be one cell, or an interval [v b^k, (v + 1) b^k) of cells for a level k = 1, ..., K,
the last one of a level cut off at the end of the row. These intervals are the *nodes*: level after
level, from the shortest, and from left to right. The branching b is a power of two. What is made
private, and how, is in docs/dawa.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


@kernel
def level_count(size: int, branching: int) -> int:
    """Return the number of levels K: as many as leave room for two nodes of the longest length."""
    levels = 0
    length = 2 * branching
    while length <= size:
        levels += 1
        length *= branching
    return levels


@kernel
def node_count(size: int, branching: int, levels: int) -> int:
    """Return the number of nodes of all levels."""
    count = 0
    length = 1
    for _ in range(levels):
        length *= branching
        count += (size + length - 1) // length
    return count


@kernel
def half_differences(nodes: NDArray[np.int64], length: int, costs: NDArray[np.int64]) -> None:
    """Set the sum of each node's upper half minus the sum of its lower half; O(N).

    Parameters
    ----------
    nodes
        (N,) cells, node after node of ``length`` cells, the last one perhaps shorter. Within each,
        no cell of the lower half is above one of the upper half; the middle one of an odd number
        of cells is in neither, and between them.
    length
        Cells of a node.
    costs
        (K,) with K nodes or more; the first entries are overwritten. Half of a node's cells lie on
        either side of a median, so this is the node's deviation from it, sum |x_i - median|.
    """
    for node in range((nodes.size + length - 1) // length):
        start = node * length
        half = min(length, nodes.size - start) // 2
        upper = min(start + length, nodes.size) - half
        cost = np.int64(0)
        for i in range(half):
            cost += nodes[upper + i] - nodes[start + i]
        costs[node] = cost


@kernel
def best_partition(
    costs: NDArray[np.int64],
    size: int,
    branching: int,
    levels: int,
    allowance: float,
    bucket_cost: float,
) -> NDArray[np.int64]:
    """Return the edges of the cheapest partition into single cells and nodes.

    A bucket costs ``bucket_cost``, and a node ``max(cost - allowance, 0)`` on top of that. Of
    equally cheap partitions it is the one with the longest buckets.

    Parameters
    ----------
    costs
        (node_count(size, branching, levels),) noisy costs.
    size, branching, levels
        N, b and K.
    allowance
        What a noisy cost may show without being believed.
    bucket_cost
        The price of one more bucket, in counts; 0 or more.

    Returns
    -------
    numpy.ndarray
        int64 (buckets + 1,), rising from 0 to N: bucket i holds the cells ``edges[i]``, ...,
        ``edges[i + 1] - 1``.

    Notes
    -----
    First from the shortest nodes up: ``least[v]`` is the least cost of partitions of what v
    covers, and ``whole[v]`` says that v as one bucket has it. Then from the left: everything
    before ``cell`` is cut, and no node that covers cells on both sides of ``cell`` is a bucket.
    O(N K) time, O(N) memory.
    """
    least, whole = np.empty(costs.size), np.empty(costs.size, np.bool_)
    firsts = np.zeros(levels + 1, np.int64)
    below = size
    for level in range(levels):
        first = firsts[level]
        nodes = (below + branching - 1) // branching
        for v in range(nodes):
            start, stop = v * branching, min((v + 1) * branching, below)
            split = bucket_cost * (stop - start)
            if level > 0:
                split = 0.0
                for child in range(firsts[level - 1] + start, firsts[level - 1] + stop):
                    split += least[child]
            one = max(costs[first + v] - allowance, 0.0) + bucket_cost
            whole[first + v] = one <= split
            least[first + v] = min(one, split)
        firsts[level + 1] = first + nodes
        below = nodes
    edges = np.zeros(size + 1, np.int64)
    buckets = 0
    cell = 0
    while cell < size:
        level, length = levels, branching**levels
        while level > 0 and (cell % length > 0 or not whole[firsts[level - 1] + cell // length]):
            level -= 1
            length //= branching
        cell = min(cell + length, size)
        buckets += 1
        edges[buckets] = cell
    return edges[: buckets + 1].copy()
