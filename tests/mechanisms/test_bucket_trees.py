"""Trees over buckets: few for many numbers of buckets, and nearly the best for each."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.mechanisms import Hierarchy
from dpcore.mechanisms.bucket_trees import weighted_tree
from dpcore.noise import DiscreteGaussian

RELATIONS = ["replace-one", "add-or-remove-one"]


@pytest.mark.parametrize("size", [19, 20, 24, 36, 7])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_resized_tree_has_the_same_noise_and_a_root_of_another_size(size, neighbours):
    tree = Hierarchy(1.0, (4, 3, 2), (3, 2, 1, 4)[neighbours == "replace-one" :], None, neighbours)
    other = tree.tree(24).resized(size)
    expected = Hierarchy(1.0, (-(-size // 6), 3, 2), tree.budgets, None, neighbours).tree(size)
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


def test_a_budget_that_is_too_small_is_refused():
    with pytest.raises(ParameterError, match="too small"):
        weighted_tree(Hierarchy(1e-12), np.ones(100, int))


@pytest.mark.parametrize("budget", [{"rho": 0.5}, {"epsilon": 2.0, "delta": 1e-6}])
def test_all_trees_have_the_kind_of_noise_that_the_hierarchy_has(budget):
    hierarchy, widths = Hierarchy(**budget), np.ones(600, int)
    tree = weighted_tree(hierarchy, widths)
    least = hierarchy.tree(600).prefix_variances().mean()
    assert tree.prefix_variances().mean() < 1.1 * least
    assert {type(law) for law in tree.laws if law} == {DiscreteGaussian}
