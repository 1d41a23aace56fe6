"""Pictures of tables and of points, with Matplotlib (the extra ``plot``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .plots import Reals, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..summaries.grid import Grid
    from ..summaries.table_grid import TableGrid

__all__ = ["plot_residuals", "plot_table"]


def plot_table(
    counts: Reals,
    grid: TableGrid,
    title: str,
    *,
    ax: Axes | None,
    style: dict[str, Any],
) -> Axes:
    """Draw the counts of cells as colours; see ``Table.plot``.

    Parameters
    ----------
    counts
        (N_x, N_y).
    grid
        Of the counts. A first cell whose lower end is not known is drawn as wide as the next one.
    title
        Above the axes.
    ax, style
        Axes, or None for new ones; for ``Axes.pcolormesh``.
    """
    ax = axes(ax)
    scale = {} if "norm" in style else {"vmin": 0.0}
    mesh = ax.pcolormesh(
        _edges(grid.x), _edges(grid.y), counts.T, **{"cmap": "Blues", **scale, **style}
    )
    assert ax.figure is not None
    ax.figure.colorbar(mesh, ax=ax, label="records in the cell")
    ax.set_title(title)
    ax.set_xlabel("x")
    ax.set_ylabel("y")
    return ax


def plot_residuals(
    points: Reals | None,
    predicted_range: tuple[float, float],
    residual_range: tuple[float, float],
    title: str,
    *,
    ax: Axes | None,
    style: dict[str, Any],
) -> Axes:
    """Draw points, and the line where residuals are 0; see ``ResidualPlot.plot``.

    Parameters
    ----------
    points
        (k, 2), or None where there is something else on the axes.
    predicted_range, residual_range
        The ends of both axes.
    title
        Above the axes.
    ax, style
        Axes, or None for new ones; for ``Axes.scatter``.
    """
    ax = axes(ax)
    ax.axhline(0.0, color="0.4", linewidth=1, linestyle="--")
    if points is not None:
        size = min(12.0, 30_000.0 / max(len(points), 1))
        shown = {"s": max(size, 0.5), "alpha": 0.5, "linewidths": 0, **style}
        ax.scatter(points[:, 0], points[:, 1], **shown)
    ax.set_xlim(*predicted_range)
    ax.set_ylim(*residual_range)
    ax.set_title(title)
    ax.set_xlabel("predicted value")
    ax.set_ylabel("residual")
    return ax


def _edges(grid: Grid) -> Reals:
    """Return where cells begin and end, (N + 1,)."""
    ends = grid.thresholds
    width = float(ends[1] - ends[0]) if grid.size > 1 else 1.0
    return np.append(grid.lower if np.isfinite(grid.lower) else ends[0] - width, ends)
