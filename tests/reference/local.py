"""Local privacy: square waves one by one, and their reconstruction by a dense matrix."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from .noise import uniform


def square_wave_matrix(size: int, near: int, far_share: Fraction) -> list[list[Fraction]]:
    """The probability of each output, in rows, for a client in each cell, in columns."""
    p, q = (1 - far_share) / near, far_share / (size - 1)
    outputs = range(size + near - 1)
    return [[p if cell <= at < cell + near else q for cell in range(size)] for at in outputs]


def square_wave_report(words: Iterator[int], cell: int, size: int, near: int, far_share: Fraction):
    """A near output, one of those from the cell on, or one of the others: from 32-bit words."""
    chosen = next(words) * 2**32 + next(words)
    outputs = range(size + near - 1)
    if Fraction(chosen, 2**64) < far_share:
        others = [at for at in outputs if not cell <= at < cell + near]
        return others[uniform(words, len(others))]
    return cell + uniform(words, near)


def smoothed_likelihood(totals, matrix, smoothing: float, tolerance: float, most: int):
    """Li et al. 2020, Algorithm 1: expectation, maximisation, and a smoothing step."""
    size = matrix.shape[1]
    smoother = np.zeros((size, size))
    for i in range(size):
        for weight, j in ((0.25, i - 1), (0.5, i), (0.25, i + 1)):
            smoother[i, min(max(j, 0), size - 1)] += weight
    smoother = smoothing * smoother + (1 - smoothing) * np.eye(size)
    shares = np.full(size, 1 / size)
    for _ in range(most):
        fitted = shares * (matrix.T @ (totals / (matrix @ shares)))
        before, shares = shares, smoother @ (fitted / fitted.sum())
        if np.abs(shares - before).sum() <= tolerance:
            break
    return shares


def unary_covariances(size: int, q: float):
    """Covariances of unbiased estimates from one report, (d, d) for each value of the client."""
    variances = np.full((size, size), q * (1 - q))
    np.fill_diagonal(variances, 1 / 4)
    return np.array([np.diag(row) for row in variances]) / (1 / 2 - q) ** 2


def subset_law(size: int, chosen: int, value: int, missing):
    """All sets of so many values, each with its probability for a client with a value."""
    sets = list(combinations(range(size), chosen))
    with_value = sum(value in each for each in sets)
    for each in sets:
        is_in = value in each
        chance = 1 - missing if is_in else missing
        yield each, chance / (with_value if is_in else len(sets) - with_value)


def subset_covariances(size: int, chosen: int, missing: float):
    """As ``unary_covariances``, by adding up over all sets."""
    found = []
    for value in range(size):
        mean, square = np.zeros(size), np.zeros((size, size))
        for each, chance in subset_law(size, chosen, value, missing):
            bits = np.isin(np.arange(size), each)
            mean += chance * bits
            square += chance * np.outer(bits, bits)
        scale = mean[value] - mean[value - 1]
        found.append((square - np.outer(mean, mean)) / scale**2)
    return np.array(found)


def subset_report(words: Iterator[int], value: int, size: int, chosen: int, missing: Fraction):
    """The values in a report, from 32-bit words: Floyd's algorithm for the other values."""
    drawn = next(words) * 2**32 + next(words)
    is_in = Fraction(drawn, 2**64) >= missing
    others, places = [other for other in range(size) if other != value], set()
    for highest in range(len(others) - chosen + is_in, len(others)):
        place = uniform(words, highest + 1)
        places.add(highest if place in places else place)
    return sorted([others[place] for place in places] + [value] * is_in)


def local_variance(estimate, node_of_cell, covariances, shares, factor: float, density):
    """The variance of each cumulative count of local reports, over M.

    ``estimate`` is the matrix from nodes to cumulative counts, (N, nodes); ``node_of_cell`` has a
    row of nodes for each level below the root, and ``covariances`` those of estimates from a report
    about it; ``density`` is (N,). By Hoeffding's variance of a sum over a random permutation.
    """
    found = np.empty(len(estimate))
    for k, weights in enumerate(estimate):
        y = np.array([weights[nodes] for nodes in node_of_cell]) / shares[:, np.newaxis]
        centred = y - shares @ y
        own = 0.0
        for nodes, covariance, share in zip(node_of_cell, covariances, shares, strict=True):
            first = nodes[0]
            a = weights[first : first + len(covariance)]
            each = np.einsum("i,vij,j->v", a, covariance, a)
            own += each[nodes - first] @ density / share
        spread = shares @ (centred - (centred @ density)[:, np.newaxis]) ** 2 @ density
        found[k] = own + factor * spread
    return found


def halved(below, least, start: int = 0, end: int | None = None):
    """The ends of cells that are halved, from the top, while they have more than a share."""
    end = len(below) - 1 if end is None else end
    whole = (start, end) == (0, len(below) - 1)
    if end - start == 1 or (not whole and below[end] - below[start] <= least):
        return [end]
    middle = start + -(-(end - start) // 2)
    return halved(below, least, start, middle) + halved(below, least, middle, end)
