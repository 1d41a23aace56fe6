"""The experiments of ``federated_study.py``: records, releases and errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr
from scipy.stats import rankdata

import dpcore as dp
from dpcore.mechanisms import Mechanism
from dpcore.statistics import (
    BayesianBinning,
    Bins,
    HistogramBinning,
    IsotonicCalibration,
    classifier,
    equi_depth_bins,
    uniform_bins,
)
from dpcore.trust import DistributedNoise, Local, SecureAggregation

Values = NDArray[np.float64]
AREAS: Final = (0.79, 0.85, 0.73)  # the federated paper's Table 2
METRICS: Final = ("precision", "recall", "accuracy")
MODELS: Final = ("secure aggregation", "distributed noise", "local")
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


def released(scored: Scored, model: str, height: int) -> dp.ScoreCurves:
    """Return the score curves under a trust model, simulated in aggregate."""
    clients = scored.labels.size
    mechanisms: dict[str, Mechanism] = {
        "secure aggregation": SecureAggregation(),
        "distributed noise": DistributedNoise(1.0, clients=clients),
        "local": Local(5.0, clients=clients),
    }
    counts = _counts(scored, height)
    return dp.score_curves_from_counts(counts, _grid(height), mechanisms[model], rng=scored.rng)


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
    """Return errors of the area: from quantile buckets, from uniform ones, at worst; (3,)."""
    errors = []
    for scored in clients.models:
        curves = released(scored, model, height)
        quantile, uniform = equi_depth_bins(curves, buckets), uniform_bins(curves, buckets)
        found = [abs(area_of(bins) - _area(scored)) for bins in (quantile, uniform)]
        within = float((quantile.positives * quantile.negatives).sum())
        pairs = float(quantile.positives.sum() * quantile.negatives.sum())
        errors.append([*found, within / (2 * pairs)])
    return np.asarray(np.mean(errors, axis=0))


def area_of(bins: Bins) -> float:
    """Return Eq. 5 of the federated paper."""
    below = np.cumsum(bins.negatives) - bins.negatives / 2
    pairs = bins.positives.sum() * bins.negatives.sum()
    return float((bins.positives * below).sum() / pairs)


def calibration_errors(clients: Clients, model: str, height: int, bins: int) -> Values:
    """Return mean distances of calibrated scores and true probabilities, (3,)."""
    errors = []
    for scored in clients.models:
        curves = released(scored, model, height)
        maps = (
            HistogramBinning.fit(curves, bins),
            IsotonicCalibration.fit(curves, bins),
            BayesianBinning.fit(curves),
        )
        some = slice(None, 10**5)
        true = scored.probabilities[some]
        errors.append([np.nanmean(abs(m.predict(scored.scores[some]) - true)) for m in maps])
    return np.asarray(np.mean(errors, axis=0))


def uncalibrated(area: float) -> float:
    """Return the mean distance of score and true probability before calibration."""
    scored = Scored.drawn(10**5, area, np.random.default_rng(1))
    return float(np.mean(abs(scored.scores - scored.probabilities)))


def slope(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """Return the slope of the logarithms by least squares; NaN for less than two points."""
    if len(sizes) < 2 or min(errors) <= 0.0:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
