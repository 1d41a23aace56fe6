"""How often tests of distributions reject: ``python scripts/study.py tests``.

Writes docs/measured/tests.md: how often ``dp.goodness_of_fit`` and ``dp.two_sample_test`` reject
true hypotheses, and false ones beside the tests of Awan & Wang (2022). Takes ten minutes.
"""

import functools
from collections.abc import Callable
from typing import get_args

import numpy as np
from _pages import parts, pivot, table, write
from _studies import replicates, run
from numpy.typing import NDArray
from scipy import stats

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Hierarchy
from dpcore.planning.differences import Statistic

Rng = np.random.Generator
Reals = NDArray[np.float64]

RUNS, DEFAULT_RUNS, RUNS_AGAIN, SIMULATIONS, LEVEL, CELLS = 200, 60, 1500, 99, 0.05, 128
NULLS = 4000
GRID = dp.Grid.uniform(0, 1, CELLS)
NAMES: tuple[Statistic, ...] = get_args(Statistic)
VALUES, CHANCES = np.array([0.1, 0.4, 0.45]), [0.5, 0.3, 0.2]


def law(shape: str, t: Reals) -> Reals:
    """Return the distribution function of a shape."""
    smooth = stats.beta(2, 5).cdf(t)
    if shape == "half at one":
        smooth = (smooth + (t >= 0.3)) / 2
    if shape == "three values":
        smooth = np.searchsorted(VALUES, t, side="right")
        smooth = np.append(0.0, np.cumsum(CHANCES))[smooth]
    return np.asarray(smooth)


def records(shape: str, n: int, rng: Rng) -> Reals:
    """Return a sample of a shape."""
    drawn = rng.beta(2, 5, n)
    if shape == "half at one":
        drawn[rng.random(n) < 0.5] = 0.3
    if shape == "three values":
        drawn = rng.choice(VALUES, n, p=CHANCES)
    return np.asarray(drawn)


def tester(test: str, shape: str, n: int, epsilon: float, rng: Rng) -> Callable[[Statistic], bool]:
    """Return a function of a statistic: does it reject a true law, or equality, of new curves?"""
    first = dp.cdf(records(shape, n, rng), GRID, Hierarchy(epsilon), rng=rng)
    if test == "law":
        tested = functools.partial(dp.goodness_of_fit, first, functools.partial(law, shape))
    else:
        second = dp.cdf(records(shape, n, rng), GRID, Hierarchy(epsilon), rng=rng)
        tested = functools.partial(dp.two_sample_test, first, second)
    return lambda name: tested(name, simulations=SIMULATIONS, rng=rng).pvalue <= LEVEL


@studies.study(
    {
        "test": ["law", "two samples"],
        "shape": ["beta", "half at one", "three values"],
        "n": [200, 2000, 20_000],
        "epsilon": [0.1, 1.0],
    }
)
def sizes(test: str, shape: str, n: int, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return which statistics reject a law, or equality, that is true."""
    rejects = tester(test, shape, n, epsilon, rng)
    return {name: rejects(name) for name in NAMES}


EXTREME: dict[str, tuple[str, str, int, float, Statistic]] = {  # 1 or 8.5 % in 200 runs
    "law, three values, 200, 0.1": ("law", "three values", 200, 0.1, "kuiper"),
    "law, three values, 20,000, 1": ("law", "three values", 20_000, 1.0, "wasserstein"),
    "two samples, beta, 200, 0.1": ("two samples", "beta", 200, 0.1, "kolmogorov-smirnov"),
    "two samples, half at one, 200, 0.1": (
        "two samples",
        "half at one",
        200,
        0.1,
        "cramer-von-mises",
    ),
    "two samples, three values, 200, 0.1": (
        "two samples",
        "three values",
        200,
        0.1,
        "wasserstein",
    ),
}


@studies.study({"case": list(EXTREME)})
def sizes_again(case: str, rng: Rng) -> dict[str, float]:
    """Return whether a statistic rejects what is true, in a case that was extreme before."""
    test, shape, n, epsilon, statistic = EXTREME[case]
    return {"rejected": tester(test, shape, n, epsilon, rng)(statistic)}


@studies.study({"shape": ["beta", "half at one", "three values"], "n": [200, 2000]})
def sizes_of_default(shape: str, n: int, rng: Rng) -> dict[str, float]:
    """Return whether equality is rejected of two curves of the default, here DAWA."""
    first, second = (dp.cdf(records(shape, n, rng), GRID, epsilon=0.1, rng=rng) for _ in range(2))
    found = dp.two_sample_test(first, second, simulations=SIMULATIONS, rng=rng)
    return {"rejected": found.pvalue <= LEVEL}


CASES = {
    "100, 1, 0.3": (100, 1.0, 0.3),
    "500, 0.1, 0.25": (500, 0.1, 0.25),
    "500, 1, 0.15": (500, 1.0, 0.15),
    "5,000, 0.1, 0.06": (5000, 0.1, 0.06),
    "5,000, 1, 0.05": (5000, 1.0, 0.05),
}
GRIDS = {
    cells: dp.Grid(np.append(stats.norm.ppf(np.arange(1, cells) / cells), 8.0), lower=-8.0)
    for cells in (4, 16)
}


def kolmogorov_smirnov(values: Reals) -> Reals:
    """Return the distances of samples, (R, n), from the standard normal law, (R,)."""
    shares, n = np.sort(stats.norm.cdf(values), axis=1), values.shape[1]
    after, before = np.arange(1, n + 1) / n - shares, shares - np.arange(n) / n
    return np.asarray(np.maximum(after, before).max(axis=1))


@functools.cache
def critical(n: int, epsilon: float) -> tuple[float, float]:
    """Return the 95 % quantiles of the distance without noise, and with that of Awan & Wang."""
    rng = np.random.default_rng(1)
    drawn = [kolmogorov_smirnov(rng.normal(size=(100, n))) for _ in range(NULLS // 100)]
    exact = np.concatenate(drawn)
    noisy = exact + rng.laplace(0.0, 1.0 / (n * epsilon), exact.size)
    return float(np.quantile(exact, 1 - LEVEL)), float(np.quantile(noisy, 1 - LEVEL))


@studies.study({"case": list(CASES)})
def powers(case: str, rng: Rng) -> dict[str, float]:
    """Return which tests reject the standard normal law, if the mean is shifted."""
    n, epsilon, shift = CASES[case]
    values = rng.normal(shift, 1.0, n)
    exact = float(kolmogorov_smirnov(values[np.newaxis])[0])
    ends = critical(n, epsilon)
    found: dict[str, float] = {
        "records": exact > ends[0],
        "Awan & Wang": exact + rng.laplace(0.0, 1.0 / (n * epsilon)) > ends[1],
    }
    for cells, grid in GRIDS.items():
        curve = dp.cdf(values, grid, Hierarchy(epsilon), rng=rng)
        for name in NAMES[::2]:
            test = dp.goodness_of_fit(curve, stats.norm, name, simulations=SIMULATIONS, rng=rng)
            found[f"{cells} cells, {name}"] = test.pvalue <= LEVEL
    return found


def main() -> None:
    """Run, and write."""
    true, default, false = run(sizes, RUNS), run(sizes_of_default, DEFAULT_RUNS), run(powers, RUNS)
    again = run(sizes_again, RUNS_AGAIN)

    def all_four(**at: object) -> str:
        return " / ".join(f"{100 * true.array(name, **at).mean():.1f}" for name in NAMES)

    errors = [
        100 * np.sqrt(LEVEL * (1 - LEVEL) / replicates(results))
        for results in (true, default, again)
    ]
    write(
        "measured/tests.md",
        parts(
            "# How often tests of distributions reject",
            "`python scripts/study.py tests` writes this page.",
            f"True hypotheses, in %: Kolmogorov-Smirnov / Kuiper / Cramer-von Mises / Wasserstein,"
            f" with {CELLS} cells, {SIMULATIONS} simulations, the level {LEVEL:.0%}, `Hierarchy`,"
            f" and n records in each curve (standard error {errors[0]:.1f}):",
            pivot(
                true,
                {"test": "{}", "shape": "{}", "n": "{:,}"},
                {"epsilon": "epsilon {:g}"},
                all_four,
            ),
            f"The extremes among these numbers again, with {replicates(again):,} runs each"
            f" (standard error {errors[2]:.1f}). Where n epsilon is 20, many released curves are as"
            " far from the truth as curves can be. These ties make tests reject less.",
            table(
                ["test, shape, n, epsilon", "statistic", "rejected"],
                [
                    (case, name, f"{100 * again.array('rejected', case=case).mean():.1f}")
                    for case, (*_, name) in EXTREME.items()
                ],
            ),
            f"Equality of two curves of the default, DAWA, at epsilon = 0.1, by Kolmogorov-Smirnov"
            f" (standard error {errors[1]:.1f}):",
            pivot(
                default,
                {"shape": "{}"},
                {"n": "n {:,}"},
                lambda **at: f"{100 * default.array('rejected', **at).mean():.1f}",
            ),
            "False: a standard normal law, if the mean is shifted (n, epsilon, shift). Awan & Wang"
            " (2022) release the Kolmogorov-Smirnov distance of the records alone, with Laplace"
            " noise. A curve costs more, and gives more; cells have equal probabilities.",
            pivot(
                false,
                {"case": "{}"},
                {"which": "{}"},
                lambda which, **at: f"{100 * false.array(which, **at).mean():.0f}",
                which=[
                    "records",
                    "Awan & Wang",
                    *(f"{cells} cells, {name}" for cells in GRIDS for name in NAMES[::2]),
                ],
            ),
        ),
    )
