"""Python objects as records: the kind of each, by its type alone, and its exact number.

Errors depend on types and never on values. 2**64 is an integer like any other, and NaN a float.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Exact",
    "Kind",
    "exactly",
    "kind_of",
    "least_double",
    "missing",
    "name_of",
    "nearest_double",
    "unwrapped",
]

Kind = Literal["missing", "number", "string", "bytes", "other"]
Exact = int | float | Fraction | Decimal

_ABSENT: Final = (type(None), type(np.ma.masked))
_PANDAS_ABSENT: Final = {"NAType", "NaTType"}
_TIMES: Final = (np.datetime64, np.timedelta64)  # NumPy counts timedelta64 as an integer type
_NUMBERS: Final = (bool, np.bool_, numbers.Rational, float, np.floating, Decimal)


def kind_of(cls: type) -> Kind:
    """Return the kind of objects of a type. NaN may be missing, but its type is "number"."""
    if issubclass(cls, _ABSENT) or _is_of_pandas(cls):
        return "missing"
    if issubclass(cls, _TIMES):
        return "other"
    if issubclass(cls, _NUMBERS):
        return "number"
    if issubclass(cls, str):
        return "string"
    return "bytes" if issubclass(cls, bytes) else "other"


def name_of(types: Iterable[type]) -> str:
    """Return the name of objects of some types in errors: the same one in any order."""
    return f"objects of type {min(cls.__name__ for cls in types)}"


def exactly(cls: type) -> Callable[[Any], Exact]:
    """Return a function that makes exact Python numbers of a type, and NaN of missing values."""
    if kind_of(cls) == "missing":
        return lambda _: math.nan
    if issubclass(cls, bool | np.bool_ | numbers.Integral):
        return int
    if issubclass(cls, Decimal):
        # A signalling NaN raises an error.
        return lambda value: math.nan if value.is_nan() else value
    if issubclass(cls, numbers.Rational):
        return lambda value: Fraction(int(value.numerator), int(value.denominator))
    return _of_long_double if issubclass(cls, np.longdouble) else float


def _of_long_double(value: np.longdouble) -> float | Fraction:
    return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else float(value)


def least_double(value: Exact) -> float:
    """Return the least double that is not below a number; NaN for NaN."""
    if isinstance(value, float):
        return value
    nearest = nearest_double(value)
    same = Decimal.from_float(nearest) if isinstance(value, Decimal) else nearest
    return math.nextafter(nearest, math.inf) if same < value else nearest


def nearest_double(value: Exact) -> float:
    """Return the nearest double to a number, as NumPy rounds integers; NaN for NaN."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def missing(objects: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which objects are missing: None and the like, and NaN of any type."""
    tests = {cls: test for cls in set(map(type, objects.flat)) if (test := _missing_of(cls))}
    if not tests:
        return np.zeros(objects.size, bool)
    are_missing = (type(value) in tests and tests[type(value)](value) for value in objects.flat)
    return np.fromiter(are_missing, bool, objects.size)


def _missing_of(cls: type) -> Callable[[Any], bool] | None:
    """Return a function that tells whether an object of a type is missing; None if none is."""
    if kind_of(cls) == "missing":
        return lambda _: True
    if issubclass(cls, Decimal):
        return cls.is_nan
    return _is_nan if issubclass(cls, float | np.floating) else None


def _is_nan(value: float) -> bool:
    return value != value


def unwrapped(objects: NDArray[Any]) -> NDArray[Any]:
    """Return the objects, with arrays without axes replaced by what they contain.

    Of a masked one that is ``np.ma.masked``, and not what the mask hides.
    """
    wraps = {cls for cls in set(map(type, objects.flat)) if _is_array(cls)}
    if not wraps:
        return objects
    plain = np.empty(objects.size, object)
    for i, value in enumerate(objects.flat):
        plain[i] = _content(value) if type(value) in wraps else value
    return plain


def _content(value: Any) -> Any:
    """Return what an array without axes contains, and anything else unchanged."""
    try:
        array = np.asanyarray(value)
    except MemoryError:
        raise
    except Exception:  # its own error may quote it; it is refused for its type
        return value
    return value if array.ndim else array[()]


def _is_array(cls: type) -> bool:
    return hasattr(cls, "__array__") and not issubclass(cls, (np.generic, *_ABSENT))


def _is_of_pandas(cls: type) -> bool:
    return cls.__name__ in _PANDAS_ABSENT and cls.__module__.startswith("pandas")
