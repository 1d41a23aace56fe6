"""Columns of dates, times and durations: counted exactly in whatever holds them, told by types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.records import times
from dpcore.records.times import Unit

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
    for grid, values, words in (
        (YEAR, ZONED[:1], "2024-01-01T00:00Z"),
        (NUMBERS, TIMES[:1], r'times need bounds such as "2024-01-01"'),
        (NUMBERS, np.array([1], "m8[D]"), r'durations such as numpy.timedelta64\(0, "D"\)'),
        (YEAR, np.array(["2024-01-01"]), "pandas.to_datetime"),
        (YEAR, np.arange(3), "int64"),
        (YEAR, ["2024-01-01"], "pandas.to_datetime"),
        (IN_UTC, pd.Series(["2024-01-01"], dtype="str"), "pandas.to_datetime"),
        (DAY, pl.Series(["2024-01-01"]), "pandas.to_timedelta"),
        (NUMBERS, ["2024-01-01"], r"str$"),
    ):
        with pytest.raises(dp.DtypeError, match=words):
            grid.count(values)


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


@pytest.mark.parametrize("grid", [YEAR, IN_UTC, DAY, NUMBERS])
@pytest.mark.parametrize(
    "values",
    [[], [None], [pd.NaT, None, pd.NA], pa.array([], pa.null()), pl.Series([None, None])],
)
def test_no_records_are_of_any_unit(values: Any, grid: dp.Grid) -> None:
    if isinstance(values, pa.Array):
        values = np.array(values, object)
    assert grid.count(values, nan_policy="omit").sum() == 0
    if len(values):
        with pytest.raises(dp.MissingValueError):
            grid.count(values)


@given(
    st.lists(st.datetimes(dt.datetime(1, 1, 1), dt.datetime.max), min_size=1, max_size=20),
    st.lists(
        st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1)),
        min_size=1,
        max_size=6,
        unique=True,
    ),
)
@settings(max_examples=40)
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


def test_errors_do_not_depend_on_values() -> None:
    said = set()
    for ticks in (0, 1, -(2**62), 2**62):
        with pytest.raises(dp.DtypeError, match=r"^values") as caught:
            DAY.count(np.array([ticks]).view("M8[ns]"))
        said.add(str(caught.value))
    assert len(said) == 1


def _of_kinds(first: Any, second: Any) -> list[pd.Series]:
    """Return columns of either category, of the same two."""
    kinds = pd.Index([first, second], dtype=object)
    return [pd.Series(pd.Categorical.from_codes([code], kinds)) for code in (0, 1)]


@pytest.mark.parametrize(
    "columns",
    [
        _of_kinds(dt.datetime(2024, 1, 1), dt.timedelta(1)),
        _of_kinds(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01", tz="UTC")),
    ],
)
def test_categories_of_several_kinds_of_times_are_refused_whichever_are_there(columns: Any) -> None:
    for column in columns:
        for grid in (YEAR, DAY):
            with pytest.raises(dp.DtypeError, match="categories of several types"):
                grid.count(column)


def test_categories_of_dates_and_times_are_of_one_kind() -> None:
    days, noon = [dt.date(2024, 1, 2)] * 3, dt.datetime(2024, 1, 2, 12)
    for one in (noon, pd.Timestamp(noon), np.datetime64(noon, "s")):
        column = pd.Series([*days, one], dtype=object)
        assert np.array_equal(YEAR.count(column.astype("category")), YEAR.count(column))
    aware = noon.replace(tzinfo=dt.UTC)
    zones = pd.Series([aware, aware.astimezone(dt.timezone(dt.timedelta(hours=5)))], dtype=object)
    grid = dp.Grid.uniform("2024-01-01T00:00Z", "2024-01-03T00:00Z", 2)
    assert grid.count(zones.astype("category")).tolist() == [0, 2]


# --- as far from 1970 as NumPy has them: in their cells, or clamped; none wraps around


YEARS = dp.Grid(np.array(["1700", "1800", "1970", "2100", "2200", "2250"], "M8[Y]"))
TICKS: dict[str, Fraction | int] = {
    **{"W": 7 * 86400 * 10**6, "D": 86400 * 10**6, "h": 3600 * 10**6, "m": 60 * 10**6},
    **{"s": 10**6, "ms": 10**3, "us": 1},
    **{name: Fraction(1, 1000**i) for i, name in enumerate(("ns", "ps", "fs", "as"), 1)},
}  # in microseconds


@pytest.mark.parametrize("year", [1690, 1850, 2150, 2260])
def test_nanoseconds_of_all_centuries_are_in_their_cells(year: int) -> None:
    cell = sum(each < year for each in (1700, 1800, 1970, 2100, 2200))
    column = np.array([f"{year}-06-15"], "M8[ns]")
    held = (column, pd.Series(column), pl.Series(column), pa.array(column), [pd.Timestamp(*column)])
    for values in held:
        assert YEARS.count(values).argmax() == cell
    spans = column - np.datetime64("1970", "ns")
    durations = dp.Grid(YEARS.positions, unit="duration")
    for values in (spans, pd.Series(spans), [pd.Timedelta(*spans)]):
        assert durations.count(values).argmax() == cell


@given(
    st.one_of(st.integers(-(2**63) + 1, 2**63 - 1), st.integers(-(10**6), 10**6)),
    st.sampled_from(list(TICKS)),
    st.sampled_from([1, 2, 7, 25, 1000, 2**31 - 1]),
    st.integers(-(2**53) + 2, 2**53 - 3),
)
@settings(max_examples=200)
def test_any_number_of_ticks_is_compared_exactly(
    ticks: int, name: str, count: int, threshold: int
) -> None:
    value = ticks * count * TICKS[name]
    kinds: list[tuple[str, Unit]] = [("M8", "time"), ("m8", "duration")]
    for kind, unit in kinds:
        column = np.array([ticks]).view(f"{kind}[{count}{name}]")
        for beside in (threshold, int(value // 1)):
            if abs(beside) < 2**53 - 1:
                grid = dp.Grid([beside, beside + 1], unit=unit)
                assert grid.count(column).tolist() == ([1, 0] if value <= beside else [0, 1])
                down = times.array_in(column, up=False)
                assert (down[0] <= beside) == (value < beside + 1)


@pytest.mark.parametrize("name", ["Y", "M"])
@pytest.mark.parametrize("count", [1, 2, 4, 1000, 2**31 - 1])
def test_multiples_of_years_and_months_are_not_wrapped_around(name: str, count: int) -> None:
    ticks = np.array([2**62, 2**61, 2**40, 1, 0, -1, -(2**40), -(2**62)])
    grid = dp.Grid(np.array([0], "M8[us]"), lower="1969-12-31")
    wide = dp.Grid(np.array([0, 1], "M8[us]"))
    assert grid.count(ticks.view(f"M8[{count}{name}]")).tolist() == [8]
    assert wide.count(ticks.view(f"M8[{count}{name}]")).tolist() == [4, 4]


def test_months_and_years_of_three_centuries_are_in_their_cells() -> None:
    starts = np.arange("1690", "2250", dtype="M8[Y]")
    grid = dp.Grid(starts[1:])
    assert grid.count(starts[1:]).tolist() == [1] * 559
    assert grid.count(starts[1:].astype("M8[M]") - 1).tolist() == [1] * 559


def test_thresholds_are_whole_doubles_up_to_the_last_one() -> None:
    last = 2**53 - 1
    grid = dp.Grid(np.array([-last, last], "M8[us]"))
    ticks = np.array([-last, -last + 1, last, last + 1])
    assert grid.count(ticks.view("M8[us]")).tolist() == [1, 3]
    assert dp.Grid(grid.thresholds) == grid
    for beyond in (last + 1, -last - 1):
        with pytest.raises(dp.ParameterError, match="thresholds"):
            dp.Grid(np.array([beyond], "M8[us]"))


def test_bounds_between_two_microseconds_are_refused_and_not_rounded() -> None:
    between = pd.Timestamp("2024-01-01 00:00:00.000000001")
    for make, name in (
        (lambda: dp.Grid.uniform(between, "2025-01-01", 2), "lower"),
        (lambda: dp.Grid.uniform("2023-01-01", between, 2), "upper"),
        (lambda: dp.Grid([between]), "thresholds"),
        (lambda: dp.Grid(pd.Series([between])), "thresholds"),
        (lambda: dp.Grid(np.array([between.to_datetime64()])), "thresholds"),
    ):
        with pytest.raises(dp.ParameterError, match=f"^{name} .*microsec"):
            make()


class _Unsaid(dt.tzinfo):
    """A time zone that does not say its offset: Python takes such times for naive ones."""

    def utcoffset(self, _: dt.datetime | None) -> None:
        return None

    dst = tzname = utcoffset


def test_times_are_naive_as_python_has_it() -> None:
    naive = dt.datetime(2024, 1, 1, tzinfo=_Unsaid())
    assert dp.Grid(["2024-01-01"]).count([naive]).tolist() == [1]
    with pytest.raises(dp.DtypeError, match="without a time zone"):
        dp.Grid(["2024-01-01T00:00Z"]).count([naive])


# --- which moment a record is: time zones, ticks and slices


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
    moments = pa.array([start + each for each in hours], pa.timestamp(unit))
    wide = dp.Grid.uniform(start, start + hours[-1], 5)
    assert wide.count(moments[3:]).tolist() == [0, 0, 0, 1, 1]
    assert wide.count(pd.Series(moments[1:2], dtype=pd.ArrowDtype(moments.type))).argmax() == 1
    days = pa.array([start.date()] * 3 + [dt.date(2024, 1, 2)], pa.date64())
    assert wide.count(days[3:]).tolist() == [0, 0, 0, 0, 1]


def test_numbers_on_a_grid_of_days_are_refused_by_one_message_whatever_they_are():
    grid, told = dp.Grid.days("2020-01-01", "2020-12-31"), set()
    for last in (20, 20.5, True):
        with pytest.raises(dp.DtypeError) as error:
            dp.cdf([10] * 9 + [last], grid, epsilon=1.0)
        told.add(str(error.value))
    assert len(told) == 1
    assert "got numbers" in told.pop()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_mean_beyond_the_times_of_numpy_is_no_time():
    """Nearly all of it is noise; what a cast makes of it differs between machines."""
    days = np.array(["2020-01-03"] * 3, "M8[D]")
    grid = dp.Grid.uniform(np.datetime64("2020-01-01"), np.datetime64("2020-02-01"), 10)
    of = dp.mechanisms.Histogram(1e-11, neighbours="add-or-remove-one")
    streams = map(np.random.default_rng, range(20))
    curves = [dp.cdf(days, grid, of, isotonic=False, rng=rng) for rng in streams]
    assert any(np.isnat(curve.mean()) for curve in curves)
