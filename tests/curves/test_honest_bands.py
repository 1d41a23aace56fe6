"""Bands cover where a mechanism's error depends on the records: they are wide, or say nothing."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.confidence import from_neighbours
from dpcore.mechanisms import AdaptiveQuantiles, Dawa, HistogramQueries, PolynomialProjection

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 128)
MECHANISMS = [
    HistogramQueries(1.0),
    HistogramQueries(1.0, 7, between="linear"),
    HistogramQueries(1.0, 200),
    PolynomialProjection(1.0, delta=1e-6),
    AdaptiveQuantiles(1.0),
]
BUCKETS = [Dawa(0.05), Dawa(0.5), Dawa(rho=0.01), Dawa(0.2, neighbours="add-or-remove-one")]


def half_at_one_value(rng, n=4000):
    return np.where(rng.random(n) < 0.5, 0.307, rng.normal(0.6, 0.15, n))


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize("isotonic", [False, True])
@pytest.mark.parametrize("mechanism", [*MECHANISMS, *BUCKETS], ids=repr)
def test_a_curves_band_covers_half_of_the_records_at_one_value(mechanism, isotonic):
    rng = RNG(1)
    values = half_at_one_value(rng)
    truth = np.cumsum(GRID.count(values)) / values.size
    inside = np.zeros(GRID.size)
    for _ in range(300):
        curve = dp.cdf(values, GRID, mechanism, isotonic=isotonic, rng=rng)
        low, high = curve.band(0.9)
        inside += (low <= truth + 1e-9) & (truth - 1e-9 <= high)
    assert inside.min() >= 300 * 0.9 - 5 * np.sqrt(300 * 0.09)


def test_a_projections_curve_does_not_claim_to_know_its_error():
    values = half_at_one_value(RNG(1))
    curve = dp.project(values, 0, 1, epsilon=1.0, delta=1e-6).curve(GRID)
    low, high = curve.band()
    assert np.all(low[:-1] == 0.0)
    assert np.all(high == 1.0)


@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", [HistogramQueries(1.0, 16), Dawa(0.2)], ids=repr)
def test_a_roc_curves_band_covers_clumped_scores(mechanism):
    rng, grid, at = RNG(2), dp.Grid.uniform(0, 1, 64), 300
    labels = rng.random(5000) < 0.4
    scores = np.where(rng.random(5000) < 0.5, 0.307, 0.4 * rng.random(5000) + 0.5 * labels)
    exact = dp.roc_curve(labels, scores, grid=grid, mechanism=dp.mechanisms.NoNoise())
    inside = np.zeros((2, 65))
    for _ in range(at):
        roc = dp.roc_curve(labels, scores, grid=grid, mechanism=mechanism, rng=rng)
        band = roc.band(0.9)
        inside[0] += (band.fpr_low <= exact.fpr + 1e-9) & (exact.fpr - 1e-9 <= band.fpr_high)
        inside[1] += (band.tpr_low <= exact.tpr + 1e-9) & (exact.tpr - 1e-9 <= band.tpr_high)
    assert inside.min() >= at * 0.9 - 5 * np.sqrt(at * 0.09)
    assert np.mean(band.tpr_high - band.tpr_low) < 0.5  # and says something


def test_an_unknown_place_is_between_its_known_neighbours():
    known = np.array([False, True, False, False, True, False, True])
    low = np.array([9, 0.3, 9, 9, 0.2, 9, 0.8])  # they need not rise
    high = np.array([-9, 0.5, -9, -9, 0.4, -9, 1.1])
    low, high = from_neighbours(low, high, known)
    assert low.tolist() == [0.0, 0.3, 0.3, 0.3, 0.2, 0.2, 0.8]
    assert high.tolist() == [0.5, 0.5, 0.4, 0.4, 0.4, 1.0, 1.0]


def test_pictures_have_a_band_where_something_is_known():
    values = half_at_one_value(RNG(3))
    for mechanism in MECHANISMS:
        curve = dp.cdf(values, GRID, mechanism)
        assert len(curve.plot().collections) == isinstance(mechanism, HistogramQueries)
        roc = dp.roc_curve(values > 0.5, values, grid=GRID, mechanism=mechanism)
        known = isinstance(mechanism, HistogramQueries) and mechanism.bins % 2 == 0
        assert len(roc.plot().patches) == known


def test_the_warning_of_too_much_noise_is_that_of_the_known_places():
    with pytest.warns(dp.DpcoreWarning, match="the standard error of F is up to"):
        dp.cdf([0.5] * 20, GRID, HistogramQueries(0.1))
    with pytest.warns(dp.DpcoreWarning, match="the standard error of the curves is up to"):
        dp.score_curves([0, 1] * 20, [0.2, 0.4] * 20, GRID, HistogramQueries(0.1))


def test_noise_that_is_mostly_0_moves_a_count_by_one_at_least():
    """Of 32 cells at epsilon = 10, intervals of .65 counts missed 12 to 15 % of single counts."""
    grid, rng, covered = dp.Grid.uniform(0, 32, 32), np.random.default_rng(1), []
    mechanism, exact = dp.mechanisms.Histogram(10.0), np.arange(1, 33) / 32
    for _ in range(100):
        curve = dp.cdf(np.arange(0.5, 32.0), grid, mechanism, rng=rng)
        low, high = curve.band()
        covered.append((low <= exact + 1e-12) & (exact <= high + 1e-12))
    assert np.mean(covered) >= 0.95
    sure = dp.cdf(np.arange(0.5, 32.0), grid, dp.mechanisms.Histogram(30.0), rng=rng)
    assert np.ptp(sure.band(), axis=0).max() < 0.01


def test_noise_that_a_public_n_halves_is_noise_too():
    """Half a record was missed by 11 % in the middle of a curve, and by 16 % of the precisions."""
    rng, missed = np.random.default_rng(1), []
    scores, grid = np.arange(0.5, 400.0) / 400, dp.Grid.uniform(0, 1, 16)
    labels = rng.random(400) < scores
    exact = dp.roc_curve(labels, scores, grid, dp.mechanisms.NoNoise())
    truth = np.stack([exact.precision, exact.recall])
    for _ in range(100):
        roc = dp.roc_curve(labels, scores, grid, dp.mechanisms.Histogram(12.0), rng=rng)
        band = np.stack(roc.precision_recall_band()).reshape(2, 2, -1)
        missed.append((truth < band[:, 0] - 1e-12) | (truth > band[:, 1] + 1e-12))
    assert np.mean(missed, axis=0).max() <= 0.05
    grid, missed = dp.Grid.uniform(0, 1, 64), []
    truth = dp.cdf(scores, grid, dp.mechanisms.NoNoise()).counts / 400
    for _ in range(300):
        low, high = dp.cdf(scores, grid, dp.mechanisms.Histogram(14.0), rng=rng).band()
        missed.append((truth < low - 1e-12) | (truth > high + 1e-12))
    assert np.mean(missed, axis=0).max() <= 0.06
