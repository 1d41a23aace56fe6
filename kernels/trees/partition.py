"""The partition of a row of cells into buckets, chosen by the error that noisy costs predict.

A bucket may be one cell, or an interval [v L, (v + 1) L) of cells for one of a few lengths L. The
last interval of a length is cut off at the end of the row. These intervals are the *nodes*. Their
order is by length, from the shortest, and then from left to right. Each length is a multiple of the
one before. docs/proofs/dawa.md says how privacy is achieved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel


@kernel
def half_differences(nodes: NDArray[np.int64], length: int, costs: NDArray[np.int64]) -> None:
    """Set the sum of each node's upper half minus the sum of its lower half; O(N).

    Parameters
    ----------
    nodes
        (N,) cells, node after node of ``length`` cells; the last node may be shorter. Within each
        node, no cell of the lower half is above one of the upper half. The middle cell of an odd
        number of cells is in neither half, and between them.
    length
        The number of cells of a node.
    costs
        One entry for each node, or more; the first entries are overwritten. Half of a node's cells
        lie on either side of a median, so this is the node's deviation from it, sum |x_i - median|.
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
def least_risk(
    costs: NDArray[np.int64],
    size: int,
    lengths: NDArray[np.int64],
    variance: float,
    weight: float,
    errors: NDArray[np.float64],
    allowances: NDArray[np.float64],
    caution: float,
    limits: NDArray[np.float64],
    worth: float,
    nodes: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the edges of the partition with the least estimated error among those that are tried.

    The error of a partition has two parts: the error of counting its buckets, and the error of a
    straight line in each bucket, which is ``weight`` times the square of its cost, at each of its
    cells.

    Parameters
    ----------
    costs
        The nodes' costs, with noise.
    size, lengths
        N, and the nodes' lengths, (K,), K >= 1.
    variance
        The variance of the noise. The square of a noisy cost minus this is unbiased, and so is the
        estimate for a partition that does not depend on the noise.
    weight
        As above.
    errors
        (J,) the i-th entry is the mean squared error at a threshold from counting 2^i buckets. It
        grows with i, and 2^(J - 1) >= N.
    allowances
        The part of a squared cost that the search for partitions ascribes to noise, in variances.
    caution
        The number of deviations of its own noise that are added to the estimated error of lines,
        because the search finds partitions with lucky noise.
    limits
        (L,) falling: the largest cost of a node that may be a bucket. The lowest is taken whose
        partition has at most ``worth`` times the least estimated error of those before.
    worth
        As above, >= 1.
    nodes
        (N,) the first entries are overwritten with each bucket's node, or -1 for a cell.

    Returns
    -------
    numpy.ndarray
        int64 (buckets + 1,), rising from 0 to N: bucket i holds the cells ``edges[i]``, ...,
        ``edges[i + 1] - 1``.

    Notes
    -----
    The price of one more bucket is its addition to the error of 2^i buckets, over all cells. The
    function finds the cheapest partition for each allowance and each price. It also considers, for
    each length, the partition into all nodes of that length. It takes the one with the least
    estimate, and the first of equals. After the first limit, only the allowance and the price that
    were best there are tried. It takes O(N (J A + L)) time for A allowances, and O(N) memory.
    """
    risks, charges, doubts = np.empty(costs.size), np.empty(costs.size), np.empty(costs.size)
    whole, best = np.empty(costs.size, np.bool_), np.empty(costs.size, np.bool_)
    tried = np.empty(costs.size, np.bool_)
    searches = allowances.size * errors.size
    start, stop, chosen, most = 0, searches + lengths.size, 0, np.inf
    for limit in limits:
        least, known = np.inf, -1
        for plan in range(start, stop):
            allowance = plan // errors.size
            rung = plan - allowance * errors.size
            if plan < searches:
                if known != allowance:
                    believed, known = allowances[allowance] * variance, allowance
                    _set_risks(
                        costs,
                        size,
                        lengths,
                        weight,
                        variance,
                        believed,
                        limit,
                        risks,
                        charges,
                        doubts,
                    )
                low, high = max(0, rung - 1), min(errors.size - 1, rung + 1)
                price = size * (errors[high] - errors[low]) / max(1.0, 2.0**high - 2.0**low)
                _find_cheapest(charges, size, lengths, price, whole)
            else:
                _take_level(size, lengths, plan - searches, whole)
            buckets, risk, doubt = _add_up(whole, risks, doubts, size, lengths)
            level = np.log2(buckets)
            below = min(int(level), errors.size - 2)
            error = errors[0]
            if errors.size > 1:
                error = errors[below] + (level - below) * (errors[below + 1] - errors[below])
            total = max(risk + caution * np.sqrt(doubt), 0.0) + size * error
            if total < least:
                least = total
                chosen = plan if plan < searches else min(int(level), errors.size - 1)
                for node in range(whole.size):  # a slice would allocate memory by a Numba function
                    tried[node] = whole[node]
        if least > most:
            break
        most = min(most, worth * least)
        start, stop = chosen, chosen + 1
        for node in range(tried.size):
            best[node] = tried[node]
    return _cut(best, size, lengths, nodes)


@inner
def _set_risks(
    costs: NDArray[np.int64],
    size: int,
    lengths: NDArray[np.int64],
    weight: float,
    variance: float,
    believed: float,
    limit: float,
    risks: NDArray[np.float64],
    charges: NDArray[np.float64],
    doubts: NDArray[np.float64],
) -> None:
    """Set the error of a line in each node: unbiased, as the search uses it, and its variance.

    This is the variance of the unbiased error under Laplace noise, whose square has the variance
    5 ``variance``^2. Under Gaussian noise, the variance is smaller. Nodes beyond the limit have an
    infinite error.
    """
    first = 0
    for level in range(lengths.size):
        length = lengths[level]
        for v in range((size + length - 1) // length):
            cells = weight * min(length, size - v * length)
            cost = float(costs[first + v])
            risks[first + v] = cells * (cost * cost - variance)
            above = max(cost, 0.0)
            charges[first + v] = cells * max(above * above - believed, 0.0)
            doubts[first + v] = cells * cells * variance * (5.0 * variance + 4.0 * above * above)
            if cost > limit:
                risks[first + v] = charges[first + v] = np.inf
        first += (size + length - 1) // length


@inner
def _find_cheapest(
    charges: NDArray[np.float64],
    size: int,
    lengths: NDArray[np.int64],
    price: float,
    whole: NDArray[np.bool_],
) -> None:
    """Set which nodes are one bucket in the cheapest partition of their cells.

    It goes from the shortest nodes up. ``least[v]`` is the least cost of partitions of the cells of
    v. Of equally cheap partitions it takes the one with the longest buckets.
    """
    least = np.empty(charges.size)
    first, before, below = 0, 0, 1  # ``before``: the start of the children's level
    for level in range(lengths.size):
        length = lengths[level]
        nodes = (size + length - 1) // length
        # Each loop goes through arrays from their start, so several steps can be one instruction.
        own, one_bucket = charges[first : first + nodes], whole[first : first + nodes]
        cheapest = least[first : first + nodes]
        if level == 0:
            for v in range(nodes):
                cheapest[v] = price * length
            cheapest[nodes - 1] = price * (size - (nodes - 1) * length)
        else:
            children, parts = length // below, least[before:first]
            for v in range(nodes):
                split = 0.0
                for child in range(v * children, min((v + 1) * children, parts.size)):
                    split += parts[child]
                cheapest[v] = split
        for v in range(nodes):
            one, split = own[v] + price, cheapest[v]
            one_bucket[v] = one <= split
            cheapest[v] = one if one < split else split
        before, below = first, length
        first += nodes


@inner
def _take_level(
    size: int, lengths: NDArray[np.int64], taken: int, whole: NDArray[np.bool_]
) -> None:
    """Make all nodes of one length buckets, and no others."""
    first = 0
    for level in range(lengths.size):
        nodes = (size + lengths[level] - 1) // lengths[level]
        whole[first : first + nodes] = level == taken
        first += nodes


@inner
def _next(
    whole: NDArray[np.bool_], size: int, lengths: NDArray[np.int64], cell: int
) -> tuple[int, int]:
    """Return the longest bucket that starts at a cell, and its end, except for the shortest nodes.

    If there is none, or it is one of the shortest nodes, return -1 and the end of the node of the
    second length, or of the row. No node of that length has the cell in its middle.
    """
    first = whole.size
    for level in range(lengths.size - 1, 0, -1):
        length = lengths[level]
        first -= (size + length - 1) // length
        v = cell // length
        if cell == v * length and whole[first + v]:
            return first + v, min(cell + length, size)
    return -1, min(cell + lengths[1], size) if lengths.size > 1 else size


@inner
def _add_up(
    whole: NDArray[np.bool_],
    risks: NDArray[np.float64],
    doubts: NDArray[np.float64],
    size: int,
    lengths: NDArray[np.int64],
) -> tuple[int, float, float]:
    """Return the number of buckets, from the longest nodes that are whole and from single cells.

    Also return the sums of their risks and of the variances of the risks, from left to right.
    """
    shortest = lengths[0]
    buckets, cell, risk, doubt = 0, 0, 0.0, 0.0
    while cell < size:
        bucket, end = _next(whole, size, lengths, cell)
        if bucket >= 0:
            risk += risks[bucket]
            doubt += doubts[bucket]
            buckets += 1
        else:
            for v in range(cell // shortest, (end + shortest - 1) // shortest):
                if whole[v]:
                    risk += risks[v]
                    doubt += doubts[v]
                    buckets += 1
                else:
                    buckets += min(shortest, end - v * shortest)
        cell = end
    return buckets, risk, doubt


@inner
def _cut(
    whole: NDArray[np.bool_], size: int, lengths: NDArray[np.int64], nodes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the edges of these buckets, and set ``nodes``.

    Invariant: all cells before ``cell`` are in buckets, and no node that covers cells on both sides
    of ``cell`` is a bucket.
    """
    edges = np.empty(size + 1, np.int64)
    buckets, cell, shortest = 0, 0, lengths[0]
    edges[0] = 0
    while cell < size:
        bucket, end = _next(whole, size, lengths, cell)
        while cell < end:
            node, step = bucket, end - cell
            if node < 0 and whole[cell // shortest]:
                node, step = cell // shortest, min(shortest, step)
            elif node < 0:
                step = 1
            cell += step
            nodes[buckets] = node
            buckets += 1
            edges[buckets] = cell
    return edges[: buckets + 1].copy()
