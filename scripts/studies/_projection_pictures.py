"""The pictures of scripts/study.py projection: the paper's Figs. 1 to 4, with our curves beside."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

import dpcore as dp

from ._projection_experiments import (
    CELLS,
    CONTENDERS,
    DISTANCES,
    PAPERS,
    POPULATIONS,
    RECORDS,
    SITES,
    Budget,
    Values,
    asked_sites,
    errors,
    released,
    site_errors,
)

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
WEIGHTS = (75.0, 180.0)  # pounds; public bounds
ROUND_EPSILON = 0.5
SHOWN = (*PAPERS, "PP", "dp.cdf")
COLOURS = {
    "HQ": "#9a9a9a",
    "AQ": "#5b9a68",
    "AQ, sites asked": "#2f6b3c",
    "AQ, asked again": "#2f6b3c",
    "AQ, linear": "#b8860b",
    "PP, moments": "#d1602b",
    "PP": "#1f5fa8",
    "dp.cdf": "#8a5fb0",
}
TRUE: dict[str, Any] = {"color": "0.15", "linewidth": 1.0, "linestyle": (0, (4, 2))}


def draw(folder: Path, data: Path | None, runs: int) -> list[Path]:
    """Draw all of them, and return where they are."""
    plt.switch_backend("Agg")
    plt.rcParams["axes.spines.top"] = plt.rcParams["axes.spines.right"] = False
    figures = {
        "polynomial.png": curves(("PP, moments", "PP")),
        "queries.png": curves(("HQ", "AQ", "AQ, linear")),
        "polynomial-distances.png": by_epsilon(runs),
        "polynomial-sites.png": by_sites(data, runs),
        "boxplot.png": boxes(),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=110, metadata={"Software": None})
        plt.close(figure)
    return [folder / name for name in figures]


def curves(names: tuple[str, ...]) -> Any:
    """Fig. 1 and D.1: one release of each, at epsilon = 0.1."""
    figure, panels = plt.subplots(2, 3, figsize=(11, 6), sharey=True, layout="constrained")
    budget = Budget.of(0.1)
    for ax, (name, population) in zip(panels.flat, POPULATIONS.items(), strict=True):
        values = population.draw(np.random.default_rng(1), RECORDS)
        for each in names:
            contender, rng = CONTENDERS[each], np.random.default_rng(5)
            curve = contender.finish(released(contender, values, population.grid, budget, rng))
            ax.step(curve.thresholds, curve.counts / RECORDS, color=COLOURS[each], label=each)
        true = np.cumsum(population.grid.count(values)) / RECORDS
        ax.step(population.grid.thresholds, true, label="true", **TRUE)
        ax.set_title(name, loc="left")
    panels[0, 0].legend(frameon=False)
    figure.suptitle(f"n = {RECORDS:,}, epsilon = 0.1, delta = n^-1.5: one release each")
    return figure


def by_epsilon(runs: int) -> Any:
    """Fig. 2 and D.2: mean distances against epsilon."""
    figure, panels = plt.subplots(
        3, len(POPULATIONS), figsize=(14, 7.5), sharex=True, layout="constrained"
    )
    for column, name in enumerate(POPULATIONS):
        for each in SHOWN:
            means = np.array(
                [errors(name, CONTENDERS[each], Budget.of(e), runs).mean(axis=0) for e in EPSILONS]
            )
            for row in range(3):
                _line(panels[row, column], EPSILONS, means[:, row], each)
        panels[0, column].set_title(name, loc="left")
        panels[2, column].set_xlabel("epsilon")
    for row, distance in enumerate(DISTANCES):
        panels[row, 0].set_ylabel(distance)
    _legend(figure, panels[0, 0])
    figure.suptitle(f"Distance from the records' own curve, means of {runs} runs, n = {RECORDS:,}")
    return figure


def by_sites(data: Path | None, runs: int) -> Any:
    """Fig. 3: ten sites, against epsilon; and ten rounds of new records, against their number."""
    values, title = weights(data)
    grid = dp.Grid.uniform(*WEIGHTS, CELLS)
    order = np.random.default_rng(4).permutation(values.size)
    parts = np.array_split(values[order], SITES)
    figure, panels = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
    budgets = [Budget.of(e, values.size) for e in EPSILONS]
    for each in SHOWN:
        means = [site_errors(parts, grid, CONTENDERS[each], b, runs).mean(axis=0) for b in budgets]
        _row(panels[0], EPSILONS, np.array(means), each)
    asked = [asked_sites(parts, grid, b, runs).mean(axis=0) for b in budgets]
    _row(panels[0], EPSILONS, np.array(asked), "AQ, sites asked")
    rounds = np.arange(1, SITES + 1)
    budget = Budget.of(ROUND_EPSILON, values.size)
    for each in SHOWN:
        means = [
            site_errors(parts[:r], grid, CONTENDERS[each], budget, runs).mean(axis=0)
            for r in rounds
        ]
        _row(panels[1], rounds, np.array(means), each)
    again = Budget(budget.epsilon / SITES, budget.delta / SITES)  # every round asks all records
    means = [
        site_errors([np.concatenate(parts[:r])], grid, CONTENDERS["AQ"], again, runs).mean(axis=0)
        for r in rounds
    ]
    _row(panels[1], rounds, np.array(means), "AQ, asked again")
    for ax, distance in zip(panels[0], DISTANCES, strict=True):
        ax.set_title(distance, loc="left")
        ax.set_xlabel(f"epsilon: {SITES} sites, each with noise of its own")
    for ax in panels[1]:
        ax.set_xscale("linear")
        ax.set_xlabel(f"rounds of {values.size // SITES:,} new records, epsilon = {ROUND_EPSILON}")
    _legend(figure, panels[0, 0], panels[1, 0])
    figure.suptitle(f"{title}, means of {runs} runs")
    return figure


def weights(data: Path | None) -> tuple[Values, str]:
    """Return the weights of 25,000 people, or normal numbers in their place."""
    if data is None:
        return np.random.default_rng(6).normal(127.1, 11.7, 25_000), "25,000 synthetic weights"
    table = np.loadtxt(
        data / "SOCR-HeightWeight.csv", delimiter=",", skiprows=1, usecols=2, encoding="utf-8-sig"
    )
    return table, f"{table.size:,} weights (SOCR)"


def boxes() -> Any:
    """Fig. 4: the true box plot, one of a released curve, and one of five private numbers."""
    rng = np.random.default_rng(1)
    values = rng.normal(0, 1, RECORDS)
    grid, budget = POPULATIONS["normal"].grid, Budget.of(1.0)
    curve = dp.project(values, -4, 4, epsilon=budget.epsilon, delta=budget.delta, rng=rng)
    plots = {
        "the records": dp.BoxPlot.from_sample(values),
        "resampled from\na private curve": dp.BoxPlot.from_curve(
            curve.curve(grid).isotonic(), rng=rng
        ),
        "five private\nnumbers": dp.box_plot(values, grid, epsilon=1.0, rng=rng),
    }
    figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
    for position, plot in enumerate(plots.values(), 1):
        plot.plot(ax, position)
    ax.set_xticks(range(1, len(plots) + 1), plots)
    ax.set_title(f"normal, n = {RECORDS:,}, epsilon = 1", loc="left")
    return figure


def _row(panels: NDArray[Any], x: Any, means: NDArray[np.float64], name: str) -> None:
    for i, ax in enumerate(panels):
        _line(ax, x, means[:, i], name)


def _line(ax: Axes, x: Any, y: NDArray[np.float64], name: str) -> None:
    style = "o-" if name in ("PP", "dp.cdf") else ".--"
    ax.loglog(x, y, style, color=COLOURS[name], linewidth=1.4, markersize=4, label=name)


def _legend(figure: Any, *panels: Axes) -> None:
    """Put one legend for the lines of these panels below the figure."""
    lines = {line.get_label(): line for ax in panels for line in ax.get_lines()}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=7, frameon=False)
