"""Bits of unary encodings, and how well they fit a law."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

SIGNIFICANCE = 1e-6  # of tests on fixed seeds


def unpacked(reports, size=None):
    """Return bits, (R, 64 W) or (R, size)."""
    bits = np.unpackbits(reports.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return bits[:, :size]


def fits(counts, expected):
    """Chi-squared, with rare outcomes taken together."""
    rare = expected < 8
    counts = np.r_[counts[~rare], counts[rare].sum()]
    expected = np.r_[expected[~rare], expected[rare].sum()]
    kept = expected > 0
    statistic = np.sum((counts[kept] - expected[kept]) ** 2 / expected[kept])
    return chi2.sf(statistic, kept.sum() - 1) > SIGNIFICANCE and not counts[~kept].any()
