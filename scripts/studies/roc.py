"""Private ROC curves, compared: ``python scripts/study.py roc --data DIR``.

Compares more ways than Figure 5 of the ECDF paper and Figure 9 of the regression-diagnostics paper,
and measures how well grids and thresholds are chosen. Writes docs/measured/roc-accuracy.md and
docs/measured/roc-accuracy.png. Needs a folder with bank-full.csv, diabetic_data.csv and
framingham.csv (not part of this project). Takes half an hour.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from _pages import parts, pivot, save, write
from _studies import given, quietly, replicates, run
from papers._data import Scored, bank, folder
from papers._ecdf_roc import DIAGONAL, exact_roc, published, smoothed, smoothed_of_sizes
from papers._figure import panels
from papers._regression_roc import area, binormal, p_value
from scipy.stats import sem

import dpcore as dp
from dpcore import studies
from dpcore.curves.colours import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from dpcore.papers.medians import RecursiveMedians
from dpcore.papers.priroc import priroc, priroc_fix, score_curves_at_medians
from dpcore.statistics.between_curves import Rates, symmetric_difference
from dpcore.statistics.roc import ROC
from dpcore.studies import Results

from ._score_grids import RUNS as RUNS_OF_GRIDS
from ._score_grids import errors_of_grids, of_grids

Rng = np.random.Generator
Way = Callable[[Scored, float, Rng], Rates]
FILES = "bank-full.csv", "diabetic_data.csv", "framingham.csv"
CELLS, CANDIDATES, RUNS = 2**10, 2**15, 100
EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
SHOWN_EPSILON = 0.2
METHODS = ("paper", "smooth", "exponential", "curve")
PRODUCTS, RECORDS, STEP = (100, 300, 1000, 3000, 10000), 10**4, 0.025
AUCS = [round(0.7 + STEP * i, 3) for i in range(12)]  # 0.95 is told apart from the last one
RUNS_OF_A_TEST, LEVEL = 20, 0.05


def by_trees(records: Scored, epsilon: float, rng: Rng) -> Rates:
    """Release the Bank data as published: a dyadic tree for each class, smoothed in norm 2."""
    return smoothed(published("Bank", epsilon, rng), "Bank", 2)


def by_trees_of_sizes(records: Scored, epsilon: float, rng: Rng) -> Rates:
    """Do the same with public numbers of positives and negatives."""
    return smoothed_of_sizes(published("Bank", epsilon, rng, sizes=True))


def of(curves: dp.ScoreCurves) -> Rates:
    """Return the ROC curve, or the diagonal if a released class is empty."""
    roc = ROC.from_curves(curves)
    return DIAGONAL if np.isnan(roc.auc) else roc


def on_cells(cells: int | None) -> Way:
    """Return ``dp.score_curves`` on so many cells of one width; None: on its default grid."""
    grid = None if cells is None else dp.Grid.uniform(0, 1, cells)
    return lambda r, epsilon, rng: of(
        dp.score_curves(r.labels, r.scores, grid, epsilon=epsilon, rng=rng)
    )


def by(release: Callable[..., dp.ScoreCurves], **arguments: Any) -> Way:
    """Return a way with its arguments."""
    return lambda r, epsilon, rng: of(
        release(r.labels, r.scores, epsilon=epsilon, rng=rng, **arguments)
    )


PUBLISHED, OURS, MEDIANS = "published", "score_curves", "score_curves_at_medians"
SIZES = "published, sizes public"
MANY, FEW = "score_curves, 1,024 cells", "score_curves, 32 cells"
WAYS: dict[str, Way] = {
    PUBLISHED: by_trees,
    SIZES: by_trees_of_sizes,
    OURS: on_cells(None),
    MANY: on_cells(CELLS),
    FEW: on_cells(2**5),
    "PriROC-fix": by(priroc_fix),
    "PriROC": by(priroc),
    MEDIANS: by(score_curves_at_medians),
    'the same, method "smooth"': by(score_curves_at_medians, method="smooth"),
    'the same, method "paper"': by(score_curves_at_medians, method="paper"),
    'the same, method "curve"': by(score_curves_at_medians, method="curve"),
    "the same, counted by DAWA": by(score_curves_at_medians, counter="dawa"),
    "the same, depth 10": by(score_curves_at_medians, depth=10),
}
DISCRIMINATE = (OURS, MANY, FEW, "PriROC-fix", "PriROC", MEDIANS)
STYLES = {
    PUBLISHED: (VERMILION, "o-"),
    SIZES: (ORANGE, "s--"),
    OURS: (BLUE, "D-"),
    MANY: (GREY, "h--"),
    FEW: (SKY, "^--"),
    "PriROC-fix": (GREEN, "v-."),
    "PriROC": (BLACK, "x:"),
    MEDIANS: (PURPLE, "P-."),
}


@studies.study({"way": list(WAYS), "epsilon": EPSILONS})
def errors_of_curves(way: str, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return the area between a released curve of the Bank data and the exact one."""
    roc = WAYS[way](bank(), epsilon, rng)
    return {"error": symmetric_difference(exact_roc("Bank"), roc)}


@functools.cache
def bank_counts() -> Any:
    """Return the Bank scores by cell."""
    return dp.Grid.uniform(0, 1, CANDIDATES).count(bank().scores)


@studies.study({"method": METHODS, "epsilon": (0.1, 1.0, 10.0)})
def thresholds(method: Any, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return the error of the first of ten levels, in records, and how uneven five levels are."""
    counts, below = bank_counts(), np.cumsum(bank_counts())
    step = epsilon if method == "curve" else epsilon / 10  # the epsilon of one level
    first = RecursiveMedians(step, 1, method).choose(counts, rng=rng)[0]
    five = RecursiveMedians(epsilon, 5, method).choose(counts, rng=rng)
    shares = np.diff(below[five], prepend=0) / below[-1]
    uneven = np.maximum(shares - 1 / 2**5, 0.0).sum()
    return {"first": float(abs(below[first] - below[-1] / 2)), "uneven": float(uneven)}


@studies.study({"way": DISCRIMINATE, "product": PRODUCTS, "auc": AUCS})
def released_areas(way: str, product: int, auc: float, rng: Rng) -> dict[str, float]:
    """Return the area under a released curve of binormal scores."""
    return {"area": area(WAYS[way](scored(auc), product / RECORDS, rng))}


@functools.cache
def scored(auc: float) -> Scored:
    """Return binormal scores."""
    return binormal(RECORDS, auc)


def main() -> None:
    """Run, write, and draw."""
    if folder(*FILES) is None and not given.quick:
        raise SystemExit(f"skipped: roc-accuracy.md needs --data DIR with {', '.join(FILES)}")
    errors, chosen = run(errors_of_curves, RUNS), run(thresholds, RUNS // 2)
    released = run(released_areas, RUNS_OF_A_TEST)
    grids = run(errors_of_grids, RUNS_OF_GRIDS)
    save(picture(errors), "measured/roc-accuracy.png")
    mean = errors.array("error").mean(axis=2)  # (ways, epsilons)
    least = dict(zip(EPSILONS, mean.min(axis=0), strict=True))
    of_way = dict(zip(WAYS, mean, strict=True))
    over = {name: of_way[SIZES] / of_way[name] for name in (OURS, MEDIANS)}

    def error(**at: Any) -> str:
        found = errors.array("error", **at).mean()
        return f"**{found:.4f}**" if found == least[at["epsilon"]] else f"{found:.4f}"

    def ratio(name: str, epsilon: float) -> str:
        return f"{over[name][EPSILONS.index(epsilon)]:.1f}"

    def choice(quantity: str, epsilon: float, method: str) -> str:
        found = chosen.array(quantity, method=method, epsilon=epsilon)
        return f"{np.median(found):,.0f}" if quantity == "first" else f"{found.mean():.1%}"

    by_epsilon = {"epsilon": "{:g}"}
    spread = float((sem(errors.array("error"), axis=2) / mean).max())
    texts = {
        "n": bank().labels.size,
        "positive": bank().labels.mean(),
        "auc": area(exact_roc("Bank")),
        "runs": replicates(errors),
        "cells": CELLS,
        "candidates": CANDIDATES,
        "chosen": replicates(chosen),
        "first": AUCS[0],
        "last": AUCS[-1],
        "records": RECORDS,
        "tests": replicates(released),
        "level": LEVEL,
        "step": STEP,
    }
    write(
        "measured/roc-accuracy.md",
        parts(
            CURVES.format(**texts),
            pivot(errors, {"way": "{}"}, by_epsilon, error),
            pivot(
                errors,
                {"name": "published, sizes public, over {}"},
                by_epsilon,
                ratio,
                name=list(over),
            ),
            "\n".join(f"The error of {name} is {verdict(over[name])}." for name in over)
            + f"\nThe means are known to within {spread:.0%} (one standard error), or better.",
            "![Errors against epsilon, and one release of each](roc-accuracy.png)",
            of_grids(grids),
            THRESHOLDS.format(**texts),
            pivot(
                chosen,
                {"method": "{}"},
                {"quantity": "{}", "epsilon": "{:g}"},
                choice,
                quantity=("first", "uneven"),
            ),
            AREAS.format(**texts),
            pivot(
                released,
                {"way": "{}"},
                {"product": "{:,}"},
                lambda **at: told_apart(released, **at),
            ),
        ),
    )


def verdict(ratios: Any) -> str:
    """Return how an error compares with half of the published one."""
    missed = [f"{e:g}" for e, ratio in zip(EPSILONS, ratios, strict=True) if ratio < 2]
    where = f"but for epsilon = {', '.join(missed)}" if missed else "at every epsilon"
    return f"less than half of the published one with public sizes {where}"


def told_apart(released: Results, **at: Any) -> str:
    """Return the least difference at which all pairs are told apart, and the worst p of a step."""
    samples = released.array("area", **at)
    worst = {
        i: max(p_value(a, b) for a, b in zip(samples, samples[i:], strict=False))
        for i in range(1, len(AUCS))
    }
    told = [i for i, p in worst.items() if p < LEVEL]
    return f"{f'{STEP * told[0]:g}' if told else 'none'} ({worst[1]:.1g})"


def picture(errors: Results) -> Any:
    """Draw the errors, and one release of each."""
    drawing, axes = panels(2, width=5.5, height=4.6)
    left, right = axes[0]
    for name, (colour, line) in STYLES.items():
        mean = errors.array("error", way=name).mean(axis=1)
        left.plot(EPSILONS, mean, line, color=colour, markersize=4, label=name)
    left.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="area between the curves")
    left.set_title("Area between the released and the exact ROC curve", loc="left")
    with quietly():
        for name in (PUBLISHED, OURS, MEDIANS):
            roc = WAYS[name](bank(), SHOWN_EPSILON, np.random.default_rng(5))
            colour, line = STYLES[name]
            label = f"{name}, AUC = {area(roc):.3f}"
            right.plot(roc.fpr, roc.tpr, line[1:], color=colour, linewidth=1, label=label)
    exact = exact_roc("Bank")
    dashed: dict[str, Any] = {"color": GREY, "linewidth": 1, "linestyle": (0, (4, 2))}
    right.plot(*exact, label=f"exact, AUC = {area(exact):.3f}", **dashed)
    right.set_title(f"One release of each, epsilon = {SHOWN_EPSILON:g}", loc="left")
    right.set(xlabel="false positive rate", ylabel="true positive rate")
    for ax in (left, right):
        ax.legend(framealpha=0.9, edgecolor="none", fontsize=8)
    return drawing


CURVES = """\
# The accuracy of private ROC curves

This page compares ways to release a ROC curve with differential privacy: how far the released
curve is from the exact one, and how well grids and thresholds are chosen. It is written by
`python scripts/study.py roc --data DIR`. The mechanisms are explained in
[roc.md](../guides/roc.md), [selection.md](../proofs/selection.md) and
[dawa.md](../proofs/dawa.md).

Two papers are compared: Barczewski, Mawass & Ramon, *Differentially Private Empirical Cumulative
Distribution Functions* (the ECDF paper), and Chen, Machanavajjhala, Reiter & Barrientos,
*Differentially Private Regression Diagnostics* (the regression-diagnostics paper).

## The area between the released curve and the exact one

The data are {n:,} records of the Bank data. {positive:.1%} of them are positive, and the scores are
those of a logistic regression (AUC {auc:.4f}). Each number is the mean of {runs} releases.
Neighbours: one record is replaced. The exact curve has a point for every score.

- published: two dyadic trees, each with epsilon / 2 and the published scale, over even cells, one
  less than {cells:,}, smoothed in norm 2. This is the way of Figure 5 of the ECDF paper.
- published, sizes public: the same, but without noise in the numbers of positives and negatives.
- score_curves: on its default grid, and on {cells:,} and 32 even cells.
- PriROC-fix, of the regression-diagnostics paper: the {cells:,} cells, released by dpcore's DAWA,
  whose first stage is not the published one ([dawa.md](../proofs/dawa.md), section 2).
- PriROC, of the same paper: $2^{{10}}$ recursive medians among {candidates:,} even cells with a
  fifth of epsilon, method "paper", and DAWA with the rest.
- score_curves_at_medians: $2^5$ recursive medians among the same cells, method "exponential", and a
  hierarchy ("hb") with the rest. The rows below it change one thing each."""
THRESHOLDS = """\
## Thresholds

The scores are those of the Bank data again, in {candidates:,} cells. The columns show the epsilon
that is spent on thresholds. *First*: by how many records the first of ten medians misses half of
the records (the median of {chosen} runs). *Uneven*: 32 intervals (depth 5) should have equally many
records; the number is the share of the records that are too many in their interval (the mean of
{chosen} runs)."""
AREAS = """\
## Telling classifiers apart

The setting is that of Figure 9 of the regression-diagnostics paper: binormal scores with AUCs from
{first:g} to {last:g}, n = {records:,}, half of them positive, and {tests} releases of each. Two
AUCs are told apart if the areas of their releases differ in a two-sample t-test with
p < {level:g}. The columns are for n epsilon. Each entry is the least difference of AUCs, in steps
of {step:g}, for which all pairs are told apart. In brackets is the largest p-value of all pairs
that are {step:g} apart."""
