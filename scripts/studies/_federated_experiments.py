"""The experiments of ``the study federated``: records, releases and errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan
from statistics import NormalDist
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr
from scipy.stats import rankdata

import dpcore as dp
from dpcore.mechanisms import Mechanism
from dpcore.statistics import (
    BayesianBinning,
    HistogramBinning,
    IsotonicCalibration,
    ScoreHistogram,
    classifier,
)
from dpcore.trust import Advice, DistributedNoise, Local, SecureAggregation, advise
from dpcore.trust.advice import TrustModel

Values = NDArray[np.float64]
AREAS: Final = (0.79, 0.85, 0.73)  # the federated paper's Table 2
METRICS: Final = ("precision", "recall", "accuracy")
AREA_ERRORS: Final = ("quantile buckets", "the same, corrected", "uniform buckets", "worst case")
CALIBRATORS: Final = ("histogram binning", "isotonic", "Bayesian binning")
ADVISED: Final[dict[str, tuple[TrustModel, float | None]]] = {
    "secure aggregation": ("secure-aggregation", None),
    "distributed noise": ("distributed-noise", 1.0),
    "local": ("local", 5.0),
}
MODELS: Final = tuple(ADVISED)
AREA_HEIGHT: Final = 14  # quantile buckets need cells that are narrower than they are
MANY: Final = 200  # buckets, so that their own error is less than that of any noise
RELEASES: Final = 5
ECE_BINS: Final = 20
RESAMPLED: Final = 1000
THRESHOLDS: Final = np.arange(1, 11) / 11
SHIFT: Final = 1.0  # scores are small as a rule, so that buckets of one width are not quantiles


@dataclass(frozen=True, eq=False)
class Scored:
    """Scored labels of one of the paper's models, and what is true of them."""

    labels: NDArray[np.bool_]
    scores: Values
    probabilities: Values  # of being positive, given the score
    rng: np.random.Generator

    @classmethod
    def drawn(cls, clients: int, area: float, rng: np.random.Generator) -> Self:
        """Return normal scores with variance 1, mapped to [0, 1]; half of them are positive."""
        distance = 2**0.5 * NormalDist().inv_cdf(area)
        labels = rng.random(clients) < 0.5
        normal = rng.normal(np.where(labels, distance / 2, -distance / 2))
        return cls(labels, ndtr(normal - SHIFT), expit(distance * normal), rng)

    @property
    def area(self) -> float:
        """The exact area under the ROC curve."""
        ranks = rankdata(self.scores)
        positives = int(self.labels.sum())
        pairs = positives * (self.labels.size - positives)
        return float((ranks[self.labels].sum() - positives * (positives + 1) / 2) / pairs)

    def metrics(self) -> Values:
        """Return the exact metrics at the thresholds, (3, 10)."""
        above = self.scores[:, np.newaxis] > THRESHOLDS
        true = above[self.labels].sum(axis=0)
        positives, n = self.labels.sum(), self.labels.size
        right = true + (~above[~self.labels]).sum(axis=0)
        return np.stack([true / above.sum(axis=0), true / positives, right / n])


@dataclass(frozen=True, eq=False)
class Clients:
    """The same number of clients for each of the paper's models; releases and truths are kept."""

    models: tuple[Scored, ...]

    @classmethod
    def drawn(cls, clients: int, seed: np.random.SeedSequence) -> Self:
        """Return new records."""
        rngs = (np.random.default_rng(child) for child in seed.spawn(len(AREAS)))
        pairs = zip(AREAS, rngs, strict=True)
        return cls(tuple(Scored.drawn(clients, area, rng) for area, rng in pairs))


_area = cache(lambda scored: scored.area)
_metrics = cache(Scored.metrics)
_counts = cache(lambda scored, height: dp.score_counts(scored.labels, scored.scores, _grid(height)))


def _grid(height: int) -> dp.Grid:
    return dp.Grid.uniform(0, 1, 2**height)


def released(scored: Scored, model: str, height: int, *, isotonic: bool = True) -> dp.ScoreCurves:
    """Return the score curves under a trust model, simulated in aggregate."""
    clients = scored.labels.size
    mechanisms: dict[str, Mechanism] = {
        "secure aggregation": SecureAggregation(),
        "distributed noise": DistributedNoise(1.0, clients=clients),
        "local": Local(5.0, clients=clients),
    }
    return dp.score_curves_from_counts(
        _counts(scored, height),
        _grid(height),
        mechanisms[model],
        isotonic=isotonic,
        rng=scored.rng,
    )


def metric_errors(clients: Clients, model: str, height: int) -> Values:
    """Return mean absolute errors of precision, recall and accuracy, (3,)."""
    errors = []
    for scored in clients.models:
        curves = released(scored, model, height)
        found = np.stack(
            [getattr(classifier, name)(curves, THRESHOLDS) for name in METRICS],
        )
        # nothing predicted positive in the release: the precision is as wrong as it can be
        errors.append(np.nan_to_num(np.abs(found - _metrics(scored)), nan=1.0).mean(axis=1))
    return np.asarray(np.mean(errors, axis=0))


def area_errors(clients: Clients, model: str, height: int, buckets: int) -> Values:
    """Return the mean errors that AREA_ERRORS names, (4,); the last one is what could be."""
    errors = []
    for scored in clients.models:
        curves = released(scored, model, height)
        quantile = ScoreHistogram.quantile(curves, buckets)
        uniform = ScoreHistogram.uniform(curves, buckets)
        found = np.array([quantile.auc, quantile.auc_corrected, uniform.auc])
        errors.append([*abs(found - _area(scored)), quantile.auc_discretisation("worst-case")])
    return np.asarray(np.mean(errors, axis=0))


class Population(NamedTuple):
    """Where the records of one of the paper's models come from, in many small parts."""

    scores: Values
    probabilities: Values  # of being positive, given the score
    shares: Values  # of all records

    def errors(self, calibrated: Values) -> tuple[float, float]:
        """Return the mean distance to the probabilities, and the expected calibration error."""
        known = ~np.isnan(calibrated)  # not so in bins that are empty
        values, shares = calibrated[known], self.shares[known] / self.shares[known].sum()
        excess = shares * (values - self.probabilities[known])
        bins = np.minimum((values * ECE_BINS).astype(np.int64), ECE_BINS - 1)
        return float(abs(excess).sum()), float(abs(np.bincount(bins, excess)).sum())


@cache
def population(area: float) -> Population:
    """Return the law from which ``Scored.drawn`` draws."""
    distance = 2**0.5 * NormalDist().inv_cdf(area)
    edges = np.linspace(-7, 7, 10**5 + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    below = (ndtr(edges - distance / 2) + ndtr(edges + distance / 2)) / 2
    return Population(ndtr(middles - SHIFT), expit(distance * middles), np.diff(below))


def calibration_errors(clients: Clients, model: str, height: int, bins: int) -> Values:
    """Return both errors of the population's calibrated scores, for each calibrator, (2, 3)."""
    errors = []
    for area, scored in zip(AREAS, clients.models, strict=True):
        curves, whole = released(scored, model, height), population(area)
        maps = (
            HistogramBinning.fit(curves, bins),
            IsotonicCalibration.fit(curves, bins),
            BayesianBinning.fit(curves),
        )
        errors.append(np.transpose([whole.errors(m.predict(whole.scores)) for m in maps]))
    return np.asarray(np.mean(errors, axis=0))


def uncalibrated() -> Values:
    """Return both errors before calibration, (2,)."""
    errors = [whole.errors(whole.scores) for whole in map(population, AREAS)]
    return np.asarray(np.mean(errors, axis=0))


def advised_metrics(clients: Clients, size: int, model: str) -> Values:
    """Return ``metric_errors`` with the height that is advised."""
    return metric_errors(clients, model, advice(size, model).heights["metrics"])


def advised_areas(clients: Clients, size: int, model: str) -> Values:
    """Return errors of the area: as advised, from many buckets, and from raw curves, (3,).

    Means of several releases, as an area is one number, where metrics are at ten thresholds.
    """
    found = advice(size, model)
    errors = [
        (
            area_errors(clients, model, found.heights["auc"], found.buckets["auc"])[0],
            area_errors(clients, model, AREA_HEIGHT, MANY)[0],
            np.mean([raw_area_error(scored, model) for scored in clients.models]),
        )
        for _ in range(RELEASES)
    ]
    return np.asarray(np.mean(errors, axis=0))


def raw_area_error(scored: Scored, model: str) -> float:
    """Return the error of the area from all cells, whose counts may be negative."""
    curves = released(scored, model, AREA_HEIGHT, isotonic=False)
    positives, negatives = np.diff(curves.positives, prepend=0), curves.negatives
    below = negatives - np.diff(negatives, prepend=0) / 2
    pairs = float(curves.positives[-1]) * float(negatives[-1])
    return float(abs(positives @ below / pairs - _area(scored)))


def advised_calibration(clients: Clients, size: int, model: str) -> Values:
    """Return both errors of histogram binning, with the height and the bins advised, (2,)."""
    found = advice(size, model)
    height, bins = found.heights["calibration"], found.buckets["calibration"]
    return calibration_errors(clients, model, height, bins)[:, 0]


def advice(clients: int, model: str) -> Advice:
    """Return what the library advises for so many clients."""
    name, epsilon = ADVISED[model]
    return advise(clients, epsilon, name)


class Slope(NamedTuple):
    """The exponent of a power law, fitted, and its standard deviation."""

    value: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.deviation:.2f}"

    def beside(self, stated: float) -> str:
        """Return how fast errors fall, in words; two deviations and 0.05 are no difference."""
        if isnan(self.value):
            return "not fitted"
        if abs(self.value - stated) <= max(2 * self.deviation, 0.05):
            return "as stated"
        return "faster" if self.value < stated else "slower"


def slope(sizes: Sequence[float], errors: Values) -> Slope:
    """Fit the logarithms of mean errors, (sizes, runs), by least squares.

    The deviation is the bootstrap's, from the runs. NaN for less than two sizes.
    """
    if len(sizes) < 2 or errors.mean(axis=1).min() <= 0.0:
        return Slope(float("nan"), float("nan"))
    picked = np.random.default_rng(1).integers(
        errors.shape[1], size=(RESAMPLED, len(sizes), errors.shape[1])
    )
    means = errors[np.arange(len(sizes))[:, np.newaxis], picked].mean(axis=2)
    logs = np.log(np.stack([errors.mean(axis=1), *means], axis=1))
    slopes = np.polyfit(np.log(sizes), logs, 1)[0]
    return Slope(float(slopes[0]), float(slopes[1:].std()))
