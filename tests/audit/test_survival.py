"""Survival curves: what any replaced record, duration and event, can change, and what it costs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dyadic, Hierarchy
from tests.audit.harness import both_ways
from tests.audit.test_hierarchy import spent


def kinds(cells):
    """All durations and events that count differently, one beyond the grid among them."""
    return list(itertools.product((np.arange(cells + 1) + 0.5) / cells, [False, True]))


def neighbouring_counts(cells, records):
    """The counts of all records, and of all those with one of them replaced."""
    grid = dp.Grid.uniform(0, 1, cells)
    for some in itertools.combinations_with_replacement(kinds(cells), records):
        for other in kinds(cells):
            both = [some, (other, *some[1:])]
            yield tuple(dp.survival_counts(*zip(*each, strict=True), grid) for each in both)


@pytest.mark.parametrize(("cells", "records"), [(1, 3), (2, 2), (3, 2), (5, 1)])
def test_a_replaced_record_moves_between_two_cells_and_costs_epsilon(cells, records):
    mechanism, most = Hierarchy(1.0), Fraction(0)
    for first, second in neighbouring_counts(cells, records):
        change = second - first
        assert sorted(change[change != 0].tolist()) in ([], [-1, 1])
        most = max(most, spent(mechanism, change))
    assert 1 - Fraction(1, 2**28) < most <= 1


def test_numbers_at_risk_that_count_a_record_in_every_cell_would_cost_more():
    """The broken copy: events and at-risk counts as two vectors, with the noise of one record."""
    cells, most, of_the_row = 4, 0, 0
    for first, second in neighbouring_counts(cells, 1):
        rows = []
        for counts in (first, second):
            events, censored = counts[:cells], counts[cells:][::-1]
            risk = np.cumsum((events + censored)[::-1])[::-1]
            rows.append(np.concatenate([events, risk]))
        most = max(most, int(np.abs(rows[1] - rows[0]).sum()))
        of_the_row = max(of_the_row, int(np.abs(second - first).sum()))
    assert of_the_row == 2
    assert most >= cells


@pytest.mark.needs_jit
def test_an_event_is_protected_and_a_fifth_less_noise_is_caught():
    grid, epsilon = dp.Grid.uniform(0, 1, 1), 2.0
    event = np.arange(18) % 2 == 0
    changed = np.append(~event[:1], event[1:])
    counts = [dp.survival_counts(np.full(18, 0.5), each, grid) for each in (event, changed)]

    def lower_bound(mechanism):
        return both_ways(*(mechanism.release(each, replicates=10**6)[:, :1] for each in counts))

    assert 0.8 * epsilon < lower_bound(Dyadic(epsilon)) <= epsilon
    assert lower_bound(Dyadic(1.25 * epsilon)) > epsilon
