"""Means, deviations, histograms and tables of curves, beside those of samples of the curve."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import (
    AdaptiveQuantiles,
    Dawa,
    Dyadic,
    Hierarchy,
    Histogram,
    NoNoise,
    ToeplitzGaussian,
)

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 128)
UNEVEN = dp.Grid([0.5, 3.2, 3.9, 4.1, 10.0], lower=-0.5)


@pytest.mark.parametrize("grid", [dp.Grid.uniform(0, 10, 7), UNEVEN, dp.Grid([2.0, 4.0, 9.0])])
@pytest.mark.parametrize("integers", [False, True])
def test_moments_are_those_of_large_samples(grid, integers):
    values = RNG(1).integers(0, 10, 300)
    curve = dp.cdf(values, grid, NoNoise(), integers=integers)
    sample = curve.sample(400_000, RNG(2))
    assert curve.mean() == pytest.approx(sample.mean(), abs=5 * sample.std() / math.sqrt(400_000))
    assert curve.std() == pytest.approx(sample.std(), rel=0.01)


def test_with_one_whole_number_in_each_cell_they_are_exact():
    values = RNG(1).integers(0, 10, 300)
    curve = dp.cdf(values, dp.Grid(np.arange(10.0)), NoNoise())
    assert curve.mean() == pytest.approx(values.mean(), rel=1e-12)
    assert curve.std() == pytest.approx(values.std(), rel=1e-12)
    counts, edges = curve.histogram([-0.5, 2.5, 9])
    assert counts.tolist() == [np.sum(values <= 2), np.sum(values > 2)]
    assert edges.tolist() == [-0.5, 2.5, 9.0]
    assert type(curve.mean()) is type(curve.std()) is float
    assert dp.cdf([3] * 9, dp.Grid.integers(0, 9), NoNoise()).std() == 0.0


def test_raw_curves_have_moments():
    curve = dp.cdf(RNG(1).random(100), GRID, Dyadic(0.5), isotonic=False, rng=RNG(1))
    assert not curve.is_monotone
    assert 0.0 < curve.std() < 0.6
    assert 0.0 < curve.mean() < 1.0


def test_a_histogram_is_numpys_of_records_off_the_edges():
    values = RNG(1).random(1000)
    curve = dp.cdf(values, dp.Grid.uniform(0, 1, 100), NoNoise())
    for bins in (10, [0.2, 0.5, 0.9]):
        ours, edges = curve.histogram(bins)
        expected, same = np.histogram(values, bins, range=(0, 1))
        assert ours == pytest.approx(expected, abs=1e-9)
        assert edges == pytest.approx(same)
    counts, edges = curve.histogram()
    assert counts.tolist() == curve.grid.count(values).tolist()
    assert edges.tolist() == [0.0, *curve.thresholds]


def test_cells_count_in_part():
    curve = dp.cdf([0.1] * 8, dp.Grid.uniform(0, 1, 2), NoNoise())
    assert curve.histogram([-1, 0.125, 0.25, 2])[0].tolist() == [2.0, 2.0, 4.0]
    grid = dp.Grid([4.0, 8.0], lower=1)
    whole = dp.cdf([1, 2, 3, 4] * 2, grid, NoNoise(), integers=True)
    assert whole.histogram([0, 1.5, 3.5, 8])[0].tolist() == [2.0, 4.0, 2.0]


def test_where_the_first_cell_begins_has_to_be_known_for_so_many_bins():
    curve = dp.cdf([1.0, 2.0], dp.Grid([1.0, 2.0]), NoNoise(), integers=False)
    for bins in (2, 0, [1.0], [[0.1, 0.2]], [0.2, 0.1], [0.1, math.nan], "auto"):
        with pytest.raises(dp.DpcoreError, match="bins"):
            curve.histogram(bins)
    assert curve.histogram()[1].tolist() == [-math.inf, 1.0, 2.0]
    assert curve.histogram([0, 1.5, 2])[0].tolist() == [1.5, 0.5]
    assert curve.mean_interval() == (-math.inf, 1.5)


def test_a_table_has_the_curve_and_its_band():
    curve = dp.cdf(RNG(1).random(900), GRID, epsilon=1.0, rng=RNG(1))
    frame = curve.to_frame(0.8)
    assert list(frame.columns) == ["threshold", "count", "share", "low", "high"]
    assert frame.shape == (128, 5)
    low, high = curve.band(0.8)
    np.testing.assert_array_equal(frame["low"], low)
    np.testing.assert_array_equal(frame["high"], high)
    np.testing.assert_array_equal(frame["share"], curve(curve.thresholds))


def test_times_have_means():
    days = np.datetime64("2024-01-01") + np.arange(366)
    curve = dp.cdf(days, dp.Grid.uniform("2024-01-01", "2025-01-01", 366), NoNoise())
    assert abs(curve.mean() - np.datetime64("2024-07-01T12")) < np.timedelta64(25, "h")
    assert abs(curve.std() / np.timedelta64(1, "D") - 105.7) < 1.0
    low, high = curve.population_mean_interval()
    assert low < curve.mean() < high
    assert curve.histogram(2)[0].tolist() == [184.0, 182.0]  # 2 July, on the edge, is in the first


@pytest.mark.needs_jit
@pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")
@pytest.mark.parametrize("mechanism", [Hierarchy(0.3), Dawa(0.3)], ids=str)
def test_intervals_of_means_by_the_mechanism_cover_and_are_narrower(mechanism):
    rng, covered, ratios, releases = RNG(6), np.zeros(2), [], 60
    for _ in range(releases):
        values = np.where(rng.random(1000) < 0.3, 0.307, rng.beta(2, 5, 1000))
        curve = dp.cdf(values, GRID, mechanism, rng=rng)
        found = [
            interval(0.9, mechanism)
            for interval in (curve.mean_interval, curve.population_mean_interval)
        ]
        truths = values.mean(), 0.3 * 0.307 + 0.7 * 2 / 7
        covered += [low <= true <= high for (low, high), true in zip(found, truths, strict=True)]
        for low, high in found:
            assert low <= curve.mean() <= high
        low, high = curve.mean_interval(0.9)
        ratios.append((found[0].high - found[0].low) / (high - low))
    assert covered.min() / releases >= 0.9 - 3 * math.sqrt(0.09 / releases)
    assert np.median(ratios) < 0.9


def test_records_between_knots_may_be_anywhere():
    grid = dp.Grid.uniform(0, 1, 4)
    curve = dp.cdf_from_counts(np.array([2, 2, 4, 0]), grid, NoNoise(), isotonic=False)
    knots = np.array([1, 3])
    line = np.array([2.0, 4.0, 6.0, 8.0])
    curve = replace(curve, counts=line, knots=knots)
    low, high = curve.mean_interval(mechanism=NoNoise())
    assert low == pytest.approx((4 * 0.0 + 4 * 0.5) / 8)  # all at the lower ends of the two runs
    assert high == pytest.approx((4 * 0.5 + 4 * 1.0) / 8)


def test_a_mean_takes_only_the_curves_own_mechanism():
    curve = dp.cdf([0.5] * 9, GRID, Hierarchy(1.0))
    with pytest.raises(dp.ParameterError, match="must be the curves' own"):
        curve.mean_interval(mechanism=Hierarchy(2.0))
    unknown = dp.cdf([0.5] * 9, GRID, AdaptiveQuantiles(1.0))  # deviations that are infinite
    assert unknown.mean_interval(mechanism=AdaptiveQuantiles(1.0)) == unknown.mean_interval()
    with pytest.raises(dp.ParameterError, match="must be the curves' own"):
        unknown.mean_interval(mechanism=Hierarchy(2.0))
    with pytest.raises(dp.DtypeError, match="mechanism must be"):
        unknown.population_mean_interval(mechanism="hierarchy")


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")
@pytest.mark.parametrize("isotonic", [False, True])
@pytest.mark.parametrize("mechanism", [None, Hierarchy, Histogram, Dyadic, ToeplitzGaussian])
def test_intervals_of_means_cover(mechanism, isotonic):
    rng, covered, releases = RNG(5), np.zeros((3, 2)), 60
    for i, (n, epsilon) in enumerate(((300, 0.5), (300, 3.0), (20_000, 0.1))):
        for _ in range(releases):
            values = np.where(rng.random(n) < 0.3, 0.307, rng.beta(2, 5, n))
            how = {"isotonic": isotonic, "rng": rng}
            if mechanism is None:
                how["epsilon"] = epsilon
            elif mechanism is ToeplitzGaussian:
                how["mechanism"] = mechanism(rho=epsilon**2 / 2)
            else:
                how["mechanism"] = mechanism(epsilon)
            curve = dp.cdf(values, GRID, **how)
            of_all = 0.3 * 0.307 + 0.7 * 2 / 7
            intervals = curve.mean_interval(0.9), curve.population_mean_interval(0.9)
            for at, (found, true) in enumerate(
                zip(intervals, (values.mean(), of_all), strict=True)
            ):
                assert found.low <= curve.mean() <= found.high
                covered[i, at] += found.low <= true <= found.high
    assert covered.min() / releases >= 0.9 - 3 * math.sqrt(0.09 / releases)
