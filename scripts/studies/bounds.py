"""Three kinds of private bounds: ``python scripts/study.py bounds``.

Compares ``dp.bounds``, ``dp.symmetric_bounds`` and ``dp.compact_bounds``, and other ways to find
the bounds of a residual plot. Writes docs/measured/bounds-accuracy.md and .png. Takes a minute.
"""

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from _pages import parts, pivot, save, write
from _studies import replicates, run
from numpy.typing import NDArray
from papers._figure import panels
from scipy import stats

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms.selection import exponential_mechanism
from dpcore.releases.bounds import ends
from dpcore.releases.bounds_around_zero import compact_end, compact_rungs, symmetric_end
from dpcore.studies import Results
from dpcore.summaries.rungs import Rungs

Floats = NDArray[np.float64]
Rng = np.random.Generator

RECORDS, RUNS = 2_000, 400
GAIN = inspect.signature(dp.compact_bounds).parameters["gain"].default
LEAST, MOST = 0.8, 8  # share inside, and width in true ranges, beyond which a run has gone wrong
COLUMNS: dict[str, tuple[str, tuple[float, ...], str]] = {  # law, its parameters, kind
    "normal, sd 1": ("norm", (0, 1), "centred"),
    "normal, sd 20": ("norm", (0, 20), "centred"),
    "Laplace, scale 20": ("laplace", (0, 20), "centred"),
    "t with 3 degrees, scale 20": ("t", (3, 0, 20), "centred"),
    "uniform on [1, 50]": ("uniform", (1, 49), "one-sided"),
    "lognormal incomes": ("lognorm", (0.8, 0, 30_000), "one-sided"),
    "normal, mean 100, sd 10": ("norm", (100, 10), "shifted"),
    "normal, mean 10,000, sd 10": ("norm", (10_000, 10), "shifted"),
}
DRAWN = ("normal, sd 20", "uniform on [1, 50]", "lognormal incomes")


def symmetric_90(values: Floats, **how: Any) -> dp.Bounds:
    """Return symmetric bounds with another coverage than by default."""
    return dp.symmetric_bounds(values, coverage=0.9, **how)


BOUNDS: dict[str, Callable[..., dp.Bounds]] = {
    "bounds": dp.bounds,
    "symmetric": dp.symmetric_bounds,
    "symmetric, 90 %": symmetric_90,
    "compact": dp.compact_bounds,
}


def law(column: str) -> Any:
    """Return the law of a column."""
    name, parameters, _ = COLUMNS[column]
    return getattr(stats, name)(*parameters)


def true_width(column: str, share: float) -> float:
    """Return the width of the range between two quantiles that has this share of the law."""
    low, high = law(column).ppf([(1 - share) / 2, (1 + share) / 2])
    return float(high - low)


@studies.study(
    {
        "column": list(COLUMNS),
        "method": list(BOUNDS),
        "n_epsilon": [25, 50, 100, 250, 1_000, 10_000],
    }
)
def one_column(column: str, method: str, n_epsilon: float, rng: Rng) -> dict[str, float]:
    """Return the share of new records inside, and the width; NaN if they are too few."""
    values = law(column).rvs(RECORDS, random_state=rng)
    try:
        found = BOUNDS[method](values, epsilon=n_epsilon / RECORDS, rng=rng)
    except dp.ParameterError:  # which does not depend on the records
        return {"inside": np.nan, "width": np.nan}
    inside = np.mean((values >= found.lower) & (values <= found.upper))
    return {"inside": float(inside), "width": found.upper - found.lower}


# --- both axes of a residual plot

RUNGS = Rungs(1.0, 16)
BOTH_SIDES = np.concatenate([-RUNGS.ends[::-1], [0.0], RUNGS.ends])
LEAST_BOTH, MOST_AREA = 0.7, 8.0

Box = tuple[float, float, float, float]
Intervals = list[tuple[float, float]]


def by_symmetric(coverage: float) -> Callable[[Floats, Floats, Fraction, Rng], Box]:
    """Two searches with half of the budget each."""

    def search(values: Floats, epsilon: Fraction, rng: Rng) -> tuple[float, float]:
        counts = RUNGS.count(values, "raise")
        left_out = round((1 - coverage) * values.size)
        end = float(RUNGS.ends[symmetric_end(counts, left_out, epsilon / 2, rng)])
        return -end, end

    return lambda x, y, epsilon, rng: (*search(x, epsilon, rng), *search(y, epsilon, rng))


def by_ends(x: Floats, y: Floats, epsilon: Fraction, rng: Rng) -> Box:
    """Four searches with a quarter of the budget each, among +-unit 2^i and 0."""
    grid, found = dp.Grid(BOTH_SIDES), []
    for values in (x, y):
        left_out = round(0.025 * values.size)
        low, high = sorted(ends(grid.count(values), left_out, epsilon / 4, rng))
        low, high = (low, high) if low < high else (max(low - 1, 0), max(low, 1))
        found += [float(grid.thresholds[low]), float(grid.thresholds[high])]
    return found[0], found[1], found[2], found[3]


def by_compact(gain: Fraction) -> Callable[[Floats, Floats, Fraction, Rng], Box]:
    """Two choices with half of the budget each."""
    rungs = compact_rungs(1.0, gain)

    def choose(values: Floats, epsilon: Fraction, rng: Rng) -> tuple[float, float]:
        counts = rungs.count(values, "raise")
        end = float(rungs.ends[compact_end(counts, epsilon / 2, rng, gain)])
        return -end, end

    return lambda x, y, epsilon, rng: (*choose(x, epsilon, rng), *choose(y, epsilon, rng))


AROUND_ZERO: Intervals = [(-b, b) for b in RUNGS.ends.tolist()]
ONE_SIDE: Intervals = [side for b in RUNGS.ends.tolist() for side in ((0.0, b), (-b, 0.0))]


def by_boxes(gain: float, across: Intervals) -> Callable[[Floats, Floats, Fraction, Rng], Box]:
    """Choose for both axes at once, with all of the budget: a doubling of the area has to pay."""

    def choose(x: Floats, y: Floats, epsilon: Fraction, rng: Rng) -> Box:
        inside = within(x, across).T @ within(y, AROUND_ZERO)
        areas = np.outer([b - a for a, b in across], [b - a for a, b in AROUND_ZERO])
        price = np.rint(gain * x.size * np.log2(areas)).astype(np.int64)
        scores = (inside.astype(np.int64) - price).ravel()
        i, j = divmod(exponential_mechanism(scores, epsilon=epsilon, rng=rng), len(AROUND_ZERO))
        return *across[i], *AROUND_ZERO[j]

    return choose


def within(values: Floats, intervals: Intervals) -> Floats:
    """Return which values are in which intervals, as 0 and 1, (n, intervals)."""
    return np.array([(values > a) & (values <= b) for a, b in intervals], float).T


PLOTS: dict[str, Callable[[Floats, Floats, Fraction, Rng], Box]] = {
    "searches around zero, 95 %": by_symmetric(0.95),
    "searches around zero, 85 %": by_symmetric(0.85),
    "searches from both sides, 95 %": by_ends,
    "compact, 4 %": by_compact(Fraction("0.04")),
    "compact, 8 %": by_compact(Fraction("0.08")),
    "boxes around zero, 8 %": by_boxes(0.08, AROUND_ZERO),
    "boxes, x on one side or both, 4 %": by_boxes(0.04, AROUND_ZERO + ONE_SIDE),
    "boxes, x on one side or both, 8 %": by_boxes(0.08, AROUND_ZERO + ONE_SIDE),
    "boxes, x on one side or both, 10 %": by_boxes(0.10, AROUND_ZERO + ONE_SIDE),
}


@studies.study({"method": list(PLOTS), "epsilon": [0.1, 1.0], "n": [500, 1_000, 2_000, 5_000]})
def both_axes(method: str, epsilon: float, n: int, rng: Rng) -> dict[str, float]:
    """Return the share of new records inside a box, and its area over that of 95 % of each law."""
    x, y = rng.uniform(1, 50, n), rng.normal(0, 1, n)
    left, right, low, high = PLOTS[method](x, y, Fraction(min(0.3 * epsilon, 470 / n)), rng)
    inside = np.mean((x >= left) & (x <= right) & (y >= low) & (y <= high))
    true = true_width("uniform on [1, 50]", 0.95) * true_width("normal, sd 1", 0.95)
    return {"inside": float(inside), "area": (right - left) * (high - low) / true}


# --- the page


def main() -> None:
    """Run, write and draw."""
    columns, plots = run(one_column, RUNS), run(both_axes, RUNS)
    save(drawn(columns), "measured/bounds-accuracy.png")
    budgets = {"n_epsilon": "n epsilon = {:,}"}
    kinds = []
    for kind in ("centred", "one-sided", "shifted"):
        names = [name for name, (_, _, own) in COLUMNS.items() if own == kind]

        def cell(**at: Any) -> str:
            return column_cell(columns, **at)

        rows = {"column": "{}", "method": "{}"}
        kinds += [
            f"### {kind.capitalize()} columns",
            pivot(columns, rows, budgets, cell, column=names),
        ]
    text = ONE.format(n=RECORDS, runs=replicates(columns), least=LEAST, most=MOST, gain=float(GAIN))
    both = BOTH.format(runs=replicates(plots), least=LEAST_BOTH, most=MOST_AREA)
    of_boxes = pivot(
        plots,
        {"method": "{}"},
        {"epsilon": "epsilon = {:g}", "n": "n = {:,}"},
        lambda **at: box_cell(plots, **at),
    )
    write("measured/bounds-accuracy.md", parts(text, *kinds, both, of_boxes))


def wrong(results: Results, column: str, **at: Any) -> float:
    """Return the share of runs that went wrong, or NaN if all are refused."""
    inside, width = (results.array(each, column=column, **at) for each in ("inside", "width"))
    outside = (inside < LEAST) | (width > MOST * true_width(column, 0.95))
    return float(np.where(np.isnan(width), np.nan, outside).mean())


def column_cell(results: Results, column: str, **at: Any) -> str:
    """Return a cell of the table about columns."""
    inside, width = (results.array(each, column=column, **at) for each in ("inside", "width"))
    if np.isnan(width).any():
        return "refused"
    widths = (short(np.median(width) / true_width(column, share)) for share in (0.95, 0.99))
    return f"{inside.mean():.0%}, {' / '.join(widths)}, **{wrong(results, column, **at):.0%}**"


def box_cell(results: Results, **at: Any) -> str:
    """Return a cell of the table about boxes."""
    inside, area = results.array("inside", **at), results.array("area", **at)
    missed = np.mean((inside < LEAST_BOTH) | (area > MOST_AREA))
    return f"{inside.mean():.0%}, {short(np.median(area))}, **{missed:.0%}**"


def short(ratio: float) -> str:
    """Return a ratio in two figures, or all of them."""
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"


def drawn(results: Results) -> Any:
    """Draw the share of runs that went wrong, for some columns."""
    picture, axes = panels(len(DRAWN), width=3.4, height=3.2)
    budgets = results.parameters["n_epsilon"]
    for ax, column in zip(axes[0], DRAWN, strict=True):
        for method, style in zip(BOUNDS, ("o-", "s--", "D-.", "^:"), strict=True):
            shares = [wrong(results, column, method=method, n_epsilon=each) for each in budgets]
            ax.plot(budgets, shares, style, markersize=4, label=method)
        ax.set(xscale="log", title=column, xlabel="n epsilon", ylim=(-0.02, 1.02))
    axes[0, 0].set_ylabel("share of runs gone wrong")
    axes[0, 0].legend()
    return picture


ONE = """\
# Private bounds, measured

Written by `python scripts/study.py bounds`. This page helps to choose between the functions that
release bounds.

## Which function

The functions are `dp.bounds`, `dp.symmetric_bounds` and `dp.compact_bounds`
([selection.md](../proofs/selection.md)). There are n = {n:,} records, and {runs} runs for each cell
of the tables, with new records in each run. A cell shows

- the mean share of the records inside the bounds;
- the median width, as a multiple of the width of the range that has 95 % / 99 % of the column's
  law;
- the share of runs that went wrong: less than {least:.0%} of the records are inside, or the bounds
  are more than {most} times as wide as the range of 95 %.

`dp.bounds` has its defaults, and refuses if n is too small for them. The others have
unit = 1. `dp.symmetric_bounds` has coverage = 95 %, its default, or 90 %, and
`dp.compact_bounds` has gain = {gain:g}, its default.

![Share of runs gone wrong, by n epsilon, for three columns](bounds-accuracy.png)"""
BOTH = """\
## Both axes of a residual plot

Predicted values are uniform on [1, 50] and residuals standard normal, as in the experiments of
Chen, Machanavajjhala, Reiter & Barrientos, *Differentially Private Regression Diagnostics* (the
regression-diagnostics paper). Both axes together spend
$\\epsilon_1 = \\min(0.3 \\epsilon, 470 / n)$, and unit is 1. There are {runs} runs for each cell.
A cell shows

- the mean share of the records inside the box;
- the median area of the box, as a multiple of the area of the box that has 95 % of the law of each
  axis;
- the share of runs that went wrong: less than {least:.0%} of the records are inside, or the area is
  more than {most:g} times the area of that box.

*Searches* are `dp.symmetric_bounds` on each axis, and the searches of `dp.bounds` among 0 and
$\\pm 2^i$, with the stated coverage. Here and in boxes, $i$ goes up to 16.

*Compact* is `dp.compact_bounds` on each axis, with the stated gain.

*Boxes* are chosen by the exponential mechanism for both axes at once, with all of $\\epsilon_1$.
The score is the number of records inside, minus the gain for each doubling of the area. Such scores
are not monotonic. So all of $\\epsilon_1$ buys as much as half of it buys for one axis alone. On
the other hand, intervals on one side of zero, $[0, 2^i]$ and $[-2^i, 0]$, are candidates at no
further cost."""
