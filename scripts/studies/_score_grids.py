"""The part on grids of scripts/study.py roc: the default beside even grids of all sizes."""

import functools
from typing import Any

import numpy as np
from _pages import parts, table
from _studies import replicates
from numpy.typing import NDArray
from papers._data import bank, diabetes, heart
from papers._ecdf_roc import DIAGONAL

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Hierarchy, NoNoise
from dpcore.statistics.between_curves import symmetric_difference
from dpcore.statistics.calibration import expected_calibration_error
from dpcore.statistics.roc import ROC

Records = tuple[NDArray[np.bool_], NDArray[np.float64]]
RARE = "rare class"
SCORES = ("Bank", "Diabetes", "Heart disease", RARE)
SIZES = (1_000, 10_000, 100_000)
EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
EVEN = (10, 16, 32, 64, 128, 256, 1024, 4096)
FINE = 1024, "default"
WAYS = (None, *((cells, "tree") for cells in EVEN), FINE)  # None: the default
MEASURES = ("area between the curves", "error of the AUC", "error of the ECE")
BINS, RUNS, TWELFTH = 10, 24, 12


@functools.cache
def population(name: str) -> Records:
    """Return labels and scores of a data set; of the rare class, a twelfth of Bank's positives."""
    if name != RARE:
        labels, scores, _ = {"Bank": bank, "Diabetes": diabetes, "Heart disease": heart}[name]()
        return labels, scores
    labels, scores, _ = bank()
    kept = ~labels | (np.cumsum(labels) % TWELFTH == 0)
    odds = scores[kept] / (1.0 - scores[kept]) / TWELFTH  # which then fit the labels again
    return labels[kept], odds / (1.0 + odds)


def own(labels: NDArray[np.bool_], scores: NDArray[np.float64]) -> tuple[ROC, float]:
    """Return the ROC curve of the records themselves, and their expected calibration error."""
    ends = np.unique(np.append(scores, [0.0, 1.0]))  # a cell for each score
    bins = np.clip(np.ceil(scores * BINS) - 1, 0, BINS - 1).astype(np.int64)
    gaps = np.bincount(bins, weights=labels - scores)
    roc = dp.roc_curve(labels, scores, grid=dp.Grid(ends), mechanism=NoNoise())
    return roc, float(np.sum(np.abs(gaps)) / scores.size)


@studies.study({"scores": SCORES, "n": SIZES})
def errors_of_grids(scores: str, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the errors of releases of n records, by ways and then by epsilons."""
    of = population(scores)
    drawn = rng.integers(of[0].size, size=n)
    records = of[0][drawn], of[1][drawn]
    true = own(*records)
    found = [
        [off(true, released(*records, way, epsilon, rng)) for epsilon in EPSILONS] for way in WAYS
    ]
    return dict(zip(MEASURES, np.array(found).reshape(-1, len(MEASURES)).T, strict=True))


def released(
    labels: NDArray[np.bool_],
    scores: NDArray[np.float64],
    way: tuple[int, str] | None,
    epsilon: float,
    rng: np.random.Generator,
) -> ROC:
    """Return a release over the default grid, or over so many even cells."""
    how: dict[str, Any] = {"epsilon": epsilon}
    if way is not None:
        cells, by = way
        how = {"mechanism": Hierarchy(epsilon)} if by == "tree" else how
        how["grid"] = dp.Grid.uniform(0, 1, cells)
    roc: ROC = dp.roc_curve(labels, scores, **how, rng=rng)
    return roc


def off(true: tuple[ROC, float], roc: ROC) -> tuple[float, float, float]:
    """Return the area between the curves, and the errors of the AUC and of the ECE."""
    is_empty = np.isnan(roc.auc)  # a class came out empty
    return (
        symmetric_difference(true[0], DIAGONAL if is_empty else roc),
        abs((0.5 if is_empty else roc.auc) - true[0].auc),
        abs(expected_calibration_error(roc.curves, BINS, mechanism=roc.mechanism) - true[1]),
    )


def of_grids(results: studies.Results) -> list[str]:
    """Return this part of the page."""
    return parts(
        "## The default grid",
        "`dp.roc_curve` without a grid chooses the number of cells from n and the budget. The table"
        " compares it with even grids of"
        f" {', '.join(f'{cells:,}' for cells in EVEN)} cells by the best tree, and of {FINE[0]:,}"
        " by the default mechanism. In each run, n records are drawn with replacement from"
        " data that a logistic regression has scored: Bank, Diabetes (46% positive) and Heart"
        f" disease (15%), and Bank with every {TWELFTH}th positive only and odds to match (1%)."
        f" The entries are means over {replicates(results)} runs. Errors are differences from the"
        f" records' own numbers, and the calibration error (ECE, {BINS} bins) is less what noise"
        " adds on average. In brackets: that error over the least of all even grids, which is known"
        " in hindsight only.",
        by_scores(results),
        f"The geometric means of these ratios. In brackets: those of {FINE[0]:,} even cells by the"
        " default mechanism.",
        summary(results),
    )


def means(results: Any, measure: str, **at: Any) -> NDArray[np.float64]:
    """Return mean errors, (ways, epsilons)."""
    found = results.array(measure, **at).mean(axis=0)
    return np.asarray(found.reshape(len(WAYS), len(EPSILONS)))


def ratios(results: Any, measure: str, way: Any = None, **at: Any) -> NDArray[np.float64]:
    """Return the mean error of a way over the least of the even grids, (epsilons,)."""
    found = means(results, measure, **at)
    return np.asarray(found[WAYS.index(way)] / found[1:].min(axis=0))


def by_scores(results: Any) -> list[str]:
    """Return the errors of the default, and their ratios, by measure, scores and n."""
    rows = []
    for measure in MEASURES:
        for name in SCORES:
            for n in SIZES:
                at = {"scores": name, "n": n}
                errors = means(results, measure, **at)[0]
                pairs = zip(errors, ratios(results, measure, **at), strict=True)
                entries = [f"{error:.4f} ({ratio:.2f})" for error, ratio in pairs]
                rows.append((measure, name, f"{n:,}", *entries))
    return table(("", "scores", "n", *(f"{epsilon:g}" for epsilon in EPSILONS)), rows)


def summary(results: Any) -> list[str]:
    """Return geometric means of the ratios, of the default and of ``FINE``."""
    rows = []
    for measure in MEASURES:
        for name in SCORES:
            default, fine = (
                np.exp(
                    np.mean(
                        [np.log(ratios(results, measure, way, scores=name, n=n)) for n in SIZES],
                        axis=0,
                    )
                )
                for way in (None, FINE)
            )
            entries = [f"{a:.2f} ({b:.2f})" for a, b in zip(default, fine, strict=True)]
            rows.append((measure, name, *entries))
    return table(("", "scores", *(f"{epsilon:g}" for epsilon in EPSILONS)), rows)
