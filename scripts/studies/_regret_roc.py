"""The ROC part of scripts/study.py regret: the default beside coarser and finer grids."""

import functools
import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.mechanisms import Hierarchy
from dpcore.statistics.calibration import expected_calibration_error
from dpcore.statistics.roc import symmetric_difference
from dpcore.statistics.score_histograms import ScoreHistogram

from ._regret_contenders import quietly
from ._regret_experiments import parallel
from ._regret_shapes import generator
from ._roc_experiments import Scored, area, bank, exact_roc, roc_of

EPSILONS = (0.02, 0.05, 0.1, 0.2)
GRIDS = tuple(2**k for k in range(4, 11))
ROC_DEFAULT = "dp.roc_curve"
MEASURES = ("area between the curves", "error of the AUC", "error of the ECE")
BINS, RUNS = 10, 200
KINDS = ("worst-case", "well-behaved")


class Interval(NamedTuple):
    """How often an interval for the AUC covers that of the records, and its mean width."""

    covered: float
    width: float


class Ranked(NamedTuple):
    """Mean errors by measure, in their order, and the intervals by kind."""

    errors: tuple[float, ...]
    intervals: tuple[Interval, ...]


Ranks = dict[tuple["int | None", float], Ranked]  # by cells, None for the default, and epsilon


def curves_of(
    records: Scored, epsilon: float, size: "int | None", rng: np.random.Generator
) -> dp.ScoreCurves:
    """Return a release: the default, or the best tree on so many even cells."""
    if size is None:
        return dp.roc_curve(*records, epsilon=epsilon, rng=rng).curves
    return dp.score_curves(*records, dp.Grid.uniform(0, 1, size), Hierarchy(epsilon), rng=rng)


def calibration_error(records: Scored) -> float:
    """Return the expected calibration error of the records themselves."""
    bins = np.clip(np.ceil(records.scores * BINS) - 1, 0, BINS - 1).astype(np.int64)
    gaps = np.bincount(bins, weights=records.labels - records.scores)
    return float(np.sum(np.abs(gaps)) / records.scores.size)


def rank(records: Scored, epsilon: float, size: "int | None", runs: int) -> Ranked:
    """Return the errors of so many releases of the default, or on a grid of so many cells."""
    exact = exact_roc(records)
    auc, calibration = area(exact), calibration_error(records)
    rng, errors = generator("roc", epsilon, str(size)), []
    ends: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for _ in range(runs):
        with quietly():
            curves = curves_of(records, epsilon, size, rng)
        roc = roc_of(curves)
        found = expected_calibration_error(curves, BINS)
        off = symmetric_difference(exact, roc), abs(area(roc) - auc), abs(found - calibration)
        errors.append(off)
        histogram = ScoreHistogram.quantile(curves)
        for kind in KINDS:
            ends[kind].append(histogram.auc_interval(kind))  # type: ignore[arg-type]
    intervals = []
    for each in ends.values():
        low, high = np.array(each).T
        covered = (low <= auc) & (auc <= high)
        intervals.append(Interval(float(covered.mean()), float(np.mean(high - low))))
    return Ranked(tuple(np.mean(errors, axis=0).tolist()), tuple(intervals))


def ranks(folder: Path, processes: "int | None" = None, runs: int = RUNS) -> "Ranks":
    """Return the errors on the Bank data, by cells and epsilon."""
    each = list(itertools.product((None, *GRIDS), EPSILONS))
    found = parallel(functools.partial(_rank, bank(folder), runs), each, processes)
    return dict(zip(each, found, strict=True))


def _rank(records: Scored, runs: int, case: tuple["int | None", float]) -> Ranked:
    size, epsilon = case
    return rank(records, epsilon, size, runs)
