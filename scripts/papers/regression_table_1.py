"""Table I of the regression-diagnostics paper: the least violations that plots tell."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from _pages import table
from numpy.typing import NDArray

from dpcore import studies

from ._figure import BLUE, GREY, VERMILION, Figure, Made, Outcome, Runs, panels, verdict
from ._regression import CHECKED, LESS, THEIR_DAWA, WAYS, Records, drawn, variation

SIZES, EPSILONS = (500, 1000, 2000, 5000), (1.0, 0.1)
TOLD, STEPS, EXPECTED_FROM = 0.95, 6, 200
CELLS, MARGIN = 10, 0.1
# What noise has as its variance, 1 + alpha x, or y - x as its mean, beta x^2; where to look.
VIOLATIONS = {"alpha": ("slope", 2.0**-7, 2.0**3), "beta": ("curvature", 2.0**-12, 2.0**-2)}
SMALL = {"alpha": 0.1, "beta": 0.01}
PLAIN = "no privacy"
Values = NDArray[np.float64]


class Frame:
    """The cells over a plot and a margin, and the expected shares of records of M_1 in them."""

    def __init__(self, plots: list[Values]) -> None:
        self._low = plots[0].min(axis=0) - MARGIN
        self._widths = (plots[0].max(axis=0) + MARGIN - self._low) / CELLS
        self.expected = np.mean([self.shares(each) for each in plots], axis=0)

    def shares(self, points: Values) -> Values:
        """Return the share of the points in each cell. Some points may be in none."""
        at = np.floor((points - self._low) / self._widths).astype(np.int64)
        at = at[((at >= 0) & (at < CELLS)).all(axis=1)]
        return np.bincount(at @ [CELLS, 1], minlength=CELLS**2) / max(len(points), 1)

    def distance(self, points: Values) -> float:
        """Return the total variation distance to the expected shares."""
        shares = self.shares(points)
        return float((np.abs(self.expected - shares).sum() + 1 - shares.sum()) / 2)


@functools.cache
def frame(n: int) -> Frame:
    """Return the frame that is expected for n records of M_1."""
    rngs = np.random.default_rng(n).spawn(EXPECTED_FROM)
    return Frame([drawn(n, rng, start=0.0).points for rng in rngs])


@studies.study(
    [
        {"violation": list(VIOLATIONS), "n": SIZES, "way": PLAIN, "epsilon": 1.0, "plots": 1000},
        {
            "violation": list(VIOLATIONS),
            "n": SIZES,
            "way": list(WAYS),
            "epsilon": EPSILONS,
            "plots": 1000,
        },
        {"violation": list(VIOLATIONS), "n": 1000, "way": LESS, "epsilon": 1.0, "plots": 1000},
    ]
)
def least_violation(
    violation: str,
    n: int,
    way: str,
    epsilon: float,
    plots: int,
    rng: np.random.Generator,
) -> Mapping[str, Any]:
    """Return the least alpha or beta that plots tell, by bisection of its logarithm, or NaN.

    Plots tell a violation if their distances to the expected shares of M_1 have a total variation
    distance of at least 0.95 from those of as many plots of M_1. All plots are of new records.
    """
    name, low, high = VIOLATIONS[violation]

    def distances(size: float) -> Values:
        found = np.empty(plots)
        for at, each in enumerate(rng.spawn(plots)):
            records: Records = drawn(n, each, start=0.0, **{name: size})
            points = records.points if way == PLAIN else CHECKED[way](records, epsilon, each)
            found[at] = frame(n).distance(points)
        return found

    without = distances(0.0)
    if variation(without, distances(high)) < TOLD:
        return {"least": np.nan}
    for _ in range(STEPS):
        middle = float(np.sqrt(low * high))
        told = variation(without, distances(middle)) >= TOLD
        low, high = (low, middle) if told else (middle, high)
    return {"least": high}


def draw(made: Made) -> Outcome:
    """Draw the table by n epsilon, and write it."""
    frame = made.results["least_violation"].table.to_pandas()
    rows = frame.groupby(["violation", "way", "epsilon", "n"])["least"].median()
    least = {key: float(value) for key, value in rows.fillna(np.inf).items()}
    sizes = sorted({n for *_, n in least})
    columns = list(dict.fromkeys((way, e) for e in EPSILONS for way in WAYS))
    columns = [c for c in ((PLAIN, 1.0), *columns) if ("alpha", *c, sizes[0]) in least]
    picture, axes = panels(2, 1, width=4.4, height=3.4)
    styles = {PLAIN: (GREY, "^:"), "PriRP": (VERMILION, "o"), "dpcore": (BLUE, "D")}
    for ax, violation in zip(axes[0], VIOLATIONS, strict=True):
        for way, epsilon in columns:
            colour, marker = styles[way]
            y = [least[violation, way, epsilon, n] for n in sizes]
            label = way if way == PLAIN else f"{way}, epsilon = {epsilon:g}"
            style = marker if way == PLAIN else marker + ("-" if epsilon == 1 else "--")
            ax.plot(sizes, y, style, color=colour, markersize=5, label=label)
        ax.set(xscale="log", yscale="log", xlabel="n", ylabel=f"least {violation} that is told")
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.minorticks_off()
    labels = axes[0, 0].get_legend_handles_labels()
    picture.legend(*labels, loc="outside right upper", frameon=False, fontsize=8, handlelength=3)
    made.save(picture)
    head = ["n"] + [
        f"{violation}: {way}" + ("" if way == PLAIN else f", epsilon = {epsilon:g}")
        for violation in VIOLATIONS
        for way, epsilon in columns
    ]
    lines = table(
        head,
        ([f"{n:,}", *(_cell(least[v, *c, n]) for v in VIOLATIONS for c in columns)] for n in sizes),
    )
    (plots,) = frame["plots"].unique()
    return _outcome(least, sizes, int(plots), tuple(lines))


def _cell(value: float) -> str:
    return "none" if value == np.inf else f"{value:.2g}"


def _outcome(
    least: Mapping[tuple[str, str, float, int], float],
    sizes: list[int],
    plots: int,
    lines: tuple[str, ...],
) -> Outcome:
    def falls(way: str) -> bool:
        by_size = [[least[v, way, 1.0, n] for n in sizes] for v in VIOLATIONS]
        return all(x == sorted(x, reverse=True) and x[-1] < x[0] for x in by_size)

    def said(way: str) -> str:
        return "; ".join(
            f"{v} {', '.join(f'{_cell(least[v, way, 1.0, n])} (n = {n:,})' for n in sizes)}"
            for v in VIOLATIONS
        )

    small = [least[v, "PriRP", 1.0, n] <= SMALL[v] for v in VIOLATIONS for n in sizes if n >= 1000]
    checked = ", ".join(
        f"{v} {_cell(least[v, LESS, 1.0, n])} (n = {n:,})"
        for v in VIOLATIONS
        for n in sizes
        if (v, LESS, 1.0, n) in least
    )
    step = 2.0 ** (10 / 2**STEPS) - 1
    return Outcome(
        f"epsilon = 1: {said('PriRP')}",
        f"epsilon = 1: {said('dpcore')}; without privacy: {said(PLAIN)}",
        verdict(falls("PriRP") and falls(PLAIN), all(small)),
        "The table has the least alpha and beta that plots tell from 0. A violation is told if two"
        f" samples of distances, of {plots:,} plots with it and {plots:,} without, have a total"
        f" variation distance of {TOLD:g} or more. Small means alpha up to {SMALL['alpha']:g} and"
        f" beta up to {SMALL['beta']:g}; the text of the paper names no number. The values come"
        f" from bisection, in steps of {step:.0%}. None means that nothing is told up to alpha ="
        f" {VIOLATIONS['alpha'][2]:g}, or up to beta = {VIOLATIONS['beta'][2]:g}. We read N(0, s)"
        " as a normal distribution with variance s. If PriRP's search for bounds runs on in more"
        f" than {1 - TOLD:.0%} of the releases, no violation can be told so well. The queries of"
        " this search need only half of their noise. With that, and epsilon = 1, the least values"
        f" are {checked}. {THEIR_DAWA}",
        lines,
    )


FIGURE = Figure(
    source="Table I (section III.C)",
    claim="With more records, plots show smaller violations of the assumptions. Released plots"
    " need larger violations, but still show small ones where n epsilon is 1,000 or more.",
    runs=(
        Runs(
            least_violation,
            replicates=1,
            quick=1,
            quickly={"n": (500, 2000), "epsilon": 1.0, "plots": 20},
        ),
    ),
    draw=draw,
)
