"""Curves that are asked point by point: all that can ever be asked, exactly, and by many draws."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpcore.noise.polya import PolyaShares
from dpcore.noise.sources import source
from dpcore.trust import DistributedNoise, FunctionSharing, PointwiseCDF, SimulatedSum
from tests import reference
from tests.audit.harness import (
    both_ways,
    cost_of_levels,
    epsilon_lower_bound,
    least_shift,
    unit_changes,
)
from tests.trust.given_noise import prefix_matrix

RNG = np.random.default_rng
CLIENTS = 50


EVEN = [{"branching": base, "budgets": "equal"} for base in (2, 3)] + [{}]
CASES = [
    *itertools.product(EVEN, (2, 3, 5, 8)),
    ({"branching": (2, 4), "budgets": (1, 2)}, 7),
    ({"branching": (5, 2), "budgets": (2, 1)}, 9),
    ({"branching": (3, 3, 3), "budgets": (0.01, 1, 1)}, 26),  # a level that is of no use
]


@pytest.mark.parametrize(("how", "size"), CASES, ids=str)
def test_all_points_together_spend_no_more_than_epsilon(how, size):
    """The exact cost of every pair of neighbours, of the noisy nodes that points are made of."""
    trust = FunctionSharing(Fraction(7, 10), **how)
    tree, shares = trust.tree(size), trust.shares(size)
    members = reference.hierarchy_matrix(size, tree.branching).astype(np.int64)
    signs = prefix_matrix(tree, shares)
    used = signs.any(axis=0)
    # any answer is that of noisy nodes, and of n
    np.testing.assert_array_equal(np.ptp(np.tri(size, dtype=int) - signs @ members, axis=1), 0)
    costs = [
        cost_of_levels(shares, tree.starts, used * (members @ change))
        for change in unit_changes(size)
    ]
    assert Fraction(2, 5) * trust.epsilon < max(costs) <= trust.epsilon


@pytest.mark.parametrize(("branching", "size"), [(2, 4), (3, 9), (4, 7)])
def test_no_other_reading_of_the_answers_shows_more_than_epsilon(branching, size):
    """By integer programming, which knows nothing of trees: how much noise can hide a change."""
    trust = FunctionSharing(1.0, branching=branching, budgets="equal")
    tree, shares = trust.tree(size), trust.shares(size)
    signs, scale = prefix_matrix(tree, shares), shares[1].scale
    most = max(least_shift(signs[:-1, 1:], np.cumsum(change)[:-1]) for change in unit_changes(size))
    assert 0.7 < most / scale <= 1.0


BEFORE, AFTER = (9, 20, 21), (8, 20, 22)  # counts of three cells, in which one record moves


def answers(trust, counts, count, seed, thinner=Fraction(1), releases=400_000):
    """All points of many curves, from the real signs, and ``count`` shares on each node."""
    tree = trust.tree(3)
    stream = source(RNG(seed))
    signs = prefix_matrix(tree, trust.shares(3))
    noise = np.zeros((releases, signs.shape[1]), np.int64)
    for level, share in enumerate(trust.shares(3)):
        part = noise[:, tree.starts[level] : tree.starts[level + 1]]
        if share is not None:
            law = PolyaShares(share.scale * thinner, share.shares)
            part[:] = law.sum_of(count, part.size, stream).reshape(part.shape)
    return (np.cumsum(counts) + noise @ signs.T)[:, :-1]


def audited(trust, count, thin=Fraction(1)):
    first = answers(trust, BEFORE, count, 1, thin)
    return both_ways(first, answers(trust, AFTER, count, 2, thin))


FLAT = {"branching": 3, "budgets": "equal"}
BY_CLIENTS = DistributedNoise(2.0, clients=CLIENTS, dropout=0.2, **FLAT)
ONE_HONEST = FunctionSharing(2.0, servers=3, **FLAT)
TWO_HONEST = FunctionSharing(2.0, servers=3, honest=2, **FLAT)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("trust", "required"), [(BY_CLIENTS, 40), (ONE_HONEST, 1), (TWO_HONEST, 2)], ids=str
)
def test_claim_holds_with_as_many_shares_as_it_takes_and_a_fifth_less_noise_is_caught(
    trust, required
):
    assert 0.75 * 2.0 < audited(trust, required) <= 2.0
    assert audited(trust, required + 1) <= 2.0
    assert audited(trust, required, Fraction(4, 5)) > 2.0


@pytest.mark.needs_jit
def test_a_servers_missing_noise_is_caught_where_it_is_needed():
    assert audited(TWO_HONEST, 1) > 2.0
    assert audited(ONE_HONEST, 2) <= 2.0


FRESH = source(RNG(3))


class Redrawn(SimulatedSum):
    """A sum that forgets its noise, which is one node's for each point: broken on purpose."""

    def sum(self, cells):
        exact = super().sum(cells) - self._noise.of_prefixes(cells)
        (_, share) = self.trust.shares(3)
        return exact + share.sum_of(CLIENTS, cells.size, FRESH) * (cells < 2)


def adaptive(kind, counts, seed, releases=1000, again=64):
    """What an adversary sees of the real thing: binary search, all points, and all again."""
    rng, trust, found = RNG(seed), DistributedNoise(0.7, clients=CLIENTS, **FLAT), []
    for _ in range(releases):
        aggregator = kind(np.array(counts), trust, rng)
        curve = PointwiseCDF(aggregator)
        searched = curve.quantile(0.5, method="inverted_cdf")
        repeated = aggregator.sum(np.tile([0, 1], again)).reshape(again, 2)
        means = np.rint(repeated.mean(axis=0)).astype(np.int64)
        found.append([int(searched), *curve.counts_at([1.0, 2.0]), *means])
    return np.array(found)


@pytest.mark.full
@pytest.mark.needs_jit
def test_asking_adaptively_and_again_shows_nothing_more():
    first, second = adaptive(SimulatedSum, BEFORE, 1), adaptive(SimulatedSum, AFTER, 2)
    np.testing.assert_array_equal(first[:, 1:3], first[:, 3:])
    assert epsilon_lower_bound(first, second) <= 0.7


@pytest.mark.full
@pytest.mark.needs_jit
def test_asking_again_is_caught_where_noise_is_redrawn():
    first, second = (adaptive(Redrawn, *each)[:, 3:] for each in ((BEFORE, 1), (AFTER, 2)))
    assert both_ways(first, second) > 0.7
