"""DAWA's rules in numbers, as in docs/proofs/dawa.md, and single choices of its partition."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpcore.kernels.trees import partition
from dpcore.mechanisms import Dawa, Hierarchy
from dpcore.mechanisms.bucket_counts import Buckets, Records, deviation
from dpcore.mechanisms.buckets import part_at_medians, scales
from dpcore.noise.sources import source


def edges_of(costs, size, lengths, errors, caution):
    """Return the edges for a variance of 50 and a weight of 0.1: their product is 5."""
    found = partition.least_risk(
        np.array(costs),
        size,
        np.array(lengths),
        50.0,
        0.1,
        np.array(errors, np.float64),
        np.array([1.0]),
        caution,
        np.empty(size, np.int64),
    )
    return found.tolist()


@pytest.mark.parametrize("lengths", [[1001], [999, 1998]])
def test_costs_of_long_nodes_with_an_odd_number_of_cells(lengths):
    """NumPy may sort short rows, which part at any place; long ones are parted where asked."""
    counts = np.random.default_rng(1).integers(0, 10**6, 1998 * 250 + 755)
    expected = [
        np.abs(counts[a : a + length] - np.median(counts[a : a + length])).sum()
        for length in lengths
        for a in range(0, counts.size, length)
    ]
    cells, found = counts.copy(), []
    for length in lengths:
        costs = np.empty(-(-cells.size // length), np.int64)
        part_at_medians(cells, length, costs)
        found += costs.tolist()
    assert found == expected


@pytest.mark.needs_jit
@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"rho": 1 / 32}], ids=str)
def test_shares_and_caution_follow_the_signal(budget):
    """n epsilon, in doublings: caution from 16 on, a smaller share from 32,768 on."""
    mechanism = Dawa(**budget)
    for signal in (1, 8, 16, 2**14, 2**15, 2**20):
        stages = mechanism._stages(2**17, 2 * signal)
        assert stages.caution == (signal >= 16)
        left = Fraction(stages.hierarchy.epsilon or stages.hierarchy.rho)
        share = 1 - left / Fraction(*budget.values())
        assert share == (Fraction(1, 10) if signal >= 2**15 else Fraction(1, 6))


@pytest.mark.parametrize(
    ("signal", "unit", "lengths"),
    [
        (1.0, 2048, [2, 16]),
        (64.0, 1024, [8]),
        (128.0, 512, [2, 16]),
        (256.0, 64, [8, 64]),
        (1024.0, 16, [16, 128]),
        (4096.0, 4, [32, 256]),
        (2.0**20, 1, [8, 64]),
    ],
)
def test_what_is_looked_at_in_a_row_of_many_cells(signal, unit, lengths):
    found = scales(2**16, signal)
    assert found.unit == unit
    assert found.lengths.tolist() == lengths


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("size", [32, 100, 5000])
def test_more_buckets_never_have_less_error(size, neighbours):
    """As the search for the partition takes for granted."""
    for epsilon in (1e-3, 1.0, 50.0):
        errors = Dawa(epsilon, neighbours=neighbours)._stages(size, 1000).errors
        assert np.all(np.diff(errors) >= 0.0)


def test_what_is_doubted_is_the_variance_of_a_squared_laplace_variate():
    # One node with y^2 = 2 v: its risk is 4 * 5, and its doubt 4 * 5 * sqrt(5 + 8); cells cost 88.
    assert edges_of([10], 4, [4], [0, 0, 22], caution=1.0) == [0, 1, 2, 3, 4]
    assert edges_of([10], 4, [4], [0, 0, 24], caution=1.0) == [0, 4]  # 92.1 < 96
    assert edges_of([10], 4, [4], [0, 0, 6], caution=0.0) == [0, 4]  # 20 < 24


def test_no_estimate_of_what_lines_miss_is_below_zero():
    # -10 for the long node, -20 for both short ones: neither misses anything, and one is cheaper.
    assert edges_of([0, 0, 5], 4, [2, 4], [0, 1, 1000], caution=0.0) == [0, 4]


def test_deviations_within_buckets():
    tree = Hierarchy(0.5).tree(3)
    ends = tree.prefix_variances()
    found = Buckets(np.array([0, 4, 5, 1005]), np.array([0.0, 0.0, 1e9]))
    squares = deviation(found, tree, np.zeros((1, 4))) ** 2
    assert squares[:4] == pytest.approx(ends[0] * np.arange(1, 5) / 4)
    assert squares[4] == pytest.approx(ends[1])
    assert squares[5:].mean() == pytest.approx(1e9, rel=1e-3)  # the mean of a parabola
    assert squares[504] == pytest.approx(1.5e9, rel=1e-3)
    assert squares[-1] == 0.0


def test_all_records_of_a_group_may_be_in_one_of_its_cells():
    tree = Hierarchy(0.5).tree(3)
    found = Buckets(np.array([0, 1000, 1001, 2001]), np.array([0.0, 0.0, 7.0]))
    none, some = (deviation(found, tree, np.array([[0, k, 2 * k, 9]])) ** 2 for k in (0, 500))
    missed = 0.1 * (500**2 - tree.variances[-1])
    assert (some - none)[:1000].mean() == pytest.approx(missed, rel=1e-3)
    assert some[1000:] == pytest.approx(none[1000:])  # one cell, and a bucket that was asked about


class Silent:
    """Noise that happens to be 0."""

    def __init__(self, variance):
        self.variance = variance

    def fill(self, out, stream):
        del stream
        out[:] = 0


def test_what_is_said_of_a_bucket_is_its_squared_cost_less_the_noise_in_it():
    counts = np.repeat(np.tile([20, 21], 50), 5)
    stages = Dawa(1e-3)._stages(counts.size, 10**4)
    assert stages.scales.unit > 1
    for variance in (1.0, 1e4):
        quiet = stages._replace(law=Silent(variance))
        records = Records.of(counts, quiet)
        edges, unevenness = records.find_buckets(source(np.random.default_rng(1)))
        unit = stages.scales.unit
        parts = [
            np.add.reduceat(counts[a:b], np.arange(0, b - a, unit))
            for a, b in itertools.pairwise(edges)
        ]
        assert len(parts) < counts.size / unit
        costs = np.array([np.abs(part - np.median(part)).sum() for part in parts])
        expected = 0.1 * np.maximum(costs**2 - variance, variance / 4)
        asked = np.array([part.size > 1 for part in parts])
        assert unevenness[asked] == pytest.approx(expected[asked])
        assert set(unevenness[~asked]) <= {0.0, 0.1 * variance / 4}  # the rest of a node, perhaps
    assert costs.max() > 0
