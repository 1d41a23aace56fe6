"""Tables: what any replaced record, both of its values, can change, and what that costs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dyadic, Hierarchy, Histogram, NoNoise
from dpcore.releases.cdf import taken
from dpcore.releases.table import raw_table
from dpcore.summaries.table_grid import in_a_row
from tests.audit.harness import both_ways, epsilon_lower_bound, least_shift
from tests.audit.test_dyadic import Thin
from tests.audit.test_hierarchy import spent
from tests.reference import tree_matrix

SHAPES = [(1, 3), (2, 2), (3, 2), (2, 3)]
SPARE = 1  # records in each cell besides, so that there are some


def unit(shape):
    return dp.TableGrid.uniform((0, 1), (0, 1), shape)


def kinds(shape):
    """All records that fall into different cells."""
    return list(itertools.product(*((np.arange(size) + 0.5) / size for size in shape)))


def row(records, shape, inside=None):
    """The exact cells of the row; where some records are not inside, with one more for them."""
    inside = [True] * len(records) if inside is None else inside
    kept = [record for record, has in zip(records, inside, strict=True) if has]
    counts = unit(shape).count([x for x, _ in kept], [y for _, y in kept])
    outside = None if all(inside) else len(records) - len(kept)
    table = raw_table(counts + SPARE, outside, unit(shape), taken(NoNoise()), None)
    return np.diff(table.row.counts, prepend=0)


def neighbours(shape, records):
    """The rows of all records, and of all those with one of them replaced, or taken away."""
    for some in itertools.combinations_with_replacement(kinds(shape), records):
        for other in kinds(shape):
            yield row(some, shape), row((other, *some[1:]), shape), row(some[1:], shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_replaced_record_moves_between_two_cells_of_the_row_and_costs_epsilon(shape):
    mechanism = Hierarchy(1.0)
    one_less = Hierarchy(1.0, neighbours="add-or-remove-one")
    most = most_less = Fraction(0)
    for first, second, less in neighbours(shape, 2):
        change, removed = second - first, first - less
        assert sorted(change[change != 0].tolist()) in ([], [-1, 1])
        assert sorted(removed[removed != 0].tolist()) == [1]
        most = max(most, spent(mechanism, change))
        most_less = max(most_less, spent(one_less, removed))
    for found in (most, most_less):
        assert 1 - Fraction(1, 2**28) < found <= 1


@pytest.mark.parametrize("shape", SHAPES)
def test_a_record_that_leaves_the_table_moves_to_the_last_cell(shape):
    mechanism, most = Histogram(1.0), Fraction(0)
    for some in itertools.product(kinds(shape), repeat=2):
        inside, left = (row([*some, (9, 9)], shape, [has, 1, 0]) for has in (1, 0))
        change = left - inside
        assert sorted(change[change != 0].tolist()) == [-1, 1]
        assert change[-1] == 1
        most = max(most, spent(mechanism, change))
    assert 1 - Fraction(1, 2**28) < most <= 1


@pytest.mark.parametrize("shape", SHAPES)
def test_the_trees_scale_is_what_integer_programming_asks_for(shape):
    size = shape[0] * shape[1]
    matrix = tree_matrix(size - 1, 2)
    pairs = [(first, second) for first, second, _ in neighbours(shape, 1)]
    changes = {tuple(np.cumsum(second - first)[:-1].tolist()) for first, second in pairs}
    needed = max(least_shift(matrix, np.array(change)) for change in changes)
    assert Dyadic(1.0).noise_scale(size) == needed
    assert Thin(1.0).noise_scale(size) < needed


def test_the_order_of_the_row_does_not_depend_on_records(monkeypatch):
    """Two tables of one shape are released along one curve, whatever is in them."""
    asked = []
    monkeypatch.setattr(
        "dpcore.releases.table.in_a_row", lambda shape: asked.append(shape) or in_a_row(shape)
    )
    for records in ([(0.1, 0.1)], [(0.9, 0.9)] * 5):
        dp.table(*zip(*records, strict=True), unit((3, 2)), Histogram(1.0))
    assert asked == [(3, 2)] * 2


# --- lower bounds on epsilon, from tables alone


@pytest.mark.needs_jit
def test_both_values_are_protected_and_a_fifth_less_noise_is_caught():
    epsilon = 2.0
    some = [(0.5, 0.25)] * 9
    other = [*some[1:], (0.5, 0.75)]

    def lower_bound(mechanism, rng=None):
        both = [
            mechanism.release(row(each, (1, 2)), replicates=10**6, rng=rng)[:, :1]
            for each in (some, other)
        ]
        return both_ways(*both)

    assert lower_bound(Dyadic(epsilon)) <= epsilon
    assert 0.8 * epsilon < lower_bound(Dyadic(epsilon), np.random.default_rng(1))
    assert lower_bound(Thin(epsilon), np.random.default_rng(1)) > epsilon


@pytest.mark.full
@pytest.mark.needs_jit
def test_the_whole_way_from_records_to_cells_keeps_to_epsilon():
    """Of a table of three cells in a row, whole counts after isotonic regression, too."""
    epsilon, grid = 3.0, unit((3, 1))
    some = [(1 / 6, 0.5)] * 3 + [(5 / 6, 0.5)]
    other = [*some[1:], (5 / 6, 0.5)]
    rng = np.random.default_rng(2)

    def outputs(records):
        counts = grid.count(*zip(*records, strict=True))
        tables = (
            dp.table_from_counts(counts, grid, Dyadic(epsilon), rng=rng) for _ in range(2_500)
        )
        return np.array([table.whole_counts.ravel()[:2] for table in tables])

    first, second = outputs(some), outputs(other)
    assert 0.0 < epsilon_lower_bound(first, second) <= epsilon
