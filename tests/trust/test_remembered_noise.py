"""Noise that is remembered: the same again, of the right law, and a function of nodes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra
from scipy.stats import chisquare, nbinom

from dpcore.errors import DtypeError, ParameterError
from dpcore.mechanisms import Hierarchy, Histogram
from dpcore.mechanisms.tree import Tree
from dpcore.noise.polya import PolyaShares
from dpcore.privacy.allowance import Allowance
from dpcore.trust import FunctionSharing
from dpcore.trust.models.remembered_noise import RememberedNoise, prefix_deviation
from dpcore.trust.models.tree_of_shares import shares_of
from tests import reference
from tests.trust.given_noise import prefix_matrix

KEY = bytes(range(32))
BUDGET = Allowance.checked(1.0, None, "replace-one")


def of(mechanism, size, required=3):
    tree = mechanism.tree(size)
    return tree, shares_of(tree, required)


def skipping(size, branching, weights):
    """A tree some of whose levels are not counted, or have far more noise than others."""
    tree = Tree.of(size, branching, weights, BUDGET)
    return tree, shares_of(tree, 3)


TREES = {
    "one cell": of(Hierarchy(1.0), 1),
    "two cells": of(Hierarchy(1.0), 2),
    "binary": of(Hierarchy(1.0, 2, "equal"), 16),
    "binary, ragged": of(Hierarchy(1.0, 2, "equal"), 13),
    "ternary, ragged": of(Hierarchy(1.0, 3), 23),
    "no two levels alike": of(Hierarchy(1.0, (3, 4, 2)), 22),
    "one cell in the last node": of(Hierarchy(1.0, 4), 17),
    "a histogram": of(Histogram(1.0), 9),
    "the default": of(Hierarchy(0.1), 60),
    "a level is not counted": skipping(22, (3, 4, 2), (0, 1, 0, 2)),
    "two levels are not counted": skipping(22, (3, 4, 2), (0, 0, 0, 1)),
    "the upper level is not counted": skipping(23, (2, 3, 4), (0, 0, 1, 1)),
    "an upper level has much more noise": skipping(26, (3, 3, 3), (0, 0.01, 1, 1)),
    "an inner level has much more noise": skipping(25, (3, 3, 3), (0, 1, 0.02, 1)),
    "nodes and their children are alike": skipping(19, (5, 4), (0, 0.2, 0.1)),
}
several = pytest.mark.parametrize("name", TREES)


def node_variances(tree, shares):
    """(nodes,) infinite where there is no noise."""
    variances = [share.variance if share else np.inf for share in shares]
    return np.repeat(variances, np.diff(tree.starts))


def least_variances(tree, shares):
    """By shortest paths in the graph of boundaries, where the first and the last are the same."""
    size = int(tree.starts[-1] - tree.starts[-2])
    graph = np.full((size, size), np.inf)
    members = reference.hierarchy_matrix(size, tree.branching)
    for row, variance in zip(members, node_variances(tree, shares), strict=True):
        cells = np.flatnonzero(row)
        ends = cells[0] % size, (cells[-1] + 1) % size
        for first, second in (ends, ends[::-1]):
            graph[first, second] = min(graph[first, second], variance)
    graph[np.isinf(graph)] = 0.0  # no edge
    return np.roll(dijkstra(graph, indices=0), -1)


@several
def test_prefixes_of_counts_are_those_sums_of_nodes_for_all_cells(name):
    tree, shares = TREES[name]
    signs = prefix_matrix(tree, shares)
    assert set(np.unique(signs)) <= {-1, 0, 1}
    counted = np.isfinite(node_variances(tree, shares))
    assert not signs[:, ~counted].any()
    members = reference.hierarchy_matrix(len(signs), tree.branching).astype(np.int64)
    missing = np.tri(len(signs), dtype=np.int64) - signs @ members
    of_all = missing[:, :1]  # how many times n, which is public
    np.testing.assert_array_equal(missing, np.broadcast_to(of_all, missing.shape))
    assert set(np.unique(of_all)) <= {0, 1}
    assert not signs[-1].any()


@several
def test_no_other_sums_of_nodes_have_less_noise(name):
    tree, shares = TREES[name]
    expected = np.sqrt(5 * least_variances(tree, shares))
    deviation = prefix_deviation(tree, shares, 5)
    np.testing.assert_allclose(deviation, expected, rtol=1e-9)
    variances = np.where(np.isinf(node_variances(tree, shares)), 0, node_variances(tree, shares))
    np.testing.assert_allclose(5 * prefix_matrix(tree, shares) ** 2 @ variances, expected**2)


@several
def test_noise_in_prefixes_is_that_of_nodes(name):
    tree, shares = TREES[name]
    noise = RememberedNoise(tree, shares, KEY, count=2)
    nodes = noise.of_nodes()
    cells = np.arange(tree.starts[-1] - tree.starts[-2])
    expected = prefix_matrix(tree, shares) @ nodes
    np.testing.assert_array_equal(noise.of_prefixes(cells), expected)


BIG = of(Hierarchy(0.1, (3, 30, 70)), 6_200)  # the last level has seven blocks
FLAT = of(Histogram(0.1), 3_000)


@pytest.mark.parametrize(("tree", "shares"), [BIG, FLAT], ids=["a hierarchy", "a histogram"])
def test_neither_order_nor_company_nor_restarts_matter(tree, shares):
    size = int(tree.starts[-1] - tree.starts[-2])
    cells = np.random.default_rng(1).permutation(size)
    whole = RememberedNoise(tree, shares, KEY, count=3).of_prefixes(np.arange(size))
    assert np.std(whole) > 10
    one_by_one = RememberedNoise(tree, shares, KEY, count=3)
    for cell in cells[:50]:
        assert one_by_one.of_prefixes(cells[cells == cell])[0] == whole[cell]
    np.testing.assert_array_equal(one_by_one.of_prefixes(cells), whole[cells])
    nodes = one_by_one.of_nodes()
    after = RememberedNoise(tree, shares, KEY, count=3)
    np.testing.assert_array_equal(after.of_nodes(), nodes)
    np.testing.assert_array_equal(after.of_prefixes(cells[:9]), whole[cells[:9]])
    copy = pickle.loads(pickle.dumps(after))
    np.testing.assert_array_equal(copy.of_prefixes(cells), whole[cells])


def test_a_last_node_at_the_end_of_a_block_is_made_of_its_children_where_these_have_less_noise():
    trust = FunctionSharing(0.05, branching=(1024, 4), budgets=(2, 3))
    size = 1023 * 4 + 1  # the last of 1024 nodes has one cell
    noise = RememberedNoise(trust.tree(size), trust.shares(size), KEY)
    of_cells = noise.of_nodes()[-size:]
    assert noise.of_prefixes(np.array([size - 2])).tolist() == [-of_cells[-1]]


def test_nothing_is_drawn_that_is_not_asked_for():
    noise = RememberedNoise(*BIG, KEY)
    noise.of_prefixes(np.array([5]))
    assert sorted(noise._blocks) == [(1, 0), (2, 0), (3, 0)]
    noise.of_prefixes(np.array([6_100]))
    assert sorted(noise._blocks) == [(1, 0), (2, 0), (3, 0), (3, 5), (3, 6)]


def test_bits_are_those_of_the_first_version():
    """Others would be a second answer to a question that servers and clients had before.

    If this fails, samplers have changed: then the label in the noise's keys has to change, too.
    """
    noise = RememberedNoise(*of(Hierarchy(0.3, (3, 4, 5), "equal"), 57), KEY, count=2)
    prefixes = noise.of_prefixes(np.arange(0, 57, 4)).tolist()
    assert prefixes == [0, -20, -12, -24, 19, 13, 41, 45, -3, 16, 12, 8, -35, 90, 0]
    # The samplers' tables are different ones for few nodes and for whole blocks.
    trust = FunctionSharing(0.3, branching=(3, 1000), budgets="equal")
    noise = RememberedNoise(trust.tree(2500), trust.shares(2500), KEY)
    prefixes = noise.of_prefixes(np.array([0, 999, 1023, 2048, 2498])).tolist()
    assert prefixes == [9, -30, 71, 32, 3]


def test_other_keys_trees_laws_numbers_and_blocks_have_other_noise():
    tree, shares = of(Hierarchy(0.01, (8, 8), "equal"), 64)
    base = {"tree": tree, "shares": shares, "key": KEY, "count": 3}
    finer = of(Hierarchy(0.02, (8, 8), "equal"), 64)
    fewer = of(Hierarchy(0.01, (8, 8), "equal"), 63)
    several = [
        RememberedNoise(**{**base, **change}).of_nodes()[:64]
        for change in (
            {},
            {"key": bytes(32)},
            {"count": 4},
            {"shares": shares_of(tree, 4)},
            {"tree": finer[0], "shares": finer[1]},
            {"tree": fewer[0], "shares": fewer[1]},
        )
    ]
    blocks = RememberedNoise(*of(Histogram(0.01), 4_096), KEY, count=3).of_nodes()[1:]
    for rows, most in ((several, 0.6), (blocks.reshape(4, 1024), 0.2)):  # five deviations
        correlations = np.corrcoef(rows)[~np.eye(len(rows), dtype=bool)]
        assert np.abs(correlations).max() < most


@pytest.mark.parametrize("count", [1, 3, 30])
def test_nodes_have_the_law_of_shares_in_sum(count):
    """A difference of two negative binomial variables, by convolution."""
    tree, shares = of(Histogram(1.0), 40_000)
    nodes = RememberedNoise(tree, shares, KEY, count=count).of_nodes()[1:]
    one = nbinom.pmf(np.arange(200), count / 3, -np.expm1(-1 / float(shares[1].scale)))
    law = np.convolve(one, one[::-1])[200 - 1 - 12 : 200 + 12]
    law[[0, -1]] += (1 - law.sum()) / 2
    counts = np.bincount(np.clip(nodes, -12, 12) + 12, minlength=25)
    assert law.min() * nodes.size > 5
    assert chisquare(counts, law * nodes.size).pvalue > 1e-6


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["binary, ragged", "a level is not counted", "the default"])
def test_noise_at_each_prefix_has_the_variance_that_is_told(name):
    tree, shares = TREES[name]
    rng, rounds = np.random.default_rng(1), 2_000
    cells = np.arange(tree.starts[-1] - tree.starts[-2])
    draws = np.array(
        [
            RememberedNoise(tree, shares, rng.bytes(32), count=3).of_prefixes(cells)
            for _ in range(rounds)
        ]
    )
    deviation = prefix_deviation(tree, shares, 3)
    assert not draws[:, -1].any()
    ratio = draws[:, :-1].std(axis=0) / deviation[:-1]
    assert np.abs(ratio - 1).max() < 6 * np.sqrt(5 / (4 * rounds))
    assert np.all(np.abs(draws.mean(axis=0)) <= 6 * deviation / np.sqrt(rounds))


def test_clients_go_the_same_way_where_ways_are_nearly_alike():
    """Ways are compared in whole numbers, made of decimals: no machine's rounding decides."""
    shares = [None, PolyaShares(Fraction(10**6 + 1, 7), 3), PolyaShares(Fraction(10**6, 7), 3)]
    tree = Hierarchy(1.0, (4, 4)).tree(16)
    assert prefix_deviation(tree, shares).max() > 0.0
    tiny = [None, PolyaShares(Fraction(1, 2**62), 3), PolyaShares(Fraction(1, 2**62), 3)]
    assert not RememberedNoise(tree, tiny, KEY).of_prefixes(np.arange(16)).any()


def test_bad_arguments_are_refused_and_keys_are_not_shown():
    tree, shares = TREES["binary"]
    good = {"tree": tree, "shares": shares, "key": KEY}
    for wrong, error, words in (
        ({"key": "secret"}, DtypeError, "key"),
        ({"key": b"secret"}, ParameterError, "key .*got 6"),
        ({"count": -1}, ParameterError, "count"),
        ({"tree": replace(tree, bits=2)}, ParameterError, "tree .*got 2"),
    ):
        with pytest.raises(error, match=words):
            RememberedNoise(**good | wrong)
    assert repr(RememberedNoise(tree, shares, KEY)) == "<RememberedNoise of 31 nodes>"
