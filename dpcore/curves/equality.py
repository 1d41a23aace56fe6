"""Equality by value of what holds arrays, and a hash that agrees."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ..summaries.grid import Grid
from ..summaries.table_grid import TableGrid

__all__ = ["EqualByValue"]


class EqualByValue:
    """For dataclasses with ``eq=False``: equal if they are of one class, with equal fields.

    Arrays are equal if all of their numbers are: 2 and 2.0 are. So are grids, of which it matters
    here, too, where their first cells begin.
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
    return bool(ours == theirs) and _starts(ours) == _starts(theirs)


def _starts(value: Any) -> list[float]:
    """Return where first cells begin: what is read off them differs, and the grids are equal."""
    grids = (value.x, value.y) if isinstance(value, TableGrid) else (value,)
    return [grid.start for grid in grids if isinstance(grid, Grid)]


def _key(value: Any) -> Hashable:
    """Return what is alike for equal values."""
    if isinstance(value, np.ndarray):
        return (value.astype(np.float64) + 0.0).tobytes()  # -0.0 becomes 0.0, which it equals
    if isinstance(value, Mapping):
        return frozenset(value)  # its names: what they stand for may have no hash
    return value  # type: ignore[no-any-return]
