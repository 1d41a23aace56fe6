"""Grids, counts and sums, record by record."""

from __future__ import annotations

import mpmath
import numpy as np

# --- counts


def count(values, thresholds):
    """Cell k holds thresholds[k - 1] < x <= thresholds[k]; everything else is clamped."""
    cells = np.searchsorted(thresholds, values, side="left")
    return np.bincount(np.minimum(cells, len(thresholds) - 1), minlength=len(thresholds))


def count_by_class(labels, scores, thresholds):
    """Records by class and cell: negatives by rising scores, then positives by falling ones."""
    size = len(thresholds)
    counts = [0] * (2 * size)
    for label, score in zip(labels, scores, strict=True):
        cell = min(sum(float(tau) < float(score) for tau in thresholds), size - 1)
        counts[2 * size - 1 - cell if label else cell] += 1
    return counts


def count_pairs(x, y, x_thresholds, y_thresholds):
    """Records by the cells of both columns, those without a value in either left out."""
    counts = [[0] * len(y_thresholds) for _ in x_thresholds]
    for a, b in zip(x, y, strict=True):
        if a == a and b == b:
            i = min(sum(float(tau) < float(a) for tau in x_thresholds), len(x_thresholds) - 1)
            j = min(sum(float(tau) < float(b) for tau in y_thresholds), len(y_thresholds) - 1)
            counts[i][j] += 1
    return counts


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
