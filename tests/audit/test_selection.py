"""Selection: exact laws on all pairs of small neighbours, and lower bounds on epsilon."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms.cuts import planned, rho_of_cuts
from dpcore.mechanisms.selection import above_threshold, exponential_mechanism
from dpcore.privacy.allowance import Allowance, rho_of_choice
from dpcore.releases import bounds, bounds_around_zero
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


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("monotonic", [False, True])
def test_choices_have_the_rho_of_a_bounded_range(epsilon, monotonic):
    """Some of the candidates gain a point, and the others lose one or keep their scores."""
    rate, most = epsilon / (1 if monotonic else 2), 0.0
    for gap in (0, 1, 5):
        scores = np.array([0] * 6 + [-gap] * 6)
        before = reference.exponential_law(scores, rate)
        for raised in range(13):
            change = np.where(np.arange(12) < raised, 1, 0 if monotonic else -1)
            after = reference.exponential_law(scores + change, rate)
            for law, other in ((before, after), (after, before)):
                most = max(most, rho_of_law(law, np.log(law / other)))
    stated = rho_of_choice(Fraction(epsilon))
    assert most <= stated
    assert most > 0.9 * stated or epsilon == 8.0  # where the range is long, it is less


def cost_of_cuts(asked, cells, records, budget, places=2, thin=1.0):
    """The largest cost of all places together: a log ratio, and D_alpha / alpha."""
    cuts = planned(asked, budget)
    laws = {
        counts: np.array(list(reference.law_of_cuts(list(counts), places, cuts, thin).values()))
        for number in (records, records + 1)
        for counts in tables(cells, number)
    }
    worst, concentrated = 0.0, 0.0
    for counts, law in laws.items():
        for other in relations[budget.neighbours](counts):
            if other not in laws:
                continue
            ratios = np.log(law / laws[other])
            worst = max(worst, np.abs(ratios).max())
            concentrated = max(concentrated, rho_of_law(law, ratios))
    return worst, concentrated


def rho_of_law(law, ratios):
    """The largest D_alpha / alpha of some orders, from a law and its log ratios to another."""
    return max(renyi(law, ratios, alpha) / alpha for alpha in (1.001, 1.1, 2, 8, 64))


def renyi(law, ratios, alpha):
    """The Renyi divergence of order alpha, from a law and its log ratios to another."""
    return np.logaddexp.reduce(np.log(law) + (alpha - 1) * ratios) / (alpha - 1)


def removed(counts):
    """The tables without one of the records."""
    for i in range(len(counts)):
        if counts[i] > 0:
            yield tuple(count - (i == j) for j, count in enumerate(counts))


relations = {"replace-one": replaced, "add-or-remove-one": removed}
ASKED = [[0.5], [0.25, 0.4, 1.0], [0.1, 0.2, 0.9]]


@pytest.mark.parametrize("neighbours", relations)
@pytest.mark.parametrize(("cells", "records"), [(1, 4), (2, 5), (3, 4)])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("epsilon", [0.3, 3.0, 12.0])
def test_quantiles_of_all_neighbours(neighbours, cells, records, asked, epsilon):
    budget = Allowance.checked(epsilon, None, neighbours)
    spent, rho = cost_of_cuts(asked, cells, records, budget)
    assert spent <= epsilon + TOLERANCE
    stated = rho_of_cuts(planned(asked, budget), budget.epsilon)
    assert rho <= stated + TOLERANCE
    assert stated <= epsilon**2 / 8


@pytest.mark.parametrize("neighbours", relations)
@pytest.mark.parametrize(("cells", "records"), [(2, 5), (3, 4)])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("rho", [0.01, 2.0])
def test_quantiles_of_all_neighbours_for_rho(neighbours, cells, records, asked, rho):
    budget = Allowance.checked(None, rho, neighbours)
    assert cost_of_cuts(asked, cells, records, budget)[1] <= rho * (1 + TOLERANCE)


OVERSPENT = [  # neighbours whose laws differ as much as they may
    ("replace-one", [0.5], 1, (0, 6, 6), (1, 6, 5)),
    ("replace-one", [0.25, 0.5, 0.75], 1, (2, 6, 6, 5, 9, 9), (3, 6, 6, 5, 9, 8)),
    ("add-or-remove-one", [0.5], 2, (0, 1, 5), (0, 0, 5)),
    ("add-or-remove-one", [0.25, 0.5, 0.75], 2, (1, 5, 1), (0, 5, 1)),
]


@pytest.mark.parametrize(("neighbours", "asked", "places", "first", "second"), OVERSPENT)
def test_quantiles_with_a_fifth_less_noise_overspend(neighbours, asked, places, first, second):
    cuts = planned(asked, Allowance.checked(16.0, None, neighbours))

    def cost(thin):
        laws = [reference.law_of_cuts(list(each), places, cuts, thin) for each in (first, second)]
        return largest_log_ratio(*(np.array(list(law.values())) for law in laws))

    assert 0.95 * 16.0 < cost(1.0) <= 16.0 + TOLERANCE
    assert cost(0.8) > 1.19 * 16.0


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
