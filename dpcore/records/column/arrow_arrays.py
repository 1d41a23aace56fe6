"""Columns that are arrays of Arrow, or that any library exports as such."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import DtypeError, amount
from .base import Column, Part

__all__: list[str] = []

_CAPSULES: Final = ("__arrow_c_stream__", "__arrow_c_array__")
_PROTOCOLS: Final = (*_CAPSULES, "__dataframe__")
_TEXT: Final = {"string": str, "binary": bytes}


class _ArrowColumn(Column):
    """An array of Arrow, or a container of another library that exports one, or one-column tables.

    Such a container offers Arrow's capsules or the dataframe interchange protocol. It is exported
    once, when it is first asked. Its schema is that of the exported array. But the interchange
    protocol is that of data frames like pandas', whose dtypes follow from the values: it states
    none.
    """

    __slots__ = ("_exported",)

    library = "pyarrow"
    generality = 1

    def __init__(self, values: Any, argument: str) -> None:
        super().__init__(values, argument)
        is_here = type(values).__module__.partition(".")[0] == self.library
        self._exported: Any = values if is_here else None

    @classmethod
    def takes(cls, container: type, libraries: frozenset[str]) -> bool:
        is_exported = any(hasattr(container, protocol) for protocol in _PROTOCOLS)
        # Without Arrow, the container may still have ``__array__``.
        return cls.library in libraries or (is_exported and find_spec(cls.library) is not None)

    @property
    def _is_interchanged(self) -> bool:
        """Whether the container offers nothing but the dataframe interchange protocol."""
        return self._exported is not self.values and not any(
            hasattr(self.values, protocol) for protocol in _CAPSULES
        )

    @property
    def _array(self) -> Any:
        if self._exported is None:
            self._exported = self._quietly(self._export)
        return self._exported

    @property
    def schema(self) -> str | None:
        if self._is_interchanged:
            return None
        kind = getattr(self._array, "type", None)
        kind = getattr(kind, "storage_type", kind)  # extension types
        return str(getattr(kind, "value_type", kind))  # dictionaries

    @property
    def column_names(self) -> Sequence[str]:
        """Those of a table of Arrow; or those that another library lists."""
        names = getattr(self.values, "column_names", getattr(self.values, "columns", ()))
        return [str(name) for name in names] if isinstance(names, Iterable) else ()

    @property
    def columns(self) -> Sequence[Column]:
        is_here = self._exported is self.values
        if not is_here and hasattr(self.values, "__array__"):  # perhaps a table
            return ()
        if not (is_here and hasattr(self.values, "column_names")):
            return [self]
        return [Column.of(one, self.argument) for one in self.values.columns]

    @property
    def text_type(self) -> type | None:
        kind = getattr(self._array, "type", None)
        name = str(getattr(kind, "value_type", kind))
        return _TEXT.get(name.removeprefix("large_").removesuffix("_view"))

    def _parts(self) -> Iterator[Part]:
        array = self._array
        if not hasattr(array, "null_count"):
            raise self._not_one()
        for chunk in getattr(array, "chunks", [array]):
            yield _part(chunk, self.argument)._replace(is_typed=not self._is_interchanged)

    def _coded(self) -> Iterator[tuple[Part, NDArray[np.integer[Any]] | None]]:
        import pyarrow as pa

        array = self._array
        if not hasattr(array, "null_count"):
            raise self._not_one()
        typed = not self._is_interchanged
        for chunk in getattr(array, "chunks", [array]):
            _check(chunk.type, self.argument)
            kind = str(chunk.type)
            words = chunk.dictionary_encode() if kind.removeprefix("large_") in _TEXT else chunk
            if not pa.types.is_dictionary(words.type):
                yield _part(chunk, self.argument)._replace(is_typed=typed), None
                continue
            numbers, absent, *_ = _part(words.indices, self.argument)
            codes = numbers if absent is None else np.full(absent.size, -1, np.int64)
            if absent is not None:
                codes[~absent] = numbers
            yield _part(words.dictionary, self.argument)._replace(is_typed=typed), codes

    def _export(self) -> Any:
        import pyarrow as pa

        if hasattr(self.values, "__arrow_c_stream__"):
            array = pa.chunked_array(self.values)
        elif hasattr(self.values, "__arrow_c_array__"):
            array = pa.array(self.values)
        else:
            from pyarrow.interchange import from_dataframe

            array = from_dataframe(self.values).to_struct_array()
        if not pa.types.is_struct(array.type):
            return array
        if array.type.num_fields != 1:
            raise self._not_one(f"a table of {amount(array.type.num_fields, 'column')}")
        return array.flatten()[0]  # a missing row is a missing value


def _check(kind: Any, argument: str) -> None:
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


def _part(chunk: Any, argument: str) -> Part:
    """Return an Arrow array, of objects if it holds neither numbers nor times."""
    import pyarrow as pa

    _check(chunk.type, argument)
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
