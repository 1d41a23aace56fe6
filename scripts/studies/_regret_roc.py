"""The ROC part of scripts/study.py regret: the default beside coarser and finer grids."""

import functools
from typing import Any, NamedTuple

import numpy as np
from _pages import parts, table
from _studies import replicates
from numpy.typing import NDArray
from papers._data import bank

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Hierarchy, NoNoise
from dpcore.statistics.between_curves import symmetric_difference
from dpcore.statistics.calibration import expected_calibration_error
from dpcore.statistics.roc import ROC

EPSILONS = (0.02, 0.05, 0.1, 0.2)
GRIDS = (None, *(2**k for k in range(4, 11)))  # None: the default
MEASURES = ("area between the curves", "error of the AUC", "error of the ECE")
KINDS = ("over the same cells", "by the scores themselves")
BINS, RUNS = 10, 200


class Points(NamedTuple):
    """A ROC curve."""

    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]


DIAGONAL = Points(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


@studies.study({"cells": GRIDS, "epsilon": EPSILONS})
def roc_errors(cells: int | None, epsilon: float, rng: np.random.Generator) -> dict[str, float]:
    """Return the errors of a release, and whether the default's intervals cover either AUC."""
    labels, scores, _ = bank()
    how: dict[str, Any] = {"epsilon": epsilon}
    if cells is not None:
        how = {"grid": dp.Grid.uniform(0, 1, cells), "mechanism": Hierarchy(epsilon)}
    roc = dp.roc_curve(labels, scores, **how, rng=rng)
    true, true_ece = exact()
    is_empty = np.isnan(roc.auc)  # a class came out empty
    off = (
        symmetric_difference(true, DIAGONAL if is_empty else roc),
        abs((0.5 if is_empty else roc.auc) - true.auc),
        abs(expected_calibration_error(roc.curves, BINS) - true_ece),
    )
    found = dict(zip(MEASURES, off, strict=True))
    if cells is None:
        low, high = roc.auc_interval()
        own = dp.roc_curve(labels, scores, grid=roc.curves.grid, mechanism=NoNoise()).auc
        for kind, auc in zip(KINDS, (own, true.auc), strict=True):
            found[kind] = low <= auc <= high
        found["width"] = high - low
    return found


@functools.cache
def exact() -> tuple[ROC, float]:
    """Return the ROC curve of the records themselves, and their expected calibration error."""
    labels, scores, _ = bank()
    ends = np.unique(np.append(scores, [0.0, 1.0]))  # a cell for each score
    bins = np.clip(np.ceil(scores * BINS) - 1, 0, BINS - 1).astype(np.int64)
    gaps = np.bincount(bins, weights=labels - scores)
    roc = dp.roc_curve(labels, scores, grid=dp.Grid(ends), mechanism=NoNoise())
    return roc, float(np.sum(np.abs(gaps)) / scores.size)


def of_roc(results: studies.Results) -> list[str]:
    """Return this part of the page."""
    return parts(
        "## ROC curves",
        f"The records are scores of a logistic regression ({bank().name}). The table compares"
        " `dp.roc_curve` without a grid and a mechanism with the best tree on even grids. It shows,"
        f" for each epsilon, means over {replicates(results)} releases: the area between the"
        " released and the exact curve, the error of the AUC, and the error of the expected"
        f" calibration error ({BINS} bins). Errors are differences from the records' own numbers.",
        by_grid(results),
        "The next table is about `ROC.auc_interval` of the default, at 95 %. It shows how often the"
        " interval covers the area of the records' own curve over the same cells, which is its"
        " purpose, and how often it covers the area of their own scores.",
        of_intervals(results),
    )


def by_grid(results: Any) -> list[str]:
    """Return the errors by measure, and the default's error divided by the least of the others."""
    rows: list[tuple[str, ...]] = []
    for measure in MEASURES:
        means = results.array(measure).mean(axis=-1)  # (grids, epsilons)
        for cells, each in zip(GRIDS, means, strict=True):
            name = "dp.roc_curve" if cells is None else f"{cells:,} cells"
            rows.append((measure if cells is None else "", name, *(f"{x:.4f}" for x in each)))
        ratios = means[0] / means[1:].min(axis=0)
        rows.append(("", "**default over the best grid**", *(f"**{x:.2f}**" for x in ratios)))
    return table(("", "grid", *(f"{epsilon:g}" for epsilon in EPSILONS)), rows)


def of_intervals(results: Any) -> list[str]:
    """Return how often the default's intervals for the AUC cover it, and their widths."""
    widths = results.array("width", cells=None).mean(axis=-1)
    rows = []
    for kind in KINDS:
        covered = results.array(kind, cells=None).mean(axis=-1)
        pairs = zip(covered, widths, strict=True)
        rows.append((kind, *(f"{share:.1%} (width {width:.3f})" for share, width in pairs)))
    return table(("interval", *(f"{epsilon:g}" for epsilon in EPSILONS)), rows)
