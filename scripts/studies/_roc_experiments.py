"""The experiments of scripts/study.py roc: who releases what, and how far off it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm, ttest_ind
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import dpcore as dp
from dpcore.mechanisms import Dyadic
from dpcore.mechanisms.medians import RecursiveMedians
from dpcore.releases.priroc import priroc, priroc_fix, score_curves_at_medians
from dpcore.statistics.between_curves import Rates, symmetric_difference
from dpcore.statistics.roc import ROC

Values = NDArray[np.float64]
CELLS, CANDIDATES = 2**10, 2**15
METHODS = ("paper", "smooth", "exponential", "curve")


class Scored(NamedTuple):
    """Records with labels and scores."""

    labels: NDArray[np.bool_]
    scores: Values


class Points(NamedTuple):
    """The exact ROC curve of some records, with a point for every score."""

    fpr: Values
    tpr: Values


DIAGONAL = Points(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


def bank(folder: Path) -> Scored:
    """Return the Bank data, scored by a logistic regression that was fitted to all of them."""
    table = pd.read_csv(folder / "bank-full.csv", sep=";")
    labels = (table.pop("y") == "yes").to_numpy()
    model = make_pipeline(
        make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include="number")),
            (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
        ),
        LogisticRegression(max_iter=1000),
    )
    model.fit(table, labels)
    return Scored(labels, np.asarray(model.predict_proba(table)[:, 1], np.float64))


def binormal(n: int, auc: float) -> Scored:
    """Return n records, half of them positive, whose ROC curve is binormal, without sampling error.

    Scores are the probabilities of being positive.
    """
    middle = norm.ppf((np.arange(n // 2) + 0.5) / (n // 2))
    distance = np.sqrt(2.0) * norm.ppf(auc)
    x = np.concatenate([middle, middle + distance])
    labels = np.arange(x.size) >= middle.size
    return Scored(labels, np.asarray(expit(distance * (x - distance / 2))))


def exact_roc(records: Scored) -> Points:
    """Return the ROC curve of the records themselves."""
    order = np.argsort(-records.scores)
    ends = np.append(np.flatnonzero(np.diff(records.scores[order])), order.size - 1)
    positive = records.labels[order]
    tpr, fpr = (np.cumsum(each)[ends] / each.sum() for each in (positive, ~positive))
    return Points(np.append(0.0, fpr), np.append(0.0, tpr))


Contender = Callable[[Scored, float, np.random.Generator], dp.ScoreCurves]


def published(records: Scored, epsilon: float, rng: np.random.Generator) -> dp.ScoreCurves:
    """Two dyadic trees with half of epsilon and the published scale, each smoothed in norm 2."""
    grid = dp.Grid.uniform(0, 1, CELLS)
    counts = dp.score_counts(*records, grid)
    n, cells = int(counts.sum()), dp.Grid(np.arange(1.0, CELLS + 2))
    negatives, positives = (
        dp.cdf_from_counts(
            np.append(part, n - part.sum()),
            cells,
            Dyadic(epsilon / 2, sensitivity="paper"),
            isotonic=False,
            rng=rng,
        ).smooth(2)
        for part in (counts[:CELLS], counts[CELLS:][::-1])
    )
    return dp.ScoreCurves.from_classes(grid, negatives, positives)


def even(size: int) -> Contender:
    """The default of ``dp.score_curves``, on so many cells of one width."""

    def release(records: Scored, epsilon: float, rng: np.random.Generator) -> dp.ScoreCurves:
        return dp.score_curves(*records, dp.Grid.uniform(0, 1, size), epsilon=epsilon, rng=rng)

    return release


def fixed(records: Scored, epsilon: float, rng: np.random.Generator) -> dp.ScoreCurves:
    """PriROC-fix."""
    return priroc_fix(*records, epsilon=epsilon, rng=rng)


def as_published(records: Scored, epsilon: float, rng: np.random.Generator) -> dp.ScoreCurves:
    """PriROC."""
    return priroc(*records, epsilon=epsilon, rng=rng)


def at_medians(**arguments: Any) -> Contender:
    """Few thresholds at recursive medians."""

    def release(records: Scored, epsilon: float, rng: np.random.Generator) -> dp.ScoreCurves:
        labels, scores = records
        return score_curves_at_medians(labels, scores, epsilon=epsilon, rng=rng, **arguments)

    return release


PUBLISHED, OURS, MEDIANS = "published", "score_curves", "score_curves_at_medians"
FEW = "score_curves, 32 cells"
CONTENDERS: dict[str, Contender] = {
    PUBLISHED: published,
    OURS: even(CELLS),
    FEW: even(2**5),
    "PriROC-fix": fixed,
    "PriROC": as_published,
    MEDIANS: at_medians(),
    'the same, method "smooth"': at_medians(method="smooth"),
    'the same, method "paper"': at_medians(method="paper"),
    'the same, method "curve"': at_medians(method="curve"),
    "the same, counted by DAWA": at_medians(counter="dawa"),
    "the same, depth 10": at_medians(depth=10),
}


def roc_of(curves: dp.ScoreCurves) -> Rates:
    """Return the ROC curve, or the diagonal if a class came out empty."""
    roc = ROC.from_curves(curves)
    return DIAGONAL if np.isnan(roc.auc) else roc


def errors(records: Scored, name: str, epsilon: float, runs: int) -> Values:
    """Return the areas between the released curves and the exact one, (runs,)."""
    exact, rng = exact_roc(records), np.random.default_rng(1)
    return np.array(
        [
            symmetric_difference(exact, roc_of(CONTENDERS[name](records, epsilon, rng)))
            for _ in range(runs)
        ]
    )


def area(roc: Rates) -> float:
    """Return the area under a curve."""
    return float(np.trapezoid(roc.tpr, roc.fpr))


def areas(records: Scored, name: str, epsilon: float, runs: int) -> Values:
    """Return the areas under the released curves, (runs,)."""
    rng = np.random.default_rng(2)
    return np.array([area(roc_of(CONTENDERS[name](records, epsilon, rng))) for _ in range(runs)])


def p_values(samples: dict[float, Values], step: float) -> list[float]:
    """Return p for every pair of AUCs that lie a step apart, by the two-sample t-test."""
    return [
        float(ttest_ind(found, other).pvalue)
        for auc, found in samples.items()
        for another, other in samples.items()
        if abs(another - auc - step) < 1e-9
    ]


def first_ranks(counts: NDArray[np.int64], epsilon: float, method: str, runs: int) -> float:
    """Return how many records the first of ten levels of medians is off: the median of runs."""
    rng, n, below = np.random.default_rng(3), counts.sum(), np.cumsum(counts)
    step = epsilon if method == "curve" else epsilon / 10  # what one level gets
    chooser = RecursiveMedians(step, 1, method)  # type: ignore[arg-type]
    found = [abs(below[chooser.choose(counts, rng=rng)[0]] - n / 2) for _ in range(runs)]
    return float(np.median(found))


def unevenness(counts: NDArray[np.int64], epsilon: float, method: str, runs: int) -> float:
    """Return which part of the records is too many in their intervals, on average, at depth 5."""
    rng, below = np.random.default_rng(4), np.cumsum(counts)
    chooser = RecursiveMedians(epsilon, 5, method)  # type: ignore[arg-type]
    found = []
    for _ in range(runs):
        shares = np.diff(below[chooser.choose(counts, rng=rng)], prepend=0) / below[-1]
        found.append(np.maximum(shares - 1 / 2**5, 0.0).sum())
    return float(np.mean(found))
