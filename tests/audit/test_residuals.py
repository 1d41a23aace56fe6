"""Residual plots and bounds that are worth their width: exact laws, and lower bounds on epsilon."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms.selection import exponential_mechanism
from dpcore.releases import bounds_around_zero, residual_bounds, residual_plot
from dpcore.releases.table import raw_table
from tests import reference
from tests.audit.harness import tables
from tests.audit.test_selection import (
    TOLERANCE,
    assert_monotonic,
    bound,
    changes,
    costs,
    largest_log_ratio,
    monotonic_changes,
)

# --- exact: the exponential mechanism with monotonic scores


def worst_choice(scores, some_changes, rate):
    """The largest log ratio, for a rate by which scores are multiplied."""
    before = reference.exponential_law(scores, rate)
    after = (reference.exponential_law(np.add(scores, each), rate) for each in some_changes)
    return max(largest_log_ratio(before, law) for law in after)


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 8.0])
@pytest.mark.parametrize("scores", [[0, 0, 0], [0, -9, -9, -9], [0, -1, -2, 3]])
def test_exponential_mechanism_on_all_monotonic_changes(scores, epsilon):
    assert worst_choice(scores, monotonic_changes(len(scores)), epsilon) <= epsilon + TOLERANCE
    assert worst_choice(scores, changes(len(scores)), epsilon / 2) <= epsilon + TOLERANCE


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_broken_choices_overspend(epsilon):
    scores = [0, -9, -9]
    assert worst_choice(scores, monotonic_changes(3), epsilon) > 0.99 * epsilon
    assert worst_choice(scores, monotonic_changes(3), epsilon / 0.8) > 1.2 * epsilon
    assert worst_choice(scores, changes(3), epsilon) > 1.9 * epsilon  # scores that go both ways


# --- exact: bounds that are worth their width

# a record moves from the first interval to the last
FARTHEST = [(19, 0, 0, 0, 1), (18, 0, 0, 0, 2)]
WIDTHS = np.array([0.5, -2.0, 3.0, 8.0, -np.inf])  # each in an interval of its own


def asked_of_compact_bounds(monkeypatch, counts, gain, epsilon):
    """The scores for so many records of each width, and the rate."""
    asked = []

    def recorded(scores, *, epsilon, monotonic, rng):
        assert monotonic
        asked.append((scores, float(epsilon)))
        return 0

    monkeypatch.setattr(bounds_around_zero, "exponential_mechanism", recorded)
    dp.compact_bounds(np.repeat(WIDTHS[: len(counts)], counts), epsilon=epsilon, gain=gain)
    (found,) = asked
    return found


@pytest.mark.parametrize(("cells", "records"), [(2, 9), (3, 6), (4, 4), (5, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 6.0])
@pytest.mark.parametrize("gain", [0.04, 0.2])
def test_compact_bounds_of_all_neighbours(monkeypatch, cells, records, gain, epsilon):
    laws, asked = {}, {}
    for counts in tables(cells, records):
        scores, rate = asked_of_compact_bounds(monkeypatch, counts, gain, epsilon)
        asked[counts] = [scores]
        laws[counts] = [reference.exponential_law(scores, rate)]
    assert costs(laws).max() <= epsilon + TOLERANCE
    assert_monotonic(asked)


def test_compact_bounds_with_a_fifth_less_noise_overspend(monkeypatch):
    def cost(thin):
        first, second = (
            asked_of_compact_bounds(monkeypatch, counts, 0.2, 3.0) for counts in FARTHEST
        )
        laws = [reference.exponential_law(scores, rate / thin) for scores, rate in (first, second)]
        return largest_log_ratio(*laws)

    assert 0.97 * 3.0 < cost(1.0) <= 3.0 + TOLERANCE
    assert cost(0.8) > 1.2 * 3.0


# --- exact: the whole of a residual plot, on all neighbours

THIRD = Fraction(1, 3)  # as a gain it leaves three rungs
ANSWERS = [8, 3]  # beside zero three on either side and two around it; around zero three
KINDS = [(-0.5, 0.5), (3.0, 3.0), (-2.0, -0.5), (0.5, -2.0), (9.0, -9.0)]


def parts(monkeypatch, records, epsilon, answers):
    """What a residual plot asks on both axes and of its table, if the answers are these.

    On either axis: the scores, and the rate by which they are multiplied.
    """
    answered, asked, of_table = iter(answers), [], []
    original = residual_plot.raw_table

    def chosen(scores, *, epsilon, rng, monotonic=False):
        asked.append((scores, float(epsilon) / (1 if monotonic else 2)))
        return next(answered)

    def recorded(counts, outside, grid, mechanism, rng, integers, *, what):
        row = np.append(counts.reshape(-1), outside)
        of_table.append((row, mechanism(int(row.sum()))))
        return original(counts, outside, grid, mechanism, rng, integers, what=what)

    with monkeypatch.context() as patched:
        for module in (bounds_around_zero, residual_bounds):
            patched.setattr(module, "exponential_mechanism", chosen)
        patched.setattr(residual_bounds, "gain_of", lambda *_: THIRD)
        patched.setattr(residual_plot, "raw_table", recorded)
        rng = np.random.default_rng(1)
        dp.residual_plot(*np.transpose(records), epsilon=epsilon, cells=(2, 1), rng=rng)
    (table,) = of_table
    assert [len(scores) for scores, _ in asked] == ANSWERS
    return asked, table


def cost_of_plots(asked, others, thin=1.0):
    """The largest log ratio: of both bounds, and of the noise in cells that are not the same.

    ``asked`` and ``others`` are what ``parts`` says for all pairs of answers, on two neighbours.
    """
    found = []
    for rungs, (first, (row, mechanism)) in asked.items():
        second, (other_row, _) = others[rungs]
        assert mechanism.describe()["name"] == "histogram"
        scale = 2 / mechanism.privacy.epsilon * thin
        total = np.abs(row - other_row).sum() / scale
        for (one, rate), (two, _), rung in zip(first, second, rungs, strict=True):
            laws = [reference.exponential_law(scores, rate / thin) for scores in (one, two)]
            total += np.log(laws[0][rung] / laws[1][rung])
        found.append(total)
    return max(found)


def parts_for_all_answers(monkeypatch, records, epsilon):
    return {
        rungs: parts(monkeypatch, records, epsilon, rungs)
        for rungs in itertools.product(*map(range, ANSWERS))
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize("epsilon", [1.0, 6.0])
def test_residual_plots_of_all_neighbours(monkeypatch, epsilon):
    asked = {
        records: parts_for_all_answers(monkeypatch, records, epsilon)
        for records in itertools.combinations_with_replacement(KINDS, 3)
    }
    spent = [
        cost_of_plots(asked[one], asked[other])
        for one, other in itertools.permutations(asked, 2)
        if (Counter(one) - Counter(other)).total() == 1
    ]
    assert len(spent) > 200
    assert 0.9 * epsilon < max(spent) <= epsilon + TOLERANCE


# a record goes to the last interval of both axes, and to another cell
FIRST, SECOND = [(-0.5, 0.5)] * 3, [(-0.5, 0.5)] * 2 + [(3.0, 3.0)]


def test_residual_plots_with_a_fifth_less_noise_overspend(monkeypatch):
    pair = [parts_for_all_answers(monkeypatch, each, 4.0) for each in (SECOND, FIRST)]
    assert cost_of_plots(*pair) > 0.9 * 4.0
    assert cost_of_plots(*pair, thin=0.8) > 1.1 * 4.0


def test_without_a_cell_for_records_outside_the_number_of_those_inside_would_be_exact():
    grid, published = dp.TableGrid.uniform((-1, 1), (-1, 1), 2), set()
    for inside in (np.array([[3, 0], [0, 2]]), np.array([[3, 0], [0, 1]])):
        table = raw_table(inside, None, grid, lambda _: dp.mechanisms.Histogram(0.1), None)
        published.add(table.n)
    assert published == {5, 4}


# --- empirical


@pytest.mark.needs_jit
def test_monotonic_where_scores_are_not_shows():
    def draw(scores):
        return exponential_mechanism(scores, epsilon=2.0, monotonic=True, replicates=1_000_000)

    assert bound(draw, [0, 2, 0], [1, 1, 0]) > 2.8
