"""Whether records are whole numbers or days, as far as this is stated, and never by records."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..errors import DtypeError

__all__ = ["schema", "stated"]

# Names of types in polars and Arrow
_BITS: Final = ("8", "16", "32", "64", "128")
_WHOLE: Final = {f"{sign}int{bits}" for sign in ("", "u") for bits in _BITS}
_NAMES: Final = {*_WHOLE, "bool", "boolean", "date", "date32[day]", "date64[ms]"}
_DAYS: Final = ("D", "W", "M", "Y")  # NumPy's units of one or more days


def stated(integers: bool | None, values: Any, *, by_grid: bool) -> bool | None:
    """Return whether the records of a column are whole numbers, or whole days on a grid of times.

    Parameters
    ----------
    integers
        What the caller says; None: nothing.
    values
        The column, in any container.
    by_grid
        Whether the grid says that records are whole. Then its statement is not repeated.

    Returns
    -------
    bool or None
        What the caller says. Otherwise True if the column has a typed schema of whole numbers or
        dates, and None in all other cases: types such as float64 hold whole numbers, too.

    Raises
    ------
    DtypeError
        ``integers`` is not None or a bool.

    Notes
    -----
    Typed schemas are those of NumPy, polars, Arrow and Dask arrays. Types of elements are not
    asked for, because a single record would change the answer. The same holds for dtypes of pandas,
    which follow from the values: one missing value makes int64 float64. O(1).

    Examples
    --------
    >>> import numpy as np
    >>> stated(None, np.array([1, 2]), by_grid=False)
    True
    >>> print(stated(None, [1, 2], by_grid=False))
    None
    """
    if integers is not None and not isinstance(integers, bool):
        raise DtypeError("integers", type(integers).__name__, "must be None or a bool")
    if integers is not None or by_grid:
        return integers
    return True if _has_whole_schema(values) else None


def schema(values: Any) -> str | None:
    """Return the name of a column's type, or None if the values themselves may have chosen it.

    Types of NumPy, polars, Arrow and Dask arrays have a name; for NumPy's times, it ends with the
    unit. Sequences, arrays of objects and columns of pandas have none. O(1).

    Examples
    --------
    >>> import numpy as np
    >>> schema(np.array([1, 2], np.int8)), schema([1, 2])
    ('int8', None)
    """
    library = type(values).__module__.partition(".")[0]
    if library == "pyarrow":
        kind = getattr(values, "type", None)
        kind = getattr(kind, "storage_type", kind)  # extension types
        return str(getattr(kind, "value_type", kind))  # dictionaries
    dtype = getattr(values, "dtype", None)
    if library == "polars":
        return str(dtype).lower()
    is_array = isinstance(values, np.ndarray) or (library == "dask" and hasattr(values, "chunks"))
    if not (is_array and isinstance(dtype, np.dtype)) or dtype.kind == "O":
        return None
    return dtype.name


def _has_whole_schema(values: Any) -> bool:
    name = schema(values)
    if isinstance(getattr(values, "dtype", None), np.dtype) and name is not None:
        if values.dtype.kind in "mM":
            return np.datetime_data(values.dtype)[0] in _DAYS
        return values.dtype.kind in "biu"
    return name in _NAMES
