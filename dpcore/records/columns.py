"""Columns of records, from any container, as chunks of float64 or float32.

Every value reaches the kernels *rounded up* to a double. Thresholds are doubles, so x <= tau has
the same answer before and after the rounding, even for integers of any size, fractions and long
doubles. So counts are exact for every real number, and no number is too large. Times are rounded
up to whole microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DtypeError, ParameterError
from . import object_kinds, times
from .containers import Part, declared, parts

__all__ = ["Chunk", "checked_kind", "chunks", "whole"]

Chunk = NDArray[np.float64] | NDArray[np.float32]

_CHUNK = 2**16  # values converted at a time: half a megabyte of doubles
_EXACT = 2**53  # all integers up to here are doubles
_REQUIREMENT = "must hold real numbers"


def chunks(
    values: Any,
    argument: str = "values",
    unit: times.Unit | None = None,
    requirement: str = _REQUIREMENT,
) -> Iterator[Chunk | None]:
    """Yield a column's values. None stands for missing values that the container marks apart.

    Columns are NumPy arrays of any real dtype, also masked ones, sequences of numbers, pandas and
    polars series, and Arrow arrays. Objects that are integers of any size, fractions, decimals and
    booleans are numbers. None and pandas' NA become NaN. The memory beyond the input is one chunk,
    unless the container itself has to convert.

    Parameters
    ----------
    values, argument
        The column, and its name in errors.
    unit, requirement
        The unit that the column must have, or None for numbers. The requirement is the text of
        errors about the unit; for numbers, about times.

    Raises
    ------
    DtypeError
        The column does not hold real numbers or does not have the unit, or it has an object of
        another type.
    ParameterError
        The values are not one-dimensional.

    Notes
    -----
    The error depends on types and shapes, and never on a value.
    """
    if (kind := declared(values)) is not None:
        allowed = _REQUIREMENT if unit is None else requirement
        raise DtypeError(argument, _text(f"a column of {kind.__name__}", unit), allowed)
    for part in parts(values, argument):
        yield from _of_part(part, argument, unit, requirement)
        if part.absent is not None:
            yield None


def whole(
    values: Any, argument: str, unit: times.Unit | None = None, requirement: str = _REQUIREMENT
) -> Chunk:
    """Return a column in one piece, with NaN for missing values, to be used with other columns.

    Parameters
    ----------
    values, argument, unit, requirement
        As in ``chunks``.

    Raises
    ------
    DtypeError, ParameterError
        As in ``chunks``.
    """
    if (kind := declared(values)) is not None:
        allowed = _REQUIREMENT if unit is None else requirement
        raise DtypeError(argument, _text(f"a column of {kind.__name__}", unit), allowed)
    pieces: list[Any] = []
    for part in parts(values, argument):
        present = list(_of_part(part, argument, unit, requirement))
        if part.absent is None:
            pieces += present
            continue
        spread = np.full(part.absent.size, np.nan)
        spread[~part.absent] = np.concatenate([np.empty(0), *present])
        pieces.append(spread)
    joined: Chunk = pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0), *pieces])
    return joined


def checked_kind(array: NDArray[Any], kinds: str, argument: str, requirement: str) -> None:
    """Check the kind of an array's dtype."""
    if array.dtype.kind == "O" and array.ndim == 0:
        raise DtypeError(argument, f"a {type(array[()]).__name__}", requirement)
    if array.dtype.kind not in kinds:
        raise DtypeError(argument, f"dtype {array.dtype}", requirement)


def _of_part(
    part: Part, argument: str, unit: times.Unit | None, requirement: str
) -> Iterator[Chunk]:
    """Yield the values that a container does not mark as missing."""
    if unit is None:
        return _chunks(part.present, argument, requirement)
    return _times(part, argument, unit, requirement)


def _chunks(array: NDArray[Any], argument: str, requirement: str = _REQUIREMENT) -> Iterator[Chunk]:
    """Yield an array of numbers, or of objects that are numbers."""
    allowed = requirement if array.dtype.kind in "mM" else _REQUIREMENT
    checked_kind(array, "biufO", argument, allowed)
    if array.ndim != 1:
        one = f": for one column, write {argument}[:, 1]" if array.ndim == 2 else ""
        raise ParameterError(argument, array.shape, f"must be one-dimensional{one}")
    if array.dtype.kind == "O":
        yield from _doubles(array, argument, requirement)
        return
    if array.dtype in (np.float64, np.float32) and array.flags.c_contiguous:
        yield array
        return
    for start in range(0, array.size, _CHUNK):
        yield _rounded_up(array[start : start + _CHUNK])


def _times(part: Part, argument: str, unit: times.Unit, requirement: str) -> Iterator[Chunk]:
    """Yield an array of times of a unit, or of such objects, in microseconds."""
    array, part_unit = part.present, times.unit_of_part(part)
    if part_unit not in (unit, "missing"):
        checked_kind(array, "biufmMO", argument, requirement)
        named = f"dtype {array.dtype}" if part_unit is None else times.described(part_unit)
        raise DtypeError(argument, _text(named, unit), requirement)
    if array.ndim != 1:
        raise ParameterError(argument, array.shape, "must be one-dimensional")
    for start in range(0, array.size, _CHUNK):
        yield times.array_in(array[start : start + _CHUNK])


def _text(named: str, unit: times.Unit | None) -> str:
    """Return the name of values in errors; for text, with the function that makes times of it."""
    if unit is None or not named.endswith(" str"):
        return named
    return f"{named} (pandas.to_{'timedelta' if unit == 'duration' else 'datetime'} reads it)"


def _doubles(
    objects: NDArray[Any], argument: str, requirement: str
) -> Iterator[NDArray[np.float64]]:
    """Yield objects as the least doubles that are not below them, with NaN for missing ones.

    All types are checked first, so the error does not depend on the order of the values.
    """
    objects = object_kinds.unwrapped(objects)
    types = set(map(type, objects))
    allowed = ("number", "missing")
    if wrong := [cls for cls in types if object_kinds.kind_of(cls) not in allowed]:
        allowed_kind = requirement if all(map(times.is_time, wrong)) else _REQUIREMENT
        raise DtypeError(argument, object_kinds.name_of(wrong), allowed_kind)
    exactly = {cls: object_kinds.exactly(cls) for cls in types}
    for start in range(0, objects.size, _CHUNK):
        part = objects[start : start + _CHUNK]
        numbers = (object_kinds.least_double(exactly[type(value)](value)) for value in part)
        yield np.fromiter(numbers, np.float64, part.size)


def _rounded_up(values: NDArray[Any]) -> Chunk:
    """Return the least doubles that are not below the values (NaN stays NaN)."""
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        return values.astype(np.float32)
    if values.dtype == np.float64:
        return values.astype(np.float64)  # contiguous, in this machine's byte order
    if values.dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            nearest = values.astype(np.float64)
        return _up_where(nearest < values, nearest)
    if values.dtype.itemsize < 8 or (values.max() <= _EXACT and values.min() >= -_EXACT):
        return values.astype(np.float64)
    high = ((values >> 11) << 11).astype(np.float64)  # 53 bits: exact
    low = (values & 2047).astype(np.float64)
    nearest = high + low
    error = low - (nearest - high)  # exact (Dekker's sum)
    return _up_where(error > 0.0, nearest)


def _up_where(below: NDArray[np.bool_], nearest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace doubles that are below their exact values by the next larger doubles."""
    with np.errstate(over="ignore", under="ignore"):  # a warning would depend on the records
        return np.where(below, np.nextafter(nearest, np.inf), nearest)
