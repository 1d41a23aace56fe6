"""The ends of one axis of a residual plot: public, or found by a private search."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np

from .. import _check
from ..errors import ParameterError
from ..records.columns import Chunk
from ..summaries.grid import Grid
from .compact_bounds import compact_end, compact_rungs, rungs_of
from .symmetric_bounds import symmetric_end

__all__ = ["Ends", "ResidualAxis", "Search", "for_both_axes", "with_ends"]

Ends = tuple[float, float]
Search = Literal["compact", "sparse-vector"]

_COVERAGE: Final = 0.95  # theta in the paper: of either column
_DOUBLINGS: Final = 62  # of the unit, in the paper's search


class ResidualAxis:
    """Where an axis ends, or between which ends a search is to choose.

    Parameters
    ----------
    argument
        The name of the argument with the ends, for errors.
    ends
        Public ones, or None.
    unit, search
        As in ``residual_plot``, for this axis.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    """

    __slots__ = ("_argument", "_rungs", "_search", "_unit", "ends")

    def __init__(self, argument: str, ends: Any, unit: Any, search: Search) -> None:
        self._argument, self._unit, self._search = argument, unit, search
        # A unit that is not needed is checked all the same.
        compact = search == "compact"
        self._rungs = compact_rungs(unit) if compact else rungs_of(unit, _DOUBLINGS)
        self.ends = None if ends is None else _checked_ends(argument, ends)

    def refuse(self, cells: int) -> None:
        """Refuse ends between which doubles cannot tell so many cells apart, or that are too far.

        Raises
        ------
        ParameterError
            They are such ends, or a search could find them.
        """
        narrowest, widest = self._rungs.ends[[0, -1]].tolist()
        found = [(-narrowest, narrowest), (-widest, widest)]
        for ends in found if self.ends is None else [self.ends]:
            try:
                with_ends(Grid.uniform(ends[0], ends[1], cells))
            except ParameterError:
                known = self.ends is not None
                argument, value = (self._argument, ends) if known else ("unit", self._unit)
                what = f"must leave room for {cells} cells that doubles can tell apart"
                raise ParameterError(argument, value, what) from None

    def released(self, values: Chunk, epsilon: Fraction, rng: np.random.Generator | None) -> Ends:
        """Return ends that are found for so much epsilon.

        Parameters
        ----------
        values
            The column, without missing values.
        epsilon
            What it spends, for "replace-one".
        rng
            As in ``residual_plot``.
        """
        counts = self._rungs.count(values, "raise")
        if self._search == "compact":
            found = compact_end(counts, epsilon, rng)
        else:
            outside = round((1 - _COVERAGE) * int(counts.sum()))
            found = symmetric_end(counts, outside, epsilon, rng)
        end = float(self._rungs.ends[found])
        return -end, end


def with_ends(grid: Grid) -> Grid:
    """Return a grid with one more cell at either end, for what is beyond; both ends are within.

    Raises
    ------
    ParameterError
        There are no doubles beyond the ends.
    """
    below = math.nextafter(grid.lower, -math.inf)
    beyond = math.nextafter(float(grid.thresholds[-1]), math.inf)
    return Grid(np.concatenate([[below], grid.thresholds, [beyond]]))


def for_both_axes(argument: str, value: Any) -> tuple[Any, Any]:
    """Return a pair, or the same thing twice."""
    if not isinstance(value, tuple | list | np.ndarray):
        return value, value
    both = _check.items(argument, value, "must be one number, or two")
    if len(both) != 2:
        raise ParameterError(argument, value, "must be one number, or two")
    return both[0], both[1]


def _checked_ends(argument: str, ends: Any) -> Ends:
    values = _check.items(argument, ends, "must be two numbers")
    if len(values) != 2:
        raise ParameterError(argument, ends, "must be two numbers")
    low, high = (_check.finite(argument, end) for end in values)
    if not low < high:
        raise ParameterError(argument, ends, "must rise")
    return low, high
