"""Which mechanism for a table: ``python scripts/study.py tables [--data DIR] [--runs N]``.

Noise on each cell, trees over the cells in a row, or DAWA, by the number of cells, n epsilon and
what is read off; writes docs/table-accuracy.md and .png. Takes two minutes. DIR has dpbench/ with
DPBench's loans. The first start makes ``.venv`` in the clone.
"""

import argparse
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Mechanisms for tables, by size and budget.")
parser.add_argument("--data", type=Path, metavar="DIR", help="a folder with dpbench/")
parser.add_argument("--runs", type=int, default=8, metavar="N", help="of every experiment")
ARGUMENTS = parser.parse_args()
ensure("figures")

# What follows needs the environment.
import warnings  # noqa: E402

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.mechanisms import Dawa  # noqa: E402
from dpcore.releases.table import table_mechanism  # noqa: E402

from ._table_experiments import (  # noqa: E402
    BLUR,
    BOXES,
    EPSILON,
    HELD_OUT,
    MEASURES,
    PROJECTED,
    RATIOS,
    RHO,
    SIDES,
    TUNING,
    runs,
)

Values = NDArray[np.float64]
# (shape, side, ratio, mechanism, whether isotonic): root mean squares of the measures
Errors = dict[tuple[str, int, float, str, bool], Values]

TUNED, HELD = (*TUNING, "loans"), tuple(HELD_OUT)
SHOWN = 128  # cells a side in the picture
COLOURS = {"histogram": "#1f5fa8", "hierarchy": "#5b9a68", "quadtree": "#8a5fb0", "dawa": "#d1602b"}


def main() -> None:
    """Run, write, and say where."""
    plt.switch_backend("Agg")
    warnings.simplefilter("ignore", dp.DpcoreWarning)
    errors = measured()
    docs = ROOT / "docs"
    (docs / "table-accuracy.md").write_text("\n".join(page(errors)) + "\n", "utf-8")
    draw(errors, docs / "table-accuracy.png")
    print("written: docs/table-accuracy.md, docs/table-accuracy.png")


def measured() -> Errors:
    """Run everything."""
    found = defaultdict(list)
    for run in runs(ARGUMENTS.runs, ARGUMENTS.data):
        found[run[:-1]].append(run.errors)
    return {key: np.sqrt(np.mean(np.square(each), axis=0)) for key, each in found.items()}


# --- what is made of it


def ratios(
    errors: Errors,
    shapes: Iterable[str],
    side: int,
    ratio: float,
    above: tuple[str, bool],
    below: tuple[str, bool],
) -> Values:
    """Return one release's errors over another's, a geometric mean over shapes, and of all four."""
    logs = [
        np.log(errors[shape, side, ratio, *above] / errors[shape, side, ratio, *below])
        for shape in shapes
        if (shape, side, ratio, *above) in errors
    ]
    means = np.mean(logs, axis=0)
    return np.asarray(np.exp(np.append(means, means.mean())))


def takes_dawa(side: int, ratio: float, rho: float | None = None) -> bool:
    """Return whether the default is DAWA."""
    n = round(ratio * side * side / EPSILON)
    epsilon = EPSILON if rho is None else None
    return isinstance(table_mechanism(side * side, epsilon, rho, "replace-one", None, n), Dawa)


def regrets(errors: Errors, shapes: tuple[str, ...]) -> tuple[float, float]:
    """Return the default's error over that of the better one of two, the mean and the largest."""
    found = []
    for side, ratio in itertools.product(SIDES, RATIOS):
        gain = ratios(errors, shapes, side, ratio, ("dawa", True), ("histogram", True))[-1]
        found.append((gain if takes_dawa(side, ratio) else 1.0) / min(gain, 1.0))
    return float(np.exp(np.mean(np.log(found)))), max(found)


# --- the page


def page(errors: Errors) -> list[str]:
    """Return docs/table-accuracy.md."""
    has_loans = ", and DPBench's loans" if ARGUMENTS.data is not None else ""
    text = f"""
# Tables: which mechanism, measured

Written by `python scripts/study.py tables --data DIR`. A table is released as one row of cells
([table.md](table.md)), by any mechanism. Which is better depends on the number of cells, on
n epsilon, and on what is read off:

- *cells*: the total variation distance between the released and the true shares of cells;
- *boxes*: the root mean squared error of the share of records in {BOXES} random boxes;
- *marginals*: the same of the F of either column;
- *medians*: the same of the median of y in each column of cells, weighted by its records. Squares
  of {BLUR:g} cells are added, so that two medians without an error have the ratio 1.

Shapes to choose the rule by: {", ".join(TUNING)}{has_loans}. Held out: {", ".join(HELD)}.
epsilon = {EPSILON:g}, and n is what each n epsilon asks for; {ARGUMENTS.runs} runs of each with
new records, from which errors are told. Tables are isotonic, unless said otherwise. Numbers are one
mechanism's error over another's, geometric means over the shapes; below 1 the first is better.

![Errors by n epsilon for each cell](table-accuracy.png)

## DAWA or noise on each cell

`Dawa` over `Histogram`, all four measures together; tuning shapes / held-out shapes. **Bold**: the
default takes DAWA, which is up to n epsilon = N^1.5 / 16 for N cells in all.
"""
    lines = text.strip().splitlines()
    lines += ["", *of_both(errors, 4)]
    lines += ["", *of_rule(errors), ""]
    for at, name in enumerate(MEASURES):
        lines += [f"{name.capitalize()} alone:", "", *of_both(errors, at), ""]
    lines += ["## Gaussian noise", ""]
    lines += [
        f"The same for rho = {RHO:g}, which has as much noise in a count; all shapes. Trees over"
    ]
    lines += ["buckets cost less there, so the default takes DAWA up to N^1.5 / 4.", ""]
    lines += grid_of(
        lambda side, ratio: marked(
            f"{over(errors, 'dawa, rho', 'histogram, rho', side, ratio)[-1]:.2f}",
            takes_dawa(side, ratio, RHO),
        )
    )
    lines += ["", "## Trees", ""]
    lines += ["`Hierarchy` over `Histogram` / `Hierarchy(4)`, a quadtree, over `Histogram`; all"]
    lines += [
        "shapes. Trees lose in cells what they gain in boxes and marginals, so the default is"
    ]
    lines += ["none of them; name one where sums of many cells matter and there are many cells."]
    for at, name in enumerate(MEASURES):
        lines += ["", f"{name.capitalize()}:", "", *of_trees(errors, at)]
    lines += ["", "## Isotonic regression", ""]
    lines += [
        "The raw table's error over that of the isotonic one; all shapes, `Histogram` / `Dawa`."
    ]
    for at in (0, 1):
        lines += ["", f"{MEASURES[at].capitalize()}:", "", *of_isotonic(errors, at)]
    lines += ["", "The nearest cells of 0 or more with the sum n, in least squares, over isotonic"]
    lines += ["regression, for `Histogram`; cells / boxes. It knows no neighbours.", ""]
    return lines + grid_of(
        lambda side, ratio: " / ".join(
            f"{each:.2f}"
            for each in ratios(
                errors, TUNED + HELD, side, ratio, (PROJECTED, False), ("histogram", True)
            )[:2]
        )
    )


def of_rule(errors: Errors) -> list[str]:
    """Return how far the default is from the better one of the two."""
    (mean, most), (mean_held, most_held) = (regrets(errors, each) for each in (TUNED, HELD))
    return [
        f"The default's error over that of the better one of the two is {mean:.3f} on average and",
        f"{most:.2f} at most; for the held-out shapes {mean_held:.3f} and {most_held:.2f}.",
    ]


def over(errors: Errors, above: str, below: str, side: int, ratio: float) -> Values:
    """Return one mechanism's errors over another's, of all shapes."""
    return ratios(errors, TUNED + HELD, side, ratio, (above, True), (below, True))


def of_both(errors: Errors, measure: int) -> list[str]:
    """Return DAWA over noise on each cell, for both groups of shapes."""

    def cell(side: int, ratio: float) -> str:
        found = (
            ratios(errors, shapes, side, ratio, ("dawa", True), ("histogram", True))[measure]
            for shapes in (TUNED, HELD)
        )
        return marked(" / ".join(f"{each:.2f}" for each in found), takes_dawa(side, ratio))

    return grid_of(cell)


def of_trees(errors: Errors, measure: int) -> list[str]:
    """Return both trees over noise on each cell."""
    return grid_of(
        lambda side, ratio: " / ".join(
            f"{over(errors, tree, 'histogram', side, ratio)[measure]:.2f}"
            for tree in ("hierarchy", "quadtree")
        )
    )


def of_isotonic(errors: Errors, measure: int) -> list[str]:
    """Return raw tables over isotonic ones."""
    return grid_of(
        lambda side, ratio: " / ".join(
            f"{ratios(errors, TUNED + HELD, side, ratio, (name, False), (name, True))[measure]:.2f}"
            for name in ("histogram", "dawa")
        )
    )


def grid_of(cell: Callable[[int, float], str]) -> list[str]:
    """Return a table by cells a side, and n epsilon for each cell."""
    rows = [[f"{side} x {side}", *(cell(side, ratio) for ratio in RATIOS)] for side in SIDES]
    names = ["cells", *(f"n epsilon = {ratio:g} N" for ratio in RATIOS)]
    return [f"| {' | '.join(each)} |" for each in (names, ["---"] * len(names), *rows)]


def marked(text: str, is_taken: bool) -> str:
    """Return a text, bold if it is of what the default takes."""
    return f"**{text}**" if is_taken else text


# --- the picture


def draw(errors: Errors, path: Path) -> None:
    """Draw the four measures by n epsilon, for one size."""
    figure, axes = plt.subplots(1, len(MEASURES), figsize=(14, 3.6), layout="constrained")
    for at, (ax, measure) in enumerate(zip(axes, MEASURES, strict=True)):
        for name, colour in COLOURS.items():
            means = [
                np.exp(
                    np.mean(
                        [
                            np.log(errors[shape, SHOWN, ratio, name, True][at])
                            for shape in TUNED + HELD
                            if (shape, SHOWN, ratio, name, True) in errors
                        ]
                    )
                )
                for ratio in RATIOS
            ]
            ax.plot(RATIOS, means, "o-", color=colour, markersize=3, label=name)
        ax.axvline(SHOWN / 16, color="0.6", linewidth=1, linestyle=":")
        ax.set(xscale="log", yscale="log", title=measure, xlabel="n epsilon for each cell")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel(f"error, {SHOWN} x {SHOWN} cells")
    axes[0].legend(frameon=False, fontsize=9)
    axes[1].text(SHOWN / 16, axes[1].get_ylim()[0], " the rule", fontsize=8, va="bottom")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
