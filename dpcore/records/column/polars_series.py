"""Columns that are series of polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .base import Column, Part

__all__: list[str] = []

_WIDE: Final = ("Int128", "UInt128")  # types that NumPy does not have
_STRINGS: Final = ("String", "Utf8", "Categorical", "Enum")


class _PolarsColumn(Column):
    """A series of polars; or something else of polars, which is refused when it is read."""

    library = "polars"

    @property
    def schema(self) -> str | None:
        return str(getattr(self.values, "dtype", None)).lower()

    @property
    def text_type(self) -> type | None:
        name = str(self.values.dtype.base_type()) if hasattr(self.values, "dtype") else ""
        return str if name in _STRINGS else bytes if name == "Binary" else None

    @property
    def name(self) -> str | None:
        return str(getattr(self.values, "name", "")) or None

    @property
    def column_names(self) -> Sequence[str]:
        return list(getattr(self.values, "columns", ()))

    @property
    def columns(self) -> Sequence[Column]:
        if not hasattr(self.values, "get_columns"):
            is_of_rows = hasattr(getattr(self.values, "dtype", None), "shape")  # pl.Array
            return () if is_of_rows else [self]
        return [Column.of(one, self.argument) for one in self.values.get_columns()]

    @property
    def categories(self) -> Sequence[str] | None:
        """Those of an Enum. Other categories may have been made from the data."""
        dtype: Any = getattr(self.values, "dtype", None)
        return list(dtype.categories) if type(dtype).__name__ == "Enum" else None

    def only(self) -> Column:
        is_table = hasattr(self.values, "to_series") and self.values.shape[1] == 1
        return Column.of(self.values.to_series(), self.argument) if is_table else self

    def _coded(self) -> Iterator[tuple[Part, NDArray[np.integer[Any]] | None]]:
        name = str(self.values.dtype.base_type()) if hasattr(self.values, "dtype") else ""
        if name in ("String", "Utf8") and find_spec("pyarrow") is not None:
            yield from Column.of(self.values.to_arrow(), self.argument).coded_parts()
        elif name in ("Categorical", "Enum"):
            kept = self.values.drop_nulls()
            words = kept.unique()
            numbers = words.to_physical().to_numpy()
            code = np.zeros(int(numbers.max(initial=0)) + 1, np.int32)
            code[numbers] = np.arange(numbers.size)
            codes = np.full(len(self.values), -1, np.int32)
            codes[self.values.is_not_null().to_numpy()] = code[kept.to_physical().to_numpy()]
            yield Part(words.to_numpy(), None), codes
        else:
            yield from super()._coded()

    def _parts(self) -> Iterator[Part]:
        if not hasattr(self.values, "dtype"):
            raise self._not_one()
        absent = self.values.is_null().to_numpy() if self.values.null_count() else None
        kept = self.values if absent is None else self.values.drop_nulls()
        if str(kept.dtype) == "Null":  # nulls alone fit any type, as None does
            yield Part(np.empty(0, object), absent)
        elif str(kept.dtype) in _WIDE:
            yield Part(np.fromiter(kept.to_list(), object, len(kept)), absent)
        else:
            in_utc = getattr(kept.dtype, "time_zone", None) is not None
            yield Part(kept.to_numpy(), absent, in_utc)
