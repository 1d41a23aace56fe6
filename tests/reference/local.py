"""Local privacy: square waves one by one, and their reconstruction by a dense matrix."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

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


def local_variance(estimate, node_of_cell, shares, factor: float, density):
    """What the records add to the variance of each cumulative count of local reports, over M.

    ``estimate`` is the matrix from nodes to cumulative counts, (N, nodes); ``node_of_cell`` has a
    row of nodes for each level below the root; ``density`` is (N,). By Hoeffding's variance of a
    sum over a random permutation, and 1 for each client's own bit.
    """
    found = np.empty(len(estimate))
    for k, weights in enumerate(estimate):
        y = np.array([weights[nodes] for nodes in node_of_cell]) / shares[:, np.newaxis]
        centred = y - shares @ y
        own = shares @ (y**2) @ density
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
