"""Figure 5 of the ECDF paper, section 6.5: the error of private ROC curves, by epsilon."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore import studies
from dpcore.statistics import symmetric_difference

from ._ecdf import RUNS, banded, falls, legend
from ._ecdf_roc import CELLS, exact_roc, ours, published, records, smoothed, smoothed_of_sizes
from ._figure import Figure, Made, Outcome, Runs, panels, verdict

NAME, FEW, SHOWN = "Bank", 2**7 - 1, 0.2
EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
ALIKE = 1.15  # how far apart two errors are that are about equal
LINES = {  # of each quantity its style and its label
    "norm 1": ("norm 1", "published, norm 1"),
    "norm 2": ("norm 2", "published, norm 2"),
    "sizes": ("norm 2, unbounded", "published, norm 2, sizes of classes public"),
    "ours": ("ours", "dp.score_curves"),
}


@studies.study([{"cells": CELLS, "epsilon": EPSILONS}, {"cells": FEW, "epsilon": SHOWN}])
def roc_errors(cells: int, epsilon: float, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return the areas between private ROC curves and the exact one."""
    raw = published(NAME, epsilon, rng, cells)
    curves = {
        "norm 1": smoothed(raw, NAME, 1),
        "norm 2": smoothed(raw, NAME, 2),
        "sizes": smoothed_of_sizes(published(NAME, epsilon, rng, cells, sizes=True)),
        "ours": ours(NAME, epsilon, rng, cells),
    }
    return {each: symmetric_difference(exact_roc(NAME), roc) for each, roc in curves.items()}


def draw(made: Made) -> Outcome:
    """Draw the errors, and compare the norms."""
    made.uses(records(NAME).name)
    results = made.results["roc_errors"]
    picture, axes = panels(width=6.0, height=4.2)
    mean = {}
    for quantity, (style, label) in LINES.items():
        values = results.array(quantity, cells=CELLS)
        mean[quantity] = dict(zip(EPSILONS, values.mean(axis=1), strict=True))
        banded(axes[0, 0], EPSILONS, values, style, label)
    axes[0, 0].set(xscale="log", yscale="log", xlabel="epsilon")
    axes[0, 0].set_ylabel("area between the private and the exact curve")
    legend(axes[0, 0])
    made.save(picture)
    one, two = (np.array(list(mean[f"norm {norm}"].values())) for norm in (1, 2))
    less = all(falls(results.array(f"norm {norm}", cells=CELLS)) for norm in (1, 2))
    ratio = float(np.exp(np.mean(np.log(one / two))))
    few = {each: results.array(each, cells=FEW).mean() for each in ("norm 2", "ours")}
    return Outcome(
        paper=f"norm 1 {one[0]:.3f} at epsilon = {EPSILONS[0]:g}, {mean['norm 1'][1]:.4f} at 1;"
        f" norm 2 {two[0]:.3f} and {mean['norm 2'][1]:.4f}",
        ours=f"{mean['ours'][EPSILONS[0]]:.3f} and {mean['ours'][1]:.4f}",
        verdict=verdict(less, 1 / ALIKE < ratio < ALIKE),
        why=f"The errors of norm 1 are {ratio:.2f} times those of norm 2, on average over epsilon."
        f" The test is a ratio below {ALIKE:g} either way, and errors that fall with epsilon."
        f" There are {CELLS:,} evenly spaced thresholds, because the paper does not describe its"
        f" own. With {FEW}, at epsilon = {SHOWN:g}, norm 2 has {few['norm 2']:.4f} in place of"
        f" {mean['norm 2'][SHOWN]:.4f}, and ours {few['ours']:.4f} in place of"
        f" {mean['ours'][SHOWN]:.4f}. The numbers of positives and negatives are private here and"
        " get a share of the noise. If they were public, norm 2 would have"
        f" {mean['sizes'][SHOWN]:.4f} there.",
    )


FIGURE = Figure(
    source="Figure 5 (section 6.5)",
    claim="The area between the smoothed private ROC curve and the exact one falls with epsilon,"
    " and both norms do about equally well.",
    runs=(Runs(roc_errors, replicates=RUNS, quick=4),),
    draw=draw,
)
