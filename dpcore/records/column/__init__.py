"""Columns of records, from the containers of any library: one class, and one file for each library.

A container that no file knows is read by the protocols that it offers: Arrow's capsules, the
dataframe interchange protocol, or ``__array__``.
"""

from __future__ import annotations

# Each of these files defines columns, and so enters them.
from . import (
    arrow_arrays,
    dask_collections,
    lazy_columns,
    narwhals_series,
    numpy_arrays,
    pandas_series,
    polars_series,
    sequences,
)
from .base import Chunk, Column, Part
from .dask_collections import aligned, empty, mapped

__all__ = [
    "Chunk",
    "Column",
    "Part",
    "aligned",
    "arrow_arrays",
    "dask_collections",
    "empty",
    "lazy_columns",
    "mapped",
    "narwhals_series",
    "numpy_arrays",
    "pandas_series",
    "polars_series",
    "sequences",
]
