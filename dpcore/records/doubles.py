"""Arrays of numbers as chunks of float64 or float32.

Every value reaches the kernels *rounded up* to a double. Thresholds are doubles, so x <= tau has
the same answer before and after the rounding, even for integers of any size, fractions and long
doubles. So counts are exact for every real number, and no number is too large. Times are rounded
up to whole microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError
from . import object_kinds, times

__all__ = [
    "CHUNK",
    "REQUIREMENT",
    "Chunk",
    "check_one_axis",
    "checked_kind",
    "chunks",
    "in_kind",
    "numbers_of",
]

Chunk = NDArray[np.float64] | NDArray[np.float32]

CHUNK = 2**16  # values converted at a time: half a megabyte of doubles
_EXACT = 2**53  # all integers up to here are doubles
REQUIREMENT = "must hold real numbers"


def checked_kind(array: NDArray[Any], kinds: str, argument: str, requirement: str) -> None:
    """Check the kind of an array's dtype."""
    if array.dtype.kind == "O" and array.ndim == 0:
        given = array[()]
        is_iterable = isinstance(given, Iterable) and not isinstance(given, Mapping)
        instead = f": write list({argument})" if is_iterable else ""
        raise DtypeError(argument, f"a {type(given).__name__}", f"{requirement}{instead}")
    if array.dtype.kind not in kinds:
        raise DtypeError(argument, f"dtype {array.dtype}", requirement)


def check_one_axis(argument: str, shape: tuple[int, ...]) -> None:
    """Check that values have one axis; the error says how to take them, from arrays and lists."""
    if len(shape) == 1:
        return
    one = ""
    if len(shape) == 2 and 1 in shape and 0 not in shape:
        one = f": write numpy.ravel({argument})"
    elif len(shape) == 2 and shape[1] == 2:  # such as probabilities, with the positives' last
        one = f": for one column, write numpy.asarray({argument})[:, 1]"
    raise ParameterError(argument, shape, f"must be one-dimensional{one}")


def chunks(array: NDArray[Any], argument: str, requirement: str) -> Iterator[Chunk]:
    """Yield an array of numbers, or of objects that are numbers."""
    allowed = requirement if array.dtype.kind in "mM" else REQUIREMENT
    checked_kind(array, "biufO", argument, allowed)
    check_one_axis(argument, array.shape)
    if array.dtype.kind == "O":
        yield from _doubles(array, argument, requirement)
        return
    if array.dtype in (np.float64, np.float32) and array.flags.c_contiguous:
        yield array
        return
    for start in range(0, array.size, CHUNK):
        yield _rounded_up(array[start : start + CHUNK])


def numbers_of(argument: str, given: Any, requirement: str = REQUIREMENT) -> NDArray[Any]:
    """Return an array or lists of real numbers, of any shape, as the doubles or float32 of curves.

    Whether they are refused depends on types alone. NumPy makes one type for all of them, such as
    doubles for 2^53 + 1 beside 0.5. Where that may have rounded one, they are read one by one, so
    that the type of one record rounds no other. ``Column.numbers`` reads tables, too.
    """
    _check.unmasked(argument, given)
    array = _check.array(argument, in_kind(given), "biufO", requirement)
    # NumPy makes no float of fewer bits for an integer that it could round.
    may_be_rounded = array.dtype.kind == "f" and array.dtype.itemsize >= 8
    if may_be_rounded and not hasattr(given, "dtype") and (np.abs(array) >= _EXACT).any():
        array = np.asarray(given, object)
    if array.dtype in (np.float64, np.float32):
        return array
    made = [np.zeros(0), *chunks(array.reshape(-1), argument, requirement)]
    return np.concatenate(made).reshape(array.shape)


def in_kind(given: Any) -> Any:
    """Return a list that holds more than numbers as objects, and anything else unchanged.

    NumPy would make text of numbers beside text, and fail at some bytes: other records would change
    with the type of one.
    """
    if not isinstance(given, list | tuple):
        return given
    with suppress(TypeError, ValueError):  # bytes that are no text; rows of several lengths
        if (array := np.asarray(given)).dtype.kind in "biuf":
            return array
    with suppress(TypeError, ValueError):
        return np.asarray(given, object)
    return given


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
        allowed_kind = requirement if all(map(times.is_time, wrong)) else REQUIREMENT
        raise DtypeError(argument, object_kinds.name_of(wrong), allowed_kind)
    exactly = {cls: object_kinds.exactly(cls) for cls in types}
    for start in range(0, objects.size, CHUNK):
        part = objects[start : start + CHUNK]
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
