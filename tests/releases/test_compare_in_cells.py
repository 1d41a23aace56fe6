"""Intervals of differences of quantiles include the cells in which the quantiles lie."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Hierarchy, NoNoise

pytestmark = pytest.mark.needs_jit

RNG = np.random.default_rng
CELLS = dp.Grid.uniform(0, 100, 100)
P = [0.25, 0.5, 0.75]

# Shapes whose records do not lie evenly in their cells, or are not whole numbers
SHAPES = {
    "gamma": lambda rng, n: rng.gamma(4.0, 5.0, n),
    "at the beginning of cells": lambda rng, n: rng.poisson(20, n) + 0.05,
    "at the end of cells": lambda rng, n: rng.poisson(20, n) + 0.95,
    "one value": lambda rng, n: np.full(n, 20.3),
    "three values": lambda rng, n: rng.choice([10.4, 20.1, 40.9], n, p=[0.3, 0.4, 0.3]),
    "narrow": lambda rng, n: rng.normal(20.2, 0.1, n),
}
SHIFTS = [0.0, 0.3, -2.45]


def true_quantiles(shape):
    return np.quantile(SHAPES[shape](RNG(7), 2_000_001), P, method="inverted_cdf")


def pair_of(shape, shift, n, mechanism, rng):
    columns = SHAPES[shape](rng, n), SHAPES[shape](rng, n) + shift
    return [dp.cdf(column, CELLS, mechanism, rng=rng) for column in columns]


@pytest.mark.sample(1)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_the_difference_wherever_records_lie_in_their_cells(shape):
    held, widths = [], []
    for seed in range(12):
        rng = RNG(seed)
        for shift in SHIFTS:
            pair = pair_of(shape, shift, 20_000, Hierarchy(1.0), rng)
            low, high = dp.compare(
                *pair, probabilities=P, simulations=99, rng=rng
            ).population_interval
            held.append((low <= -shift) & (-shift <= high))
            widths.append(high - low)
    assert np.mean(held) > 0.97, np.mean(held, axis=0)
    assert np.median(widths) <= 4.0  # cells


@pytest.mark.parametrize("shift", SHIFTS)
def test_without_noise_an_interval_is_as_wide_as_both_cells(shift):
    rng = RNG(1)
    pair = pair_of("one value", shift, 500, NoNoise(), rng)
    low, high = dp.compare(*pair, probabilities=P, simulations=19, rng=rng).population_interval
    ends = [np.ceil(20.3) - np.floor(20.3 + shift), np.floor(20.3) - np.ceil(20.3 + shift)]
    np.testing.assert_allclose(high, ends[0])
    np.testing.assert_allclose(low, ends[1])


def test_whole_numbers_that_have_cells_of_their_own_need_no_more():
    grid = dp.Grid.integers(0, 60)
    columns = RNG(1).poisson(20, 20_000), RNG(2).poisson(23, 20_000)
    pair = [dp.cdf(column, grid, Hierarchy(1.0), rng=RNG(3)) for column in columns]
    found = dp.compare(*pair, probabilities=P, simulations=99, rng=RNG(4))
    low, high = found.population_interval
    assert (low <= -3).all()
    assert (high >= -3).all()
    assert (high - low <= 1).all()
    assert (low == np.rint(low)).all()


def test_whole_numbers_may_be_any_in_wide_cells():
    grid = dp.Grid.uniform(0, 60, 6)
    pair = [dp.cdf(np.full(50, each), grid, NoNoise(), integers=True) for each in (15, 33)]
    low, high = dp.compare(*pair, probabilities=0.5, simulations=19, rng=RNG(1)).population_interval
    assert (low, high) == (11 - 40, 20 - 31)


def test_an_end_that_is_not_known_is_not_made_up():
    grid = dp.Grid([10.0, 20.0, 30.0])
    first, second = (dp.cdf([value] * 50, grid, NoNoise()) for value in (5.0, 15.0))
    found = dp.compare(first, second, probabilities=[0.25, 0.5], simulations=19, rng=RNG(1))
    assert found.population_interval.low.tolist() == [-np.inf, -np.inf]
    assert found.population_interval.high.tolist() == [0.0, 0.0]
    found = dp.compare(second, first, probabilities=0.5, simulations=19, rng=RNG(1))
    assert found.population_interval == (0.0, np.inf)


def test_differences_of_times_include_cells_too():
    grid = dp.Grid.uniform("2024-01-01", "2024-01-11", 10)
    noons = [np.full(50, f"2024-01-0{day}T12:00", "M8[m]") for day in (3, 5)]
    pair = [dp.cdf(each, grid, NoNoise()) for each in noons]
    low, high = dp.compare(*pair, probabilities=0.5, simulations=19, rng=RNG(1)).population_interval
    assert (low, high) == (np.timedelta64(-3, "D"), np.timedelta64(-1, "D"))
