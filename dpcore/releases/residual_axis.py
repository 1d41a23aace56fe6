"""The axes of a residual plot: their possible ends, and the cells beyond them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _check
from ..errors import ParameterError
from ..summaries.grid import Grid
from ..summaries.rungs import Rungs
from .residual_search import Ends

__all__ = ["checked_ends", "for_both_axes", "refuse_narrow", "with_ends"]


def for_both_axes(argument: str, value: Any) -> tuple[Any, Any]:
    """Return a pair; one number counts for both axes."""
    if not isinstance(value, tuple | list | np.ndarray):
        return value, value
    both = _check.items(argument, value, "must be one number, or two")
    if len(both) != 2:
        raise ParameterError(argument, value, "must be one number, or two")
    return both[0], both[1]


def checked_ends(argument: str, ends: Any) -> Ends | None:
    """Return the ends of an axis as they are given, or None.

    Raises
    ------
    DtypeError, ParameterError
        They are not two finite numbers in ascending order.
    """
    if ends is None:
        return None
    values = _check.items(argument, ends, "must be two numbers")
    if len(values) != 2:
        raise ParameterError(argument, ends, "must be two numbers")
    low, high = (_check.finite(argument, end) for end in values)
    if not low < high:
        raise ParameterError(argument, ends, "must rise")
    return low, high


def refuse_narrow(argument: str, ends: Ends | None, rungs: Rungs, cells: int) -> None:
    """Refuse ends that are too far apart, or too close for doubles to tell the cells apart.

    Parameters
    ----------
    argument
        The name of the argument with the ends.
    ends
        The ends if they are known; None: a search finds them.
    rungs
        The ends that a search may find.
    cells
        The number of cells along the axis.

    Raises
    ------
    ParameterError
        The ends, or some of the rungs, are such ends.
    """
    narrowest, widest = rungs.ends[[0, -1]].tolist()
    for low, high in [(0.0, narrowest), (-widest, widest)] if ends is None else [ends]:
        try:
            with_ends(Grid.uniform(low, high, cells))
        except ParameterError:
            name, value = ("unit", narrowest) if ends is None else (argument, ends)
            what = f"must leave room for {cells} cells that doubles can tell apart"
            raise ParameterError(name, value, what) from None


def with_ends(grid: Grid) -> Grid:
    """Return a grid with one more cell at either end, for values beyond; both ends are within.

    Raises
    ------
    ParameterError
        There are no doubles beyond the ends.
    """
    below = math.nextafter(grid.start, -math.inf)
    beyond = math.nextafter(float(grid.positions[-1]), math.inf)
    return Grid(np.concatenate([[below], grid.positions, [beyond]]))
