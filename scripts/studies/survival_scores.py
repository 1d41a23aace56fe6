"""Scores of survival models: errors and intervals: ``python scripts/study.py survival_scores``.

Writes docs/measured/survival-scores.md: errors of concordance and areas of ``dp.survival_scores``,
beside those of sampling, and how often intervals cover. Takes a quarter of an hour.
"""

from functools import cache
from typing import Any, Final

import numpy as np
from _pages import parts, pivot, write
from _studies import replicates, run
from numpy.typing import NDArray

import dpcore as dp
from dpcore import studies

Rng = np.random.Generator
Reals = NDArray[np.float64]
RUNS, LARGE = 20, 5 * 10**6  # runs of each kind, and records that stand for a population
FINE: Final = dp.Grid.uniform(0, 2, 256), dp.Grid.uniform(0, 1, 512)
KINDS: Final = {"common": (0.4, 1.0), "rare": (0.1, 1.0), "overconfident": (0.4, 0.5)}
SIZES: Final = {
    f"n = {n:,}, epsilon = {epsilon:g}": (n, epsilon)
    for n in (1_000, 10_000, 100_000)
    for epsilon in (0.1, 1.0)
}
READ: Final = ("concordance", "area")


def records(kind: str, n: int, rng: Rng) -> tuple[Reals, NDArray[np.bool_], Reals]:
    """Return durations, events, and risks up to 1 as a model predicts them."""
    base, slope = KINDS[kind]
    x = rng.normal(size=n)
    until_event = rng.exponential(np.exp(-slope * x) / base)
    until_end = rng.uniform(0.2, 3.0, n)
    risk = -np.expm1(-base * np.exp(x))
    return np.minimum(until_event, until_end), until_event <= until_end, risk


def exact(given: Any, grid: dp.Grid, score_grid: dp.Grid) -> dict[str, float]:
    """Return the values of the records over some cells."""
    durations, event, risk = given
    no_noise = dp.mechanisms.NoNoise()
    found = dp.survival_scores(durations, event, risk, grid, score_grid, no_noise)
    return {"concordance": found.concordance, "area": found.auc(1.0)}


@cache
def of_population(kind: str, scores: int, times: int) -> dict[str, float]:
    """Return the values of many records over so many cells."""
    grids = dp.Grid.uniform(0, 2, times), dp.Grid.uniform(0, 1, scores)
    return exact(records(kind, LARGE, np.random.default_rng(1)), *grids)


@studies.study({"kind": list(KINDS), "n_and_epsilon": SIZES})
def scores(kind: str, n_and_epsilon: Any, rng: Rng) -> dict[str, float]:
    """Return errors, and whether intervals of 95 % cover."""
    n, epsilon = n_and_epsilon
    given = records(kind, n, rng)
    durations, event, risk = given
    found = dp.survival_scores(durations, event, risk, (0, 2), epsilon=epsilon, rng=rng)
    released = {"concordance": found.concordance, "area": found.auc(1.0)}
    true, fine = exact(given, *FINE), of_population(kind, FINE[1].size, FINE[0].size)
    cells = found.score_grid.size, found.grid.size
    targets = {
        "records": exact(given, found.grid, found.score_grid),
        "population": of_population(kind, *cells),
    }
    values = {}
    for name in READ:
        values[f"{name}, dpcore"] = (released[name] - true[name]) ** 2
        values[f"{name}, sampling"] = (true[name] - fine[name]) ** 2
        for of, target in targets.items():
            own: Any = of
            low, high = (
                found.concordance_interval(of=own)
                if name == "concordance"
                else found.auc_interval(1.0, of=own)
            )
            values[f"{name}, {of}"] = float(low <= target[name] <= high)
    return values


def main() -> None:
    """Run, and write the page."""
    results = run(scores, RUNS)
    number = replicates(results) * len(KINDS)

    def error(read: str, **at: Any) -> str:
        return f"{np.sqrt(np.nanmean(results.array(read, **at))):.4f}"

    def share(read: str, **at: Any) -> str:
        return f"{100 * np.mean(results.array(read, **at)):.1f}"

    rows = {"n_and_epsilon": "{}"}
    page = parts(
        "# Scores of survival models",
        "`python scripts/study.py survival_scores` writes this page: errors of"
        " `dp.survival_scores`, and how often its intervals cover."
        " [The proof](../proofs/survival.md) says what is released.",
        "## Errors",
        "Root mean square errors of the concordance, and of the area at half of the grid, beside"
        " the records' own values in cells of a 256th and a 512th. Sampling is the error of"
        " these for the population, without privacy. Models of three kinds: right for common"
        f" events, for rare ones, and overconfident; {number} releases in each row, about"
        " half of the records censored early.",
        pivot(
            results,
            rows,
            {"read": "{}"},
            error,
            read=[f"{name}, {of}" for name in READ for of in ("dpcore", "sampling")],
        ),
        "## Intervals",
        "How often intervals of 95 % cover the value in the same cells, in %. The standard error"
        f" is {100 * np.sqrt(0.05 * 0.95 / number):.1f} %.",
        pivot(
            results,
            rows,
            {"read": "{}"},
            share,
            read=[f"{name}, {of}" for name in READ for of in ("records", "population")],
        ),
    )
    write("measured/survival-scores.md", page)
