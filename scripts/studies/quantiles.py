"""Quantiles within cells and at thresholds: ``python scripts/study.py quantiles``.

Measures the errors of the deciles of released curves, for each method and several grids; and those
of quantiles that are released alone, by recursion and off a curve. Writes the tables of
docs/guides/quantiles.md. Takes some minutes.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np
from _pages import fill, parts, pivot
from _studies import replicates, run
from numpy.typing import NDArray

import dpcore as dp
from dpcore import studies
from dpcore.planning.drawn import few_drawn
from dpcore.privacy.allowance import Allowance
from dpcore.releases.quantiles import quantiles_from_counts

from ._regret_shapes import SYNTHETIC

Rng = np.random.Generator
Off = dict[str, NDArray[np.float64]]
METHODS: Final = ("linear", "inverted_cdf")
RUNS, MANY = 100, 20_000
SHAPES = {shape.name: shape for shape in SYNTHETIC if shape.group == "held-out"}
WAYS: Final = ("recursion", "curve")
NUMBERS, FINE, FEW_RUNS = (1, 3, 9, 31, 99), 2**16, 12
WIDE = dp.Grid.integers(0, FINE - 1)


def normal(rng: Rng, n: int) -> NDArray[np.float64]:
    """Return records with a bell shape, all but a few in [0, 1]."""
    return rng.normal(0.5, 0.12, n)


def beta(rng: Rng, n: int) -> NDArray[np.float64]:
    """Return records of a skewed hill in [0, 1]."""
    return rng.beta(2, 5, n)


def exponential(rng: Rng, n: int) -> NDArray[np.float64]:
    """Return records that are mostly small, all but a few in [0, 1]."""
    return rng.exponential(0.1, n)


# The unit of whole numbers, whether they are kept as integers, the grid's end, and its cells.
WHOLE_NUMBERS = {
    "integers, cells one wide": (1, True, 96, 96),
    "integers, cells a tenth wide": (1, True, 96, 960),
    "integers, cells four wide": (1, True, 96, 24),
    "the same as floats, cells one wide": (1, False, 96, 96),
    "multiples of five, cells five wide": (5, True, 100, 20),
}


def off(values: NDArray[Any], upper: float, cells: int, epsilon: float, rng: Rng) -> Off:
    """Return the errors of the deciles of a release, by method."""
    deciles = np.arange(1, 10) / 10
    grid = dp.Grid.uniform(0, upper, cells)
    curve = dp.cdf(values, grid, dp.mechanisms.Hierarchy(epsilon), rng=rng)
    true = np.quantile(values, deciles, method="inverted_cdf")
    return {each: curve.quantile(deciles, method=each) - true for each in METHODS}


@studies.study(
    {
        "data": [normal, beta, exponential],
        "n": [1_000, MANY],
        "epsilon": [0.1, 1.0],
        "cells": [64, 256, 1024, 4096],
    }
)
def smooth_data(data: Any, n: int, epsilon: float, cells: int, rng: Rng) -> dict[str, float]:
    """Return the mean error of the deciles, in % of the grid's width."""
    found = off(data(rng, n), 1.0, cells, epsilon, rng)
    return {method: 100 * float(np.abs(each).mean()) for method, each in found.items()}


@studies.study({"data_and_cells": list(WHOLE_NUMBERS), "epsilon": [0.1, 1.0]})
def whole_numbers(data_and_cells: str, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return how many of the deciles are exactly right, in %."""
    unit, integers, upper, cells = WHOLE_NUMBERS[data_and_cells]
    values = unit * rng.poisson(30 / unit, MANY)
    found = off(values if integers else values.astype(float), upper, cells, epsilon, rng)
    return {method: 100 * float(np.mean(each == 0)) for method, each in found.items()}


@cache
def likely(shape: str) -> NDArray[np.float64]:
    """Return the probabilities of the cells."""
    weights = SHAPES[shape].weights(FINE)
    assert weights is not None
    return np.asarray(weights / weights.sum())


@studies.study({"shape": list(SHAPES), "n": [100, 1_000, 10_000, 100_000]})
def alone(shape: str, n: int, rng: Rng) -> dict[str, float]:
    """Return the mean errors of m quantiles for epsilon = 1: in ranks, and in % of the width.

    The rank error is the number of records by which a cell is beyond the quantile, so it is 0
    wherever the drawn cell holds the quantile.
    """
    counts = rng.multinomial(n, likely(shape))
    cumulative = np.cumsum(counts)
    asked = {m: np.arange(1, m + 1) / (m + 1) for m in NUMBERS}
    release = partial(quantiles_from_counts, grid=WIDE, epsilon=1.0, rng=rng)
    curve = release(counts, np.concatenate(list(asked.values())), method="curve").values
    found = {}
    for m, read in zip(NUMBERS, np.split(curve, np.cumsum(NUMBERS)[:-1]), strict=True):
        targets = n * asked[m]
        drawn = release(counts, asked[m], method="recursion").values
        for way, values in (("recursion", drawn), ("curve", read)):
            cells = values.astype(np.int64)
            beyond = np.maximum((cumulative - counts)[cells] - targets, targets - cumulative[cells])
            off = cells - np.searchsorted(cumulative, targets)
            found[f"rank, {way}, {m}"] = float(np.maximum(beyond, 0).mean())
            found[f"value, {way}, {m}"] = 100 / FINE * float(np.abs(off).mean())
    return found


def main() -> None:
    """Run, and write the tables."""
    smooth, whole = run(smooth_data, RUNS), run(whole_numbers, RUNS)
    few = run(alone, FEW_RUNS)

    def error(**at: Any) -> str:
        return " / ".join(f"{smooth.array(each, **at).mean():.2g}" for each in METHODS)

    def exact(**at: Any) -> str:
        return " / ".join(f"{whole.array(each, **at).mean():.0f} %" for each in METHODS)

    page = parts(
        "`python scripts/study.py quantiles` writes these tables. Each entry is a mean over"
        f" {replicates(smooth)} releases by the best hierarchy. Each release is of new records, and"
        " is compared with the deciles of these records. An entry has two numbers: for"
        ' "linear", and for "inverted_cdf".',
        "Smooth data: the mean error of the nine deciles, in % of the grid's width.",
        pivot(smooth, {"data": "{}", "n": "{:,}", "epsilon": "{:g}"}, {"cells": "N = {:,}"}, error),
        f"Whole numbers, n = {MANY:,}: the share of the deciles that are exactly right.",
        pivot(whole, {"data_and_cells": "{}"}, {"epsilon": "epsilon = {:g}"}, exact),
    )

    def both(of: str) -> Callable[..., str]:
        def entry(n: int, m: int) -> str:
            texts = [f"{few.array(f'{of}, {way}, {m}', n=n).mean():.2g}" for way in WAYS]
            chosen = 0 if m <= few_drawn(FINE, Allowance.checked(1, None, "replace-one"), n) else 1
            texts[chosen] = f"**{texts[chosen]}**"
            return " / ".join(texts)

        return entry

    columns = {"n": "n = {:,}"}
    of_alone = parts(
        f"Mean errors, by recursion / off the curve, of m quantiles 1 / (m + 1), ..., m / (m + 1):"
        f" {FINE:,} cells, epsilon = 1, the {len(SHAPES)} held-out shapes of"
        f" `scripts/studies/_regret_shapes.py`, {replicates(few)} releases of each. Bold: what"
        " `method=None` chooses, by a rule that was made for the other shapes, and is not always"
        " the best here.",
        "In ranks. This is 0 for a cell that holds the quantile, as cells of many equal records"
        " often do.",
        pivot(few, {"m": "{}"}, columns, both("rank"), m=NUMBERS),
        "In % of the grid's width.",
        pivot(few, {"m": "{}"}, columns, both("value"), m=NUMBERS),
    )
    fill("guides/quantiles.md", page, of_alone)
