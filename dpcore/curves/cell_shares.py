"""The share of the records of each cell that lie in a range, if they lie evenly in the cell."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError, shown
from ..summaries.grid import Grid

__all__ = ["shares_within"]


def shares_within(
    grid: Grid, lower: float | None, upper: float | None, *, integers: bool
) -> NDArray[np.float64]:
    """Return the share of the records of each cell that are above lower and at most upper, (N,).

    Parameters
    ----------
    grid
        The grid of the cells, of numbers. If its lower end is not known, the first cell is its
        upper end alone.
    lower, upper
        The ends of the range, which may be infinite. None: no end. A range that begins where the
        grid does includes the lower end, if the first cell has a width.
    integers
        Whether records are whole numbers. Then they lie evenly on the whole numbers of a cell, if
        it has some. Those of the first cell include its lower end.

    Raises
    ------
    DtypeError, ParameterError
        An end is not a number, or is NaN, or lower is not below upper.
    """
    low = -math.inf if lower is None else _end("lower", lower)
    high = math.inf if upper is None else _end("upper", upper)
    if not low < high:
        raise ParameterError("upper", upper, f"must be greater than lower, {shown(lower)}")
    within = _shares_up_to(grid, integers, high)
    if low == grid.start < grid.positions[0]:  # the first cell belongs to the range, with its end
        return within
    return within - _shares_up_to(grid, integers, low)


def _end(argument: str, value: object) -> float:
    """Return a real number, which may be infinite."""
    end = _check.points(argument, value)
    if end.ndim:
        raise DtypeError(argument, type(value).__name__, "must be one number")
    return float(end)


def _shares_up_to(grid: Grid, integers: bool, end: float) -> NDArray[np.float64]:
    """Return the share of each cell up to ``end``, (N,)."""
    thresholds = grid.positions
    at = int(np.searchsorted(thresholds, end, side="right"))  # the number of whole cells
    shares = np.zeros(grid.size)
    shares[:at] = 1.0
    before = grid.start if at == 0 else float(thresholds[at - 1])
    if at == grid.size or not -math.inf < before <= end:
        return shares
    # Fractions, because they may be far apart.
    first, last, place = Fraction(before), Fraction(float(thresholds[at])), Fraction(end)
    if integers:
        least = math.ceil(first) - 1 if at == 0 else math.floor(first)
        if least < math.floor(last):
            first, last, place = map(Fraction, (least, math.floor(last), math.floor(place)))
    shares[at] = float((max(place, first) - first) / (last - first))
    return shares
