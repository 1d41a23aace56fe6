"""Who may say that a column holds whole numbers: the caller, the grid, and typed schemas alone."""

from __future__ import annotations

import array
import datetime as dt
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore.records.column import Column

WHOLE = np.array([3, 1, 2])
DAYS = np.array(["2024-01-03", "2024-01-01"], "M8[D]")
SPANS = np.array([3, 1], "m8[W]")
DATES = [dt.date(2024, 1, 3), dt.date(2024, 1, 1)]

SCHEMAS = {
    "int64": WHOLE,
    "uint8": WHOLE.astype(np.uint8),
    "bool": WHOLE > 1,
    "in another byte order": WHOLE.astype(">i4"),
    "masked": np.ma.array(WHOLE, mask=[0, 1, 0]),
    "a field": np.array([(1, 2.5)], [("a", int), ("b", float)])["a"],
    "days": DAYS,
    "weeks": SPANS,
    "Arrow": pa.array(WHOLE),
    "Arrow with nulls": pa.array([1, None], pa.int8()),
    "Arrow in chunks": pa.chunked_array([WHOLE, WHOLE]),
    "Arrow, no chunks": pa.chunked_array([], pa.int16()),
    "Arrow's dictionary": pa.array(WHOLE).dictionary_encode(),
    "Arrow's booleans": pa.array([True]),
    "Arrow's dates": pa.array(DATES),
    "Arrow's dates in milliseconds": pa.array(DATES, pa.date64()),
    "an extension": pa.ExtensionArray.from_storage(
        pa.opaque(pa.int32(), "a", "b"), pa.array([1], pa.int32())
    ),
    "polars": pl.Series(WHOLE),
    "polars with nulls": pl.Series([1, None], dtype=pl.UInt16),
    "polars' booleans": pl.Series([True]),
    "polars' dates": pl.Series(DATES),
    "Dask": da.from_array(WHOLE, chunks=2),
}
SILENT = {
    "floats": WHOLE / 1.0,
    "a list": [1, 2],
    "a list of arrays": list(WHOLE),
    "objects": WHOLE.astype(object),
    "text": np.array(["a"]),
    "array.array": array.array("i", [1, 2]),
    "times": np.array(["2024-01-03"], "M8[s]"),
    "hours": np.array([3], "m8[h]"),
    "pandas": pd.Series(WHOLE),
    "pandas, nullable": pd.Series(WHOLE, dtype="Int64"),
    "pandas' booleans": pd.Series([True]),
    "pandas' categories": pd.Series(WHOLE, dtype="category"),
    "a list of dates": DATES,
    "pandas' times": pd.Series(DATES, dtype="M8[ns]"),
    "polars' times": pl.Series([dt.datetime(2024, 1, 1)]),
    "pandas' dates on Arrow": pd.Series(DATES, dtype="date32[pyarrow]"),
    "Arrow's doubles": pa.array([1.0]),
    "Arrow's nulls": pa.nulls(3),
    "Arrow's times": pa.array([dt.datetime(2024, 1, 1)]),
    "Arrow's dictionary of doubles": pa.array([1.0]).dictionary_encode(),
    "polars' doubles": pl.Series([1.0]),
    "polars' nulls": pl.Series([None]),
    "Dask's doubles": da.from_array(WHOLE / 2),
    "Dask's objects": da.from_array(WHOLE.astype(object), chunks=2),
    "a Dask series": dd.from_pandas(pd.Series(WHOLE), npartitions=2),
    "a Dask index": dd.from_pandas(pd.Series(WHOLE), npartitions=2).index,
}


class WithArray:
    """A column that is an array when it is asked for one, of a type that its values choose."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.values)

    @property
    def dtype(self) -> Any:
        return np.asarray(self.values).dtype


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_typed_schema_of_whole_numbers_says_so(name: str) -> None:
    assert Column.of(SCHEMAS[name]).stated(None, by_grid=False) is True


@pytest.mark.parametrize("name", SILENT)
def test_anything_else_says_nothing(name: str) -> None:
    assert Column.of(SILENT[name]).stated(None, by_grid=False) is None


def test_an_array_that_is_made_when_it_is_asked_for_says_nothing() -> None:
    found = dp.cdf(WithArray([1, 2, 3]), dp.Grid.uniform(0, 4, 2), epsilon=1.0)
    assert found.integers is None


@pytest.mark.parametrize("values", [WHOLE, WHOLE / 2, [1, 2]], ids=repr)
@pytest.mark.parametrize("said", [True, False])
def test_the_caller_is_believed_before_the_grid_and_the_grid_before_the_schema(
    values: Any, said: bool
) -> None:
    assert Column.of(values).stated(said, by_grid=False) is said
    assert Column.of(values).stated(said, by_grid=True) is said
    assert Column.of(values).stated(None, by_grid=True) is None


@pytest.mark.parametrize("wrong", [1, "yes", np.True_, (True,)], ids=repr)
def test_other_statements_are_refused_before_anything_is_spent(wrong: Any) -> None:
    grid, calls = dp.Grid.uniform(0, 4, 4), {"by": [1, 1, 2], "groups": [1, 2]}
    for more in ({}, calls):
        with dp.Budget(9.0) as budget:
            with pytest.raises(dp.DtypeError, match="integers"):
                dp.cdf([1, 2, 3], grid, epsilon=1.0, integers=wrong, **more)
            assert budget.spent.epsilon == 0


def test_a_column_of_narwhals_is_the_column_that_it_wraps():
    """It exports pandas' inferred dtype as a schema of Arrow, and has no index."""
    narwhals = pytest.importorskip("narwhals")
    rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 60, 60)
    for last in (20, 20.5):
        values = narwhals.from_native(pd.Series([10] * 99 + [last]), series_only=True)
        assert dp.cdf(values, grid, epsilon=1.0, rng=rng).integers is None
    by = narwhals.from_native(pd.Series(["a"] * 100, range(100)[::-1]), series_only=True)
    with pytest.raises(dp.ParameterError, match="by must have the index of values"):
        dp.cdf(values, grid, by=by, groups=["a"], epsilon=1.0, rng=rng)
