"""Numbers as libraries keep them: nullable, in categories, as objects; with what is missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpcore as dp

GRID = dp.Grid([0, 1, 2, 3])
VALUES = [0, 1, None, 3, 1]
WANTED = [1, 2, 0, 1]

HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    **{
        f"pandas {dtype}": lambda v, dtype=dtype: pd.Series(v, dtype=dtype)
        for dtype in ("Int8", "Int64", "UInt16", "Float32", "Float64", "float64", "object")
    },
    **{
        f"pandas with arrow {kind}": lambda v, kind=kind: pd.Series(v, dtype=pd.ArrowDtype(kind))
        for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(9, 2))
    },
    "pandas categories": lambda v: pd.Series(v, dtype="category"),
    "pandas categories of integers": lambda v: pd.Series(v, dtype=pd.CategoricalDtype([3, 1, 0])),
    "pandas categories, nullable": lambda v: pd.Series(v, dtype="Int64").astype("category"),
    "pandas array": lambda v: pd.array(v, dtype="Int64"),
    "pandas index": lambda v: pd.Index(v, dtype="Float64"),
    "pandas, sparse": lambda v: pd.Series(v, dtype="float64").astype(pd.SparseDtype("float64")),
    **{
        f"polars {dtype}": lambda v, dtype=dtype: pl.Series(v, dtype=dtype)
        for dtype in (
            *(pl.Int8, pl.UInt64, pl.Float32, pl.Float64, pl.Decimal(9, 2)),
            *([pl.Int128] if hasattr(pl, "Int128") else []),  # older ones have none
        )
    },
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "arrow chunks": lambda v: pa.chunked_array([v[:2], v[2:]]),
    "objects, NumPy's": lambda v: np.array(
        [each if each is None else np.int16(each) for each in v]
    ),
    "objects, mixed": lambda v: [
        each if each is None else kind(each)
        for each, kind in zip(v, (int, Fraction, int, Decimal, float), strict=True)
    ],
    "masked": lambda v: np.ma.array([each or 0 for each in v], mask=[each is None for each in v]),
    "dask, nullable": lambda v: dd.from_pandas(pd.Series(v, dtype="Int64"), npartitions=2),
    "dask array": lambda v: da.from_array(np.array(v, np.float64), chunks=2),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_numbers_are_counted_however_they_are_kept(name: str) -> None:
    values = HOLDERS[name](VALUES)
    assert GRID.count(values, nan_policy="omit").tolist() == WANTED
    with pytest.raises(dp.MissingValueError):
        GRID.count(values)


@pytest.mark.parametrize("name", HOLDERS)
def test_numbers_are_no_times_however_they_are_kept(name: str) -> None:
    times = dp.Grid.uniform("2024-01-01", "2025-01-01", 2)
    with pytest.raises(dp.DtypeError, match=r"^values must hold dates or times"):
        times.count(HOLDERS[name](VALUES), nan_policy="omit")


@pytest.mark.parametrize("dtype", ["boolean", pd.ArrowDtype(pa.bool_()), "object", "category"])
def test_booleans_are_numbers(dtype: Any) -> None:
    values = pd.Series([True, None, False, True], dtype=dtype)
    assert GRID.count(values, nan_policy="omit").tolist() == [1, 2, 0, 0]


@pytest.mark.parametrize("dtype", ["Int64", "UInt8", "boolean", pd.ArrowDtype(pa.int64())])
def test_dtypes_of_pandas_do_not_state_whole_numbers(dtype: Any) -> None:
    """They may follow from the values, as ``convert_dtypes`` finds them."""
    values = pd.Series([0, 1, None, 1], dtype=dtype)
    for column in (values, values.astype("Float64")):
        assert dp.cdf(column, GRID, epsilon=100.0, nan_policy="omit").integers is None


def test_arrow_without_pandas():
    """It is no dependency, and pyarrow before 23 needs it to name a dtype."""
    script = """
import sys

class Missing:
    def find_spec(name, *_):
        if name == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing)
import pyarrow as pa, dpcore as dp
grid = dp.Grid([0, 1, 2, 3])
for kind in (pa.float16(), pa.float32(), pa.float64(), pa.int8(), pa.uint64()):
    values = pa.array([0, 1, None, 3, 1], pa.int8()).cast(pa.float32()).cast(kind)
    assert list(grid.count(values, nan_policy="omit")) == [1, 2, 0, 1], kind
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("make", [bytearray, lambda content: memoryview(content)])
def test_errors_about_buffers_do_not_depend_on_their_lengths(make):
    said = set()
    for lengths in ([1, 1, 1], [9, 9, 9], [1, 2, 3]):
        records = [make(bytes(length)) for length in lengths]
        for call in (
            lambda of: dp.cdf(of, dp.Grid([1.0]), epsilon=1.0),
            lambda of: dp.cdf([1, 2, 3], dp.Grid([3.0]), by=of, groups=[b"a"], epsilon=1.0),
            lambda of: dp.roc_curve(of, [1, 2, 3], epsilon=1.0),
        ):
            with pytest.raises(dp.DtypeError) as caught:
                call(records)
            said.add(str(caught.value))
    assert len(said) == 3
