"""Warnings of likely mistakes in tables and residual plots, from a release.

docs/guides/table.md, section 6, has the rules.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..summaries.grid import Grid
from ..summaries.table_grid import in_a_row
from .cdf import CDF
from .likely_mistakes import (
    FEW_CELLS,
    LARGE_ERROR,
    REMEDY,
    SURE,
    at_ends,
    in_first_cell,
    known,
    largest,
    percent,
    warn,
    warn_of_durations,
)
from .residual_plot import ResidualPlot
from .table import Axis, Table

__all__ = ["warn_of_residual_plot", "warn_of_survival_scores", "warn_of_table"]

_MOST_OUTSIDE: Final = 1 / 2
_MOST_TOGETHER: Final = 0.95  # the largest share of the records in one part of a residual plot
_PART: Final = 8  # the number of parts of an axis
_AXES: Final[tuple[Axis, ...]] = ("x", "y")


def warn_of_table(table: Table) -> None:
    """Warn if a released raw table shows a mistake, as ``warn_of_curve``, in either column."""
    if text := _mistake_in_table(table):
        warn(text)


def warn_of_residual_plot(plot: ResidualPlot) -> None:
    """Warn of bounds that miss most of the records, or hold them in one narrow part."""
    if text := _mistake_in_residual_plot(plot):
        warn(text)


def warn_of_survival_scores(table: Table, grid: Grid, event: str) -> None:
    """Warn if nearly all scores, or durations, are in an end cell: they may have another unit.

    Parameters
    ----------
    table
        A released raw table of scores by rows of events and censorings.
    grid
        The grid of durations.
    event
        The name of the label of events, for the text.
    """
    scores = table.marginal("x")
    if text := at_ends(scores, np.zeros(scores.grid.size), "scores"):
        text = at_ends(scores, _noise_along(table, "x"), "scores")
    if text:
        warn(text)
    else:
        own: Any = {"noise_deviation": _noise_along(table, "y")}
        warn_of_durations({None: replace(table.marginal("y"), **own)}, grid, [event])


def _mistake_in_table(table: Table) -> str | None:
    error = largest(table.row.noise_deviation) / table.n
    if LARGE_ERROR < error < math.inf:
        return f"the standard error of sums of cells is up to {error:.2g} of n: {REMEDY}"
    for axis in _AXES:
        marginal = table.marginal(axis)
        if _mistake_in_column(marginal, np.zeros(marginal.grid.size), axis) is None:
            continue  # the usual case; it does not need the deviations, which read every cell
        if text := _mistake_in_column(marginal, _noise_along(table, axis), axis):
            return text
    return None


def _mistake_in_column(marginal: CDF, deviation: NDArray[np.float64], axis: Axis) -> str | None:
    if text := at_ends(marginal, deviation, f"values of {axis}"):
        return text
    text = in_first_cell(marginal, deviation)
    return text and f"values of {axis}: {text}"


def _mistake_in_residual_plot(plot: ResidualPlot) -> str | None:
    outside = plot.outside - SURE * known(float(plot.table.row.noise_deviation[-2]))
    if outside > _MOST_OUTSIDE * plot.n:
        return (
            f"{percent(plot.outside / plot.n)} of the records are outside of the plot:"
            " are `unit` and the ranges right?"
        )
    for axis, name in zip(_AXES, ("predicted", "residual"), strict=True):
        inside = np.diff(plot.table.marginal(axis).counts, prepend=0.0)
        part = inside.size // _PART
        if inside.size < FEW_CELLS:
            continue
        together = float(np.convolve(inside, np.ones(part), "valid").max())
        if together <= _MOST_TOGETHER * plot.n:
            continue
        noise = 2 * largest(_noise_along(plot.table, axis))  # the worst case: noise at both ends
        if together - SURE * noise > _MOST_TOGETHER * plot.n:
            return (
                f"{percent(together / plot.n)} of the records are in 1/{_PART} of the axis of"
                f" {name} values: a smaller `unit`, or `{name}_range` if it is public, shows more"
            )
    return None


def _noise_along(table: Table, axis: Axis) -> NDArray[np.float64]:
    """Return about the deviation of the counts up to each threshold of a column, (N,).

    If it is not known in closed form, it is an estimate. Such a count is a sum of pieces of the
    row, and so of cumulative counts at their ends. Their errors are taken as independent.
    """
    stated = table.marginal(axis).noise_deviation
    if np.isfinite(stated).all():
        return stated
    in_row = np.unravel_index(in_a_row(table.grid.shape), table.grid.shape)[_AXES.index(axis)]
    of_row = np.append(table.row.noise_deviation[: in_row.size - 1], 0.0)
    variances = np.where(np.isfinite(of_row), of_row, 0.0) ** 2
    # The records up to a threshold begin or end at a place if they include one of its two cells.
    following = np.append(in_row[1:], in_row[-1])
    begins = np.bincount(np.minimum(in_row, following), variances, stated.size)
    ends = np.bincount(np.maximum(in_row, following), variances, stated.size)
    return np.asarray(np.sqrt(np.maximum(np.cumsum(begins - ends), 0.0)))
