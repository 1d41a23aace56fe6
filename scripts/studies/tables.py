"""Which mechanism for a table: ``python scripts/study.py tables --data DIR``.

Compares noise on each cell, on blocks of them, on trees over the row of cells, and DAWA, by the
number of cells, n epsilon and the measure of the error. Writes docs/measured/table-accuracy.md and
.png. Takes four minutes. DIR must contain dpbench/ with DPBench's loans.
"""

from typing import Any

import numpy as np
from _pages import parts, save, table, write
from _studies import replicates, run
from numpy.typing import NDArray
from papers._figure import BLUE, GREEN, GREY, PURPLE, VERMILION, panels

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Dawa, Hierarchy, Histogram, Mechanism
from dpcore.privacy.allowance import Allowance
from dpcore.releases.table import in_blocks, table_mechanism

from ._table_shapes import HELD_OUT, TUNING, chances

Values = NDArray[np.float64]
Counts = NDArray[np.int64]

DATA = ("dpbench",)  # without it, the page is not for docs/
EPSILON, RUNS = 0.1, 4
TABLES = {f"{x} x {y}": (x, y) for x, y in (
    (8, 8), (16, 16), (32, 32), (64, 64), (256, 32), (128, 128), (256, 256)
)}  # fmt: skip
RATIOS = (0.03, 0.1, 0.3, 1, 3, 10, 30, 100)  # n epsilon for each cell
BOXES = 300
BLUR = 0.1  # of a cell: added to the errors of medians, so that no ratio is of two zeros
MEASURES = ("cells", "boxes", "marginals", "medians")
RHO = EPSILON**2 / 8  # gives a count the same noise as EPSILON
SHOWN = "128 x 128"  # in the picture
STYLES = {
    "histogram": (GREY, "o-"),
    "blocks": (BLUE, "v-"),
    "hierarchy": (GREEN, "s--"),
    "quadtree": (PURPLE, "^:"),
    "dawa": (VERMILION, "D-."),
}


def mechanisms(size: int) -> dict[str, Mechanism]:
    """Return the compared mechanisms for so many cells."""
    flat, gaussian = Histogram(EPSILON), Histogram(rho=RHO)
    return {
        "histogram": flat,
        "blocks": in_blocks(size, flat),
        "hierarchy": Hierarchy(EPSILON),
        "quadtree": Hierarchy(EPSILON, 4),
        "dawa": Dawa(EPSILON),
        "histogram, rho": gaussian,
        "blocks, rho": in_blocks(size, gaussian),
        "hierarchy, rho": Hierarchy(rho=RHO),
        "dawa, rho": Dawa(rho=RHO),
    }


@studies.study({"shape": [*TUNING, *HELD_OUT], "sides": list(TABLES), "ratio": RATIOS})
def off(shape: str, sides: str, ratio: float, rng: np.random.Generator) -> dict[str, Values]:
    """Return the errors of all releases of the same new records, by ``MEASURES``."""
    both = TABLES[sides]
    grid, corners = dp.TableGrid.uniform((0, 1), (0, 1), both), boxes(both)
    n = records(sides, ratio)
    true = rng.multinomial(n, chances(shape, both).ravel()).reshape(both)
    found = {}
    for name, mechanism in mechanisms(grid.size).items():
        raw = dp.table_from_counts(true, grid, mechanism, isotonic=False, rng=rng)
        found[name] = errors(raw.isotonic().counts, true, corners)
        if name in ("histogram", "blocks", "dawa"):
            found[f"{name}, raw"] = errors(raw.counts, true, corners)
        if name == "histogram":
            found[f"{name}, projected"] = errors(projected(raw.counts), true, corners)
    return found


def records(sides: str, ratio: float) -> int:
    """Return n for n epsilon of so many times the number of cells."""
    return round(ratio * cells(sides) / EPSILON)


def cells(sides: str) -> int:
    """Return the number of cells."""
    width, height = TABLES[sides]
    return width * height


def box_sums(counts: Values, corners: NDArray[np.int64]) -> Values:
    """Return the sums of counts over boxes, by (4, k) corners."""
    sums = np.zeros((counts.shape[0] + 1, counts.shape[1] + 1))
    sums[1:, 1:] = counts.cumsum(axis=0).cumsum(axis=1)
    left, right, low, high = corners
    return np.asarray(sums[right, high] - sums[left, high] - sums[right, low] + sums[left, low])


def medians(counts: Values) -> Values:
    """Return the median of each column of cells, as a share of the axis."""
    sums = np.maximum.accumulate(counts.cumsum(axis=1), axis=1)
    at = np.argmax(sums >= sums[:, -1:] / 2, axis=1)
    return np.asarray((at + 0.5) / counts.shape[1])


def errors(found: Values, true: Counts, corners: NDArray[np.int64]) -> Values:
    """Return one number for each measure."""
    n, exact = float(true.sum()), true.astype(np.float64)
    gap = found - exact
    across = [gap.sum(axis=axis).cumsum() / n for axis in (0, 1)]
    own = exact.sum(axis=1)
    away = medians(found) - medians(exact)
    measured = (
        np.abs(gap).sum() / (2 * n),
        np.sqrt(np.mean(box_sums(gap, corners) ** 2)) / n,
        np.sqrt(np.mean(np.concatenate(across) ** 2)),
        np.sqrt(np.sum(own * away**2) / n + (BLUR / true.shape[1]) ** 2),
    )
    return np.array(measured)


def projected(counts: Values) -> Values:
    """Return the nearest cells, in least squares, that are 0 or more, with the same sum."""
    falling = np.sort(counts, axis=None)[::-1]
    excess = (np.cumsum(falling) - counts.sum()) / np.arange(1, falling.size + 1)
    return np.asarray(np.maximum(counts - excess[np.flatnonzero(falling > excess)[-1]], 0.0))


def boxes(sides: tuple[int, int]) -> NDArray[np.int64]:
    """Return the corners of random boxes, (4, BOXES): left, right, low, high."""
    rng = np.random.default_rng(sides)
    ends = [np.sort(rng.integers(0, side + 1, (2, BOXES)), axis=0) for side in sides]
    return np.concatenate(ends)


# --- the page and the picture


class Compared:
    """The root mean squares of the measures, over all runs."""

    def __init__(self, results: studies.Results) -> None:
        self.shapes = results.parameters["shape"]
        squares = {name: results.array(name) ** 2 for name in results.quantities}
        self.errors = {name: np.sqrt(each.mean(axis=-2)) for name, each in squares.items()}

    def over(self, above: str, below: str, shapes: Any = TUNING + HELD_OUT) -> Values:
        """Return the ratio of two mechanisms' errors, as geometric means over shapes.

        The first entry is for all measures together, the others for each of them.

        The shape is (1 + measures, tables, ratios).
        """
        at = [self.shapes.index(each) for each in shapes]
        logs = np.log(self.errors[above][at] / self.errors[below][at]).mean(axis=0)
        whole = np.concatenate([logs.mean(axis=-1, keepdims=True), logs], axis=-1)
        return np.asarray(np.exp(np.moveaxis(whole, -1, 0)))


def default(sides: str, ratio: float, rho: float | None = None) -> str:
    """Return the name of the default."""
    size, epsilon = cells(sides), EPSILON if rho is None else None
    budget = Allowance.checked(epsilon, rho, "replace-one")
    taken = table_mechanism(size, budget, records(sides, ratio))
    return next(name for name, each in mechanisms(size).items() if each == taken)


def takes_dawa(rho: float | None = None) -> NDArray[np.bool_]:
    """Return where the default is DAWA, (tables, ratios)."""
    names = [[default(sides, ratio, rho) for ratio in RATIOS] for sides in TABLES]
    return np.char.startswith(names, "dawa")


def regrets(found: Compared, shapes: tuple[str, ...], rho: float | None = None) -> Values:
    """Return the default's error over that of the best mechanism, (measures, tables, ratios).

    The best mechanism of each table, n epsilon and measure is that with the least geometric mean
    over the shapes.
    """
    kind = ", rho" if rho else ""
    names = [f"{name}{kind}" for name in ("histogram", "blocks", "hierarchy", "dawa")]
    if rho is None:
        names.append("quadtree")
    ratios = {name: found.over(name, f"histogram{kind}", shapes)[1:] for name in names}
    best = np.min(list(ratios.values()), axis=0)
    own = np.empty_like(best)
    for i, sides in enumerate(TABLES):
        for j, ratio in enumerate(RATIOS):
            own[:, i, j] = ratios[default(sides, ratio, rho)][:, i, j]
    return np.asarray(own / best)


def grid_of(*numbers: Values, bold: Any = False) -> list[str]:
    """Return a table by cells a side and n epsilon for each cell; bold: the default is DAWA."""
    marks = np.where(np.broadcast_to(bold, (len(TABLES), len(RATIOS))), "**", "")
    rows = []
    for i, name in enumerate(TABLES):
        texts = [" / ".join(f"{each[i, j]:.2f}" for each in numbers) for j in range(len(RATIOS))]
        rows.append(
            [name, *(mark + text + mark for mark, text in zip(marks[i], texts, strict=True))]
        )
    return table(["cells", *(f"n epsilon = {ratio:g} N" for ratio in RATIOS)], rows)


def spread(of: Values) -> str:
    """Return the geometric mean and the largest of regrets, for each measure."""
    each = zip(MEASURES, np.exp(np.log(of).mean(axis=(1, 2))), of.max(axis=(1, 2)), strict=True)
    return "; ".join(f"{name} {mean:.2f}, at most {most:.2f}" for name, mean, most in each)


def main() -> None:
    """Run, write and draw."""
    results = run(off, RUNS, quick=1)
    found = Compared(results)
    save(drawn(found), "measured/table-accuracy.png")
    write("measured/table-accuracy.md", page(found, replicates(results)))


def page(found: Compared, runs: int) -> list[str]:
    """Return docs/measured/table-accuracy.md."""
    held, of_rho = regrets(found, HELD_OUT), regrets(found, HELD_OUT, RHO)
    by_dawa = [found.over("dawa", "blocks", shapes) for shapes in (TUNING, HELD_OUT)]
    trees = [found.over(tree, "histogram") for tree in ("blocks", "hierarchy", "quadtree")]
    gaussian = [found.over(f"{name}, rho", "histogram, rho") for name in ("blocks", "dawa")]
    raw = [found.over(f"{name}, raw", name) for name in ("histogram", "blocks", "dawa")]
    return parts(
        INTRODUCTION,
        f"The rule was chosen with the shapes {', '.join(TUNING)}. The held-out shapes are"
        f" {', '.join(HELD_OUT)}. Always epsilon = {EPSILON:g}, and n follows from n epsilon."
        f" There are {runs} runs of each case, with new records; the error is the distance from"
        " these records. Tables are isotonic unless stated otherwise. Each number is the error of"
        " one mechanism over that of another, as a geometric mean over the shapes; if it is below"
        " 1, the first mechanism is better.",
        "![Errors by n epsilon for each cell](table-accuracy.png)",
        "## The default and the best",
        "The error of the default over that of the best of all mechanisms on this page, for"
        " held-out shapes: cells / boxes / marginals / medians. The best mechanism differs between"
        " the four. **Bold**: the default is DAWA.",
        grid_of(*held, bold=takes_dawa()),
        f"On average: {spread(held)}.",
        f"With Gaussian noise, for rho = {RHO:g}, which gives a count the same noise:"
        f" {spread(of_rho)}.",
        "## DAWA, or counts of blocks and cells",
        "The error of `Dawa` over that of blocks and cells (`Hierarchy` with two branchings), for"
        " all four measures together: tuning shapes / held-out shapes. **Bold**: the default is"
        " DAWA, up to n epsilon = $N^{1.5} / 16$ for $N$ cells in all.",
        grid_of(*(each[0] for each in by_dawa), bold=takes_dawa()),
        *by_measure(*by_dawa, bold=takes_dawa()),
        "## Trees",
        "The error over that of `Histogram`, for all shapes: of blocks and cells / of `Hierarchy` /"
        " of `Hierarchy(4)`, a quadtree. Trees lose in cells what they gain in boxes and marginals."
        " Blocks lose little, and are the default from 1,024 cells on. There are $4^k$ of them,"
        " near $\\sqrt{N}$, with a fifth of epsilon.",
        *by_measure(*trees),
        "## Gaussian noise",
        f"The error over that of `Histogram`, for rho = {RHO:g} and all shapes: of blocks and cells"
        " / of `Dawa`. Blocks get a quarter of rho, and are the default from 256 cells on. Below"
        " $N^{1.5} / 4$ the default is DAWA.",
        *by_measure(*gaussian, bold=takes_dawa(RHO)),
        "## Isotonic regression",
        "The error of the raw table over that of the isotonic one, for all shapes: `Histogram` /"
        " blocks and cells / `Dawa`.",
        *by_measure(*raw)[:4],
        "An alternative to isotonic regression is the nearest cells of 0 or more with the sum n, in"
        " least squares. It does not use neighbouring cells. The table has its error over that of"
        " isotonic regression, for `Histogram`: cells / boxes.",
        grid_of(*found.over("histogram, projected", "histogram")[1:3]),
    )


def by_measure(*ratios: Values, bold: Any = False) -> list[str | list[str]]:
    """Return a table for each measure, of numbers with (1 + measures) entries, under its name."""
    found: list[str | list[str]] = []
    for at, name in enumerate(MEASURES, 1):
        found += [f"{name.capitalize()}:", grid_of(*(each[at] for each in ratios), bold=bold)]
    return found


INTRODUCTION = f"""\
# Tables: which mechanism, measured

This page compares mechanisms for tables. It is written by
`python scripts/study.py tables --data DIR`. A table is released as one row of cells
([table.md](../guides/table.md)), by any mechanism. Which mechanism is better depends on the number
of cells, on n epsilon, and on the use of the table. There are four measures of the error:

- *cells*: the total variation distance between the released and the true shares of cells.
- *boxes*: the root mean squared error of the share of records in {BOXES} random boxes.
- *marginals*: the root mean squared error of the distribution function F of each column.
- *medians*: the root mean squared error of the median of y in each column of cells, weighted by
  its records. The square of {BLUR:g} cells is added, so that the ratio of two medians without error
  is 1."""


def drawn(found: Compared) -> Any:
    """Draw the four measures by n epsilon, for one size."""
    picture, axes = panels(len(MEASURES), width=3.5)
    rule = np.sqrt(cells(SHOWN)) / 16
    for at, (ax, measure) in enumerate(zip(axes[0], MEASURES, strict=True)):
        for name, (colour, line) in STYLES.items():
            logs = np.log(found.errors[name][:, list(TABLES).index(SHOWN), :, at])
            ax.plot(RATIOS, np.exp(logs.mean(axis=0)), line, color=colour, markersize=4, label=name)
        ax.axvline(rule, color="0.6", linewidth=1, linestyle=":")
        ax.set(xscale="log", yscale="log", title=measure, xlabel="n epsilon for each cell")
    axes[0, 0].set_ylabel(f"error, {SHOWN} cells")
    axes[0, 0].legend(frameon=False, fontsize=9)
    below = axes[0, 1].get_ylim()[0]
    axes[0, 1].text(rule, below, " the rule", fontsize=8, va="bottom")
    return picture
