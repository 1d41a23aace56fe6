"""Intervals of raw curves, whose cells may have shares below 0; and what noise is taken for."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dyadic, Hierarchy, Histogram

RNG = np.random.default_rng
WIDE = dp.Grid([1.0, 2.0, 3.0, 1000.0, 1001.0, 1002.0], lower=0)


@pytest.mark.parametrize("level", [0.05, 0.3, 0.95])
def test_the_ends_for_the_mean_are_never_the_other_way_round(level):
    rng, differences = RNG(1), []
    for _ in range(100):
        values = rng.choice([1.0, 1000.0], 50)
        curve = dp.cdf(values, WIDE, Hierarchy(0.3), isotonic=False, rng=rng)
        low, high = curve.mean_interval(level)
        assert low <= curve.isotonic().mean() <= high
        assert (low, high) == curve.isotonic().mean_interval(level)
        differences.append(curve.isotonic().mean() - curve.mean())
    assert np.any(differences)  # some were raw


@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", [Histogram, Hierarchy, Dyadic])
def test_laplace_noise_is_beyond_high_levels_more_often_than_they_say(mechanism):
    made, releases = mechanism(0.1), 20_000
    noise = made.release(np.zeros(64, np.int64), rng=RNG(1), replicates=releases)[:, :-1]
    standardised = np.abs(noise / made.noise_deviation(64)[:-1])
    for level, least, most in ((0.9, 0.885, 0.92), (0.95, 0.925, 0.96), (0.999, 0.985, 0.9985)):
        covered = (standardised <= NormalDist().inv_cdf((1 + level) / 2)).mean(axis=0)
        assert least < covered.min() < most


def test_bands_take_the_noise_of_a_released_number_at_its_worst():
    made = Histogram(2.0, neighbours="add-or-remove-one")
    values, grid = RNG(1).random(50), dp.Grid.uniform(0, 1, 4)
    curve = dp.cdf(values, grid, made, rng=RNG(2))
    reach = NormalDist().inv_cdf(0.9) * curve.noise_deviation
    low, high = curve.band(0.8)
    inner = (curve.counts - reach) / (curve.n + reach[-1])
    outer = (curve.counts + reach) / (curve.n - reach[-1])
    np.testing.assert_allclose(low[:-1], inner[:-1])
    np.testing.assert_allclose(high[:-1], outer[:-1])
    assert 0.0 < low[0] < high[-2] < 1.0
    assert low[-1] == high[-1] == 1.0


def test_where_the_number_of_records_may_be_noise_no_share_is_too_high():
    made = Histogram(0.5, neighbours="add-or-remove-one")
    grid, deviation = dp.Grid.uniform(0, 1, 4), made.noise_deviation(4)
    counts = np.array([1, 2, 3, 4])
    curve = dp.CDF(grid, counts, 4, made.privacy, made.describe(), deviation)
    assert deviation[-1] * NormalDist().inv_cdf(0.975) > 4
    low, high = curve.band()
    assert high.tolist() == [1.0] * 4
    assert low.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_intervals_are_of_the_method_that_is_asked_for_and_within_the_grid():
    grid = dp.Grid.uniform(0, 1, 8)
    curve = dp.cdf(RNG(1).random(900), grid, Hierarchy(1.0), rng=RNG(1))
    steps = curve.quantile(0.4, level=0.9, method="inverted_cdf")
    assert steps == curve.quantile_interval(0.4, 0.9, method="inverted_cdf")
    assert steps != curve.quantile(0.4, level=0.9)
    noisy = dp.CDF(grid, curve.counts, 900, curve.privacy, curve.mechanism, np.full(8, 1e4))
    assert noisy.mean_interval() == (0.0, 1.0)
