"""Dates, times and durations: the unit of a column or a bound, and its microseconds, exactly.

The unit depends on types alone, because errors depend on it. Whether a Python datetime has a time
zone counts as a part of its type, as in pandas, polars and Arrow.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from . import object_kinds

__all__ = [
    "DAY",
    "ISO",
    "REQUIREMENTS",
    "Unit",
    "array_in",
    "check_thresholds",
    "checked_unit",
    "described",
    "is_of_numpy",
    "is_time",
    "literal",
    "parsed",
    "scalar",
    "shown",
    "text",
    "unit_of_array",
]

Unit = Literal["time", "instant", "duration"]

DAY: Final = 86_400_000_000.0  # microseconds
ISO: Final = 'strings: in ISO 8601, as "2024-01-31"'
MOST: Final = 2.0**53 - 1  # microseconds, 285 years; doubles are exact up to here

REQUIREMENTS: Final[dict[Unit | None, str]] = {
    None: 'must hold real numbers, as the grid does (times need bounds such as "2024-01-01", and '
    'durations such as numpy.timedelta64(0, "D"))',
    "time": "must hold dates or times without a time zone, as the grid does (those with one need "
    'bounds with one: "2024-01-01T00:00Z")',
    "instant": "must hold times with a time zone, as the grid does (those without one need "
    'bounds without one: "2024-01-01")',
    "duration": "must hold durations, as the grid does",
}
_NAMES: Final[dict[Unit | None, str]] = {
    None: "a number",
    "time": "a date or a time without a time zone",
    "instant": "a time with a time zone",
    "duration": "a duration",
}
_EPOCH: Final = dt.datetime(1970, 1, 1)
_HOURS: Final = {"W": 168, "D": 24, "h": 1}
_PARTS: Final = {
    **{name: hours * 3600 * 10**6 for name, hours in _HOURS.items()},
    **{"m": 60 * 10**6, "s": 10**6, "ms": 10**3, "us": 1},
}
_IN_ONE: Final = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}  # units in a microsecond
# More than this many since 1970 lie beyond all thresholds.
_MONTHS: Final = {"Y": 10**5, "M": 10**6}
_ISO: Final = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,6})?)?)?\s?(Z|[+-]\d\d:?\d\d)?)?"
)


def checked_unit(value: object) -> Unit | None:
    """Return an argument ``unit`` if it is a unit or None, or raise."""
    if value is not None:
        _check.choice("unit", value, Unit)
    return value  # type: ignore[return-value]  # it is one of them


def unit_of_array(array: NDArray[Any], in_utc: bool) -> str | None:
    """Return the unit of some values, None for numbers, "missing", or a description for errors.

    Parameters
    ----------
    array
        The values.
    in_utc
        Whether NumPy's times are those of a column with a time zone.
    """
    if array.dtype.kind == "m":
        return "duration" if _is_known(array.dtype) else f"dtype {array.dtype}"
    if array.dtype.kind == "M":
        if not _is_known(array.dtype):
            return f"dtype {array.dtype}"
        return "instant" if in_utc else "time"
    if array.dtype.kind != "O" or array.ndim != 1:
        return None
    kinds = {_unit_of_object(value) for value in object_kinds.unwrapped(array)} - {"missing"}
    if len(kinds) > 1:
        return "objects of several kinds"
    return kinds.pop() if kinds else "missing"


def described(unit: str | None) -> str:
    """Return the name of values of this unit in errors."""
    return {str(known): name for known, name in _NAMES.items()}.get(str(unit), str(unit))


def array_in(array: NDArray[Any], *, up: bool = True) -> NDArray[np.float64]:
    """Return times as microseconds since 1970, or durations as microseconds.

    Parameters
    ----------
    array
        An array of dtype datetime64 or timedelta64, of any shape; or (n,) objects of one unit,
        some of which may be missing.
    up
        Whether to round up to whole microseconds, or down.

    Returns
    -------
    numpy.ndarray
        Whole numbers, exact within 285 years. Values beyond that stay beyond it. NaN for missing
        values.
    """
    if array.dtype.kind == "O":
        objects = object_kinds.unwrapped(array)
        microseconds = (_of_object(value, up) for value in objects)
        return np.fromiter(microseconds, np.float64, objects.size)
    name, count = np.datetime_data(array.dtype)
    missing, ticks = np.isnat(array), array.astype(np.int64)
    whole: NDArray[Any]
    if name in _MONTHS:  # years and months have different lengths
        far = _MONTHS[name]
        most = far // count + 1
        near = np.clip(np.clip(ticks, -most, most) * count, -far, far)
        whole = near.astype(f"M8[{name}]").astype("M8[us]").astype(np.int64)
    elif name in _IN_ONE:
        if count > 1:  # Python's integers do not wrap around
            ticks = ticks.astype(object) * count
        in_one = _IN_ONE[name]
        whole = -(-ticks // in_one) if up else ticks // in_one
    else:  # exact for all times that thresholds can have; later times stay beyond them
        whole = ticks * float(_PARTS[name] * count)
    return np.where(missing, np.nan, whole).astype(np.float64, copy=False)


def scalar(argument: str, value: Any, *, exactly: bool = True) -> tuple[float, Unit] | None:
    """Return the microseconds and the unit of a date, a time or a duration; else None.

    Parameters
    ----------
    argument
        The name of the value in errors.
    value
        A datetime, date or timedelta of Python, NumPy, pandas or Arrow, or a date or time as a
        string in ISO 8601.
    exactly
        Whether to refuse a value that cannot be a threshold. Otherwise it is rounded down, to
        compare it with thresholds.

    Raises
    ------
    ParameterError
        The value is missing, is not a whole number of microseconds, or is 285 years or more from
        1970.
    """
    if type(value) in (int, float):  # most values are numbers
        return None
    unwrapped: Any = parsed(value) if isinstance(value, str) else value
    unwrapped = unwrapped.as_py() if hasattr(unwrapped, "as_py") else unwrapped
    if isinstance(unwrapped, np.ndarray) and unwrapped.ndim == 0:
        unwrapped = unwrapped[()]
    unit = _unit_of_object(unwrapped)
    if unit == "missing" and unwrapped is not None:
        raise ParameterError(argument, value, "must not be missing")
    if unit not in get_args(Unit):
        return None
    position = _of_object(unwrapped, False)
    if math.isnan(position):
        raise ParameterError(argument, value, "must not be missing")
    if exactly and _of_object(unwrapped, True) != position:
        raise ParameterError(argument, value, "must be a whole number of microseconds")
    if exactly:
        check_thresholds(argument, np.array([position]), value)
    return position, unit  # type: ignore[return-value]  # it is one of them


def check_thresholds(
    argument: str, microseconds: NDArray[np.float64], value: object = "others"
) -> None:
    """Check that microseconds are whole and near enough for doubles. Errors show ``value``."""
    if not (np.abs(microseconds) <= MOST).all():
        raise ParameterError(argument, value, "must be within 285 years of 1970, or of 0")
    if (microseconds != np.rint(microseconds)).any():
        raise ParameterError(argument, value, "must be whole numbers of microseconds")


def shown(points: NDArray[np.float64], unit: Unit | None) -> NDArray[Any]:
    """Return positions on a grid as users see them: numbers, or NumPy's times in UTC."""
    if unit is None:
        return np.asarray(points)
    known = np.abs(points) < 2.0**63  # no NaN, and nothing that NumPy's times cannot hold
    whole = np.rint(np.where(known, points, 0.0)).astype(np.int64)
    kind = "m8[us]" if unit == "duration" else "M8[us]"
    times = whole.view(kind)
    return np.asarray(np.where(known, times, np.array("NaT", kind)))


def text(position: float, unit: Unit | None) -> str:
    """Return a position as text: an ISO date or time, or a number."""
    if unit is None:
        return f"{position:g}"
    span = dt.timedelta(microseconds=position)
    if unit == "duration":
        return str(span)
    time = _EPOCH + span
    if unit == "instant":
        return time.isoformat() + "Z"
    return time.date().isoformat() if time.time() == dt.time() else time.isoformat()


def literal(position: float, unit: Unit | None) -> str:
    """Return a position as an expression in Python."""
    if unit == "duration":
        return repr(dt.timedelta(microseconds=position))
    return repr(position if unit is None else text(position, unit))


def is_of_numpy(values: Any) -> bool:
    """Return whether times are NumPy's, which may be in UTC: an array, a scalar or a sequence."""
    if isinstance(values, list | tuple):
        return all(isinstance(value, np.datetime64) for value in values)
    return isinstance(values, np.datetime64 | np.ndarray) and values.dtype.kind == "M"


def is_time(cls: type) -> bool:
    """Return whether objects of a type may be times or durations."""
    return issubclass(cls, dt.date | dt.timedelta | np.datetime64 | np.timedelta64)


def _is_known(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype fixes the length of its ticks. Years and months do for times only."""
    name, _ = np.datetime_data(dtype)
    return name != "generic" and not (dtype.kind == "m" and name in _MONTHS)


def _unit_of_object(value: Any) -> str | None:
    cls = type(value)
    kind = object_kinds.kind_of(cls)
    if kind in ("missing", "number"):
        return None if kind == "number" else "missing"
    if isinstance(value, np.datetime64 | np.timedelta64):
        known = "time" if isinstance(value, np.datetime64) else "duration"
        if _is_known(value.dtype):
            return known
        return "missing" if np.isnat(value) else f"objects of dtype {value.dtype}"
    if isinstance(value, dt.datetime):
        return "time" if value.utcoffset() is None else "instant"
    if isinstance(value, dt.date):
        return "time"
    if isinstance(value, dt.timedelta):
        return "duration"
    return object_kinds.name_of([cls])


def _of_object(value: Any, up: bool) -> float:
    """Return the microseconds of an object of a unit; NaN if it is missing."""
    if object_kinds.kind_of(type(value)) == "missing":
        return math.nan
    if isinstance(value, np.datetime64 | np.timedelta64):
        return math.nan if np.isnat(value) else float(array_in(np.asarray(value), up=up))
    if hasattr(value, "to_numpy"):  # a time of pandas, with nanoseconds and another range
        return float(array_in(np.asarray(value.to_numpy()), up=up))
    if isinstance(value, dt.timedelta):
        return float(_whole(value))
    if isinstance(value, dt.datetime):
        offset = value.utcoffset() or dt.timedelta()
        return float(_whole(value.replace(tzinfo=None) - _EPOCH) - _whole(offset))
    return float((value.toordinal() - _EPOCH.toordinal()) * int(DAY))


def _whole(span: dt.timedelta) -> int:
    return (span.days * 86400 + span.seconds) * 10**6 + span.microseconds


def parsed(value: str) -> dt.datetime | None:
    """Return a date or a time in ISO 8601; None of any other text."""
    if _ISO.fullmatch(value) is None:
        return None
    try:
        return dt.datetime.fromisoformat(value)
    except ValueError:  # for example, 31 February
        return None
