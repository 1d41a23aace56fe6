"""Columns in partitions, on one machine or many: Dask arrays, and columns of Dask dataframes.

They are recognised by their methods, without importing Dask: without Dask, no such column exists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _check
from ..errors import DtypeError, ParameterError

__all__ = ["aligned", "empty", "is_collection", "mapped", "refuse_collection"]

_REQUIREMENT = "must be a Dask array, or one column of a Dask dataframe"
_PURPOSE = "counting where columns lie"


def is_collection(values: Any) -> bool:
    """Return whether a column is made by Dask, and its values are not here."""
    if getattr(type(values), "__dask_graph__", None) is None:
        return False
    return _is_dask(values) or values.__dask_graph__() is not None  # a wrapper of a Dask collection


def refuse_collection(values: Any, argument: str) -> None:
    """Refuse to fetch a column, because nobody has asked for that.

    Raises
    ------
    DtypeError
        It is a Dask collection, or a list of some.
    """
    column = values[0] if isinstance(values, list | tuple) and values else values
    if is_collection(column):
        what = "must be in memory: this needs all records in one place (docs/guides/large-data.md)"
        raise DtypeError(argument, _name(column), what)


def aligned(columns: Mapping[str, Any]) -> list[Any]:
    """Return columns of the same records, cut into the same partitions. Nothing is computed.

    Parameters
    ----------
    columns
        The columns by argument. At least one of them is a Dask collection.

    Raises
    ------
    DtypeError
        A column is another collection, or none.
    ParameterError
        A column is not one-dimensional; or the columns have different lengths, if these are known,
        or are cut in different ways. Dask arrays of known length are cut again.
    """
    for argument, values in columns.items():
        if not (_is_dask(values) and hasattr(values, "_meta") and hasattr(values, "ndim")):
            description = _name(values) if is_collection(values) else f"a {type(values).__name__}"
            raise DtypeError(argument, description, _REQUIREMENT)
        if values.ndim != 1 and hasattr(values, "chunks"):
            raise ParameterError(argument, values.shape, "must be one-dimensional")
        if values.ndim != 1:
            raise DtypeError(argument, _name(values), _REQUIREMENT)
    (first, like), *others = columns.items()
    return [like, *(_cut_like(values, like, argument, first) for argument, values in others)]


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


def _cut_like(values: Any, like: Any, argument: str, first: str) -> Any:
    """Return a column that is cut like the first one.

    If Dask does not know the lengths of partitions, they are compared when they are counted.
    """
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


def _is_dask(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "dask"


def _name(values: Any) -> str:
    library = "Dask" if _is_dask(values) else type(values).__module__.partition(".")[0]
    return f"a {library} {type(values).__name__}"
