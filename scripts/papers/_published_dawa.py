"""DAWA with the first stage of its authors' code, for figures alone: it is not private.

Li, Hay, Miklau & Wang, *A data- and workload-aware algorithm for range queries under differential
privacy* (PVLDB 2014). Papers that use DAWA as a part of their methods used this first stage, so
their figures need it. The stage has no proof of privacy, and it spends more than it is given:
docs/proofs/dawa.md, section 2, has a counterexample. So it is not part of dpcore. It states no
guarantee, and it needs a seeded generator.
"""

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from dpcore.mechanisms import Hierarchy
from dpcore.mechanisms.bucket_counts import line, weighted_tree
from dpcore.mechanisms.tree import release_nodes
from dpcore.noise.sources import source
from dpcore.privacy.guarantees import Neighbours

__all__ = ["buckets", "cheapest", "deviations", "published_dawa", "shares_up_to"]

Values = NDArray[np.float64]
Counts = NDArray[np.int64]
SHARE: Final = 0.25  # of epsilon, for the buckets: the default of the authors' code


def published_dawa(
    counts: Counts,
    epsilon: float,
    rng: np.random.Generator,
    *,
    neighbours: Neighbours = "add-or-remove-one",
    outside: int | None = None,
) -> Values:
    """Return noisy cumulative counts, (N,), on a straight line inside each bucket.

    The first stage is that of the authors' code. The second stage is dpcore's: the tree over the
    buckets with the least error of cumulative counts.

    Parameters
    ----------
    counts
        (N,) exact counts.
    epsilon
        What both stages get. The first one spends more than its share.
    rng
        A seeded generator.
    neighbours
        The authors' noise is for "add-or-remove-one". For "replace-one" it is doubled.
    outside
        The number of records in no cell. They are a bucket of their own, so that the number of all
        records is known.
    """
    changes = 2 if neighbours == "replace-one" else 1
    edges = buckets(counts, SHARE * epsilon / changes, (1 - SHARE) * epsilon / changes, rng)
    before = np.append(0, np.cumsum(counts))
    if outside is not None:
        edges = np.append(edges, counts.size + 1)
        before = np.append(before, before[-1] + outside)
    tree = weighted_tree(Hierarchy((1 - SHARE) * epsilon, neighbours=neighbours), np.diff(edges))
    ends = np.zeros((1, edges.size))
    release_nodes(tree, tree.node_sums(np.diff(before[edges])), ends[:, 1:], source(rng))
    return line(edges, ends)[: counts.size]


def buckets(counts: Counts, first: float, second: float, rng: np.random.Generator) -> Counts:
    """Return the edges of the buckets of the first stage, (buckets + 1,), from 0 to N.

    Every interval of 2^k cells is scored, wherever it starts. Its cost is the deviation of its
    counts from their mean, with Laplace noise of scale (2 - 1 / 2^k - 1 / N) / ``first``, and at
    least 0. A cell has the cost 0, without noise. Every bucket costs 1 / ``second`` more, which is
    the noise of its count. The cheapest of all partitions wins.
    """
    size, costs = counts.size, [np.zeros(counts.size)]
    for k in range(1, size.bit_length()):
        length = 2**k
        scale = (2 - 1 / length - 1 / size) / first
        exact = deviations(counts, length)
        costs.append(np.maximum(exact + rng.laplace(scale=scale, size=exact.size), 0.0))
    return cheapest([each + 1 / second for each in costs])


def deviations(counts: Counts, length: int) -> Values:
    """Return sum |x_i - mean| of each ``length`` neighbouring cells, (N - length + 1,)."""
    values, ranks = np.unique(counts, return_inverse=True)
    found = np.empty(counts.size - length + 1)
    _sliding_deviations(values, ranks, length, found)
    return found


def cheapest(costs: list[Values]) -> Counts:
    """Return the edges of the cheapest partition into intervals of 1, 2, 4, ... cells.

    ``costs[k][i]`` is the cost of the 2^k cells from i on. Of equal costs the longest bucket wins.
    """
    size = costs[0].size
    table = np.full((len(costs), size), np.inf)
    for row, each in zip(table, costs, strict=True):
        row[: each.size] = each
    start = np.empty(size + 1, np.int64)
    _best_starts(table, start)
    edges = [size]
    while edges[-1] > 0:
        edges.append(int(start[edges[-1]]))
    return np.array(edges[::-1])


@njit(cache=True)
def _best_starts(costs: Values, start: Counts) -> None:
    """Set where the last bucket of the cheapest partition of the first 1, ..., N cells starts."""
    lengths, size = costs.shape
    least = np.zeros(size + 1)
    for end in range(1, size + 1):
        least[end] = np.inf
        for k in range(lengths):
            begin = end - 2**k
            if begin >= 0 and least[begin] + costs[k, begin] <= least[end]:
                least[end] = least[begin] + costs[k, begin]
                start[end] = begin


@njit(cache=True)
def _sliding_deviations(values: Counts, ranks: Counts, length: int, found: Values) -> None:
    """Set twice the sum of mean - x over the x below the mean, for every window.

    Numbers and sums of the window's values are kept in Fenwick trees over the distinct values.
    """
    numbers, sums = np.zeros(values.size + 1, np.int64), np.zeros(values.size + 1, np.int64)
    total = 0
    for end in range(ranks.size):
        for place, sign in ((end, 1), (end - length, -1)):
            if place >= 0:
                value = values[ranks[place]]
                total += sign * value
                at = ranks[place] + 1
                while at <= values.size:
                    numbers[at] += sign
                    sums[at] += sign * value
                    at += at & -at
        if end >= length - 1:
            mean = total / length
            at = np.searchsorted(values, mean, side="right")
            below, summed = 0, 0
            while at > 0:
                below += numbers[at]
                summed += sums[at]
                at -= at & -at
            found[end - length + 1] = 2.0 * (below * mean - summed)


def shares_up_to(cumulative: Values, n: int | None = None) -> Values:
    """Return the shares of records up to each cell, (N,), after isotonic regression.

    Without a public ``n`` the last count is the number of records, and all are NaN if it is not
    above 0.
    """
    total = float(cumulative[-1]) if n is None else n
    if total <= 0:
        return np.full(cumulative.size, np.nan)
    rising = isotonic_regression(cumulative[:-1]).x if cumulative.size > 1 else cumulative[:-1]
    return np.append(np.clip(rising / total, 0.0, 1.0), 1.0)
