"""Columns of dates, times and durations: counted exactly in whatever holds them, told by types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp

YEAR = dp.Grid.uniform("2024-01-01", "2025-01-01", 366)
IN_UTC = dp.Grid.uniform("2024-01-01T00:00Z", "2025-01-01T00:00Z", 366)
DAY = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(days=1), 24)
NUMBERS = dp.Grid.uniform(0, 1, 2)

TIMES = [dt.datetime(2024, 3, 1, 5), None, dt.datetime(2024, 1, 1), dt.datetime(2031, 1, 1)]
ZONED = [each and each.replace(tzinfo=dt.UTC) for each in TIMES]
DATES = [each and each.date() for each in TIMES]
SPANS = [dt.timedelta(hours=1), None, dt.timedelta(hours=23, microseconds=1), dt.timedelta(9)]

HOLDERS: dict[str, tuple[Callable[[Any], Any], dp.Grid, list[Any]]] = {
    "list": (list, YEAR, TIMES),
    "list of dates": (list, YEAR, DATES),
    "list with zone": (list, IN_UTC, ZONED),
    "list of spans": (list, DAY, SPANS),
    "numpy ns": (lambda v: np.array(v, "M8[ns]"), YEAR, TIMES),
    "numpy us, other bytes": (lambda v: np.array(v, ">M8[us]"), YEAR, TIMES),
    "numpy minutes": (lambda v: np.array(v, "M8[15m]"), YEAR, TIMES),
    "numpy days": (lambda v: np.array(v, "M8[D]"), YEAR, DATES),
    "numpy spans": (lambda v: np.array(v, "m8[ns]"), DAY, SPANS),
    "numpy objects": (lambda v: np.array(v, object), YEAR, TIMES),
    "masked": (
        lambda v: np.ma.array(np.array(v, "M8[us]"), mask=[each is None for each in v]),
        YEAR,
        TIMES,
    ),
    "pandas": (lambda v: pd.Series(v, dtype="datetime64[ns]"), YEAR, TIMES),
    "pandas index": (lambda v: pd.DatetimeIndex(v), YEAR, TIMES),
    "pandas categories": (lambda v: pd.Series(v, dtype="M8[us]").astype("category"), YEAR, TIMES),
    "pandas objects": (lambda v: pd.Series(v, dtype=object), YEAR, DATES),
    "pandas stamps": (lambda v: [pd.Timestamp(each) for each in v], YEAR, TIMES),
    "pandas zone": (
        lambda v: pd.Series(v, dtype="datetime64[us, UTC]").dt.tz_convert("Europe/Paris"),
        IN_UTC,
        ZONED,
    ),
    "pandas spans": (lambda v: pd.Series(v, dtype="timedelta64[ns]"), DAY, SPANS),
    "polars": (lambda v: pl.Series(v, dtype=pl.Datetime("ms")), YEAR, TIMES),
    "polars dates": (lambda v: pl.Series(v, dtype=pl.Date), YEAR, DATES),
    "polars zone": (
        lambda v: pl.Series(v, dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone("Asia/Tokyo"),
        IN_UTC,
        ZONED,
    ),
    "polars spans": (lambda v: pl.Series(v, dtype=pl.Duration("us")), DAY, SPANS),
}
for _kind, _grid, _values in (
    (pa.timestamp("ns"), YEAR, TIMES),
    (pa.timestamp("s"), YEAR, TIMES),
    (pa.timestamp("us", "Europe/Paris"), IN_UTC, ZONED),
    (pa.date32(), YEAR, DATES),
    (pa.date64(), YEAR, DATES),
    (pa.duration("us"), DAY, SPANS),
):
    HOLDERS[f"arrow {_kind}"] = (lambda v, kind=_kind: pa.array(v, kind), _grid, _values)
    HOLDERS[f"arrow {_kind} in chunks"] = (
        lambda v, kind=_kind: pa.chunked_array([pa.array(v, kind)[:1], pa.array(v, kind)[1:]]),
        _grid,
        _values,
    )
    HOLDERS[f"pandas with arrow {_kind}"] = (
        lambda v, kind=_kind: pd.Series(v, dtype=pd.ArrowDtype(kind)),
        _grid,
        _values,
    )


def _counted(grid: dp.Grid, values: Any) -> list[int]:
    counts = grid.count(values, nan_policy="omit")
    return np.repeat(np.arange(grid.size), counts).tolist()


@pytest.mark.parametrize("name", HOLDERS)
def test_every_container_of_times_is_counted_alike(name: str) -> None:
    make, grid, values = HOLDERS[name]
    wanted = {id(TIMES): [0, 60, 365], id(ZONED): [0, 60, 365], id(DATES): [0, 59, 365]}
    assert _counted(grid, make(values)) == wanted.get(id(values), [0, 23, 23])
    with pytest.raises(dp.MissingValueError):
        grid.count(make(values))


@pytest.mark.parametrize("name", HOLDERS)
def test_units_cannot_be_confused(name: str) -> None:
    make, own, values = HOLDERS[name]
    for kept in (values, values[:1]):
        for grid in {YEAR, IN_UTC, DAY, NUMBERS} - {own}:
            with pytest.raises(dp.DtypeError, match=r"^values must hold"):
                grid.count(make(kept), nan_policy="omit")


def test_messages_say_what_to_write_instead() -> None:
    with pytest.raises(
        dp.DtypeError, match=r'bounds with one: "2024-01-01T00:00Z".*got a time with'
    ):
        YEAR.count(ZONED[:1])
    with pytest.raises(dp.DtypeError, match=r'Grid.uniform\("2024-01-01"'):
        NUMBERS.count(TIMES[:1])
    with pytest.raises(dp.DtypeError, match="got dtype int64"):
        YEAR.count(np.arange(3))
    for text in (["2024-01-01"], pd.Series(["2024-01-01"], dtype="str"), pl.Series(["2024-01-01"])):
        for grid, reads in ((YEAR, "datetime"), (IN_UTC, "datetime"), (DAY, "timedelta")):
            with pytest.raises(dp.DtypeError, match=rf"str \(pandas.to_{reads} reads it\)"):
                grid.count(text)
        with pytest.raises(dp.DtypeError, match=r"str$"):
            NUMBERS.count(text)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([dt.time(1)], pa.time32("s")),
        pl.Series([dt.time(1)]),
        [dt.time(1)],
        [dt.datetime(2024, 1, 1), 5],
        [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
        np.array([1], "m8"),
        np.array([1], "m8[M]"),
        pd.Series(pd.period_range("2024", periods=2, freq="D")),
        ["2024-01-01"],
    ],
)
def test_what_is_no_time_of_one_unit_is_refused(values: Any) -> None:
    for grid in (YEAR, IN_UTC, DAY):
        with pytest.raises(dp.DtypeError):
            grid.count(values)


@pytest.mark.parametrize("grid", [YEAR, IN_UTC, DAY])
@pytest.mark.parametrize("values", [[], [None], [pd.NaT, None, pd.NA], pa.array([], pa.null())])
def test_no_records_are_of_any_unit(values: Any, grid: dp.Grid) -> None:
    if not isinstance(values, list):
        values = np.array(values, object)
    assert grid.count(values, nan_policy="omit").sum() == 0


@given(
    st.lists(st.datetimes(dt.datetime(1, 1, 1), dt.datetime.max), min_size=1, max_size=20),
    st.lists(
        st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1)),
        min_size=1,
        max_size=6,
        unique=True,
    ),
)
@settings(deadline=None, max_examples=60)
def test_counts_are_those_of_pythons_own_comparisons(
    values: list[dt.datetime], thresholds: list[dt.datetime]
) -> None:
    thresholds = sorted(thresholds)
    grid = dp.Grid(thresholds)
    last = len(thresholds) - 1
    wanted = sorted(
        next((i for i, each in enumerate(thresholds) if value <= each), last) for value in values
    )
    for column in (values, np.array(values, "M8[us]"), pl.Series(values), pa.array(values)):
        assert _counted(grid, column) == wanted


@given(st.integers(-(2**62), 2**62), st.integers(-3, 3))
@settings(deadline=None, max_examples=100)
def test_nanoseconds_are_compared_exactly(ticks: int, beside: int) -> None:
    threshold = ticks // 1000
    grid = dp.Grid(
        np.array([threshold, threshold + 10], "M8[us]") if abs(threshold) < 2**52 else [0]
    )
    if grid.unit is None:
        return
    value = threshold * 1000 + beside
    found = grid.count(np.array([value], "M8[ns]")).tolist()
    assert found == ([1, 0] if value <= threshold * 1000 else [0, 1])
    assert grid.count([pd.Timestamp(value)]).tolist() == found


@given(
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.sampled_from(["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]),
)
@settings(deadline=None, max_examples=200)
def test_times_as_far_as_numpy_has_them_are_clamped(ticks: int, unit: str) -> None:
    # NumPy itself would wrap around where it converts them.
    grid = dp.Grid(np.array([0], "M8[us]"))
    wider = dp.Grid(np.array(["1970-01-01", "2200-01-01"], "M8[us]"))
    column = np.array([ticks]).view(f"M8[{unit}]")
    assert grid.count(column).tolist() == [1]
    assert wider.count(column).tolist() == ([1, 0] if ticks <= 0 else wider.count(column).tolist())
    assert (ticks <= 0) == bool(wider.count(column)[0])


def test_errors_do_not_depend_on_values() -> None:
    for ticks in (0, 1, -(2**62), 2**62):
        column = np.array([ticks]).view("M8[ns]")
        with pytest.raises(dp.DtypeError) as caught:
            DAY.count(column)
        words = (
            "values must hold durations, as the grid does; got a date or a time without a time zone"
        )
        assert str(caught.value) == words


@pytest.mark.parametrize(
    ("values", "whole"),
    [
        (np.array(["2024-01-01"], "M8[D]"), True),
        (np.array(["2024-01-01"], "M8[us]"), None),
        (np.array([1], "m8[D]"), True),
        (pl.Series(DATES), True),
        (pl.Series(TIMES), None),
        (pa.array(DATES), True),
        (pa.array(DATES, pa.date64()), True),
        (pa.array(TIMES), None),
        (pd.Series(DATES, dtype=pd.ArrowDtype(pa.date32())), None),
        (pd.Series(TIMES, dtype="M8[ns]"), None),
        (DATES, None),
        (TIMES, None),
        ([dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)], None),
    ],
)
def test_schemas_of_dates_state_whole_days_and_nothing_else_does(
    values: Any, whole: bool | None
) -> None:
    grid = YEAR if np.asarray(values[0]).dtype.kind != "m" else DAY
    curve = dp.cdf(values, grid, dp.mechanisms.NoNoise(), nan_policy="omit")
    assert curve.integers is whole


@pytest.mark.parametrize("present", [0, 1])
def test_categories_of_several_kinds_of_times_are_refused_whichever_are_there(present: int) -> None:
    kinds = [dt.datetime(2024, 1, 1), dt.timedelta(1)]
    column = pd.Series([kinds[present]], dtype=pd.CategoricalDtype(pd.Index(kinds, dtype=object)))
    for grid in (YEAR, DAY):
        with pytest.raises(dp.DtypeError, match="categories of several types"):
            grid.count(column)
