"""Whether a column holds whole numbers or days, according to its type alone, which is public."""

from __future__ import annotations

import datetime as dt
import numbers
from typing import Any, Final

import numpy as np

from . import object_kinds
from .partitions import empty, is_collection

__all__ = ["are_integers"]

_DATES: Final = ("date", "date32[day]", "date64[ms]")  # names of types in polars and Arrow
_DAYS: Final = ("D", "W", "M", "Y")  # NumPy's units of one or more days


def are_integers(values: Any) -> bool:
    """Return whether a column, or every element of a sequence, has a type of whole numbers.

    Parameters
    ----------
    values
        A column that ``columns.chunks`` accepts. Booleans are whole numbers. Floats are not, for
        any values. Objects that stand for missing values do not count. Objects in a Dask collection
        are not examined, and count as not whole. Dates are whole days, and so are NumPy's times and
        durations in days.

    Notes
    -----
    O(1) if the container has a type, O(n) for sequences and objects.
    """
    if is_collection(values):
        values = empty(values)
    if (arrow := getattr(values, "type", None)) is not None and hasattr(values, "null_count"):
        arrow = getattr(arrow, "storage_type", arrow)  # extension types
        return _is_named_so(str(getattr(arrow, "value_type", arrow)))
    dtype: Any = getattr(values, "dtype", None)
    if (arrow := getattr(dtype, "pyarrow_dtype", None)) is not None:
        return _is_named_so(str(arrow))
    if dtype is None and hasattr(type(values), "__array__"):
        dtype = np.asarray(values).dtype
    if hasattr(dtype, "categories"):
        dtype = getattr(dtype.categories, "dtype", dtype)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        return np.datetime_data(dtype)[0] in _DAYS
    kind = getattr(dtype, "kind", None)  # types of NumPy and pandas
    if kind == "O" or dtype is None:
        return _are_objects_so(values)
    return kind in ("b", "i", "u") if isinstance(kind, str) else _is_named_so(str(dtype))


def _is_named_so(dtype: str) -> bool:
    """Return whether the name of a type of Arrow or polars is one of whole numbers."""
    return dtype.lower() in _DATES or dtype.lower().startswith(("int", "uint", "bool"))


def _are_objects_so(values: Any) -> bool:
    types = {cls for cls in set(map(type, values)) if object_kinds.kind_of(cls) != "missing"}
    are_dates = all(issubclass(cls, dt.date) and not issubclass(cls, dt.datetime) for cls in types)
    are_numbers = all(issubclass(cls, numbers.Integral | np.bool_) for cls in types)
    return bool(types) and (are_numbers or are_dates)
