"""Thresholds in order, and their unit: numbers, times or durations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError
from ..records import public_times, times
from ..records.times import Unit
from .bounds_of_grids import MOST_CELLS, bound, thresholds_of

__all__ = ["Thresholds"]


class Thresholds:
    """The half of ``Grid`` that does not count: where cells are, and how users see thresholds.

    Parameters
    ----------
    thresholds, lower, unit
        As in ``Grid``.
    """

    __slots__ = ("_lower", "_of_integers", "_positions", "_unit")

    def __init__(self, thresholds: Any, lower: Any, unit: Unit | None) -> None:
        array, given_unit, unit = thresholds_of(thresholds, times.checked_unit(unit))
        if array.ndim != 1 or not 1 <= array.size <= MOST_CELLS:
            raise ParameterError(
                "thresholds",
                array.shape,
                f"must be one-dimensional, with 1 to {MOST_CELLS} entries",
            )
        array = _check.doubles(array)
        if not np.all(np.isfinite(array)):
            raise ParameterError("thresholds", array[~np.isfinite(array)][0], "must be finite")
        if unit is not None:
            times.check_thresholds("thresholds", array)
        rises = array[1:] > array[:-1]  # differences may overflow doubles
        if not np.all(rises):
            at = int(np.argmin(rises))
            raise ParameterError(
                "thresholds",
                tuple(times.shown(array[at : at + 2], unit).tolist()),
                f"must be strictly increasing (entries {at} and {at + 1})",
            )
        low = -math.inf if lower is None else bound("lower", lower, given_unit, unit)
        if not low <= array[0]:
            first = times.text(float(array[0]), unit)
            raise ParameterError("lower", lower, f"must not be above the first threshold, {first}")
        array.flags.writeable = False
        self._positions = array
        self._lower = low
        self._unit = unit
        self._of_integers = False

    @property
    def thresholds(self) -> NDArray[Any]:
        """(N,) the thresholds, read-only: floats, datetime64 (in UTC) or timedelta64."""
        if self._unit is None:
            return self._positions
        thresholds = self.shown(self._positions)
        thresholds.flags.writeable = False
        return thresholds

    @property
    def positions(self) -> NDArray[np.float64]:
        """(N,) the thresholds as doubles, with which values are compared, read-only."""
        return self._positions

    @property
    def size(self) -> int:
        """Number of cells, which is the number of thresholds, N."""
        return self._positions.size

    @property
    def unit(self) -> Unit | None:
        """The kind of values: None, "time", "instant" or "duration".

        None means numbers. "time" means dates and times without a time zone. "instant" means times
        with a time zone, which are kept and shown in UTC. "duration" means durations.
        """
        return self._unit

    @property
    def lower(self) -> Any:
        """Where the first cell begins, in the grid's unit; -inf or NaT if it is not known."""
        return self._lower if self._unit is None else self.shown(np.array(self._lower))[()]

    @property
    def start(self) -> float:
        """Where the first cell begins, as a double; -inf if it is not known."""
        return self._lower

    @property
    def of_integers(self) -> bool:
        """Whether the grid states that records are whole numbers, or whole days.

        ``Grid.integers`` and ``Grid.days`` state it. Other grids state nothing, whatever their
        thresholds are.

        Examples
        --------
        >>> from dpcore import Grid
        >>> Grid.integers(1, 10).of_integers, Grid.uniform(0, 10, 10).of_integers
        (True, False)
        """
        return self._of_integers

    @property
    def step(self) -> float:
        """The step between whole records: 1, or the microseconds of a day."""
        return 1.0 if self._unit is None else times.DAY

    def shown(self, positions: NDArray[np.float64], *, whole: bool = False) -> NDArray[Any]:
        """Return doubles on the line of the thresholds, of any shape, as users see them.

        On a grid of numbers, these are the doubles themselves. Otherwise they are times or
        durations, rounded to microseconds, or in days if they are ``whole``.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore import Grid
        >>> grid = Grid.uniform("2024-01-01", "2024-01-03", 2)
        >>> grid.shown(grid.positions, whole=True)
        array(['2024-01-02', '2024-01-03'], dtype='datetime64[D]')
        """
        values = times.shown(positions, self._unit)
        if whole and self._unit is not None:
            return values.astype("m8[D]" if self._unit == "duration" else "M8[D]")
        return values

    def shown_differences(self, differences: NDArray[np.float64]) -> NDArray[Any]:
        """Return differences of such doubles as users see them: doubles, or timedelta64.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore import Grid
        >>> grid = Grid.uniform("2024-01-01", "2024-01-03", 2)
        >>> grid.shown_differences(np.diff(grid.positions))
        array([86400000000], dtype='timedelta64[us]')
        """
        return times.shown(differences, None if self._unit is None else "duration")

    def points(self, argument: str, values: Any) -> NDArray[np.float64]:
        """Return points from users as doubles, of any shape, to compare them with ``positions``.

        Parameters
        ----------
        argument
            The name of the points in errors.
        values
            The points, in the grid's unit. On a grid of times with a time zone, NumPy's times are
            in UTC, as in ``thresholds``. Times between two microseconds are rounded down.

        Raises
        ------
        DtypeError, ParameterError
            The points have another unit, or are NaN or missing.

        Examples
        --------
        >>> from dpcore import Grid
        >>> grid = Grid.uniform("2024-01-01", "2024-01-03", 2)
        >>> int(grid.points("x", "2024-01-02") - grid.start)
        86400000000
        """
        if self._unit is None:
            return np.asarray(_check.points(argument, values))
        kind: str | None
        if (one := times.scalar(argument, values, exactly=False)) is not None:
            points, kind = np.asarray(one[0]), one[1]
        else:
            points, kind = public_times.positions(argument, values)
        in_utc = self._unit == "instant" and kind == "time" and times.is_of_numpy(values)
        if kind != self._unit and not in_utc:
            requirement = times.REQUIREMENTS[self._unit]
            raise DtypeError(argument, times.described(kind), requirement)
        return points

    def _edges(self) -> NDArray[np.float64]:
        """Return the (N + 1,) ends of cells. Cells of whole numbers are a step wide, each."""
        first = self._positions[0] - self.step if self._of_integers else self._lower
        return np.append(first, self._positions)

    def _refuse_times(self, argument: str) -> None:
        """Refuse a grid of times or durations, in a function for numbers only.

        Raises
        ------
        DtypeError
            This grid has a unit.
        """
        if self._unit is not None:
            raise DtypeError(argument, f'a grid of unit "{self._unit}"', "must be of numbers")
