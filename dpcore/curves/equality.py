"""Equality by value for objects that hold arrays, with a matching hash."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ..summaries.grid import Grid
from ..summaries.table_grid import TableGrid

__all__ = ["EqualByValue"]


class EqualByValue:
    """A base of dataclasses with ``eq=False``: equal are those of one class with equal fields.

    Arrays are equal if all of their numbers are equal. 2 and 2.0 are. Grids are equal if their
    thresholds are equal and, here, their first cells begin at the same place, and both or neither
    state that records are whole numbers.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or all(map(_are_equal, _values(self), _values(other)))

    def __hash__(self) -> int:
        return hash((type(self), *map(_key, _values(self))))


def _values(released: Any) -> list[Any]:
    return [getattr(released, field.name) for field in fields(released)]


def _are_equal(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, np.ndarray) or isinstance(theirs, np.ndarray):
        return ours is theirs or np.array_equal(ours, theirs)
    return bool(ours == theirs) and _stated(ours) == _stated(theirs)


def _stated(value: Any) -> list[tuple[float, bool]]:
    """Return what readings of curves depend on, and equality of grids does not."""
    grids = (value.x, value.y) if isinstance(value, TableGrid) else (value,)
    return [(grid.start, grid.of_integers) for grid in grids if isinstance(grid, Grid)]


def _key(value: Any) -> Hashable:
    """Return a key that is equal for equal values."""
    if isinstance(value, np.ndarray):
        return (value.astype(np.float64) + 0.0).tobytes()  # -0.0 becomes 0.0
    if isinstance(value, Mapping):
        return frozenset(value)  # names alone: the values may have no hash
    return value  # type: ignore[no-any-return]
