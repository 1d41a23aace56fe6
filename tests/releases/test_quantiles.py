"""Private quantiles: what is drawn, how near it is, what it costs, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.releases.quantiles import Quantiles, quantiles, quantiles_from_counts
from tests import reference

GRID = dp.Grid.uniform(0, 100, 64)
VALUES = np.random.default_rng(1).normal(50, 15, 1001)
LOTS = 1e6  # an epsilon that leaves no noise


def generator():
    return np.random.default_rng(5)


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_without_noise_the_nearest_rank_is_drawn(counts, probabilities):
    counts = np.array([*counts, 1])
    grid = dp.Grid(np.arange(counts.size))
    found = quantiles_from_counts(counts, probabilities, grid, epsilon=LOTS, rng=generator())
    assert found.n == counts.sum()
    off = np.abs(np.cumsum(counts)[found.values.astype(int)] - found.n * np.array(probabilities))
    best = np.abs(np.cumsum(counts)[:, np.newaxis] - found.n * np.array(probabilities)).min(axis=0)
    assert np.all(off <= best + 0.25)  # p n is rounded to quarters
    in_order = found.values[np.argsort(probabilities)]
    assert np.all(np.diff(in_order) >= 0)


def test_quartiles_of_few_records_are_not_rounded():
    counts = np.ones(5, np.int64)  # n / 4 = 1.25 is nearer to 1 than to 2, and 3.75 to 4
    found = quantiles_from_counts(counts, [0.25, 0.75], dp.Grid(range(1, 6)), epsilon=LOTS)
    assert found.values.tolist() == [1, 4]


@pytest.mark.full
@pytest.mark.needs_jit
def test_each_follows_the_law_of_its_share():
    counts, grid = np.array([3, 0, 2, 4, 1]), dp.Grid(range(5))
    drawn = np.array(
        [
            quantiles_from_counts(counts, [0.3, 0.3], grid, epsilon=2.0, rng=rng).values
            for rng in map(np.random.default_rng, range(3000))
        ]
    )
    law = reference.exponential_law(-np.abs(np.cumsum(counts) - 3.0), 0.5)
    pairs = np.triu(np.outer(law, law)) + np.tril(np.outer(law, law), -1).T  # put in order
    found = np.zeros((5, 5))
    np.add.at(found, tuple(drawn.astype(int).T), 1)
    errors = np.sqrt(3000 * pairs * (1 - pairs))
    assert np.all(np.abs(found - 3000 * pairs) <= 5 * errors + 1e-9)


def test_ranks_are_as_near_as_the_theorem_says():
    """docs/proofs/selection.md: farther off than the bound with probability below 1 / 20, each."""
    epsilon, asked = 1.0, [0.1, 0.5, 0.9]
    counts = GRID.count(VALUES)
    cumulative = np.cumsum(counts)
    targets = np.array(asked) * 1001
    nearest = np.abs(cumulative[:, np.newaxis] - targets).min(axis=0)
    bound = nearest + 0.25 + 2 * len(asked) / epsilon * np.log(20 * GRID.size)
    far = 0
    for seed in range(100):
        found = quantiles_from_counts(
            counts, asked, GRID, epsilon=epsilon, rng=np.random.default_rng(seed)
        )
        ranks = cumulative[np.searchsorted(GRID.thresholds, found.values)]
        far += np.sum(np.abs(ranks - targets) > bound)
    assert far <= 300 / 20


def test_values_come_back_in_the_order_of_the_question():
    found = quantiles(VALUES, [0.9, 0.1, 0.5], GRID, epsilon=50.0)
    assert isinstance(found, Quantiles)
    assert found.probabilities.tolist() == [0.9, 0.1, 0.5]
    assert found.values[1] < found.values[2] < found.values[0]
    assert np.all(np.isin(found.values, GRID.thresholds))


def test_what_it_costs():
    found = quantiles(VALUES, [0.25, 0.5, 0.75], GRID, epsilon=Fraction(3, 10))
    assert found.privacy == dp.Privacy(np.nextafter(0.3, 1))  # rounded up: 0.3 is below 3/10
    assert found.epsilon_each == pytest.approx(0.1)
    assert found.n == 1001
    simulated = quantiles(VALUES, [0.5], GRID, epsilon=0.3, rng=generator())
    assert simulated.privacy == dp.Privacy(0.3, simulated=True)


def test_each_quantile_has_a_draw_of_its_own():
    found = quantiles([0.5] * 3, [0.5] * 60, GRID, epsilon=1e-3, rng=generator())
    assert np.unique(found.values).size > 20
    again = quantiles([0.5] * 3, [0.5] * 60, GRID, epsilon=1e-3, rng=generator())
    assert np.array_equal(found.values, again.values)
    fresh = quantiles([0.5] * 3, [0.5] * 60, GRID, epsilon=1e-3)
    assert not np.array_equal(found.values, fresh.values)


def test_missing_values():
    with pytest.raises(dp.MissingValueError):
        quantiles([1.0, np.nan], [0.5], GRID, epsilon=1.0)
    assert quantiles([1.0, np.nan], [0.5], GRID, epsilon=1.0, nan_policy="omit").n == 1
    assert quantiles([-np.inf, np.inf, 3], [0.5], GRID, epsilon=1.0).n == 3


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"probabilities": [0.5, 1.1]}, dp.ParameterError, "probabilities"),
        ({"probabilities": [np.nan]}, dp.ParameterError, "probabilities"),
        ({"probabilities": [[0.5]]}, dp.ParameterError, "probabilities"),
        ({"probabilities": []}, dp.ParameterError, "or one-dimensional and not empty"),
        ({"probabilities": ["a"]}, dp.DtypeError, "probabilities"),
        ({"grid": [1, 2]}, dp.DtypeError, "grid"),
        ({"epsilon": 0.0}, dp.ParameterError, "epsilon"),
        ({"epsilon": 1e-12}, dp.ParameterError, "epsilon"),
        ({"rng": 3}, dp.DtypeError, "no integer seeds"),
    ],
)
def test_bad_arguments_are_refused_before_the_records_are_read(change, error, message):
    arguments = {"probabilities": [0.5], "grid": GRID, "epsilon": 1.0, **change}
    with pytest.raises(error, match=message):
        quantiles("no records at all", **arguments)
    with pytest.raises(error, match=message):
        quantiles_from_counts("no counts at all", **arguments)


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        (np.ones(64), dp.DtypeError, "counts"),
        (np.ones(63, int), dp.ParameterError, r"counts must have shape \(64,\)"),
        (np.full(64, -1), dp.ParameterError, "counts"),
        (np.zeros(64, int), dp.ParameterError, "values"),
        (np.full(64, 2**41), dp.ParameterError, "values"),
    ],
)
def test_bad_counts(counts, error, message):
    with pytest.raises(error, match=message):
        quantiles_from_counts(counts, [0.5], GRID, epsilon=1.0)
