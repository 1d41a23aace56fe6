"""Selection: exact laws on all pairs of small neighbours, and lower bounds on epsilon."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms.selection import above_threshold, exponential_mechanism
from dpcore.releases import bounds, bounds_around_zero, quantiles
from dpcore.releases.quantiles import quantiles_from_counts
from tests import reference
from tests.audit.harness import both_ways, replaced, tables

TOLERANCE = 1e-9  # of sums in doubles
FIFTH = Fraction(4, 5)


def largest_log_ratio(first, second):
    return np.abs(np.log(first / second)).max()


def changes(length, most=1):
    return itertools.product(range(-most, most + 1), repeat=length)


def monotonic_changes(length):
    for sign in (1, -1):
        yield from itertools.product((0, sign), repeat=length)


def costs(laws):
    """For all pairs of neighbours, the largest log ratio of each answer, (pairs, answers)."""
    return np.array(
        [
            [largest_log_ratio(*pair) for pair in zip(law, laws[other], strict=True)]
            for counts, law in laws.items()
            for other in replaced(counts)
        ]
    )


def assert_monotonic(asked):
    """Between neighbours, no number changes by more than 1, and none against another."""
    for counts, numbers in asked.items():
        for other in replaced(counts):
            for before, after in zip(numbers, asked[other], strict=True):
                change = after - before
                assert np.abs(change).max() <= 1
                assert np.all(change >= 0) or np.all(change <= 0)


# --- exact: the exponential mechanism


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 8.0])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_exponential_mechanism_on_all_changes_of_its_scores(epsilon, sensitivity):
    scores = np.array([0, -sensitivity, -20 * sensitivity])

    def worst(epsilon):
        before = reference.exponential_law(scores, epsilon / (2 * sensitivity))
        return max(
            largest_log_ratio(
                before,
                reference.exponential_law(scores + np.array(change), epsilon / (2 * sensitivity)),
            )
            for change in changes(3, sensitivity)
        )

    assert worst(epsilon) <= epsilon + TOLERANCE
    assert worst(epsilon / FIFTH) > epsilon


def laws_of_quantiles(monkeypatch, cells, records, asked, epsilon, thin=1):
    """The exact law of each quantile, for all tables of so many records."""
    called = []

    def recorded(scores, *, epsilon, sensitivity, rng):
        rate = epsilon / (2 * sensitivity) / thin
        called.append(reference.exponential_law(scores, rate))
        return 0

    monkeypatch.setattr(quantiles, "exponential_mechanism", recorded)
    grid, laws = dp.Grid(range(cells)), {}
    for counts in tables(cells, records):
        called.clear()
        quantiles_from_counts(np.array(counts), asked, grid, epsilon=epsilon)
        laws[counts] = list(called)
    return laws


@pytest.mark.parametrize(("cells", "records"), [(2, 9), (3, 7), (4, 5), (5, 3)])
@pytest.mark.parametrize("asked", [[0.5], [0.25, 0.4, 1.0]])
@pytest.mark.parametrize("epsilon", [0.3, 3.0, 12.0])
def test_quantiles_of_all_neighbours(monkeypatch, cells, records, asked, epsilon):
    spent = costs(laws_of_quantiles(monkeypatch, cells, records, asked, epsilon))
    assert spent.shape[1] == len(asked)
    assert spent.sum(axis=1).max() <= epsilon + TOLERANCE


def test_quantiles_with_a_fifth_less_noise_overspend(monkeypatch):
    laws = laws_of_quantiles(monkeypatch, 3, 9, [0.5], 4.0)
    assert 3.9 < costs(laws).max() <= 4.0
    laws = laws_of_quantiles(monkeypatch, 3, 9, [0.5], 4.0, thin=FIFTH)
    assert costs(laws).max() > 4.8


# --- exact: searches


def worst_search(queries, some_changes, epsilon, of_queries, thin=1.0, fresh=False):
    """The largest log ratio, the scale of the queries' noise being given in 1 / epsilon."""
    scales = 2 / epsilon * thin, of_queries / epsilon * thin

    def law(exact):
        return reference.above_threshold_law(exact, 0, *scales, fresh)

    before = law(queries)
    return max(largest_log_ratio(before, law(np.add(queries, each))) for each in some_changes)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("queries", [[0] * 5, [-3] * 4, [0, -2, -9, 1, 0], [4, 0, -1]])
def test_searches_on_all_changes_of_their_queries(queries, epsilon):
    n = len(queries)
    assert worst_search(queries, changes(n), epsilon, 4) <= epsilon + TOLERANCE
    assert worst_search(queries, monotonic_changes(n), epsilon, 2) <= epsilon + TOLERANCE


def test_broken_searches_overspend():
    queries, epsilon = [0] * 6, 3.0
    assert worst_search(queries, changes(6), epsilon, 4) > 0.95 * epsilon
    assert worst_search(queries, changes(6), epsilon, 4, thin=0.8) > 1.15 * epsilon
    assert worst_search(queries, monotonic_changes(6), epsilon, 2) > 0.99 * epsilon
    assert worst_search(queries, monotonic_changes(6), epsilon, 2, thin=0.8) > 1.2 * epsilon
    # half the noise where it is not deserved, and a new threshold for every query
    assert worst_search(queries, changes(6), epsilon, 2) > 1.4 * epsilon
    assert worst_search(queries, changes(6), epsilon, 4, fresh=True) > 1.1 * epsilon


@pytest.mark.parametrize(("cells", "records"), [(2, 7), (3, 5), (4, 4), (5, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 6.0])
@pytest.mark.parametrize("outside", [0, 1])
def test_bounds_of_all_neighbours(monkeypatch, cells, records, outside, epsilon):
    called = []

    def recorded(queries, threshold, *, epsilon, monotonic, rng):
        assert monotonic
        scale = 2 / float(epsilon)
        called.append(reference.above_threshold_law(queries, threshold, scale, scale))
        exact.append(queries)
        return 0

    monkeypatch.setattr(bounds, "above_threshold", recorded)
    grid, laws, asked = dp.Grid(range(cells)), {}, {}
    for counts in tables(cells, records):
        called.clear()
        exact = []
        values = np.repeat(grid.thresholds, counts)
        bounds.bounds(values, epsilon=epsilon, grid=grid, outside=outside)
        laws[counts], asked[counts] = list(called), exact
    spent = costs(laws)
    assert spent.shape[1] == 2
    assert spent.sum(axis=1).max() <= epsilon + TOLERANCE
    assert_monotonic(asked)


WIDTHS = np.array([0.5, -2.0, 3.0, 8.0, -9.0, 30.0, -np.inf])  # each in an interval of its own


def asked_of_symmetric_bounds(monkeypatch, counts, coverage, epsilon):
    """The queries, the threshold and the scale of the noise for so many records of each width."""
    asked = []

    def recorded(queries, threshold, *, epsilon, monotonic, rng):
        assert monotonic
        asked.append((queries, threshold, 2 / float(epsilon)))
        return 0

    monkeypatch.setattr(bounds_around_zero, "above_threshold", recorded)
    values = np.repeat(WIDTHS[: len(counts)], counts)
    doublings = len(counts) - 1
    dp.symmetric_bounds(values, epsilon=epsilon, coverage=coverage, doublings=doublings)
    (found,) = asked
    return found


@pytest.mark.parametrize(("cells", "records"), [(2, 9), (3, 6), (4, 4)])
@pytest.mark.parametrize("epsilon", [0.5, 6.0])
@pytest.mark.parametrize("coverage", [0.2, 0.95])
def test_symmetric_bounds_of_all_neighbours(monkeypatch, cells, records, coverage, epsilon):
    laws = {}
    for counts in tables(cells, records):
        *exact, scale = asked_of_symmetric_bounds(monkeypatch, counts, coverage, epsilon)
        laws[counts] = [reference.above_threshold_law(*exact, scale, scale)]
    assert costs(laws).max() <= epsilon + TOLERANCE


def test_symmetric_bounds_with_a_fifth_less_noise_overspend(monkeypatch):
    """A record moves from one interval to the first of all."""
    asked = [
        asked_of_symmetric_bounds(monkeypatch, counts, 0.95, 3.0)
        for counts in [(18, 0, 0, 0, 1, 0, 1), (19, 0, 0, 0, 0, 0, 1)]
    ]

    def cost(thin):
        laws = [reference.above_threshold_law(q, t, thin * s, thin * s) for q, t, s in asked]
        return largest_log_ratio(*laws)

    assert 0.97 * 3.0 < cost(1.0) <= 3.0 + TOLERANCE
    assert cost(0.8) > 1.2 * 3.0


# --- empirical: the real code, with cryptographic noise


def bound(draw, first, second):
    return both_ways(draw(first), draw(second))


@pytest.mark.needs_jit
def test_exponential_mechanism_holds_the_claim_and_shows_a_fifth_less_noise():
    def draw(epsilon):
        return lambda scores: exponential_mechanism(scores, epsilon=epsilon, replicates=1_000_000)

    first, second = [0, 5, 1], [1, 4, 1]
    assert 1.7 < bound(draw(2.0), first, second) <= 2.0
    assert bound(draw(2.0 / FIFTH), first, second) > 2.1


# changes under which one answer tells most: up, or down, before it and another way from it on
SEARCHES = [
    (True, [-1] * 6, [1, 1, 1, 1, 0, 0], 400_000),
    pytest.param(False, [-1] * 8, [1, 1, 1, 1, 1, 1, -1, -1], 1_000_000, marks=pytest.mark.full),
]


@pytest.mark.needs_jit
@pytest.mark.parametrize(("monotonic", "queries", "change", "replicates"), SEARCHES)
def test_searches_hold_the_claim_and_show_a_fifth_less_noise(
    monotonic, queries, change, replicates
):
    def draw(epsilon):
        return lambda exact: above_threshold(
            exact, 0, epsilon=epsilon, monotonic=monotonic, replicates=replicates
        )

    neighbour = np.add(queries, change)
    assert 2.4 < bound(draw(3.0), queries, neighbour) <= 3.0
    assert bound(draw(3.0 / FIFTH), queries, neighbour) > 3.1


@pytest.mark.needs_jit
def test_a_search_that_is_not_monotonic_shows_that_half_the_noise_is_too_little():
    def draw(exact):
        return above_threshold(exact, 0, epsilon=3.0, monotonic=True, replicates=400_000)

    assert bound(draw, [-1] * 6, [0, 0, 0, 0, -2, -2]) > 3.4
