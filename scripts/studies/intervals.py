"""How often intervals cover: ``python scripts/study.py intervals --data DIR``.

Writes docs/measured/intervals.md, about intervals of areas under ROC curves, bands of distribution
functions (by closed forms and by simulation), intervals of quantiles and means, intervals of
metrics of classifiers, and calibration errors of rare values. Takes ten minutes. DIR must contain
bank-full.csv (UCI Bank Marketing).
"""

from functools import cache
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
from _pages import parts, pivot, table, write
from _studies import replicates, run
from numpy.typing import NDArray
from papers._data import bank
from scipy.special import expit
from scipy.stats import binom

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import (
    Dyadic,
    Hierarchy,
    Histogram,
    NoNoise,
    from_curve,
    with_simulated_deviation,
)
from dpcore.releases.hosmer_lemeshow import arcsine_grid
from dpcore.releases.quantiles import quantiles_from_counts
from dpcore.statistics import (
    ROC,
    classifier,
    expected_calibration_error,
    expected_calibration_error_interval,
    population_expected_calibration_error_interval,
    uniform_bins,
)

from ._regret_shapes import SYNTHETIC

Rng = np.random.Generator
DATA = ("bank-full.csv",)  # without it, the pages are not for docs/
CELLS, LEVEL = 2**10, 0.95
OWN = "its own"  # the default's choice of cells
EPSILONS, RUNS = (0.05, 0.1, 0.5, 1.0), 100
EPSILON, RELEASES = 0.1, 40  # of bands
OF_NORMALS = {  # rate of positives, their distance, and the middle of the others
    "binormal": (0.4, 1.2, -0.6),
    "1 % positive": (0.01, 1.5, -4.0),
    "clumped": (0.3, 1.0, -0.5),
}
PROBABILITIES = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
CURVES = {  # mechanisms, and whether their curves are made monotone
    "the default": (None, True),
    "hierarchy": (Hierarchy, True),
    "hierarchy, raw": (Hierarchy, False),
    "histogram": (Histogram, True),
    "dyadic, raw": (Dyadic, False),
}
SHAPES = [
    "normal, wide",
    "exponential",
    "10 spikes",
    "half at one value",
    "Zipf, in order",
    "rough",
]
WEIGHTS = {shape.name: shape.weights for shape in SYNTHETIC}
FINE, QUARTILES, ALONE_RUNS = 2**16, np.array([0.25, 0.5, 0.75]), 40
OF_FINE = [
    "normal, wide",
    "exponential",
    "20 clumps",
    "10 spikes",
    "half at one value",
    "8 steps",
    "64 integers",
    "Zipf, in order",
]


def scored(kind: str, n: int, rng: Rng) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the labels and scores of n records."""
    if kind == "Bank":
        labels, scores, _ = bank()
        drawn = rng.choice(labels.size, n, replace=n > labels.size)
        return labels[drawn], scores[drawn]
    rate, distance, middle = OF_NORMALS[kind]
    labels = rng.random(n) < rate
    scores = expit(rng.normal(np.where(labels, distance, 0.0) + middle, 1.0))
    if kind == "clumped":  # half of the records at one score, the others at a few
        scores = np.where(rng.random(n) < 0.5, 0.25, np.round(scores * 12) / 12)
    return labels, np.asarray(scores)


@studies.study(
    {
        "cells": [OWN, f"{CELLS:,}"],
        "scores": ["Bank", *OF_NORMALS],
        "n": [1000, 26_000, 200_000],
        "epsilon": EPSILONS,
    }
)
def areas(cells: str, scores: str, n: int, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return whether intervals contain the area of new records, and their widths."""
    records = scored(scores, n, rng)
    given = None if cells == OWN else dp.Grid.uniform(0, 1, CELLS)
    curves = dp.score_curves(*records, given, epsilon=epsilon, rng=rng)
    grid = curves.grid
    counts = dp.score_counts(*records, grid)
    true = ROC.from_curves(dp.score_curves_from_counts(counts, grid, NoNoise())).auc
    low, high = ROC(curves, from_curve(curves.joint)).auc_interval(LEVEL)
    least, most = ROC(curves).auc_interval(LEVEL)
    return {
        "covered": low <= true <= high,
        "nothing": high - low == 1.0,
        "covered by bound": least <= true <= most,
        "wider": (most - least) / (high - low),
    }


@studies.study({"shape": list(WEIGHTS), "n": [1000, 10_000, 100_000]})
def bands(shape: str, n: int, rng: Rng) -> dict[str, float]:
    """Return the share of thresholds and releases that bands cover, and that at few thresholds."""
    grid, weights = dp.Grid.uniform(0, 1, CELLS), WEIGHTS[shape](CELLS)
    assert weights is not None
    counts = rng.multinomial(n, weights / weights.sum())
    true = np.cumsum(counts) / n
    covered, ratios = np.zeros((3, CELLS)), []
    for _ in range(RELEASES):
        default = dp.cdf_from_counts(counts, grid, epsilon=EPSILON, rng=rng)
        closed = dp.cdf_from_counts(counts, grid, Hierarchy(EPSILON), rng=rng)
        simulated = with_simulated_deviation(closed)
        for at, curve in enumerate((default, closed, simulated)):
            low, high = curve.band(LEVEL)
            covered[at] += (low <= true + 1e-12) & (true - 1e-12 <= high)
        ratios.append(np.median(simulated.noise_deviation[:-1] / closed.noise_deviation[:-1]))
    shares = dict(zip(("default", "closed", "simulated"), covered[:, :-1] / RELEASES, strict=True))
    means = {name: float(each.mean()) for name, each in shares.items()}
    least = {f"{name}, least": float(np.quantile(each, 0.05)) for name, each in shares.items()}
    return {**means, **least, "ratio": float(np.median(ratios))}


@studies.study({"shape": SHAPES, "curve": list(CURVES), "n": [1000, 10_000, 100_000]})
def quantiles_and_means(shape: str, curve: str, n: int, rng: Rng) -> dict[str, float]:
    """Return which intervals contain quantiles and means of new records, or of the population."""
    grid, weights = dp.Grid.uniform(0, 1, CELLS), WEIGHTS[shape](CELLS)
    assert weights is not None
    shares = weights / weights.sum()
    counts = rng.multinomial(n, shares)
    make, isotonic = CURVES[curve]
    how = {"epsilon": EPSILON} if make is None else {"mechanism": make(EPSILON)}
    released = dp.cdf_from_counts(counts, grid, isotonic=isotonic, rng=rng, **how)
    found: dict[str, float] = {}
    asked = {
        "own": (counts / n, released.quantile_interval, released.mean_interval),
        "population": (
            shares,
            released.population_quantile_interval,
            released.population_mean_interval,
        ),
    }
    for whose, (of, interval, interval_of_mean) in asked.items():
        # the cells of the quantiles, as sums of shares are rounded
        cells = np.searchsorted(np.cumsum(of), PROBABILITIES - 1e-12)
        true = grid.positions[np.minimum(cells, CELLS - 1)]
        low, high = interval(PROBABILITIES, LEVEL, method="inverted_cdf")
        inside = (low <= true) & (true <= high)
        found |= {f"{whose}, {p:g}": each for p, each in zip(PROBABILITIES, inside, strict=True)}
        mean = float(np.sum(of * (grid.positions - 0.5 / CELLS)))
        least, most = interval_of_mean(LEVEL, from_curve(released))
        found[f"{whose}, mean"] = least <= mean <= most
    return found


def of_quantiles_and_means(results: studies.Results) -> list[str]:
    """Return the table of how often intervals of quantiles and means cover."""

    def cell(**at: Any) -> str:
        texts = []
        for whose in ("own", "population"):
            shares = [results.array(f"{whose}, {p:g}", **at).mean() for p in PROBABILITIES]
            mean = results.array(f"{whose}, mean", **at).mean()
            texts.append(f"{np.mean(shares):.0%} ({min(shares):.0%}), {mean:.0%}")
        return "; ".join(texts)

    return pivot(results, {"shape": "{}", "curve": "{}"}, {"n": "n = {:,}"}, cell)


@cache
def likely(shape: str) -> NDArray[np.float64]:
    """Return the probabilities of the fine cells."""
    weights = WEIGHTS[shape](FINE)
    assert weights is not None
    return np.asarray(weights / weights.sum())


@studies.study({"shape": OF_FINE, "method": ["recursion", "curve"], "n": [1000, 10_000, 100_000]})
def quantiles_alone(shape: str, method: Any, n: int, rng: Rng) -> dict[str, float]:
    """Return how many intervals of three quartiles cover, and what share of records is inside."""
    counts = rng.multinomial(n, likely(shape))
    share = np.append(0, np.cumsum(counts)) / n
    grid = dp.Grid.integers(0, FINE - 1)
    release = quantiles_from_counts(counts, QUARTILES, grid, epsilon=1.0, method=method, rng=rng)
    found: dict[str, float] = {}
    for whose, of, interval in (
        ("own", share[1:], release.interval),
        ("population", np.cumsum(likely(shape)), release.population_interval),
    ):
        true = np.searchsorted(of, QUARTILES - 1e-12)
        low, high = (np.asarray(end).astype(np.int64) for end in interval(LEVEL))
        inside = (low <= true) & (true <= high)
        found |= {f"{whose}, {p:g}": each for p, each in zip(QUARTILES, inside, strict=True)}
        found[f"{whose}, width"] = float(np.median(share[high + 1] - share[low]))
    at = np.asarray(release.values).astype(np.int64)
    least, most = release.probability_interval(LEVEL)
    found["probability"] = float(np.mean((share[at] <= most) & (least <= share[at + 1])))
    found["probability, width"] = float(np.median(most - least))
    return found


def of_quantiles_alone() -> list[str]:
    """Return the section on quantiles that are released alone."""
    results = run(quantiles_alone, ALONE_RUNS)

    def cell(**at: Any) -> str:
        texts = []
        for whose in ("own", "population"):
            shares = [results.array(f"{whose}, {p:g}", **at).mean() for p in QUARTILES]
            width = np.median(results.array(f"{whose}, width", **at))
            texts.append(f"{np.mean(shares):.0%} ({min(shares):.0%}), {width:.2g}")
        known = results.array("probability", **at).mean()
        width = np.median(results.array("probability, width", **at))
        return "; ".join([*texts, f"{known:.0%}, {width:.2g}"])

    return parts(
        "## Quantiles alone",
        "The intervals are `dp.quantiles(...).interval()` of the three quartiles, over"
        f" {FINE:,} cells with epsilon = 1, for {replicates(results)} releases of each case, each"
        " of new records: how many contain the quartile, in brackets for the quartile with the"
        " lowest share, and what share of the records is between the ends (medians). After the"
        " semicolon are the same for `population_interval()`, and then how many of"
        " `probability_interval()` contain a probability at which the released value is exact, and"
        " their width.",
        pivot(results, {"shape": "{}", "method": "{}"}, {"n": "n = {:,}"}, cell),
    )


def main() -> None:
    """Run, and write."""
    of_areas, of_bands = run(areas, RUNS), run(bands, 1, quick=1)
    of_others = run(quantiles_and_means, RUNS)
    count, least = replicates(of_areas), binom.ppf(0.05, RELEASES, LEVEL) / RELEASES
    total = of_areas.array("covered").mean()
    error = np.sqrt(LEVEL * (1 - LEVEL) / count)

    def band(**at: Any) -> str:
        default, lowest, closed, simulated, its_lowest, ratio = (
            of_bands.array(name, **at).mean()
            for name in (
                "default", "default, least", "closed", "simulated", "simulated, least", "ratio",
            )
        )  # fmt: skip
        return (
            f"{default:.0%} ({lowest:.0%}); {closed:.0%}, {simulated:.0%} ({its_lowest:.0%}),"
            f" {ratio:.2f}"
        )

    page = parts(
        "# How often intervals cover",
        "This page shows how often confidence intervals contain the true number. It is written by"
        " `python scripts/study.py intervals --data DIR`. The level is 95 %. Unless stated"
        " otherwise, the true number is that of the records themselves, so only the noise is"
        " random.",
        "## The area under a ROC curve",
        f"The intervals are `dp.roc_curve(...).auc_interval()` over the default's own cells or over"
        f" {CELLS:,} given ones, for {count} releases of each case, each of new records; the cases"
        " that cover least come first. The columns of epsilon show how many"
        " intervals contain the area of the records in these cells. In brackets is the share of"
        " intervals that are [0, 1], because a whole released class may be noise. The next column"
        " is the mean over epsilon, and the next one is the same for the bound that is used if the"
        " mechanism is not known. The last column shows how many times wider the bound is at most"
        " (medians).",
        by_scores(of_areas),
        f"In total, {total:.1%} of the intervals cover. The standard error of a single number is"
        f" {error:.1%}.",
        f"Bank: records drawn at random ({bank().name}), scored by a logistic regression. The other"
        " scores are simulated. Binormal: the scores of the classes have two normal distributions."
        " 1 % positive: the same with 1 % of the records positive. Clumped: half of the records"
        " have one score, and the scores of the others are rounded to multiples of 1/12.",
        "## Bands of a distribution function",
        f"The bands are `dp.cdf(...).band()` over {CELLS:,} cells, for {RELEASES} releases of each"
        f" case and epsilon = {EPSILON:g}. The first number is the share of thresholds and releases"
        " that the band of the default covers. The number in brackets is for its worst thresholds:"
        " at a twentieth of them, it covers in this share of the releases or less. (A band of"
        f" exactly the nominal level would have {least:.0%} there, with so few releases.) The"
        " default here is DAWA for n = 1,000, 10,000 and 100,000. Its band reaches from one end of"
        " a bucket to the other. After the semicolon are the shares for the isotonic"
        " hierarchy. The first is for its closed form. The second is for"
        " `dp.mechanisms.with_simulated_deviation`, with brackets as before. The last number is the"
        " width of the simulated band as a part of the width of the other (medians). The shapes are"
        " those of `scripts/study.py regret`.",
        pivot(of_bands, {"shape": "{}"}, {"n": "n = {:,}"}, band),
        "## Quantiles and means",
        "The intervals are `curve.quantile_interval(p)` and `curve.mean_interval()`, which is given"
        " the mechanism. After the semicolon they are `curve.population_quantile_interval(p)` and"
        " `curve.population_mean_interval()`, for the shape from which the records are drawn. There"
        f" are {CELLS:,} cells, {replicates(of_others)} releases of each case, each of new records,"
        f" and epsilon = {EPSILON:g}. The first number shows how many intervals contain the"
        f" quantiles for p = {', '.join(f'{p:g}' for p in PROBABILITIES)}. In brackets is the share"
        " for the p with the lowest share. The next number shows how many intervals contain the"
        " mean. All curves except the raw ones are made monotone. The default here is DAWA, whose"
        " noise is known at the ends of buckets.",
        of_quantiles_and_means(of_others),
        of_quantiles_alone(),
        *of_classifiers(),
        *of_rare_values(),
    )
    write("measured/intervals.md", page)


def by_scores(results: studies.Results) -> list[str]:
    """Return the table of areas, the worst cases first."""
    known, rows = results.parameters, []
    for cells, scores, n in product(known["cells"], known["scores"], known["n"]):
        covered, nothing, bound, wider = (
            results.array(name, cells=cells, scores=scores, n=n)
            for name in ("covered", "nothing", "covered by bound", "wider")
        )
        empty = [f" ({each:.0%})" if each >= 0.005 else "" for each in nothing.mean(axis=1)]
        shares = [f"{x:.0%}{y}" for x, y in zip(covered.mean(axis=1), empty, strict=True)]
        most = np.median(wider, axis=1).max()
        means = (f"{covered.mean():.1%}", f"{bound.mean():.1%}", f"{most:.1f}")
        least = covered.mean(axis=1).min()
        rows.append((least, (scores, cells, f"{n:,}", *shares, *means)))
    rows.sort(key=itemgetter(0))
    epsilons = (f"epsilon {each:g}" for each in EPSILONS)
    head = ["scores", "cells", "n", *epsilons, "mean", "bound", "wider"]
    return table(head, [row for _, row in rows])


KINDS, POPULATION = ("own", "population"), 10**6
METRICS = {  # what is released, and at which thresholds of the grid
    "precision": np.array([256, 512, 768]) / CELLS,
    "recall": np.array([256, 512, 768]) / CELLS,
    "auc": None,
    "calibration error": None,
}


@cache
def population(scores: str) -> tuple[dp.ScoreCurves, float]:
    """Return the exact curves of a population, the same in all runs, and its calibration error."""
    records = scored(scores, POPULATION, np.random.default_rng(1))
    curves = dp.score_curves(*records, dp.Grid.uniform(0, 1, CELLS), NoNoise())
    return curves, own_error(*records, curves)


def own_error(
    labels: NDArray[np.bool_], scores: NDArray[np.float64], curves: dp.ScoreCurves
) -> float:
    """Return the calibration error by the scores themselves, in ten bins of these curves."""
    bins = np.searchsorted(uniform_bins(curves).edges[1:-1], scores)
    return float(np.abs(np.bincount(bins, labels - scores)).sum() / scores.size)


@studies.study({"scores": list(OF_NORMALS), "n": [1000, 26_000], "epsilon": (0.1, 1.0)})
def classifiers(scores: str, n: int, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return the share of intervals that cover metrics of new records, and their widths."""
    grid = dp.Grid.uniform(0, 1, CELLS)
    records = scored(scores, n, rng)
    counts = dp.score_counts(*records, grid)
    exact = dp.score_curves_from_counts(counts, grid, NoNoise())
    of_these, of_everyone = (exact, own_error(*records, exact)), population(scores)
    curves = dp.score_curves_from_counts(counts, grid, epsilon=epsilon, rng=rng)
    roc = ROC(curves, from_curve(curves.joint))
    found: dict[str, float] = {}
    for name, at in METRICS.items():
        own, of_all = (_metric(name, *each, at) for each in (of_these, of_everyone))
        intervals = _intervals(name, roc, at)
        for kind, truth, (low, high) in zip(KINDS, (own, of_all), intervals, strict=True):
            known = ~np.isnan(truth)
            inside = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
            found[f"{name}, {kind}"] = float(np.mean(inside[known])) if known.any() else np.nan
            found[f"{name}, {kind}, width"] = float(np.median(np.subtract(high, low)))
    return found


def _metric(name: str, curves: dp.ScoreCurves, error: float, at: Any) -> NDArray[np.float64]:
    if name == "auc":
        return np.asarray(ROC(curves).auc)
    if at is None:
        return np.asarray(error)
    return np.asarray(getattr(classifier, name)(curves, at))


def _intervals(name: str, roc: ROC, at: Any) -> list[dp.Interval[Any]]:
    if name == "auc":
        return [roc.auc_interval(LEVEL), roc.population_auc_interval(LEVEL)]
    if at is None:
        return [
            each(roc.curves, 10, LEVEL, roc.mechanism)
            for each in (
                expected_calibration_error_interval,
                population_expected_calibration_error_interval,
            )
        ]
    functions = (f"{name}_interval", f"population_{name}_interval")
    return [getattr(classifier, each)(roc.curves, at, LEVEL, roc.mechanism) for each in functions]


def of_classifiers() -> list[str | list[str]]:
    """Run, and return the section about classifiers."""
    found = run(classifiers, RELEASES)

    def cell(**at: Any) -> str:
        metric, kind = at.pop("metric"), at.pop("kind")
        covered, width = (found.array(f"{metric}, {kind}{end}", **at) for end in ("", ", width"))
        return f"{np.nanmean(covered):.0%}, {np.median(width):.2g}"

    known = found.parameters
    cases = [(n, epsilon) for n in known["n"] for epsilon in known["epsilon"]]
    rows = []
    for scores, metric, kind in product(known["scores"], METRICS, KINDS):
        own = {"metric": metric, "kind": kind, "scores": scores}
        cells = [cell(**own, n=n, epsilon=epsilon) for n, epsilon in cases]
        rows.append((scores, metric, "records" if kind == "own" else kind, *cells))
    head = ["scores", "metric", "of", *(f"n = {n:,}, epsilon {e:g}" for n, e in cases)]
    return [
        "## Metrics of classifiers",
        f"The scores are the same, with {replicates(found)} releases of each case by the default."
        " Each entry shows how many of the intervals cover, and how wide they are (medians)."
        " Precision and recall are at three thresholds, and the calibration error is in ten bins."
        " Intervals of the records include only the noise. Areas are those of the records in these"
        " cells; calibration errors are those of the scores themselves."
        f" Intervals of the population, which has {POPULATION:,} records, include noise and"
        " sampling. The mechanism is known.",
        table(head, rows),
    ]


RARE = {0.001: 0.4, 0.002: 0.25, 0.005: 0.15, 0.01: 0.1, 0.02: 0.06, 0.04: 0.04}  # and how often
SLOPES = {"right": 1.0, "3 in 10 more": 1.3}  # positives, as a multiple of the scores
GRIDS = {
    "128": dp.Grid.uniform(0, 1, 128),
    "1,024": dp.Grid.uniform(0, 1, 1024),
    "4,096": dp.Grid.uniform(0, 1, 4096),
    "4,096, arcsine": arcsine_grid(4096),
}
MANY = 500_000


@studies.study({"cells": list(GRIDS), "positives": list(SLOPES), "epsilon": (0.1, 1.0)})
def rare_values(cells: str, positives: str, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return which intervals cover the calibration error of a few rare values, and their widths."""
    scores = rng.choice(list(RARE), MANY, p=list(RARE.values()))
    labels = rng.random(MANY) < SLOPES[positives] * scores
    counts = dp.score_counts(labels, scores, GRIDS[cells])
    exact = dp.score_curves_from_counts(counts, GRIDS[cells], NoNoise())
    curves = dp.score_curves_from_counts(counts, GRIDS[cells], epsilon=epsilon, rng=rng)
    of_all = (SLOPES[positives] - 1.0) * sum(score * share for score, share in RARE.items())
    truths = own_error(labels, scores, exact), of_all  # of one bin, which has all of these scores
    found = {"off": abs(expected_calibration_error(exact) - truths[0])}
    intervals = _intervals("calibration error", ROC(curves, from_curve(curves.joint)), None)
    for kind, truth, (low, high) in zip(KINDS, truths, intervals, strict=True):
        found |= {kind: low <= truth + 1e-9 and truth - 1e-9 <= high, f"{kind}, width": high - low}
    return found


def of_rare_values() -> list[str | list[str]]:
    """Run, and return the section about calibration errors of rare values."""
    found = run(rare_values, RELEASES)
    known, rows = found.parameters, []
    for cells, positives in product(known["cells"], known["positives"]):
        own = {"cells": cells, "positives": positives}
        row = [cells, positives, f"{found.array('off', **own).mean():.1g}"]
        for kind, epsilon in product(KINDS, known["epsilon"]):
            at = own | {"epsilon": epsilon}
            covered, width = (found.array(f"{kind}{end}", **at) for end in ("", ", width"))
            row.append(f"{covered.mean():.0%}, {np.median(width):.2g}")
        rows.append(row)
    whose = zip(("records", "population"), KINDS, strict=True)
    columns = [f"{name}, epsilon {each:g}" for name, _ in whose for each in known["epsilon"]]
    return [
        "## Calibration errors of rare values",
        f"{MANY:,} records have six scores, from {min(RARE):g} to {max(RARE):g}. Labels are drawn"
        " with the scores as probabilities (right), or with 1.3 times the scores. With so many"
        " records, noise and sampling can be smaller than the distances of the scores from the"
        " middles of their cells. The third column shows how far the calibration error of the"
        " middles is from that of the scores themselves, without noise (means). The other entries"
        f" are as above, for {replicates(found)} releases each, and for the calibration error of"
        " the scores themselves. Intervals allow for any place of the scores in their cells. The"
        " cells of `arcsine_grid(4096)` are narrow near 0.",
        table(["cells", "positives", "off by", *columns], rows),
    ]
