"""Columns of records, from whatever holds them, as chunks of float64 or float32.

Every value reaches the kernels *rounded up* to a double. Thresholds are doubles, so x <= tau says
the same before and after, for integers of 64 bits and long doubles too: counts are exact for
every real dtype.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DtypeError, ParameterError

__all__ = ["Chunk", "absent", "absent_objects", "arrays", "chunks", "whole"]

Chunk = NDArray[np.float64] | NDArray[np.float32]

_CHUNK = 2**16  # values converted at a time: half a megabyte of doubles
_COLUMN_LIBRARIES = {"pandas": "dtype", "polars": "dtype", "pyarrow": "null_count"}  # not of tables
_EXACT = 2**53  # integers up to here are doubles


def chunks(values: Any, argument: str = "values") -> Iterator[Chunk | None]:
    """Yield a column's values; None stands for missing ones that the container marks apart.

    NumPy arrays of any real dtype, sequences of numbers, pandas and polars series, Arrow arrays.
    Memory beyond the input: one chunk, unless the container itself has to convert.

    Raises
    ------
    DtypeError
        The column is not of a real number type.
    ParameterError
        The values are not one-dimensional.
    """
    for array in arrays(values, argument):
        if array is None:
            yield None
            continue
        if array.dtype.kind not in "biuf":
            raise DtypeError(argument, f"dtype {array.dtype}", "must hold real numbers")
        if array.ndim != 1:
            raise ParameterError(argument, array.shape, "must be one-dimensional")
        if array.dtype in (np.float64, np.float32) and array.flags.c_contiguous:
            yield array
            continue
        for start in range(0, array.size, _CHUNK):
            yield _rounded_up(array[start : start + _CHUNK])


def whole(values: Any, argument: str) -> Chunk:
    """Return a column in one piece, NaN where values are missing, to go with other columns.

    Raises
    ------
    DtypeError, ParameterError
        As in ``chunks``.
    """
    parts: list[Any] = []
    is_complete = True
    for part in chunks(values, argument):
        is_complete &= part is not None
        if part is not None:
            parts.append(part)
    whole: Chunk = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])
    if not is_complete and (missing := absent(values, argument)) is not None:
        present, whole = whole, np.full(missing.size, np.nan)
        whole[~missing] = present
    return whole


def absent(values: Any, argument: str = "values") -> NDArray[np.bool_] | None:
    """Return which values the container marks as missing, or None if it marks none.

    Of NumPy's arrays those of objects do, by None and NaN; NaN among floats is not looked for.
    """
    library = type(values).__module__.partition(".")[0]
    if library == "pandas":
        return np.asarray(values.isna())
    if library in ("polars", "pyarrow"):
        return np.asarray(values.is_null(), bool)
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.getmaskarray(values)
    (array,) = arrays(values, argument)
    assert array is not None
    return absent_objects(array) if array.dtype.kind == "O" else None


def absent_objects(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which objects stand for a missing value: None, NaN, and what cannot be compared."""
    return np.fromiter(map(_is_absent, array.flat), bool, array.size)


def _is_absent(value: object) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA
        return True


def arrays(values: Any, argument: str) -> Iterator[NDArray[Any] | None]:
    """Yield NumPy arrays without nulls, and None where there were nulls.

    An array of objects is yielded as it is, with what ``absent_objects`` finds in it.
    """
    library = type(values).__module__.partition(".")[0]
    if library in _COLUMN_LIBRARIES and not hasattr(values, _COLUMN_LIBRARIES[library]):
        raise DtypeError(argument, f"a {library} {type(values).__name__}", "must be one column")
    if library == "pandas":
        if values.isna().any():
            yield None
            values = values.dropna()
        kind = getattr(values.dtype, "numpy_dtype", None)  # nullable and Arrow-backed types
        yield values.to_numpy() if kind is None else values.to_numpy(dtype=kind)
    elif library == "polars":
        if values.null_count():
            yield None
            values = values.drop_nulls()
        yield values.to_numpy()
    elif library == "pyarrow":
        for chunk in values.chunks if hasattr(values, "chunks") else [values]:
            if chunk.null_count:
                yield None
                chunk = chunk.drop_null()
            yield _from_arrow(chunk)
    elif isinstance(values, np.ma.MaskedArray):
        if values.ndim != 1:
            raise ParameterError(argument, values.shape, "must be one-dimensional")
        if np.ma.getmaskarray(values).any():
            yield None
        yield values.compressed()
    else:
        try:
            yield np.asarray(values)
        except (TypeError, ValueError):
            raise DtypeError(
                argument, type(values).__name__, "must be a one-dimensional array of real numbers"
            ) from None


def _from_arrow(chunk: Any) -> NDArray[Any]:
    """Return an Arrow array without nulls as a NumPy array, of objects if it holds no numbers."""
    import pyarrow as pa

    if not (pa.types.is_integer(chunk.type) or pa.types.is_floating(chunk.type)):
        array: NDArray[Any] = chunk.to_numpy(zero_copy_only=False)
        return array
    # A view of the buffer: to_numpy would import pandas, which takes half a second.
    numbers = np.frombuffer(chunk.buffers()[1], chunk.type.to_pandas_dtype())
    return numbers[chunk.offset : chunk.offset + len(chunk)]


def _rounded_up(values: NDArray[Any]) -> Chunk:
    """Return the least doubles that are not below the values (NaN stays NaN)."""
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        return values.astype(np.float32)
    if values.dtype == np.float64:
        return values.astype(np.float64)  # contiguous, in this machine's byte order
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
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
    """Replace doubles that are below what they stand for by the next ones."""
    return np.where(below, np.nextafter(nearest, np.inf), nearest)
