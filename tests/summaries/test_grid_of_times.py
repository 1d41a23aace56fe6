"""Grids of dates, times and durations: their thresholds, what is read off, and what is refused."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcore as dp

YEAR = dp.Grid.uniform("2024-01-01", "2025-01-01", 366)
IN_UTC = dp.Grid.uniform("2024-01-01T00:00Z", "2025-01-01T00:00Z", 12)
HOURS = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(days=1), 24)
UNEVEN = dp.Grid.uniform("2024-01-01", "2025-01-01", 7)
EXACT = dp.mechanisms.NoNoise()


def test_cells_of_a_leap_year_are_its_days() -> None:
    days = np.arange("2024-01-02", "2025-01-02", dtype="M8[D]")
    np.testing.assert_array_equal(YEAR.thresholds, days)
    assert YEAR.lower == np.datetime64("2024-01-01")
    noons = np.arange("2024-01-01T12", "2025-01-01T12", 24, dtype="M8[h]")
    assert YEAR.count(noons).tolist() == [1] * 366


def test_cells_of_dates_begin_after_their_lower_end_as_those_of_whole_numbers_do() -> None:
    days = np.arange("2024-01-01", "2025-01-01", dtype="M8[D]")
    assert dp.Grid.uniform("2023-12-31", "2024-12-31", 366).count(days).tolist() == [1] * 366


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (dt.date(2024, 1, 1), dt.datetime(2025, 1, 1)),
        (np.datetime64("2024"), np.datetime64("2025-01-01", "ns")),
        (pd.Timestamp("2024-01-01"), "2025-01-01 00:00"),
    ],
)
def test_bounds_are_dates_in_any_form(lower: Any, upper: Any) -> None:
    assert dp.Grid.uniform(lower, upper, 366) == YEAR
    assert dp.Grid.uniform(lower, upper, 366).unit == "time"


def test_thresholds_are_dates_in_any_form() -> None:
    strings = ["2024-02-01", "2024-03-01T12:00"]
    wanted = dp.Grid(np.array(strings, "M8[us]"), lower="2024-01-01")
    times = [dt.date(2024, 2, 1), dt.datetime(2024, 3, 1, 12)]
    for form in (
        strings,
        times,
        tuple(times),
        pd.Series(pd.to_datetime(strings, format="ISO8601")),
    ):
        assert dp.Grid(form, lower=dt.date(2024, 1, 1)) == wanted
    assert (
        dp.Grid([f"{each}Z" for each in ("2024-02-01T00:00", "2024-03-01T12:00")]).unit == "instant"
    )
    with pytest.raises(dp.DtypeError):
        dp.Grid(["2024-02-01", "soon"])


def test_times_with_a_zone_are_kept_in_utc() -> None:
    paris = pd.Timestamp("2024-01-01T01:00", tz="Europe/Paris")
    assert dp.Grid.uniform(paris, "2024-12-31T19:00-05:00", 12) == IN_UTC
    assert IN_UTC.unit == "instant"
    assert dp.Grid(IN_UTC.thresholds, unit="instant") == IN_UTC
    assert dp.Grid(IN_UTC.thresholds) != IN_UTC  # NumPy's times have no zone


@pytest.mark.parametrize("grid", [YEAR, IN_UTC, HOURS, UNEVEN])
def test_grids_come_back_from_json_and_pickles(grid: dp.Grid) -> None:
    for again in (dp.Grid.from_description(grid.describe()), pickle.loads(pickle.dumps(grid))):
        assert again == grid
        assert hash(again) == hash(grid)
        assert (again.unit, again.lower) == (grid.unit, grid.lower)
    curve = dp.cdf_from_counts(np.ones(grid.size, int), grid, epsilon=1.0)
    again = dp.CDF.from_json(curve.to_json())
    assert again.grid == grid
    assert again.quantile(0.3) == curve.quantile(0.3)


def test_thresholds_that_are_no_whole_microseconds_are_rounded_down() -> None:
    year = dt.timedelta(days=366)
    start = dt.datetime(2024, 1, 1)
    wanted = [
        start + dt.timedelta(microseconds=year // dt.timedelta(microseconds=1) * i // 7)
        for i in range(1, 8)
    ]
    assert UNEVEN.thresholds.tolist() == wanted
    for each in (0, 1):  # a search decides, and not the line
        values = UNEVEN.thresholds + np.timedelta64(each, "us")
        wanted_counts = np.bincount(np.minimum(np.arange(7) + each, 6), minlength=7)
        np.testing.assert_array_equal(UNEVEN.count(values), wanted_counts)


def test_what_is_shown() -> None:
    assert repr(YEAR) == "Grid.uniform('2024-01-01', '2025-01-01', 366)"
    assert repr(IN_UTC) == "Grid.uniform('2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z', 12)"
    assert eval(repr(HOURS), {"datetime": dt, "Grid": dp.Grid}) == HOURS
    assert (
        repr(dp.Grid(YEAR.thresholds)) == "<Grid of 366 thresholds from 2024-01-02 to 2025-01-01>"
    )
    assert HOURS.thresholds.dtype == "m8[us]"
    assert np.isnat(dp.Grid(YEAR.thresholds).lower)


def test_curves_speak_dates() -> None:
    days = np.arange("2024-01-01", "2025-01-01", dtype="M8[D]")
    of_dates, of_times = (dp.cdf(each, YEAR, EXACT) for each in (days, days.astype("M8[ns]")))
    assert of_dates.quantile(0.5) == np.datetime64("2024-07-01")
    assert of_dates.quantile([0.1, 0.9]).dtype == "M8[D]"
    assert of_times.quantile([0.1, 0.9]).dtype == "M8[us]"
    assert of_times.quantile(0.5, method="inverted_cdf") == np.datetime64("2024-07-01")
    assert of_dates.sample(3, np.random.default_rng(1)).dtype == "M8[D]"
    assert of_dates("2024-07-01") == of_dates(dt.date(2024, 7, 1)) == 183 / 366
    assert of_dates(np.datetime64("2024-06-30T23:59:59.999999999")) == 182 / 366
    np.testing.assert_array_equal(of_dates(of_dates.thresholds), of_dates.counts / 366)
    assert of_dates.thresholds.dtype == "M8[us]"
    np.testing.assert_array_equal(of_dates(pd.Series(days[1:3])), of_dates.counts[:2] / 366)


@pytest.mark.parametrize("size", [366, 7, 1000, 11])
def test_quantiles_of_dates_are_days_of_their_cells(size: int) -> None:
    grid = dp.Grid.uniform("2023-12-31", "2024-12-31", size)
    days = np.arange("2024-01-01", "2025-01-01", dtype="M8[D]")
    curve = dp.cdf(days, grid, EXACT)
    shares = np.arange(1, 367) / 366
    assert np.abs(curve.quantile(shares) - days).max() <= np.timedelta64(1, "D")
    if size == 366:
        np.testing.assert_array_equal(curve.quantile(shares), days)


def test_curves_in_utc_take_times_with_a_zone_and_their_own() -> None:
    curve = dp.cdf_from_counts(np.ones(12, int), IN_UTC, EXACT)
    np.testing.assert_allclose(curve(curve.thresholds), np.arange(1, 13) / 12)
    assert curve(curve.quantile(0.5)) == 0.5
    assert curve("2024-12-31T23:59-01:00") == 1.0
    for point in (dt.datetime(2024, 1, 1), "2024-01-01", 5.0):
        with pytest.raises(dp.DtypeError, match=r"^t must"):
            curve(point)


def test_durations_are_read_off_as_durations() -> None:
    curve = dp.cdf_from_counts(np.ones(24, int), HOURS, EXACT)
    assert curve.quantile(0.5) == np.timedelta64(12, "h")
    assert curve(dt.timedelta(hours=6)) == 0.25


def test_axes_are_dates_or_numbers_of_days_hours_minutes_or_seconds() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib.dates import ConciseDateFormatter

    dates, spans = (
        dp.cdf_from_counts(np.ones(each.size, int), each, EXACT) for each in (YEAR, HOURS)
    )
    assert isinstance(dates.plot().xaxis.get_major_formatter(), ConciseDateFormatter)
    ax = spans.plot()
    assert ax.get_xlabel() == "hours"
    assert ax.lines[0].get_xdata()[-1] == 24.0
    for last, wanted, most in (
        (dt.timedelta(days=3), "days", 3.0),
        (dt.timedelta(hours=3), "hours", 3.0),
        (dt.timedelta(minutes=179), "minutes", 179.0),
        (dt.timedelta(seconds=179), "seconds", 179.0),
    ):
        grid = dp.Grid([-last, dt.timedelta(0)])  # the first one is farther from 0
        ax = dp.cdf_from_counts(np.array([1, 1]), grid, EXACT).plot()
        assert ax.get_xlabel() == wanted
        assert ax.lines[0].get_xdata()[0] == -most
    zoned = dp.cdf_from_counts(np.ones(12, int), IN_UTC, EXACT)
    assert zoned.plot().get_xlabel() == "UTC"
    assert replace(zoned, name="seen").plot().get_xlabel() == "seen in UTC"
    assert replace(spans, name="stay").plot().get_xlabel() == "stay in hours"
    assert replace(dates, name="day").plot().get_xlabel() == "day"


def test_intervals_of_quantiles_are_dates() -> None:
    days = np.arange("2024-01-01", "2025-01-01", dtype="M8[D]")
    curve = dp.cdf(days, dp.Grid.uniform("2023-12-31", "2024-12-31", 12), EXACT)
    low, high = curve.quantile(0.5, level=0.9)
    assert (low, high) == (np.datetime64("2024-06-01"), np.datetime64("2024-07-01"))
    assert curve.population_quantile_interval([0.5]).low.dtype == "M8[D]"
    unknown = dp.cdf_from_counts([1, 1], dp.Grid(np.array([1, 2], "M8[D]")), EXACT)
    assert np.isnat(unknown.quantile_interval(0.1).low)


def test_times_between_midnights_are_not_taken_for_days() -> None:
    curve = dp.cdf_from_counts(np.ones(366, int), YEAR, EXACT)
    assert curve.quantile(0.25 / 366) == np.datetime64("2024-01-01T06:00")
    assert curve.integers is None


@pytest.mark.needs_jit
def test_curves_of_times_are_compared_by_durations() -> None:
    rng = np.random.default_rng(1)
    starts = np.datetime64("2024-03-01"), np.datetime64("2024-04-01")
    curves = [
        dp.cdf(each + rng.integers(0, 90, 3000).astype("m8[D]"), YEAR, epsilon=1.0, rng=rng)
        for each in starts
    ]
    found = dp.compare(*curves, probabilities=0.5, simulations=99, rng=rng)
    assert abs(found.differences + np.timedelta64(31, "D")) < np.timedelta64(5, "D")
    assert found.population_interval.low < found.differences < found.population_interval.high
    assert f"{found.differences / np.timedelta64(1, 'D'):.4g} d  " in str(found)
    assert dp.compare(*curves, simulations=19, rng=rng).differences.dtype == "m8[us]"


def test_means_deviations_and_tables_are_of_times() -> None:
    curve = dp.cdf(DAYS, dp.Grid.days("2024-01-01", "2024-12-31"), EXACT)
    assert curve.mean() == np.datetime64("2024-07-01T12:00")
    assert abs(curve.std() / np.timedelta64(1, "D") - np.arange(366).std()) < 1e-6
    low, high = curve.mean_interval()
    assert low <= curve.mean() <= high
    assert curve.to_frame()["threshold"].iloc[0] == pd.Timestamp("2024-01-01")
    zoned = dp.cdf_from_counts(np.ones(12, int), IN_UTC, EXACT)
    thresholds = zoned.to_frame()["threshold"]
    assert str(thresholds.dt.tz) == "UTC"
    np.testing.assert_array_equal(zoned(thresholds), np.arange(1, 13) / 12)
    counts, edges = curve.histogram(["2023-12-31", "2024-06-30", "2024-12-31"])
    assert counts.tolist() == [182, 184]
    assert edges.dtype == "M8[us]"


def test_curves_of_groups_are_of_dates() -> None:
    groups = np.repeat(["a", "b"], 183)
    found = dp.cdf(DAYS, YEAR, by=groups, groups=["a", "b"], epsilon=1e6)
    assert found["a"].quantile(1.0) == np.datetime64("2024-07-01")
    assert found["b"].quantile(0.99) > np.datetime64("2024-12-01")
    paris = pd.Series(DAYS).dt.tz_localize("UTC").dt.tz_convert("Europe/Paris")
    assert dp.cdf(paris, IN_UTC, by=groups, groups=["a", "b"], epsilon=1e6)["a"].n == 183
    with pytest.raises(dp.DtypeError):
        dp.cdf(DAYS, IN_UTC, by=groups, groups=["a"], epsilon=1.0)


def test_distances_of_curves_of_times_are_shares_only() -> None:
    from dpcore.curves.distances import earth_mover, kolmogorov_smirnov

    days = np.arange("2024-01-01", "2025-01-01", dtype="M8[D]")
    curve = dp.cdf(days, YEAR, EXACT)
    # The first cell has two days, and its records are taken to lie evenly on them.
    assert kolmogorov_smirnov(curve, days) == pytest.approx(0.0, abs=1e-12)
    silent = dp.cdf(days, YEAR, EXACT, integers=False)
    assert kolmogorov_smirnov(silent, days) == pytest.approx(1 / 366)  # of the grid's lower end
    for wrong in (lambda: earth_mover(curve, days), lambda: kolmogorov_smirnov(curve, [1.0])):
        with pytest.raises(dp.DtypeError):
            wrong()
    other = dp.cdf_from_counts(np.ones(12, int), IN_UTC, EXACT)
    with pytest.raises(dp.DtypeError, match="of unit 'time'"):
        kolmogorov_smirnov(curve, other)


def test_quantiles_and_bounds_are_dates() -> None:
    days = np.repeat(np.arange("2024-01-01", "2025-01-01", dtype="M8[D]"), 100)
    found = dp.quantiles(days, [0.5], YEAR, epsilon=10.0, rng=np.random.default_rng(1))
    assert abs(found.values[0] - np.datetime64("2024-07-01")) < np.timedelta64(3, "D")
    bounds = dp.bounds(days, epsilon=10.0, grid=YEAR, rng=np.random.default_rng(1))
    assert np.datetime64("2024-01-01") < bounds.lower < np.datetime64("2024-01-09")
    assert dp.Grid.uniform(bounds.lower, bounds.upper, 8).unit == "time"


DAYS = np.arange("2024-01-01", "2025-01-01", dtype="M8[D]")


@pytest.mark.parametrize(
    "refused",
    [
        lambda: dp.box_plot(DAYS, YEAR, epsilon=1.0),
        lambda: dp.TableGrid(YEAR, YEAR),
        lambda: dp.TableGrid(dp.Grid.uniform(0, 1, 2), HOURS),
        lambda: dp.score_curves([0, 1], [0.0, 1.0], YEAR, epsilon=1.0),
        lambda: dp.score_counts([0, 1], [0.0, 1.0], YEAR),
        lambda: dp.project(DAYS, "2024-01-01", "2025-01-01", rho=1.0),
        lambda: dp.bounds(DAYS, epsilon=1.0),
        lambda: dp.project(DAYS, 0, 1, rho=1.0),
        lambda: dp.Grid.log("2024-01-01", "2025-01-01", 4),
    ],
)
def test_what_is_about_numbers_refuses_dates(refused: Callable[[], Any]) -> None:
    with pytest.raises(
        dp.DtypeError, match=r"must (be of numbers|be a real number|hold real numbers)"
    ):
        refused()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: dp.Grid.uniform("2024-01-01", 5, 3), dp.DtypeError, "^upper must be a date"),
        (lambda: dp.Grid.uniform(0, dt.timedelta(1), 3), dp.DtypeError, "^upper must be a number"),
        (
            lambda: dp.Grid.uniform("2024-01-01", "2025-01-01T00:00Z", 3),
            dp.DtypeError,
            "^upper must be a date or a time without a time zone, as lower is",
        ),
        (lambda: dp.Grid.uniform("2024-01-01", "2024-02-30", 3), dp.DtypeError, "'2024-02-30'"),
        (lambda: dp.Grid.uniform("1600-01-01", "2024-01-01", 3), dp.ParameterError, "285 years"),
        (lambda: dp.Grid.uniform(pd.NaT, "2024-01-01", 3), dp.ParameterError, "^lower must not"),
        (
            lambda: dp.Grid.uniform(np.datetime64("NaT", "D"), np.datetime64("2024"), 3),
            dp.ParameterError,
            "missing",
        ),
        (
            lambda: dp.Grid.uniform("2024-01-02", "2024-01-01", 3),
            dp.ParameterError,
            "^upper must be greater",
        ),
        (
            lambda: dp.Grid.uniform(dt.timedelta(0), dt.timedelta(microseconds=2), 3),
            dp.ParameterError,
            "^size must leave",
        ),
        (lambda: dp.Grid.uniform(0, 1, 2, unit="day"), dp.ParameterError, "^unit must be one of"),
        (lambda: dp.Grid(YEAR.thresholds, lower=5), dp.DtypeError, "^lower must be a date"),
        (
            lambda: dp.Grid(YEAR.thresholds, unit="duration"),
            dp.DtypeError,
            "^thresholds must be a dur",
        ),
        (
            lambda: dp.Grid(np.array([1], "M8[ns]")),
            dp.ParameterError,
            "whole numbers of microseconds",
        ),
        (lambda: dp.Grid(np.array(["NaT"], "M8[us]")), dp.ParameterError, "must not be missing"),
        (lambda: dp.Grid([0.5], unit="time"), dp.ParameterError, "whole numbers of microseconds"),
        (
            lambda: dp.Grid(YEAR.thresholds, lower="2024-01-03"),
            dp.ParameterError,
            "first threshold, 2024-01-02",
        ),
    ],
)
def test_what_grids_of_times_refuse(make: Callable[[], Any], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        make()
