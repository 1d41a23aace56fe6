"""Errors of released ROC curves, and of the areas under them.

Shows how many records a private ROC curve needs, and that more cells cost little
(docs/guides/roc.md). The distance of two curves is the area between them, as in Figure 5 of
Barczewski, Mawass & Ramon,
"Differentially Private Empirical Cumulative Distribution Functions".
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
from scipy.special import ndtr

from ...mechanisms import NoNoise
from ...releases.roc_curve import roc_curve
from ...statistics import symmetric_difference
from ...summaries.grid import Grid
from .. import study

__all__ = ["roc"]

FINE = Grid.uniform(0, 1, 2**14)  # for the exact curve of the records


@study(
    {
        "n": [1_000, 10_000, 100_000],
        "epsilon": [0.1, 1.0],
        "cells": [64, 1024],
        "area": [0.8],
        "positives": [0.5],
    }
)
def roc(
    n: int, epsilon: float, cells: int, area: float, positives: float, rng: np.random.Generator
) -> Mapping[str, float]:
    """Errors of released ROC curves, and of the areas under them.

    Of binormal scores with an area and a share of positives, against the records' own curve:
    ``distance`` is the area between both curves, ``area_error`` the difference of their areas.
    """
    distance = 2**0.5 * NormalDist().inv_cdf(area)
    labels = rng.random(n) < positives
    scores = ndtr(rng.normal(np.where(labels, distance / 2, -distance / 2)))
    own = roc_curve(labels, scores, grid=FINE, mechanism=NoNoise())
    private = roc_curve(labels, scores, grid=Grid.uniform(0, 1, cells), epsilon=epsilon, rng=rng)
    return {
        "distance": symmetric_difference(own, private),
        "area_error": abs(private.auc - own.auc),
    }
