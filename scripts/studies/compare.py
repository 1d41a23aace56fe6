"""How often two curves differ by chance: ``python scripts/study.py compare``.

Writes the tables of docs/guides/several-curves.md. They say how often ``dp.compare`` and a textbook
test reject equality, for equal and for different populations, and how often the intervals cover.
Takes eight minutes.
"""

import numpy as np
from _pages import fill, parts, pivot
from _studies import replicates, run
from numpy.typing import NDArray
from scipy import stats

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Hierarchy

Rng = np.random.Generator
CELLS, RUNS, SIMULATIONS, LEVEL, MEDIAN = 128, 120, 99, 0.05, 0.5
GRID, SHIFT = dp.Grid.uniform(0, 1, CELLS), 6.3 / CELLS  # not a whole number of cells


def values(shape: str, n: int, shift: float, rng: Rng) -> NDArray[np.float64]:
    """Return records in [0, 1], and above by a shift."""
    drawn = rng.beta(2, 5, n)
    if shape == "half at one":
        drawn[rng.random(n) < 0.5] = 0.3
    return np.asarray(drawn + shift)


@studies.study(
    {
        "shape": ["beta", "half at one"],
        "mechanism": ["default", "hierarchy"],
        "epsilon": [0.1, 1.0, 10.0],
        "sizes": ["1,000 and 1,000", "300 and 3,000"],
        "shift": [0.0, SHIFT],
    }
)
def pairs(
    shape: str, mechanism: str, epsilon: float, sizes: str, shift: float, rng: Rng
) -> dict[str, float]:
    """Return the rejections, and whether the interval of medians covers, and how wide it is."""
    n = [int(each.replace(",", "")) for each in sizes.split(" and ")]
    columns = values(shape, n[0], 0.0, rng), values(shape, n[1], shift, rng)
    budget = {"epsilon": epsilon} if mechanism == "default" else {"mechanism": Hierarchy(epsilon)}
    first, second = (dp.cdf(column, GRID, rng=rng, **budget) for column in columns)
    found = dp.compare(first, second, probabilities=MEDIAN, simulations=SIMULATIONS, rng=rng)
    drawn = [curve.sample(curve.n, rng) for curve in (first, second)]
    low, high = found.population_interval
    return {
        "rejected": found.p_value <= LEVEL,
        "median rejected": found.p_values <= LEVEL,
        "covered": low <= -shift <= high,
        "width": (high - low) * CELLS,
        "textbook": stats.ks_2samp(*drawn).pvalue <= LEVEL,
    }


def main() -> None:
    """Run, and write."""
    results = run(pairs, RUNS)

    def share(name: str, **at: object) -> str:
        return f"{results.array(name, **at).mean():.0%}"

    def tests(**at: object) -> str:
        names = "rejected", "median rejected", "textbook"
        return " / ".join(share(name, **at) for name in names)

    def intervals(**at: object) -> str:
        return f"{share('covered', **at)}, {np.median(results.array('width', **at)):.3g}"

    error = np.sqrt(LEVEL * (1 - LEVEL) / replicates(results))
    rows = {"shape": "{}", "mechanism": "{}", "epsilon": "{:g}"}
    columns = {"sizes": "{}", "shift": "shift {:.2g}"}
    page = parts(
        f"Each entry is of {replicates(results)} pairs of curves, with {CELLS} cells, {SIMULATIONS}"
        f" simulations and the level {LEVEL:g}. It says how often equality is rejected: by the"
        " Kolmogorov-Smirnov statistic, by the difference of medians, and by"
        " `scipy.stats.ks_2samp` of samples of the curves. Without a shift,"
        f" {LEVEL:.0%} are right, and fewer are on the safe side. With a shift, more are better."
        f" The standard error of a share of {LEVEL:.0%} is {error:.0%}.",
        pivot(results, rows, columns, tests),
        "How often the 95 % interval of the difference of medians contains the difference of the"
        " populations' medians, and how many cells wide it is (medians):",
        pivot(results, rows, columns, intervals),
    )
    fill("guides/several-curves.md", page)
