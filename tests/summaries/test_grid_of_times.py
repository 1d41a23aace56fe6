"""Grids of dates, times and durations: their thresholds, what is read off, and what is refused."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpcore as dp

YEAR = dp.Grid.uniform("2024-01-01", "2025-01-01", 366)
IN_UTC = dp.Grid.uniform("2024-01-01T00:00Z", "2025-01-01T00:00Z", 12)
HOURS = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(days=1), 24)
UNEVEN = dp.Grid.uniform("2024-01-01", "2025-01-01", 7)
EXACT = dp.mechanisms.NoNoise()
DAYS = np.arange("2024-01-01", "2025-01-01", dtype="M8[D]")
NOW, LATER = np.array(["2024-06-30", "2024-07-01"], "M8[us]")
NAT = np.datetime64("NaT")


def _flat(grid: dp.Grid) -> dp.CDF:
    """Return the curve of one record in each cell."""
    return dp.cdf_from_counts(np.ones(grid.size, int), grid, EXACT)


def test_cells_of_a_leap_year_are_its_days() -> None:
    days = np.arange("2024-01-02", "2025-01-02", dtype="M8[D]")
    np.testing.assert_array_equal(YEAR.thresholds, days)
    assert YEAR.lower == np.datetime64("2024-01-01")
    noons = np.arange("2024-01-01T12", "2025-01-01T12", 24, dtype="M8[h]")
    assert YEAR.count(noons).tolist() == [1] * 366


def test_cells_of_dates_begin_after_their_lower_end_as_those_of_whole_numbers_do() -> None:
    assert dp.Grid.uniform("2023-12-31", "2024-12-31", 366).count(DAYS).tolist() == [1] * 366


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
    strings = ["2024-02-01T00:00", "2024-03-01T12:00"]
    wanted = dp.Grid(np.array(strings, "M8[us]"), lower="2024-01-01")
    times = [dt.date(2024, 2, 1), dt.datetime(2024, 3, 1, 12)]
    for form in (strings, times, tuple(times), pd.Series(pd.to_datetime(strings))):
        assert dp.Grid(form, lower=dt.date(2024, 1, 1)) == wanted
    assert dp.Grid([f"{text}Z" for text in strings]).unit == "instant"


@pytest.mark.parametrize(
    "made",
    [np.array, partial(np.array, dtype=object), pd.Series, pd.Index, pl.Series, pa.array, tuple],
)
def test_strings_of_dates_are_read_in_any_column(made: Any) -> None:
    days = ["2024-01-02", "2024-01-05"]
    grid = dp.Grid.days("2024-01-01", "2024-01-06")
    curve = dp.cdf(np.array(days, "M8[D]"), grid, dp.mechanisms.NoNoise())
    assert np.array_equal(curve(made(days)), curve(days))
    assert dp.Grid(made(days)) == dp.Grid(days)
    with pytest.raises(dp.DtypeError, match="in ISO 8601"):
        curve(made(["2024-01-02", "x"]))
    with pytest.raises(dp.DtypeError, match=r"pandas\.to_datetime reads it"):  # of records
        grid.count(made(days))
    assert grid.count(pd.to_datetime(days)).sum() == 2


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
    year = 366 * 86400 * 10**6
    wanted = [np.datetime64("2024", "us") + year * i // 7 for i in range(1, 8)]
    assert UNEVEN.thresholds.tolist() == np.array(wanted).tolist()
    for each in (0, 1):  # a search decides, and not the line
        values = UNEVEN.thresholds + np.timedelta64(each, "us")
        wanted_counts = np.bincount(np.minimum(np.arange(7) + each, 6), minlength=7)
        np.testing.assert_array_equal(UNEVEN.count(values), wanted_counts)


def test_what_is_shown() -> None:
    assert repr(YEAR) == "Grid.uniform('2024-01-01', '2025-01-01', 366)"
    assert repr(IN_UTC) == "Grid.uniform('2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z', 12)"
    assert eval(repr(HOURS), {"datetime": dt, "Grid": dp.Grid}) == HOURS
    assert repr(dp.Grid(YEAR.thresholds)).startswith("<Grid of 366 thresholds from 2024-01-02 to ")
    assert HOURS.thresholds.dtype == "m8[us]"
    assert np.isnat(dp.Grid(YEAR.thresholds).lower)


def test_curves_speak_dates() -> None:
    of_dates, of_times = (dp.cdf(each, YEAR, EXACT) for each in (DAYS, DAYS.astype("M8[ns]")))
    assert of_dates.quantile(0.5) == np.datetime64("2024-07-01")
    assert of_dates.quantile([0.1, 0.9]).dtype == "M8[D]"
    assert of_times.quantile([0.1, 0.9]).dtype == "M8[us]"
    assert of_times.quantile(0.5, method="inverted_cdf") == np.datetime64("2024-07-01")
    assert of_dates.sample(3, np.random.default_rng(1)).dtype == "M8[D]"
    assert of_dates("2024-07-01") == of_dates(dt.date(2024, 7, 1)) == 183 / 366
    assert of_dates(np.datetime64("2024-06-30T23:59:59.999999999")) == 182 / 366
    np.testing.assert_array_equal(of_dates(of_dates.thresholds), of_dates.counts / 366)
    assert of_dates.thresholds.dtype == "M8[us]"
    assert _flat(HOURS).quantile(0.5) == np.timedelta64(12, "h")
    assert _flat(HOURS)(dt.timedelta(hours=6)) == 0.25
    np.testing.assert_array_equal(of_dates(pd.Series(DAYS[1:3])), of_dates.counts[:2] / 366)


@pytest.mark.parametrize("size", [366, 7, 1000, 11])
def test_quantiles_of_dates_are_days_of_their_cells(size: int) -> None:
    grid = dp.Grid.uniform("2023-12-31", "2024-12-31", size)
    curve = dp.cdf(DAYS, grid, EXACT)
    shares = np.arange(1, 367) / 366
    assert np.abs(curve.quantile(shares) - DAYS).max() <= np.timedelta64(1, "D")
    if size == 366:
        np.testing.assert_array_equal(curve.quantile(shares), DAYS)


def test_axes_are_dates_or_numbers_of_days_hours_minutes_or_seconds() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib.dates import ConciseDateFormatter

    dates, spans, zoned = map(_flat, (YEAR, HOURS, IN_UTC))
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
    assert zoned.plot().get_xlabel() == "UTC"
    assert replace(zoned, name="seen").plot().get_xlabel() == "seen in UTC"
    assert replace(spans, name="stay").plot().get_xlabel() == "stay in hours"
    assert replace(dates, name="day").plot().get_xlabel() == "day"


def test_intervals_of_quantiles_are_dates() -> None:
    curve = dp.cdf(DAYS, dp.Grid.uniform("2023-12-31", "2024-12-31", 12), EXACT)
    low, high = curve.quantile(0.5, level=0.9)
    assert (low, high) == (np.datetime64("2024-06-01"), np.datetime64("2024-07-01"))
    assert curve.population_quantile_interval([0.5]).low.dtype == "M8[D]"
    unknown = dp.cdf_from_counts([1, 1], dp.Grid(np.array([1, 2], "M8[D]")), EXACT)
    assert np.isnat(unknown.quantile_interval(0.1).low)


def test_times_between_midnights_are_not_taken_for_days() -> None:
    curve = _flat(YEAR)
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
    zoned = _flat(IN_UTC)
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

    curve = dp.cdf(DAYS, YEAR, EXACT)
    # The first cell has two days, and its records are taken to lie evenly on them.
    assert kolmogorov_smirnov(curve, DAYS) == pytest.approx(0.0, abs=1e-12)
    silent = dp.cdf(DAYS, YEAR, EXACT, integers=False)
    assert kolmogorov_smirnov(silent, DAYS) == pytest.approx(1 / 366)  # of the grid's lower end
    for wrong in (lambda: earth_mover(curve, DAYS), lambda: kolmogorov_smirnov(curve, [1.0])):
        with pytest.raises(dp.DtypeError):
            wrong()
    other = _flat(IN_UTC)
    with pytest.raises(dp.DtypeError, match="of unit 'time'"):
        kolmogorov_smirnov(curve, other)


def test_quantiles_and_bounds_are_dates() -> None:
    days = np.repeat(DAYS, 100)
    found = dp.quantiles(days, [0.5], YEAR, epsilon=10.0, rng=np.random.default_rng(1))
    assert abs(found.values[0] - np.datetime64("2024-07-01")) < np.timedelta64(3, "D")
    bounds = dp.bounds(days, epsilon=10.0, grid=YEAR, rng=np.random.default_rng(1))
    assert np.datetime64("2024-01-01") < bounds.lower < np.datetime64("2024-01-09")
    assert dp.Grid.uniform(bounds.lower, bounds.upper, 8).unit == "time"


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
    with pytest.raises(dp.DtypeError, match=r"must .*(of numbers|real numbers?)"):
        refused()


@pytest.mark.parametrize(
    ("lower", "upper", "size", "kind", "name"),
    [
        ("2024-01-01", 5, 3, dp.DtypeError, "upper"),
        (0, dt.timedelta(1), 3, dp.DtypeError, "upper"),
        ("2024-01-01", "2025-01-01T00:00Z", 3, dp.DtypeError, "upper"),
        ("1600-01-01", "2024-01-01", 3, dp.ParameterError, "lower"),
        (pd.NaT, "2024-01-01", 3, dp.ParameterError, "lower"),
        (NAT, "2024-01-01", 2, dp.ParameterError, "lower"),
        (np.datetime64("NaT", "D"), np.datetime64("2024"), 3, dp.ParameterError, "lower"),
        ("2024-01-02", "2024-01-01", 3, dp.ParameterError, "upper"),
        (dt.timedelta(0), dt.timedelta(microseconds=2), 3, dp.ParameterError, "size"),
    ],
)
def test_bounds_of_times_that_are_refused(
    lower: Any, upper: Any, size: int, kind: type, name: str
) -> None:
    with pytest.raises(kind) as caught:
        dp.Grid.uniform(lower, upper, size)
    assert caught.value.argument == name


def test_units_of_bounds_that_are_refused() -> None:
    with pytest.raises(dp.ParameterError, match="unit"):
        dp.Grid.uniform(0, 1, 2, unit="day")
    with pytest.raises(dp.ParameterError, match=r"lower .*got 0\.5"):
        dp.Grid.uniform(0.5, 1e6, 2, unit="time")


@pytest.mark.parametrize(
    ("thresholds", "more", "kind", "words"),
    [
        (YEAR.thresholds, {"lower": 5}, dp.DtypeError, "lower"),
        (YEAR.thresholds, {"lower": "2024-01-03"}, dp.ParameterError, "lower .*2024-01-02"),
        (YEAR.thresholds, {"unit": "duration"}, dp.DtypeError, "thresholds"),
        (YEAR.thresholds, {"unit": "day"}, dp.ParameterError, "unit"),
        (np.array([1], "M8[ns]"), {}, dp.ParameterError, "thresholds .*microseconds"),
        ([0.5], {"unit": "time"}, dp.ParameterError, "thresholds .*microseconds"),
        (np.array(["NaT"], "M8[us]"), {}, dp.ParameterError, "thresholds must not be missing"),
        (np.ma.array(DAYS[:2], mask=[1, 0]), {}, dp.DtypeError, "thresholds must not be masked"),
        (["2024-02-01", "2024-01-01"], {}, dp.ParameterError, r"datetime\(2024, 2, 1, 0, 0\)"),
        ([2, 1], {}, dp.ParameterError, r"got \(2.0, 1.0\)"),
    ],
)
def test_thresholds_of_times_that_are_refused(
    thresholds: Any, more: Any, kind: type, words: str
) -> None:
    """What is wrong is shown as it was given."""
    with pytest.raises(kind, match=words):
        dp.Grid(thresholds, **more)


@pytest.mark.parametrize("text", ["2024-1-31", "31.1.2024", "2024-02-30", "20240131", "2024-01"])
def test_dates_that_are_not_in_iso_8601_are_named_with_what_to_write(text: str) -> None:
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("lower", lambda: dp.Grid.uniform(text, "2025-01-01", 12)),
        ("upper", lambda: dp.Grid.uniform("2024-01-01", text, 12)),
        ("thresholds", lambda: dp.Grid(["2024-01-01", text])),
        *(("t", lambda t=t: _flat(YEAR)(t)) for t in (text, [text], np.array([text]))),
    ]
    for name, call in calls:
        with pytest.raises(dp.DtypeError, match=f'^{name} must .*in ISO 8601, as "2024-01-31"'):
            call()


# --- points


def test_masked_and_missing_points_are_refused_in_every_container() -> None:
    for grid in (YEAR, IN_UTC):
        with pytest.raises(dp.DtypeError, match="t must not be masked"):
            _flat(grid)(np.ma.array([NOW, LATER], mask=[True, False]))
    plain = np.ma.array([NOW, LATER])
    assert _flat(YEAR)(plain).tolist() == [181 / 366, 182 / 366]
    several: list[Any] = [
        pl.Series([dt.date(2024, 1, 1), None]),
        pd.Series([pd.Timestamp("2024-01-01"), pd.NaT]),
        np.array([NOW, NAT], "M8[us]"),
        [dt.date(2024, 1, 1), None],
        [NOW, NAT],
    ]
    for points in several:
        for read in (lambda given: YEAR.points("t", given), dp.Grid):
            with pytest.raises(dp.ParameterError, match="must not be missing"):
                read(points)


def test_points_in_utc_have_a_zone_or_numpys_own_types() -> None:
    curve = _flat(dp.Grid.uniform("2024-01-01T00:00Z", "2025-01-01T00:00Z", 366))
    assert curve([NOW, LATER]).tolist() == [181 / 366, 182 / 366]
    assert curve(np.array([NOW, LATER])).tolist() == [181 / 366, 182 / 366]
    assert curve(list(curve.quantile_interval(0.5))).tolist() == [182 / 366, 183 / 366]
    assert curve("2024-12-31T23:59-01:00") == 1.0
    np.testing.assert_allclose(curve(curve.thresholds), np.arange(1, 367) / 366)
    naive = dt.datetime(2024, 6, 30)
    naives: list[Any] = [np.array([naive], object), np.array(naive, object), [naive]]
    for points in [*naives, naive, pd.Series([NOW]), "2024-01-01", 5.0]:
        with pytest.raises(dp.DtypeError, match="t must "):
            curve(points)


def test_missing_times_of_no_unit_are_missing() -> None:
    several: list[Any] = [[NOW, NAT], [NAT], np.array([NOW, NAT, None], object)]
    for records in several:
        with pytest.raises(dp.MissingValueError):
            YEAR.count(records)
        assert YEAR.count(records, nan_policy="omit").sum() == (NOW in list(records))
    spans = [np.timedelta64(90, "m"), np.timedelta64("NaT")]
    assert HOURS.count(spans, nan_policy="omit").tolist() == [0, 1] + 22 * [0]
    with pytest.raises(dp.DtypeError, match="several kinds"):
        HOURS.count([np.timedelta64(90, "m"), np.timedelta64(3)])


def test_points_between_two_microseconds_are_above_the_one_before() -> None:
    curve = _flat(YEAR)
    before, on, after = np.datetime64("2024-06-30", "ns") + np.array([-1, 0, 1])
    wanted = [180 / 366, 181 / 366, 181 / 366]
    assert curve(np.array([before, on, after])).tolist() == wanted
    held: list[Any] = [pl.Series(np.array([before, on, after])), [before, on, after]]
    for points in (*held, *map(pd.Series, held)):
        assert curve(points).tolist() == wanted
    singles: list[Any] = [before, pd.Timestamp(on), after]
    assert [curve(each) for each in singles] == wanted


def test_points_may_be_farther_than_thresholds() -> None:
    curve = _flat(YEAR)
    singles: list[Any] = ["0001-01-01", dt.date(9999, 12, 31)]
    assert [curve(each) for each in singles] == [0.0, 1.0]
    assert curve(["0001-01-01", "9999-12-31"]).tolist() == [0.0, 1.0]


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
