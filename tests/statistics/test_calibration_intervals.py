"""Intervals of the calibration error cover that of the records, and that of the population."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, NoNoise, PolynomialProjection
from dpcore.statistics import (
    equi_depth_bins,
    expected_calibration_error,
    expected_calibration_error_interval,
    population_expected_calibration_error_interval,
)

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 100)
MIDDLES = (np.arange(100) + 0.5) / 100
LEVEL = 0.9
RATES = {"right": lambda score: score, "too high": lambda score: score**2}


def drawn(rate, n, rng):
    scores = rng.integers(100, size=n)
    return rng.random(n) < rate(MIDDLES[scores]), MIDDLES[scores]


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
        inside += [low - 1e-12 <= own <= high + 1e-12 for low, high in (known, bound)] + [
            wide.low <= of_population <= wide.high
        ]
        widths.append([known.high - known.low, bound.high - bound.low, wide.high - wide.low])
    assert (inside >= runs * LEVEL - 5 * np.sqrt(runs * LEVEL * (1 - LEVEL))).all()
    known, bound, wide = np.median(widths, axis=0)
    assert known < wide < 0.3
    assert known < bound / 2 or mechanism == NoNoise()


def test_without_noise_the_records_own_error_is_certain():
    curves = dp.score_curves(*drawn(RATES["too high"], 900, RNG(1)), GRID, NoNoise())
    for bins in (10, 7, equi_depth_bins(curves, 5)):
        error = expected_calibration_error(curves, bins)
        assert expected_calibration_error_interval(curves, bins) == (error, error)
        low, high = population_expected_calibration_error_interval(curves, bins)
        assert low < error < high < low + 0.2


def test_gaps_are_what_the_error_is_made_of():
    from dpcore.statistics.calibration_intervals import _Gaps

    grid = dp.Grid([0.0, 0.1, 0.4, 1.0])
    curves = dp.score_curves([0, 1, 1, 0, 1], [0.0, 0.05, 0.3, 0.9, 0.2], grid, NoNoise())
    for bins in (1, 2, 3, equi_depth_bins(curves, 4)):
        total = float(_Gaps.of(curves, bins).sizes(curves.negatives, curves.positives))
        assert total / 5 == pytest.approx(expected_calibration_error(curves, bins), abs=1e-12)


def test_the_bound_is_the_sum_of_the_absolute_factors():
    from dpcore.statistics.calibration_intervals import _Gaps

    curves = dp.score_curves([0, 1], [0.1, 0.9], dp.Grid.uniform(0, 1, 6), NoNoise())
    gaps = _Gaps.of(curves, 3)
    negatives, positives = RNG(1).random((2, 6))
    total = 0.0
    for first, last in zip(gaps.ends[:-1], gaps.ends[1:], strict=True):
        for sign, noise in ((1, positives), (0, negatives)):
            factors = np.zeros(7)
            for cell in range(first, last):
                score = gaps.middles[cell] if sign == 0 else 1 - gaps.middles[cell]
                factors[cell + 1] += score
                factors[cell] -= score
            total += np.abs(factors[1:]) @ noise
    assert gaps.bound(negatives, positives) == pytest.approx(total)


def test_nothing_is_said_where_nothing_is_known():
    mechanism = PolynomialProjection(1.0, 1e-6)
    curves = dp.score_curves(*drawn(RATES["right"], 900, RNG(1)), GRID, mechanism, rng=RNG(1))
    for interval in (
        expected_calibration_error_interval,
        population_expected_calibration_error_interval,
    ):
        assert interval(curves) == interval(curves, mechanism=mechanism) == (0.0, 1.0)


def test_the_same_question_has_the_same_answer():
    mechanism = Hierarchy(1.0)
    curves = dp.score_curves(*drawn(RATES["right"], 900, RNG(1)), GRID, mechanism, isotonic=False)
    for interval in (
        expected_calibration_error_interval,
        population_expected_calibration_error_interval,
    ):
        found = interval(curves, mechanism=mechanism)
        assert found == interval(curves, mechanism=mechanism)
        assert type(found.low) is type(found.high) is float
    with pytest.raises(dp.ParameterError, match="must be the curves' own"):
        expected_calibration_error_interval(curves, mechanism=Hierarchy(2.0))
