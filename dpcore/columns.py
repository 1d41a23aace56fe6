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

from .errors import DtypeError, MissingValueError, ParameterError

__all__ = ["Chunk", "chunks", "whole"]

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
    for array in _arrays(values, argument):
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
    """Return a column in one piece, for records that other columns go with.

    Raises
    ------
    MissingValueError
        The container marks some values as missing: leaving them out would shift the others.
    DtypeError, ParameterError
        As in ``chunks``.
    """
    parts: list[Any] = []
    for part in chunks(values, argument):
        if part is None:
            raise MissingValueError(argument)
        parts.append(part)
    whole: Chunk = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return whole


def _arrays(values: Any, argument: str) -> Iterator[NDArray[Any] | None]:
    """Yield NumPy arrays without nulls, and None where there were nulls."""
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
