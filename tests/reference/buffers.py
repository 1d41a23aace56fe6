"""Buffered Toeplitz noise in whole numbers of any size, and the least noise of any stream."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np


def exact_weights(buffers, count):
    """b_0, ..., b_(count - 1) as fractions, from the numbers that the kernel takes."""
    decays = [Fraction(int(m), 2 ** (31 + int(k))) for m, k in buffers.decays]
    level, *shares = (Fraction(int(m), 2 ** (31 + int(k))) for m, k in buffers.weights)
    row = [Fraction(1)]
    for _ in range(count - 1):
        row.append(level + sum(shares))
        shares = [share * (1 - decay) for share, decay in zip(shares, decays, strict=True)]
    return row


def buffered_noise(draws, buffers, finer=12):
    """The noise of one counter: what kernels.buffered computes, step by step."""
    decays, weights = buffers.decays.tolist(), buffers.weights.tolist()
    total, held, left = 0, [0] * len(decays), [0] * len(decays)
    noise = []
    for draw in map(int, draws):
        values = [total << finer, *held]
        before = sum((value * m) >> (31 + k) for value, (m, k) in zip(values, weights, strict=True))
        noise.append(draw + (before >> finer))
        total += draw
        for i, (m, k) in enumerate(decays):
            lost = ((held[i] * m) >> 31) + left[i]
            left[i] = lost % 2**k
            held[i] += (draw << finer) - (lost >> k)
    return noise


def inverse_series(row):
    """c_k of c = 1 / ((1 - x) b)."""
    sums = np.diff(np.asarray(row, float), prepend=0.0)  # (1 - x) b
    c = np.zeros(len(sums))
    c[0] = 1.0
    for k in range(1, len(c)):
        c[k] = -np.dot(sums[1 : k + 1], c[k - 1 :: -1])
    return c


def toeplitz(row):
    """The lower triangular matrix whose first column is given."""
    n = len(row)
    ages = np.subtract.outer(np.arange(n), np.arange(n))
    return np.where(ages >= 0, np.asarray(row, float)[np.maximum(ages, 0)], 0.0)


def squares_in_digits(buffers, horizon, lag=0):
    """sum_{k < T - lag} c_k c_(k + lag) in 60 digits, with zeros found again."""
    with localcontext() as context:
        context.prec = 60
        decays = [Decimal(int(m)) / 2 ** (31 + int(k)) for m, k in buffers.decays]
        level, *shares = (Decimal(int(m)) / 2 ** (31 + int(k)) for m, k in buffers.weights)
        shares = [share / (1 - decay) for share, decay in zip(shares, decays, strict=True)]
        residues = [level, *shares, 1 - level - sum(shares)]
        places = [Decimal(0), *decays, Decimal(1)]
        poles, parts = [], []
        for low, high in itertools.pairwise(places):
            for _ in range(190):
                middle = (low + high) / 2
                value = sum(r / (p - middle) for r, p in zip(residues, places, strict=True))
                low, high = (middle, high) if value < 0 else (low, middle)
            poles.append(middle)
            slope = sum(r / (p - middle) ** 2 for r, p in zip(residues, places, strict=True))
            parts.append(1 / ((1 - middle) * middle * slope))
        logs = [(1 - pole).ln() for pole in poles]
        total = Decimal(0)
        for part, pole, log in zip(parts, poles, logs, strict=True):
            for part2, pole2, log2 in zip(parts, poles, logs, strict=True):
                both = pole + pole2 - pole * pole2
                sums = (1 - ((horizon - lag) * (log + log2)).exp()) / both
                total += part * part2 * (lag * log).exp() * sums
        return float(total)


def least_deviations(steps, largest, rounds=400):
    """A lower and an upper bound on the least deviation of Gaussian noise of running sums.

    For one record that comes or not, and noise whose square of the norm of a column is 1. Of all
    matrices B C = A: the bound is the nuclear norm of A, weighted (the dual of gamma_2). For the
    root mean square the weights of rows are equal; for the largest deviation they are chosen, too.
    """
    sums = np.tril(np.ones((steps, steps)))
    rows = columns = np.full(steps, 1.0 / steps)
    low, high = 0.0, np.inf
    for _ in range(rounds):
        left, values, right = np.linalg.svd(np.sqrt(rows)[:, None] * sums * np.sqrt(columns))
        nuclear = values.sum()
        low = max(low, nuclear)
        new_rows = (left**2 @ values) / nuclear
        new_columns = (values @ right**2) / nuclear
        # B = rows^-1/2 U S^1/2, C = S^1/2 V columns^-1/2
        of_c = (new_columns / columns).max()
        of_b = (new_rows / rows).max() if largest else 1.0
        high = min(high, nuclear * np.sqrt(of_b * of_c))
        columns = new_columns
        if largest:
            rows = new_rows
        if high < low * (1 + 1e-6):
            break
    return low, high


def nuclear_bound(steps):
    """A lower bound on both deviations: the mean of the singular values of the prefix sums."""
    angles = (2 * np.arange(1, steps + 1) - 1) * np.pi / (4 * steps + 2)
    return float(np.mean(0.5 / np.sin(angles)))


def least_toeplitz(steps):
    """The least largest deviation of Toeplitz matrices: both are (1 - x)^-1/2."""
    k = np.arange(1, steps)
    square = np.cumprod(((2.0 * k - 1.0) / (2.0 * k)) ** 2).sum() + 1.0
    return float(square)
