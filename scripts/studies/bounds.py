"""Three kinds of private bounds: ``python scripts/study.py bounds [--runs N]``.

Which of ``dp.bounds``, ``dp.symmetric_bounds`` and ``dp.compact_bounds`` is better when, and what
else finds the bounds of a residual plot; writes docs/bounds-accuracy.md and .png. Takes a minute.
The first start makes ``.venv`` in the clone.
"""

import argparse
import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Private bounds, by the method and the column.")
parser.add_argument("--runs", type=int, default=400, metavar="N", help="of every experiment")
ARGUMENTS = parser.parse_args()
ensure("figures")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy import stats  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.mechanisms.selection import exponential_mechanism  # noqa: E402
from dpcore.releases.bounds import ends  # noqa: E402
from dpcore.releases.compact_bounds import compact_end, compact_rungs  # noqa: E402
from dpcore.releases.symmetric_bounds import symmetric_end  # noqa: E402
from dpcore.summaries.rungs import Rungs  # noqa: E402

Floats = NDArray[np.float64]
Rng = np.random.Generator

RECORDS = 2_000
N_EPSILONS = (25, 50, 100, 250, 1_000, 10_000)
GAIN = inspect.signature(dp.compact_bounds).parameters["gain"].default
PICTURE = ROOT / "docs" / "bounds-accuracy.png"
DRAWN = ("normal, sd 20", "uniform on [1, 50]", "lognormal incomes")
LEAST, MOST = 0.8, 8  # share inside, and width in true ranges, beyond which a run has gone wrong


class Column(NamedTuple):
    """A law of records."""

    law: Any
    kind: str

    def width(self, share: float) -> float:
        """Return the width of the range between two quantiles that has so much of the law."""
        low, high = self.law.ppf([(1 - share) / 2, (1 + share) / 2])
        return float(high - low)


COLUMNS = {
    "normal, sd 1": Column(stats.norm(0, 1), "centred"),
    "normal, sd 20": Column(stats.norm(0, 20), "centred"),
    "Laplace, scale 20": Column(stats.laplace(0, 20), "centred"),
    "t with 3 degrees, scale 20": Column(stats.t(3, 0, 20), "centred"),
    "uniform on [1, 50]": Column(stats.uniform(1, 49), "one-sided"),
    "lognormal incomes": Column(stats.lognorm(0.8, 0, 30_000), "one-sided"),
    "normal, mean 100, sd 10": Column(stats.norm(100, 10), "shifted"),
    "normal, mean 10,000, sd 10": Column(stats.norm(10_000, 10), "shifted"),
}
BOUNDS: dict[str, Callable[..., dp.Bounds]] = {
    "bounds": dp.bounds,
    "symmetric": dp.symmetric_bounds,
    "symmetric, 90 %": lambda values, **how: dp.symmetric_bounds(values, coverage=0.9, **how),
    "compact": dp.compact_bounds,
}


class Found(NamedTuple):
    """What came out of some runs: shares of the records inside, and widths."""

    inside: Floats
    width: Floats

    def wrong(self, true_width: float) -> float:
        """Return the share of runs that have gone wrong."""
        return float(np.mean((self.inside < LEAST) | (self.width > MOST * true_width)))


Columns = dict[tuple[str, str], list[Found | None]]


def main() -> None:
    """Run, write, and say where."""
    page = ROOT / "docs" / "bounds-accuracy.md"
    found = {
        (name, method): [runs_of(method, column, each) for each in N_EPSILONS]
        for name, column in COLUMNS.items()
        for method in BOUNDS
    }
    draw(found)
    page.write_text("\n".join([*of_columns(found), *of_plots()]) + "\n", "utf-8")
    for path in (page, PICTURE):
        print(f"written: {path.relative_to(ROOT)}")


def draw(found: Columns) -> None:
    """Draw how many runs of some columns have gone wrong."""
    plt.switch_backend("Agg")
    figure, axes = plt.subplots(1, len(DRAWN), figsize=(10, 3.2), sharey=True, layout="constrained")
    for ax, name in zip(axes, DRAWN, strict=True):
        for method in BOUNDS:
            runs = [(at, each) for at, each in zip(N_EPSILONS, found[name, method], strict=True)]
            known = [(at, each) for at, each in runs if each is not None]
            wrong = [each.wrong(COLUMNS[name].width(0.95)) for _, each in known]
            ax.plot([at for at, _ in known], wrong, marker="o", markersize=4, label=method)
        ax.set_xscale("log")
        ax.set_title(name)
        ax.set_xlabel("n epsilon")
        ax.set_ylim(-0.02, 1.02)
    axes[0].set_ylabel("share of runs gone wrong")
    axes[0].legend()
    figure.savefig(PICTURE, dpi=100)
    plt.close(figure)


# --- one column


def runs_of(method: str, column: Column, n_epsilon: float) -> Found | None:
    """Release bounds of new records each time; None where there are too few for the method."""
    found = []
    for rng in np.random.default_rng(1).spawn(ARGUMENTS.runs):
        values = column.law.rvs(RECORDS, random_state=rng)
        try:
            release = BOUNDS[method](values, epsilon=n_epsilon / RECORDS, rng=rng)
        except dp.ParameterError:  # which does not depend on the records
            return None
        inside = np.mean((values >= release.lower) & (values <= release.upper))
        found.append((inside, release.upper - release.lower))
    return Found(*np.array(found).T)


def cell(found: Found | None, column: Column) -> str:
    """Return a cell of the table."""
    if found is None:
        return "refused"
    wide = np.median(found.width)
    widths = " / ".join(short(wide / column.width(share)) for share in (0.95, 0.99))
    return f"{np.mean(found.inside):.0%}, {widths}, **{found.wrong(column.width(0.95)):.0%}**"


def of_columns(found: Columns) -> list[str]:
    """Return the first part of the page."""
    budgets = [f"n epsilon = {each:,}" for each in N_EPSILONS]
    text = [
        "# Private bounds, measured",
        "",
        "Written by `python scripts/study.py bounds`.",
        "",
        "## Which of them",
        "",
        "`dp.bounds`, `dp.symmetric_bounds`, `dp.compact_bounds` ([selection.md](selection.md));",
        f"n = {RECORDS:,}, {ARGUMENTS.runs} runs of each with new records. In each cell:",
        "",
        "- the mean share of the records inside;",
        "- the median width, in widths of the range that has 95 % of the column's law / 99 %;",
        f"- how many runs have gone wrong: less than {LEAST:.0%} of the records are inside, or the",
        f"  bounds are more than {MOST} times as wide as the range of 95 %.",
        "",
        "`dp.bounds` has its defaults, and refuses where n is too small for them. The others have",
        "unit = 1. `dp.symmetric_bounds` has coverage = 95 %, its default, or 90 %, and",
        f"`dp.compact_bounds` has gain = {GAIN:g}, its default.",
        "",
        "![Share of runs gone wrong, by n epsilon, for three columns](bounds-accuracy.png)",
        "",
    ]
    for kind in dict.fromkeys(column.kind for column in COLUMNS.values()):
        text += [f"### {kind.capitalize()} columns", ""]
        text += header("column", "method", *budgets)
        for name, column in COLUMNS.items():
            for method in BOUNDS if column.kind == kind else ():
                cells = (cell(each, column) for each in found[name, method])
                text.append(line(name, method, *cells))
        text.append("")
    return text


def short(ratio: float) -> str:
    """Return a ratio in two figures, or all of them."""
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"


def header(*names: str) -> list[str]:
    """Return the first two lines of a table."""
    return [line(*names), "|---" * len(names) + "|"]


def line(*cells: str) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |"


# --- both axes of a residual plot

RUNGS = Rungs(1.0, 16)
BOTH_SIDES = np.concatenate([-RUNGS.ends[::-1], [0.0], RUNGS.ends])
SIZES, EPSILONS = (500, 1_000, 2_000, 5_000), (0.1, 1.0)
LEAST_BOTH, MOST_AREA = 0.7, 8.0
TRUE_AREA = 0.95 * 49 * COLUMNS["normal, sd 1"].width(0.95)

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

METHODS = """
*Searches* are `dp.symmetric_bounds` on each axis, and the searches of `dp.bounds` among 0 and
+-2^i, with coverage as stated. Here and in boxes i goes up to 16.

*Compact* is `dp.compact_bounds` on each axis, with the gain as stated.

*Boxes* are chosen by the exponential mechanism for both axes at once, with all of epsilon_1. The
score is the number of records inside, less the gain for each doubling of the area. Such scores are
not monotonic, so all of epsilon_1 buys as much as half of it does for an axis by itself; but then
intervals on one side of zero, [0, 2^i] and [-2^i, 0], are there at no further cost.
"""


def of_plots() -> list[str]:
    """Return the second part of the page."""
    settings = [(n, epsilon) for epsilon in EPSILONS for n in SIZES]
    return [
        "## Both axes of a residual plot",
        "",
        "Predicted values are uniform on [1, 50] and residuals standard normal, as in the paper's",
        "experiments. epsilon_1 = min(0.3 epsilon, 470 / n) is spent on both axes together, and",
        f"unit is 1. {ARGUMENTS.runs} runs of each. In each cell:",
        "",
        "- the mean share of the records inside the box;",
        "- its median area, in areas of the box that has 95 % of the law of each axis;",
        f"- how many runs have gone wrong: less than {LEAST_BOTH:.0%} of the records are inside,",
        f"  or the area is more than {MOST_AREA:g} times that of the box.",
        "",
        *METHODS.strip().splitlines(),
        "",
        *header("method", *(f"n = {n:,}, epsilon = {epsilon:g}" for n, epsilon in settings)),
        *(line(name, *(plot_cell(name, *each) for each in settings)) for name in PLOTS),
    ]


def plot_cell(name: str, n: int, epsilon: float) -> str:
    """Return a cell of the table."""
    spent = Fraction(min(0.3 * epsilon, 470 / n))
    found = []
    for rng in np.random.default_rng(2).spawn(ARGUMENTS.runs):
        x, y = rng.uniform(1, 50, n), rng.normal(0, 1, n)
        left, right, low, high = PLOTS[name](x, y, spent, rng)
        inside = np.mean((x >= left) & (x <= right) & (y >= low) & (y <= high))
        found.append((inside, (right - left) * (high - low)))
    shares, areas = np.array(found).T
    wrong = np.mean((shares < LEAST_BOTH) | (areas > MOST_AREA * TRUE_AREA))
    return f"{shares.mean():.0%}, {short(np.median(areas) / TRUE_AREA)}, **{wrong:.0%}**"


if __name__ == "__main__":
    main()
