"""Rivals of the papers, straight from their definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

# --- curves through quantiles


def quantile(ends, counts, level):
    """Return where records that lie evenly in their cells reach a share of them, by a walk."""
    total, before = sum(counts), 0.0
    last = None
    for low, high, count in zip(ends, ends[1:], counts, strict=False):
        if count > 0 and level == 0:
            return low
        if count > 0 and before + count >= level * total * (1 - 1e-12):
            return min(high, low + (level * total - before) / count * (high - low))
        last = high if count > 0 else last
        before += count
    return last


def monotone_cubic(x, y, t):
    """Return the cubic of Fritsch & Butland through (x, y), by Hermite's basis, at one point."""
    h, d = np.diff(x), np.diff(y) / np.diff(x)
    slopes = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        if d[i - 1] * d[i] > 0:
            left, right = 2 * h[i] + h[i - 1], h[i] + 2 * h[i - 1]
            slopes[i] = (left + right) / (left / d[i - 1] + right / d[i])
    for end, (h0, h1, d0, d1) in {
        0: (h[0], h[1], d[0], d[1]),
        -1: (h[-1], h[-2], d[-1], d[-2]),
    }.items():
        slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
        if slope * d0 <= 0:
            slope = 0.0
        elif d0 * d1 <= 0 and abs(slope) > 3 * abs(d0):
            slope = 3 * d0
        slopes[end] = slope
    i = min(max(int(np.searchsorted(x, t, side="right")) - 1, 0), len(x) - 2)
    s = (t - x[i]) / h[i]
    return (
        y[i] * (1 + 2 * s) * (1 - s) ** 2
        + h[i] * slopes[i] * s * (1 - s) ** 2
        + y[i + 1] * s**2 * (3 - 2 * s)
        + h[i] * slopes[i + 1] * s**2 * (s - 1)
    )


# --- matching pursuit


def matching_pursuit(curve, functions, least, most):
    """Return the fit of few functions to a curve, (N,), each time by least squares of them all."""
    chosen, fitted = [], np.zeros(len(curve))
    lengths = np.sqrt(np.sum(functions**2, axis=0))
    for _ in range(most):
        rest = curve - fitted
        correlations = [
            abs(f @ rest) / length for f, length in zip(functions.T, lengths, strict=True)
        ]
        best = max(range(len(correlations)), key=correlations.__getitem__)
        if correlations[best] <= least:
            break
        chosen.append(best)
        some = functions[:, chosen]
        fitted = some @ np.linalg.lstsq(some, curve, rcond=None)[0]
    return fitted, chosen


def b_spline(x, knots, degree):
    """Return all B-splines over some knots at a point, by the recursion of Cox and de Boor."""
    last = knots[-degree - 1]
    x = min(x, last - 1e-12 * (knots[1] - knots[0])) if x >= last else x
    values = [float(a <= x < b) for a, b in pairwise(knots)]
    for k in range(1, degree + 1):
        values = [
            (x - knots[i]) / (knots[i + k] - knots[i]) * values[i]
            + (knots[i + k + 1] - x) / (knots[i + k + 1] - knots[i + 1]) * values[i + 1]
            for i in range(len(values) - 1)
        ]
    return values
