"""Private bounds: what a search without noise finds, how often noise spoils it, what it costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.releases import bounds as module
from dpcore.releases.bounds import Bounds, bounds
from tests import reference

LOTS = 1e6  # an epsilon that leaves no noise


def generator(seed=5):
    return np.random.default_rng(seed)


@settings(max_examples=80)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=12), st.integers(0, 9))
def test_without_noise(counts, outside):
    counts = np.array([*counts, 2 * outside + 1])
    grid = dp.Grid(np.arange(counts.size))
    values = np.repeat(grid.thresholds, counts)
    found = bounds(values, epsilon=LOTS, grid=grid, outside=outside)
    above = [np.sum(values > threshold) for threshold in grid.thresholds]
    below = [np.sum(values <= threshold) for threshold in grid.thresholds]
    upper = next(i for i, number in enumerate(above) if number <= outside)
    lower = max([i for i, number in enumerate(below) if number <= outside], default=0)
    assert (found.lower, found.upper) == (lower, upper if upper > lower else upper + 1)
    assert (found.n, found.outside) == (values.size, outside)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(2, 2, (2, 3)), (3, 3, (2, 3)), (0, 0, (0, 1)), (3, 1, (1, 3))]
)
def test_bounds_are_never_equal_nor_exchanged(monkeypatch, low, high, expected):
    monkeypatch.setattr(module, "ends", lambda *_: (low, high))
    found = bounds([1.0], epsilon=1.0, grid=dp.Grid(range(4)), outside=0)
    assert (found.lower, found.upper) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5.0, (4.0, 8.0)),
        (8.0, (4.0, 8.0)),
        (-5.0, (-8.0, -4.0)),
        (0.0, (-(2.0**-20), 0.0)),
        (np.inf, (2.0**61, 2.0**62)),
        (-np.inf, (-(2.0**62), -(2.0**61))),
    ],
)
def test_the_default_grid_ends_on_any_data(value, expected):
    found = bounds([value] * 100, epsilon=LOTS)
    assert (found.lower, found.upper) == expected
    assert dp.Grid.uniform(found.lower, found.upper, 1000).size == 1000


@pytest.mark.parametrize("scale", [0.05, 0.9, 4.0, 33.3])
@pytest.mark.parametrize("thresholds", [2, 167, 2**15])
def test_records_left_out_by_default_are_the_fewest_that_are_likely_enough(scale, thresholds):
    found = module._likely_enough(scale, thresholds)
    edge = int(60 * scale) + 60
    noise = reference.discrete_laplace_pmf(np.arange(-edge, edge + 1), scale)
    difference = np.convolve(noise, noise)[2 * edge :]  # P(X - Y = 0), P(X - Y = 1), ...
    tails = np.cumsum(difference[::-1])[::-1]
    assert found == np.flatnonzero(2 * thresholds * tails <= 0.05)[0]


def test_the_default_depends_on_epsilon_and_rungs_alone():
    grid = dp.Grid.log(1, 1e6, 20)
    found = {bounds(values, epsilon=1.0, grid=grid).outside for values in ([2] * 99, [9] * 999)}
    assert found == {module._likely_enough(4.0, 20)}
    assert bounds([3.0] * 1000, epsilon=1.0).outside == 41  # docs/proofs/selection.md
    assert bounds([3.0] * 10_000, epsilon=0.1).outside == 397


@pytest.mark.needs_jit
def test_at_most_one_in_twenty_fails():
    """docs/proofs/selection.md: twice as many records outside as asked, or a threshold too far."""
    values = generator().lognormal(3, 2, 5000)
    grid = module._default_grid()
    cumulative = np.cumsum(grid.count(values))
    all_in = grid.thresholds[np.argmax(cumulative == 5000)]
    none_in = grid.thresholds[np.flatnonzero(cumulative == 0)[-1]]
    failures = 0
    for seed in range(400):
        found = bounds(values, epsilon=1.0, rng=generator(seed))
        outside = max(np.sum(values > found.upper), np.sum(values <= found.lower))
        failures += outside >= 2 * found.outside
        failures += found.upper > all_in or found.lower < none_in
    assert failures <= 20


def test_what_it_costs():
    found = bounds([3.0] * 1000, epsilon=Fraction(1, 2))
    assert isinstance(found, Bounds)
    assert found.privacy == dp.Privacy(0.5)
    assert bounds([3.0] * 1000, epsilon=1.0, rng=generator()).privacy == dp.Privacy(
        1.0, simulated=True
    )


def test_the_two_searches_have_noise_of_their_own(monkeypatch):
    spent = []

    def recorded(queries, threshold, *, epsilon, monotonic, rng):
        spent.append((queries.tolist(), threshold, epsilon, monotonic, rng))
        return 0

    monkeypatch.setattr(module, "above_threshold", recorded)
    bounds([0.0, 1.0, 1.0, 2.0], epsilon=1.0, grid=dp.Grid(range(3)), outside=1)
    assert spent == [
        ([-4, -3, -1], -1, Fraction(1, 2), True, None),
        ([1, 3, 4], 3, Fraction(1, 2), True, None),
    ]


def test_missing_values():
    with pytest.raises(dp.MissingValueError):
        bounds([1.0, np.nan], epsilon=1.0, outside=0)
    assert bounds([1.0, np.nan], epsilon=1.0, outside=0, nan_policy="omit").n == 1


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"grid": [1, 2]}, dp.DtypeError, "grid"),
        ({"grid": dp.Grid([1])}, dp.ParameterError, "grid"),
        ({"outside": -1}, dp.ParameterError, "outside"),
        ({"outside": 0.5}, dp.DtypeError, "outside"),
        ({"epsilon": 0.0}, dp.ParameterError, "epsilon"),
        ({"epsilon": 1e-12}, dp.ParameterError, "epsilon"),
        ({"rng": 3}, dp.DtypeError, "no integer seeds"),
    ],
)
def test_bad_arguments_are_refused_before_the_records_are_read(change, error, message):
    with pytest.raises(error, match=message):
        bounds("no records at all", **{"epsilon": 1.0, **change})


@pytest.mark.parametrize(
    ("n", "change", "message"),
    [
        (0, {}, "values"),
        (82, {}, "epsilon is too small for bounds of 82 records: they would leave out 41"),
        (8, {"outside": 4}, "outside must be less than half of the 8 records; got 4"),
    ],
)
def test_too_few_records(n, change, message):
    with pytest.raises(dp.ParameterError, match=message):
        bounds([3.0] * n, epsilon=1.0, **change)
    assert bounds([3.0] * 83, epsilon=1.0).n == 83
    assert bounds([3.0] * 9, epsilon=1.0, outside=4).n == 9
