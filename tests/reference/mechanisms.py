"""Trees, hierarchies, matrices, buckets, polynomials and queries, as their papers write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import comb, factorial

import mpmath
import numpy as np

Bucket = tuple[int, int, int]  # its first cell, the one after its last, and which node it is

# --- the noise tree, as Eq. 2 of the ECDF paper writes it


def levels(thresholds: int, base: int) -> int:
    """L = ceil(log_base M)."""
    level = 0
    while base**level < thresholds:
        level += 1
    return level


def nodes(thresholds: int, base: int) -> list[tuple[int, int]]:
    """(a, b) of every node, level by level: it covers the thresholds a + 1, ..., b."""
    found = []
    for level in range(levels(thresholds, base) + 1):
        width = base**level
        for a in range(0, thresholds, width):
            found.append((a, min(a + width, thresholds)))
    return found


def tree_matrix(thresholds: int, base: int) -> np.ndarray:
    """Z (M, nodes): the noise in threshold i is the sum of Z[i] times the nodes' noise."""
    matrix = np.zeros((thresholds, len(nodes(thresholds, base))), int)
    for column, (a, b) in enumerate(nodes(thresholds, base)):
        matrix[a:b, column] = 1
    return matrix


def distances(thresholds: int, base: int) -> np.ndarray:
    """Shortest paths between all boundaries 0, ..., M, each node an edge (Floyd-Warshall)."""
    size = thresholds + 1
    d = np.full((size, size), size)
    d[np.arange(size), np.arange(size)] = 0
    for a, b in nodes(thresholds, base):
        d[a, b] = d[b, a] = 1
    for k in range(size):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


# --- hierarchies, and their best linear unbiased estimate


def hierarchy_matrix(size, branching):
    """Rows: the nodes of a tree over ``size`` cells, root first; 1 where a node holds a cell."""
    rows = []
    for level in range(len(branching) + 1):
        width = int(np.prod(branching[level:], dtype=np.int64))
        for first in range(0, size, width):
            rows.append([1.0 if first <= cell < first + width else 0.0 for cell in range(size)])
    return np.array(rows)


def hierarchy_estimate(size, branching, variances):
    """The matrix from noisy counts of the nodes to the best linear unbiased cumulative counts,
    and the variances of these. ``variances``: one for each level, 0 for a root that is known."""
    nodes = hierarchy_matrix(size, branching)
    level = [
        at
        for at in range(len(branching) + 1)
        for _ in range(0, size, int(np.prod(branching[at:], dtype=np.int64)))
    ]
    noise = np.array(variances, dtype=float)[level]
    # minimise sum (nodes @ x - y)^2 / noise subject to the rows without noise, by its KKT system
    exact, inexact = noise == 0.0, (noise > 0.0) & (noise < np.inf)
    a, w, e = nodes[inexact], 1.0 / noise[inexact], nodes[exact]
    kkt = np.block([[a.T @ (w[:, None] * a), e.T], [e, np.zeros((len(e), len(e)))]])
    right = np.zeros((size + len(e), len(nodes)))
    right[:size, inexact] = a.T * w
    right[size:, exact] = np.eye(len(e))
    cells = np.linalg.lstsq(kkt, right, rcond=None)[0][:size]
    cumulative = np.cumsum(cells, axis=0)
    used = np.where(np.isfinite(noise), noise, 0.0)
    return cumulative, (cumulative**2) @ used


# --- the square-root factorisation


def square_root_matrix(size):
    """The integers round(2^12 c_(i-j)), c_k = binom(2k, k) / 4^k: what multiplies the counts."""
    column = [round(2**12 * Fraction(comb(2 * k, k), 4**k)) for k in range(size)]
    return np.array(
        [[column[i - j] if i >= j else 0 for j in range(size)] for i in range(size)], dtype=object
    )


def square_root_errors(size, variance, total_is_public):
    """Variances of the cumulative counts, for noise of this variance on each integer."""
    strategy = square_root_matrix(size).astype(float)
    errors = np.tril(np.ones((size, size))) @ np.linalg.inv(strategy)  # of unit noises
    if total_is_public:  # least squares: take out what the last error explains
        last = errors[-1]
        errors = errors - np.outer(errors @ last, last) / (last @ last)
    return variance * (errors**2).sum(axis=1)


# --- buckets of alike cells, and Hilbert's curve


def partition_nodes(size: int, lengths: Sequence[int]) -> list[tuple[int, int]]:
    """(a, b) of every interval that may be a bucket, but for single cells: cells a, ..., b - 1."""
    return [(a, min(a + width, size)) for width in lengths for a in range(0, size, width)]


def deviation(cells) -> int:
    """The least sum of distances to one number; some cell is such a number."""
    return min(sum(abs(int(x) - int(c)) for x in cells) for c in cells)


def partitions(size: int, lengths: Sequence[int]) -> list[tuple[Bucket, ...]]:
    """All ways to cut the row into single cells and nodes: (a, b, node), and -1 for a cell."""
    starting: dict[int, list[Bucket]] = {a: [(a, a + 1, -1)] for a in range(size)}
    for node, (a, b) in enumerate(partition_nodes(size, lengths)):
        starting[a].append((a, b, node))

    def after(cell: int) -> Iterator[tuple[Bucket, ...]]:
        if cell == size:
            yield ()
        for bucket in starting.get(cell, []):
            for rest in after(bucket[1]):
                yield (bucket, *rest)

    return list(after(0))


def risk(partition, costs, variance, weight):
    """What lines miss in the buckets, over all cells: an unbiased estimate."""
    return sum(weight * (b - a) * (costs[v] ** 2 - variance) for a, b, v in partition if v >= 0)


def doubt(partition, costs, variance, weight):
    """The deviation of ``risk`` for Laplace noise, of which a square has the variance 5 v^2.

    That of (D + noise)^2 is 4 D^2 v more.
    """
    each = [
        (weight * (b - a)) ** 2 * (5 * variance**2 + 4 * max(costs[v], 0) ** 2 * variance)
        for a, b, v in partition
        if v >= 0
    ]
    return np.sqrt(sum(each))


def charge(partition, costs, weight, believed, price):
    """What a partition is sought by: no cost's square counts but for what is believed of it."""
    total = price * len(partition)
    for a, b, v in partition:
        if v >= 0:
            total += weight * (b - a) * max(max(costs[v], 0) ** 2 - believed, 0.0)
    return total


def cheapest(size, lengths, costs, weight, believed, price):
    """Of all partitions: of equally cheap ones the fewest buckets, and longer nodes, win."""
    return min(
        partitions(size, lengths),
        key=lambda each: (
            charge(each, costs, weight, believed, price),
            len(each),
            [-v for _, _, v in each],
        ),
    )


def tried_partitions(size, lengths, costs, variance, weight, errors, allowances, caution=0.0):
    """The partitions that are tried, in this order, and the estimated error of each."""
    tried = []
    for allowance in allowances:
        for rung in range(len(errors)):
            low, high = max(0, rung - 1), min(len(errors) - 1, rung + 1)
            price = size * (errors[high] - errors[low]) / max(1, 2**high - 2**low)
            tried.append(cheapest(size, lengths, costs, weight, allowance * variance, price))
    nodes, first = partition_nodes(size, lengths), 0
    for width in lengths:
        last = first + -(-size // width)
        tried.append(tuple((*nodes[v], v) for v in range(first, last)))
        first = last
    counting = [np.interp(np.log2(len(each)), range(len(errors)), errors) for each in tried]
    missed = [
        risk(each, costs, variance, weight) + caution * doubt(each, costs, variance, weight)
        for each in tried
    ]
    return [
        (each, max(risk_, 0.0) + size * error)
        for each, risk_, error in zip(tried, missed, counting, strict=True)
    ]


def hilbert(order: int) -> list[tuple[int, int]]:
    """The cells (row, column) of a 2^order x 2^order square along the curve, by recursion."""
    if order == 0:
        return [(0, 0)]
    inner, side = hilbert(order - 1), 2 ** (order - 1)
    return (
        [(column, row) for row, column in inner]
        + [(row + side, column) for row, column in inner]
        + [(row + side, column + side) for row, column in inner]
        + [(side - 1 - column, 2 * side - 1 - row) for row, column in inner]
    )


# --- polynomial projection: what a record adds, and what the released numbers mean


def legendre_steps(x, degree):
    """<1{x <= t}, e_k> for k = 0, ..., K by adaptive quadrature of the definition, (K + 1,)."""
    e = [
        lambda t, k=k: mpmath.sqrt(k + mpmath.mpf(1) / 2) * mpmath.legendre(k, t)
        for k in range(degree + 1)
    ]
    return np.array([float(mpmath.quad(each, [x, (x + 1) / 2, 1])) for each in e])


def projected(values, points, degree):
    """F's L2-nearest polynomial on [-1, 1] at some points: Gauss-Legendre on every piece of F."""
    jumps = np.concatenate([[-1.0], np.sort(values), [1.0]])
    nodes, weights = np.polynomial.legendre.leggauss(degree + 1)
    series = np.zeros(degree + 1)
    for i, (a, b) in enumerate(pairwise(jumps)):
        t = (a + b) / 2 + (b - a) / 2 * nodes
        p = np.polynomial.legendre.legvander(t, degree)
        series += i / len(values) * (b - a) / 2 * weights @ p
    return np.polynomial.legendre.legval(points, series * (np.arange(degree + 1) + 0.5))


def with_ends(curve, points, degree):
    """The L2-nearest polynomial that is 0 at -1 and 1 at 1, to one given at Gauss-Legendre nodes.

    As (1 + t) / 2 + (1 - t^2) q(t), by weighted least squares over q of degree K - 2.
    """
    nodes, weights = np.polynomial.legendre.leggauss(degree + 1)
    shapes = (1 - nodes[:, None] ** 2) * np.polynomial.legendre.legvander(nodes, degree - 2)
    roots = np.sqrt(weights)
    q, *_ = np.linalg.lstsq(
        roots[:, None] * shapes, roots * (curve(nodes) - (1 + nodes) / 2), rcond=None
    )
    return (1 + points) / 2 + (1 - points**2) * np.polynomial.legendre.legval(points, q)


def moments_coefficients(moments, degree):
    """The paper's a_k, from mu_1, ..., mu_{K + 1}: its formulas, P_k by binomials."""
    coefficients = np.zeros(degree + 1)
    for k in range(degree + 1):
        for i in range(k + 1):
            over = np.prod([(k + i - 1) / 2 - j for j in range(k)]) / factorial(k)
            beta = 2**k * comb(k, i) * over
            coefficients[k] += np.sqrt((2 * k + 1) / 2) * beta * (1 - moments[i]) / (i + 1)
    return coefficients


# --- histogram queries and adaptive quantiles, given their noise


def through(known, size, between):
    """Cumulative counts at all cells from {threshold: count}, which knows 0 and ``size``."""
    at = sorted(known)
    if between == "linear":
        return np.interp(np.arange(1, size + 1), at, [known[t] for t in at])
    return np.array([known[max(t for t in at if t <= cell)] for cell in range(1, size + 1)])


def histogram_queries(counts, bins, noise, between):
    """Noise on the counts of bins; what they miss of n is dealt out evenly; added up."""
    size, n = len(counts), sum(counts)
    bins = min(bins, size)
    ends = [i * size // bins for i in range(bins + 1)]
    noisy = [sum(counts[a:b]) + z for (a, b), z in zip(pairwise(ends), noise, strict=True)]
    even = [each + (n - sum(noisy)) / bins for each in noisy]
    return through({end: sum(even[:i]) for i, end in enumerate(ends)}, size, between)


def adaptive_questions(counts, noise):
    """The questions in the order in which they are asked, [(threshold, answer), ...]."""
    n = sum(counts)
    known = {0: 0, len(counts): n}
    for z in noise:
        gaps = [(a, b) for a, b in pairwise(sorted(known)) if b - a > 1]
        a, b = max(gaps, key=lambda gap: known[gap[1]] - known[gap[0]])  # the first of equal ones
        known[(a + b) // 2] = min(max(sum(counts[: (a + b) // 2]) + z, 0), n)
    return list(known.items())[2:]


def adaptive_quantiles(counts, noise, between):
    """The answers, sorted, at the thresholds, sorted."""
    known = dict([(0, 0), (len(counts), sum(counts)), *adaptive_questions(counts, noise)])
    sorted_known = dict(zip(sorted(known), sorted(known.values()), strict=True))
    return through(sorted_known, len(counts), between)


def without_negative_counts(cumulative):
    """Negative increments are 0, and what remains is scaled to end where it did."""
    cells = [max(b - a, 0.0) for a, b in pairwise([0, *cumulative])]
    return np.array([sum(cells[: i + 1]) / sum(cells) * cumulative[-1] for i in range(len(cells))])
