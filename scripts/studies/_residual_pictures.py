"""Pictures and tables of scripts/study.py residuals."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import dpcore as dp

from ._regret_shapes import generator
from ._residual_experiments import (
    DEFAULT,
    KNOWN,
    PUBLISHED,
    SCENARIOS,
    Records,
    Setting,
    Values,
    released,
)

EPSILONS = (1.0, 0.1)
BINS = [i / 60 for i in range(61)]
COLOURS = {"Ideal": "#1f5fa8", "Heteroscedastic": "#d1602b", "Nonlinear": "#5b9a68"}


def save(figure: Figure, path: Path) -> None:
    """Write a picture, in few colours: clouds of points make large files."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=90)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(48).save(path, optimize=True)


def style(points: int) -> dict[str, Any]:
    """Return how to draw points, paler ones where there are many."""
    return {"s": 6, "alpha": min(0.4, 1000 / points)}


def table(columns: list[str], rows: list[list[str]]) -> str:
    """Return a table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def new_axes(rows: int, columns: int, height: float = 2.6) -> tuple[Figure, list[list[Axes]]]:
    """Return empty axes in rows."""
    plt.switch_backend("Agg")
    figure, axes = plt.subplots(
        rows, columns, figsize=(3.7 * columns, height * rows), layout="constrained", squeeze=False
    )
    return figure, axes.tolist()


def draw_true(ax: Axes, records: Records) -> None:
    """Draw the plot that is not to be released."""
    ax.axhline(0.0, color="0.4", linewidth=1, linestyle="--")
    ax.scatter(*records, linewidths=0, color="0.3", **style(records.predicted.size))


def label(axes: Sequence[Sequence[Axes]], rows: Sequence[str], columns: Sequence[str]) -> None:
    """Name the rows and the columns, and nothing else."""
    for row, name in zip(axes, rows, strict=True):
        for ax, column in zip(row, columns, strict=True):
            ax.set_title("")
            ax.set_title(column if row is axes[0] else "", loc="left", fontsize=10)
            ax.set_xlabel("predicted value" if row is axes[-1] else "")
            ax.set_ylabel("")
            ax.tick_params(labelsize=8)
        row[0].set_ylabel(name)


def scenarios(n: int, path: Path) -> None:
    """Draw Figures 1 and 2: true plots, and released ones."""
    ways = [(name, epsilon) for epsilon in EPSILONS for name in (DEFAULT, KNOWN, PUBLISHED)]
    figure, axes = new_axes(1 + len(ways), len(SCENARIOS))
    for column, (scenario, model) in enumerate(SCENARIOS.items()):
        records = model.draw(n, generator("shown", scenario))
        draw_true(axes[0][column], records)
        for row, way in zip(axes[1:], ways, strict=True):
            plot = released(way[0], records, way[1], generator(scenario, *way))
            plot.plot(row[column], **style(n))
    label(axes, ["true", *(f"{name}, epsilon = {e:g}" for name, e in ways)], list(SCENARIOS))
    save(figure, path)


def separations(
    found: dict[str, dict[Setting, dict[str, Values]]], shown: Sequence[Setting], path: Path
) -> None:
    """Draw Figure 3: how far released plots are from a true Ideal one, by n epsilon."""
    figure, axes = new_axes(len(found), len(shown), 2.2)
    for row, by_setting in zip(axes, found.values(), strict=True):
        for ax, setting in zip(row, shown, strict=True):
            for scenario, colour in COLOURS.items():
                values = by_setting[setting][scenario]
                ax.hist(values, BINS, color=colour, alpha=0.55, label=scenario)
            ax.set_yticks([])
            ax.spines[["top", "right", "left"]].set_visible(False)
    label(axes, list(found), [f"n epsilon = {each.product:,}" for each in shown])
    for ax in axes[-1]:
        ax.set_xlabel("distance to the true Ideal plot")
    axes[0][0].legend(fontsize=7, frameon=False)
    save(figure, path)


def plot_beside(name: str, records: Records, unit: float, epsilon: float) -> dp.ResidualPlot:
    """Return the plot that ``beside`` draws."""
    return dp.residual_plot(*records, epsilon=epsilon, unit=unit, rng=generator(name, epsilon))


def beside(rows: Mapping[str, tuple[Records, float]], path: Path) -> None:
    """Draw true plots, and released ones beside them; each with its unit."""
    figure, axes = new_axes(len(rows), 1 + len(EPSILONS))
    for row, (name, (records, unit)) in zip(axes, rows.items(), strict=True):
        draw_true(row[0], records)
        for ax, epsilon in zip(row[1:], EPSILONS, strict=True):
            shown = plot_beside(name, records, unit, epsilon)
            shown.plot(ax, **style(records.predicted.size))
    label(axes, list(rows), ["true", *(f"epsilon = {epsilon:g}" for epsilon in EPSILONS)])
    save(figure, path)
