"""Calibrators from released curves: scikit-learn's where nothing is noisy, sound under noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.mechanisms import NoNoise
from dpcore.statistics.bayesian_binning import BayesianBinning
from dpcore.statistics.binning import equi_depth_bins, uniform_bins
from dpcore.statistics.calibration import (
    expected_calibration_error,
    maximum_calibration_error,
    reliability,
)
from dpcore.statistics.calibrators import HistogramBinning, IsotonicCalibration
from tests import reference
from tests.statistics.scored_records import exact, miscalibrated, records, released

RNG = np.random.default_rng


def test_isotonic_calibration_is_scikit_learns():
    isotonic = pytest.importorskip("sklearn.isotonic", reason="a reference, if installed")
    labels, scores, _ = miscalibrated(2000, RNG(1))
    scores = (np.floor(scores * 500) + 0.5) / 500
    curves = exact(labels, scores, dp.Grid.uniform(0, 1, 500))
    theirs = isotonic.IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    asked = RNG(2).random(1000)
    ours = IsotonicCalibration.fit(curves).predict(asked)
    assert ours == pytest.approx(theirs.predict(asked), abs=1e-9)
    # over bins: the same, with the records of a bin at their mean score
    bins = equi_depth_bins(curves, 15)
    theirs.fit(bins.mean_score, bins.positive_rate, sample_weight=bins.counts)
    ours = IsotonicCalibration.fit(curves, 15).predict(asked)
    assert ours == pytest.approx(theirs.predict(asked), abs=1e-9)


@settings(max_examples=60)
@given(records(), st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_bayesian_binning_is_an_average_over_urns(data, sizes):
    labels, scores, grid = data
    counts = dp.score_counts(labels, scores, grid)
    negatives, positives = counts[: grid.size], counts[grid.size :][::-1]
    edges = np.append(0, grid.thresholds)
    values, weights = reference.bayesian_binning(positives, negatives, edges, sizes)
    found = BayesianBinning.fit(exact(labels, scores, grid), sizes)
    assert found.weights == pytest.approx([float(w) for w in weights], abs=1e-11)
    assert found.values == pytest.approx([float(v) for v in values], abs=1e-12)
    assert np.array_equal(found.predict(scores), found.values[(scores * grid.size).astype(int)])


def test_the_numbers_of_bins_follow_the_records_the_cells_and_the_noise():
    labels, scores, _ = miscalibrated(8000, RNG(1))
    fitted = BayesianBinning.fit(exact(labels, scores))
    assert fitted.sizes.tolist() == list(range(2, 201))
    assert fitted.weights.sum() == pytest.approx(1)
    assert BayesianBinning.fit(exact([0, 1], [0.2, 0.7])).sizes.tolist() == [1]
    few = BayesianBinning.fit(exact(labels, scores, dp.Grid.uniform(0, 1, 50)))
    assert few.sizes[-1] == 50
    noisy = dp.score_curves(labels, scores, epsilon=0.2, rng=RNG(1))
    most = BayesianBinning.fit(noisy).sizes[-1]
    largest = max(each.max() for each in noisy.deviations)
    assert most**2 <= 8000 / largest < (most + 1) ** 2


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
def test_calibrators_calibrate(epsilon):
    labels, scores, truth = miscalibrated(100_000, RNG(1))
    if epsilon == math.inf:
        curves = exact(labels, scores)
    else:
        curves = dp.score_curves(labels, scores, epsilon=epsilon, rng=RNG(2))
    before = np.mean(np.abs(scores - truth))
    fitted = [kind.fit(curves) for kind in (HistogramBinning, IsotonicCalibration, BayesianBinning)]
    for each in fitted:
        after = each.predict(scores)
        assert np.all((after >= 0) & (after <= 1))
        assert np.mean(np.abs(after - truth)) < before / 2
    assert np.all(np.diff(fitted[1].predict(np.sort(scores))) >= 0)


@settings(max_examples=80)
@given(st.integers(1, 9), st.integers(1, 50), st.integers(0, 2**32), st.floats(0, 1e4))
def test_whatever_is_released_nothing_fails(cells, n, seed, scale):
    """Raw curves far beyond [0, n], empty classes and bins: numbers or NaN, and no warnings."""
    noise = np.round(RNG(seed).normal(0, scale, 2 * cells))
    curves = released(np.append(noise[:-1], n), dp.Grid.uniform(0, 1, cells))
    for bins in (uniform_bins(curves, 4), equi_depth_bins(curves, 4)):
        assert bins.counts.sum() == pytest.approx(n)
        assert np.array_equal(np.isnan(bins.positive_rate), bins.counts == 0)
        assert np.array_equal(np.isnan(bins.mean_score), bins.counts == 0)
        assert 0 <= expected_calibration_error(curves, bins) <= 1
        assert maximum_calibration_error(curves, bins) <= 1
        for column in reliability(curves, bins).table.values():
            assert column.shape == (4,)
    asked = np.array([-1.0, 0.0, 0.3, 1.0, 2.0, np.inf])
    for kind in (HistogramBinning, IsotonicCalibration, BayesianBinning):
        values = kind.fit(curves).predict(asked)
        assert np.all((values >= 0) & (values <= 1))


def test_empty_bins_predict_nan():
    curves = exact([0, 1], [0.1, 0.9], dp.Grid.uniform(0, 1, 10))
    found = HistogramBinning.fit(curves, uniform_bins(curves, 5))
    assert np.isnan(found.predict([0.5])).all()
    assert found.predict([[0.1, 0.9]]).tolist() == [[0.0, 1.0]]
    for kind in (HistogramBinning, IsotonicCalibration, BayesianBinning):
        assert np.isnan(kind.fit(curves).predict(np.nan))
        assert type(kind.fit(curves).predict(np.float32(0.1))) is float
        assert kind.fit(curves).predict([]).shape == (0,)


def test_one_point_is_no_map_for_nan():
    curves = dp.score_curves([0], [0.45], dp.Grid.uniform(0, 1, 10), NoNoise())
    found = IsotonicCalibration.fit(curves).predict([np.nan, 0.2])
    assert np.isnan(found).tolist() == [True, False]
