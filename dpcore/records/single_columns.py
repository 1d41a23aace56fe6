"""Columns that come as tables: (n, 1) arrays and data frames with one column."""

from __future__ import annotations

from typing import Any

__all__ = ["single_column"]


def single_column(values: Any) -> Any:
    """Return the only column of a table that has one, and any other value unchanged.

    scikit-learn accepts such labels and scores: (n, 1) arrays, rows of one value, and data frames
    of pandas and polars with one column. The result depends on types and shapes alone.

    Examples
    --------
    >>> import numpy as np
    >>> single_column(np.array([[0.5], [0.25]]))
    array([0.5 , 0.25])
    >>> single_column([[0], [1]])
    [0, 1]
    """
    if isinstance(values, list | tuple):
        rows = all(isinstance(row, list | tuple) and len(row) == 1 for row in values)
        return [row[0] for row in values] if rows else values
    try:
        shape = getattr(values, "shape", ())
    except ValueError:  # an iterator of NumPy that is at its end
        return values
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[1] != 1:
        return values
    if hasattr(values, "iloc"):
        return values.iloc[:, 0]
    if hasattr(values, "to_series"):  # a data frame of polars
        return values.to_series()
    return values[:, 0] if type(values).__module__.startswith("numpy") else values
