"""Bands and intervals of survival curves: how often they hold, and what they are of."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.own_mechanism import check_released

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 16, 8)
EXACT = dp.mechanisms.NoNoise()


def sample(n, rng):
    until_event, until_end = rng.exponential(10, n), rng.uniform(0, 30, n)
    return np.minimum(until_event, until_end), until_event <= until_end


def curve_of(n=600, seed=1, epsilon=0.5, **how):
    rng = RNG(seed)
    return dp.survival(*sample(n, rng), GRID, rng=rng, **how or {"epsilon": epsilon})


@pytest.mark.needs_jit
@pytest.mark.parametrize("of", ["records", "population"])
def test_bands_hold_as_often_as_they_say(of):
    rng, alone, at_once, means, medians = RNG(3), [], [], [], []
    for _ in range(120):
        records = sample(600, rng)
        curve = dp.survival(*records, GRID, epsilon=0.5, rng=rng)
        exact = dp.survival(*records, GRID, EXACT)
        true = exact.survival if of == "records" else np.exp(-GRID.positions / 10)
        mean = exact.restricted_mean(8) if of == "records" else 10 * (1 - np.exp(-0.8))
        median = exact.median if of == "records" else 10 * np.log(2)
        known = np.isfinite(curve.survival)
        for found, band in (
            (alone, curve.band(of=of)),
            (at_once, dp.simultaneous_band(curve, of=of, replicates=200)),
        ):
            found.append(((band.low <= true) & (true <= band.high))[known])
        low, high = curve.restricted_mean_interval(8, of=of)
        means.append(low <= mean <= high)
        low, high = curve.quantile_interval(0.5, of=of)
        medians.append(low <= median <= (np.inf if np.isnan(high) else high))
    assert 0.92 < np.mean(np.concatenate(alone)) < 0.985
    assert np.mean([each.all() for each in at_once]) > 0.90
    assert np.mean(means) > 0.90
    assert np.mean(medians) > 0.90


def test_bands_contain_the_curve_and_populations_are_wider():
    curve = curve_of()
    known = np.isfinite(curve.survival)
    alone, wide = curve.band(), curve.band(of="population")
    at_once = dp.simultaneous_band(curve, replicates=200)
    for low, high in (alone, wide, at_once):
        assert np.all((low <= curve.survival)[known])
        assert np.all((curve.survival <= high)[known])
        assert np.isnan(low[~known]).all()
        assert low[known].min() >= 0
        assert high[known].max() <= 1
    widths = [np.mean((high - low)[known]) for low, high in (alone, at_once, wide)]
    assert widths[0] < widths[1]
    assert widths[0] < widths[2]
    assert np.all(curve.band(0.5).high[known] <= alone.high[known])
    assert np.array_equal(curve.band(), alone, equal_nan=True)


def test_bands_hold_where_no_record_has_an_event():
    """Isotonic regression sees events there; around its curves alone, half of the bands missed."""
    rng, missed, at_once = RNG(1), [], []
    for _ in range(40):
        durations = np.minimum(9.0 + rng.exponential(5, 1000), rng.uniform(0, 16, 1000))
        curve = dp.survival(durations, durations > 9.0, GRID, epsilon=1.0, rng=rng)
        missed.append(curve.band(of="population").high[:4] < 1.0)
        wide = dp.simultaneous_band(curve, of="population", replicates=200)
        at_once.append((wide.high[:4] < 1.0).any())
    assert np.mean(missed) <= 0.1
    assert np.mean(at_once) <= 0.15


def test_intervals_are_read_off_the_band():
    curve = curve_of()
    low, high = curve.band(of="population")
    found = curve.interval(GRID.thresholds[:3], of="population")
    assert np.array_equal(found.low, low[:3])
    assert np.array_equal(found.high, high[:3])
    inside = curve.interval(3.0, of="population")
    assert inside.low == pytest.approx((low[0] + low[1]) / 2)
    early, late = curve.quantile_interval(0.4)
    assert early <= curve.quantile(0.4) <= late
    assert curve.interval(0.0) == (1.0, 1.0)


def test_without_noise_nothing_is_uncertain_about_the_records():
    exact = dp.survival(*sample(600, RNG(1)), GRID, EXACT)
    assert np.allclose(*exact.band(), 0, 1e-12)
    # Of the population, the errors are Greenwood's.
    low, high = exact.band(of="population")
    own = np.diff(exact.events, prepend=0)
    left = exact.at_risk - np.append(np.diff(exact.censored, prepend=0)[:-1], 0) / 2
    greenwood = exact.survival * np.sqrt(np.cumsum(own / (left * (left - own))))
    assert np.allclose((high - low) / (2 * 1.96 * greenwood), 1, atol=0.2)


@pytest.mark.parametrize(
    "mechanism",
    [dp.mechanisms.Hierarchy(0.5), dp.mechanisms.Dawa(0.5), dp.mechanisms.Histogram(rho=0.1)],
)
def test_all_mechanisms_have_bands(mechanism):
    curve = curve_of(mechanism=mechanism)
    low, high = curve.band(of="population")
    known = np.isfinite(curve.survival)
    assert known.any()
    assert np.all((low < high)[known])
    assert np.isfinite(dp.simultaneous_band(curve, replicates=50).low[known]).all()
    assert np.isfinite(curve.restricted_mean_interval(4)).all()


def test_an_interval_of_a_mean_stays_within_what_is_possible():
    grid = dp.Grid.uniform(0, 4, 4)
    exact = dp.survival([9] * 50, [0] * 50, grid, EXACT)
    assert exact.restricted_mean_interval(3) == (3.0, 3.0)
    curve = dp.survival([9] * 50, [0] * 50, grid, epsilon=1.0, rng=RNG(1))
    low, high = curve.restricted_mean_interval(2, of="population")
    assert 0 < low <= curve.restricted_mean(2) <= high <= 2
    assert curve.restricted_mean_interval(0) == (0.0, 0.0)
    scarce = dp.survival([1, 2], [1, 0], grid, epsilon=0.01, rng=RNG(1))
    assert scarce.end == 1.0
    assert np.isnan(scarce.restricted_mean_interval(4)).all()


def test_unknown_mechanisms_and_bad_arguments_are_refused():
    curve = curve_of()
    unknown = dp.Survival(curve.grid, curve.row)
    with pytest.raises(dp.ParameterError, match="mechanism"):
        unknown.band()
    own = dp.mechanisms.from_curve(curve.row)
    assert check_released("row", curve.row, own) is own
    given = dp.simultaneous_band(unknown, mechanism=own, replicates=50)
    assert given.low.shape == (8,)
    with pytest.raises(dp.ParameterError, match="level"):
        curve.band(1.5)
    with pytest.raises(dp.ParameterError, match="of"):
        curve.band(of="noise")
    with pytest.raises(dp.ParameterError, match="until"):
        curve.restricted_mean_interval(99)


def test_durations_have_intervals_in_time():
    rng = RNG(2)
    durations, event = sample(600, rng)
    spans = np.round(durations * 24).astype("m8[h]")
    grid = dp.Grid.uniform(np.timedelta64(0, "D"), np.timedelta64(16, "D"), 8)
    curve = dp.survival(spans, event, grid, epsilon=1.0, rng=rng)
    for low, high in (
        curve.quantile_interval(0.2),
        curve.restricted_mean_interval(np.timedelta64(8, "D")),
    ):
        assert low < high
        assert high < np.timedelta64(16, "D")


# --- shown


@pytest.mark.parametrize("first", [0, 1])
def test_a_picture_of_whole_durations_has_the_numbers_at_risk_of_the_table(first):
    pytest.importorskip("matplotlib")
    durations = np.repeat([1, 2, 3, 4, 5], [10, 20, 30, 40, 50])
    event, grid = np.ones(150, int), dp.Grid.integers(first, 8)
    curve = dp.survival(durations, event, grid, dp.mechanisms.NoNoise())
    ax = curve.plot()
    numbers = {float(text.xy[0]): text.get_text() for text in ax.texts[1:]}
    for place, number in numbers.items():
        assert int(number) == np.sum(durations >= place)
    of_table = dict(zip(curve.times.tolist(), curve.at_risk.tolist(), strict=True))
    assert all(of_table[place] == int(numbers[place]) for place in (1.0, 2.0, 5.0))


@pytest.mark.parametrize("uppers", [(30, 10), (10, 30)])
def test_a_picture_of_curves_over_other_grids_shows_all_of_both(uppers):
    pytest.importorskip("matplotlib")
    ax, each = None, {}
    for upper in uppers:
        durations = RNG(upper).exponential(upper / 3, 600)
        grid = dp.Grid.uniform(0, upper, upper)
        each[upper] = dp.survival(durations, np.ones(600), grid, dp.mechanisms.NoNoise())
        ax = each[upper].plot(ax)
    assert ax.get_xlim() == (0.0, 30.0)
    ticks = [tick for tick in ax.get_xticks() if tick < each[30].end]
    assert max(ticks) >= 20.0
    texts = [text for text in ax.texts[1:] if text.xyann[1] == ax.texts[-1].xyann[1]]
    ticks = [tick for tick in ticks if tick < each[uppers[1]].end]
    assert [text.xy[0] for text in texts][: len(ticks)] == ticks
    at_risk = each[uppers[1]].at_risk
    assert [int(text.get_text()) for text in texts][: len(ticks)] == at_risk[
        np.array(ticks, int)
    ].tolist()


def test_a_picture_has_the_curve_its_band_and_those_at_risk():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    curve = curve_of()
    ax = curve.plot(label="all")
    x, y = ax.lines[0].get_data()
    assert np.array_equal(x, np.append(0, GRID.positions))
    assert np.array_equal(y, np.append(1, curve.survival), equal_nan=True)
    told, *numbers = [text.get_text() for text in ax.texts]
    assert told == "at risk"
    known = curve.at_risk[np.isfinite(curve.survival)]
    assert numbers[0] == "600"
    ticks = [tick for tick in ax.get_xticks() if tick <= GRID.positions[known.size - 2]]
    at = np.interp(ticks, np.append(0, GRID.positions[:-1])[: known.size], known)
    assert [int(number) for number in numbers][: len(at)] == at.round().astype(int).tolist()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "all",
        "95% band, population",
    ]
    other = curve.plot(ax, band=dp.simultaneous_band(curve, replicates=50))
    assert other is ax
    assert len(ax.texts) == 1 + 2 * len(numbers)
    assert ax.texts[-1].xyann[1] < ax.texts[1].xyann[1]
    with pytest.raises(dp.DtypeError, match="band"):
        curve.plot(ax, band=3)
    pyplot.close("all")


def test_a_picture_of_whole_numbers_has_steps_and_durations_have_a_unit():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    durations, event = sample(600, RNG(1))
    whole = dp.survival(np.ceil(durations), event, dp.Grid.integers(0, 16), epsilon=1.0)
    assert whole.plot().lines[0].get_drawstyle() == "steps-post"
    spans = np.round(durations * 24).astype("m8[h]")
    days = np.timedelta64(0, "D"), np.timedelta64(16, "D")
    ax = dp.survival(spans, event, days, epsilon=1.0).plot()
    assert ax.get_xlabel() == "duration in days"
    pyplot.close("all")


def test_frames_notebooks_and_reports_show_a_curve():
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    curve = curve_of()
    frame = curve.to_frame(0.9, of="population")
    assert frame["survival"].equals(frame["survival"].clip(frame["low"], frame["high"]))
    assert np.array_equal(frame["at_risk"], curve.at_risk)
    assert curve._repr_html_().count("<svg") == 1
    page = dp.report({"trial": curve})
    assert "median, of the population" in page
    assert "data:image" in page or "<img" in page
