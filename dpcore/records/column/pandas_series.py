"""Columns that are series, indices or arrays of pandas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DtypeError
from .. import object_kinds, times
from .base import Column, Part

__all__: list[str] = []


class _PandasColumn(Column):
    """A column of pandas; or a table or something else, which is refused when it is read.

    It has no schema, and its parts no type, because its dtype follows from the values: one missing
    value changes it.
    """

    library = "pandas"

    @property
    def type_name(self) -> str:
        return str(getattr(self.values, "dtype", ""))

    @property
    def text_type(self) -> type | None:
        dtype = getattr(self.values, "dtype", None)
        dtype = getattr(getattr(dtype, "categories", self.values), "dtype", None)
        try:
            kind = getattr(dtype, "type", None)
        except NotImplementedError:  # an Arrow type that pandas has no name for
            return None
        return next((cls for cls in (str, bytes) if kind is cls), None)

    @property
    def name(self) -> str | None:
        name = getattr(self.values, "name", None)
        return name if isinstance(name, str) and name else None

    @property
    def column_names(self) -> Sequence[str]:
        return [str(name) for name in getattr(self.values, "columns", ())]

    @property
    def columns(self) -> Sequence[Column]:
        if not hasattr(self.values, "iloc") or self.values.ndim == 1:
            return [self]
        places = range(self.values.shape[1])  # two columns may have one name
        return [Column.of(self.values.iloc[:, at], self.argument) for at in places]

    @property
    def index(self) -> Any:
        return getattr(self.values, "index", None) if hasattr(self.values, "iloc") else None

    def only(self) -> Column:
        is_table = hasattr(self.values, "iloc") and self.values.shape[1:] == (1,)
        return Column.of(self.values.iloc[:, 0], self.argument) if is_table else self

    def _parts(self) -> Iterator[Part]:
        values = self.values
        if not hasattr(values, "dtype"):
            raise self._not_one()
        if hasattr(values.dtype, "pyarrow_dtype"):
            import pyarrow as pa

            for part in Column.of(pa.array(values), self.argument).parts():
                yield part._replace(is_typed=False)
        elif getattr(values.dtype, "numpy_dtype", values.dtype) == np.dtype(object):
            yield Part(np.asarray(values), None, is_typed=False)  # they are checked one by one
        else:
            self._check_categories()
            yield _part(values)

    def _coded(self) -> Iterator[tuple[Part, NDArray[np.integer[Any]] | None]]:
        values = self.values
        dtype: Any = getattr(values, "dtype", None)
        if hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", "") == "pyarrow":
            import pyarrow as pa

            for part, codes in Column.of(pa.array(values), self.argument).coded_parts():
                yield part._replace(is_typed=False), codes
            return
        if hasattr(dtype, "categories"):
            self._check_categories()
            words = list(Column.of(dtype.categories, self.argument).parts())
            if len(words) == 1 and words[0].absent is None:
                yield words[0]._replace(is_typed=False), getattr(values, "array", values).codes
                return
        yield from super()._coded()

    def _check_categories(self) -> None:
        """Refuse categories of several kinds: all, as it is private which of them have records."""
        if len({_kind_among(category) for category in _objects_among(self.values.dtype)}) > 1:
            raise DtypeError(self.argument, "categories of several types", "must be of one kind")


def _part(values: Any) -> Part:
    """Return a column that is neither of objects nor Arrow's."""
    absent = np.asarray(values.isna(), bool)
    absent_or_none = absent if absent.any() else None
    kept = values if absent_or_none is None else values.dropna()
    if getattr(kept.dtype, "tz", None) is not None:
        in_utc = kept.to_numpy(dtype=f"datetime64[{kept.dtype.unit}]")
        return Part(in_utc, absent_or_none, in_utc=True, is_typed=False)
    kind = getattr(kept.dtype, "numpy_dtype", None)  # for nullable types
    present = kept.to_numpy() if kind is None else kept.to_numpy(dtype=kind)
    return Part(present, absent_or_none, is_typed=False)


def _objects_among(dtype: Any) -> Any:
    """Return the categories of a pandas dtype, if they are of no dtype of their own."""
    categories = getattr(dtype, "categories", None)
    is_of_objects = getattr(getattr(categories, "dtype", None), "kind", None) == "O"
    return categories if is_of_objects else ()


def _kind_among(category: Any) -> str:
    """Return the kind of a category; the kind of a time is its unit."""
    kind = object_kinds.kind_of(type(category))
    if kind != "other":
        return kind
    return str(times.unit_of_array(np.array([category], object), in_utc=False))
