"""Where to cut a row of cells into buckets: what the buckets cost, and the cheapest cuts.

A bucket may be one cell, or an interval [v b^k, (v + 1) b^k) of cells for a level k = 1, ..., K,
the last one of a level cut off at the end of the row. These intervals are the *nodes*: level after
level, from the shortest, and from left to right. The branching b is a power of two. What is made
private, and how, is in docs/dawa.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel


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


@inner
def _merge(source: NDArray[np.int64], width: int, out: NDArray[np.int64]) -> None:
    """Merge sorted runs of ``width`` cells by twos; the last run may be shorter, or alone.

    Invariant: ``out[start : i + j - middle]`` holds, in order, all that was read of the two runs,
    ``source[start:i]`` and ``source[middle:j]``.
    """
    for start in range(0, source.size, 2 * width):
        middle = min(start + width, source.size)
        stop = min(start + 2 * width, source.size)
        i, j = start, middle
        while i < middle and j < stop:
            if source[j] < source[i]:
                out[i + j - middle] = source[j]
                j += 1
            else:
                out[i + j - middle] = source[i]
                i += 1
        while i < middle:
            out[i + j - middle] = source[i]
            i += 1
        while j < stop:
            out[i + j - middle] = source[j]
            j += 1


@kernel
def deviation_costs(
    counts: NDArray[np.int64], branching: int, levels: int, costs: NDArray[np.int64]
) -> None:
    """Overwrite ``costs`` with every node's deviation from its median, sum |x_i - median|.

    Parameters
    ----------
    counts
        (N,) cells; sums of them must stay within 64 bits.
    branching
        A power of two, 2 or more.
    levels
        K.
    costs
        (node_count(N, branching, K),) overwritten. Half of a node's cells lie on either side of
        a median, so this is the sum of the larger half minus the sum of the smaller half, an
        integer; the middle one of an odd number of cells is in neither.

    Notes
    -----
    Invariant: before each pass ``runs`` holds the counts, each aligned run of ``width`` cells
    sorted. O(N log b^K) time, and two copies of the counts.
    """
    runs, merged = counts.copy(), np.empty_like(counts)
    width = 1
    first = 0
    for _ in range(levels):
        length = width * branching
        while width < length:
            _merge(runs, width, merged)
            runs, merged = merged, runs
            width *= 2
        for start in range(0, runs.size, length):
            stop = min(start + length, runs.size)
            cost = np.int64(0)
            for i in range((stop - start) // 2):
                cost += runs[stop - 1 - i] - runs[start + i]
            costs[first + start // length] = cost
        first += (runs.size + length - 1) // length


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
