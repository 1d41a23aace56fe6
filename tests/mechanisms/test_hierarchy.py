"""Hierarchies: the least-squares estimate, its error in closed form, the best tree and budgets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.kernels.trees import hierarchy, hierarchy_errors
from dpcore.mechanisms import Dyadic, Hierarchy, Histogram
from dpcore.mechanisms.branching import best_branching, best_shares
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
    for _ in range(200):
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


@pytest.mark.parametrize("size", [1, 2, 3, 5, 17, 100, 1000, 2**12])
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


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "mechanism",
    [
        Hierarchy(0.7),
        Hierarchy(0.7, 3, "equal"),
        Hierarchy(0.7, (4, 5, 3), (1, 2, 1)),
        Hierarchy(0.7, neighbours="add-or-remove-one"),
        Hierarchy(rho=0.2),
        Histogram(0.7),
        Histogram(0.7, neighbours="add-or-remove-one"),
    ],
)
def test_predicted_and_simulated_errors_agree(mechanism):
    counts = np.random.default_rng(1).poisson(3, 57)
    found = mechanism.release(counts, rng=np.random.default_rng(2), replicates=20_000)
    errors = found - np.cumsum(counts)
    assert np.mean(errors**2) == pytest.approx(mechanism.mean_squared_error(57), rel=0.03)
    each = mechanism.noise_deviation(57)
    assert errors.std(axis=0) == pytest.approx(each, rel=0.05, abs=1e-9)
    assert np.abs(errors.mean(axis=0)).max() < 5.5 * each.max() / math.sqrt(20_000)
    if mechanism.neighbours == "replace-one":
        assert np.all(found[:, -1] == counts.sum())


def test_the_papers_release_has_eight_times_the_error():
    size = 2**15
    best = Hierarchy(1.0)
    assert best.mean_squared_error(size) <= Dyadic(1.0, 2, "paper").mean_squared_error(size) / 8
    for other in (Hierarchy(1.0, 2), Hierarchy(1.0, 8), Hierarchy(1.0, "hb", "equal")):
        assert best.mean_squared_error(size) < other.mean_squared_error(size)


@pytest.mark.needs_jit
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_releases_do_not_depend_on_threads(workers):
    counts = np.arange(300)
    first, second = (
        Hierarchy(1.0).release(counts, rng=np.random.default_rng(3), replicates=700, workers=w)
        for w in (1, workers)
    )
    assert np.array_equal(first, second)


def test_one_cell():
    assert Hierarchy(1.0).release(np.array([5])) == [5.0]
    assert Hierarchy(1.0).branching_for(1) == ()
    alone = Hierarchy(1.0, neighbours="add-or-remove-one")
    assert alone.noise_deviation(1) == pytest.approx([alone.tree(1).laws[0].variance ** 0.5])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "epsilon or rho must be given"),
        ({"epsilon": 1, "rho": 1}, "rho must not be given beside epsilon"),
        ({"epsilon": -1}, "epsilon must be positive"),
        ({"rho": 1, "delta": 0.1}, "delta must not be given without epsilon"),
        ({"epsilon": 1, "delta": 0}, "delta must be"),
        ({"epsilon": 1, "delta": 1}, "delta must be"),
        ({"rho": 0}, "rho must be positive"),
        ({"epsilon": 1, "branching": 1}, "branching must be between 2"),
        ({"epsilon": 1, "branching": (4, 1)}, "branching must be between 2"),
        ({"epsilon": 1, "branching": "best"}, "branching must be one of"),
        ({"epsilon": 1, "branching": 2.5}, "branching must be an integer"),
        ({"epsilon": 1, "budgets": "all"}, "budgets must be one of"),
        ({"epsilon": 1, "budgets": (1, 0)}, "budgets must be positive"),
        ({"epsilon": 1, "budgets": 3}, "budgets must be a string"),
        ({"epsilon": 1, "neighbours": "both"}, "neighbours must be one of"),
    ],
)
def test_bad_parameters(arguments, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        Hierarchy(**arguments)


def test_branchings_and_budgets_may_be_arrays_and_budgets_huge():
    given = Hierarchy(1.0, np.array([2, 3]), np.array([1e308, 1e308]))
    assert given == Hierarchy(1.0, (2, 3), (1e308, 1e308))
    assert given.shares_for(6) == (0.0, 0.5, 0.5)


@pytest.mark.parametrize(
    ("mechanism", "counts", "words"),
    [
        (Hierarchy(1.0, (2, 2)), np.arange(5), "branching must cover 5 cells"),
        (Hierarchy(1.0, (2, 8)), np.arange(5), "but not without the first one"),
        (Hierarchy(1.0, 2, (1, 2)), np.arange(5), "budgets must have 3 entries, one for each"),
        (Hierarchy(1e-13), np.arange(5), "epsilon is too small"),
        (Hierarchy(rho=1e-17), np.arange(5), "rho is too small"),
        (Hierarchy(1.0, (2, 2), (1e300, 1e-300)), np.arange(4), "must leave a share for the cells"),
        (Hierarchy(1.0), np.array([3, -1]), "counts must not be negative"),
        (Hierarchy(1.0), np.array([2**45, 2**46]), "counts must sum to at most"),
        (Hierarchy(1.0), np.array([0.5]), "counts must hold integers"),
        (Hierarchy(1.0), np.zeros((2, 2), int), "counts must be one-dimensional"),
        (Hierarchy(1.0), np.array([], int), "counts must be one-dimensional"),
    ],
)
def test_bad_releases(mechanism, counts, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        mechanism.release(counts)
