"""Tables of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _check
from ..summaries.grid import Grid

if TYPE_CHECKING:
    from pandas import DataFrame, Series

__all__ = ["frame_of", "labels_in_frame", "thresholds_in_frame"]


def frame_of(columns: Mapping[str, Any]) -> DataFrame:
    """Return columns of one length as a DataFrame; single values are a table with one row."""
    pandas = _check.extra("pandas", "to_frame", "dask")
    frame: DataFrame = pandas.DataFrame(columns, index=None if _are_rows(columns) else [0])
    return frame


def labels_in_frame(labels: Sequence[Any]) -> Series:
    """Return labels as a column of pandas."""
    pandas = _check.extra("pandas", "to_frame", "dask")
    try:
        column: Series = pandas.Series(labels)
    except UnicodeError:  # pandas keeps text as UTF-8, which some labels do not have
        column = pandas.Series(labels, dtype=object)
    return column


def thresholds_in_frame(grid: Grid, thresholds: Any) -> Series:
    """Return thresholds of a grid as a column of pandas, in UTC if times have a time zone."""
    pandas = _check.extra("pandas", "to_frame", "dask")
    column: Series = pandas.Series(thresholds)
    return column.dt.tz_localize("UTC") if grid.unit == "instant" else column


def _are_rows(columns: Mapping[str, Any]) -> bool:
    """Return whether a column is more than a single value."""
    return any(
        hasattr(column, "__len__") and not isinstance(column, str) for column in columns.values()
    )
