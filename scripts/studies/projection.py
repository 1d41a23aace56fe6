"""Polynomial projection and its rivals: ``python scripts/study.py projection [--runs N]``.

Runs the experiments of the polynomial-projection paper again, with its parameters, and writes
docs/polynomial-accuracy.md and the pictures docs/polynomial*.png. With a folder that has
SOCR-HeightWeight.csv (not part of this project), Fig. 3 is of its weights; without it, of synthetic
ones. 50 runs take some minutes. The first start makes ``.venv`` in the clone.
"""

import argparse
import os
from pathlib import Path

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="The polynomial-projection paper's experiments.")
parser.add_argument(
    "--data",
    type=Path,
    default=os.environ.get("DPCORE_DATA"),
    metavar="DIR",
    help="a folder with SOCR-HeightWeight.csv; default: DPCORE_DATA",
)
parser.add_argument("--runs", type=int, default=50, metavar="N", help="of every experiment")
ARGUMENTS = parser.parse_args()
ensure("figures")

# What follows needs the environment.
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from dpcore.mechanisms import PolynomialProjection  # noqa: E402
from dpcore.mechanisms.polynomial import Budgets  # noqa: E402

from ._projection_experiments import (  # noqa: E402
    CONTENDERS,
    DISTANCES,
    POPULATIONS,
    RECORDS,
    Budget,
    Contender,
    Method,
    errors,
    isotonic,
    unprocessed,
)
from ._projection_pictures import draw  # noqa: E402

EPSILONS = (0.1, 1.0)
KINDS: tuple[Budgets, ...] = ("auto", "equal")
DEGREES = (4, 6, 8, 10, 16, 24, 32, 48, 64)
Means = NDArray[np.float64]


def main() -> None:
    """Run, write, and say where."""
    runs = ARGUMENTS.runs
    page = ROOT / "docs" / "polynomial-accuracy.md"
    page.write_text("\n".join(lines(runs)) + "\n", "utf-8")
    for path in [page, *draw(ROOT / "docs", ARGUMENTS.data, runs)]:
        print(f"written: {path.relative_to(ROOT)}")


def lines(runs: int) -> list[str]:
    """Return the page."""
    return [
        "# The accuracy of polynomial projection",
        "",
        f"Written by `python scripts/study.py projection`. n = {RECORDS:,}, delta = n^-1.5, means",
        f"of {runs} runs with new records each; distances from the records' own curve, on the grid",
        "of 1,024 cells that all share. The populations, on their public bounds:",
        "",
        *(f"- {name}: {p.about}, on [{p.lower}, {p.upper}]" for name, p in POPULATIONS.items()),
        "",
        "PP is polynomial projection with its defaults (degree 32), and PP, moments the published",
        "mechanism (K = 6, the paper's bound). HQ are histogram queries (30 bins) and AQ adaptive",
        "quantiles (50 steps), constant between what they know, as in the paper, or linear. AQ has",
        "one count a step, where the paper's has two. dp.cdf is the mechanism that `dp.cdf`",
        "takes for this grid and budget. All curves are made monotone by isotonic regression, but",
        "HQ's (negative counts are set to 0).",
        "",
        "![Mean distances against epsilon, six populations](polynomial-distances.png)",
        "",
        "Ten sites with noise of their own, and ten rounds of new records (AQ, asked again: every",
        "round asks all records so far with a tenth of the budget; AQ, sites asked: the same",
        "questions to all sites, whose noisy answers add up):",
        "",
        "![Mean distances, sites and updates](polynomial-sites.png)",
        *comparison(runs),
        *by_degree(runs),
        *by_processing(runs),
    ]


def table(names: list[str], rows: dict[str, list[float]], is_contest: bool = True) -> list[str]:
    """Return a table; in a contest the least entry of each column is bold."""
    least = [min(column) if is_contest else None for column in zip(*rows.values(), strict=True)]
    found = ["", f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for name, row in rows.items():
        cells = [
            f"**{x:.4f}**" if x == best else f"{x:.4f}" for x, best in zip(row, least, strict=True)
        ]
        found.append(f"| {name} | {' | '.join(cells)} |")
    return found


def comparison(runs: int) -> list[str]:
    """Return the contenders' distances, and how the published mechanism compares with ours."""
    found = []
    for epsilon in EPSILONS:
        budget = Budget.of(epsilon)
        means = {
            name: {p: errors(p, each, budget, runs).mean(axis=0) for p in POPULATIONS}
            for name, each in CONTENDERS.items()
        }
        for i, distance in enumerate(DISTANCES):
            found += ["", f"## {distance} distance, epsilon = {epsilon:g}"]
            rows = {n: [float(mean[p][i]) for p in POPULATIONS] for n, mean in means.items()}
            found += table(list(POPULATIONS), rows)
        paper, ours = means["PP, moments"], means["PP"]
        ratios = ", ".join(f"{p} {paper[p][0] / ours[p][0]:.1f}" for p in POPULATIONS)
        found += ["", f"Published over ours, Kolmogorov-Smirnov: {ratios}."]
    return [
        *found,
        "",
        "A jump is out of reach for polynomials: at the spike all of them are off by half of its",
        "height, whatever the noise, and histograms and trees are the better choice there.",
    ]


def with_degree(degree: int, kind: Budgets) -> Method:
    """Return how to make the mechanism with so many degrees."""
    return lambda budget: PolynomialProjection(*budget, degree, budgets=kind)


def by_degree(runs: int) -> list[str]:
    """Return sensitivities and errors by degree."""
    found = [
        "",
        "## The degree",
        "",
        "The sensitivity times n: of equal noise in the differences (the default), and of moments,",
        "exact and by the paper's bound. Of equal noise in the coefficients it is 1.4142.",
        "",
        "| K | differences | moments, exact | moments, paper |",
        "|---|---|---|---|",
    ]
    for degree in DEGREES:
        row = [PolynomialProjection(rho=0.5, degree=degree).scheme.change]
        if degree <= 32:
            for sensitivity in ("exact", "paper"):
                mechanism = PolynomialProjection(
                    rho=0.5, degree=degree, basis="moments", sensitivity=sensitivity
                )
                row.append(mechanism.scheme.change)
        cells = [f"{x:.4f}" for x in row] + ["" for _ in range(3 - len(row))]
        found.append(f"| {degree} | {' | '.join(cells)} |")
    for epsilon in EPSILONS:
        rows = {}
        for kind in KINDS:
            for degree in DEGREES:
                each = Contender(with_degree(degree, kind))
                budget = Budget.of(epsilon)
                rows[f'"{kind}", K = {degree}'] = [
                    float(errors(p, each, budget, runs)[:, 0].mean()) for p in POPULATIONS
                ]
        found += [
            "",
            f"Kolmogorov-Smirnov distance at epsilon = {epsilon:g}, by budgets and degree:",
            *table(list(POPULATIONS), rows),
        ]
    return found


def by_processing(runs: int) -> list[str]:
    """Return what isotonic regression costs or gains."""
    found = [
        "",
        "## Isotonic regression",
        "",
        "What it costs or gains: the Kolmogorov-Smirnov and the energy distance with it over the",
        "same without. Energy can only gain: isotonic regression is a projection.",
    ]
    for epsilon in EPSILONS:
        rows = {}
        for name in ("PP", "PP, moments"):
            before, after = (
                {
                    p: errors(
                        p, CONTENDERS[name]._replace(finish=finish), Budget.of(epsilon), runs
                    ).mean(axis=0)
                    for p in POPULATIONS
                }
                for finish in (unprocessed, isotonic)
            )
            for i, distance in ((0, "KS"), (2, "energy")):
                rows[f"{name}, {distance}"] = [
                    float(after[p][i] / before[p][i]) for p in POPULATIONS
                ]
        found += ["", f"epsilon = {epsilon:g}:", *table(list(POPULATIONS), rows, False)]
    return found


if __name__ == "__main__":
    main()
