"""Sums of labels and probabilities of several classes, record by record, as fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def class_sums(labels, probabilities, classes, thresholds):
    """How many records of each class, and the sum of all records' probabilities, by cell."""
    size = len(thresholds)
    observed = [[0] * size for _ in classes]
    expected = [[Fraction(0)] * size for _ in classes]
    for label, row in zip(labels, probabilities, strict=True):
        clipped = [min(max(float(p), 0.0), 1.0) for p in row]
        total = max(sum(map(Fraction, clipped)), Fraction(1))
        for k, p in enumerate(clipped):
            cell = sum(tau < p / max(np.sum(clipped), 1.0) for tau in thresholds)  # as doubles say
            expected[k][cell] += Fraction(p) / total
            observed[k][cell] += label == classes[k]
    return observed, expected


def classwise_error(labels, probabilities, classes, thresholds):
    """The mean over classes of the expected calibration error, as Nixon et al. (2019) define it."""
    observed, expected = class_sums(labels, probabilities, classes, thresholds)
    gaps = [
        abs(o - e)
        for own, sums in zip(observed, expected, strict=True)
        for o, e in zip(own, sums, strict=True)
    ]
    return float(sum(gaps) / len(labels) / len(classes))
