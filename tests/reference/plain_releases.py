"""Counts and means in plain Python, as definitions: exact, record by record."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def counts(labels, categories):
    """How many labels equal each category."""
    return [sum(label == category for label in labels) for category in categories]


def places(values, lower, upper):
    """Where values are between the bounds, of which 0 and 1 are the ends; beyond them, there."""
    low, high = Fraction(lower), Fraction(upper)
    clipped = [Fraction(min(max(value, lower), upper)) for value in values]
    return [(value - low) / (high - low) for value in clipped]


def sums_of_places(values, lower, upper):
    """The sums of places, and of what they lack to 1."""
    own = places(values, lower, upper)
    return sum(own), sum(1 - place for place in own)


def means_within(totals, n, deviation, width, variance_of_sampling=lambda p: 0.0):
    """All means, on a fine grid, from which the totals are at most ``width`` deviations away.

    Totals are of places, or of places and of what they lack to 1. The variance of sampling is that
    of the mean.
    """
    p = np.linspace(0.0, 1.0, 200_001)
    records = n if n is not None else sum(totals)
    noise = deviation**2 * (1.0 if n is not None else p**2 + (1.0 - p) ** 2)
    far = np.abs(totals[0] - p * records)
    near = far <= width * np.sqrt(noise + records**2 * variance_of_sampling(p))
    return p[near].min(), p[near].max()
