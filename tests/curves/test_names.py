"""Curves are called what their columns are called."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpcore as dp

GRID = dp.Grid.uniform(0, 10, 4)
VALUES = np.arange(10.0)


def released(values, **others):
    return dp.cdf(values, GRID, epsilon=5.0, **others)


@pytest.mark.parametrize("make", [pd.Series, lambda v, name: pl.Series(name, v)])
def test_a_series_gives_its_name_to_the_curve_and_its_picture(make):
    curve = released(make(VALUES, name="income in $ and $"))
    assert curve.name == "income in $ and $"
    ax = curve.plot()
    assert ax.get_xlabel() == curve.name
    ax.figure.canvas.draw()  # dollars are no formulas


def test_columns_of_dask():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"age": VALUES}), npartitions=2)
    assert released(frame["age"]).name == "age"
    array = pytest.importorskip("dask.array").from_array(VALUES, chunks=5)
    assert released(array).name is None  # a Dask array's is a key


@pytest.mark.parametrize(
    "values", [VALUES, pd.Series(VALUES), pd.Series(VALUES, name=3), pl.Series(VALUES)]
)
def test_others_have_none(values):
    curve = released(values)
    assert curve.name is None
    assert "name" not in json.loads(curve.to_json())
    assert curve.plot().get_xlabel() == "value"


def test_names_are_kept():
    curve = released(pd.Series(VALUES, name="age"))
    assert dp.CDF.from_json(curve.to_json()) == curve
    assert curve.isotonic().name == curve.as_released().name == "age"
    other = released(pd.Series(VALUES, name="years"))
    assert dp.combine([curve, released(pd.Series(VALUES, name="age"))]).name == "age"
    assert dp.combine([curve, other]).name is None
    by = np.where(VALUES > 5, "a", "b")
    groups = released(pd.Series(VALUES, name="age"), by=by, groups=["a", "b"])
    assert [each.name for each in groups.values()] == ["age", "age"]


def test_durations_say_their_unit():
    grid = dp.Grid.uniform(np.timedelta64(0, "s"), np.timedelta64(10, "s"), 10)
    delays = pd.Series(pd.to_timedelta(VALUES, unit="s"), name="delay")
    assert dp.cdf(delays, grid, epsilon=5.0).plot().get_xlabel() == "delay in seconds"
    assert dp.cdf(delays.array, grid, epsilon=5.0).plot().get_xlabel() == "seconds"


def test_names_that_are_none():
    curve = released(VALUES)
    with pytest.raises(dp.DtypeError, match=r"^name"):
        dp.CDF(GRID, curve.counts, curve.n, curve.privacy, {"name": "none"},
               curve.noise_deviation, name=3)  # fmt: skip
    text = json.dumps({**json.loads(curve.to_json()), "name": 3})
    with pytest.raises(dp.FormatError, match="name"):
        dp.CDF.from_json(text)


def test_tables_have_the_names_of_both_columns():
    frame = pd.DataFrame({"age": VALUES, "income": VALUES})
    table = dp.table(frame["age"], frame["income"], dp.TableGrid(GRID, GRID), epsilon=5.0)
    assert table.names == ("age", "income")
    assert dp.Table.from_json(table.to_json()) == table
    assert table.marginal("y").name == table.conditional("y", 2.5, 5.0).name == "income"
    ax = table.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "income")
    unnamed = dp.table(VALUES, VALUES, dp.TableGrid(GRID, GRID), epsilon=5.0)
    assert (unnamed.plot().get_xlabel(), unnamed.names) == ("x", (None, None))
    assert "names" not in json.loads(unnamed.to_json())
    with pytest.raises(dp.DtypeError, match=r"^names"):
        dp.Table(table.grid, table.row, names=("age", 3))
    for wrong in (["age"], "ab", [1, 2], [["a"], "b"]):
        text = json.dumps({**json.loads(table.to_json()), "names": wrong})
        with pytest.raises(dp.FormatError):
            dp.Table.from_json(text)
