"""ROC curves of the ECDF paper: published ones, ours, and the figures of a single release."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from _studies import quietly
from numpy.typing import NDArray

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Dyadic
from dpcore.statistics import symmetric_difference
from dpcore.statistics.roc import ROC
from dpcore.studies import Results

from ._data import Scored, bank, diabetes, heart
from ._ecdf import RUNS
from ._figure import BLUE, GREY, LIGHT, VERMILION, Figure, Made, Outcome, Runs, panels, verdict

__all__ = [
    "CELLS",
    "Points",
    "distances",
    "draw_release",
    "exact_roc",
    "ours",
    "outcome_of_many",
    "published",
    "records",
    "smoothed",
    "smoothed_of_sizes",
]

CELLS: Final = 2**10 - 1  # of scores, which the paper leaves open; with the rest behind, L = 10
SHOWN: Final = 7  # seed of the release that is drawn
GOOD: Final = 0.05  # area between curves that look alike, and the most that an AUC is off by


class Points(NamedTuple):
    """The points of an exact or a released ROC curve."""

    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]


DIAGONAL: Final = Points(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


@functools.cache
def records(name: str) -> Scored:
    """Return the records by the name that the paper has for them."""
    known: dict[str, Callable[[], Scored]]
    known = {"Heart disease": heart, "Bank": bank, "Diabetes": diabetes}
    return known[name]()


@functools.cache
def exact_roc(name: str) -> Points:
    """Return the ROC curve of the records themselves, with a point for every score."""
    labels, scores, _ = records(name)
    order = np.argsort(-scores)
    ends = np.append(np.flatnonzero(np.diff(scores[order])), order.size - 1)
    positive = labels[order]
    tpr, fpr = (np.cumsum(each)[ends] / each.sum() for each in (positive, ~positive))
    return Points(np.append(0.0, fpr), np.append(0.0, tpr))


@functools.cache
def counted(name: str, cells: int) -> NDArray[np.int64]:
    """Return the records of each class by cell, (2, cells), from the highest scores on."""
    labels, scores, _ = records(name)
    counts = dp.score_counts(labels, scores, dp.Grid.uniform(0, 1, cells))
    return np.array([counts[:cells][::-1], counts[cells:]])


def published(
    name: str, epsilon: float, rng: np.random.Generator, cells: int = CELLS, *, sizes: bool = False
) -> NDArray[np.int64]:
    """Return noisy numbers of false and true positives, (2, cells), from the highest threshold on.

    The release has two dyadic trees, each with half of epsilon and the scale of Theorem 1. The
    last cell of each tree counts the records of the other class, so that the numbers of positives
    and negatives get noise. With ``sizes`` these numbers are public.
    """
    tree, classes = Dyadic(epsilon / 2, sensitivity="paper"), counted(name, cells)
    if sizes:
        return np.array([tree.release(each, rng=rng) for each in classes])
    n = classes.sum()
    padded = [np.append(each, n - each.sum()) for each in classes]
    return np.array([tree.release(each, rng=rng)[:-1] for each in padded])


def rates(classes: Any) -> Points:
    """Return rates, or the diagonal if a released class has no records."""
    if np.any(classes[:, -1] <= 0):
        return DIAGONAL
    return Points(*np.hstack([np.zeros((2, 1)), classes / classes[:, -1:]]))


def smoothed(classes: NDArray[np.int64], name: str, norm: Any) -> Points:
    """Return the ROC curve of noisy numbers after Eq. 3."""
    n = records(name).labels.size
    return rates(dp.smooth(classes, n, norm=norm, workers=1).cumulative)


def smoothed_of_sizes(classes: NDArray[np.int64]) -> Points:
    """Return the ROC curve after Eq. 3 in norm 2, for classes whose sizes are public."""
    parts = [dp.smooth(each[:-1], int(each[-1]), workers=1).cumulative for each in classes]
    return rates(np.array([np.append(p, c[-1]) for p, c in zip(parts, classes, strict=True)]))


def ours(name: str, epsilon: float, rng: np.random.Generator, cells: int = CELLS) -> Points:
    """Return the ROC curve of one joint release, the default of ``dp.score_curves``."""
    falling, grid = counted(name, cells), dp.Grid.uniform(0, 1, cells)
    counts = np.concatenate([falling[0][::-1], falling[1]])
    roc = ROC.from_curves(dp.score_curves_from_counts(counts, grid, epsilon=epsilon, rng=rng))
    return DIAGONAL if np.isnan(roc.auc) else Points(roc.fpr, roc.tpr)


# --- figures that show one release


def distances(name: str, epsilon: float, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return how far one release is from the exact curve.

    "points" is the mean distance of its points from the exact points at the same thresholds. It is
    defined for curves that are not monotone, too. "area" is the area between the curves.
    """
    true, exact = rates(np.cumsum(counted(name, CELLS), axis=1)), exact_roc(name)
    raw = published(name, epsilon, rng)
    found = {"points, raw": _apart(rates(raw), true)}
    for norm in (1, 2):
        roc = smoothed(raw, name, norm)
        found[f"points, norm {norm}"] = _apart(roc, true)
        found[f"area, norm {norm}"] = symmetric_difference(exact, roc)
    public = smoothed_of_sizes(published(name, epsilon, rng, sizes=True))
    found["area, sizes public"] = symmetric_difference(exact, public)
    found["area, ours"] = symmetric_difference(exact, ours(name, epsilon, rng))
    return found


def _apart(found: Points, true: Points) -> float:
    if found.fpr.size != true.fpr.size:  # a class without records
        return float("nan")
    return float(np.hypot(found.fpr - true.fpr, found.tpr - true.tpr).mean())


def draw_release(made: Made, name: str, epsilon: float) -> Mapping[str, Any]:
    """Draw one release beside the exact curve, and return its ``distances``."""
    made.uses(records(name).name)
    rng = np.random.default_rng(SHOWN)
    raw = published(name, epsilon, rng)
    with quietly():
        own = ours(name, epsilon, rng)
        found = distances(name, epsilon, np.random.default_rng(SHOWN))
    lines = {
        "published, raw": (rates(raw), LIGHT, "-", 0.6),
        "published, smoothed in norm 1": (smoothed(raw, name, 1), VERMILION, (0, (4, 2)), 1.3),
        "published, smoothed in norm 2": (smoothed(raw, name, 2), VERMILION, "-", 1.3),
        "dp.score_curves": (own, BLUE, "-", 1.3),
        "without privacy": (exact_roc(name), "0.15", ":", 1.6),
    }
    picture, axes = panels(width=4.6, height=4.1)
    for label, (roc, colour, dashes, width) in lines.items():
        axes[0, 0].plot(*roc, color=colour, linestyle=dashes, linewidth=width, label=label)
    axes[0, 0].plot([0, 1], [0, 1], color=GREY, linewidth=0.5)
    axes[0, 0].set(xlim=(-0.1, 1.1), ylim=(-0.1, 1.1))
    axes[0, 0].set(xlabel="false positive rate", ylabel="true positive rate")
    legend = axes[0, 0].legend(frameon=False, fontsize=8, loc="lower right")
    for line in legend.get_lines():
        line.set_linewidth(1.6)
    made.save(picture)
    return found


def outcome_of_many(results: Results, name: str, epsilon: float) -> Outcome:
    """Return what came out of ``distances`` of many records beside those of Figure 1."""

    def area(quantity: str, of: str) -> float:
        return float(results.array(quantity, name=of).mean())

    def size(of: str) -> int:
        return records(of).labels.size

    published, few = area("area, norm 2", name), area("area, norm 2", "Heart disease")
    return Outcome(
        paper=f"area between the curves {area('area, norm 1', name):.3f} (norm 1),"
        f" {published:.3f} (norm 2), the mean of many releases",
        ours=f"{area('area, ours', name):.4f}",
        verdict=verdict(published < few, published < GOOD),
        why=f"The test is a smaller area than in Figure 1, whose {size('Heart disease'):,} records"
        f" have {few:.3f} at epsilon = 0.5, while these {size(name):,} have {epsilon:g}, and an"
        f" area below {GOOD:g}, so that the error of an AUC is at most that. The picture is one"
        " release; the numbers are means. The numbers of positives and negatives are private here"
        " and get a share of the noise. If they were public, the paper's curves would have"
        f" {area('area, sizes public', name):.3f}. The paper's text divides by the noisy numbers,"
        " but its pictures may not.",
    )


def of_many_records(number: int, name: str, epsilon: float) -> Figure:
    """Return a figure of appendix B: one release of many records, and the mean of many releases."""
    study = studies.study(
        [{"name": name, "epsilon": epsilon}, {"name": "Heart disease", "epsilon": 0.5}]
    )(distances)

    def draw(made: Made) -> Outcome:
        draw_release(made, name, epsilon)
        return outcome_of_many(made.results["distances"], name, epsilon)

    return Figure(
        source=f"Figure {number} (appendix B)",
        claim=f"With more records the noise matters less, and even at epsilon = {epsilon:g} the"
        " private curve gives a good picture of the exact one.",
        runs=(Runs(study, replicates=RUNS, quick=4),),
        draw=draw,
    )
