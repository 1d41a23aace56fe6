"""Columns in partitions, on one machine or many: Dask arrays, and columns of Dask dataframes.

They are recognised by their methods, without importing Dask: without Dask, no such column exists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import _check
from ...errors import DtypeError, ParameterError
from .base import Column, Part
from .sequences import _SequenceColumn

__all__ = ["aligned", "empty", "mapped"]

_REQUIREMENT = "must be a Dask array, or one column of a Dask dataframe"
_PURPOSE = "counting where columns lie"


class _DaskColumn(Column):
    """A Dask array, or a column of a Dask dataframe. Its values are not here."""

    @classmethod
    def takes(cls, container: type, libraries: frozenset[str]) -> bool:
        return "dask" in libraries and hasattr(container, "__dask_graph__")

    @property
    def is_partitioned(self) -> bool:
        return True

    @property
    def schema(self) -> str | None:
        """The type of an array; that of a dataframe's column follows from its values."""
        dtype = getattr(self.values, "dtype", None) if hasattr(self.values, "chunks") else None
        return dtype.name if isinstance(dtype, np.dtype) and dtype.kind != "O" else None

    @property
    def described(self) -> str:
        return super().described.replace("dask", "Dask", 1)

    @property
    def name(self) -> str | None:
        """The name of a column of a dataframe; that of an array is a key."""
        name = None if hasattr(self.values, "chunks") else getattr(self.values, "name", None)
        return name if isinstance(name, str) and name else None

    def _parts(self) -> Iterator[Part]:
        self.check_in_memory()
        return iter(())


class _Wrapper(_SequenceColumn):
    """A container that may wrap a Dask collection. Otherwise it is read as a sequence."""

    generality = 0

    @classmethod
    def takes(cls, container: type, libraries: frozenset[str]) -> bool:
        return "dask" not in libraries and hasattr(container, "__dask_graph__")

    @property
    def is_partitioned(self) -> bool:
        return self.values.__dask_graph__() is not None


def aligned(columns: Sequence[Column]) -> list[Any]:
    """Return columns of the same records, cut into the same partitions. Nothing is computed.

    Parameters
    ----------
    columns
        The columns. At least one of them is a Dask collection.

    Raises
    ------
    DtypeError
        A column is another collection, or none.
    ParameterError
        A column is not one-dimensional; or the columns have different lengths, if these are known,
        or are cut in different ways. Dask arrays of known length are cut again.
    """
    for column in columns:
        argument, values = column.argument, column.values
        is_one = isinstance(column, _DaskColumn) and hasattr(values, "_meta")
        if not (is_one and hasattr(values, "ndim")):
            is_other = column.is_partitioned
            described = column.described if is_other else f"a {type(values).__name__}"
            raise DtypeError(argument, described, _REQUIREMENT)
        if values.ndim != 1 and hasattr(values, "chunks"):
            raise ParameterError(argument, values.shape, "must be one-dimensional")
        if values.ndim != 1:
            raise DtypeError(argument, column.described, _REQUIREMENT)
    first, *others = columns
    return [first.values, *(_cut_like(first, other) for other in others)]


def empty(column: Any) -> Any:
    """Return a column of the same type without records, in memory. Nothing is computed.

    It holds objects if partitions have unknown categories, because Dask assumes text for these.
    """
    none = column._meta
    if hasattr(none.dtype, "categories") and not getattr(column, "cat", column).known:
        none = none.astype(object)
    return none


def mapped(work: Callable[..., Any], columns: Sequence[Any], summary: Any) -> list[Any]:
    """Return a Delayed of ``work(*pieces, summary=summary)`` for each partition.

    If Dask can, it makes this a part of the task that makes the pieces, so they do not travel. A
    source that two columns of one kind share is made once.

    Parameters
    ----------
    work
        A function of the columns of a partition.
    columns
        The columns, cut into the same partitions, as ``aligned`` returns them.
    summary
        A Delayed that all partitions share.
    """
    are_arrays = [hasattr(column, "chunks") for column in columns]
    if all(are_arrays):
        array = _check.extra("dask.array", _PURPOSE, "dask")
        none = np.empty(0, object)
        collection = array.map_blocks(work, *columns, summary=summary, dtype=object, meta=none)
    elif any(are_arrays):
        dask = _check.extra("dask", _PURPOSE, "dask")
        own = dask.delayed(work, pure=False)
        rows = zip(*(column.to_delayed() for column in columns), strict=True)
        return [own(*row, summary=summary) for row in rows]
    else:
        dataframe = _check.extra("dask.dataframe", _PURPOSE, "dask")
        collection = dataframe.map_partitions(
            work,
            *columns,
            summary=summary,
            meta=(None, object),
            enforce_metadata=False,
            align_dataframes=False,
        )
    return list(collection.to_delayed())


def _cut_like(column: Column, other: Column) -> Any:
    """Return the other column, cut like the first one.

    If Dask does not know the lengths of partitions, they are compared when they are counted.
    """
    like, first = column.values, column.argument
    values, argument = other.values, other.argument
    if hasattr(values, "chunks") and hasattr(like, "chunks"):
        own, wanted = values.chunks[0], like.chunks[0]
        if not any(map(math.isnan, (*own, *wanted))):
            if sum(own) != sum(wanted):
                what = f"must have the shape of {first}, {like.shape}"
                raise ParameterError(argument, values.shape, what)
            return values if own == wanted else values.rechunk(like.chunks)
    if values.npartitions != like.npartitions:
        what = f"must have as many partitions as {first}, {like.npartitions}: repartition one"
        raise ParameterError(argument, values.npartitions, what)
    if _divisions(values) and _divisions(like) and values.divisions != like.divisions:
        what = f"must have the divisions of {first}: repartition one"
        raise ParameterError(argument, "others", what)
    return values


def _divisions(values: Any) -> bool:
    return bool(getattr(values, "known_divisions", False))
