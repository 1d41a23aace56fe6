"""How often log-rank tests reject: ``python scripts/study.py log_rank``.

Writes docs/measured/log-rank.md: how often ``dp.log_rank_test`` rejects equal hazards, and unequal
ones beside tests of noisy counts as they are published. Takes half an hour.
"""

from typing import Any, Final

import numpy as np
from _pages import parts, pivot, write
from _studies import replicates, run
from numpy.typing import NDArray

import dpcore as dp
from dpcore import studies

from .survival import HAZARDS, MANY, records

Rng = np.random.Generator
Reals = NDArray[np.float64]
RUNS, POWERS, SIMULATIONS, LEVEL = 250, 400, 99, 0.05  # runs of each shape, and of each case
CRITICAL: Final = 3.841  # of chi-squared with one degree of freedom
CENSORED: Final = (0.2, 0.6)  # of both groups: unequal, which no test may take for hazards
SIZES: Final = {
    f"n = {n:,}, epsilon = {epsilon:g}": (n, epsilon)
    for n, epsilon in (
        (200, 0.1),
        (200, 1.0),
        (1_000, 0.1),
        (1_000, 1.0),
        (10_000, 0.1),
        (10_000, 1.0),
        (100_000, 0.1),
    )
}
CASES: Final = {  # n, epsilon, ratio of hazards
    "200, 1, 1.7": (200, 1.0, 1.7),
    "1,000, 0.1, 1.9": (1_000, 0.1, 1.9),
    "1,000, 1, 1.25": (1_000, 1.0, 1.25),
    "10,000, 0.1, 1.15": (10_000, 0.1, 1.15),
    "10,000, 1, 1.07": (10_000, 1.0, 1.07),
}
RIVALS: Final = ("counts, own", "counts, many")


def both(shape: str, n: int, ratio: float, rng: Rng) -> list[tuple[Any, Any]]:
    """Return two groups; the hazard of the second is the greater one."""
    pairs = zip(CENSORED, (1.0, ratio), strict=True)
    return [records(shape, n, censored, rng, ratio=own) for censored, own in pairs]


def rejects(curves: list[dp.Survival], rng: Rng) -> bool:
    """Return whether the test of dpcore rejects."""
    found = dp.log_rank_test(*curves, simulations=SIMULATIONS, rng=rng)
    return bool(found.pvalue <= LEVEL)


def classical(groups: list[tuple[Any, Any]], cells: int, noise: float, rng: Rng) -> float:
    """Return the classical statistic of counts of events and censorings with Laplace noise.

    As Gondara & Wang 2020: noise on the counts of each time, negative ones are 0, and all goes on
    as if there were no noise. Where n is public, those left at the end are censored.
    """
    grid = dp.Grid.uniform(0, 1, cells)
    events, risks = [], []
    for durations, event in groups:
        counts = dp.survival_counts(durations, event, grid)
        noisy = np.maximum(counts + rng.laplace(0, noise, counts.size), 0) if noise else counts
        own, censored = noisy[:cells], noisy[cells:][::-1]
        gone = np.cumsum(own + censored) - (own + censored)
        events.append(own)
        risks.append(np.maximum(durations.size - gone, 0.0))
    dead, risk = np.sum(events, axis=0), np.sum(risks, axis=0)
    inside = (risks[0] > 0) & (risks[1] > 0) & (risk > 1)
    share = risks[0][inside] / risk[inside]
    dead, risk = np.minimum(dead[inside], risk[inside]), risk[inside]
    difference = float(np.sum(events[0][inside] - share * dead))
    variance = float(np.sum(dead * share * (1 - share) * (risk - dead) / (risk - 1)))
    return difference**2 / variance if variance > 0.0 else 0.0


@studies.study({"shape": list(HAZARDS), "n_and_epsilon": SIZES})
def log_rank_sizes(shape: str, n_and_epsilon: Any, rng: Rng) -> dict[str, float]:
    """Return which tests reject hazards that are equal."""
    n, epsilon = n_and_epsilon
    groups = both(shape, n, 1.0, rng)
    curves = [dp.survival(*one, (0, 1), epsilon=epsilon, rng=rng) for one in groups]
    found: dict[str, float] = {"dpcore": rejects(curves, rng)}
    for name, cells in zip(RIVALS, (curves[0].grid.size, MANY), strict=True):
        found[name] = classical(groups, cells, 2 / epsilon, rng) > CRITICAL
    return found


@studies.study({"case": list(CASES), "hazards": ["equal", "unequal"]})
def log_rank_powers(case: str, hazards: str, rng: Rng) -> dict[str, float]:
    """Return which tests reject hazards with a ratio, and the statistics of rivals."""
    n, epsilon, ratio = CASES[case]
    groups = both("constant", n, ratio if hazards == "unequal" else 1.0, rng)
    curves = [dp.survival(*one, (0, 1), epsilon=epsilon, rng=rng) for one in groups]
    own = curves[0].grid.size
    found: dict[str, float] = {
        "records": classical(groups, 4096, 0.0, rng) > CRITICAL,
        "dpcore": rejects(curves, rng),
    }
    for name, cells in zip(RIVALS, (own, MANY), strict=True):
        found[name] = classical(groups, cells, 2 / epsilon, rng)
    return found


def main() -> None:
    """Run, and write the page."""
    equal, powers = run(log_rank_sizes, RUNS), run(log_rank_powers, POWERS)
    number = replicates(equal) * len(HAZARDS)

    def size(test: str, **at: Any) -> str:
        return f"{100 * equal.array(test, **at).mean():.1f}"

    def power(test: str, case: str) -> str:
        found = powers.array(test, case=case, hazards="unequal")
        if test not in RIVALS:
            return f"{100 * found.mean():.0f}"
        null = powers.array(test, case=case, hazards="equal")
        return f"{100 * np.mean(found > np.quantile(null, 1 - LEVEL)):.0f}"

    page = parts(
        "# How often log-rank tests reject",
        "`python scripts/study.py log_rank` writes this page. Two groups of n records each, of"
        f" which {CENSORED[0]:.0%} and {CENSORED[1]:.0%} are censored early; bounds given, the grid"
        f" chosen, {SIMULATIONS} simulations, the level {LEVEL:.0%}. *Counts* have Laplace noise on"
        " the events and censorings of each time, and the classical test takes them for exact"
        " (Gondara & Wang 2020). Their times are those of `dp.survival`, or"
        f" {MANY}.",
        "## Equal hazards",
        "Rejected, in %, over the six shapes of [survival.md](survival.md), with"
        f" {number:,} runs (standard error"
        f" {100 * np.sqrt(LEVEL * (1 - LEVEL) / number):.1f}):",
        pivot(equal, {"n_and_epsilon": "{}"}, {"test": "{}"}, size, test=["dpcore", *RIVALS]),
        "Each shape, with `dp.log_rank_test`, in %"
        f" (standard error {100 * np.sqrt(LEVEL * (1 - LEVEL) / replicates(equal)):.1f}):",
        pivot(
            equal,
            {"n_and_epsilon": "{}"},
            {"shape": "{}"},
            lambda **at: size("dpcore", **at),
        ),
        "## Unequal hazards",
        "Rejected, in %, if a constant hazard is multiplied (n, epsilon, ratio),"
        f" {replicates(powers)} runs. *Records*: the classical test without privacy. Tests of"
        " counts get the critical value that their own size would need, which nobody knows in"
        " practice; that of dpcore has the size above.",
        pivot(powers, {"case": "{}"}, {"test": "{}"}, power, test=["records", "dpcore", *RIVALS]),
    )
    write("measured/log-rank.md", page)
