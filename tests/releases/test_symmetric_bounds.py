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


@pytest.mark.needs_jit
def test_the_law_of_the_answers():
    values = generator().standard_cauchy(4700) * 20
    counts, ends = Rungs(1.0, 20).count(values, "raise"), Rungs(1.0, 20).ends
    outside, epsilon, rng = round(0.05 * values.size), Fraction(1, 10), generator()
    answers = [symmetric_end(counts, outside, epsilon, rng) for _ in range(1000)]
    law = reference.symmetric_law(values, ends, outside, 2 / float(epsilon))
    shares = np.bincount(answers, minlength=law.size) / 1000
    assert np.abs(shares - law).max() < 5 * 0.5 / math.sqrt(1000)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"unit": 0.0}, dp.ParameterError, "unit must be positive and finite; got 0.0"),
        ({"unit": -1}, dp.ParameterError, "unit"),
        ({"unit": np.inf}, dp.ParameterError, "unit"),
        ({"unit": 5e-324}, dp.ParameterError, "unit must be at least 2\\^-1022; got 5e-324"),
        ({"unit": "1"}, dp.DtypeError, "unit"),
        ({"coverage": 0.0}, dp.ParameterError, "coverage must be between 0 and 1; got 0.0"),
        ({"coverage": 1}, dp.ParameterError, "coverage must be between 0 and 1; got 1"),
        ({"coverage": np.nan}, dp.ParameterError, "coverage"),
        ({"doublings": -1}, dp.ParameterError, "doublings"),
        ({"doublings": 2.0}, dp.DtypeError, "doublings"),
        ({"unit": 4.0, "doublings": 1022}, dp.ParameterError, "doublings must leave unit 2"),
        ({"epsilon": 0.0}, dp.ParameterError, "epsilon"),
        ({"epsilon": 1e-13}, dp.ParameterError, "epsilon"),
        ({"rng": 3}, dp.DtypeError, "no integer seeds"),
    ],
)
def test_bad_arguments_are_refused_before_the_records_are_read(change, error, message):
    with pytest.raises(error, match=message):
        symmetric_bounds("no records at all", **{"epsilon": 1.0, **change})


def test_bad_records():
    with pytest.raises(dp.ParameterError, match="values"):
        symmetric_bounds([], epsilon=1.0)
    with pytest.raises(dp.MissingValueError):
        symmetric_bounds([1.0, np.nan], epsilon=1.0)
    assert symmetric_bounds([1.0, np.nan], epsilon=1.0, nan_policy="omit").n == 1
    with pytest.raises(dp.ParameterError, match="values"):
        symmetric_bounds([[1.0]], epsilon=1.0)
