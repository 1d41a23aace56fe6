"""Labels of a model that is right, or has another slope."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

RNG = np.random.default_rng


def calibrated(n, seed, base=-2.0, slope=1.0):
    """Labels, and the model's probabilities."""
    rng = RNG(seed)
    logits = base + rng.normal(0, 1.2, n)
    probabilities = expit(logits)
    truth = probabilities if slope == 1.0 else expit(slope * (logits - base) + base)
    return rng.random(n) < truth, probabilities
