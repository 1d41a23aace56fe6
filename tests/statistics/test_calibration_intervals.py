"""Intervals of the calibration error cover that of the records, and that of the population."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, NoNoise
from dpcore.statistics import (
    equi_depth_bins,
    expected_calibration_error,
    expected_calibration_error_interval,
    population_expected_calibration_error_interval,
    uniform_bins,
)
from dpcore.statistics.calibration_gaps import Gaps

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 100)
MIDDLES = (np.arange(100) + 0.5) / 100
LEVEL = 0.9
RATES = {"right": lambda score: score, "too high": lambda score: score**2}


def drawn(rate, n, rng):
    scores = rng.integers(100, size=n)
    return rng.random(n) < rate(MIDDLES[scores]), MIDDLES[scores]


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("rate", RATES.values(), ids=list(RATES))
@pytest.mark.parametrize("mechanism", [Hierarchy(0.5), Dawa(0.5), NoNoise()], ids=str)
def test_intervals_cover(mechanism, rate):
    gaps = (rate(MIDDLES) - MIDDLES).reshape(10, 10).mean(axis=1)
    of_population = np.abs(gaps).mean()
    rng, inside, widths = RNG(1), np.zeros(3), []
    runs = 25 if isinstance(mechanism, Dawa) else 100
    for _ in range(runs):
        records = drawn(rate, 2000, rng)
        own = expected_calibration_error(dp.score_curves(*records, GRID, NoNoise()))
        curves = dp.score_curves(*records, GRID, mechanism, rng=rng)
        known = expected_calibration_error_interval(curves, 10, LEVEL, mechanism)
        bound = expected_calibration_error_interval(curves, 10, LEVEL)
        wide = population_expected_calibration_error_interval(curves, 10, LEVEL, mechanism)
        inside += [
            *(low - 1e-12 <= own <= high + 1e-12 for low, high in (known, bound)),
            wide.low <= of_population <= wide.high,
        ]
        widths.append([known.high - known.low, bound.high - bound.low, wide.high - wide.low])
    assert (inside >= runs * LEVEL - 5 * np.sqrt(runs * LEVEL * (1 - LEVEL))).all()
    known, bound, wide = np.median(widths, axis=0)
    assert known < wide < 0.3
    assert known < bound / 2 or mechanism == NoNoise()


def test_without_noise_the_interval_is_one_cell_wide():
    curves = dp.score_curves(*drawn(RATES["too high"], 900, RNG(1)), GRID, NoNoise())
    for bins in (10, 7, equi_depth_bins(curves, 5)):
        error = expected_calibration_error(curves, bins)
        half = 0.5 / GRID.size
        found = expected_calibration_error_interval(curves, bins)
        assert found == pytest.approx((error - half, error + half), abs=1e-12)
        low, high = population_expected_calibration_error_interval(curves, bins)
        assert low < error < high < low + 0.2


def test_gaps_are_what_the_error_is_made_of():
    grid = dp.Grid([0.0, 0.1, 0.4, 1.0])
    curves = dp.score_curves([0, 1, 1, 0, 1], [0.0, 0.05, 0.3, 0.9, 0.2], grid, NoNoise())
    for bins in (1, 2, 3, equi_depth_bins(curves, 4)):
        gaps = replace(Gaps.of(curves, bins), halves=np.zeros(grid.size))
        total = float(gaps.most(curves.negatives, curves.positives).sum())
        assert total == float(gaps.least(curves.negatives, curves.positives).sum())
        assert total / 5 == pytest.approx(expected_calibration_error(curves, bins), abs=1e-12)


def test_the_bound_is_the_sum_of_the_absolute_factors():
    grid = dp.Grid([0.1, 0.3, 0.35, 0.5, 0.9, 1.0])
    gaps = Gaps.of(dp.score_curves([0, 1], [0.1, 0.9], grid, NoNoise()), 3)
    negatives, positives = RNG(1).random((2, 6))
    total = 0.0
    for first, last in zip(gaps.ends[:-1], gaps.ends[1:], strict=True):
        for sign, noise in ((1, positives), (0, negatives)):
            factors = np.zeros(7)
            for cell in range(first, last):
                score = gaps.middles[cell] if sign == 0 else 1 - gaps.middles[cell]
                factors[cell + 1] += score
                factors[cell] -= score
            halves = np.zeros(7)
            halves[first + 1 : last + 1] += gaps.halves[first:last]
            halves[first:last] -= gaps.halves[first:last]
            total += (np.abs(factors[1:]) + np.abs(halves[1:])) @ noise
    assert gaps.bound(negatives, positives) == pytest.approx(total)


def test_an_error_that_all_bins_share_is_known_as_well_as_its_own_noise_lets_it():
    rng, widths, errors = RNG(1), [], []
    labels, scores = drawn(lambda score: score**3, 5000, rng)  # too high everywhere
    own = expected_calibration_error(dp.score_curves(labels, scores, GRID, NoNoise()))
    for _ in range(20):
        curves = dp.score_curves(labels, scores, GRID, Hierarchy(0.5), rng=rng)
        errors.append(expected_calibration_error(curves) - own)
        found = expected_calibration_error_interval(curves, mechanism=Hierarchy(0.5))
        assert found.low < own < found.high
        widths.append(found.high - found.low - 0.01)  # a cell, in which the scores are anywhere
    assert np.median(widths) < 2 * 2 * 1.96 * np.sqrt(np.mean(np.square(errors)))


# --- scores that are not in the middles of their cells

RARE = np.array([0.001, 0.002, 0.005, 0.01, 0.02, 0.04])
SHARES = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])


def own_error(labels, scores, edges):
    """The calibration error by the scores themselves, in bins with lower < score <= upper."""
    gaps = np.bincount(np.searchsorted(edges[1:-1], scores), labels - scores)
    return np.abs(gaps).sum() / scores.size


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("cells", [128, 1024])
@pytest.mark.parametrize("slope", [1.0, 1.3], ids=["right", "too low"])
def test_intervals_cover_wherever_in_their_cells_the_scores_are(cells, slope):
    grid, mechanism = dp.Grid.uniform(0, 1, cells), Hierarchy(1.0)
    rng, runs, inside = RNG(1), 25, np.zeros(3)
    of_population = (slope - 1.0) * (RARE @ SHARES)
    for _ in range(runs):
        scores = rng.choice(RARE, 500_000, p=SHARES)
        labels = rng.random(scores.size) < slope * scores
        curves = dp.score_curves(labels, scores, grid, mechanism, rng=rng)
        own = own_error(labels, scores, uniform_bins(curves).edges)
        known = expected_calibration_error_interval(curves, 10, LEVEL, mechanism)
        bound = expected_calibration_error_interval(curves, 10, LEVEL)
        wide = population_expected_calibration_error_interval(curves, 10, LEVEL, mechanism)
        inside += [low <= own <= high for low, high in (known, bound)] + [
            wide.low <= of_population <= wide.high
        ]
        assert known.high - known.low < 1.0 / cells + 0.002
    assert (inside >= runs * LEVEL - 3).all()


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=40),
    st.sampled_from([dp.Grid.uniform(0, 1, 7), dp.Grid([0.0, 0.1, 0.7, 1.0]), dp.Grid([0.4, 1.0])]),
    st.integers(1, 5),
)
def test_without_noise_the_interval_has_exactly_what_the_cells_allow(records, grid, bins):
    labels, scores = (np.array(column) for column in zip(*records, strict=True))
    curves = dp.score_curves(labels, scores, grid, NoNoise())
    edges = uniform_bins(curves, bins).edges
    low, high = expected_calibration_error_interval(curves, bins)
    assert low - 1e-12 <= own_error(labels, scores, edges) <= high + 1e-12
    cell = np.searchsorted(grid.thresholds, scores)
    lower, upper = np.append(0.0, grid.thresholds)[cell], grid.thresholds[cell]
    # The gap of each bin moves with the scores, so each may be at one of these ends or at 0.
    bin_of = np.searchsorted(edges[1:-1], upper)
    most, least = (np.bincount(bin_of, labels - each) for each in (lower, upper))
    assert high == pytest.approx(np.abs([most, least]).max(axis=0).sum() / labels.size, abs=1e-12)
    nearest = np.where(most * least < 0.0, 0.0, np.abs([most, least]).min(axis=0))
    assert low == pytest.approx(nearest.sum() / labels.size, abs=1e-12)


def test_scores_of_a_grid_of_whole_numbers_are_known():
    labels, scores = [0, 1, 1, 0, 0], [0, 1, 0, 1, 1]
    for mechanism in (NoNoise(), Hierarchy(5.0)):
        curves = dp.score_curves(labels, scores, dp.Grid.integers(0, 1), mechanism, rng=RNG(1))
        gaps = Gaps.of(curves, 2)
        counts = curves.negatives, curves.positives
        assert np.array_equal(gaps.least(*counts), gaps.most(*counts))
    exact = dp.score_curves(labels, scores, dp.Grid.integers(0, 1), NoNoise())
    assert expected_calibration_error_interval(exact, 2) == pytest.approx((0.6, 0.6))
