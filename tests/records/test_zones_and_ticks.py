"""Time zones, ticks and slices of columns of times: which moment a record is, exactly."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpcore as dp

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = dp.Grid.uniform("2024-10-27T00:00Z", "2024-10-27T03:00Z", 3)
# Half past two comes twice in this night, and 1 hour apart.
TWICE = [dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=each) for each in (0, 1)]


def test_an_hour_that_comes_twice_is_two() -> None:
    stamps = pd.Series(pd.to_datetime(TWICE, utc=True)).dt.tz_convert("Europe/Berlin")
    held: list[Any] = [TWICE, pd.Series(TWICE, dtype=object), stamps, stamps.astype("category")]
    held += [pl.Series(TWICE), pa.array(TWICE), [pd.Timestamp(each) for each in TWICE]]
    for column in held:
        assert NIGHT.count(column).tolist() == [1, 1, 0]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_arrow_ticks_are_of_their_unit_in_slices_too(unit: str) -> None:
    hours = [dt.timedelta(hours=each) for each in range(1, 6)]
    grid = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(hours=5), 5)
    spans = pa.array(hours, pa.duration(unit))
    assert grid.count(spans).tolist() == [1] * 5
    assert grid.count(spans[2:4]).tolist() == [0, 0, 1, 1, 0]
    start = dt.datetime(2024, 1, 1)
    times = pa.array([start + each for each in hours], pa.timestamp(unit))
    wide = dp.Grid.uniform(start, start + hours[-1], 5)
    assert wide.count(times[3:]).tolist() == [0, 0, 0, 1, 1]
    assert wide.count(pd.Series(times[1:2], dtype=pd.ArrowDtype(times.type))).argmax() == 1
    days = pa.array([start.date()] * 3 + [dt.date(2024, 1, 2)], pa.date64())
    assert wide.count(days[3:]).tolist() == [0, 0, 0, 0, 1]


def test_categories_with_and_without_a_zone_are_refused_whoever_has_them() -> None:
    both = pd.Index(
        [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01", tz="UTC")], dtype=object
    )
    column = pd.Series(pd.Categorical.from_codes([0, 0], categories=both))
    with pytest.raises(dp.DtypeError, match="categories of several types"):
        dp.Grid(["2024-01-01"]).count(column)
