"""Pictures of tables and of points, with Matplotlib (the extra ``plot``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .plots import Reals, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_residuals", "plot_table"]

_WITH_LINES: Final = {"linewidth", "linewidths", "lw", "marker"}  # some markers are lines only


def plot_table(
    counts: Reals,
    x_edges: Reals,
    y_edges: Reals,
    title: str,
    names: tuple[str, str],
    *,
    ax: Axes | None,
    style: dict[str, Any],
) -> Axes:
    """Draw the counts of cells as colours. See ``Table.plot``.

    Parameters
    ----------
    counts
        (N_x, N_y) the counts.
    x_edges, y_edges
        (N_x + 1,), (N_y + 1,) the edges of cells.
    title
        The text above the axes.
    names
        The names of the columns x and y.
    ax, style
        Axes, or None for new ones; arguments of ``Axes.pcolormesh``.
    """
    ax = axes(ax)
    scale = {} if "norm" in style else {"vmin": 0.0}
    mesh = ax.pcolormesh(x_edges, y_edges, counts.T, **{"cmap": "Blues", **scale, **style})
    assert ax.figure is not None
    ax.figure.colorbar(mesh, ax=ax, label="records in the cell")
    ax.set_title(title)
    ax.set_xlabel(names[0], parse_math=False)
    ax.set_ylabel(names[1], parse_math=False)
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
    """Draw points, and the line where residuals are 0. See ``ResidualPlot.plot``.

    Parameters
    ----------
    points
        (k, 2) the points, or None if the axes show something else.
    predicted_range, residual_range
        The ends of both axes.
    title
        The text above the axes.
    ax, style
        Axes, or None for new ones; arguments of ``Axes.scatter``.
    """
    ax = axes(ax)
    ax.axhline(0.0, color="0.4", linewidth=1, linestyle="--")
    if points is not None:
        size = min(12.0, 30_000.0 / max(len(points), 1))
        shown = {"s": max(size, 0.5), "alpha": 0.5, **style}
        if not style.keys() & _WITH_LINES:
            shown["linewidths"] = 0
        ax.scatter(points[:, 0], points[:, 1], **shown)
    ax.set_xlim(*predicted_range)
    ax.set_ylim(*residual_range)
    ax.set_title(title)
    ax.set_xlabel("predicted value")
    ax.set_ylabel("residual")
    return ax
