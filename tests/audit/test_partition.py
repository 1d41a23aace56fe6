"""DAWA's first stage: the exact sensitivity of its costs, and what its partition gives away."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcore.kernels.trees import partition
from dpcore.mechanisms import Dawa
from dpcore.mechanisms.buckets import Scales
from dpcore.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcore.noise.sources import source
from dpcore.privacy import gaussian_delta
from tests.audit.harness import both_ways, delta_lower_bound

# cells, lengths, largest count: all tables of such counts are gone through
TABLES = [
    (4, [2], 4),
    (5, [2], 3),
    (8, [2, 4], 2),
    (9, [2, 4], 2),
    (8, [4], 2),
    (9, [3], 2),
]


def largest_changes(size, lengths, most):
    """The largest changes of the costs by an added record, and by a moved one: L1, and squared."""
    shape = (most + 1,) * size
    tables = np.stack(np.unravel_index(np.arange((most + 1) ** size), shape), axis=-1)
    looked_at = Scales(size, np.array(lengths))
    costs = np.array([looked_at.costs(counts) for counts in tables])
    places = (most + 1) ** np.arange(size)[::-1]
    added, moved = np.zeros(2, int), np.zeros(2, int)

    def sizes(change):
        return np.abs(change).sum(axis=1).max(), (change**2).sum(axis=1).max()

    for to in range(size):
        first = np.flatnonzero(tables[:, to] < most)
        added = np.maximum(added, sizes(costs[first + places[to]] - costs[first]))
        for away in set(range(size)) - {to}:
            both = first[tables[first, away] > 0]
            change = costs[both + places[to] - places[away]] - costs[both]
            moved = np.maximum(moved, sizes(change))
    return added.tolist(), moved.tolist()


@pytest.mark.sample(4)
@pytest.mark.parametrize(("size", "lengths", "most"), TABLES)
def test_sensitivity_is_exactly_what_the_noise_is_for(size, lengths, most):
    """With K lengths: K and 2 K in L1, for Laplace; K and 4 K squared, for Gaussian noise."""
    levels = len(lengths)
    added, moved = largest_changes(size, lengths, most)
    assert added == [levels, levels]
    assert moved == [2 * levels, 4 * levels]


@pytest.mark.parametrize(("size", "lengths"), [(1, [2]), (3, [2, 4]), (6, [4, 16])])
def test_sensitivity_is_no_more_when_a_length_has_one_node(size, lengths):
    levels = len(lengths)
    added, moved = largest_changes(size, lengths, 3)
    assert max(added) <= levels
    assert moved[0] <= 2 * levels
    assert moved[1] <= 4 * levels


def noisy_costs(looked_at, counts, law, replicates):
    """(replicates, nodes), by the noise of stage 1."""
    costs = looked_at.costs(np.asarray(counts, np.int64))
    noisy = np.empty((replicates, costs.size), np.int64)
    law.fill(noisy.reshape(-1), source(None))
    return noisy + costs


def released(counts, lengths, law, replicates):
    """Partitions, (replicates, N - 1): 1 where a bucket ends."""
    counts, lengths = np.asarray(counts, np.int64), np.asarray(lengths)
    noisy = noisy_costs(Scales(counts.size, lengths), counts, law, replicates)
    nodes = np.empty(counts.size, int)
    # More buckets cost next to nothing: a node is one as long as its cost is not above 0.
    errors, allowances = 0.01 * np.arange(4.0), np.zeros(1)
    tree = counts.size, lengths, 0.0, 1.0, errors, allowances, 0.0, np.array([np.inf]), 1.0
    # Costs are cut to 0 and 1 before, which tells as much of them: so there are few vectors.
    kinds, which = np.unique(np.clip(noisy, 0, 1), axis=0, return_inverse=True)
    cuts = np.zeros((len(kinds), counts.size + 1), np.int64)
    for row, own in zip(cuts, kinds, strict=True):
        row[partition.least_risk(own, *tree, nodes)] = 1
    return cuts[which.reshape(-1), 1:-1]


def audited(lengths, law, replicates):
    """The larger bound for a record that moves so that every cost of its nodes goes up."""
    counts = np.full(2 * lengths[-1], 3)
    moved = counts.copy()
    moved[0] += 1
    moved[-1] -= 1
    return both_ways(*(released(table, lengths, law, replicates) for table in (counts, moved)))


def laplace(epsilon, levels, too_little=1):
    return DiscreteLaplace(Fraction(2 * levels) / epsilon * too_little)


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("lengths", "replicates"),
    [([2], 200_000), pytest.param([2, 4], 2_000_000, marks=pytest.mark.full)],
)
def test_partition_holds_the_claim_and_shows_a_fifth_less_noise(lengths, replicates):
    levels = len(lengths)
    assert 1.6 < audited(lengths, laplace(2, levels), replicates) <= 2.0
    assert audited(lengths, laplace(2, levels, Fraction(4, 5)), replicates) > 2.0


@pytest.mark.needs_jit
def test_gaussian_costs_hold_the_claim_and_show_a_fifth_less_noise():
    """A record that moves within a node of each length raises their costs by two."""
    replicates, epsilon, rho = 1_000_000, 1.0, Fraction(1, 2)
    looked_at, law, *_ = Dawa(rho=2 * rho, split=Fraction(1, 2))._stages(32, 96)
    counts = np.full(32, 3)
    moved = counts.copy()
    moved[:2] += 1, -1
    change = looked_at.costs(moved) - looked_at.costs(counts)
    assert change @ change == 4 * looked_at.lengths.size
    claim = gaussian_delta(1.0, epsilon, np.sqrt(2 * float(rho)))  # of continuous noise

    def bound(too_little):
        less = DiscreteGaussian(law.sigma_squared * too_little**2)
        tables = moved, counts
        first, second = (noisy_costs(looked_at, each, less, replicates) @ change for each in tables)
        return delta_lower_bound(first, second, epsilon)

    assert 0.8 * claim < bound(1) < claim
    assert bound(Fraction(4, 5)) > 1.2 * claim


def test_around_the_mean_one_record_pulls_two_ways_at_once():
    """docs/proofs/dawa.md: one more record in the cell of 5 costs its left bucket more."""

    def deviation(counts):
        return np.abs(np.subtract(counts, np.mean(counts))).sum()

    assert deviation([0, 0, 0, 6]) - deviation([0, 0, 0, 5]) == 2 * (1 - 1 / 4)
    assert deviation([6, 10, 10, 10]) - deviation([5, 10, 10, 10]) == -2 * (1 - 1 / 4)


def test_single_cells_without_noise_overspend_when_buckets_overlap():
    """docs/proofs/dawa.md: three cells, buckets of one or two, noise on the buckets of two only."""
    rng = np.random.default_rng(1)
    epsilon, bucket_cost = 2.0, 1.0
    scale = (2 - 1 / 2 - 1 / 3) / epsilon

    def chosen(left, right):
        pairs = np.array([left, right]) + rng.laplace(0.0, scale, (400_000, 2))
        excess = np.maximum(pairs, 0.0)
        split = np.all(excess > bucket_cost, axis=1)
        return np.where(split, 2, np.argmin(excess, axis=1)).reshape(-1, 1)

    equal, raised = chosen(0.0, 0.0), chosen(1.0, 1.0)  # counts 3 3 3 and 3 4 3
    assert both_ways(raised, equal) > 1.5 * epsilon
