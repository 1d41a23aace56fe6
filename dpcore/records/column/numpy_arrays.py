"""Columns that are arrays of NumPy, also masked ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .. import doubles
from .base import Column, Part

__all__: list[str] = []


class _NumpyColumn(Column):
    """An array, perhaps masked. Arrays of objects have no schema."""

    @classmethod
    def takes(cls, container: type, libraries: frozenset[str]) -> bool:
        return issubclass(container, np.ndarray)

    @property
    def schema(self) -> str | None:
        return None if self.values.dtype.kind == "O" else str(self.values.dtype.name)

    def only(self) -> Column:
        is_column = self.values.ndim == 2 and self.values.shape[1] == 1
        return Column.of(self.values[:, 0], self.argument) if is_column else self

    def _parts(self) -> Iterator[Part]:
        if not isinstance(self.values, np.ma.MaskedArray):
            yield Part(np.asarray(self.values), None)
            return
        doubles.check_one_axis(self.argument, self.values.shape)
        absent = np.ma.getmaskarray(self.values)
        yield Part(self.values.compressed(), absent if absent.any() else None)
