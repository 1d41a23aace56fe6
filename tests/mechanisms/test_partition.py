"""Bucket costs and the cheapest partition, against definitions and against all partitions."""

from __future__ import annotations

import itertools
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.kernels.trees import partition
from dpcore.mechanisms.dawa import deviation_costs
from tests import reference

trees = st.tuples(st.integers(1, 40), st.sampled_from([2, 4, 8]), st.integers(0, 3))


@given(trees, st.data())
def test_costs_are_deviations_from_the_median(tree, data):
    size, branching, levels = tree
    values = st.one_of(st.integers(0, 3), st.integers(0, 2**50))
    counts = np.array(data.draw(st.lists(values, min_size=size, max_size=size)), np.int64)
    before = counts.copy()
    nodes = reference.partition_nodes(size, branching, levels)
    expected = [reference.deviation(counts[a:b]) for a, b in nodes]
    assert deviation_costs(counts, branching, levels).tolist() == expected
    np.testing.assert_array_equal(counts, before)


@pytest.mark.parametrize("size", [1, 2, 17, 1000, 4096, 5000])
def test_costs_of_long_rows(size):
    counts = np.random.default_rng(size).geometric(0.01, size)
    levels = partition.level_count(size, 4)
    expected = [
        np.abs(counts[a:b] - median(counts[a:b].tolist())).sum()
        for a, b in reference.partition_nodes(size, 4, levels)
    ]
    np.testing.assert_array_equal(deviation_costs(counts, 4, levels), expected)


@pytest.mark.parametrize("branching", [2, 4, 8, 16])
def test_levels_leave_two_nodes_of_the_longest_length(branching):
    for size in (*range(1, 600), 2**24):
        levels = partition.level_count(size, branching)
        assert levels == 0 or 2 * branching**levels <= size
        assert 2 * branching ** (levels + 1) > size


@given(st.integers(1, 9), st.sampled_from([2, 4]), st.integers(0, 3), st.data())
def test_best_partition_is_the_best_of_all(size, branching, levels, data):
    count = partition.node_count(size, branching, levels)
    costs = np.array(data.draw(st.lists(st.integers(-9, 30), min_size=count, max_size=count)), int)
    allowance = data.draw(st.sampled_from([-3.0, 0.0, 2.0, 7.5]))
    bucket_cost = data.draw(st.sampled_from([0.0, 1.0, 4.0, 6.5]))
    tree = (size, branching, levels, allowance, bucket_cost)
    edges = partition.best_partition(costs, *tree)
    each = {
        other: reference.partition_cost(other, costs, *tree)
        for other in reference.partitions(size, branching, levels)
    }
    least = min(each.values())
    cheapest = [other for other, cost in each.items() if cost == least]
    assert tuple(edges.tolist()) in cheapest
    assert edges.size == min(map(len, cheapest))  # the longest buckets


@given(trees, st.integers(0, 2**32 - 1))
def test_partitions_cover_every_cell_once(tree, seed):
    size = tree[0]
    costs = np.random.default_rng(seed).integers(-20, 60, partition.node_count(*tree))
    edges = partition.best_partition(costs, *tree, 0.0, 5.0)
    assert edges[0] == 0
    assert edges[-1] == size
    assert np.all(np.diff(edges) > 0)
    allowed = {(a, a + 1) for a in range(size)} | set(reference.partition_nodes(*tree))
    assert set(itertools.pairwise(edges.tolist())) <= allowed


@pytest.mark.parametrize("size", [256, 300, 5000])
def test_steps_without_noise_are_found(size):
    counts = np.repeat([3, 50, 7], [64, 64, size - 128])
    counts[100] = 900
    levels = partition.level_count(size, 4)
    edges = partition.best_partition(deviation_costs(counts, 4, levels), size, 4, levels, 0.0, 2.0)
    inside = [np.ptp(counts[a:b]) for a, b in itertools.pairwise(edges)]
    assert max(inside) == 0
    assert edges.size < 40


def test_free_cells_and_dear_buckets():
    counts = np.arange(64)
    costs = deviation_costs(counts, 4, 2)
    whole = partition.best_partition(costs, 64, 4, 2, 0.0, 1e9)
    assert whole.tolist() == [0, 16, 32, 48, 64]
    single = partition.best_partition(costs, 64, 4, 2, 0.0, 1e-9)
    assert single.tolist() == list(range(65))


def test_no_levels_no_choice():
    costs = np.empty(0, np.int64)
    assert partition.best_partition(costs, 3, 2, 0, 0.0, 1.0).tolist() == [0, 1, 2, 3]
