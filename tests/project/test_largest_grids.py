"""Grids of 2^24 cells, the most there are, go through functions that take any grid."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore import statistics
from dpcore.papers.ranked_pairs import ranked_pairs

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
        dp.mechanisms.PolynomialProjection(rho=1.0),
        dp.trust.Central(1.0),
        dp.trust.DistributedNoise(1.0, clients=RECORDS),
        dp.trust.FunctionSharing(1.0),
        dp.trust.SquareWave(4.0, clients=RECORDS),
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
    assert abs(curve.quantile(0.5) - exact.quantile(0.5)) < 0.02


def test_a_polynomial_is_read_on_the_grid(grid, values, exact):
    found = dp.project(values, 0, 1, rho=1.0, rng=np.random.default_rng(2)).curve(grid)
    assert abs(found.isotonic().quantile(0.5) - exact.quantile(0.5)) < 0.02


@pytest.fixture(scope="module")
def labels(values):
    return np.random.default_rng(3).random(RECORDS) < values


@pytest.fixture(scope="module")
def scores(labels, values):
    """Half as many cells: each class has all of them."""
    grid = dp.Grid.uniform(0, 1, N // 2)
    return dp.score_curves(labels, values, grid, epsilon=1.0, rng=np.random.default_rng(2))


def test_statistics_of_scores_are_near_those_of_the_records(scores, labels, values):
    auc = ranked_pairs(labels, values).ordered / 2 / labels.sum() / (RECORDS - labels.sum())
    low, high = statistics.ROC.from_curves(scores).auc_interval()
    assert low <= auc <= high
    assert statistics.reliability(scores, 10).counts.sum() == pytest.approx(RECORDS, rel=0.01)
    gaps = np.bincount((values * 10).astype(int), labels - values)
    low, high = statistics.expected_calibration_error_interval(scores, 10)
    assert low <= np.abs(gaps).sum() / RECORDS <= high
    for fitted in (
        statistics.IsotonicCalibration.fit(scores),
        statistics.HistogramBinning.fit(scores, 10),
        statistics.BayesianBinning.fit(scores),
    ):
        assert abs(fitted.predict([0.5])[0] - 0.5) < 0.1
    found = statistics.classifier.confusion(scores, 0.5).true_positives
    assert found == pytest.approx(np.count_nonzero(labels & (values > 0.5)), rel=0.05)


def test_the_hosmer_lemeshow_test_accepts_what_is_calibrated(labels, values):
    grid = dp.Grid.uniform(0, 1, N // 2)
    rng = np.random.default_rng(2)
    test = dp.hosmer_lemeshow(labels, values, grid=grid, epsilon=1.0, fitted=False, rng=rng)
    assert test.under_noise(replicates=9, rng=rng).pvalue > 0.1  # 999 would take half an hour


def test_whole_numbers_have_a_cell_each():
    grid = dp.Grid.integers(-(2**23), 2**23 - 1)
    values = np.array([-(2**23), -(2**23), 0, 2**23 - 1])
    curve = dp.cdf(values, grid, dp.mechanisms.NoNoise())
    assert curve(-(2**23)) == 0.5
    assert curve.quantile([0.5, 0.75, 1.0]).tolist() == [-(2**23), 0, 2**23 - 1]
