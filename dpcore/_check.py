"""Checks of arguments. Each returns the argument in the form that the kernels need, or raises."""

from __future__ import annotations

import importlib
import math
import numbers
import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from types import ModuleType, UnionType
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import DtypeError, MissingExtraError, ParameterError, Words, shown

__all__ = [
    "MOST_NOISY",
    "array",
    "array_itself",
    "bounds",
    "choice",
    "counts",
    "cumulative_counts",
    "cumulative_total",
    "doubles",
    "ends",
    "extra",
    "finite",
    "flag",
    "fraction",
    "held",
    "instance",
    "integer",
    "is_masked",
    "items",
    "path",
    "plain",
    "points",
    "positive",
    "probabilities",
    "proportion",
    "same",
    "tuple_of",
    "unmasked",
    "unweighted",
]

# Far above any count and any noise; fourth powers and their sums are doubles.
MOST_NOISY: Final = 1e70
_MOST_TOTAL: Final = 2.0**62
_NO_NUMBER: Final = (bool, np.bool_, np.timedelta64)
_MOST_BITS: Final = 8192  # Python does not write out more than 4300 digits
_MOST_OF_RANGE: Final = 2**24  # unlike other containers, a range may be longer than any memory
Extra = Literal["plot", "io", "cli", "models", "studies", "dask", "sql", "bench", "test"]


def integer(argument: str, value: object, least: int, most: int) -> int:
    """Return a Python int within [least, most]."""
    if type(value) is int and least <= value <= most:  # abstract classes take a microsecond
        return value
    if not _is_a(value, numbers.Integral):
        description = f"{shown(value)} of type {type(value).__name__}"
        raise DtypeError(argument, description, "must be an integer")
    assert isinstance(value, numbers.Integral)
    if not least <= int(value) <= most:
        raise ParameterError(argument, value, f"must be between {least} and {most}")
    return int(value)


def finite(argument: str, value: object) -> float:
    """Return a finite float."""
    if type(value) is float and math.isfinite(value):
        return value
    if not _is_a(value, numbers.Real):
        description = f"{shown(value)} of type {type(value).__name__}"
        raise DtypeError(argument, description, "must be a real number")
    assert isinstance(value, numbers.Real)
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
    """Return a positive number as a fraction. A float becomes exactly the number it stands for."""
    if _is_a(value, numbers.Rational):
        assert isinstance(value, numbers.Rational)
        exact = Fraction(int(value.numerator), int(value.denominator))
        if exact <= 0:
            raise ParameterError(argument, value, "must be positive and finite")
        finite(argument, exact)
        return _written(argument, exact)
    double = positive(argument, value)
    return _long(argument, value) if isinstance(value, np.longdouble) else Fraction(double)


def plain(argument: str, value: object) -> int | float | Fraction:
    """Return a finite real number as a Python number. NumPy's wrap around, or are not exact."""
    finite(argument, value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Rational):
        return _written(argument, Fraction(int(value.numerator), int(value.denominator)))
    assert isinstance(value, numbers.Real)
    return _long(argument, value) if isinstance(value, np.longdouble) else float(value)


def bounds(lower: object, upper: object) -> tuple[float, float]:
    """Return two finite floats, the first one below the second."""
    low, high = finite("lower", lower), finite("upper", upper)
    if not low < high:
        raise ParameterError("upper", upper, f"must be greater than lower, {shown(lower)}")
    return low, high


def ends(argument: str, value: object) -> tuple[float, float]:
    """Return two finite floats in ascending order, from one argument with both."""
    both = items(argument, value, "must be two numbers")
    if len(both) != 2:
        raise ParameterError(argument, value, "must be two numbers")
    low, high = (finite(argument, end) for end in both)
    if not low < high:
        raise ParameterError(argument, value, "must rise")
    return low, high


def same(first: object, second: object, *names: str) -> None:
    """Check that two objects have the same attributes, so that they can be added."""
    for name in names:
        ours, theirs = getattr(first, name), getattr(second, name)
        if ours != theirs:
            raise ParameterError(name, theirs, f"must be {ours!r} in both")


def unweighted(argument: str, value: object) -> None:
    """Refuse any weights of records, under the name of the argument."""
    if value is not None:
        what = "must be None: the noise hides one record, and a weight would count it several times"
        raise DtypeError(argument, type(value).__name__, what)


def instance(argument: str, value: object, kind: type | UnionType, requirement: str) -> None:
    """Check that value is an instance of a class, or of one of several."""
    if not isinstance(value, kind):
        raise DtypeError(argument, type(value).__name__, requirement)


def flag(argument: str, value: object) -> None:
    """Check that value is True or False."""
    if not isinstance(value, bool):
        raise DtypeError(argument, type(value).__name__, "must be a bool")


def held(
    argument: str, value: object, shape: tuple[int | None, ...] = (), kinds: str = "iuf"
) -> None:
    """Check that a result holds numbers, NaN or not: one, or an array; None: of any length.

    Other kinds than real numbers are given as in ``array``.
    """
    given = array(argument, value, kinds).shape
    if shape and not isinstance(value, np.ndarray):
        raise DtypeError(argument, type(value).__name__, "must be an array")
    lengths = zip(given, shape, strict=False)
    if len(given) != len(shape) or any(least not in (None, own) for own, least in lengths):
        what = "must be one number" if not shape else f"must have shape {_written_shape(shape)}"
        raise ParameterError(argument, given, what)


def _written_shape(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('m' if length is None else str(length) for length in shape)})"


def tuple_of(argument: str, value: object, kind: type, length: int | None = None) -> None:
    """Check that value is a tuple of instances of a class, of this length or of any."""
    number = "" if length is None else f"{length} "
    what = f"must be a tuple of {number}{kind.__name__}"
    instance(argument, value, tuple, what)
    assert isinstance(value, tuple)
    for item in value:
        instance(argument, item, kind, what)
    if length not in (None, len(value)):
        raise ParameterError(argument, len(value), what)


def choice(argument: str, value: object, options: object) -> None:
    """Check that value is one of the strings or integers of a Literal type."""
    allowed = get_args(options)
    if type(value) is str and value in allowed:
        return
    # The items of these may be integers.
    is_time = isinstance(value, np.datetime64 | np.timedelta64)
    scalar = value.item() if isinstance(value, np.generic) and not is_time else value
    if isinstance(scalar, bool) or not isinstance(scalar, str | int) or scalar not in allowed:
        raise ParameterError(argument, value, f"must be one of {', '.join(map(repr, allowed))}")


def items(argument: str, value: object, requirement: str) -> list[Any]:
    """Return the items of an iterable."""
    if isinstance(value, Iterator):  # its own errors are the caller's
        return list(value)
    _not_too_long(argument, value)
    try:
        listed: list[Any] = list(value)  # type: ignore[call-overload]
        return listed
    except MemoryError:
        raise
    except Exception:  # arrays without axes, frames that are not computed yet
        pass
    # Outside the handler, because the caught error, which may quote records, would be the context.
    raise DtypeError(argument, type(value).__name__, requirement)


def _not_too_long(argument: str, value: object) -> None:
    if isinstance(value, range) and value[_MOST_OF_RANGE:]:
        what = f"must hold at most {_MOST_OF_RANGE} items"
        raise ParameterError(argument, Words("a longer range"), what)  # it may be of records


def in_order(argument: str, value: object, requirement: str) -> list[Any]:
    """Return the items of an iterable, which must have an order: sets have another in each run."""
    if isinstance(value, set | frozenset):
        raise DtypeError(argument, type(value).__name__, requirement)
    return items(argument, value, requirement)


def path(argument: str, value: object, requirement: str) -> str:
    """Return a path that the operating system could have: text, or bytes as the system's text."""
    name = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(name, str) or not name:
        raise DtypeError(argument, type(value).__name__, requirement)
    if "\0" in name:
        raise ParameterError(argument, name, "must not contain a null character")
    try:
        os.fsencode(name)
    except UnicodeError:
        raise ParameterError(argument, name, "must have only characters of names") from None
    return name


def is_masked(value: object) -> bool:
    """Return whether an array, or one that is a row or a number in a list, has masked entries."""
    level: Sequence[Any] = [value]
    for _ in range(3):  # a list, its rows, and their numbers
        kinds = set(map(type, level))
        if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
            masks = (np.ma.getmask(item) for item in level)
            # Arrays of several fields have a mask of fields, and are refused for their dtype.
            if any(mask.dtype == bool and mask.any() for mask in masks):
                return True
        if not any(issubclass(kind, list | tuple) for kind in kinds):
            return False
        lists = [item for item in level if isinstance(item, list | tuple)]
        level = lists[0] if len(lists) == 1 else list(chain.from_iterable(lists))
    return False


def unmasked(argument: str, value: object) -> None:
    """Refuse masked entries, also within lists of rows: NumPy would read what they hide."""
    if is_masked(value):
        raise DtypeError(argument, "a masked array", "must not be masked")


def array(
    argument: str, value: object, kinds: str, requirement: str = "must hold real numbers"
) -> NDArray[Any]:
    """Return an array of any shape, with a dtype of one of these kinds and no masked entries."""
    unmasked(argument, value)
    _not_too_long(argument, value)
    try:
        values: NDArray[Any] = np.asarray(value)
    except (MemoryError, KeyboardInterrupt, SystemExit):
        raise
    # Rows of several lengths, lists too deep, columns that NumPy cannot hold. At some of these, old
    # versions of polars panic, which is no ``Exception``.
    except BaseException:
        problem = DtypeError(argument, f"a {type(value).__name__}", requirement)
    else:
        if values.dtype.kind in kinds:
            return values
        problem = DtypeError(argument, f"dtype {values.dtype}", requirement)
    raise problem  # outside the handler, as in ``items``


def array_itself(argument: str, value: object, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a caller's array, of any shape, that is used without a copy.

    It must be contiguous and have exactly this dtype: kernels trust their callers. What is returned
    is of no subclass: a row of a matrix has two axes.
    """
    if not isinstance(value, np.ndarray) or value.dtype != dtype:
        description = (
            f"dtype {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        )
        raise DtypeError(argument, description, f"must be an array of {dtype.__name__}")
    if not value.flags.c_contiguous:
        raise ParameterError(argument, value.strides, "must be contiguous")
    return np.asarray(value)


def doubles(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return a copy in doubles. Long doubles beyond the range of doubles become infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float64)


def points(argument: str, value: object) -> NDArray[Any]:
    """Return real numbers of any shape. Infinities are allowed, NaN is not."""
    values = array(argument, value, "biuf")
    if np.isnan(values).any():
        raise ParameterError(argument, value, "must not be NaN")
    return values


def probabilities(argument: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return an array of floats within [0, 1]."""
    values = doubles(array(argument, value, "iuf"))
    if not np.all((values >= 0.0) & (values <= 1.0)):
        raise ParameterError(argument, value, "must lie within [0, 1]")
    return values


def proportion(argument: str, value: object) -> float:
    """Return a float strictly between 0 and 1."""
    checked = finite(argument, value)
    if not 0.0 < checked < 1.0:
        raise ParameterError(argument, value, "must be between 0 and 1")
    return checked


def counts(argument: str, value: object, shape: tuple[int, ...] | None = None) -> NDArray[np.int64]:
    """Return exact counts: integers of 0 or more whose sum fits 64 bits. None: of any shape."""
    values = array(argument, value, "iu", "must hold integers")
    if values.min(initial=0) < 0:
        raise ParameterError(argument, Words("some that are"), "must not be negative")
    # The sum is below the first number, but it takes ten times as long.
    largest = 2.0 * float(values.max(initial=0)) * values.size
    if largest >= _MOST_TOTAL and float(values.sum(dtype=np.float64)) >= _MOST_TOTAL:
        raise ParameterError(argument, Words("a larger sum"), "must sum to less than 2^62")
    if shape is not None and values.shape != shape:
        raise ParameterError(argument, values.shape, f"must have shape {shape}")
    return values.astype(np.int64)


def cumulative_counts(argument: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return released cumulative counts, (..., M) with M >= 1, all finite."""
    entries = array(argument, value, "iuf")
    if entries.ndim < 1 or entries.shape[-1] < 1:
        raise ParameterError(
            argument, entries.shape, "must have at least one entry on its last axis"
        )
    entries = doubles(entries)
    finite_entries = np.isfinite(entries)
    if not finite_entries.all():
        raise ParameterError(argument, entries[~finite_entries][0], "must be finite")
    if max(entries.max(initial=0.0), -entries.min(initial=0.0)) > MOST_NOISY:
        raise ParameterError(argument, "larger entries", f"must be within +-{MOST_NOISY:g}")
    return entries


def cumulative_total(argument: str, value: object) -> float:
    """Return the number of records of released cumulative counts, positive and as limited."""
    total = finite(argument, value)
    if not 0.0 < total <= MOST_NOISY:
        raise ParameterError(argument, value, f"must be positive, and at most {MOST_NOISY:g}")
    return total


def _long(argument: str, value: np.longdouble) -> Fraction:
    """Return the exact value of a long double. The nearest double may be above it."""
    return _written(argument, Fraction(*value.as_integer_ratio()))


def _written(argument: str, exact: Fraction) -> Fraction:
    """Return a fraction that can be written out, as releases and messages do."""
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _MOST_BITS:
        what = f"must have a numerator and a denominator of at most {_MOST_BITS} bits"
        raise ParameterError(argument, exact, what)
    return exact


def _is_a(value: object, kind: type) -> bool:
    """Return whether a scalar is a number of this kind. To NumPy, timedelta64 is an integer."""
    return isinstance(value, kind) and not isinstance(value, _NO_NUMBER)


def extra(module: str, purpose: str, name: Extra) -> ModuleType:
    """Import an optional dependency, or raise an error that names the extra that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(purpose, name) from None
