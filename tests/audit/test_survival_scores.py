"""Scores and durations: what any replaced record can change in the table, and what it costs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Hierarchy, Histogram
from dpcore.summaries.survival_score_counts import survival_score_counts
from dpcore.summaries.table_grid import in_a_row
from tests.audit.harness import both_ways
from tests.audit.test_hierarchy import spent


def kinds(scores, times):
    """All records that count differently, durations beyond the grid among them."""
    durations, values = (np.arange(times + 1) + 0.5) / times, (np.arange(scores) + 0.5) / scores
    return list(itertools.product(durations, [False, True], values))


def rows(scores, times, records):
    """The rows of cells of all records, and of all those with one of them replaced."""
    grids = dp.Grid.uniform(0, 1, times), dp.Grid.uniform(0, 1, scores)
    for some in itertools.combinations_with_replacement(kinds(scores, times), records):
        for other in kinds(scores, times):
            yield tuple(
                survival_score_counts(*zip(*each, strict=True), *grids).reshape(-1)[
                    in_a_row((scores, 2 * times))
                ]
                for each in (some, (other, *some[1:]))
            )


@pytest.mark.parametrize(
    ("scores", "times", "records"), [(1, 2, 2), (2, 1, 2), (2, 2, 2), (3, 2, 1)]
)
def test_a_replaced_record_moves_between_two_cells_and_costs_epsilon(scores, times, records):
    mechanisms, most = (Hierarchy(1.0), Histogram(1.0)), [Fraction(0)] * 2
    for first, second in rows(scores, times, records):
        change = second - first
        assert sorted(change[change != 0].tolist()) in ([], [-1, 1])
        most[0] = max(most[0], spent(mechanisms[0], change))
        assert np.abs(change).sum() <= 2
    assert 1 - Fraction(1, 2**28) < most[0] <= 1


def test_the_area_and_the_curve_of_censoring_apart_would_cost_more():
    """The broken copy: noise for one record on cases by score, controls, and those at risk."""
    most = 0
    for first, second in rows(2, 2, 1):
        tables = []
        for row in (first, second):
            cells = np.empty(8, np.int64)
            cells[in_a_row((2, 4))] = row
            events, censored = np.split(cells.reshape(2, 4), 2, axis=1)
            own = events + censored[:, ::-1]
            risk = np.cumsum(own.sum(axis=0)[::-1])
            tables.append(np.concatenate([events[:, 0], own[:, 1], risk]))
        most = max(most, int(np.abs(tables[1] - tables[0]).sum()))
    assert most > 2


@pytest.mark.needs_jit
def test_a_score_is_protected_and_a_fifth_less_noise_is_caught():
    grids, epsilon = (dp.Grid.uniform(0, 1, 1), dp.Grid.uniform(0, 1, 2)), 2.0
    durations, event = np.full(18, 0.5), np.ones(18)
    counts = [
        survival_score_counts(durations, event, np.append(score, np.full(17, 0.75)), *grids)
        for score in (0.25, 0.75)
    ]

    def lower_bound(mechanism):
        seen = []
        for each in counts:  # the first cells of the row: events with a low, and with a high score
            cells = each.reshape(-1)[in_a_row((2, 2))]
            rows = mechanism.release(cells, replicates=10**6)
            seen.append(np.minimum(rows[:, 0], 18 - np.diff(rows[:, :2])[:, 0]))
        return both_ways(*seen)

    assert 0.8 * epsilon < lower_bound(Histogram(epsilon)) <= epsilon
    assert lower_bound(Histogram(1.25 * epsilon)) > epsilon
