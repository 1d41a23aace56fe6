"""Likely mistakes, told from what was released: wrong labels, swapped arguments, a wrong grid.

An error would depend on records. What is released is free to look at, so here are warnings, at most
one for a release, with the rules and their reasons in docs/scores.md, section 4, and docs/table.md,
section 6. Where the deviation of the noise is not known, released numbers are taken as they are.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DpcoreWarning
from ..summaries.grid import Grid
from ..summaries.table_grid import in_a_row
from .cdf import CDF
from .residual_plot import ResidualPlot
from .scores import ScoreCurves
from .table import Axis, Table

__all__ = ["warn_of_curve", "warn_of_residual_plot", "warn_of_scores", "warn_of_table"]

_SURE: Final = 3.0  # deviations of the noise: what is not a matter of luck
_LARGE_ERROR: Final = 0.1  # of a share of the records
_FEW_CELLS: Final = 16  # with fewer, cells are kinds of records, and one kind may be common
_MOST_AT_TOP: Final = 1 / 2
_MOST_AT_ENDS: Final = 0.95
_MOST_TIED: Final = 0.1  # pairs of a negative and a positive, in the end cells
_MOST_OUTSIDE: Final = 1 / 2
_MOST_TOGETHER: Final = 0.95  # of the records, in a part of a residual plot
_PART: Final = 8  # such a part: one of so many
_AXES: Final[tuple[Axis, ...]] = ("x", "y")
_PACKAGE: Final = str(Path(__file__).parents[1]) + os.sep  # not dpcore_study.py beside it

_REMEDY: Final = "fewer cells, a larger budget or more records lower it"
_GRID: Final = "is it the grid for these {}? Those beyond it count in its end cells"


def warn_of_curve(curve: CDF) -> None:
    """Warn of what a released curve, raw, shows: far too much noise, or records at its ends."""
    if text := _mistake_in_curve(curve):
        _warn(text)


def warn_of_scores(curves: ScoreCurves, label: str = "pos_label") -> None:
    """Warn of what released scores, raw, show: as above, or labels that are not as they seem.

    Parameters
    ----------
    curves
        As released.
    label
        How to call what makes a record positive.
    """
    if text := _mistake_in_scores(curves, label):
        _warn(text)


def warn_of_table(table: Table) -> None:
    """Warn of what a released table, raw, shows: as ``warn_of_curve``, for either column."""
    if text := _mistake_in_table(table):
        _warn(text)


def warn_of_residual_plot(plot: ResidualPlot) -> None:
    """Warn of bounds that most of the records are beyond, or that hold them in one narrow part."""
    if text := _mistake_in_residual_plot(plot):
        _warn(text)


def _mistake_in_curve(curve: CDF) -> str | None:
    error = _largest(curve.noise_deviation) / curve.n
    if _LARGE_ERROR < error < math.inf:
        return f"the standard error of F is up to {error:.2g}: {_REMEDY}"
    return _at_ends(curve, curve.noise_deviation, curve.grid, "values")


def _mistake_in_table(table: Table) -> str | None:
    error = _largest(table.row.noise_deviation) / table.n
    if _LARGE_ERROR < error < math.inf:
        return f"the standard error of sums of cells is up to {error:.2g} of n: {_REMEDY}"
    for axis, grid in zip(_AXES, (table.grid.x, table.grid.y), strict=True):
        marginal, what = table.marginal(axis), f"values of {axis}"
        if _at_ends(marginal, np.zeros(grid.size), grid, what) is None:
            continue  # mostly; the noise takes a look at every cell
        if text := _at_ends(marginal, _noise_along(table, axis), grid, what):
            return text
    return None


def _mistake_in_residual_plot(plot: ResidualPlot) -> str | None:
    outside = plot.outside - _SURE * _known(float(plot.table.row.noise_deviation[-2]))
    if outside > _MOST_OUTSIDE * plot.n:
        return (
            f"{_percent(plot.outside / plot.n)} of the records are outside of the plot:"
            " are `unit` and the ranges right?"
        )
    for axis, name in zip(_AXES, ("predicted", "residual"), strict=True):
        inside = np.diff(plot.table.marginal(axis).counts, prepend=0.0)
        part = inside.size // _PART
        if inside.size < _FEW_CELLS:
            continue
        together = float(np.convolve(inside, np.ones(part), "valid").max())
        if together <= _MOST_TOGETHER * plot.n:
            continue
        noise = 2 * _largest(_noise_along(plot.table, axis))  # both ends, at the worst
        if together - _SURE * noise > _MOST_TOGETHER * plot.n:
            return (
                f"{_percent(together / plot.n)} of the records are in 1/{_PART} of the axis of"
                f" {name} values: a smaller `unit`, or `{name}_range` if it is public, shows more"
            )
    return None


def _at_ends(curve: CDF, deviation: NDArray[np.float64], grid: Grid, what: str) -> str | None:
    """Say whether nearly all records are in the first and the last cell."""
    if grid.size < _FEW_CELLS:
        return None
    before, last = deviation[-2:].tolist()
    low = float(curve.counts[0])
    high = curve.n - float(curve.counts[-2])
    sure_low = low - _SURE * _known(float(deviation[0]))
    sure_high = high - _SURE * _known(before + last)
    if sure_high > _MOST_AT_TOP * curve.n or sure_low + sure_high > _MOST_AT_ENDS * curve.n:
        return (
            f"{_percent(low / curve.n)} of the records are in the first cell of {grid!r}, and"
            f" {_percent(high / curve.n)} in its last: {_GRID.format(what)}"
        )
    return None


def _noise_along(table: Table, axis: Axis) -> NDArray[np.float64]:
    """Return about how far the counts up to each threshold of a column may be off, (N,).

    Where it is not known in closed form: such a count is a sum of pieces of the row, and so of
    cumulative counts at their ends, whose errors are added up as if they were independent.
    """
    known = table.marginal(axis).noise_deviation
    if np.isfinite(known).all():
        return known
    in_row = np.unravel_index(in_a_row(table.grid.shape), table.grid.shape)[_AXES.index(axis)]
    known = np.append(table.row.noise_deviation[: in_row.size - 1], 0.0)
    variances = np.where(np.isfinite(known), known, 0.0) ** 2
    # what is up to a threshold begins or ends at a place if one of its two cells is, and one is not
    following = np.append(in_row[1:], in_row[-1])
    begins = np.bincount(np.minimum(in_row, following), variances, known.size)
    ends = np.bincount(np.maximum(in_row, following), variances, known.size)
    size = table.grid.shape[_AXES.index(axis)]
    return np.asarray(np.sqrt(np.maximum(np.cumsum(begins - ends)[:size], 0.0)))


def _mistake_in_scores(curves: ScoreCurves, label: str) -> str | None:
    noise = _largest(curves.joint.noise_deviation)
    if _LARGE_ERROR < (error := noise / curves.n) < math.inf:
        return f"the standard error of the curves is up to {error:.2g} of all records: {_REMEDY}"
    of_negatives, of_positives = curves.deviations
    negatives = _Class("negatives", curves.negatives, of_negatives)
    positives = _Class("positives", curves.positives, of_positives)
    for each in (negatives, positives):
        if each.total <= _SURE * _known(float(each.deviations[-1])):
            # a text of its own for each of a million simulated releases would be printed each time
            number = "" if curves.privacy.simulated else f", {round(each.total)},"
            return (
                f"the released number of {each.name}{number} is within its noise of 0:"
                f" is {label} right, and are y_true and y_score in order?"
            )
    if text := _tied_at_ends(curves, negatives, positives):
        return text
    if text := _below_guessing(negatives, positives, noise, label):
        return text
    rare = min(negatives, positives, key=lambda each: each.total)
    if _LARGE_ERROR < (error := noise / rare.total) < math.inf:
        return f"the standard error of the curve of {rare.name} is up to {error:.1g}: {_REMEDY}"
    return None


class _Class:
    """Of a class: how many records there are up to each threshold, with their noise, each (N,)."""

    def __init__(
        self, name: str, counts: NDArray[np.float64], deviations: NDArray[np.float64]
    ) -> None:
        self.name, self.counts, self.deviations = name, counts, deviations
        self.total = float(counts[-1])

    def ends(self) -> tuple[float, float]:
        """Return the shares of the first and the last cell."""
        first, before_last = float(self.counts[0]), float(self.counts[-2])
        return first / self.total, 1.0 - before_last / self.total

    def noise_of_ends(self) -> tuple[float, float]:
        """Return how far the shares may be off; for the last cell at the worst."""
        first, before_last, last = (float(self.deviations[i]) for i in (0, -2, -1))
        each = _SURE / self.total
        return each * _known(first), each * _known(before_last + last)


def _tied_at_ends(curves: ScoreCurves, negatives: _Class, positives: _Class) -> str | None:
    """Say whether many pairs of a negative and a positive are in one end cell, as one score."""
    if curves.grid.size < _FEW_CELLS:
        return None
    shares = list(zip(negatives.ends(), positives.ends(), strict=True))
    noise = zip(negatives.noise_of_ends(), positives.noise_of_ends(), strict=True)
    tied = (max(0.0, a - c) * max(0.0, b - d) for (a, b), (c, d) in zip(shares, noise, strict=True))
    if sum(tied) <= _MOST_TIED:
        return None
    first, last = (
        f"{_percent(a)} of the negatives and {_percent(b)} of the positives" for a, b in shares
    )
    return (
        f"{first} are in the first cell of {curves.grid!r}, and {last} in its last:"
        f" {_GRID.format('scores')}"
    )


def _below_guessing(negatives: _Class, positives: _Class, noise: float, label: str) -> str | None:
    """Say whether the area under the ROC curve is below 1/2, by more than noise and luck."""
    pairs, both = negatives.total * positives.total, negatives.total + positives.total
    luck = math.sqrt((both + 1) / (12 * pairs))  # where scores say nothing
    # the area is a mean of rates of either class, each with noise in its count and in its total
    most = 0.5 - _SURE * (2 * noise * both / pairs + luck)
    if not most > 0.0:
        return None
    # Twice the pairs in the wrong order less those in the right one. (Not as products of vectors:
    # BLAS would start threads for them, and wait for them.)
    wrong = negatives.counts[1:] * positives.counts[:-1]
    right = negatives.counts[:-1] * positives.counts[1:]
    area = 0.5 - float(np.sum(wrong - right)) / (2 * pairs)
    if area < most:
        return (
            f"the released area under the ROC curve is {area:.2f}, worse than guessing:"
            f" is {label} right, and do higher scores stand for positives?"
        )
    return None


def _largest(deviations: NDArray[np.float64]) -> float:
    """Return the largest one that is known but for the last, whose count may be; or infinity."""
    known = deviations[:-1][np.isfinite(deviations[:-1])]
    return float(known.max()) if known.size else float(deviations.max())


def _known(deviation: float) -> float:
    return deviation if math.isfinite(deviation) else 0.0


def _percent(share: float) -> str:
    return f"{round(100 * min(max(share, 0.0), 1.0))} %"


def _warn(text: str) -> None:
    """Warn at the line that called into dpcore, however deep."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, DpcoreWarning, stacklevel=level)
