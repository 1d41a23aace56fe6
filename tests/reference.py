"""What each fast function means, in plain NumPy and Python: slow, short, and without tricks."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import factorial

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
