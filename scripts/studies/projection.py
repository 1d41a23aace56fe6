"""Polynomial projection and its rivals: ``python scripts/study.py projection``.

Compares the degrees and the budgets of the projection, and its curves with and without isotonic
regression. Writes docs/measured/polynomial-accuracy.md. ``python scripts/figures.py projection``
makes the figures of its paper. Takes a minute or two.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from _pages import parts, pivot, table, write
from _studies import replicates, run
from papers._projection import BOUNDS, DISTANCES, POPULATIONS, RECORDS, counted, far_off
from papers._projection_methods import METHODS, Method, Task
from scipy.stats import norm

import dpcore as dp
from dpcore import studies
from dpcore.curves.distances import energy, kolmogorov_smirnov
from dpcore.mechanisms import AdaptiveQuantiles, HistogramQueries, PolynomialProjection
from dpcore.papers.projection_bound import published_error_bound
from dpcore.studies import Results

Rng = np.random.Generator
EPSILONS = (0.1, 1.0)
EVERYWHERE = {"population": list(POPULATIONS), "epsilon": EPSILONS}
DEGREES = (4, 6, 8, 10, 16, 24, 32, 48, 64)
RUNS = 50
BASES = ("moments", "legendre")  # with K = 6 and 32
LEVEL, RELEASES = 0.95, 300  # of the bounds, and of the releases beside them


def histogram_lines(task: Task) -> dp.CDF:
    """Histogram queries, with straight lines within the bins."""
    mechanism = HistogramQueries(task.epsilon, delta=task.delta, between="linear")
    return task.combined(mechanism).isotonic()


def adaptive_lines(task: Task) -> dp.CDF:
    """Adaptive quantiles, with straight lines between the known points."""
    return task.asked(AdaptiveQuantiles(task.epsilon, delta=task.delta, between="linear"))


def equal_noise(task: Task) -> dp.CDF:
    """The projection with equal noise in its coefficients, K = 10."""
    mechanism = PolynomialProjection(task.epsilon, 10, budgets="equal", delta=task.delta)
    return task.combined(mechanism).isotonic()


RIVALS: dict[str, Method] = {
    **METHODS,
    "histogram queries, linear": histogram_lines,
    "adaptive quantiles, linear": adaptive_lines,
    "projection, equal noise, K = 10": equal_noise,
}


@studies.study(EVERYWHERE)
def rivals(population: str, epsilon: float, rng: Rng) -> dict[str, list[float]]:
    """Return the three distances of each method from the records' own curve."""
    return far_off(RIVALS, counted(population, epsilon, rng))


@studies.study({**EVERYWHERE, "budgets": ["auto", "equal"], "degree": DEGREES})
def degrees(
    population: str, epsilon: float, budgets: Any, degree: int, rng: Rng
) -> dict[str, float]:
    """Return the largest distance, by degree."""
    task = counted(population, epsilon, rng)
    mechanism = PolynomialProjection(epsilon, degree, budgets=budgets, delta=task.delta)
    curve = task.combined(mechanism).isotonic()
    return {"distance": kolmogorov_smirnov(curve, task.truth())}


@studies.study({**EVERYWHERE, "basis": ["legendre", "moments"]})
def processing(population: str, epsilon: float, basis: Any, rng: Rng) -> dict[str, float]:
    """Return two distances, with isotonic regression and without."""
    task, found = counted(population, epsilon, rng), {}
    raw, truth = (
        task.combined(PolynomialProjection(epsilon, basis=basis, delta=task.delta)),
        task.truth(),
    )
    for name, curve in (("raw", raw), ("isotonic", raw.isotonic())):
        found[f"KS, {name}"] = kolmogorov_smirnov(curve, truth)
        found[f"energy, {name}"] = energy(curve, truth)
    return found


def of_bounds(epsilon: float, basis: Any) -> PolynomialProjection:
    """Return the mechanism whose bound is compared with releases."""
    return PolynomialProjection(epsilon, basis=basis, delta=1e-6)


@studies.study({"epsilon": EPSILONS, "basis": BASES})
def from_the_population(epsilon: float, basis: Any, rng: Rng) -> dict[str, float]:
    """Return the distance in L2, on [-1, 1], of a release from the normal population."""
    low, high = BOUNDS["normal"]
    grid = dp.Grid.uniform(low, high, 1000)
    released = dp.project(rng.normal(size=RECORDS), low, high, of_bounds(epsilon, basis), rng=rng)
    curve = released.curve(grid)
    missed = curve.counts / curve.n - norm.cdf(grid.thresholds)
    return {"distance": math.sqrt(2 * np.mean(missed**2))}


def main() -> None:
    """Run, and write the page."""
    found = run(rivals, RUNS)
    page = parts(
        "# The accuracy of polynomial projection",
        "Written by `python scripts/study.py projection`. This page compares polynomial projection"
        " with its rivals. It is from Tao & Sarwate, *Differentially Private Distribution"
        " Estimation Using Functional Approximation* (the projection paper)."
        f" There are n = {RECORDS:,} records, and $\\delta = n^{{-1.5}}$. Numbers are means of"
        f" {replicates(found)} runs, with new records in each run. Distances are from the records'"
        " own curve, on one grid of 1,024 cells. The populations, on their public bounds, are:",
        [
            f"- {name}, on [{low:g}, {high:g}]: {POPULATIONS[name].__doc__}"
            for name, (low, high) in BOUNDS.items()
        ],
        "*Projection, published* is the paper's mechanism (moments, K = 6, and its bound on the"
        " sensitivity). *Projection, ours* is dpcore's default (degree 32). Histogram queries have"
        " 30 bins, and adaptive quantiles have 50 steps. Between the known points, their curves are"
        " constant, as in the paper, or linear. dpcore's adaptive quantiles use one count for each"
        " step, and the paper's use two. *dp.cdf* is the mechanism that `dp.cdf` uses for this grid"
        " and budget. All curves are made monotone by isotonic regression, except for histogram"
        " queries as published, whose negative counts are set to 0.",
        "`scripts/figures.py` makes the two figures below. They repeat the paper's figures, with"
        " dpcore's methods added. The first shows distances against epsilon. The second shows ten"
        " sites with their own noise, and ten rounds of new records. In each round, adaptive"
        " quantiles ask all records so far, for a tenth of the budget.",
        "![Mean distances against epsilon](figures/projection_figure_d2.png)",
        "![Mean distances, sites and rounds](figures/projection_figure_03.png)",
        *(part for at in enumerate(DISTANCES) for part in compared(found, *at)),
        "A polynomial cannot follow a jump. At the spike, all polynomials are off by half of its"
        " height, with any noise. Histograms of all cells and trees are better there.",
        *by_degree(run(degrees, RUNS)),
        *by_processing(run(processing, RUNS)),
        *by_bound(run(from_the_population, RELEASES)),
    )
    write("measured/polynomial-accuracy.md", page)


def compared(results: Results, place: int, distance: str) -> list[Any]:
    """Return tables of the mean distances of all methods, the least of each population bold."""
    lines: list[Any] = []
    for epsilon in results.parameters["epsilon"]:
        means = {
            name: results.array(name, epsilon=epsilon)[..., place].mean(axis=1) for name in RIVALS
        }
        least = np.min(list(means.values()), axis=0)
        rows = [
            [name, *(_bold(x, x == best) for x, best in zip(row, least, strict=True))]
            for name, row in means.items()
        ]
        lines += [f"## {distance} distance, epsilon = {epsilon:g}", table(["", *POPULATIONS], rows)]
        if place == 0:
            ratios = means["projection, published"] / means["projection, ours"]
            pairs = zip(POPULATIONS, ratios, strict=True)
            lines.append(f"Published over ours: {', '.join(f'{p} {x:.1f}' for p, x in pairs)}.")
    return lines


def by_degree(results: Results) -> list[Any]:
    """Return sensitivities and errors by degree."""
    sensitivities = []
    for degree in DEGREES:
        changes = [PolynomialProjection(rho=0.5, degree=degree).scheme.change]
        for sensitivity in ("exact", "paper") if degree <= 32 else ():
            moments: Any = {"basis": "moments", "sensitivity": sensitivity}
            changes.append(PolynomialProjection(rho=0.5, degree=degree, **moments).scheme.change)
        sensitivities.append([degree, *(f"{x:.4f}" for x in changes), *[""] * (3 - len(changes))])

    def cell(epsilon: float) -> Callable[..., str]:
        return lambda **at: f"{results.array('distance', epsilon=epsilon, **at).mean():.4f}"

    rows, columns = {"budgets": '"{}"', "degree": "{}"}, {"population": "{}"}
    return [
        "## The degree",
        "The table shows the sensitivity times n: for equal noise in the differences (the default),"
        " and for moments, exact and by the paper's bound. For equal noise in the coefficients, it"
        " is 1.4142.",
        table(["K", "differences", "moments, exact", "moments, paper"], sensitivities),
        *(
            part
            for epsilon in EPSILONS
            for part in (
                f"Kolmogorov-Smirnov distance at epsilon = {epsilon:g}, by budgets and degree:",
                pivot(results, rows, columns, cell(epsilon)),
            )
        ),
    ]


def by_processing(results: Results) -> list[Any]:
    """Return what isotonic regression costs or gains."""

    def ratio(distance: str) -> Callable[..., str]:
        def cell(**at: Any) -> str:
            after, before = (results.array(f"{distance}, {x}", **at) for x in ("isotonic", "raw"))
            return f"{after.mean() / before.mean():.3f}"

        return cell

    rows, columns = {"epsilon": "{:g}", "basis": "{}"}, {"population": "{}"}
    return [
        "## Isotonic regression",
        "The tables show distances with isotonic regression divided by distances without it, for"
        " the default projection and for moments. The energy distance can only become smaller,"
        " because isotonic regression is a projection. Kolmogorov-Smirnov distance:",
        pivot(results, rows, columns, ratio("KS")),
        "Energy:",
        pivot(results, rows, columns, ratio("energy")),
    ]


def by_bound(results: Results) -> list[Any]:
    """Compare bounds on the distance from the population with releases."""
    rows = []
    for epsilon in EPSILONS:
        for basis in BASES:
            mechanism = of_bounds(epsilon, basis)
            theorem = ""
            if basis == "moments":
                theorem = f"{published_error_bound(mechanism, RECORDS, LEVEL):.2g}"
            farthest = np.quantile(results.array("distance", epsilon=epsilon, basis=basis), LEVEL)
            ours = mechanism.error_bound(RECORDS, LEVEL)
            rows.append([f"{epsilon:g}", basis, theorem, f"{ours:.2g}", f"{farthest:.2g}"])
    header = ["epsilon", "basis", "Theorem 1", "`error_bound`", "releases"]
    return [
        "## Bounds",
        f"The distance in $L^2$ on $[-1, 1]$ from a normal population, at most, with a probability"
        f" of {LEVEL:.0%}: by Theorem 1 of the paper, by `error_bound` (both without what"
        f" polynomials miss), and of {replicates(results)} releases. $\\delta = 10^{{-6}}$. Above"
        " $\\sqrt 2$, a bound says nothing.",
        table(header, rows),
    ]


def _bold(value: float, is_least: bool) -> str:
    return f"**{value:.4f}**" if is_least else f"{value:.4f}"
