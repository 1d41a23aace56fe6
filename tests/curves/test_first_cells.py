"""The first cell includes its lower end: every reading of curves whose records equal it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.curves.distances import earth_mover, kolmogorov_smirnov
from dpcore.mechanisms import NoNoise

RNG = np.random.default_rng
VISITS = np.minimum(RNG(1).geometric(0.31, 20_000) - 1, 60)  # 31 % are 0
QUARTERS = [0.25, 0.5, 0.75]
QUARTILES = np.quantile(VISITS, QUARTERS, method="inverted_cdf")
DAY = np.datetime64("2024-01-01")


def holds(interval, truth):
    return bool(np.all((interval.low <= truth) & (truth <= interval.high)))


# --- grids of whole numbers


@settings(max_examples=100)
@given(
    st.integers(-40, 40),
    st.lists(st.integers(0, 12), min_size=1, max_size=40),
    st.sampled_from([None, "D", "duration"]),
)
def test_readings_of_an_exact_curve_are_those_of_its_records(first, shifts, unit):
    values = first + np.array(shifts)
    grid = dp.Grid.integers(first, first + 12)
    if unit is not None:
        values = values.astype("m8[D]") + (DAY if unit == "D" else np.timedelta64(0, "D"))
        grid = dp.Grid.days(values.min() - 1, values.max() + 1)
    curve = dp.cdf(values, grid, NoNoise(), integers=True)
    shares = (np.arange(len(shifts)) + 0.5) / len(shifts)
    ordered = np.sort(values)
    assert np.array_equal(curve.quantile(shares), ordered)
    assert np.array_equal(curve.quantile_interval(shares).low, ordered)
    assert np.array_equal(curve.quantile_interval(shares).high, ordered)
    assert set(curve.sample(20, RNG(1))) <= set(ordered)
    assert [curve(each) for each in ordered] == [np.mean(values <= each) for each in ordered]
    counts, edges = curve.histogram()
    assert counts.sum() == len(shifts)
    assert edges[0] == grid.lower - (1 if unit is None else np.timedelta64(1, "D"))
    assert counts[0] == np.sum(values == grid.lower)
    if unit is None:
        assert curve.mean() == pytest.approx(values.mean())
        assert curve.std() == pytest.approx(values.std())
        assert kolmogorov_smirnov(curve, values) == 0.0
        assert earth_mover(curve, values) == pytest.approx(0.0, abs=1e-9)
        assert curve.histogram(13)[0].tolist() == counts.tolist()
    else:
        mean = np.mean((values - ordered[0]) / np.timedelta64(1, "us"))
        assert abs((curve.mean() - ordered[0]) / np.timedelta64(1, "us") - mean) <= 2
        assert kolmogorov_smirnov(curve, values) == 0.0


# --- other grids


def test_visits_on_unit_cells_are_spread_over_both_numbers_of_the_first():
    whole = dp.cdf(VISITS, dp.Grid.uniform(0, 60, 60), NoNoise(), integers=True)
    both = np.mean(VISITS <= 1)
    assert whole(0) == whole(0.9) == pytest.approx(both / 2)
    assert whole(-1e-9) == 0.0
    assert whole(1) == both
    assert whole.quantile(QUARTERS).tolist() == QUARTILES.tolist()
    assert whole.histogram([-1, 0, 1])[0] == pytest.approx([both * VISITS.size / 2] * 2)
    assert whole.histogram(60)[0].sum() == pytest.approx(VISITS.size)
    reals = dp.cdf(VISITS, dp.Grid.uniform(0, 60, 60), NoNoise(), integers=False)
    assert reals(0) == reals(0.9) == 0.0
    assert reals.quantile(0.0) == 0.0
    for curve in (whole, reals):
        assert holds(curve.mean_interval(), VISITS.mean())
        assert holds(curve.quantile_interval(QUARTERS), QUARTILES)
        assert holds(curve.quantile_interval(QUARTERS, method="inverted_cdf"), QUARTILES)


@pytest.mark.parametrize(
    ("grid", "place", "share"),
    [
        (dp.Grid.uniform(0, 60, 12), 0, 1 / 6),
        (dp.Grid.uniform(0, 60, 4096), 0, 1),
        (dp.Grid.uniform(-0.5, 60, 121), 0, 1),
        (dp.Grid.uniform(-0.5, 59.5, 60), 0, 1),
        (dp.Grid([0, 2, 60], lower=0), 0, 1),
        (dp.Grid([2.5, 60], lower=-3), -3, 1 / 6),
        (dp.Grid([2.5, 60], lower=-2.5), -2, 1 / 5),
        (dp.Grid([2.5, 60]), 2, 0),
    ],
    ids=repr,
)
def test_the_curve_rises_at_the_least_whole_number(grid, place, share):
    curve = dp.cdf(VISITS, grid, NoNoise(), integers=True)
    expected = share * curve.counts[0] / curve.n
    assert curve(place) == pytest.approx(expected)
    assert curve(place - 1e-9) == 0.0
    if share:
        assert curve.quantile(0.9 * expected) == place
        assert curve.quantile(1e-9) == place


@st.composite
def closed(draw):
    """A grid and records within it, some of which may be its lower end."""
    seed, whole = draw(st.integers(0, 9999)), draw(st.booleans())
    rng = RNG(seed)
    step = rng.choice([0.25, 0.5, 1.0, 2.0, 3.7])
    lower = float(rng.integers(-5, 5)) + rng.choice([0.0, 0.0, 0.5])
    size = int(rng.integers(1, 12))
    gap = rng.choice([0.0, step])
    grid = dp.Grid(lower + gap + step * np.arange(size), lower=lower)
    values = rng.uniform(lower, grid.thresholds[-1], int(rng.integers(1, 30)))
    if whole:
        values = np.round(values)
        values = values[(values >= lower) & (values <= grid.thresholds[-1])]
    values = np.append(values, [np.ceil(lower) if whole else lower] * int(rng.integers(1, 20)))
    return grid, np.minimum(values, grid.thresholds[-1]), whole


@settings(max_examples=200)
@given(closed(), st.sampled_from([0.1, 0.25, 0.5, 0.9]))
def test_intervals_of_exact_curves_hold_for_records_at_the_lower_end(drawn, p):
    grid, values, whole = drawn
    if whole and np.any(values != np.rint(values)):
        return  # no whole number between the ends
    truth = np.quantile(values, p, method="inverted_cdf")
    for said in {whole, False}:
        curve = dp.cdf(values, grid, NoNoise(), integers=said)
        low, high = curve.mean_interval()
        assert low - 1e-9 <= values.mean() <= high + 1e-9
        low, high = curve.quantile_interval(p)
        assert low - 1e-9 <= truth <= high + 1e-9
        assert low <= curve.quantile(p) <= high
        if truth == grid.lower:
            low, high = curve.quantile_interval(p, method="inverted_cdf")
            assert low <= truth <= high
        assert curve.histogram([grid.lower, grid.thresholds[-1] + 1])[0].sum() == values.size
        if not said:
            assert curve.quantile(0.0) == grid.lower


@pytest.mark.parametrize("grid", [dp.Grid.integers(0, 60), dp.Grid.uniform(0, 60, 12)])
def test_a_curve_of_points_agrees(grid):
    counts = grid.count(VISITS)
    exact = dp.cdf_from_counts(counts, grid, NoNoise(), integers=True)
    answers = dp.trust.SimulatedSum(counts, dp.trust.SecureAggregation(), RNG(1))
    asked = dp.trust.PointwiseCDF(answers, grid, integers=True)
    points = [-1, 0, 0.5, 1, 7, 60]
    assert asked(points).tolist() == exact(points).tolist()
    assert asked.quantile(QUARTERS).tolist() == exact.quantile(QUARTERS).tolist()
    assert asked.to_cdf()(0) == exact(0)


@pytest.mark.parametrize("said", [True, False, None])
@pytest.mark.parametrize(
    "grid",
    [
        dp.Grid.uniform(0, 60, 60),
        dp.Grid.uniform(-1, 59, 60),
        dp.Grid(range(60)),
        dp.Grid(range(60), lower=-0.5),
    ],
    ids=repr,
)
def test_stored_releases_of_other_grids_keep_their_numbers(grid, said):
    counts = np.r_[31, 19, np.ones(58, int)]
    released = dp.cdf_from_counts(counts, grid, epsilon=1e6, isotonic=False, integers=said)
    text = replace(released, counts=np.cumsum(counts)).to_json()
    curve = dp.CDF.from_json(text)
    assert json.loads(curve.to_json()) == json.loads(text)
    assert curve(curve.thresholds).tolist() == (np.cumsum(counts) / counts.sum()).tolist()
    assert curve.quantile(1.0) == curve.thresholds[-1]
    whole = bool(np.all(curve.quantile(np.linspace(0.1, 0.9, 7)) % 1 == 0))
    assert whole is (said is True)
