"""Figure 3 of the regression-diagnostics paper: are scenarios told apart by released plots?"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from _pages import table
from numpy.typing import NDArray

from dpcore import studies
from dpcore.statistics import residual_plot_distance

from ._figure import BLUE, GREEN, GREY, VERMILION, Figure, Made, Outcome, Runs, panels, verdict
from ._regression import CHECKED, LESS, SCENARIOS, THEIR_DAWA, WAYS, drawn, separation, variation

SIZES, EPSILONS = (500, 1000, 2000, 5000), (1.0, 0.1)
STYLES = dict(zip(SCENARIOS, ((GREY, "-"), (VERMILION, "--"), (BLUE, ":")), strict=True))


@functools.cache
def true_plot(n: int) -> NDArray[np.float64]:
    """Return the Ideal plot with which all others of n records are compared."""
    return drawn(n, np.random.default_rng(n)).points


@studies.study(
    [
        {"way": list(WAYS), "epsilon": EPSILONS, "n": SIZES, "scenario": list(SCENARIOS)},
        {"way": LESS, "epsilon": 1.0, "n": SIZES, "scenario": list(SCENARIOS)},
    ]
)
def distances(
    way: str, epsilon: float, n: int, scenario: str, rng: np.random.Generator
) -> Mapping[str, Any]:
    """Return the paper's similarity of the true Ideal plot, and a release of new records."""
    released = CHECKED[way](drawn(n, rng, **SCENARIOS[scenario]), epsilon, rng)
    return {"distance": residual_plot_distance(true_plot(n), released)}


def draw(made: Made) -> Outcome:
    """Draw the distances where epsilon is 1, and how well they are told apart."""
    results = made.results["distances"]
    found = results.table.to_pandas().groupby(["way", "epsilon", "n", "scenario"])["distance"]
    sample = {key: np.asarray(values) for key, values in found}
    told, by_threshold = (
        {
            (way, epsilon, n, name): measure(sample[way, epsilon, n, "Ideal"], other)
            for (way, epsilon, n, name), other in sample.items()
            if name != "Ideal"
        }
        for measure in (variation, separation)
    )
    sizes = sorted({n for _, _, n, _ in sample})
    picture, axes = panels(len(sizes) + 1, 2, width=2.9, height=2.4)
    for row, way in zip(axes, WAYS, strict=True):
        for ax, n in zip(row, sizes, strict=False):
            for name, (colour, dash) in STYLES.items():
                values = np.sort(sample[way, 1.0, n, name])
                shares = np.arange(1, values.size + 1) / values.size
                ax.plot(values, shares, color=colour, linestyle=dash, label=name)
            ax.set(xlim=(0, 1), title=f"{way}, n epsilon = {n:,}")
            ax.set_xlabel("distance to true Ideal plot")
        row[0].set_ylabel("share of plots below")
        for epsilon, line in zip(EPSILONS, ("-", "--"), strict=True):
            for name, marker, colour in (
                ("Heteroscedastic", "o", VERMILION),
                ("Nonlinear", "s", BLUE),
            ):
                y = [told[way, epsilon, n, name] for n in sizes]
                label = f"{name}, epsilon = {epsilon:g}"
                x = epsilon * np.array(sizes)
                row[-1].plot(x, y, line, marker=marker, color=colour, markersize=4, label=label)
        row[-1].axhline(0.95, color=GREEN, linewidth=0.8, label="0.95")
        row[-1].set(
            xscale="log", ylim=(0, 1.03), xlabel="n epsilon", title=f"{way}, told from Ideal"
        )
        row[-1].set_ylabel("total variation")
    for ax in axes.flat:
        ax.title.set_fontsize(9)
    axes[0, 0].legend(frameon=False, fontsize=7)
    axes[0, -1].legend(frameon=False, fontsize=6, handlelength=4)
    made.save(picture)
    return _outcome(told, by_threshold)


Told = Mapping[tuple[str, float, int, str], float]


def _least(told: Told, way: str, product: float) -> float:
    """Return the least distance of all settings with at least this n epsilon."""
    return min(d for (each, e, n, _), d in told.items() if each == way and e * n >= product)


def _said(told: Told, way: str) -> str:
    found = [f"{_least(told, way, product):.3f} from {product:,} on" for product in (1000, 500)]
    return f"at least {', and '.join(found)}"


def _outcome(told: Told, by_threshold: Told) -> Outcome:
    thousand, five_hundred = (_least(told, "PriRP", each) for each in (1000, 500))
    ways = (*WAYS, LESS)
    settings = sorted({key[1:3] for key in told}, key=lambda at: (at[0] * at[1], at))
    rows = [
        [f"{e * n:,.0f}", f"{n:,}", f"{e:g}", *(_pair(told, way, e, n) for way in ways)]
        for e, n in settings
    ]
    return Outcome(
        f"total variation distance by n epsilon: {_said(told, 'PriRP')}",
        f"total variation distance by n epsilon: {_said(told, 'dpcore')}",
        verdict(thousand > 0.95, five_hundred >= 0.9),
        "Both other scenarios are compared with Ideal, by samples of distances in 20 bins. All"
        " plots are of new records. A threshold alone, the best one, tells the plots of PriRP apart"
        f" with a Kolmogorov distance of {_said(by_threshold, 'PriRP')}. The queries of PriRP's"
        " search for bounds need only half of their noise. With that, and epsilon = 1, the total"
        f" variation distance is {_said(told, LESS)}. {THEIR_DAWA} Each cell of the table has two"
        " numbers: Ideal against Heteroscedastic / Ideal against Nonlinear.",
        tuple(table(["n epsilon", "n", "epsilon", *ways], rows)),
    )


def _pair(told: Told, way: str, epsilon: float, n: int) -> str:
    found = [told.get((way, epsilon, n, name)) for name in ("Heteroscedastic", "Nonlinear")]
    return " / ".join("" if each is None else f"{each:.2f}" for each in found).strip(" /")


FIGURE = Figure(
    source="Figure 3 (section III.C)",
    claim="The distance to the true Ideal plot tells released plots of the other scenarios from"
    " released Ideal plots. The total variation distance is above 0.95 if n epsilon is 1,000 or"
    " more, and 0.9 or more if it is 500 or more.",
    runs=(Runs(distances, replicates=1000, quick=20, quickly={"n": (500, 2000)}),),
    draw=draw,
)
