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
    **{
        f"numpy {dtype}": lambda v, dtype=dtype: np.array(v, np.float64).astype(dtype)
        for dtype in ("f2", "f4", "f8", ">f8", "g")
    },
    "polars NaN": lambda v: pl.Series(np.array(v, np.float64)),
    "arrow NaN": lambda v: pa.chunked_array([np.array(v, np.float64)[:3], [3.0, 1.0]]),
    "masked": lambda v: np.ma.array([each or 0 for each in v], mask=[each is None for each in v]),
    "dask, nullable": lambda v: dd.from_pandas(pd.Series(v, dtype="Int64"), npartitions=2),
    "dask array": lambda v: da.from_array(np.array(v, np.float64), chunks=2),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_numbers_are_counted_however_they_are_kept_and_are_no_times(name: str) -> None:
    values = HOLDERS[name](VALUES)
    for grid in (GRID, dp.Grid.uniform(-1, 3, 4)):
        assert grid.count(values, nan_policy="omit").tolist() == WANTED
        with pytest.raises(dp.MissingValueError, match="values"):
            grid.count(values)
    times = dp.Grid.uniform("2024-01-01", "2025-01-01", 2)
    with pytest.raises(dp.DtypeError, match="values must hold dates or times"):
        times.count(values, nan_policy="omit")


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


# --- errors depend on types, and keep nothing of the values


def _failure(count: Callable[[Any], Any], values: Any) -> dp.DpcoreError:
    with pytest.raises(dp.DpcoreError) as caught:
        count(values)
    return caught.value


def _as_labels(values: Any) -> Any:
    return dp.score_counts(values, [0.0] * len(values), GRID)


def _in_runs(values: Any) -> Any:
    return pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), values)


def _opaque(values: Any) -> Any:
    return pa.ExtensionArray.from_storage(pa.opaque(values.type, "a", "b"), values)


def _of_pandas(values: Any) -> Any:
    return pd.Series(values, dtype=pd.ArrowDtype(values.type))


TIMES = [pa.time64("ns"), pa.timestamp("ns"), pa.duration("ns"), pa.list_(pa.time64("ns"))]


@pytest.mark.parametrize("kind", TIMES, ids=str)
@pytest.mark.parametrize("make", [pa.array, _of_pandas, _in_runs, _opaque])
def test_times_are_refused_by_their_type_alone(make: Callable[[Any], Any], kind: Any) -> None:
    # Arrow cannot make objects of the second, and says which value it is.
    values = [[0], [987654321]] if pa.types.is_list(kind) else [0, 987654321]
    for count in (GRID.count, _as_labels):
        failures = [_failure(count, make(pa.array([value, value], kind))) for value in values]
        assert isinstance(failures[0], dp.DtypeError)
        assert str(failures[0]) == str(failures[1])
        assert all(failure.__context__ is None for failure in failures)


@pytest.mark.parametrize("make", [bytearray, lambda content: memoryview(content)])
@pytest.mark.parametrize(
    "call",
    [
        lambda of: dp.cdf(of, GRID, epsilon=1.0),
        lambda of: dp.cdf([1, 2, 3], GRID, by=of, groups=[b"a"], epsilon=1.0),
        lambda of: dp.roc_curve(of, [1, 2, 3], epsilon=1.0),
    ],
)
def test_errors_about_buffers_do_not_depend_on_their_lengths(make: Any, call: Any) -> None:
    lengths = ([1, 1, 1], [9, 9, 9], [1, 2, 3])
    failures = [_failure(call, [make(bytes(length)) for length in row]) for row in lengths]
    assert len({str(failure) for failure in failures}) == 1
    assert isinstance(failures[0], dp.DtypeError)


class _Quoting:
    """Something that says what it holds when it fails."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise ValueError("alice")


@pytest.mark.parametrize(
    "values",
    [
        _Quoting(),
        _of_pandas(pa.array(["yes"]).cast(pa.string_view())),  # pandas has no name for it
    ],
)
def test_what_a_container_says_is_no_context_of_the_error(values: Any) -> None:
    failure = _failure(GRID.count, values)
    assert isinstance(failure, dp.DtypeError)
    assert failure.__context__ is None


@pytest.mark.parametrize("count", [GRID.count, _as_labels])
@pytest.mark.parametrize("values", [[1, 1], [1, "a"], ["a", "a"], [None, None]])
def test_categories_of_several_types_are_refused_whichever_are_there(
    values: list[Any], count: Callable[[Any], Any]
) -> None:
    column = pd.Series(values, dtype=pd.CategoricalDtype([1, "a"]))
    assert "categories of several types" in str(_failure(count, column))


def test_categories_of_one_kind_and_arrow_extensions_are_numbers() -> None:
    column = pd.Series([1, 2**64], dtype=pd.CategoricalDtype([1, 2**64, 0.5]))
    assert GRID.count(column).tolist() == [0, 1, 0, 1]
    assert GRID.count(_opaque(pa.array([0, 1]))).tolist() == [1, 1, 0, 0]


# --- the ends of doubles


LARGEST, LEAST = np.finfo(np.float64).max, 5e-324
BETWEEN = np.nextafter(np.longdouble(LARGEST), np.longdouble(0))  # rounded up to the largest
TINY = np.finfo(np.longdouble).tiny  # rounded up to the least
WIDEST = dp.Grid([-LARGEST, -1.0, 0.0, 1.0, LARGEST])


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "g", "O", "<f4", ">f4", "between"])
def test_the_ends_of_doubles_are_counted_without_warnings(dtype: str) -> None:
    wanted = [1, 0, 1, 2, 1]
    with np.errstate(all="ignore"):
        values: Any = np.array([-LARGEST, LARGEST, LEAST, -LEAST, 0.5])
        if dtype == "between":
            values, wanted = np.array([BETWEEN, -BETWEEN, TINY]), [0, 1, 0, 1, 1]
        else:
            values = values.astype(dtype)
            if "f4" in dtype:
                wanted = [1, 0, 2, 1, 1]
    with np.errstate(all="raise"):
        assert WIDEST.count(values).tolist() == wanted


@pytest.mark.parametrize("of_pandas", [False, True])
def test_errors_do_not_quote_the_keys_of_records(of_pandas):
    column = pa.array([{"1": {"Jones": 2.0}}])  # Arrow takes the names of fields from the records
    values = pd.Series(column, dtype=pd.ArrowDtype(column.type)) if of_pandas else column
    with pytest.raises(dp.DtypeError, match=r"got a column of struct$"):
        dp.cdf(values, dp.Grid([1.0]), epsilon=1.0)
