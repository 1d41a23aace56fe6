"""Bands of precision against recall: they hold at each threshold, and are drawn as they are."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.plots import _over_noisy_places
from dpcore.mechanisms import (
    AdaptiveQuantiles,
    Hierarchy,
    HistogramQueries,
    NoNoise,
    PolynomialProjection,
)
from dpcore.statistics import ROC, classifier
from tests.statistics.scored_records import ranked

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 32)


def test_it_has_the_intervals_of_single_thresholds():
    labels, scores = ranked(2000, RNG(1))
    roc = dp.roc_curve(labels, scores, GRID, epsilon=1.0, rng=RNG(2))
    band = roc.precision_recall_band(0.9)
    asked = roc.curves, roc.thresholds, 0.9
    assert np.array_equal(band[:2], classifier.precision_interval(*asked, roc.mechanism))
    assert np.array_equal(band[2:], classifier.recall_interval(*asked, roc.mechanism))
    unknown = ROC(roc.curves).precision_recall_band(0.9)
    assert np.array_equal(unknown[:2], classifier.precision_interval(*asked))
    assert np.array_equal(unknown[2:], roc.band(0.9)[2:])
    assert (band.precision_low[0], band.precision_high[0]) == (0.0, 1.0)  # no record is above
    assert np.all((band.precision_low <= roc.precision) & (roc.precision <= band.precision_high))


@pytest.mark.needs_jit
@pytest.mark.parametrize("known", [None, Hierarchy(0.5)], ids=str)
@pytest.mark.parametrize("share", [0.02, 0.5])
def test_each_interval_covers_at_least_as_often_as_it_says(share, known):
    rng = RNG(3)
    labels = rng.random(3000) < share
    scores = np.clip(np.round(rng.normal(np.where(labels, 0.6, 0.4), 0.2) * 12) / 12, 0, 1)
    exact = dp.roc_curve(labels, scores, GRID, NoNoise())
    inside = np.zeros((2, GRID.size + 1))
    for _ in range(100):
        curves = dp.score_curves(labels, scores, GRID, Hierarchy(0.5), rng=rng)
        low, high, *recall = ROC(curves, known).precision_recall_band(0.9)
        inside[0] += (low <= exact.precision) & (exact.precision <= high)
        inside[1] += (recall[0] <= exact.recall) & (exact.recall <= recall[1])
    assert inside.min() >= 78  # 90 - 4 deviations


def test_what_is_not_known_says_nothing():
    labels, scores = ranked(2000, RNG(1))
    roc = ROC(dp.score_curves(labels, scores, GRID, HistogramQueries(1.0, 8), rng=RNG(2)))
    band = roc.precision_recall_band()
    unknown = ~np.isfinite(roc.curves.deviations[1])[::-1]
    assert unknown.any()
    assert np.all(band.precision_low[:-1][unknown] == 0.0)
    assert np.all(band.precision_high[:-1][unknown] == 1.0)
    with pytest.raises(dp.ParameterError, match="level"):
        roc.precision_recall_band(1.0)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_band_at_once_of_counts_that_are_all_unknown_warns_of_no_invalid_product():
    labels, scores = ranked(300, RNG(1))
    given = PolynomialProjection(rho=1.0), AdaptiveQuantiles(1.0)
    for mechanism in given:
        roc = ROC(dp.score_curves(labels, scores, GRID, mechanism, rng=RNG(2)))
        band = dp.simultaneous_band(roc.precision_recall, replicates=20)
        assert np.all(band.precision_low == 0.0)
        assert np.all(band.precision_high == 1.0)


def test_a_place_that_several_boxes_may_hold_has_the_union_of_their_heights():
    low, high = np.array([0.5, 0.4, 0.2]), np.array([0.9, 0.8, 0.6])
    left, right = np.array([0.0, 0.2, 0.7]), np.array([0.3, 0.5, 1.0])
    places = np.array([0.1, 0.25, 0.4, 0.6, 0.8])
    least, greatest = _over_noisy_places(places, low, high, left, right)
    assert least.tolist() == [0.5, 0.4, 0.4, 0.2, 0.2]
    assert greatest.tolist() == [0.9, 0.9, 0.8, 0.8, 0.6]


def test_the_drawn_band_holds_the_exact_curve_and_an_empty_class_has_none():
    pytest.importorskip("matplotlib")
    labels, scores = ranked(2000, RNG(1))
    ax = dp.roc_curve(labels, scores, GRID, epsilon=1.0, rng=RNG(2)).plot_precision_recall()
    (band,) = ax.collections
    exact = dp.roc_curve(labels, scores, GRID, NoNoise())
    held = band.get_paths()[0].contains_points(np.c_[exact.recall, exact.precision], radius=0.01)
    held |= band.get_paths()[0].contains_points(np.c_[exact.recall, exact.precision], radius=-0.01)
    assert held[1:-1].all()
    counts = np.append(np.ones(32, int), np.zeros(32, int))
    with pytest.warns(dp.DpcoreWarning, match="positives, 0, is within its noise"):
        empty = ROC(dp.score_curves_from_counts(counts, GRID, NoNoise()))
    assert not empty.plot_precision_recall().collections


def test_the_legend_keeps_out_of_the_way_of_the_curve():
    pytest.importorskip("matplotlib")
    labels, scores = ranked(2000, RNG(1))
    good = dp.roc_curve(labels, scores, GRID, NoNoise()).plot_precision_recall()
    rare = dp.roc_curve(labels & (np.arange(2000) % 40 == 0), scores, GRID, NoNoise())
    places = [ax.get_legend()._loc for ax in (good, rare.plot_precision_recall())]
    assert places == [3, 1]  # lower left, upper right
