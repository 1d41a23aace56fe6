"""Cumulative incidences: what any replaced record, duration and kind, can change, and its cost."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Hierarchy
from dpcore.summaries.incidence_counts import incidence_counts
from tests.audit.test_hierarchy import spent


def neighbouring_counts(cells, records, kinds):
    """The counts of all records, and of all those with one of them replaced."""
    grid = dp.Grid.uniform(0, 1, cells)
    alone = list(itertools.product((np.arange(cells + 1) + 0.5) / cells, range(kinds + 1)))
    for some in itertools.combinations_with_replacement(alone, records):
        for other in alone:
            yield tuple(
                incidence_counts(*zip(*each, strict=True), grid, range(1, kinds + 1))
                for each in (some, (other, *some[1:]))
            )


@pytest.mark.parametrize(("cells", "records", "kinds"), [(1, 3, 2), (2, 2, 2), (3, 1, 3)])
def test_a_replaced_record_moves_between_two_cells_and_costs_epsilon(cells, records, kinds):
    mechanism, most = Hierarchy(1.0), Fraction(0)
    for first, second in neighbouring_counts(cells, records, kinds):
        change = second - first
        assert first.size == (kinds + 1) * cells
        assert first.sum() == second.sum() == records
        assert sorted(change[change != 0].tolist()) in ([], [-1, 1])
        most = max(most, spent(mechanism, change))
    assert 1 - Fraction(1, 2**28) < most <= 1


def test_a_survival_curve_for_each_kind_would_cost_more():
    """The broken copy: each kind alone, with all others as censored, and the noise of one curve."""
    mechanism, cells = Hierarchy(1.0), 2
    rows = [
        [first.reshape(3, cells), second.reshape(3, cells)]
        for first, second in neighbouring_counts(cells, 1, 2)
    ]
    costs = []
    for both in rows:
        alone = [
            [np.append(row[kind], row[2] + row[1 - kind][::-1]) for row in both] for kind in (0, 1)
        ]
        costs.append(sum(spent(mechanism, after - before) for before, after in alone))
    assert max(costs) > 1.5
