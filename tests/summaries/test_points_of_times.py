"""Points and bounds on grids of times, as people write them: what is taken, and what is refused."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpcore as dp

YEAR = dp.Grid.uniform("2024-01-01", "2025-01-01", 366)
IN_UTC = dp.Grid.uniform("2024-01-01T00:00Z", "2025-01-01T00:00Z", 366)
HOURS = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(days=1), 24)
DAYS = np.array(["2024-06-30", "2024-07-01"], "M8[us]")
NAT = np.datetime64("NaT")


def _curve(grid: dp.Grid) -> dp.CDF:
    return dp.cdf_from_counts(np.ones(grid.size, int), grid, dp.mechanisms.NoNoise())


def test_masked_points_and_thresholds_are_refused_as_those_of_numbers_are() -> None:
    masked = np.ma.array(DAYS, mask=[True, False])
    for grid in (YEAR, IN_UTC):
        with pytest.raises(dp.DtypeError, match="t must not be masked"):
            _curve(grid)(masked)
    with pytest.raises(dp.DtypeError, match="thresholds must not be masked"):
        dp.Grid(masked)
    plain = np.ma.array(DAYS)
    assert _curve(YEAR)(plain).tolist() == [181 / 366, 182 / 366]
    assert dp.Grid(plain) == dp.Grid(DAYS)


def test_only_times_of_numpys_own_types_may_be_in_utc() -> None:
    curve = _curve(IN_UTC)
    assert curve(list(DAYS)).tolist() == curve(DAYS).tolist() == [181 / 366, 182 / 366]
    low, high = curve.quantile_interval(0.5)
    assert curve([low, high]).tolist() == [182 / 366, 183 / 366]
    naive = dt.datetime(2024, 6, 30)
    naives: list[Any] = [
        np.array([naive], object),
        np.array(naive, object),
        [naive],
        pd.Series(DAYS),
    ]
    for points in naives:
        with pytest.raises(dp.DtypeError, match="t must hold times with a time zone"):
            curve(points)


def test_missing_times_of_no_unit_are_missing() -> None:
    several: list[Any] = [[DAYS[0], NAT], [NAT], np.array([DAYS[0], NAT, None], object)]
    for records in several:
        with pytest.raises(dp.MissingValueError):
            YEAR.count(records)
        assert YEAR.count(records, nan_policy="omit").sum() == (DAYS[0] in list(records))
    spans = [np.timedelta64(90, "m"), np.timedelta64("NaT")]
    assert HOURS.count(spans, nan_policy="omit").tolist() == [0, 1] + 22 * [0]
    with pytest.raises(dp.DtypeError, match="several kinds"):
        HOURS.count([np.timedelta64(90, "m"), np.timedelta64(3)])
    with pytest.raises(dp.ParameterError, match="t must not be missing"):
        _curve(YEAR).grid.points("t", NAT)
    with pytest.raises(dp.ParameterError, match="lower must not be missing"):
        dp.Grid.uniform(NAT, "2024-01-01", 2)


@pytest.mark.parametrize("grid", [YEAR, IN_UTC, HOURS, dp.Grid([1.0])])
def test_columns_of_polars_without_any_value_are_of_any_unit(grid: dp.Grid) -> None:
    nobody = pl.Series([None, None])
    assert grid.count(nobody, nan_policy="omit").sum() == 0
    with pytest.raises(dp.MissingValueError):
        grid.count(nobody)


@pytest.mark.parametrize("text", ["2024-1-31", "31.1.2024", "2024-02-30", "20240131", "2024-01"])
def test_dates_that_are_not_in_iso_8601_are_named_with_what_to_write(text: str) -> None:
    what = 'in ISO 8601, as "2024-01-31"'
    for bounds, name in (((text, "2025-01-01"), "lower"), (("2024-01-01", text), "upper")):
        with pytest.raises(dp.DtypeError, match=f"^{name} must be .*{what}.*got '{text}' of type"):
            dp.Grid.uniform(*bounds, 12)
    with pytest.raises(dp.DtypeError, match=f"^thresholds must hold .*{what}"):
        dp.Grid(["2024-01-01", text])
    several: list[Any] = [text, [text], np.array([text])]
    for points in several:
        with pytest.raises(
            dp.DtypeError, match=f"^t must be .*{what}.*got (text|objects of type str)"
        ):
            _curve(YEAR)(points)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.Grid(["2024-02-01", "2024-01-01"]), "datetime.datetime(2024, 2, 1, 0, 0)"),
        (lambda: dp.Grid([2, 1]), "got (2.0, 1.0)"),
        (lambda: dp.Grid.uniform(0.5, 1e6, 2, unit="time"), "got 0.5"),
    ],
)
def test_what_is_wrong_with_thresholds_is_shown_as_it_was_given(make: Any, words: str) -> None:
    with pytest.raises(dp.ParameterError) as error:
        make()
    assert words in str(error.value)


def test_points_between_two_microseconds_are_above_the_one_before() -> None:
    curve = _curve(YEAR)
    before, on, after = np.datetime64("2024-06-30", "ns") + np.array([-1, 0, 1])
    wanted = [180 / 366, 181 / 366, 181 / 366]
    assert curve(np.array([before, on, after])).tolist() == wanted
    held: list[Any] = [pl.Series(np.array([before, on, after])), [before, on, after]]
    for points in (*held, *map(pd.Series, held)):
        assert curve(points).tolist() == wanted
    singles: list[Any] = [before, pd.Timestamp(on), after]
    assert [curve(each) for each in singles] == wanted


def test_points_may_be_farther_than_thresholds() -> None:
    curve = _curve(YEAR)
    singles: list[Any] = ["0001-01-01", dt.date(9999, 12, 31)]
    assert [curve(each) for each in singles] == [0.0, 1.0]
    assert curve(["0001-01-01", "9999-12-31"]).tolist() == [0.0, 1.0]


def test_missing_points_are_refused_in_every_container() -> None:
    several: list[Any] = [
        pl.Series([dt.date(2024, 1, 1), None]),
        pd.Series([pd.Timestamp("2024-01-01"), pd.NaT]),
        np.array([DAYS[0], NAT], "M8[us]"),
        [dt.date(2024, 1, 1), None],
    ]
    for points in several:
        for read in (YEAR.points, lambda _, given: dp.Grid(given)):
            with pytest.raises(dp.ParameterError, match="must not be missing"):
                read("t", points)


def test_places_are_shown_to_the_nearest_microsecond() -> None:
    places = np.array([0.6, -0.6, 2.4, np.nan, np.inf])
    for grid, start in ((HOURS, np.timedelta64(0)), (YEAR, np.datetime64("1970-01-01"))):
        found = grid.shown(places)
        assert (found[:3] - start).astype(int).tolist() == [1, -1, 2]
        assert np.isnat(found[3:]).all()


@pytest.mark.parametrize(
    ("name", "value"), [("lower", "2024-01-01"), ("upper", "2025-01-01"), ("unit", "days")]
)
@pytest.mark.parametrize("unit", [{}, {"unit": "time"}])
def test_stored_grids_have_numbers_and_units_that_are_known(
    name: str, value: str, unit: dict[str, str]
) -> None:
    stored = json.loads(dp.cdf_from_counts(np.ones(366, int), YEAR, epsilon=1.0).to_json())
    described = {**stored["grid"], "lower": 0, "upper": 366_000_000, **unit}
    if "unit" in unit:
        assert dp.CDF.from_json(json.dumps({**stored, "grid": described})).grid.unit == "time"
    for wrong in ({name: value}, {"lower": "2024-01-01", "upper": "2025-01-01", name: value}):
        text = json.dumps({**stored, "grid": {**described, **wrong}})
        with pytest.raises(dp.FormatError, match="bad field"):
            dp.CDF.from_json(text)
