"""Which mechanism for a table: ``python scripts/study.py tables --data DIR``.

Compares noise on each cell, trees over the row of cells, and DAWA, by the number of cells,
n epsilon and the measure of the error. Writes docs/measured/table-accuracy.md and .png. Takes two
minutes. DIR must contain dpbench/ with DPBench's loans.
"""

from typing import Any

import numpy as np
from _pages import parts, save, table, write
from _studies import replicates, run
from numpy.typing import NDArray
from papers._figure import BLUE, GREEN, PURPLE, VERMILION, panels

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Dawa, Hierarchy, Histogram, Mechanism
from dpcore.privacy.allowance import Allowance
from dpcore.releases.table import table_mechanism

from ._table_shapes import HELD_OUT, TUNING, chances

Values = NDArray[np.float64]
Counts = NDArray[np.int64]

DATA = ("dpbench",)  # without it, the page is not for docs/
EPSILON, RUNS = 0.1, 8
SIDES = (8, 16, 32, 64, 128, 256)
RATIOS = (0.03, 0.1, 0.3, 1, 3, 10, 30, 100)  # n epsilon for each cell
BOXES = 300
BLUR = 0.1  # of a cell: added to the errors of medians, so that no ratio is of two zeros
MEASURES = ("cells", "boxes", "marginals", "medians")
RHO = EPSILON**2 / 8  # gives a count the same noise as EPSILON
SHOWN = 128  # cells a side in the picture
STYLES = {
    "histogram": (BLUE, "o-"),
    "hierarchy": (GREEN, "s--"),
    "quadtree": (PURPLE, "^:"),
    "dawa": (VERMILION, "D-."),
}


def mechanisms() -> dict[str, Mechanism]:
    """Return the compared mechanisms."""
    return {
        "histogram": Histogram(EPSILON),
        "hierarchy": Hierarchy(EPSILON),
        "quadtree": Hierarchy(EPSILON, 4),
        "dawa": Dawa(EPSILON),
        "histogram, rho": Histogram(rho=RHO),
        "dawa, rho": Dawa(rho=RHO),
    }


@studies.study({"shape": [*TUNING, *HELD_OUT], "side": SIDES, "ratio": RATIOS})
def off(shape: str, side: int, ratio: float, rng: np.random.Generator) -> dict[str, Values]:
    """Return the errors of all releases of the same new records, by ``MEASURES``."""
    grid, corners = dp.TableGrid.uniform((0, 1), (0, 1), side), boxes(side)
    n = round(ratio * side * side / EPSILON)
    true = rng.multinomial(n, chances(shape, side).ravel()).reshape(side, side)
    found = {}
    for name, mechanism in mechanisms().items():
        raw = dp.table_from_counts(true, grid, mechanism, isotonic=False, rng=rng)
        found[name] = errors(raw.isotonic().counts, true, corners)
        if name in ("histogram", "dawa"):
            found[f"{name}, raw"] = errors(raw.counts, true, corners)
        if name == "histogram":
            found[f"{name}, projected"] = errors(projected(raw.counts), true, corners)
    return found


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


def boxes(side: int) -> NDArray[np.int64]:
    """Return the corners of random boxes, (4, BOXES): left, right, low, high."""
    rng = np.random.default_rng(side)
    ends = [np.sort(rng.integers(0, side + 1, (2, BOXES)), axis=0) for _ in range(2)]
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

        The shape is (1 + measures, sides, ratios).
        """
        at = [self.shapes.index(each) for each in shapes]
        logs = np.log(self.errors[above][at] / self.errors[below][at]).mean(axis=0)
        whole = np.concatenate([logs.mean(axis=-1, keepdims=True), logs], axis=-1)
        return np.asarray(np.exp(np.moveaxis(whole, -1, 0)))


def takes_dawa(side: int, ratio: float, rho: float | None = None) -> bool:
    """Return whether the default is DAWA."""
    n, epsilon = round(ratio * side * side / EPSILON), EPSILON if rho is None else None
    return isinstance(
        table_mechanism(side * side, Allowance.checked(epsilon, rho, "replace-one"), n), Dawa
    )


def taken(rho: float | None = None) -> NDArray[np.bool_]:
    """Return where the default is DAWA, (sides, ratios)."""
    return np.array([[takes_dawa(side, ratio, rho) for ratio in RATIOS] for side in SIDES])


def grid_of(*numbers: Values, bold: Any = False) -> list[str]:
    """Return a table by cells a side and n epsilon for each cell; bold: the default is DAWA."""
    marks = np.where(np.broadcast_to(bold, (len(SIDES), len(RATIOS))), "**", "")
    rows = []
    for i, side in enumerate(SIDES):
        texts = [" / ".join(f"{each[i, j]:.2f}" for each in numbers) for j in range(len(RATIOS))]
        cells = (f"{mark}{text}{mark}" for mark, text in zip(marks[i], texts, strict=True))
        rows.append([f"{side} x {side}", *cells])
    return table(["cells", *(f"n epsilon = {ratio:g} N" for ratio in RATIOS)], rows)


def regret(found: Compared, shapes: tuple[str, ...]) -> tuple[float, float]:
    """Return the error of the default over that of the better mechanism: mean and largest."""
    gain = found.over("dawa", "histogram", shapes)[0]
    regrets = np.where(taken(), gain, 1.0) / np.minimum(gain, 1.0)
    return float(np.exp(np.log(regrets).mean())), float(regrets.max())


def main() -> None:
    """Run, write and draw."""
    results = run(off, RUNS, quick=1)
    found = Compared(results)
    save(drawn(found), "measured/table-accuracy.png")
    dawa = [found.over("dawa", "histogram", shapes) for shapes in (TUNING, HELD_OUT)]
    both = [grid_of(*each, bold=taken()) for each in zip(*dawa, strict=True)]
    trees = zip(*(found.over(t, "histogram") for t in ("hierarchy", "quadtree")), strict=True)
    raw = zip(*(found.over(f"{name}, raw", name) for name in ("histogram", "dawa")), strict=True)
    by_trees, by_raw = ([grid_of(*each) for each in pairs] for pairs in (trees, raw))
    (mean, most), (mean_held, most_held) = regret(found, TUNING), regret(found, HELD_OUT)
    names = [name.capitalize() for name in MEASURES]
    page = parts(
        INTRODUCTION,
        f"The rule was chosen with the shapes {', '.join(TUNING)}. The held-out shapes are"
        f" {', '.join(HELD_OUT)}. Always epsilon = {EPSILON:g}, and n follows from n epsilon."
        f" There are {replicates(results)} runs of each case, with new records; the error is the"
        " distance from these records. Tables are isotonic unless stated otherwise. Each number is"
        " the error of one mechanism over that of another, as a geometric mean over the shapes; if"
        " it is below 1, the first mechanism is better.",
        "![Errors by n epsilon for each cell](table-accuracy.png)",
        "## DAWA or noise on each cell",
        "The error of `Dawa` over that of `Histogram`, for all four measures together: tuning"
        " shapes / held-out shapes. **Bold**: the default is DAWA, up to n epsilon ="
        " $N^{1.5} / 16$ for $N$ cells in all.",
        both[0],
        "The error of the default over that of the better one of the two is"
        f" {mean:.3f} on average and {most:.2f} at most; for the held-out shapes it is"
        f" {mean_held:.3f} and {most_held:.2f}.",
        *(
            each
            for name, rows in zip(names, both[1:], strict=True)
            for each in (f"{name} alone:", rows)
        ),
        "## Gaussian noise",
        f"The same for rho = {RHO:g}, which gives a count the same noise, for all shapes. Trees"
        " over buckets cost less with Gaussian noise, so the default is DAWA up to"
        " $N^{1.5} / 4$.",
        grid_of(found.over("dawa, rho", "histogram, rho")[0], bold=taken(RHO)),
        "## Trees",
        "The error of `Hierarchy` over that of `Histogram` / the error of `Hierarchy(4)`, a"
        " quadtree, over that of `Histogram`, for all shapes. Trees lose in cells what they gain in"
        " boxes and marginals, so none of them is the default. Choose one if the table has many"
        " cells and sums of many cells matter.",
        *(
            each
            for name, rows in zip(names, by_trees[1:], strict=True)
            for each in (f"{name}:", rows)
        ),
        "## Isotonic regression",
        "The error of the raw table over that of the isotonic one, for all shapes: `Histogram` /"
        " `Dawa`.",
        *(
            each
            for name, rows in zip(names[:2], by_raw[1:3], strict=True)
            for each in (f"{name}:", rows)
        ),
        "An alternative to isotonic regression is the nearest cells of 0 or more with the sum n, in"
        " least squares. It does not use neighbouring cells. The table has its error over that of"
        " isotonic regression, for `Histogram`: cells / boxes.",
        grid_of(*found.over("histogram, projected", "histogram")[1:3]),
    )
    write("measured/table-accuracy.md", page)


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
    for at, (ax, measure) in enumerate(zip(axes[0], MEASURES, strict=True)):
        for name, (colour, line) in STYLES.items():
            logs = np.log(found.errors[name][:, SIDES.index(SHOWN), :, at])
            ax.plot(RATIOS, np.exp(logs.mean(axis=0)), line, color=colour, markersize=4, label=name)
        ax.axvline(SHOWN / 16, color="0.6", linewidth=1, linestyle=":")
        ax.set(xscale="log", yscale="log", title=measure, xlabel="n epsilon for each cell")
    axes[0, 0].set_ylabel(f"error, {SHOWN} x {SHOWN} cells")
    axes[0, 0].legend(frameon=False, fontsize=9)
    below = axes[0, 1].get_ylim()[0]
    axes[0, 1].text(SHOWN / 16, below, " the rule", fontsize=8, va="bottom")
    return picture
