"""Times as far from 1970 as NumPy has them: in their cells, or clamped; none wraps around."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

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

YEARS = dp.Grid(np.array(["1700", "1800", "1970", "2100", "2200", "2250"], "M8[Y]"))
TICKS: dict[str, Fraction | int] = {
    **{"W": 7 * 86400 * 10**6, "D": 86400 * 10**6, "h": 3600 * 10**6, "m": 60 * 10**6},
    **{"s": 10**6, "ms": 10**3, "us": 1},
    **{name: Fraction(1, 1000**i) for i, name in enumerate(("ns", "ps", "fs", "as"), 1)},
}  # in microseconds


@pytest.mark.parametrize("year", [1690, 1790, 1850, 1990, 2150, 2230, 2260])
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
@settings(deadline=None, max_examples=300)
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
        with pytest.raises(dp.ParameterError, match="within 285 years"):
            dp.Grid(np.array([beyond], "M8[us]"))


@pytest.mark.parametrize("name", ["ns", "ps", "fs", "as"])
def test_multiples_of_parts_of_microseconds_are_not_wrapped_around(name: str) -> None:
    ticks = np.array([2**62, -(2**62)])
    grid = dp.Grid(np.array([0, 1], "M8[us]"))
    for count in (4, 7, 2**31 - 1):
        assert grid.count(ticks.view(f"M8[{count}{name}]")).tolist() == [1, 1]


def test_bounds_between_two_microseconds_are_refused_and_not_rounded() -> None:
    between = pd.Timestamp("2024-01-01 00:00:00.000000001")
    for lower, upper, name in ((between, "2025-01-01", "lower"), ("2023-01-01", between, "upper")):
        with pytest.raises(dp.ParameterError, match=f"{name} must be a whole number of microsec"):
            dp.Grid.uniform(lower, upper, 2)
    for thresholds in ([between], pd.Series([between]), np.array([between.to_datetime64()])):
        with pytest.raises(dp.ParameterError, match="thresholds must be whole numbers of microsec"):
            dp.Grid(thresholds)


class _Unsaid(dt.tzinfo):
    """A time zone that does not say its offset: Python takes such times for naive ones."""

    def utcoffset(self, _: dt.datetime | None) -> None:
        return None

    dst = tzname = utcoffset


def test_times_are_naive_as_python_has_it() -> None:
    naive = dt.datetime(2024, 1, 1, tzinfo=_Unsaid())
    assert dp.Grid(["2024-01-01"]).count([naive]).tolist() == [1]
    with pytest.raises(dp.DtypeError, match="a time without a time zone"):
        dp.Grid(["2024-01-01T00:00Z"]).count([naive])
