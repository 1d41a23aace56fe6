"""The query with which an engine counts a column, to be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import DtypeError, ParameterError
from ..records import queries
from ..records.column import Column
from ..records.labels import Label
from .grid import Grid, check_grid
from .group_counts import public_groups

__all__ = ["sql"]


def sql(values: Any, grid: Grid, *, by: Any = None, groups: Sequence[Label] | None = None) -> str:
    """Return the query with which an engine counts a column. It fetches no record.

    Parameters
    ----------
    values
        A column of an engine: an expression of ibis, or a lazy frame of polars with one column.
    grid
        The grid.
    by, groups
        As in ``cdf``.

    Returns
    -------
    str
        SQL in the dialect of the engine; for polars, its plan. It is for readers: labels of text
        are compared as bytes, and thresholds may be in a table in memory. Its rows are exact
        counts, so they are private.

    Raises
    ------
    DtypeError, ParameterError, EngineError
        As in ``cdf``; also if ``values`` is not in an engine.

    Examples
    --------
    >>> import ibis
    >>> import pyarrow as pa
    >>> import dpcore as dp
    >>> ages = ibis.memtable(pa.table({"age": [31, 45, 62]})).age
    >>> print(dp.sql(ages, dp.Grid([50.0])))
    SELECT
    ...
      COUNT(*) AS "records"
    FROM (
    ...
    GROUP BY
      1
    """
    check_grid("grid", grid)
    column = Column.of(values)
    if not column.is_lazy:
        raise DtypeError("values", column.described, "must be a column of an engine")
    if by is None:
        if groups is not None:
            what = "must be the labels of the records if groups are given"
            raise ParameterError("by", None, what)
        return queries.text(column, grid._cells())
    labels = Column.of(by, "by")
    return queries.text(column, grid._cells(), labels, public_groups(labels, groups))
