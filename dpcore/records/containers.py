"""Containers of columns as NumPy arrays: sequences, masked arrays, pandas, polars and Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DpcoreError, DtypeError, ParameterError
from . import object_kinds
from .partitions import refuse_collection

__all__ = ["Part", "declared", "parts"]

_COLUMN_LIBRARIES: Final = {"pandas": "dtype", "polars": "dtype", "pyarrow": "null_count"}
_WIDE: Final = ("Int128", "UInt128")  # types of polars that NumPy does not have
_STRINGS: Final = ("String", "Utf8", "Categorical", "Enum")  # types of polars
_ONE_COLUMN: Final = 'must be one column, as frame["name"] is'
_EXACT: Final = 2**53  # all integers up to here are doubles


class Part(NamedTuple):
    """Some consecutive values of a column.

    Parameters
    ----------
    present
        The values that the container does not mark as missing. They may still include None and
        the like among objects, NaN among floats, and NaT among times.
    absent
        A mask of all values: which ones the container marks as missing; None if it marks none.
    in_utc
        Whether the values are times of a column with a time zone.
    """

    present: NDArray[Any]
    absent: NDArray[np.bool_] | None
    in_utc: bool = False


def parts(values: Any, argument: str) -> Iterator[Part]:
    """Yield a column's values in order.

    Raises
    ------
    DtypeError, ParameterError
        dpcore does not know this kind of column. The error depends on types and shapes alone.
    """
    refuse_collection(values, argument)
    library = _library(values)
    if library in _COLUMN_LIBRARIES and not hasattr(values, _COLUMN_LIBRARIES[library]):
        raise DtypeError(argument, f"a {library} {type(values).__name__}", _ONE_COLUMN)
    if isinstance(values, str):
        raise DtypeError(argument, "a str", f"{_ONE_COLUMN}, and not its name")
    try:
        if library == "pandas":
            yield _of_pandas(values, argument)
        elif library == "polars":
            yield _of_polars(values)
        elif library == "pyarrow":
            for chunk in values.chunks if hasattr(values, "chunks") else [values]:
                yield _of_arrow(chunk, argument)
        elif isinstance(values, np.ma.MaskedArray):
            yield _of_masked(values, argument)
        else:
            yield Part(_of_sequence(values), None)
        return
    except (DpcoreError, MemoryError):
        raise
    except Exception:  # any error of the container's library
        what = "must be a one-dimensional array, or one column, of a type that dpcore knows"
        problem = DtypeError(argument, f"a {type(values).__name__}", what)
    # Outside the handler, because the caught error may quote values and would be the context.
    raise problem


def declared(values: Any) -> type | None:
    """Return str or bytes, if a column's type says that it holds them, whatever is missing."""
    library = _library(values)
    if library == "pandas":
        dtype = getattr(values, "dtype", None)
        dtype = getattr(getattr(dtype, "categories", values), "dtype", None)
        try:
            kind = getattr(dtype, "type", None)
        except NotImplementedError:  # an Arrow type that pandas has no name for
            return None
        return next((cls for cls in (str, bytes) if kind is cls), None)
    if library == "polars":
        name = str(values.dtype.base_type()) if hasattr(values, "dtype") else ""
        return str if name in _STRINGS else bytes if name == "Binary" else None
    if library == "pyarrow" and hasattr(values, "type"):
        name = str(getattr(values.type, "value_type", values.type))
        name = name.removeprefix("large_").removesuffix("_view")
        return {"string": str, "binary": bytes}.get(name)
    return None


def _library(values: Any) -> str:
    return str(type(values).__module__).partition(".")[0]


def _of_pandas(values: Any, argument: str) -> Part:
    if values.dtype == object:  # objects are checked one by one
        return Part(values.to_numpy(), None)
    zone = getattr(values.dtype, "tz", None)
    if (arrow := getattr(values.dtype, "pyarrow_dtype", None)) is not None:
        _check_arrow(arrow, argument)
        if _ticks(arrow) is not None:
            import pyarrow as pa

            array = pa.array(values)
            return _of_arrow(getattr(array, "combine_chunks", lambda: array)(), argument)
    # All categories are kept, because it is private which of them have records.
    elif len({_kind_among(category) for category in _objects_among(values.dtype)}) > 1:
        raise DtypeError(argument, "categories of several types", "must be of one kind")
    absent = np.asarray(values.isna(), bool)
    absent_or_none = absent if absent.any() else None
    kept = values if absent_or_none is None else values.dropna()
    if zone is not None:
        in_utc = kept.to_numpy(dtype=f"datetime64[{kept.dtype.unit}]")
        return Part(in_utc, absent_or_none, in_utc=True)
    kind = getattr(kept.dtype, "numpy_dtype", None)  # for nullable and Arrow-backed types
    if getattr(kind, "kind", None) in ("U", "S"):  # NumPy's text loses null characters at its end
        kind = np.dtype(object)
    return Part(kept.to_numpy() if kind is None else kept.to_numpy(dtype=kind), absent_or_none)


def _objects_among(dtype: Any) -> Any:
    """Return the categories of a pandas dtype, if they are of no dtype of their own."""
    categories = getattr(dtype, "categories", None)
    is_of_objects = getattr(getattr(categories, "dtype", None), "kind", None) == "O"
    return categories if is_of_objects else ()


def _kind_among(category: Any) -> str:
    """Return the kind of a category; times have more than one."""
    kind = object_kinds.kind_of(type(category))
    if kind != "other":
        return kind
    return f"{type(category).__name__}, {getattr(category, 'tzinfo', None) is None}"


def _of_polars(values: Any) -> Part:
    absent = values.is_null().to_numpy() if values.null_count() else None
    kept = values if absent is None else values.drop_nulls()
    if str(kept.dtype) == "Null":  # nulls alone fit any type, as None does
        return Part(np.empty(0, object), absent)
    if str(kept.dtype) in _WIDE:
        return Part(np.fromiter(kept.to_list(), object, len(kept)), absent)
    in_utc = getattr(kept.dtype, "time_zone", None) is not None
    return Part(kept.to_numpy(), absent, in_utc)


def _check_arrow(kind: Any, argument: str) -> None:
    """Check that an Arrow type has one number, boolean, time or text for each record.

    With other types it depends on values whether, and how, Arrow fails to make objects of them.
    """
    from pyarrow import types

    kind = getattr(kind, "storage_type", kind)  # extension types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        kind = kind.value_type
    known = (
        types.is_null,
        types.is_boolean,
        types.is_integer,
        types.is_floating,
        types.is_decimal,
        *(types.is_timestamp, types.is_date, types.is_duration),
        *(types.is_string, types.is_large_string, types.is_string_view),
        *(types.is_binary, types.is_large_binary, types.is_binary_view),
        types.is_fixed_size_binary,
    )
    if not any(is_one(kind) for is_one in known):
        name = str(kind).partition("<")[0]  # fields may be named after keys in records
        raise DtypeError(
            argument, f"a column of {name}", "must be one column of numbers, dates or text"
        )


def _of_arrow(chunk: Any, argument: str) -> Part:
    """Return an Arrow array, of objects if it holds neither numbers nor times."""
    import pyarrow as pa

    _check_arrow(chunk.type, argument)
    if pa.types.is_dictionary(chunk.type):  # nulls may also be among the dictionary's words
        chunk = chunk.dictionary_decode()
    elif pa.types.is_run_end_encoded(chunk.type):
        import pyarrow.compute as pc  # a tenth of a second, on first use

        chunk = pc.run_end_decode(chunk)
    absent = np.asarray(chunk.is_null(), bool) if chunk.null_count else None
    is_number = pa.types.is_integer(chunk.type) or pa.types.is_floating(chunk.type)
    ticks = None if is_number else _ticks(chunk.type)
    if not (is_number or ticks or pa.types.is_boolean(chunk.type)):
        objects = chunk.to_numpy(zero_copy_only=False)
        return Part(objects if absent is None else objects[~absent], absent)
    if absent is not None:  # drop_null does not support every other type
        chunk = chunk.drop_null()
    if not (is_number or ticks):
        return Part(chunk.to_numpy(zero_copy_only=False), absent)
    # This is a view of the buffer. to_numpy would import pandas, which takes half a second.
    kind = "f" if pa.types.is_floating(chunk.type) else "i"
    kind = "u" if pa.types.is_unsigned_integer(chunk.type) else kind
    numbers = np.frombuffer(chunk.buffers()[1], f"{kind}{chunk.type.bit_width // 8}")
    numbers = numbers[chunk.offset : chunk.offset + len(chunk)]
    if ticks is None:
        return Part(numbers, absent)
    times = numbers.astype(np.int64, copy=False).view(ticks)
    return Part(times, absent, in_utc=getattr(chunk.type, "tz", None) is not None)


def _ticks(kind: Any) -> str | None:
    """Return NumPy's dtype of an Arrow type of dates, times or durations; None of others."""
    from pyarrow import types

    if types.is_duration(kind):
        return f"m8[{kind.unit}]"
    if types.is_date(kind):
        return "M8[D]" if types.is_date32(kind) else "M8[ms]"
    return f"M8[{kind.unit}]" if types.is_timestamp(kind) else None


def _of_masked(values: np.ma.MaskedArray[Any, Any], argument: str) -> Part:
    if values.ndim != 1:
        raise ParameterError(argument, values.shape, "must be one-dimensional")
    absent = np.ma.getmaskarray(values)
    return Part(values.compressed(), absent if absent.any() else None)


def _is_buffer(cls: type) -> bool:
    """Return whether objects of a type are bytes that NumPy reads as rows of integers."""
    return issubclass(cls, bytearray | memoryview)


def _of_sequence(values: Any) -> NDArray[Any]:
    """Return an array, or a sequence as one of a real dtype if that loses nothing, or of objects.

    NumPy finds a type that holds all of the values: doubles for 2**63 and -1, text for "a" and 1.
    Which one it is depends on the values, so it is taken only where it makes no difference.
    """
    try:
        array: NDArray[Any] | None = np.asarray(values)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # rows of several lengths, or bytes that are not ASCII beside text
        array = None
    if hasattr(type(values), "__array__") or isinstance(values, str | bytes):
        if array is None:
            raise TypeError
        return array
    if array is not None and array.ndim > 1 and any(map(_is_buffer, set(map(type, values)))):
        return np.fromiter(values, object, len(values))  # their lengths are no second axis
    if array is not None and (array.ndim != 1 or array.dtype.kind in "biu"):
        return array
    if array is not None and array.size == 0:
        return array.astype(object)  # a column without a type
    may_be_rounded = False
    if array is not None and array.dtype.kind == "f":
        may_be_rounded = array.dtype.itemsize >= 8 and bool((np.abs(array) >= _EXACT).any())
        if not may_be_rounded or all(issubclass(cls, float) for cls in set(map(type, values))):
            return array
    objects = object_kinds.unwrapped(np.fromiter(values, object, len(values)))
    if may_be_rounded and "other" in map(object_kinds.kind_of, set(map(type, objects))):
        assert array is not None
        return array  # NumPy has number types that dpcore does not support
    return objects
