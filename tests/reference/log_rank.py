"""Weighted log-rank tests from the records themselves, cell by cell, in fractions."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np


def log_rank(durations, events, groups, size, weights="log-rank"):
    """Z and its covariances of groups 0, 1, ..., for whole durations from 0 to size - 1."""
    records = list(zip(durations, events, groups, strict=True))
    k = max(groups) + 1
    differences, covariances = np.zeros(k), np.zeros((k, k))
    survival = peto = Fraction(1)
    for cell in range(size):
        risk = [sum(t >= cell and g == own for t, _, g in records) for own in range(k)]
        dead = [sum(t == cell and bool(e) and g == own for t, e, g in records) for own in range(k)]
        total, happened = sum(risk), sum(dead)
        if total == 0:
            break
        peto *= 1 - Fraction(happened, total + 1)
        if weights == "log-rank":
            weight = 1.0
        elif weights == "wilcoxon":
            weight = float(total)
        elif weights == "tarone-ware":
            weight = sqrt(total)
        elif weights == "peto":
            weight = float(peto)
        else:
            weight = float(survival) ** weights[0] * float(1 - survival) ** weights[1]
        survival *= 1 - Fraction(happened, total)
        for a in range(k):
            differences[a] += weight * float(dead[a] - Fraction(risk[a] * happened, total))
            for b in range(k):
                if total > 1:
                    spread = Fraction(happened * (total - happened), total - 1)
                    shares = Fraction(risk[a], total) * ((a == b) - Fraction(risk[b], total))
                    covariances[a, b] += weight**2 * float(spread * shares)
    return differences, covariances
