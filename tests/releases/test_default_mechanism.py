"""What ``dp.cdf`` takes is what ``dp.plan`` puts first, whatever the grid and the budget."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.kernels.trees.dyadic import diameter
from dpcore.kernels.trees.hierarchy_errors import prefix_variances
from dpcore.mechanisms import Dyadic, Hierarchy, Histogram
from dpcore.mechanisms.mean_errors import mean_prefix_variance
from dpcore.releases.most_accurate import most_accurate

SIZES = [*range(1, 24), 33, 64, 100, 300, 1000]
BUDGETS = [
    *({"epsilon": epsilon} for epsilon in (0.01, 0.5, 1.0, 2.0, 4.0, 10.0, 30.0)),
    *({"rho": rho} for rho in (1e-4, 0.5, 2.0, 8.0, 50.0)),
    *({"epsilon": epsilon, "delta": delta} for epsilon in (0.1, 1, 4) for delta in (1e-9, 0.01)),
]
BOTH = ["replace-one", "add-or-remove-one"]


@pytest.mark.sample(6)
@pytest.mark.needs_jit
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_default_is_the_first_of_the_plan(budget, neighbours):
    given = {"epsilon": None, "rho": None, "delta": None, **budget}
    for size in SIZES:
        best = dp.plan(size, **budget, neighbours=neighbours).best
        assert most_accurate(size, neighbours=neighbours, **given) == best
        assert type(most_accurate(size, neighbours=neighbours, **given)) is type(best)


def test_beyond_sixteen_cells_a_histogram_may_win():
    grid = dp.Grid.uniform(0, 1, 17)
    budget = {"epsilon": 4.0, "neighbours": "add-or-remove-one"}
    curve = dp.cdf([0.5], grid, **budget)
    assert curve.mechanism["name"] == "histogram"
    assert np.sqrt(np.mean(curve.standard_error() ** 2)) * curve.n == pytest.approx(0.585, abs=5e-4)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("size", [17, 300, 2000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_delta_never_makes_a_release_worse(size, epsilon, neighbours):
    def error(**budget):
        return dp.plan(size, epsilon=epsilon, neighbours=neighbours, **budget).options[0].error

    errors = [error(), *(error(delta=delta) for delta in (1e-12, 1e-9, 1e-6, 1e-3, 0.1))]
    assert errors == sorted(errors, reverse=True)


def test_what_spends_no_delta_says_so():
    grid = dp.Grid.uniform(0, 1, 17)
    values = [0.5] * 1000
    pure = dp.cdf(values, grid, epsilon=1.0, delta=1e-9)
    assert pure.privacy == dp.Privacy(1.0)
    assert pure.mechanism == dp.cdf(values, grid, epsilon=1.0).mechanism
    gaussian = dp.cdf(values, grid, epsilon=1.0, delta=1e-2)
    assert gaussian.privacy == dp.Privacy(1.0, 1e-2)
    assert pure.privacy + gaussian.privacy == dp.Privacy(2.0, 1e-2)
    assert gaussian.privacy + pure.privacy == dp.Privacy(2.0, 1e-2)
    assert pure.privacy + dp.Privacy(rho=0.5) == dp.Privacy(rho=1.0)


@pytest.mark.sample(6)
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 8.0, 20.0])
def test_no_laplace_noise_wins_for_rho(rho, neighbours):
    """Though epsilon = sqrt(2 rho) implies rho (docs/measured/plan.md)."""
    for size in SIZES:
        pure = dp.plan(size, epsilon=np.sqrt(2 * rho), neighbours=neighbours).options[0].error
        best = dp.plan(size, rho=rho, neighbours=neighbours).options[0].error
        assert round(best, 9) <= round(pure, 9)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 17, 64, 100, 1023, 3000])
def test_the_mean_error_is_the_mean_of_all_errors(size, neighbours):
    mechanisms = [
        Hierarchy(1.0, neighbours=neighbours),
        Hierarchy(1.0, 2, "equal", neighbours=neighbours),
        Hierarchy(rho=0.5, branching=3, neighbours=neighbours),
        Hierarchy(30.0, "hb", "equal", neighbours=neighbours),
        Histogram(0.1, neighbours=neighbours),
    ]
    for mechanism in mechanisms:
        expected = np.mean(mechanism.noise_deviation(size) ** 2)
        assert mechanism.mean_squared_error(size) == pytest.approx(expected, rel=1e-12)


def test_levels_that_are_not_counted_have_no_part_in_the_mean_error():
    mechanism = Hierarchy(1.0, (4, 4, 4), neighbours="add-or-remove-one")
    tree = mechanism.tree(50)
    variances = tree.variances.tolist()
    variances[0] = variances[2] = np.inf
    found = mean_prefix_variance(tree.branching.tolist(), tree.starts.tolist(), variances)
    expected = prefix_variances(tree.branching, tree.starts, np.array(variances)).mean()
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_dyadic_tree_is_never_better_than_its_bound():
    for size in [*range(1, 70), 100, 127, 128, 129, 1000, 2**12, 2**12 + 1, 3 * 2**11]:
        for budget in BUDGETS:
            tree = Dyadic(**budget)
            assert 0.0 <= tree.least_variance(size) <= tree.variance(size)
    assert Dyadic(1.0, base=3).least_variance(100) == 0.0


def test_the_diameter_of_full_trees_is_their_height():
    """What the bound for Laplace noise rests on (docs/proofs/dyadic.md, section 5)."""
    assert all(diameter(2**height, 2) >= height for height in range(24))


def test_the_first_of_equals_spends_no_delta():
    assert dp.plan(1, epsilon=1.0, delta=0.1).best == Hierarchy(1.0)
