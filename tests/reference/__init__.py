"""What each fast function means, in plain NumPy and Python: slow, short, and without tricks."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import comb, factorial, isqrt

import mpmath
import numpy as np
from scipy.optimize import linprog, nnls


def count(values, thresholds):
    """Cell k holds thresholds[k - 1] < x <= thresholds[k]; everything else is clamped."""
    cells = np.searchsorted(thresholds, values, side="left")
    return np.bincount(np.minimum(cells, len(thresholds) - 1), minlength=len(thresholds))


# --- exact samplers: Canonne, Kamath & Steinke (2020), on a stream of 32-bit words


def uniform(words: Iterator[int], bound: int) -> int:
    """Uniform on {0, ..., bound - 1}: a word (or two) with the values that would bias rejected."""
    while True:
        if bound < 2**32:
            product = next(words) * bound
            if product % 2**32 >= 2**32 % bound:
                return product >> 32
        else:
            word = next(words) * 2**32 + next(words)
            if word < 2**64 - 2**64 % bound:
                return word % bound


def bernoulli_exp(words: Iterator[int], part: int, whole: int) -> bool:
    """Bernoulli(exp(-part / whole)), part < whole: Algorithm 1."""
    k = 1
    while (k == 1 or uniform(words, k) == 0) and uniform(words, whole) < part:
        k += 1
    return k % 2 == 1


def bernoulli_exp_one(words: Iterator[int]) -> bool:
    """Bernoulli(exp(-1)): Algorithm 1, its first twelve steps decided by one uniform number."""
    r = uniform(words, factorial(12))
    if r > 0:
        return min(k for k in range(1, 13) if r >= factorial(12) // factorial(k)) % 2 == 1
    k = 13
    while uniform(words, k) == 0:
        k += 1
    return k % 2 == 1


def discrete_laplace(words: Iterator[int], scale: Fraction) -> int:
    """Algorithm 2 with t = numerator and s = denominator."""
    t, s = scale.numerator, scale.denominator
    while True:
        part = uniform(words, t)
        if not bernoulli_exp(words, part, t):
            continue
        periods = 0
        while bernoulli_exp_one(words):
            periods += 1
        magnitude = (part + t * periods) // s
        negative = next(words) % 2 == 1
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_laplace_pmf(y, scale):
    """(e^(1/s) - 1) / (e^(1/s) + 1) e^(-|y| / s)."""
    q = np.exp(-1.0 / float(scale))
    return (1 - q) / (1 + q) * q ** np.abs(y)


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


# --- smoothing, straight from Eq. 3: one nu for every node, one constraint for every pair


def smoothing_constraints(cumulative, n, base, at):
    """A nu >= b: the corrected curve starts at 0 or more, never decreases, ends at n or less."""
    z = tree_matrix(len(cumulative), base)[at]
    curve = np.asarray(cumulative, float)[at]
    a = np.vstack([z[0], np.diff(z, axis=0), -z[-1]])
    return a, np.r_[-curve[0], -np.diff(curve), curve[-1] - n]


def smooth_objective(cumulative, n, norm, base, at):
    """The least sum of |nu|^norm: least distance programming for 2, linear programming for 1."""
    a, b = smoothing_constraints(cumulative, n, base, at)
    count = a.shape[1]
    if norm == 1:
        found = linprog(np.ones(2 * count), A_ub=np.hstack([-a, a]), b_ub=-b, bounds=(0, None))
        assert found.status == 0
        return found.fun
    # Lawson & Hanson (1974), chapter 23: min |nu| s.t. A nu >= b by non-negative least squares
    unit = max(1.0, np.abs(b).max())
    u, _ = nnls(np.vstack([a.T, b / unit]), np.r_[np.zeros(count), 1.0], maxiter=100 * count)
    r = np.vstack([a.T, b / unit]) @ u - np.r_[np.zeros(count), 1.0]
    return float(np.sum((-r[:count] / r[count] * unit) ** 2))


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


# --- buckets of alike cells, and Hilbert's curve


def partition_nodes(size: int, branching: int, levels: int) -> list[tuple[int, int]]:
    """(a, b) of every interval that may be a bucket, but for single cells: cells a, ..., b - 1."""
    lengths = [branching**level for level in range(1, levels + 1)]
    return [(a, min(a + width, size)) for width in lengths for a in range(0, size, width)]


def deviation(cells) -> int:
    """The least sum of distances to one number; some cell is such a number."""
    return min(sum(abs(int(x) - int(c)) for x in cells) for c in cells)


def partitions(size, branching, levels):
    """All ways to cut the row into single cells and nodes, as edges."""
    stops = {a: {a + 1} for a in range(size)}
    for a, b in partition_nodes(size, branching, levels):
        stops[a].add(b)

    def after(cell):
        if cell == size:
            yield (size,)
        for stop in sorted(stops.get(cell, ())):
            for rest in after(stop):
                yield (cell, *rest)

    return list(after(0))


def partition_cost(edges, costs, size, branching, levels, allowance, bucket_cost):
    """What a partition costs when ``costs`` are its nodes' (noisy) deviations."""
    of_node: dict[tuple[int, int], float] = {(a, a + 1): 0.0 for a in range(size)}
    for node, cost in zip(partition_nodes(size, branching, levels), costs, strict=True):
        excess = max(float(cost) - allowance, 0.0)
        of_node[node] = min(of_node.get(node, np.inf), excess)
    buckets = [(edges[k], edges[k + 1]) for k in range(len(edges) - 1)]
    return sum(bucket_cost + of_node[bucket] for bucket in buckets)


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


# --- the discrete Gaussian: Canonne, Kamath & Steinke (2020), on a stream of 32-bit words


def bernoulli(words: Iterator[int], probability: Fraction) -> bool:
    """A uniform real, its base-2^32 digits the words, is below a probability < 1."""
    while True:
        digit, probability = divmod(probability * 2**32, 1)
        word = next(words)
        if word != digit:
            return word < digit


def bernoulli_exp_fraction(words: Iterator[int], gamma: Fraction) -> bool:
    """Bernoulli(exp(-gamma)), any gamma >= 0: Algorithm 1."""
    whole, rest = divmod(gamma, 1)
    for _ in range(whole):
        if not bernoulli_exp_one(words):
            return False
    k = 1
    while (k == 1 or uniform(words, k) == 0) and bernoulli(words, rest):
        k += 1
    return k % 2 == 1


def discrete_gaussian_proposal(words: Iterator[int], sigma_squared: Fraction) -> int | None:
    """One round of Algorithm 3: discrete Laplace of scale t = floor(sigma) + 1, or a rejection."""
    t = isqrt(int(sigma_squared)) + 1
    part = uniform(words, t)
    if not bernoulli_exp(words, part, t):
        return None
    periods = 0
    while bernoulli_exp_one(words):
        periods += 1
    magnitude = part + t * periods
    negative = next(words) % 2 == 1
    if negative and magnitude == 0:
        return None
    if not bernoulli_exp_fraction(words, (magnitude - sigma_squared / t) ** 2 / 2 / sigma_squared):
        return None
    return -magnitude if negative else magnitude


def discrete_gaussian(words: Iterator[int], sigma_squared: Fraction) -> int:
    """Algorithm 3: rounds until one is accepted."""
    while True:
        proposal = discrete_gaussian_proposal(words, sigma_squared)
        if proposal is not None:
            return proposal


def discrete_gaussian_pmf(y, sigma_squared):
    """e^(-y^2 / (2 sigma^2)) over the sum of it."""
    edge = int(40 * float(sigma_squared) ** 0.5) + 10
    total = np.sum(np.exp(-(np.arange(-edge, edge + 1.0) ** 2) / (2 * float(sigma_squared))))
    return np.exp(-(np.asarray(y, float) ** 2) / (2 * float(sigma_squared))) / total


# --- what one Gaussian release costs, to 50 digits


def gaussian_delta(sigma, epsilon, sensitivity):
    """Balle & Wang (2018), Theorem 8, as it stands there."""
    with mpmath.workdps(450):  # the two terms may agree in hundreds of digits
        apart = mpmath.mpf(sensitivity) / mpmath.mpf(sigma)
        epsilon = mpmath.mpf(epsilon)
        first = mpmath.ncdf(apart / 2 - epsilon / apart)
        return first - mpmath.exp(epsilon) * mpmath.ncdf(-apart / 2 - epsilon / apart)


def discrete_gaussian_delta(sigma_squared: Fraction, epsilon, sensitivity):
    """The sum of max(0, P(y) - e^epsilon P(y + sensitivity)) over all y."""
    with mpmath.workdps(50):
        rate = mpmath.mpf(sigma_squared.denominator) / (2 * sigma_squared.numerator)
        edge = int(30 * float(sigma_squared) ** 0.5 * (1 + epsilon)) + sensitivity + 5
        weight = [mpmath.exp(-rate * y * y) for y in range(2 * edge)]
        factor = mpmath.exp(mpmath.mpf(epsilon))
        excess = (
            weight[abs(y)] - factor * weight[abs(y + sensitivity)] for y in range(-edge, edge)
        )
        total = 2 * mpmath.fsum(weight) - 1
        return mpmath.fsum(max(mpmath.mpf(0), term) for term in excess) / total


# --- streams: the same tree, its nodes in the order in which they open


def opening_order(thresholds: int, base: int) -> list[int]:
    """Columns of ``tree_matrix`` by first threshold; of those that open together, leaves first."""
    found = nodes(thresholds, base)
    return sorted(range(len(found)), key=lambda column: found[column][0])


def causal_shift(thresholds: int, base: int, a: int, b: int) -> np.ndarray:
    """A flow of one unit from a to b > a, node by node as they open, not knowing what comes.

    At each threshold the node of the highest level that opens there makes up for what the open
    nodes lack of the change, which is 1 on a + 1, ..., b and 0 elsewhere.
    """
    found = nodes(thresholds, base)
    flow = np.zeros(len(found), int)
    for threshold in range(thresholds):
        opening = max(column for column, node in enumerate(found) if node[0] == threshold)
        carried = sum(flow[k] for k, node in enumerate(found) if node[0] < threshold < node[1])
        flow[opening] = int(a <= threshold < b) - carried
    return flow


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


# --- distances between step functions


def step_distances(first, second):
    """Supremum, area, and energy distance squared, exactly, of F - G.

    F and G are functions on exact fractions that jump at some points, and agree beyond them all:
    each argument is (function, points).
    """
    (f, ours), (g, theirs) = first, second
    points = sorted({Fraction(t) for t in [*ours, *theirs]})
    apart = [abs(f(t) - g(t)) for t in points]
    widths = [points[i + 1] - points[i] for i in range(len(points) - 1)]
    inner = list(zip(apart, widths, strict=False))
    area, square = sum(d * w for d, w in inner), 2 * sum(d * d * w for d, w in inner)
    return max(apart), Fraction(area), Fraction(square)


def empirical(sample):
    """The empirical distribution function of a sample, and where it jumps."""
    exact = [Fraction(x) for x in sample]
    return (lambda t: Fraction(sum(x <= t for x in exact), len(exact))), exact


def curve_steps(curve):
    """What a curve is evaluated to, in fractions, and where it jumps."""
    thresholds = [Fraction(t) for t in curve.thresholds.tolist()]
    levels = [Fraction(c) / curve.n for c in curve.counts.tolist()]

    def level(t):
        passed = sum(tau <= t for tau in thresholds)
        return levels[passed - 1] if passed else Fraction(0)

    return level, thresholds


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


# --- selection: the exponential mechanism on a stream of words, and exact laws


def bernoulli_two_over_e(words: Iterator[int]) -> bool:
    """2 / e = 1 - 1/3 + 1/(3 4) - ...: the first failure of 1/3, 1/4, ... is the K-th, K odd."""
    k = 3
    while uniform(words, k) == 0:
        k += 1
    return k % 2 == 1


def exponential_mechanism(words: Iterator[int], scores, rate: Fraction) -> int:
    """Slots for classes of candidates, by the whole part of gamma = rate (best - score)."""
    gammas = [rate * (max(scores) - score) for score in scores]
    last = max(1, (len(scores) - 1).bit_length())
    classes = [[] for _ in range(last + 1)]
    for i, gamma in enumerate(gammas):
        classes[min(int(gamma), last)].append(i)
    slots = [(c, k) for c, own in enumerate(classes) for k in range(-(-len(own) // 2**c))]
    while True:
        c, k = slots[uniform(words, len(slots))]
        if not all(bernoulli_two_over_e(words) for _ in range(c)):
            continue
        rank = 2**c * k + uniform(words, 2**c)
        if rank >= len(classes[c]):
            continue
        candidate = classes[c][rank]
        whole, part = divmod(gammas[candidate] - c, 1)
        if not all(bernoulli_exp_one(words) for _ in range(whole)):
            continue
        if bernoulli_exp(words, part * rate.denominator, rate.denominator):
            return candidate


def exponential_law(scores, rate):
    """The probabilities, proportional to e^(rate score)."""
    weights = np.exp(float(rate) * (np.asarray(scores, float) - max(scores)))
    return weights / weights.sum()


def discrete_laplace_tail(k, scale):
    """P(Y >= k) under discrete Laplace noise."""
    q, k = np.exp(-1 / float(scale)), np.asarray(k, float)
    half = q ** np.where(k > 0, k, 1 - k) / (1 + q)
    return np.where(k > 0, half, 1 - half)


def above_threshold_law(queries, threshold, of_threshold, of_queries, fresh=False):
    """The probabilities of every answer, by a sum over the threshold's noise; (N,).

    The scales of the noises are given. ``fresh``: a new noisy threshold for every query.
    """
    edge = int(45 * max(of_threshold, of_queries)) + 5
    noisy = np.arange(-edge, edge + 1)
    weights = discrete_laplace_pmf(noisy, of_threshold)
    still, law = (weights.sum() if fresh else np.ones(noisy.size)), []
    for query in queries[:-1]:
        least = threshold + noisy - query
        reached = discrete_laplace_tail(least, of_queries)
        below = discrete_laplace_tail(1 - least, of_queries)
        if fresh:
            reached, below = weights @ reached, weights @ below
        law.append(np.sum(still * reached) if fresh else np.sum(weights * still * reached))
        still = still * below
    law.append(np.sum(still) if fresh else np.sum(weights * still))
    return np.array(law)


# --- sums in multiples of 2^-28: every record's terms by themselves


def position(value: float, lower: float, upper: float) -> float:
    """Where a record is on [-1, 1], to the bit: clipped, and scaled by a division."""
    shrink = 0.5 if upper / 2 - lower / 2 >= 2.0**1022 else 1.0
    low, high = shrink * lower, shrink * upper
    return (shrink * min(max(value, lower), upper) - low) / (high - low) * 2.0 - 1.0


def legendre_terms(x: float, size: int) -> list[int]:
    """The integers nearest to 2^28 P_k(x), k < size, P_k by the recurrence in doubles."""
    values = [1.0, x]
    for k in range(2, size):
        product = x * values[-1]
        values.append(product + (k - 1) / k * (product - values[-2]))
    return [round(2.0**28 * value) for value in values[:size]]


def moment_terms(x: float, size: int) -> list[int]:
    """The integers nearest to 2^28 x^i, i < size, one multiplication after the other."""
    values = [1.0]
    for _ in range(1, size):
        values.append(values[-1] * x)
    return [round(2.0**28 * value) for value in values]


def legendre_values(x: float, size: int) -> list[mpmath.mpf]:
    """P_k(x), k < size, to 50 digits less what the recurrence loses, which is about 4."""
    with mpmath.workdps(50):
        values = [mpmath.mpf(1), mpmath.mpf(x)]
        for k in range(2, size):
            values.append(((2 * k - 1) * x * values[-1] - (k - 1) * values[-2]) / k)
        return values[:size]


# --- medians of intervals, and their smooth sensitivities


def order_statistic(positions, rank, low, high):
    """x_rank of sorted positions, from 1, and a bound where there is none."""
    if rank < 1:
        return low
    return positions[rank - 1] if rank <= len(positions) else high


def median_position(counts):
    """The first place but the last with half of the records before or at it, or the last but one.

    (At the last place the interval ends: it cannot be split there.)
    """
    places = np.arange(len(counts) - 1)
    reached = 2 * np.cumsum(counts)[:-1] >= sum(counts)
    return int(places[reached][0]) if reached.any() else len(counts) - 2


def node_positions(counts):
    """The sorted positions of an interval's records, and the bounds."""
    last = len(counts) - 2
    return np.minimum(np.repeat(np.arange(len(counts)), counts), last).tolist(), 0, last


def falling_weights(ratio, size):
    """2^38, and so on by a factor ratio / 2^24, rounded up."""
    weights = [2**38]
    while len(weights) < size:
        weights.append(-(-weights[-1] * ratio // 2**24))
    return weights


def node_sensitivity(counts, ratio):
    """The smooth sensitivity if records come or go, by its formula; in units of 2^-38."""
    positions, low, high = node_positions(counts)
    n = len(positions)
    gaps = []
    for k in range(n + 1):
        i = (n - k) // 2
        ends = [order_statistic(positions, rank, low, high) for rank in (i, i + k + 1)]
        gaps.append(ends[1] - ends[0])
    return max(w * gap for w, gap in zip(falling_weights(ratio, n + 1), gaps, strict=True))


def replace_one_sensitivity(positions, low, high, beta):
    """Nissim, Raskhodnikova & Smith 2007, Proposition 3.4, term by term."""
    n = len(positions)
    m = (n + 1) // 2
    best = 0.0
    for k in range(n + 1):
        for t in range(k + 2):
            upper = order_statistic(positions, m + t, low, high)
            lower = order_statistic(positions, m + t - k - 1, low, high)
            best = max(best, float(np.exp(-beta * k)) * (upper - lower))
    return best


def rounded_cauchy_law(middle, scale, size):
    """The probabilities of 0, ..., size - 1 for a rounded Cauchy variate, and of none of them."""
    edges = np.arctan((np.arange(size + 1) - 0.5 - middle) / float(scale)) / np.pi
    inside = np.diff(edges)
    return inside, 1.0 - inside.sum()


def split_law(middle, scale, cells):
    """The probabilities of the places after which an interval is split: outside is the middle."""
    law, outside = rounded_cauchy_law(middle, scale, cells - 1)
    law[(cells - 2) // 2] += outside
    return law


def rounded_cauchy(words, scale):
    """A rounded draw, from an iterator of 64-bit words: all that can be read is read first."""
    while True:
        u, v = next(words), next(words)
        negative, u, v, one = v & 1, u >> 1, v >> 1, 2**63
        while u * u + v * v < one * one:
            ends = [Fraction(a, b) * scale for a, b in ((v, u + 1), (v + 1, u)) if b > 0]
            nearest = {(end + Fraction(1, 2)) // 1 for end in ends}
            if (u + 1) ** 2 + (v + 1) ** 2 <= one * one and len(ends) == 2 and len(nearest) == 1:
                return -nearest.pop() if negative else nearest.pop()
            u, v, one = u * 2**64 + next(words), v * 2**64 + next(words), one * 2**64


# --- calibration: from the records themselves


def records_by_bin(labels, scores, edges):
    """The records with edges[b] < score <= edges[b + 1]; the first bin has its lower edge, too."""
    for b in range(len(edges) - 1):
        inside = (scores > edges[b]) & (scores <= edges[b + 1])
        if b == 0:
            inside |= scores == edges[0]
        yield labels[inside], scores[inside]


def calibration_errors(labels, scores, edges):
    """Expected calibration error, norms 1 and 2, and the maximum: bin by bin."""
    gaps, weights = [], []
    for own, theirs in records_by_bin(labels, scores, edges):
        if len(own):
            gaps.append(abs(own.mean() - theirs.mean()))
            weights.append(len(own) / len(labels))
    gaps, weights = np.array(gaps), np.array(weights)
    return gaps @ weights, np.sqrt(gaps**2 @ weights), gaps.max()


def equi_depth_ends(counts, size):
    """After how many cells each bin ends: where the count reaches b n / B, by cross-products."""
    n, cumulative, ends = int(sum(counts)), np.cumsum(counts), [0]
    for b in range(1, size):
        reached = next(k for k, count in enumerate(cumulative) if size * int(count) >= b * n)
        ends.append(len(counts) if cumulative[reached] == n else reached + 1)
    return [*ends, len(counts)]


def urn(positives: int, negatives: int, mean: Fraction) -> Fraction:
    """How likely some labels are, in any order, by an urn that begins with two balls."""
    likelihood, balls = Fraction(1), Fraction(2)
    for color, number in ((2 * mean, positives), (2 * (1 - mean), negatives)):
        for drawn in range(number):
            likelihood *= (color + drawn) / balls
            balls += 1
    return likelihood


def bayesian_binning(positives, negatives, edges, sizes):
    """The averaged probability of each cell and the weight of each number of bins, as fractions."""
    edges = [Fraction(float(edge)) for edge in edges]
    weights, maps = [], []
    for size in sizes:
        weight, values = Fraction(1), []
        for first, last in pairwise(equi_depth_ends(positives + negatives, size)):
            p, q = int(positives[first:last].sum()), int(negatives[first:last].sum())
            mean = (edges[first] + edges[last]) / 2
            mean = min(max(mean, Fraction(0.005)), Fraction(1 - 0.005))
            weight *= urn(p, q, mean)
            values += [(p + 2 * mean) / (p + q + 2)] * (last - first)
        weights.append(weight)
        maps.append(values)
    weights = [weight / sum(weights) for weight in weights]
    cells = zip(*maps, strict=True)
    return [sum(w * v for w, v in zip(weights, each, strict=True)) for each in cells], weights


# --- ROC curves: pair by pair, and threshold by threshold


def area_by_pairs(labels, scores) -> Fraction:
    """How likely a positive has a higher score than a negative, ties counting half."""
    positives = [score for label, score in zip(labels, scores, strict=True) if label]
    negatives = [score for label, score in zip(labels, scores, strict=True) if not label]
    won = sum(Fraction(int(p > q) + int(p >= q), 2) for p in positives for q in negatives)
    return won / (len(positives) * len(negatives))


def confusion_above(labels, scores, threshold):
    """True negatives, false positives, false negatives, true positives, as scikit-learn's."""
    found = [0, 0, 0, 0]
    for label, score in zip(labels, scores, strict=True):
        found[2 * bool(label) + (score > threshold)] += 1
    return tuple(found)


def area_between(first, second) -> Fraction:
    """The area between two curves of points (x, y), straight between them, by exact fractions."""
    both = (first, second)
    curves = [[(Fraction(x), Fraction(y)) for x, y in zip(*c, strict=True)] for c in both]

    def value(curve, x):  # of an x that is no abscissa of a point
        for (x0, y0), (x1, y1) in pairwise(curve):
            if x0 < x < x1:
                return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
        raise AssertionError

    total = Fraction(0)
    for low, high in pairwise(sorted({x for curve in curves for x, _ in curve})):
        at = low + (high - low) / 3, low + 2 * (high - low) / 3  # two points make a line
        near, far = (value(curves[0], x) - value(curves[1], x) for x in at)
        start, end = 2 * near - far, 2 * far - near
        if start * end >= 0:
            total += (high - low) * abs(start + end) / 2
        else:
            total += (high - low) * (start**2 + end**2) / (2 * (abs(start) + abs(end)))
    return total


def count_by_class(labels, scores, thresholds):
    """Records by class and cell: negatives by rising scores, then positives by falling ones."""
    size = len(thresholds)
    counts = [0] * (2 * size)
    for label, score in zip(labels, scores, strict=True):
        cell = min(sum(float(tau) < float(score) for tau in thresholds), size - 1)
        counts[2 * size - 1 - cell if label else cell] += 1
    return counts


# --- the Hosmer-Lemeshow test, record by record


def risk_groups(probabilities, groups: int) -> list[int]:
    """Each record's group: group q ends at the least probability that q n / Q do not exceed."""
    n = len(probabilities)
    ends = [
        min(c for c in probabilities if groups * sum(p <= c for p in probabilities) >= q * n)
        for q in range(1, groups + 1)
    ]
    return [sum(end < p for end in ends) for p in probabilities]


def hosmer_lemeshow(labels, probabilities, of_record) -> float:
    """Eq. 5 of the ECDF paper, over the groups that hold records."""
    total = 0.0
    for group in sorted(set(of_record)):
        own = [i for i, found in enumerate(of_record) if found == group]
        for label in (False, True):
            observed = sum(labels[i] == label for i in own)
            expected = sum(probabilities[i] if label else 1 - probabilities[i] for i in own)
            total += (observed - expected) ** 2 / expected
    return total


def merged_groups(expected, minimum: float) -> list[list[int]]:
    """Neighbours go together until enough is expected of both classes; what is left, backwards."""
    groups, own = [], []
    for i in range(len(expected)):
        own.append(i)
        sums = [sum(expected[j][label] for j in own) for label in (0, 1)]
        if min(sums) > 0 and min(sums) >= minimum:
            groups.append(own)
            own = []
    if own:
        groups[-1:] = [[*(groups[-1] if groups else []), *own]]
    return groups
