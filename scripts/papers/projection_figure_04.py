"""Figure 4 of the projection paper: box plots of normal records, in three ways."""

from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore import BoxPlot, studies

from . import _projection_pictures as pictures
from ._figure import SEED, Figure, Made, Outcome, Runs, panels
from ._projection import CELLS, RECORDS
from ._projection_methods import Task, ours, published

EPSILON = 1.0
GRID = dp.Grid.uniform(-4, 4, CELLS)
FIVE, PAPER, OURS = "five numbers", "resampled, published", "resampled, ours"


class Boxes(NamedTuple):
    """The box plot of some records, and those that are released of them."""

    true: BoxPlot
    released: dict[str, BoxPlot]


def boxes(epsilon: float, rng: np.random.Generator) -> Boxes:
    """Return box plots of new records."""
    values = rng.normal(0, 1, RECORDS)
    task = Task(GRID.count(values)[np.newaxis], GRID, epsilon, rng)
    released = {
        FIVE: dp.box_plot(values, GRID, epsilon=epsilon, rng=rng),
        PAPER: BoxPlot.from_curve(published(task), rng=rng),
        OURS: BoxPlot.from_curve(ours(task), rng=rng),
    }
    return Boxes(BoxPlot.from_sample(values), released)


@studies.study({"epsilon": [EPSILON]})
def box_plots(epsilon: float, rng: np.random.Generator) -> dict[str, float]:
    """Return how far off quartiles and extremes are, and how many outliers there are."""
    true, released = boxes(epsilon, rng)
    found = {"outliers of the records": float(true.outliers.size)}
    for name, box in released.items():
        found[f"quartiles, {name}"] = off(box, true, "first_quartile", "median", "third_quartile")
        found[f"extremes, {name}"] = off(box, true, "minimum", "maximum")
        found[f"outliers, {name}"] = float(box.outliers.size)
    return found


def off(box: BoxPlot, true: BoxPlot, *parts: str) -> float:
    """Return the mean distance of some parts."""
    return float(np.mean([abs(getattr(box, part) - getattr(true, part)) for part in parts]))


def draw(made: Made) -> Outcome:
    """Draw one of each; the numbers are means of many."""
    true, released = boxes(EPSILON, np.random.default_rng(SEED))
    picture, axes = panels(width=7.0, height=3.8)
    for position, (name, box) in enumerate({"the records": true, **released}.items(), 1):
        box.plot(axes[0, 0], position, label=name, flierprops={"markersize": 3})
    axes[0, 0].set_ylabel("value")
    made.save(picture)
    results = made.results["box_plots"]
    mean = {name: float(results.array(name).mean()) for name in results.quantities}

    def said(name: str) -> str:
        return (
            f"{name}: quartiles off by {mean[f'quartiles, {name}']:.2g}, extremes by "
            f"{mean[f'extremes, {name}']:.2g}, {mean[f'outliers, {name}']:.3g} outliers"
        )

    outliers, true_ones = mean[f"outliers, {PAPER}"], mean["outliers of the records"]
    holds = {
        "the resampled quartiles are nearer": mean[f"quartiles, {PAPER}"]
        < mean[f"quartiles, {FIVE}"],
        "the resampled extremes are nearer": mean[f"extremes, {PAPER}"] < mean[f"extremes, {FIVE}"],
        "outliers are half to twice as many as those of the records": true_ones / 2
        < outliers
        < 2 * true_ones,
    }
    return Outcome(
        f"{said(FIVE)}; {said(PAPER)} (the records: {true_ones:.3g}).",
        f"{said(OURS)}.",
        pictures.verdict(holds.values()),
        "Each of the five numbers has a fifth of epsilon. Quartiles come from the exponential"
        " mechanism, and extremes from the sparse vector technique. The paper shows one release of"
        " each kind and judges by eye. The numbers here are means of many releases. Parts of the"
        f" claim, and whether each holds: {pictures.spelled(holds)}.",
    )


FIGURE = Figure(
    source="Figure 4 (section IV.B)",
    claim="A box plot from a sample of the private curve is nearer to the box plot of the records"
    " than one from five private numbers, and shows outliers like that of the records.",
    runs=(Runs(box_plots, replicates=50, quick=5),),
    draw=draw,
)
