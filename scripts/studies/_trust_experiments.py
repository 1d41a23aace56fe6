"""The experiments of the study of trust: records, releases and errors."""

import math
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Hierarchy, Mechanism, NoNoise
from dpcore.statistics import ScoreHistogram, classifier
from dpcore.statistics.score_histograms import IntervalKind
from dpcore.trust import DistributedNoise, Local, advise

Values = NDArray[np.float64]
Rng = np.random.Generator
SIZES: Final = (10**4, 10**5, 10**6)
RECORDS: Final = 10**5
BUCKETS: Final = (10, 20, 50, 100, 200)
PURPOSES: Final = ("auc", "metrics", "calibration")
KINDS: Final[tuple[IntervalKind, ...]] = ("worst-case", "well-behaved")
THRESHOLDS: Final = np.arange(1, 11) / 11
FEW, MANY = (4, 8, 16), (32, 64)  # buckets
FINE: Final = 2**16  # records are in so many cells, narrower than those of any release
CENTRES: Final = (np.arange(FINE) + 0.5) / FINE
DENSITIES: Final = {"uniform": np.ones(FINE), "Beta(2, 3)": CENTRES * (1 - CENTRES) ** 2}


@dataclass(frozen=True, eq=False)
class Records:
    """Scored labels: a share s of those with the score s is positive."""

    negatives: NDArray[np.int64]  # (FINE,)
    positives: NDArray[np.int64]
    rng: Rng

    @classmethod
    def drawn(cls, n: int, name: str, rng: Rng) -> Self:
        """Return n new records."""
        counts = rng.multinomial(n, shares(name))
        positives = rng.binomial(counts, CENTRES)
        return cls(counts - positives, positives, rng)

    @property
    def area(self) -> float:
        """Their own area under the ROC curve."""
        below = np.cumsum(self.negatives) - self.negatives / 2
        pairs = float(self.negatives.sum()) * float(self.positives.sum())
        return float(self.positives @ below) / pairs

    @property
    def recall(self) -> Values:
        """Their own recall at the thresholds."""
        above = np.array([self.positives[t < CENTRES].sum() for t in THRESHOLDS])
        return np.asarray(above / self.positives.sum())

    def released(self, height: int, mechanism: Mechanism) -> dp.ScoreCurves:
        """Return curves over 2^height cells."""
        both = (self.negatives, self.positives[::-1])
        cells = np.concatenate([each.reshape(2**height, -1).sum(axis=1) for each in both])
        grid = dp.Grid.uniform(0, 1, 2**height)
        return dp.score_curves_from_counts(cells, grid, mechanism, rng=self.rng)


def shares(name: str) -> Values:
    """Return the probabilities of the fine cells, (FINE,)."""
    return np.asarray(DENSITIES[name] / DENSITIES[name].sum())


def mechanism_of(model: str, epsilon: float, clients: int) -> DistributedNoise | Local:
    """Return a trust model with noise."""
    kind = Local if model == "local" else DistributedNoise
    return kind(epsilon, clients)


@studies.study(
    [
        {
            "model": "distributed-noise",
            "epsilon": [0.5, 1.0, 4.0],
            "clients": SIZES,
            "height": [6, 10, 14],
        },
        {"model": "local", "epsilon": [1.0, 5.0], "clients": SIZES, "height": [4, 7, 10]},
    ]
)
def constants(model: str, epsilon: float, clients: int, height: int, rng: Rng) -> dict[str, float]:
    """Return the errors that noise makes, in the units of docs/guides/clients.md, section 4.

    The study compares noisy releases with exact ones of the same cells.
    """
    mechanism = mechanism_of(model, epsilon, clients)
    cells = 2 ** (height + 1)  # both classes are one curve, whose last threshold has no noise
    unit = math.sqrt(mechanism.mean_squared_error(cells) * cells / (cells - 1)) / clients
    records = Records.drawn(clients, "uniform", rng)
    exact, noisy = records.released(height, NoNoise()), records.released(height, mechanism)
    true, found = (ScoreHistogram.uniform(each, 2**height) for each in (exact, noisy))
    edges = true.nearest(THRESHOLDS)
    of_recall = classifier.recall(noisy, edges) - classifier.recall(exact, edges)
    errors = {
        "recall": float(np.mean(np.abs(of_recall))),
        "area": found.auc - true.auc,  # buckets of equal depth would be others
        **{
            f"rate, {size}": _rate_error(noisy, exact, size) / size
            for size in FEW + MANY
            if size <= 2 ** (height - 2)
        },
    }
    return {name: error / unit for name, error in errors.items()}


def _rate_error(noisy: dp.ScoreCurves, exact: dp.ScoreCurves, size: int) -> float:
    """Return the mean error of a bucket's rate, in buckets of the noisy release."""
    bins = ScoreHistogram.quantile(noisy, size).bins
    at = np.searchsorted(exact.thresholds, bins.edges[1:])
    positives = np.diff(exact.positives[at], prepend=0.0)
    counts = positives + np.diff(exact.negatives[at], prepend=0.0)
    filled = counts > 0.0
    rates = np.nan_to_num(bins.positive_rate, nan=0.5)[filled]
    errors = np.abs(rates - positives[filled] / counts[filled])
    return float(errors @ counts[filled] / counts.sum())


@studies.study(
    [
        {
            "model": "distributed-noise",
            "epsilon": [1.0],
            "clients": SIZES,
            "scores": list(DENSITIES),
        },
        {"model": "local", "epsilon": [5.0, 1.0], "clients": SIZES, "scores": list(DENSITIES)},
    ]
)
def predicted(model: str, epsilon: float, clients: int, scores: str, rng: Rng) -> dict[str, float]:
    """Return the absolute errors at the advised settings, by purpose."""
    mechanism, found = mechanism_of(model, epsilon, clients), advise(clients, epsilon, model)
    records = Records.drawn(clients, scores, rng)
    curves = {height: records.released(height, mechanism) for height in {*found.heights.values()}}
    for_area, for_rates = (
        ScoreHistogram.quantile(curves[found.heights[purpose]], found.buckets[purpose])
        for purpose in ("auc", "calibration")
    )
    cells = ScoreHistogram.uniform(curves[found.heights["metrics"]], found.buckets["metrics"])
    recall = classifier.recall(cells.curves, cells.nearest(THRESHOLDS))
    bins = for_rates.bins
    rates = bins.positive_rate[np.searchsorted(bins.edges[1:], CENTRES)]
    return {
        "auc": abs(for_area.auc - records.area),
        "metrics": float(np.mean(np.abs(recall - records.recall))),
        "calibration": float(shares(scores) @ np.abs(np.nan_to_num(rates, nan=0.5) - CENTRES)),
    }


@studies.study({"scores": list(DENSITIES)})
def areas(scores: str, rng: Rng) -> dict[str, Any]:
    """Return errors of areas by the number of buckets, and whether the intervals covered.

    The counts are exact, from the tree of a trusted curator, or from local privacy.
    """
    records = Records.drawn(RECORDS, scores, rng)
    releases = {
        "exact": records.released(12, NoNoise()),
        "noise": records.released(12, Hierarchy(epsilon=1)),
        "local": records.released(8, Local(5.0, RECORDS)),
    }
    found: dict[str, Any] = {}
    for name, curves in releases.items():
        histograms = [ScoreHistogram.quantile(curves, size) for size in BUCKETS]
        found[name] = [abs(each.auc - records.area) for each in histograms]
        found[f"{name}, corrected"] = [
            abs(each.auc_corrected - records.area) for each in histograms
        ]
        found[f"{name}, stated"] = [each.auc_noise_deviation for each in histograms]
        for kind in KINDS:
            ends = [each.auc_interval(kind) for each in histograms]
            found[f"{name}, covered, {kind}"] = [low <= records.area <= high for low, high in ends]
            if name == "exact":
                found[kind] = [each.auc_discretisation(kind) for each in histograms]
    uniform = [ScoreHistogram.uniform(releases["exact"], size) for size in BUCKETS]
    found["one width"] = [abs(each.auc - records.area) for each in uniform]
    return found
