"""Bounds around zero: what a search without noise finds, what noise does to it, and its cost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.releases import symmetric_bounds as module
from dpcore.releases.symmetric_bounds import symmetric_bounds, symmetric_end
from dpcore.summaries.rungs import Rungs
from tests import reference

LOTS = 1e6  # an epsilon that leaves no noise


def generator(seed=5):
    return np.random.default_rng(seed)


@settings(max_examples=80)
@given(st.lists(st.integers(-70, 70), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_without_noise(values, coverage):
    found = symmetric_bounds(values, epsilon=LOTS, coverage=coverage, doublings=7)
    assert (found.n, found.outside) == (len(values), round((1 - coverage) * len(values)))
    least = len(values) - found.outside
    holds = [b for b in 2.0 ** np.arange(8) if sum(abs(v) <= b for v in values) >= least]
    assert found.upper == (holds[0] if holds else 128.0)
    assert found.lower == -found.upper


@pytest.mark.parametrize("value", [np.inf, -np.inf, 10**300, -(10**300)])
def test_the_last_interval_ends_the_search_on_any_data(value):
    found = symmetric_bounds([value] * 9, epsilon=LOTS, unit=0.5, doublings=4)
    assert (found.lower, found.upper) == (-8.0, 8.0)
    assert symmetric_bounds([value] * 9, epsilon=LOTS).upper == 2.0**62
    assert symmetric_bounds([1.0], epsilon=LOTS, doublings=0).upper == 1.0


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3])
def test_budgets_that_buy_nothing_are_spent_all_the_same(epsilon):
    ends = {
        symmetric_bounds(values, epsilon=epsilon, doublings=3, rng=generator(seed)).upper
        for values in ([0.0], [1e9] * 50)
        for seed in range(40)
    }
    assert ends == {1.0, 2.0, 4.0, 8.0}


def test_what_is_asked_and_what_it_costs(monkeypatch):
    asked = []

    def recorded(queries, threshold, *, epsilon, monotonic, rng):
        asked.append((queries.tolist(), threshold, epsilon, monotonic, rng))
        return 1

    monkeypatch.setattr(module, "above_threshold", recorded)
    values = [0.5, -1.0, 1.5, -2.0, 9.0, -np.inf, 3.0, 0.0, 0.0, 0.0]
    found = symmetric_bounds(values, epsilon=Fraction(1, 3), coverage=0.7, doublings=2)
    assert asked == [([5, 7, 10], 7, Fraction(1, 3), True, None)]
    assert (found.lower, found.upper, found.n, found.outside) == (-2.0, 2.0, 10, 3)
    assert found.privacy == dp.Privacy(float(np.nextafter(1 / 3, 1)))
    simulated = symmetric_bounds(values, epsilon=1.0, rng=generator()).privacy
    assert simulated == dp.Privacy(1.0, simulated=True)


# --- docs/proofs/selection.md: how many records too few, and how much too wide


def records_too_few(k, epsilon, beta):
    """The least a such that k differences of two draws pass it with probability beta at most."""
    a = 0
    while k * reference.difference_tail(a + 1, 2 / epsilon) > beta:
        a += 1
    return a


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(("k", "beta"), [(1, 0.05), (10, 0.05), (40, 0.2)])
def test_how_many_records_too_few_in_the_worst_case(epsilon, k, beta):
    """All intervals before the k-th one have the most records that are too few."""
    exact = records_too_few(k, epsilon, beta)
    formula = 2 * (math.log(k) + 2 * math.log(2 / beta)) / epsilon
    assert exact <= formula <= 4 * (math.log(k) + math.log(2 / beta)) / epsilon
    scale = 2 / epsilon
    for a, most in ((exact, beta), (math.floor(formula), beta)):
        worst = [-a - 1] * k + [0]  # below the threshold, 0
        too_few = reference.above_threshold_law(worst, 0, scale, scale)[:k].sum()
        assert too_few <= most
    worst = [-exact // 2] * k + [0]
    assert reference.above_threshold_law(worst, 0, scale, scale)[:k].sum() > beta


@pytest.mark.parametrize("n_epsilon", [60.0, 470.0])
def test_how_much_too_wide(n_epsilon):
    """From the first interval with a + 1 records more than asked for, hardly a search goes on."""
    n, beta = 1000, 0.05
    epsilon = n_epsilon / n
    tails = [reference.difference_tail(a, 2 / epsilon) for a in range(1, n)]
    a = int(np.argmax(np.array(tails) <= beta))
    inside = [n // 2, n - 50, n - 50 + a, n - 50 + a, n]
    law = reference.above_threshold_law(inside, n - 50, 2 / epsilon, 2 / epsilon)
    assert law[3:].sum() <= beta
    fewer = [*inside[:2], n - 50 + a // 3, *inside[3:]]
    law = reference.above_threshold_law(fewer, n - 50, 2 / epsilon, 2 / epsilon)
    assert law[3:].sum() > beta


@pytest.mark.parametrize("scale", [40.0, 200.0])
def test_when_all_records_are_enough(scale):
    """(1 - coverage) n epsilon = 6.6 makes it 3.3 scales of noise that are left out."""
    assert reference.difference_tail(round(3.3 * scale), scale) <= 0.05
    assert reference.difference_tail(round(3.0 * scale), scale) > 0.05


def test_how_far_searches_run_past_the_last_record():
    inside = np.array([0] + [100] * 100)
    law = reference.above_threshold_law(inside, 95, 20, 20)
    beyond = 1 - np.cumsum(law)  # as the number of doublings grows, as one over it
    assert beyond[80] / beyond[20] == pytest.approx(20 / 80, rel=0.1)


@pytest.mark.needs_jit
def test_theorem_2_holds_of_searches():
    """Theorem 2 at a share of 95 % and n epsilon = 470: in 19 of 20 runs less than 10 % too few."""
    values = generator().standard_cauchy(4700) * 20
    counts = Rungs(1.0, 20).count(values, "raise")
    inside, outside = np.cumsum(counts), round(0.05 * values.size)
    epsilon, beta, k = Fraction(1, 10), 0.05, int(np.argmax(inside >= values.size - outside))
    assert k == 8
    a = records_too_few(k, float(epsilon), beta)
    paper = 8 * (math.log(k - 1) + math.log(2 / beta)) / float(epsilon)
    assert a < 0.5 * paper < 0.05 * values.size
    rng = generator()
    found = np.array([symmetric_end(counts, outside, epsilon, rng) for _ in range(1000)])
    too_few = np.mean(inside[found] < values.size - outside - a)
    assert too_few <= beta
    law = reference.symmetric_law(values, Rungs(1.0, 20).ends, outside, 2 / float(epsilon))
    shares = np.bincount(found, minlength=law.size) / found.size
    assert np.abs(shares - law).max() < 5 * 0.5 / math.sqrt(found.size)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"unit": 0.0}, dp.ParameterError, "unit must be positive and finite; got 0.0"),
        ({"unit": -1}, dp.ParameterError, "unit must be positive"),
        ({"unit": np.inf}, dp.ParameterError, "unit must be finite"),
        ({"unit": 5e-324}, dp.ParameterError, "unit must be at least 2\\^-1022; got 5e-324"),
        ({"unit": "1"}, dp.DtypeError, "unit must be a real number"),
        ({"coverage": 0.0}, dp.ParameterError, "coverage must be between 0 and 1; got 0.0"),
        ({"coverage": 1}, dp.ParameterError, "coverage must be between 0 and 1; got 1"),
        ({"coverage": np.nan}, dp.ParameterError, "coverage must be finite"),
        ({"doublings": -1}, dp.ParameterError, "doublings must be between 0 and"),
        ({"doublings": 2.0}, dp.DtypeError, "doublings must be an integer"),
        ({"unit": 4.0, "doublings": 1022}, dp.ParameterError, "doublings must leave unit 2"),
        ({"epsilon": 0.0}, dp.ParameterError, "epsilon must be positive"),
        ({"epsilon": 1e-13}, dp.ParameterError, "epsilon is too small: noise scale exceeds"),
        ({"rng": 3}, dp.DtypeError, "no integer seeds"),
    ],
)
def test_bad_arguments_are_refused_before_the_records_are_read(change, error, message):
    with pytest.raises(error, match=message):
        symmetric_bounds("no records at all", **{"epsilon": 1.0, **change})


def test_bad_records():
    with pytest.raises(dp.ParameterError, match="values must hold between 1 and"):
        symmetric_bounds([], epsilon=1.0)
    with pytest.raises(dp.MissingValueError):
        symmetric_bounds([1.0, np.nan], epsilon=1.0)
    assert symmetric_bounds([1.0, np.nan], epsilon=1.0, nan_policy="omit").n == 1
    with pytest.raises(dp.ParameterError, match="values must be one-dimensional"):
        symmetric_bounds([[1.0]], epsilon=1.0)
