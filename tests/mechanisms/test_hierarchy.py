"""Hierarchies: the least-squares estimate, its error in closed form, the best tree and budgets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.kernels.trees import hierarchy, hierarchy_errors
from dpcore.mechanisms import Dyadic, Hierarchy
from dpcore.mechanisms.branching import best_branching, best_shares
from dpcore.mechanisms.bucket_counts import weighted_tree
from dpcore.mechanisms.tree import noisy_nodes
from dpcore.noise import DiscreteGaussian
from dpcore.noise.sources import CryptographicSource
from tests import reference

RELATIONS = ["replace-one", "add-or-remove-one"]


@st.composite
def trees(draw):
    """A number of cells, branchings that cover them, and a variance for each level."""
    branching = tuple(draw(st.lists(st.integers(2, 6), min_size=1, max_size=4)))
    most = math.prod(branching)
    size = draw(st.integers(1, min(most, 60)))
    levels = len(branching) + 1
    variances = draw(st.lists(st.floats(0.1, 10.0), min_size=levels, max_size=levels))
    if draw(st.booleans()):
        variances[0] = 0.0
    if levels > 2 and draw(st.booleans()):
        variances[1] = np.inf
    return size, np.array(branching), np.array(variances)


@settings(max_examples=80)
@given(trees(), st.integers(0, 2**32))
def test_estimate_is_the_best_linear_unbiased_one(tree, seed):
    size, branching, variances = tree
    starts = hierarchy.level_starts(size, branching)
    matrix, errors = reference.hierarchy_estimate(size, branching, variances)
    assert starts[-1] == matrix.shape[1]
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, size)
    nodes = hierarchy.node_sums(counts, branching, starts)
    assert np.array_equal(nodes, reference.hierarchy_matrix(size, branching) @ counts)
    noisy = nodes + rng.integers(-9, 10, (3, nodes.size))
    noisy[:, variances[np.searchsorted(starts, np.arange(nodes.size), "right") - 1] == 0] = nodes[0]
    found = np.empty((3, size))
    hierarchy.cumulative_estimates(noisy, branching, starts, variances, found)
    assert found == pytest.approx(noisy @ matrix.T, abs=1e-6)
    assert hierarchy_errors.prefix_variances(branching, starts, variances) == pytest.approx(
        errors, abs=1e-6
    )


@pytest.mark.parametrize("branching", [(2, 2, 2), (3, 4), (5, 2, 3), (6,)])
@pytest.mark.parametrize("root", [0.0, 1.3])
def test_average_error_of_a_full_tree(branching, root):
    size, array = math.prod(branching), np.array(branching)
    variances = np.array([root, *np.linspace(0.5, 2.0, len(branching))])
    factors = np.empty(variances.size)
    error = hierarchy_errors.level_shares(array, variances, factors)
    each = hierarchy_errors.prefix_variances(array, hierarchy.level_starts(size, array), variances)
    # the error before a node: after the one before it, and none before the first
    assert error == pytest.approx(np.mean(np.r_[0.0, each[:-1]]), rel=1e-12)
    assert factors @ variances == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("known_root", [True, False])
def test_best_shares_cannot_be_improved(power, known_root):
    branching = (4, 3, 5)
    least, shares = best_shares(branching, power, known_root)
    rng = np.random.default_rng(1)
    for _ in range(60):
        other = np.array(shares) * np.exp(rng.normal(0, 0.1, 4))
        other /= other.sum()
        variances = np.array([s**-power if s else np.inf for s in other])
        variances[0] = 0.0 if known_root else variances[0]
        error = hierarchy_errors.level_shares(np.array(branching), variances, np.empty(4))
        assert error >= least * (1 - 1e-9)


@pytest.mark.parametrize("size", [2, 3, 9, 16, 60, 64])
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_best_branching_is_near_the_best_of_all(size, power):
    def factorings(cells):
        yield (cells,)
        for first in range(2, cells):
            for rest in factorings(-(-cells // first)):
                if rest != (1,):
                    yield (first, *rest)

    found = best_shares(best_branching(size, power, True), power, True)[0]
    best = min(best_shares(b, power, True)[0] for b in factorings(size))
    assert found <= best * 1.03


@pytest.mark.parametrize("size", [1, 2, 5, 100, 2**12])
@pytest.mark.parametrize("branching", ["auto", "hb", 2, 3, 16])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_what_is_spent_is_the_budget_and_no_more(size, branching, neighbours):
    moved = 2 if neighbours == "replace-one" else 1
    for budgets in ("auto", "equal"):
        mechanism = Hierarchy(0.3, branching, budgets, neighbours=neighbours)
        laws = [law for law in mechanism.tree(size).laws if law is not None]
        spent = sum((Fraction(moved) / law.scale for law in laws), Fraction(0))
        assert spent <= Fraction(0.3)
        if size > 1 or neighbours != "replace-one":
            assert spent > Fraction(0.3) * (1 - Fraction(1, 2**28))
        mechanism = Hierarchy(rho=0.3, branching=branching, budgets=budgets, neighbours=neighbours)
        laws = [law for law in mechanism.tree(size).laws if law is not None]
        assert sum((moved / (2 * law.sigma_squared) for law in laws), Fraction(0)) <= Fraction(0.3)


def test_the_papers_release_has_eight_times_the_error():
    size = 2**15
    best = Hierarchy(1.0)
    assert best.mean_squared_error(size) <= Dyadic(1.0, 2, "paper").mean_squared_error(size) / 8
    for other in (Hierarchy(1.0, 2), Hierarchy(1.0, 8), Hierarchy(1.0, "hb", "equal")):
        assert best.mean_squared_error(size) < other.mean_squared_error(size)


def test_one_cell():
    assert Hierarchy(1.0).release(np.array([5])) == [5.0]
    assert Hierarchy(1.0).branching_for(1) == ()
    alone = Hierarchy(1.0, neighbours="add-or-remove-one")
    assert alone.noise_deviation(1) == pytest.approx([alone.tree(1).laws[0].variance ** 0.5])


def test_branchings_and_budgets_may_be_arrays_and_budgets_huge():
    given = Hierarchy(1.0, np.array([2, 3]), np.array([1e308, 1e308]))
    assert given == Hierarchy(1.0, (2, 3), (1e308, 1e308))
    assert given.shares_for(6) == (0.0, 0.5, 0.5)


@pytest.mark.parametrize(
    ("mechanism", "cells", "named"),
    [
        (Hierarchy(1.0, (2, 2)), 5, "branching"),
        (Hierarchy(1.0, (2, 8)), 5, "branching"),  # without the first one it would cover them
        (Hierarchy(1.0, 2, (1, 2)), 5, "budgets"),
        (Hierarchy(1.0, (2, 2), (1e300, 1e-300)), 4, "budgets"),
    ],
)
def test_trees_that_do_not_fit_the_cells_are_refused(mechanism, cells, named):
    with pytest.raises(dp.ParameterError, match=f"^{named}"):
        mechanism.release(np.arange(cells))


# --- noise that is finer than a count


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_noise_is_whole_in_its_units(neighbours):
    tree = Hierarchy(4.0, delta=1e-6, neighbours=neighbours).tree(11)
    nodes = tree.node_sums(np.arange(11) * 1000)
    noisy = noisy_nodes(tree, nodes, 3, CryptographicSource())
    assert tree.bits > 0
    assert noisy.dtype == np.int64
    away = noisy / 2**tree.bits - nodes
    assert np.abs(away[:, tree.starts[1] :]).max() < 20 * math.sqrt(tree.variances[1:].max())
    assert len(set((noisy % 2**tree.bits).reshape(-1))) > 1


@pytest.mark.parametrize("size", [100, 1000])
def test_large_noise_stays_on_whole_counts(size):
    assert Hierarchy(0.1, delta=1e-6).tree(size).bits == 0
    assert Hierarchy(rho=50.0).tree(size).bits == Hierarchy(50.0).tree(size).bits == 0


def test_the_cells_of_a_tree_have_a_count_each():
    tree = Hierarchy(1.0, branching=[3, 3]).tree(8)
    assert tree.node_sums(np.arange(8)).tolist() == [28, 3, 12, 13, *range(8)]
    for counts in (np.arange(1), np.arange(7), np.arange(9), np.zeros((8, 1), int)):
        with pytest.raises(ParameterError, match="counts"):
            tree.node_sums(counts)
    with pytest.raises(DtypeError, match="counts"):
        tree.node_sums(np.full(8, 0.5))


# --- trees over buckets: few for many numbers of buckets, and nearly the best for each


@pytest.mark.parametrize("size", [19, 20, 24, 36, 7])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_resized_tree_has_the_same_noise_and_a_root_of_another_size(size, neighbours):
    tree = Hierarchy(
        1.0, (4, 3, 2), (3, 2, 1, 4)[neighbours == "replace-one" :], neighbours=neighbours
    )
    other = tree.tree(24).resized(size)
    expected = Hierarchy(1.0, (-(-size // 6), 3, 2), tree.budgets, neighbours=neighbours).tree(size)
    assert np.array_equal(other.branching, expected.branching)
    assert np.array_equal(other.starts, expected.starts)
    assert other.laws == tree.tree(24).laws == expected.laws
    assert np.array_equal(other.variances, expected.variances)


def test_a_root_without_a_second_child_is_no_root():
    tree = Hierarchy(1.0, (4, 3, 2)).tree(24)
    assert tree.resized(6) is None
    assert tree.resized(1) is None
    assert Hierarchy(1.0).tree(1).resized(2) is None
    assert Hierarchy(1.0).tree(1).resized(1).starts.tolist() == [0, 1]
    fine = Hierarchy(4.0, delta=1e-6).tree(50)
    assert (fine.resized(60).bits, fine.resized(60).laws) == (fine.bits, fine.laws)


@pytest.mark.needs_jit
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_releases_of_about_as_many_buckets_share_their_scales(neighbours):
    hierarchy = Hierarchy(0.75, neighbours=neighbours)
    laws = {weighted_tree(hierarchy, np.ones(m, int)).laws for m in range(512, 1025)}
    assert len(laws) <= 16  # of 513 numbers of buckets


@pytest.mark.needs_jit
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_error_is_near_that_of_the_tree_for_exactly_so_many_buckets(neighbours):
    hierarchy = Hierarchy(0.75, neighbours=neighbours)
    ratios = [
        weighted_tree(hierarchy, np.ones(m, int)).prefix_variances().mean()
        / hierarchy.tree(m).prefix_variances().mean()
        for m in (*range(2, 70), 97, 129, 250, 511, 600, 1025, 2000, 4097)
    ]
    assert max(ratios) < 1.1
    assert np.mean(ratios) < 1.02


def test_wide_buckets_weigh_more():
    # Two wide buckets among many narrow ones: their ends alone matter, and a tree that is worse
    # for equal buckets is better for these.
    hierarchy = Hierarchy(1.0)
    widths = np.ones(600, int)
    widths[[255, 256]] = 10**6
    weights = widths + np.append(widths[1:], 0)
    chosen, equal = weighted_tree(hierarchy, widths), weighted_tree(hierarchy, np.ones(600, int))
    assert weights @ chosen.prefix_variances() < 0.95 * (weights @ equal.prefix_variances())


@pytest.mark.parametrize("budget", [{"rho": 0.5}, {"epsilon": 2.0, "delta": 1e-6}])
def test_all_trees_have_the_kind_of_noise_that_the_hierarchy_has(budget):
    hierarchy = Hierarchy(**budget)
    tree = weighted_tree(hierarchy, np.ones(600, int))
    least = hierarchy.tree(600).prefix_variances().mean()
    assert tree.prefix_variances().mean() < 1.1 * least
    assert {type(law) for law in tree.laws if law} == {DiscreteGaussian}
    with pytest.raises(dp.ParameterError, match="epsilon"):
        weighted_tree(Hierarchy(1e-12), np.ones(100, int))
