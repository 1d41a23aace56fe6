"""The arguments of grids: thresholds and bounds as doubles, and their unit."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError, shown
from ..records import public_times, times
from ..records.times import Unit

__all__ = [
    "MOST_CELLS",
    "bound",
    "day",
    "thresholds_of",
    "times_between",
    "unit_of_bounds",
    "whole_cells",
]

MOST_CELLS: Final = 2**24

_MOST_WHOLE: Final = 2.0**53  # doubles hold all whole numbers up to here

_REQUIREMENT: Final = (
    f"must hold real numbers, or dates, times or durations of one unit ({times.ISO})"
)


def thresholds_of(given: Any, unit: Unit | None) -> tuple[NDArray[Any], Unit | None, Unit | None]:
    """Return thresholds as numbers, the unit in which they were given, and the grid's unit."""
    given_unit = None if _are_numbers(given) else public_times.unit_of(given)
    if given_unit is None:
        return _check.array("thresholds", given, "iuf", _REQUIREMENT), None, unit
    positions, _ = public_times.positions("thresholds", given, exactly=True)
    return positions, given_unit, _agreed("thresholds", given_unit, unit)


def bound(argument: str, given: Any, given_unit: Unit | None, unit: Unit | None) -> float:
    """Return a bound of a grid as a double.

    Parameters
    ----------
    argument, given
        The name of the bound in errors, and its value.
    given_unit
        The unit in which bounds were given; None: they are numbers, which are microseconds if the
        grid has a unit.
    unit
        The unit of the grid.
    """
    if given_unit is None:
        position = _check.finite(argument, given)
        if unit is not None:
            times.check_thresholds(argument, np.array([position]), given)
        return position
    one = times.scalar(argument, given)
    if one is None:
        named = f"{shown(given)} of type {type(given).__name__}"
        raise DtypeError(argument, named, f"must be {times.described(unit)}, as the grid")
    _agreed(argument, one[1], unit)
    return one[0]


def day(argument: str, given: Any) -> tuple[float, Unit]:
    """Return the microseconds of a date, or of a duration of whole days, and the unit."""
    one = times.scalar(argument, given)
    if one is None:
        named = f"{shown(given)} of type {type(given).__name__}"
        raise DtypeError(argument, named, f"must be a date, or a duration of days ({times.ISO})")
    if one[1] == "instant":
        what = "must be a date: days of times with a time zone need Grid.uniform"
        raise DtypeError(argument, times.described(one[1]), what)
    return one


def whole_cells(first: float, last: float, step: float, given: tuple[object, object]) -> int:
    """Return how many whole numbers, or whole days, lie between two of them, both included.

    Parameters
    ----------
    first, last
        The least and the greatest of them.
    step
        1, or the microseconds of a day.
    given
        Both as the user gave them, for errors.
    """
    what = "a whole number" if step == 1.0 else "a whole day, without a time of day"
    for argument, end, value in zip(("first", "last"), (first, last), given, strict=True):
        if end % step or (step == 1.0 and abs(end) > _MOST_WHOLE):
            within = "" if end % step else ", within 2^53 of 0"
            raise ParameterError(argument, value, f"must be {what}{within}")
    if first > last:
        raise ParameterError("last", given[1], f"must not be below first, {shown(given[0])}")
    cells = (last - first) / step + 1.0
    if cells > MOST_CELLS:
        raise ParameterError("last", given[1], f"must leave at most {MOST_CELLS} cells from first")
    return int(cells)


def _agreed(argument: str, given_unit: Unit, unit: Unit | None) -> Unit:
    """Return the requested unit. NumPy's times have no time zone, and may be in UTC."""
    if unit in (None, given_unit) or (given_unit == "time" and unit == "instant"):
        return given_unit if unit is None else unit
    requirement = f"must be {times.described(unit)}, as the grid"
    raise DtypeError(argument, times.described(given_unit), requirement)


def _are_numbers(given: Any) -> bool:
    """Return whether thresholds are surely numbers, as most are, by a quick check."""
    if isinstance(given, np.ndarray):
        return given.dtype.kind in "iuf"
    return isinstance(given, list | tuple | range) and type(next(iter(given), None)) in (int, float)


def unit_of_bounds(lower: Any, upper: Any) -> Unit | None:
    """Return the unit of both bounds; None: numbers."""
    if {type(lower), type(upper)} <= {int, float}:  # the usual case
        return None
    ends = [times.scalar(name, end) for name, end in (("lower", lower), ("upper", upper))]
    first, second = (None if end is None else end[1] for end in ends)
    for name, end, unit in (("lower", lower, first), ("upper", upper, second)):
        if isinstance(end, str) and unit is None:
            raise DtypeError(
                name,
                f"{shown(end)} of type str",
                f"must be a real number, or a date or a time ({times.ISO})",
            )
    if first != second:
        named = f"{shown(upper)} of type {type(upper).__name__}"
        raise DtypeError("upper", named, f"must be {times.described(first)}, as lower is")
    return first


def times_between(low: float, high: float, size: object, unit: Unit) -> NDArray[np.int64]:
    """Return thresholds of times, (size,) whole microseconds, spread evenly between two bounds."""
    if not low < high:
        lower, upper = (times.text(end, unit) for end in (low, high))
        raise ParameterError("upper", upper, f"must be greater than lower, {lower}")
    cells = _check.integer("size", size, 1, MOST_CELLS)
    whole, rest = divmod(int(high) - int(low), cells)
    if whole < 1:
        raise ParameterError("size", cells, "must leave each cell at least a microsecond")
    steps = np.arange(1, cells + 1)
    return int(low) + whole * steps + rest * steps // cells
