"""Checks of arguments: each returns the argument in the form the kernels take, or raises."""

from __future__ import annotations

import importlib
import math
import numbers
from fractions import Fraction
from types import ModuleType
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import DtypeError, MissingExtraError, ParameterError

__all__ = [
    "bounds",
    "choice",
    "counts",
    "cumulative_counts",
    "extra",
    "finite",
    "fraction",
    "integer",
    "plain",
    "positive",
    "probabilities",
    "same",
]

_MOST_TOTAL: Final = 2.0**62
Extra = Literal["plot", "io", "cli", "studies", "bench", "test"]


def integer(argument: str, value: object, least: int, most: int) -> int:
    """Return a Python int within [least, most]."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise DtypeError(
            argument, f"{value!r} of type {type(value).__name__}", "must be an integer"
        )
    if not least <= int(value) <= most:
        raise ParameterError(argument, value, f"must be between {least} and {most}")
    return int(value)


def finite(argument: str, value: object) -> float:
    """Return a finite float."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise DtypeError(
            argument, f"{value!r} of type {type(value).__name__}", "must be a real number"
        )
    try:
        double = float(value)
    except OverflowError:
        raise ParameterError(argument, value, "must fit a double") from None
    if not math.isfinite(double):
        raise ParameterError(argument, value, "must be finite")
    return double


def positive(argument: str, value: object) -> float:
    """Return a finite float above 0."""
    checked = finite(argument, value)
    if not checked > 0.0:
        raise ParameterError(argument, value, "must be positive and finite")
    return checked


def fraction(argument: str, value: object) -> Fraction:
    """Return the positive fraction that a number is; floats are taken as what they stand for."""
    if isinstance(value, numbers.Rational) and not isinstance(value, bool | np.bool_):
        exact = Fraction(int(value.numerator), int(value.denominator))
        if exact <= 0:
            raise ParameterError(argument, value, "must be positive and finite")
        finite(argument, exact)
        return exact
    return Fraction(positive(argument, value))


def plain(argument: str, value: object) -> int | float | Fraction:
    """Return a finite real number as one of Python's own: NumPy's wrap around, or are not exact."""
    finite(argument, value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    assert isinstance(value, numbers.Real)
    return float(value)


def bounds(lower: object, upper: object) -> tuple[float, float]:
    """Return two finite floats, the first one below the second."""
    low, high = finite("lower", lower), finite("upper", upper)
    if not low < high:
        raise ParameterError("upper", upper, f"must be greater than lower, {lower!r}")
    return low, high


def same(first: object, second: object, *names: str) -> None:
    """Check that two things have the same attributes, so that they can be added."""
    for name in names:
        ours, theirs = getattr(first, name), getattr(second, name)
        if ours != theirs:
            raise ParameterError(name, theirs, f"must be {ours!r} in both")


def choice(argument: str, value: object, options: object) -> None:
    """Check that value is one of the strings or integers of a Literal type."""
    allowed = get_args(options)
    scalar = value.item() if isinstance(value, np.generic) else value
    if isinstance(scalar, bool) or not isinstance(scalar, str | int) or scalar not in allowed:
        raise ParameterError(argument, value, f"must be one of {', '.join(map(repr, allowed))}")


def probabilities(argument: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return an array of floats within [0, 1]."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise DtypeError(argument, array.dtype, "must hold real numbers")
    array = array.astype(np.float64)
    if not np.all((array >= 0.0) & (array <= 1.0)):
        raise ParameterError(argument, value, "must lie within [0, 1]")
    return array


def counts(argument: str, value: object) -> NDArray[np.int64]:
    """Return exact counts, of any shape: integers of 0 or more whose sums fit 64 bits."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise DtypeError(argument, "a masked array", "must not be masked")
    array: NDArray[Any] = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise DtypeError(argument, f"dtype {array.dtype}", "must hold integers")
    if np.any(array < 0):
        raise ParameterError(argument, "a negative count", "must not be negative")
    if float(array.sum(dtype=np.float64)) >= _MOST_TOTAL:
        raise ParameterError(argument, "larger counts", "must sum to less than 2^62")
    return array.astype(np.int64)


def cumulative_counts(argument: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return released cumulative counts, (..., M) with M >= 1, all finite."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise DtypeError(argument, array.dtype, "must hold real numbers")
    if array.ndim < 1 or array.shape[-1] < 1:
        raise ParameterError(argument, array.shape, "must have at least one entry on its last axis")
    array = array.astype(np.float64)
    finite_entries = np.isfinite(array)
    if not finite_entries.all():
        raise ParameterError(argument, array[~finite_entries][0], "must be finite")
    return array


def extra(module: str, purpose: str, name: Extra) -> ModuleType:
    """Import an optional dependency, or say which extra holds it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(purpose, name) from None
