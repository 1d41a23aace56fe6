"""Errors of areas under ROC curves, by the trust model.

As in the figures on the area in Cormode & Markov, "Federated Calibration and Evaluation of Binary
Classifiers": without noise under secure aggregation, with distributed noise, and with local
privacy. Clients are simulated together: the number of clients in each cell is drawn at once, and so
is the sum of their reports, both from their exact laws. A million clients take no longer than a
thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ...mechanisms import Mechanism, NoNoise
from ...releases.score_curves import score_curves_from_counts
from ...statistics import ROC
from ...summaries.grid import Grid
from ...trust import DistributedNoise, Local, SecureAggregation
from .. import study

__all__ = ["federated_auc"]

FINER = 8  # cells for each released cell, for the area of the clients' exact scores
Model = Callable[[float, int], Mechanism]
MODELS: Mapping[str, Model] = {
    "secure-aggregation": lambda epsilon, clients: SecureAggregation(),
    "distributed-noise": DistributedNoise,
    "local": Local,
}


def shares(cells: int, area: float) -> NDArray[np.float64]:
    """Return the shares of cells of score_counts: negatives rising, then positives falling."""
    distance = 2**0.5 * NormalDist().inv_cdf(area)
    edges = np.linspace(-4, 4, cells + 1)
    edges[[0, -1]] = -np.inf, np.inf
    negatives, positives = (np.diff(ndtr(edges + sign * distance / 2)) for sign in (1, -1))
    return np.append(negatives, positives[::-1]) / 2


def auc(counts: NDArray[np.int64], model: Mechanism, rng: np.random.Generator) -> float:
    """Return the area under the released ROC curve."""
    grid = Grid.uniform(-4, 4, counts.size // 2)
    return ROC.from_curves(score_curves_from_counts(counts, grid, model, rng=rng)).auc


@study(
    {
        "clients": [10_000, 100_000, 1_000_000],
        "epsilon": [1.0, 5.0],
        "cells": [1024],
        "area": [0.79],
        "model": MODELS,
    }
)
def federated_auc(
    clients: int, epsilon: float, cells: int, area: float, model: Model, rng: np.random.Generator
) -> Mapping[str, float]:
    """Errors of areas under ROC curves, by the trust model.

    Of binormal scores, half of them positive: ``error`` is the distance to the area of the
    clients' own scores, and ``difference`` has its sign. Secure aggregation spends no epsilon.
    """
    counts = rng.multinomial(clients, shares(FINER * cells, area))
    own = auc(counts, NoNoise(), rng)
    released = auc(counts.reshape(-1, FINER).sum(axis=1), model(epsilon, clients), rng)
    return {"error": abs(released - own), "difference": released - own}
