"""Private bounds: what searches and choices are asked, how likely answers are, what they cost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.releases import bounds as module
from dpcore.releases import bounds_around_zero
from dpcore.releases.bounds import Bounds, bounds
from dpcore.releases.bounds_around_zero import (
    compact_bounds,
    compact_end,
    compact_rungs,
    symmetric_bounds,
    symmetric_end,
)
from dpcore.summaries.rungs import Rungs
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


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"grid": [1, 2]}, dp.DtypeError, "grid"),
        ({"grid": dp.Grid([1])}, dp.ParameterError, "grid"),
        ({"outside": -1}, dp.ParameterError, "outside"),
        ({"outside": 0.5}, dp.DtypeError, "outside"),
    ],
)
def test_bad_arguments_are_refused_before_the_records_are_read(change, error, message):
    with pytest.raises(error, match=message):
        bounds("no records at all", **{"epsilon": 1.0, **change})


@pytest.mark.parametrize(
    ("n", "change", "message"),
    [
        (0, {}, "values"),
        (82, {}, "is too small for bounds of 82 records: with it, they need at least 83"),
        (8, {"outside": 4}, "outside must be less than half of the 8 records; got 4"),
    ],
)
def test_too_few_records(n, change, message):
    with pytest.raises(dp.ParameterError, match=message):
        bounds([3.0] * n, epsilon=1.0, **change)
    assert bounds([3.0] * 83, epsilon=1.0).n == 83
    assert bounds([3.0] * 9, epsilon=1.0, outside=4).n == 9


# --- bounds around zero: what a search without noise finds, what noise does to it, and its cost


@settings(max_examples=80)
@given(st.lists(st.integers(-70, 70), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_a_search_around_zero_without_noise(values, coverage):
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


def test_what_a_search_is_asked_and_costs(monkeypatch):
    asked = []

    def recorded(queries, threshold, *, epsilon, monotonic, rng):
        asked.append((queries.tolist(), threshold, epsilon, monotonic, rng))
        return 1

    monkeypatch.setattr(bounds_around_zero, "above_threshold", recorded)
    values = [0.5, -1.0, 1.5, -2.0, 9.0, -np.inf, 3.0, 0.0, 0.0, 0.0]
    found = symmetric_bounds(values, epsilon=Fraction(1, 3), coverage=0.7, doublings=2)
    assert asked == [([5, 7, 10], 7, Fraction(1, 3), True, None)]
    assert (found.lower, found.upper, found.n, found.outside) == (-2.0, 2.0, 10, 3)
    assert found.privacy == dp.Privacy(float(np.nextafter(1 / 3, 1)))
    simulated = symmetric_bounds(values, epsilon=1.0, rng=generator()).privacy
    assert simulated == dp.Privacy(1.0, simulated=True)


@pytest.mark.needs_jit
def test_the_law_of_searches():
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
    ],
)
def test_bad_arguments_of_symmetric_bounds(change, error, message):
    with pytest.raises(error, match=message):
        symmetric_bounds("no records at all", **{"epsilon": 1.0, **change})


# --- bounds that are worth their width: what is chosen from, how likely, and how far off they are


GAINS = [0.04, 0.08, Fraction(1, 3), Fraction(1, 25), 0.9]
VALUES = st.one_of(
    st.sampled_from([0.0, -1.0, 1.0, 2.0, -4.0, 4.1, 1e300, np.inf, -np.inf]), st.floats(-50, 50)
)


def asked_of(values, monkeypatch, **arguments):
    """What the exponential mechanism is asked, and the bounds if it answers the best."""
    asked = []

    def recorded(scores, *, epsilon, monotonic, rng):
        asked.append((scores, epsilon, monotonic, rng))
        return int(np.argmax(scores))

    with monkeypatch.context() as patched:
        patched.setattr(bounds_around_zero, "exponential_mechanism", recorded)
        found = compact_bounds(values, **arguments)
    (once,) = asked
    return once, found


@settings(max_examples=100)
@given(st.lists(VALUES, min_size=1, max_size=20), st.sampled_from(GAINS))
def test_scores_of_a_choice_are_counts_less_a_price(values, gain):
    with pytest.MonkeyPatch.context() as patch:
        (scores, *_), found = asked_of(values, patch, epsilon=1.0, gain=gain, unit=0.5)
    ends = compact_rungs(0.5, gain).ends
    assert ends.tolist() == [0.5 * 2.0**i for i in range(len(ends))]
    assert (len(ends) - 1) * Fraction(gain) < 1 <= len(ends) * Fraction(gain)
    assert scores.tolist() == reference.compact_scores(values, ends, gain).tolist()
    assert found.upper == ends[np.argmax(scores)]
    assert (found.lower, found.n, found.outside) == (-found.upper, len(values), 0)


def test_what_a_choice_is_asked_and_costs(monkeypatch):
    rng = generator()
    (scores, epsilon, monotonic, passed), found = asked_of(
        [0.5, -1.0, 1.5, 9.0], monkeypatch, epsilon=Fraction(1, 3), gain=Fraction(1, 4), rng=rng
    )
    assert scores.tolist() == [2, 2, 1, 1]  # 2, 3, 3 and 4 records at 0, 1, 2 and 3
    assert (epsilon, monotonic, passed) == (Fraction(1, 3), True, rng)
    assert found.privacy == dp.Privacy(Fraction(1, 3), simulated=True)
    assert compact_bounds([1.0], epsilon=2.0).privacy == dp.Privacy(2.0)


def test_a_gain_of_any_real_type_is_taken_as_it_is():
    values = generator().normal(0, 3, 500)
    for gain in (np.float32(0.25), np.longdouble(0.25), Fraction(1, 4), 0.25):
        assert compact_bounds(values, epsilon=LOTS, gain=gain).upper == 4.0


@pytest.mark.needs_jit
def test_the_law_of_choices():
    values = generator().normal(0, 6, 300)
    rungs, epsilon, rng = compact_rungs(1.0), Fraction(1, 8), generator(1)
    counts = rungs.count(values, "raise")
    found = [compact_end(counts, epsilon, rng) for _ in range(4000)]
    scores = reference.compact_scores(values, rungs.ends, 0.04)
    law = reference.exponential_law(scores, epsilon)  # no half: scores are monotonic
    shares = np.bincount(found, minlength=law.size) / len(found)
    assert np.abs(shares - law).max() < 5 * 0.5 / math.sqrt(len(found))
    assert np.abs(shares - reference.exponential_law(scores, epsilon / 2)).max() > 0.1


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"unit": 0.0}, dp.ParameterError, "unit must be positive and finite; got 0.0"),
        ({"unit": "1"}, dp.DtypeError, "unit"),
        ({"unit": 1e305}, dp.ParameterError, "unit must keep unit 2\\^24 finite; got 1e\\+305"),
        ({"gain": 0.0009}, dp.ParameterError, "gain must be at least 0.001, and below 1; got 0.00"),
        ({"gain": 1}, dp.ParameterError, "gain must be at least 0.001, and below 1; got 1"),
        ({"gain": np.nan}, dp.ParameterError, "gain"),
        ({"gain": None}, dp.DtypeError, "gain"),
    ],
)
def test_bad_arguments_of_compact_bounds(change, error, message):
    with pytest.raises(error, match=message):
        compact_bounds("no records at all", **{"epsilon": 1.0, **change})


def test_the_largest_unit_there_may_be():
    most = math.ldexp(np.finfo(np.float64).max, -24)
    assert compact_bounds([0.0] * 99, epsilon=LOTS, unit=most).upper == most
    with pytest.raises(dp.ParameterError, match="unit"):
        compact_bounds([0.0] * 99, epsilon=LOTS, unit=float(np.nextafter(most, np.inf)))


# --- what all of them refuse


@pytest.mark.parametrize("search", [bounds, symmetric_bounds, compact_bounds])
@pytest.mark.parametrize(
    ("values", "change", "error", "message"),
    [
        ("no records at all", {"epsilon": 0.0}, dp.ParameterError, "epsilon"),
        ("no records at all", {"epsilon": 1e-13}, dp.ParameterError, "epsilon is too small"),
        ("no records at all", {"rng": 3}, dp.DtypeError, "rng"),
        ([], {}, dp.ParameterError, "values"),
        ([[1.0]], {}, dp.ParameterError, "values"),
        ([1.0, np.nan], {}, dp.MissingValueError, "values"),
    ],
)
def test_what_is_refused_by_each(search, values, change, error, message):
    with pytest.raises(error, match=message):
        search(values, **{"epsilon": 1.0, **change})


def test_records_without_a_value_are_left_out():
    options = {"epsilon": 1.0, "nan_policy": "omit"}
    assert bounds([1.0, np.nan], outside=0, **options).n == 1
    assert symmetric_bounds([1.0, np.nan], **options).n == 1
    assert compact_bounds([1.0, np.nan], **options).n == 1
