"""The methods that the projection paper compares, as published, and our methods."""

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpcore as dp
from dpcore.mechanisms import (
    AdaptiveQuantiles,
    HistogramQueries,
    Mechanism,
    NoNoise,
    PolynomialProjection,
)
from dpcore.privacy.gaussian import gaussian_sigma

__all__ = [
    "AGAIN",
    "EVENLY",
    "METHODS",
    "Method",
    "Task",
    "adaptive_quantiles",
    "ours",
    "published",
]

BINS, STEPS, DEGREE = 30, 50, 6


class Task(NamedTuple):
    """The records of some parts (sites, or rounds of new records), and the budget.

    Parameters
    ----------
    parts
        (parts, cells) counts of each part's records in the grid's cells.
    grid, epsilon, rng
        The public thresholds, the budget, and the source of noise.
    """

    parts: NDArray[np.int64]
    grid: dp.Grid
    epsilon: float
    rng: np.random.Generator

    @property
    def delta(self) -> float:
        """The paper's delta, n^(-3/2)."""
        n = int(self.parts.sum())
        return 1 / (n * math.sqrt(n))

    def combined(self, mechanism: Mechanism | None = None) -> dp.CDF:
        """Return the raw curve of all records, from one release of each part.

        Without a mechanism, each part uses the default for the budget.
        """
        budget = (self.epsilon, self.delta) if mechanism is None else (None, None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dp.DpcoreWarning)  # some of these are mostly noise
            return dp.combine(
                dp.cdf_from_counts(
                    part,
                    self.grid,
                    mechanism,
                    epsilon=budget[0],
                    delta=budget[1],
                    isotonic=False,
                    rng=self.rng,
                )
                for part in self.parts
            )

    def asked(self, mechanism: AdaptiveQuantiles) -> dp.CDF:
        """Return the curve from questions that go to all parts at each step."""
        return dp.CDF(
            grid=self.grid,
            counts=mechanism.release_from_sites(self.parts, rng=self.rng),
            n=int(self.parts.sum()),
            privacy=mechanism.privacy,
            mechanism=mechanism.describe(),
            noise_deviation=mechanism.noise_deviation(self.grid.size),
        )

    def truth(self) -> dp.CDF:
        """Return the curve of all records, as the grid knows them."""
        return self.combined(NoNoise())


Method = Callable[[Task], dp.CDF]


def histogram_queries(task: Task) -> dp.CDF:
    """The paper's histogram queries: 30 bins, negative counts set to 0."""
    mechanism = HistogramQueries(task.epsilon, BINS, delta=task.delta)
    return task.combined(mechanism).without_negative_counts()


def adaptive_quantiles(task: Task) -> dp.CDF:
    """The paper's adaptive quantiles: 50 steps, constant in between."""
    return task.asked(AdaptiveQuantiles(task.epsilon, STEPS, delta=task.delta))


def published(task: Task) -> dp.CDF:
    """The paper's projection: noisy moments, K = 6, and the paper's bound of the sensitivity."""
    mechanism = PolynomialProjection(
        task.epsilon, DEGREE, "moments", sensitivity="paper", delta=task.delta
    )
    return task.combined(mechanism).isotonic()


def ours(task: Task) -> dp.CDF:
    """``PolynomialProjection`` with its defaults: degree 32, and other questions."""
    return task.combined(PolynomialProjection(task.epsilon, delta=task.delta)).isotonic()


def default(task: Task) -> dp.CDF:
    """The default of ``dpcore.cdf``."""
    return task.combined().isotonic()


def histogram_queries_evenly(task: Task) -> dp.CDF:
    """Histogram queries, but each bin's count has 1 / 30 of the budget to itself."""
    sigma = gaussian_sigma(task.epsilon / BINS, task.delta / BINS)
    return task.combined(HistogramQueries(rho=1 / sigma**2, bins=BINS)).without_negative_counts()


def adaptive_quantiles_evenly(task: Task) -> dp.CDF:
    """Adaptive quantiles, but each step has 1 / 50 of the budget to itself."""
    return task.asked(_answering(task, STEPS))


def adaptive_quantiles_again(task: Task) -> dp.CDF:
    """Adaptive quantiles after the last round, if each asks all records so far for its share."""
    rounds, whole = len(task.parts), task._replace(parts=task.parts.sum(axis=0, keepdims=True))
    return whole.asked(AdaptiveQuantiles(task.epsilon / rounds, STEPS, delta=task.delta / rounds))


def adaptive_quantiles_again_evenly(task: Task) -> dp.CDF:
    """The same, but each step of each round has an even share of the budget."""
    whole = task._replace(parts=task.parts.sum(axis=0, keepdims=True))
    return whole.asked(_answering(task, STEPS * len(task.parts)))


def _answering(task: Task, shares: int) -> AdaptiveQuantiles:
    """Return the mechanism that gives each answer an even share of the budget."""
    sigma = gaussian_sigma(task.epsilon / shares, task.delta / shares)
    return AdaptiveQuantiles(rho=STEPS / (2 * sigma**2), steps=STEPS)


METHODS: dict[str, Method] = {
    "histogram queries": histogram_queries,
    "adaptive quantiles": adaptive_quantiles,
    "projection, published": published,
    "projection, ours": ours,
    "dp.cdf": default,
}
EVENLY: dict[str, Method] = {  # the same, if nothing better than sums of budgets is known
    "histogram queries, even shares": histogram_queries_evenly,
    "adaptive quantiles, even shares": adaptive_quantiles_evenly,
}
AGAIN: dict[str, Method] = {  # parts are rounds; what asks nobody again is as with sites
    "adaptive quantiles, again": adaptive_quantiles_again,
    "adaptive quantiles, even shares, again": adaptive_quantiles_again_evenly,
}
