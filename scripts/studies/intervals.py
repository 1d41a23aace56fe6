"""How often intervals cover: ``python scripts/study.py intervals --data DIR``.

Writes docs/intervals.md: intervals of areas under ROC curves, and bands of distribution functions,
by closed forms and by simulation; intervals of quantiles and means, and of classifiers' metrics.
Takes seven minutes.
DIR has bank-full.csv (UCI Bank Marketing).
"""

from functools import cache
from itertools import product
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
from dpcore.statistics import (
    ROC,
    classifier,
    expected_calibration_error,
    expected_calibration_error_interval,
    population_expected_calibration_error_interval,
)

from ._regret_shapes import SYNTHETIC

Rng = np.random.Generator
CELLS, LEVEL = 2**10, 0.95
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


@studies.study({"scores": ["Bank", *OF_NORMALS], "n": [1000, 26_000, 200_000], "epsilon": EPSILONS})
def areas(scores: str, n: int, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return whether intervals have the area of new records within, and how wide they are."""
    grid = dp.Grid.uniform(0, 1, CELLS)
    counts = dp.score_counts(*scored(scores, n, rng), grid)
    true = ROC.from_curves(dp.score_curves_from_counts(counts, grid, NoNoise())).auc
    curves = dp.score_curves_from_counts(counts, grid, epsilon=epsilon, rng=rng)
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
    """Return which share of thresholds and releases bands cover, and what at few thresholds."""
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
    """Return which intervals have quantiles and means of new records, and of all, within."""
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
        # cells to which the quantiles belong: sums of shares are rounded
        cells = np.searchsorted(np.cumsum(of), PROBABILITIES - 1e-12)
        true = grid.positions[np.minimum(cells, CELLS - 1)]
        low, high = interval(PROBABILITIES, LEVEL, method="inverted_cdf")
        inside = (low <= true) & (true <= high)
        found |= {f"{whose}, {p:g}": each for p, each in zip(PROBABILITIES, inside, strict=True)}
        mean = float(np.sum(of * (grid.positions - 0.5 / CELLS)))
        least, most = interval_of_mean(LEVEL)
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
        "Written by `python scripts/study.py intervals --data DIR`. The level is 95 %, and what is"
        " to be covered is what the records themselves have, where nothing else is said: the noise"
        " is all that is random.",
        "## The area under a ROC curve",
        f"`dp.roc_curve(...).auc_interval()` over {CELLS:,} cells, {count} releases of each, of"
        " new records each: how many of the intervals have the area of the records in these cells"
        " within. In brackets, how many of them are [0, 1], because noise may be all that there is"
        " of a class. The mean over epsilon; the same for the bound that is used where the"
        " mechanism is not known; and how many times wider that is, at the most (medians).",
        by_scores(of_areas),
        f"In all, {total:.1%} of the intervals cover. A single number is known to {error:.1%} (one"
        " standard error).",
        f"Bank: records drawn at random ({bank().name}), scored by a logistic regression. The"
        " others: scores of two normals; the same with 1 % of the records positive; with half of"
        " the records at one score, and the rest rounded to multiples of 1/12.",
        "## Bands of a distribution function",
        f"`dp.cdf(...).band()` over {CELLS:,} cells, {RELEASES} releases of each, epsilon ="
        f" {EPSILON:g}: the share of thresholds and releases that the default's band covers, and"
        " in brackets what it is at a twentieth of the thresholds or less (the nominal level would"
        f" have {least:.0%}, with so few releases). The default takes DAWA at n = 1,000, 10,000"
        " and 100,000 here, whose error is estimated: it covers on average, and may fail beside"
        " values that many records have. Behind the semicolon the same of the isotonic hierarchy:"
        " of its closed form, of `dp.mechanisms.with_simulated_deviation`, in brackets as before,"
        " and the width of the simulated band as a part of the other's (medians). The shapes are"
        " those of `scripts/study.py regret`.",
        pivot(of_bands, {"shape": "{}"}, {"n": "n = {:,}"}, band),
        "## Quantiles and means",
        "`curve.quantile_interval(p)`, `curve.mean_interval()`; and behind the semicolon"
        " `curve.population_quantile_interval(p)`, `curve.population_mean_interval()`, of the"
        f" shape that the records are drawn from. Over {CELLS:,} cells, {replicates(of_others)}"
        f" releases of each, of new records each, epsilon = {EPSILON:g}: how many of the quantiles"
        f" for p = {', '.join(f'{p:g}' for p in PROBABILITIES)} are within; in brackets of those"
        " that are least often; and how many of the means. Curves are made monotone, but for the"
        " raw ones. The noise of all but the default is known in closed form; of the default that"
        " of DAWA is estimated, which it takes here.",
        of_quantiles_and_means(of_others),
        *of_classifiers(),
    )
    write("intervals.md", page)


def by_scores(results: studies.Results) -> list[str]:
    """Return the table of areas."""
    known, rows = results.parameters, []
    for scores, n in ((scores, n) for scores in known["scores"] for n in known["n"]):
        covered, nothing, bound, wider = (
            results.array(name, scores=scores, n=n)
            for name in ("covered", "nothing", "covered by bound", "wider")
        )
        empty = [f" ({each:.0%})" if each >= 0.005 else "" for each in nothing.mean(axis=1)]
        cells = [f"{x:.0%}{y}" for x, y in zip(covered.mean(axis=1), empty, strict=True)]
        most = np.median(wider, axis=1).max()
        means = (f"{covered.mean():.1%}", f"{bound.mean():.1%}", f"{most:.1f}")
        rows.append((scores, f"{n:,}", *cells, *means))
    head = ["scores", "n", *(f"epsilon {each:g}" for each in EPSILONS), "mean", "bound", "wider"]
    return table(head, rows)


KINDS, POPULATION = ("own", "population"), 10**6
METRICS = {  # what is released, and at which thresholds of the grid
    "precision": np.array([256, 512, 768]) / CELLS,
    "recall": np.array([256, 512, 768]) / CELLS,
    "auc": None,
    "calibration error": None,
}


@cache
def population(scores: str) -> dp.ScoreCurves:
    """Return the exact curves of a population, which are the same in all runs."""
    records = scored(scores, POPULATION, np.random.default_rng(1))
    return dp.score_curves(*records, dp.Grid.uniform(0, 1, CELLS), NoNoise())


@studies.study({"scores": list(OF_NORMALS), "n": [1000, 26_000], "epsilon": (0.1, 1.0)})
def classifiers(scores: str, n: int, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return which share of the intervals of new records' metrics cover, and how wide they are."""
    grid = dp.Grid.uniform(0, 1, CELLS)
    counts = dp.score_counts(*scored(scores, n, rng), grid)
    everyone, exact = population(scores), dp.score_curves_from_counts(counts, grid, NoNoise())
    curves = dp.score_curves_from_counts(counts, grid, epsilon=epsilon, rng=rng)
    roc = ROC(curves, from_curve(curves.joint))
    found: dict[str, float] = {}
    for name, at in METRICS.items():
        own, of_all = (_metric(name, each, at) for each in (exact, everyone))
        intervals = _intervals(name, roc, at)
        for kind, truth, (low, high) in zip(KINDS, (own, of_all), intervals, strict=True):
            known = ~np.isnan(truth)
            inside = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
            found[f"{name}, {kind}"] = float(np.mean(inside[known])) if known.any() else np.nan
            found[f"{name}, {kind}, width"] = float(np.median(np.subtract(high, low)))
    return found


def _metric(name: str, curves: dp.ScoreCurves, at: Any) -> NDArray[np.float64]:
    if name == "auc":
        return np.asarray(ROC(curves).auc)
    if at is None:
        return np.asarray(expected_calibration_error(curves))
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
    return [getattr(classifier, each)(roc.curves, at, LEVEL) for each in functions]


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
        f"The same scores, {replicates(found)} releases by the default of each: how many of the"
        " intervals cover, and how wide they are (medians). Precision and recall are at three"
        " thresholds, the calibration error in ten bins. Of the records: the noise alone, and what"
        f" they have in these cells. Of the population, of which there are {POPULATION:,} records:"
        " noise and sampling. The mechanism is known for areas and calibration errors; intervals"
        " of precision and recall do not use it.",
        table(head, rows),
    ]
