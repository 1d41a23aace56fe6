"""Whether a column holds whole numbers: by its type alone, which is public, and never by values."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from . import object_kinds
from .partitions import empty, is_collection

__all__ = ["are_integers"]


def are_integers(values: Any) -> bool:
    """Return whether the type of a column, or of all of a sequence's elements, is a whole number's.

    Parameters
    ----------
    values
        A column that ``columns.chunks`` takes. Booleans are whole numbers; floats are not, whatever
        they are; of objects, those that stand for missing values do not count. Objects in a Dask
        collection are not looked at, and said to be none.

    Notes
    -----
    O(1) where the container has a type, O(n) for sequences and objects.
    """
    if is_collection(values):
        values = empty(values)
    if (arrow := getattr(values, "type", None)) is not None and hasattr(values, "null_count"):
        arrow = getattr(arrow, "storage_type", arrow)  # of extensions
        return _is_named_so(str(getattr(arrow, "value_type", arrow)))
    dtype: Any = getattr(values, "dtype", None)
    if dtype is None and hasattr(type(values), "__array__"):
        dtype = np.asarray(values).dtype
    if hasattr(dtype, "categories"):
        dtype = getattr(dtype.categories, "dtype", dtype)
    kind = getattr(dtype, "kind", None)  # of NumPy and of pandas
    if kind == "O" or dtype is None:
        return _are_objects_so(values)
    return kind in ("b", "i", "u") if isinstance(kind, str) else _is_named_so(str(dtype))


def _is_named_so(dtype: str) -> bool:
    """Return whether a type of Arrow's or polars' is one of whole numbers, by its name."""
    return dtype.lower().startswith(("int", "uint", "bool"))


def _are_objects_so(values: Any) -> bool:
    types = {cls for cls in set(map(type, values)) if object_kinds.kind_of(cls) != "missing"}
    return bool(types) and all(issubclass(cls, numbers.Integral | np.bool_) for cls in types)
