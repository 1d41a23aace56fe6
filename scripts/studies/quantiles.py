"""Quantiles within cells and at thresholds: ``python scripts/study.py quantiles [--runs N]``.

Errors of the deciles of released curves, by the method and the grid; see docs/quantiles.md, whose
tables this writes. Takes some seconds. The first start makes ``.venv`` in the clone.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Errors of deciles, by the method and the grid.")
parser.add_argument("--runs", type=int, default=30, metavar="N", help="of every experiment")
ARGUMENTS = parser.parse_args()
ensure("figures")

# What follows needs the environment.
import warnings  # noqa: E402

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

import dpcore as dp  # noqa: E402

Rng = np.random.Generator
DECILES = np.arange(1, 10) / 10
SIZES, EPSILONS = (64, 256, 1024, 4096), (0.1, 1.0)
RECORDS = (1_000, 20_000)
START, END = "<!-- study: start -->", "<!-- study: end -->"


class Data(NamedTuple):
    """How records are drawn, and the end of their grid, which begins at 0."""

    draw: Callable[[Rng, int], NDArray[Any]]
    upper: float


SMOOTH = {
    "normal": Data(lambda rng, n: rng.normal(50, 12, n), 100),
    "beta": Data(lambda rng, n: rng.beta(2, 5, n), 1),
    "exponential": Data(lambda rng, n: rng.exponential(1, n), 10),
}
WHOLE = Data(lambda rng, n: rng.poisson(30, n), 96)
FIVES = Data(lambda rng, n: 5 * rng.poisson(6, n), 100)
# Data, whether they are kept as integers, and the number of cells.
WHOLE_NUMBERS: dict[str, tuple[Data, bool, int]] = {
    "integers, cells one wide": (WHOLE, True, 96),
    "integers, cells a tenth wide": (WHOLE, True, 960),
    "integers, cells four wide": (WHOLE, True, 24),
    "the same as floats, cells one wide": (WHOLE, False, 96),
    "multiples of five, cells five wide": (FIVES, True, 20),
}


def main() -> None:
    """Run, write, and say where."""
    page = ROOT / "docs" / "quantiles.md"
    before, _, rest = page.read_text("utf-8").partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{page} has no place for the tables: {START} ... {END}")
    page.write_text(before + "\n".join([START, *tables(), END]) + after, "utf-8")
    print(f"written: {page.relative_to(ROOT)}")


def tables() -> list[str]:
    """Return both tables, and what they are of."""
    return [
        f"Written by `python scripts/study.py quantiles`: means over {ARGUMENTS.runs} releases by",
        "the best hierarchy, of new records each, against the deciles of the same records.",
        "",
        "Smooth data: the mean error of the nine deciles, in % of the grid's width, linear / at",
        "thresholds.",
        "",
        *header("data", "n", "epsilon", *(f"N = {size:,}" for size in SIZES)),
        *(
            line(name, f"{n:,}", f"{epsilon:g}", *(smooth_cell(name, n, epsilon, s) for s in SIZES))
            for name in SMOOTH
            for n in RECORDS
            for epsilon in EPSILONS
        ),
        "",
        f"Whole numbers, n = {RECORDS[1]:,}: how many of the deciles are exactly right, linear /",
        "at thresholds.",
        "",
        *header("data and cells", *(f"epsilon = {epsilon:g}" for epsilon in EPSILONS)),
        *(
            line(name, *(whole_cell(name, epsilon) for epsilon in EPSILONS))
            for name in WHOLE_NUMBERS
        ),
    ]


def differences(
    data: Data, n: int, epsilon: float, size: int, integers: bool
) -> NDArray[np.float64]:
    """Return by how much deciles are off, (runs, methods, 9)."""
    grid, found = dp.Grid.uniform(0, data.upper, size), []
    for rng in np.random.default_rng(1).spawn(ARGUMENTS.runs):
        values = data.draw(rng, n)
        kept = values if integers else values.astype(np.float64)
        with warnings.catch_warnings():  # of much noise, which is what is measured
            warnings.simplefilter("ignore", dp.DpcoreWarning)
            curve = dp.cdf(kept, grid, dp.mechanisms.Hierarchy(epsilon), rng=rng)
        true = np.quantile(values, DECILES, method="inverted_cdf")
        linear, steps = curve.quantile(DECILES), curve.quantile(DECILES, method="inverted_cdf")
        found.append([linear - true, steps - true])
    return np.array(found)


def smooth_cell(name: str, n: int, epsilon: float, size: int) -> str:
    """Return a cell of the first table."""
    data = SMOOTH[name]
    off = 100 * np.abs(differences(data, n, epsilon, size, False)).mean(axis=(0, 2)) / data.upper
    return " / ".join(f"{each:.2g}" for each in off)


def whole_cell(name: str, epsilon: float) -> str:
    """Return a cell of the second table."""
    data, integers, size = WHOLE_NUMBERS[name]
    exact = np.mean(differences(data, RECORDS[1], epsilon, size, integers) == 0, axis=(0, 2))
    return " / ".join(f"{100 * each:.0f} %" for each in exact)


def header(*names: str) -> list[str]:
    """Return the first two lines of a table."""
    return [line(*names), "|---" * len(names) + "|"]


def line(*cells: str) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
