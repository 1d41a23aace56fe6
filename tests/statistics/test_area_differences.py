"""Differences of two areas on the same records: intervals cover as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, Histogram, HistogramQueries, NoNoise
from dpcore.statistics import (
    ROC,
    auc_difference_interval,
    population_auc_difference_interval,
)

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 64)
RUNS, LEVEL = 200, 0.9
SHORTEST, LONGEST = (RUNS * LEVEL + k * np.sqrt(RUNS * LEVEL * (1 - LEVEL)) for k in (-4, 4))


def smooth(n, rng):
    """Labels, and the scores of two models that agree in part."""
    scores = rng.random(n)
    return rng.random(n) < scores, scores, 0.6 * scores + 0.4 * rng.random(n)


def clumped(n, rng):
    labels, first, second = smooth(n, rng)
    both = (np.where(rng.random(n) < 0.4, 0.3, np.round(own * 5) / 5) for own in (first, second))
    return labels, *both


def curves(labels, scores, mechanism, rng=None):
    released = dp.score_curves(labels, scores, GRID, mechanism, rng=rng)
    return ROC(released, mechanism)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("make", [smooth, clumped])
@pytest.mark.parametrize("mechanism", [Hierarchy(0.3), Histogram(0.5)])
def test_the_interval_covers_as_often_as_it_says(make, mechanism):
    labels, *models = make(4000, RNG(1))
    truth = np.subtract(*(curves(labels, scores, NoNoise()).auc for scores in models))
    rng, inside, ratios = RNG(2), 0, []
    for _ in range(RUNS):
        pair = [curves(labels, scores, mechanism, rng) for scores in models]
        low, high = auc_difference_interval(*pair, LEVEL)
        inside += low <= truth <= high
        ratios.append((high - low) / sum(b - a for a, b in (c.auc_interval(LEVEL) for c in pair)))
    assert SHORTEST <= inside <= LONGEST
    assert np.median(ratios) < 0.8  # errors are added in squares


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("make", [smooth, clumped])
def test_of_the_population_it_covers_at_least_as_often_as_it_says(make):
    labels, *models = make(10**6, RNG(1))
    truth = np.subtract(*(curves(labels, scores, NoNoise()).auc for scores in models))
    rng, inside, mechanism = RNG(2), 0, Hierarchy(1.0)
    for _ in range(RUNS):
        labels, *models = make(1000, rng)
        pair = [curves(labels, scores, mechanism, rng) for scores in models]
        low, high = population_auc_difference_interval(*pair, LEVEL)
        own = auc_difference_interval(*pair, LEVEL)
        assert low < own.low < own.high < high
        inside += low <= truth <= high
    assert inside >= SHORTEST


@pytest.mark.needs_jit
def test_what_is_not_known_between_thresholds_is_added():
    labels, *models = clumped(4000, RNG(1))
    truth = np.subtract(*(curves(labels, scores, NoNoise()).auc for scores in models))
    rng, inside = RNG(2), 0
    for _ in range(40):
        pair = [curves(labels, scores, HistogramQueries(1.0, 32), rng) for scores in models]
        low, high = auc_difference_interval(*pair, LEVEL)
        inside += low <= truth <= high
    assert inside >= 36


def test_exact_areas_differ_exactly_and_in_both_orders():
    labels, *models = smooth(500, RNG(1))
    first, second = (curves(labels, scores, NoNoise()) for scores in models)
    low, high = auc_difference_interval(first, second)
    assert low == high == first.auc - second.auc
    noisy = [curves(labels, scores, Dawa(1.0), RNG(at)) for at, scores in enumerate(models)]
    for interval in (auc_difference_interval, population_auc_difference_interval):
        low, high = interval(*noisy)
        assert interval(*noisy[::-1]) == pytest.approx((-high, -low))


def test_what_may_be_noise_says_nothing():
    labels, *models = smooth(500, RNG(1))
    first = curves(labels, models[0], NoNoise())
    none = curves(np.zeros(500, bool), models[1], NoNoise())
    for pair in ((first, none), (none, first)):
        assert auc_difference_interval(*pair) == (-1.0, 1.0)


def test_errors_name_the_arguments():
    labels, *models = smooth(500, RNG(1))
    first, second = (curves(labels, scores, Hierarchy(1.0)) for scores in models)
    with pytest.raises(dp.ParameterError, match="second must be another release"):
        auc_difference_interval(first, ROC(first.curves))
    with pytest.raises(dp.DtypeError, match="first must be a ROC"):
        auc_difference_interval(first.curves, second)
    with pytest.raises(dp.DtypeError, match="second must be a ROC"):
        population_auc_difference_interval(first, 0.8)
    with pytest.raises(dp.ParameterError, match="level"):
        auc_difference_interval(first, second, 1.0)
