"""Alternatives to the choices of residual plots: ``python scripts/study.py residuals``.

Measures how far released plots are from the true ones, with one choice of ``dp.residual_plot``
changed at a time. Writes docs/measured/residuals-accuracy.md. The figures of the
regression-diagnostics paper are made by scripts/figures.py. Takes a minute.
"""

from collections.abc import Mapping

import numpy as np
from _pages import parts, table, write
from _studies import quietly, replicates, run
from papers._regression import SCENARIOS, drawn

from dpcore import studies
from dpcore.statistics import residual_plot_distance
from dpcore.studies import Results

from ._residual_choices import WAYS

RUNS, DEFAULT = 100, "the default"
# By n epsilon: the number of records, and epsilon.
SETTINGS = {
    100: (1000, 0.1),
    250: (2500, 0.1),
    500: (5000, 0.1),
    1000: (1000, 1.0),
    5000: (5000, 1.0),
    20_000: (20_000, 1.0),
}


@studies.study({"n_epsilon": list(SETTINGS)})
def choices(n_epsilon: int, rng: np.random.Generator) -> Mapping[str, float]:
    """Return the distance of plots by all ways from the true plot: means over the scenarios."""
    n, epsilon = SETTINGS[n_epsilon]
    far = dict.fromkeys(WAYS, 0.0)
    for model in SCENARIOS.values():
        records, seed = drawn(n, rng, **model), int(rng.integers(2**63))
        for name, way in WAYS.items():
            with quietly():
                released = way(records, epsilon, np.random.default_rng(seed))
            far[name] += residual_plot_distance(records.points, released) / len(SCENARIOS)
    return far


def cells(results: Results, name: str) -> list[str]:
    """Return a line of the table: means, in bold if they are clearly below the default's."""
    own, usual = results.array(name), results.array(DEFAULT)
    error = (usual - own).std(axis=1, ddof=1) / np.sqrt(own.shape[1])
    better = (usual - own).mean(axis=1) > 3 * np.maximum(error, 1e-12)
    means = own.mean(axis=1)
    return [f"**{x:.3f}**" if bold else f"{x:.3f}" for x, bold in zip(means, better, strict=True)]


def main() -> None:
    """Run, and write the page."""
    results = run(choices, RUNS)
    page = parts(
        "# How far private residual plots can be trusted",
        "This page compares the choices of `dp.residual_plot` with alternatives. It is written by"
        " `python scripts/study.py residuals`. Which misfits released plots show, how well they"
        " show them, and how this compares with the published way is on [figures.md](figures.md):"
        " Figures 1 to 5 and Table I of Chen, Machanavajjhala, Reiter & Barrientos,"
        " *Differentially private regression diagnostics* (2016).",
        "## What was chosen",
        "How far is a released plot from the true plot of the same records? Each number is the mean"
        " distance over the scenarios Ideal, Heteroscedastic and Nonlinear of the paper, with"
        f" {replicates(results):,} runs of each. Each row changes one thing, and the columns are"
        " for n epsilon. The distance is `dp.statistics.residual_plot_distance`. Bold numbers are"
        " below the default by more than three standard errors of the difference.",
        table(
            ["", *(f"{each:,}" for each in SETTINGS)],
            ([name, *cells(results, name)] for name in WAYS),
        ),
        "Bounds of predicted values around 0 leave half of the picture empty here. The gain of the"
        " default depends on n epsilon. It is at most 0.1, for few records, and at least 0.02."
        " Bounds reach $2^i$ units only for $i$ times the gain below 1.",
    )
    write("measured/residuals-accuracy.md", page)
