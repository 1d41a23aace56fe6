"""Both classes in one release: what any replaced record, label and score, can change, and cost."""

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
    """All labels and scores that fall into different cells."""
    return list(itertools.product([False, True], (np.arange(cells) + 0.5) / cells))


def neighbouring_counts(cells, records):
    """The counts of all records, and of all those with one of them replaced."""
    grid = dp.Grid.uniform(0, 1, cells)
    for some in itertools.combinations_with_replacement(kinds(cells), records):
        for other in kinds(cells):
            both = [some, (other, *some[1:])]
            yield tuple(dp.score_counts(*zip(*each, strict=True), grid) for each in both)


def own_cells(counts):
    """What each class alone is released from: its own cells, and one for the other class."""
    size = counts.size // 2
    halves = counts[:size], counts[size:][::-1]
    return [np.append(half, counts.sum() - half.sum()) for half in halves]


@pytest.mark.parametrize(("cells", "records"), [(1, 3), (2, 2), (3, 2), (5, 1)])
def test_a_replaced_record_moves_between_two_cells_and_costs_epsilon(cells, records):
    mechanism, most = Hierarchy(1.0), Fraction(0)
    for first, second in neighbouring_counts(cells, records):
        change = second - first
        assert sorted(change[change != 0].tolist()) in ([], [-1, 1])
        most = max(most, spent(mechanism, change))
    assert 1 - Fraction(1, 2**28) < most <= 1


@pytest.mark.parametrize(("cells", "records"), [(1, 3), (2, 2), (3, 2)])
def test_classes_released_alone_cost_their_sum(cells, records):
    pair, most = (Hierarchy(0.25), Hierarchy(0.5)), Fraction(0)
    for first, second in neighbouring_counts(cells, records):
        parts = zip(pair, own_cells(first), own_cells(second), strict=True)
        most = max(most, sum(spent(each, after - before) for each, before, after in parts))
    assert Fraction(1, 2) < most <= Fraction(3, 4)
    total = dp.score_curves([0, 1], [0.2, 0.7], dp.Grid.uniform(0, 1, cells), pair).privacy
    assert total.epsilon == 0.75


@pytest.mark.needs_jit
def test_a_label_is_protected_and_a_fifth_less_noise_is_caught():
    grid, epsilon = dp.Grid.uniform(0, 1, 1), 2.0
    labels = np.arange(18) % 2 == 0
    flipped = np.append(~labels[:1], labels[1:])
    counts = [dp.score_counts(each, np.full(18, 0.5), grid) for each in (labels, flipped)]

    def lower_bound(mechanism):
        return both_ways(*(mechanism.release(each, replicates=10**6)[:, :1] for each in counts))

    assert 0.8 * epsilon < lower_bound(Dyadic(epsilon)) <= epsilon
    assert lower_bound(Dyadic(1.25 * epsilon)) > epsilon
