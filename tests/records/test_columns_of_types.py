"""Columns of one declared type: errors depend on that type, and keep nothing of the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import dpcore as dp

GRID = dp.Grid.uniform(0, 1, 2)
TIMES = [pa.time64("ns"), pa.timestamp("ns"), pa.duration("ns"), pa.list_(pa.time64("ns"))]


def _failure(count: Callable[[Any], Any], values: Any) -> dp.DpcoreError:
    with pytest.raises(dp.DpcoreError) as caught:
        count(values)
    return caught.value


def _as_labels(values: Any) -> Any:
    return dp.score_counts(values, [0.0] * len(values), GRID)


def _in_runs(values: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), values)


@pytest.mark.parametrize("count", [GRID.count, _as_labels])
@pytest.mark.parametrize("kind", TIMES, ids=str)
@pytest.mark.parametrize(
    "make", [pa.array, lambda values: pd.Series(values, dtype=pd.ArrowDtype(values.type))]
)
def test_times_are_refused_by_their_type_alone(
    make: Callable[[Any], Any], kind: pa.DataType, count: Callable[[Any], Any]
) -> None:
    # Arrow cannot make objects of the second, and says which value it is.
    values = [[0], [987654321]] if pa.types.is_list(kind) else [0, 987654321]
    failures = [_failure(count, make(pa.array([each, each], kind))) for each in values]
    assert isinstance(failures[0], dp.DtypeError)
    assert str(failures[0]) == str(failures[1])
    assert all(each.__context__ is None for each in failures)


@pytest.mark.parametrize(
    "make", [pa.array, lambda values, kind: _in_runs(pa.array(values, kind))], ids=["plain", "runs"]
)
def test_arrow_times_in_runs_are_refused_likewise(make: Callable[..., Any]) -> None:
    kind = pa.time64("ns")
    assert str(_failure(GRID.count, make([0, 1], kind))) == str(
        _failure(GRID.count, make([0, 1000], kind))
    )


class _Quoting:
    """Something that says what it holds when it fails."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise ValueError("alice")


def test_what_a_container_says_is_no_context_of_the_error() -> None:
    failure = _failure(GRID.count, _Quoting())
    assert isinstance(failure, dp.DtypeError)
    assert failure.__context__ is None


@pytest.mark.parametrize("count", [GRID.count, _as_labels])
@pytest.mark.parametrize("values", [[1, 1], [1, "a"], ["a", "a"], [None, None]])
def test_categories_of_several_types_are_refused_whichever_are_there(
    values: list[Any], count: Callable[[Any], Any]
) -> None:
    column = pd.Series(values, dtype=pd.CategoricalDtype([1, "a"]))
    assert "categories of several types" in str(_failure(count, column))


def test_categories_of_one_kind_are_numbers() -> None:
    column = pd.Series([1, 2**64], dtype=pd.CategoricalDtype([1, 2**64, 0.5]))
    assert GRID.count(column).tolist() == [0, 2]


def test_arrow_types_that_pandas_has_no_name_for_are_refused_as_text() -> None:
    column = pd.Series(
        pd.array(pa.array(["yes"]).cast(pa.string_view()), pd.ArrowDtype(pa.string_view()))
    )
    assert isinstance(_failure(GRID.count, column), dp.DtypeError)


def test_arrow_extensions_are_what_they_store() -> None:
    kind = pa.opaque(pa.int64(), "a", "b")
    assert GRID.count(pa.ExtensionArray.from_storage(kind, pa.array([0, 1]))).tolist() == [1, 1]
    failure = _failure(
        GRID.count,
        pa.ExtensionArray.from_storage(
            pa.opaque(pa.time64("ns"), "a", "b"), pa.array([1], pa.time64("ns"))
        ),
    )
    assert failure.__context__ is None
