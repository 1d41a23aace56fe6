"""The ROC part of scripts/study.py regret: the default beside coarser and finer grids."""

import functools
import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.mechanisms import Hierarchy, NoNoise
from dpcore.statistics.between_curves import symmetric_difference
from dpcore.statistics.calibration import expected_calibration_error
from dpcore.statistics.roc import ROC

from ._regret_contenders import quietly
from ._regret_experiments import parallel
from ._regret_shapes import generator
from ._roc_experiments import DIAGONAL, Scored, area, bank, exact_roc

EPSILONS = (0.02, 0.05, 0.1, 0.2)
GRIDS = tuple(2**k for k in range(4, 11))
ROC_DEFAULT = "dp.roc_curve"
MEASURES = ("area between the curves", "error of the AUC", "error of the ECE")
BINS, RUNS = 10, 200
KINDS = ("over the same cells", "by the scores themselves")


class Interval(NamedTuple):
    """How often ``ROC.auc_interval`` covers the records' own AUC, and its mean width."""

    covered: float
    width: float


class Ranked(NamedTuple):
    """Mean errors by measure, in their order, and the default's intervals by kind of AUC."""

    errors: tuple[float, ...]
    intervals: tuple[Interval, ...]


Ranks = dict[tuple["int | None", float], Ranked]  # by cells, None for the default, and epsilon


def release(records: Scored, epsilon: float, size: "int | None", rng: np.random.Generator) -> ROC:
    """Return a release: the default, or the best tree on so many even cells."""
    with quietly():
        if size is None:
            return dp.roc_curve(*records, epsilon=epsilon, rng=rng)
        grid = dp.Grid.uniform(0, 1, size)
        return dp.roc_curve(*records, grid=grid, mechanism=Hierarchy(epsilon), rng=rng)


def calibration_error(records: Scored) -> float:
    """Return the expected calibration error of the records themselves."""
    bins = np.clip(np.ceil(records.scores * BINS) - 1, 0, BINS - 1).astype(np.int64)
    gaps = np.bincount(bins, weights=records.labels - records.scores)
    return float(np.sum(np.abs(gaps)) / records.scores.size)


def rank(records: Scored, epsilon: float, size: "int | None", runs: int) -> Ranked:
    """Return the errors of so many releases of the default, or on a grid of so many cells."""
    exact = exact_roc(records)
    auc, calibration = area(exact), calibration_error(records)
    rng = generator("roc", epsilon, str(size))
    errors, ends, within = [], [], []
    for _ in range(runs):
        roc = release(records, epsilon, size, rng)
        found = expected_calibration_error(roc.curves, BINS)
        drawn = DIAGONAL if np.isnan(roc.auc) else roc  # a class came out empty
        off = symmetric_difference(exact, drawn), abs(area(drawn) - auc), abs(found - calibration)
        errors.append(off)
        if size is None:
            ends.append(roc.auc_interval())
            within.append(dp.roc_curve(*records, grid=roc.curves.grid, mechanism=NoNoise()).auc)
    return Ranked(tuple(np.mean(errors, axis=0).tolist()), intervals(ends, (within, [auc] * runs)))


def intervals(
    ends: list[tuple[float, float]], areas: tuple[list[float], list[float]]
) -> tuple[Interval, ...]:
    """Return how often intervals, of which there may be none, cover either of two areas."""
    if not ends:
        return ()
    low, high = np.array(ends).T
    width = float(np.mean(high - low))
    return tuple(Interval(float(np.mean((low <= a) & (a <= high))), width) for a in areas)


def ranks(folder: Path, processes: "int | None" = None, runs: int = RUNS) -> "Ranks":
    """Return the errors on the Bank data, by cells and epsilon."""
    each = list(itertools.product((None, *GRIDS), EPSILONS))
    found = parallel(functools.partial(_rank, bank(folder), runs), each, processes)
    return dict(zip(each, found, strict=True))


def _rank(records: Scored, runs: int, case: tuple["int | None", float]) -> Ranked:
    size, epsilon = case
    return rank(records, epsilon, size, runs)
