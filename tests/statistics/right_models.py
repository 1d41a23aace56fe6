"""Labels of a model that is right."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

RNG = np.random.default_rng


def calibrated(n, seed, base=-2.0):
    """Labels of a model that is right, and its probabilities."""
    rng = RNG(seed)
    probabilities = expit(base + rng.normal(0, 1.2, n))
    return rng.random(n) < probabilities, probabilities
