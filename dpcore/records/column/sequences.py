"""Columns that are sequences, or anything else of which NumPy makes an array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ... import _check
from .. import object_kinds
from .base import Column, Part

__all__: list[str] = []

_EXACT: Final = 2**53  # all integers up to here are doubles


class _SequenceColumn(Column):
    """A sequence of numbers, times or labels, or an object with ``__array__``.

    It has no schema, because the values may have chosen the type.
    """

    generality = 2

    @classmethod
    def takes(cls, container: type, libraries: frozenset[str]) -> bool:
        return True

    def only(self) -> Column:
        if not isinstance(self.values, list | tuple):
            return self
        rows = all(isinstance(row, list | tuple) and len(row) == 1 for row in self.values)
        return Column.of([row[0] for row in self.values], self.argument) if rows else self

    def check_in_memory(self) -> None:
        """Refuse a list of Dask collections, too, of which NumPy would make an array."""
        super().check_in_memory()
        if isinstance(self.values, list | tuple) and self.values:
            first = Column.of(self.values[0], self.argument)
            if first.is_partitioned:
                first.check_in_memory()

    def as_labels(self, part: Part) -> NDArray[Any]:
        """Return labels as objects, if the values have chosen an array of floats.

        All of them may be missing labels of text, and a single record with a text would change the
        array's dtype.
        """
        array = part.present
        is_chosen = not (part.is_typed or hasattr(type(self.values), "__array__"))
        if is_chosen and array.dtype.kind == "f" and array.ndim == 1:
            return np.fromiter(self.values, object, array.size)
        return array

    def _parts(self) -> Iterator[Part]:
        if isinstance(self.values, str):
            raise self._not_one("a str", ", and not its name")
        is_typed = hasattr(self.values, "dtype") or hasattr(self.values, "type")
        yield Part(_array(self.values), None, is_typed=is_typed)


def _is_buffer(cls: type) -> bool:
    """Return whether objects of a type are bytes that NumPy reads as rows of integers."""
    return issubclass(cls, bytearray | memoryview)


def _array(values: Any) -> NDArray[Any]:
    """Return an array, or a sequence as one of a real dtype if that loses nothing, or of objects.

    NumPy finds a type that holds all of the values: doubles for 2**63 and -1, text for "a" and 1.
    Which one it is depends on the values, so it is taken only where it makes no difference.
    """
    array: NDArray[Any] | None = None
    try:
        if not _check.is_masked(values):  # NumPy would read what a mask hides, or warn of it
            array = np.asarray(values)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # rows of several lengths, or bytes that are not ASCII beside text
        pass
    if hasattr(type(values), "__array__") or isinstance(values, str | bytes):
        if array is None:
            raise TypeError
        return array
    if array is not None and array.ndim > 1 and any(map(_is_buffer, set(map(type, values)))):
        return np.fromiter(values, object, len(values))  # their lengths are no second axis
    if array is not None and array.ndim != 1:
        return array
    if array is not None and array.dtype.kind in "biu":
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
