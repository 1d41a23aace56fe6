"""Grids of 2^24 cells, the most there are, go through functions that take any grid."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp

N = 2**24
RECORDS = 100_000

pytestmark = [pytest.mark.full, pytest.mark.needs_jit]


@pytest.fixture(scope="module")
def grid():
    return dp.Grid.uniform(0, 1, N)


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(1).beta(2, 5, RECORDS)


@pytest.fixture(scope="module")
def exact(grid, values):
    return dp.cdf(values, grid, dp.mechanisms.NoNoise())


def test_readings_are_those_of_the_records(exact, values):
    assert exact(0.5) == np.mean(values <= 0.5)
    quantiles = np.quantile(values, [0.25, 0.5, 0.75], method="inverted_cdf")
    assert np.abs(exact.quantile([0.25, 0.5, 0.75]) - quantiles).max() <= 1 / N
    assert abs(exact.mean() - values.mean()) <= 1 / N
    assert abs(exact.std() - values.std()) <= 2 / N
    low, high = exact.quantile_interval(0.5)
    assert low <= quantiles[1] <= high
    assert exact.histogram(16)[0].sum() == RECORDS
    assert dp.distances.kolmogorov_smirnov(exact, values) < 5 / RECORDS  # in one cell


@pytest.mark.parametrize(
    "mechanism",
    [
        None,
        dp.mechanisms.Dyadic(1.0),
        dp.mechanisms.Histogram(1.0),
        dp.mechanisms.Dawa(1.0),
        dp.trust.Central(1.0),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_releases_are_near_the_records(mechanism, grid, values, exact):
    budget = {"epsilon": 1.0} if mechanism is None else {}
    curve = dp.cdf(values, grid, mechanism, rng=np.random.default_rng(2), **budget)
    assert curve.is_monotone
    errors = np.abs(curve.counts - exact.counts)[:-1]
    if np.isfinite(curve.noise_deviation[:-1]).all():
        assert np.mean(errors <= 8 * curve.noise_deviation[:-1] + 1) > 0.99
    assert np.array_equal(curve.counts[-1:], [RECORDS])


def test_whole_numbers_have_a_cell_each():
    grid = dp.Grid.integers(-(2**23), 2**23 - 1)
    values = np.array([-(2**23), -(2**23), 0, 2**23 - 1])
    curve = dp.cdf(values, grid, dp.mechanisms.NoNoise())
    assert curve(-(2**23)) == 0.5
    assert curve.quantile([0.5, 0.75, 1.0]).tolist() == [-(2**23), 0, 2**23 - 1]
