"""Bucket costs and the partition that follows, against definitions and against all partitions."""

from __future__ import annotations

import itertools
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.kernels.trees import partition
from dpcore.mechanisms.buckets import part_at_medians, scales
from tests import reference

ROWS = st.tuples(st.integers(1, 40), st.sampled_from([[2], [5], [2, 4], [2, 6], [3, 24], [4, 40]]))
SHORT_ROWS = st.tuples(st.integers(1, 8), st.sampled_from([[2], [3], [2, 4], [2, 6]]))


def node_count(size, lengths):
    return sum(-(-size // length) for length in lengths)


def found(costs, size, lengths, variance, weight, errors, allowances, caution=0.0, limit=np.inf):
    """Return the partition of least risk as buckets (a, b, node)."""
    nodes = np.empty(size, np.int64)
    edges = partition.least_risk(
        np.asarray(costs, np.int64),
        size,
        np.asarray(lengths, np.int64),
        float(variance),
        float(weight),
        np.asarray(errors, np.float64),
        np.asarray(allowances, np.float64),
        float(caution),
        np.array([float(limit)]),
        1.0,
        nodes,
    )
    return tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), nodes.tolist(), strict=False))


def deviation_costs(counts, lengths):
    """The costs of all nodes of a row, length after length."""
    cells, costs = counts.copy(), []
    for length in lengths:
        costs.append(np.empty(-(-cells.size // length), np.int64))
        part_at_medians(cells, length, costs[-1])
    return np.concatenate(costs)


def rising(data, size):
    """Draw errors for which all prices, and so all charges, are exact numbers."""
    steps = data.draw(st.lists(st.integers(0, 9), min_size=5, max_size=5))
    return 24.0 * np.cumsum(steps)[: int(np.ceil(np.log2(size))) + 1]


@settings(max_examples=50)
@given(ROWS, st.data())
def test_costs_are_deviations_from_the_median(row, data):
    size, lengths = row
    values = st.one_of(st.integers(0, 3), st.integers(0, 2**50))
    counts = np.array(data.draw(st.lists(values, min_size=size, max_size=size)), np.int64)
    before = counts.copy()
    nodes = reference.partition_nodes(size, lengths)
    expected = [reference.deviation(counts[a:b]) for a, b in nodes]
    assert deviation_costs(counts, lengths).tolist() == expected
    np.testing.assert_array_equal(counts, before)


@pytest.mark.parametrize("size", [1, 17, 5000])
@pytest.mark.parametrize("lengths", [[7], [4, 32], [16, 128]])
def test_costs_of_long_rows(size, lengths):
    counts = np.random.default_rng(size).geometric(0.01, size)
    expected = [
        np.abs(counts[a:b] - median(counts[a:b].tolist())).sum()
        for a, b in reference.partition_nodes(size, lengths)
    ]
    np.testing.assert_array_equal(deviation_costs(counts, lengths), expected)


@settings(max_examples=50)
@given(ROWS, st.data())
def test_costs_are_those_of_each_half(row, data):
    size, lengths = row
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)))
    looked_at = scales(size, 1.0)._replace(lengths=np.array(lengths))
    before, middle = counts.copy(), (size + 1) // 2
    expected = []
    for length in lengths:
        for half in (counts[:middle], counts[middle:]):
            parts = [half[k : k + length] for k in range(0, len(half), length)]
            empty = [0] * (looked_at.places // 2 // length - len(parts))
            expected += [*map(reference.deviation, parts), *empty]
    assert looked_at.costs(counts).tolist() == expected
    np.testing.assert_array_equal(counts, before)


@settings(max_examples=50)
@given(ROWS)
def test_places_cover_both_halves_and_start_anew_in_the_second(row):
    size, lengths = row
    looked_at = scales(size, 1.0)._replace(lengths=np.array(lengths))
    starts, middle = looked_at.starts(), (size + 1) // 2
    assert starts.size == looked_at.places + 1
    assert looked_at.places % (2 * lengths[-1]) == 0
    assert starts[looked_at.places // 2] == middle
    assert set(starts.tolist()) == set(range(size + 1))
    assert np.all(np.diff(starts) >= 0)


@pytest.mark.parametrize("signal", [0.0, 1.0, 4.0, 60.0, 1024.0, 4.0**9, 1e30])
def test_lengths_are_few_and_leave_two_nodes_of_each(signal):
    for size in (*range(1, 600), 4096, 5000, 2**24):
        _, lengths = scales(size, signal)
        assert lengths.size <= 2
        assert np.all(lengths >= 2)
        assert all(-(-size // length) >= 2 for length in lengths)
        assert all(b % a == 0 for a, b in itertools.pairwise(lengths))


@settings(max_examples=50)
@given(ROWS, st.integers(-20, 60), st.integers(0, 2**32 - 1))
def test_nodes_beyond_the_limit_are_no_buckets(row, limit, seed):
    size, lengths = row
    rng = np.random.default_rng(seed)
    costs = rng.integers(-20, 60, node_count(size, lengths))
    errors = np.cumsum(rng.exponential(50, 7))
    given_ = size, lengths, 9.0, 0.1, errors, [1.0, 2.0, 4.5], 1.0
    buckets = found(costs, *given_, limit=limit)
    assert all(costs[v] <= limit for *_, v in buckets if v >= 0)
    if costs.max() <= limit:
        assert buckets == found(costs, *given_)


@settings(max_examples=50)
@given(SHORT_ROWS, st.data())
def test_what_is_found_is_the_best_of_what_is_tried(row, data):
    size, lengths = row
    count = node_count(size, lengths)
    costs = data.draw(st.lists(st.integers(-9, 30), min_size=count, max_size=count))
    variance = data.draw(st.sampled_from([0.5, 4.0, 32.0]))
    weight = data.draw(st.sampled_from([0.125, 1.0]))
    allowances = data.draw(st.sampled_from([[1.0], [0.0, 2.0], [1.0, 2.0, 4.5]]))
    caution = data.draw(st.sampled_from([0.0, 1.0]))
    given_ = (costs, variance, weight, rising(data, size), allowances, caution)
    tried = reference.tried_partitions(size, lengths, *given_)
    least = min(error for _, error in tried)
    best = [each for each, error in tried if error <= least + 1e-9]
    buckets = found(costs, size, lengths, *given_[1:])
    assert buckets in best
    if len({error for _, error in tried if error <= least + 1e-9}) == 1:
        assert buckets == best[0]


@settings(max_examples=50)
@given(SHORT_ROWS, st.integers(0, 40), st.sampled_from([0.0, 1.0, 4.5]), st.data())
def test_with_one_price_it_is_the_cheapest_of_all_or_a_level(row, price, allowance, data):
    size, lengths = row
    count = node_count(size, lengths)
    costs = data.draw(st.lists(st.integers(-5, 12), min_size=count, max_size=count))
    # Errors that grow evenly with the number of buckets: one price alone.
    errors = float(price) * 2.0 ** np.arange(6)
    cheapest = reference.cheapest(size, lengths, costs, 1.0, 4.0 * allowance, size * price)
    charges = {
        each: reference.charge(each, costs, 1.0, 4.0 * allowance, size * price)
        for each in reference.partitions(size, lengths)
    }
    least = min(charges.values())
    assert charges[cheapest] == least
    assert len(cheapest) == min(len(each) for each, cost in charges.items() if cost == least)
    tried = reference.tried_partitions(size, lengths, costs, 4.0, 1.0, errors, [allowance])
    assert {each for each, _ in tried[:6]} == {cheapest}
    levels = {each for each, _ in tried[6:]}
    assert found(costs, size, lengths, 4.0, 1.0, errors, [allowance]) in {cheapest} | levels


@settings(max_examples=50)
@given(ROWS, st.integers(0, 2**32 - 1))
def test_partitions_cover_every_cell_once(row, seed):
    size, lengths = row
    rng = np.random.default_rng(seed)
    costs = rng.integers(-20, 60, node_count(size, lengths))
    errors = np.cumsum(rng.exponential(50, 7))
    buckets = found(costs, size, lengths, 9.0, 0.1, errors, [1.0, 2.0, 4.5])
    nodes = reference.partition_nodes(size, lengths)
    assert [a for a, _, _ in buckets] == [0, *(b for _, b, _ in buckets[:-1])]
    assert buckets[-1][1] == size
    assert all((a, b) == (nodes[v] if v >= 0 else (a, a + 1)) for a, b, v in buckets)


@pytest.mark.parametrize("size", [256, 300, 5000])
def test_steps_without_noise_are_found(size):
    counts = np.repeat([3, 50, 7], [64, 64, size - 128])
    counts[100] = 900
    lengths = [4, 32]
    errors = np.arange(15) / 1000
    buckets = found(deviation_costs(counts, lengths), size, lengths, 0.0, 0.1, errors, [1.0])
    assert max(np.ptp(counts[a:b]) for a, b, _ in buckets) == 0
    assert len(buckets) < 40 + size // 32


def test_free_cells_and_dear_buckets():
    counts = np.arange(64)
    costs = deviation_costs(counts, [4, 16])
    whole = found(costs, 64, [4, 16], 1.0, 0.1, 1e9 * np.arange(7), [1.0])
    assert [b for _, b, _ in whole] == [16, 32, 48, 64]
    single = found(costs, 64, [4, 16], 1.0, 0.1, 1e-9 * np.arange(7), [1.0])
    assert [b for _, b, _ in single] == list(range(1, 65))


@pytest.mark.parametrize("lengths", [[1001], [999, 1998]])
def test_costs_of_long_nodes_with_an_odd_number_of_cells(lengths):
    """NumPy may sort short rows, which part at any place; long ones are parted where asked."""
    counts = np.random.default_rng(1).integers(0, 10**6, 1998 * 50 + 755)
    expected = [
        np.abs(counts[a : a + length] - np.median(counts[a : a + length])).sum()
        for length in lengths
        for a in range(0, counts.size, length)
    ]
    assert deviation_costs(counts, lengths).tolist() == expected


@pytest.mark.parametrize(
    ("signal", "lengths"),
    [
        (1.0, [2**15]),
        (64.0, [2**13]),
        (128.0, [1024, 8192]),
        (256.0, [512, 4096]),
        (1024.0, [256, 2048]),
        (4096.0, [128, 1024]),
        (2.0**20, [8, 64]),
    ],
)
def test_what_is_looked_at_in_a_row_of_many_cells(signal, lengths):
    assert scales(2**16, signal).lengths.tolist() == lengths


def ends_of(costs, lengths, errors, caution):
    """The ends of buckets of four cells for a variance of 50 and a weight of 0.1."""
    buckets = found(costs, 4, lengths, 50.0, 0.1, errors, [1.0], caution)
    return [end for _, end, _ in buckets]


def test_what_is_doubted_is_the_variance_of_a_squared_laplace_variate():
    # One node with y^2 = 2 v: its risk is 4 * 5, and its doubt 4 * 5 * sqrt(5 + 8); cells cost 88.
    assert ends_of([10], [4], [0, 0, 22], caution=1.0) == [1, 2, 3, 4]
    assert ends_of([10], [4], [0, 0, 24], caution=1.0) == [4]  # 92.1 < 96
    assert ends_of([10], [4], [0, 0, 6], caution=0.0) == [4]  # 20 < 24


def test_no_estimate_of_what_lines_miss_is_below_zero():
    # -10 for the long node, -20 for both short ones: neither misses anything, and one is cheaper.
    assert ends_of([0, 0, 5], [2, 4], [0, 1, 1000], caution=0.0) == [4]
