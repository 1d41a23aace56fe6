"""The share of each cell of a grid that lies in a range, if its records lie evenly in it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError, shown
from ..summaries.grid import Grid

__all__ = ["shares_within"]


def shares_within(grid: Grid, lower: float | None, upper: float | None) -> NDArray[np.float64]:
    """Return the share of each cell that is above lower and at most upper, (N,).

    Parameters
    ----------
    grid
        The grid of the cells. If its lower end is not known, the first cell is its upper end alone.
    lower, upper
        The ends of the range, which may be infinite. None: no end.

    Raises
    ------
    DtypeError, ParameterError
        An end is not a number, or is NaN, or lower is not below upper.
    """
    low = -math.inf if lower is None else _end("lower", lower)
    high = math.inf if upper is None else _end("upper", upper)
    if not low < high:
        raise ParameterError("upper", upper, f"must be greater than lower, {shown(lower)}")
    return _shares_up_to(grid, high) - _shares_up_to(grid, low)


def _end(argument: str, value: object) -> float:
    """Return a real number, which may be infinite."""
    found = _check.points(argument, value)
    if found.ndim:
        raise DtypeError(argument, type(value).__name__, "must be one number")
    return float(found)


def _shares_up_to(grid: Grid, end: float) -> NDArray[np.float64]:
    """Return the share of each cell up to ``end``, (N,)."""
    thresholds = grid.positions
    at = int(np.searchsorted(thresholds, end, side="right"))  # the number of whole cells
    shares = np.zeros(grid.size)
    shares[:at] = 1.0
    before = grid.start if at == 0 else float(thresholds[at - 1])
    # A cell of Grid.integers has one value, which is its upper end.
    if at < grid.size and -math.inf < before < end and not grid.of_integers:
        # Fractions, because they may be far apart.
        first, last = Fraction(before), Fraction(float(thresholds[at]))
        shares[at] = float((Fraction(end) - first) / (last - first))
    return shares
