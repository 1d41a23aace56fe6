"""Columns that are series of polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

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
    def categories(self) -> Sequence[str] | None:
        """Those of an Enum. Other categories may have been made from the data."""
        dtype: Any = getattr(self.values, "dtype", None)
        return list(dtype.categories) if type(dtype).__name__ == "Enum" else None

    def only(self) -> Column:
        is_table = hasattr(self.values, "to_series") and self.values.shape[1] == 1
        return Column.of(self.values.to_series(), self.argument) if is_table else self

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
