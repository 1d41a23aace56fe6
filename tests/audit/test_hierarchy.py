"""Hierarchies: what is spent on every pair of neighbours, and lower bounds on epsilon."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore.mechanisms import Hierarchy, Histogram
from dpcore.mechanisms.tree import noisy_nodes
from dpcore.noise import DiscreteLaplace
from dpcore.noise.sources import CryptographicSource
from tests import reference
from tests.audit.harness import epsilon_lower_bound

MECHANISMS = [
    lambda **budget: Hierarchy(**budget),
    lambda **budget: Hierarchy(**budget, branching=2, budgets="equal"),
    lambda **budget: Hierarchy(**budget, branching=3),
    lambda **budget: Histogram(**budget),
]


def changes(cells, neighbours):
    """What neighbours can differ by, in cell counts."""
    unit = np.eye(cells, dtype=np.int64)
    if neighbours == "add-or-remove-one":
        return list(unit)
    return [unit[a] - unit[b] for a in range(cells) for b in range(cells) if a != b]


def spent(mechanism, change):
    """The exact cost of a change: each node's change over its scale, or half its square."""
    tree = mechanism.tree(change.size)
    moved = reference.hierarchy_matrix(change.size, tree.branching).astype(int) @ change
    cost = Fraction(0)
    for level, law in enumerate(tree.laws):
        part = moved[tree.starts[level] : tree.starts[level + 1]]
        if law is None:
            assert tree.variances[level] == np.inf or not part.any()
        elif isinstance(law, DiscreteLaplace):
            cost += Fraction(int(np.abs(part).sum())) / law.scale
        else:
            cost += Fraction(int((part**2).sum())) / (2 * law.sigma_squared)
    return cost


@pytest.mark.parametrize("make", MECHANISMS)
@pytest.mark.parametrize("cells", [2, 3, 4, 7, 10])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("kind", ["epsilon", "rho"])
def test_the_costliest_neighbours_spend_the_budget_exactly(make, cells, neighbours, kind):
    mechanism = make(**{kind: 0.7}, neighbours=neighbours)
    most = max(spent(mechanism, change) for change in changes(cells, neighbours))
    assert Fraction(0.7) * (1 - Fraction(1, 2**28)) < most <= Fraction(0.7)


def thin(tree):
    """A tree whose noise is a fifth too small."""
    laws = tuple(law and DiscreteLaplace(law.scale * Fraction(4, 5)) for law in tree.laws)
    return replace(tree, laws=laws)


def lower_bound(tree, nodes, rounds):
    """The larger of the lower bounds for two directions; nodes: the counts of two inputs."""
    first, second = (noisy_nodes(tree, each, rounds, CryptographicSource()) for each in nodes)
    return max(epsilon_lower_bound(first, second), epsilon_lower_bound(second, first))


CASES = [
    (Hierarchy(2.0, 2, "equal"), (9, 9), (8, 10)),
    (Hierarchy(5.0, 2, (2, 1)), (3, 3, 3), (2, 3, 4)),
    (Histogram(3.0, neighbours="add-or-remove-one"), (3, 3), (3, 4)),
    (Hierarchy(5.0, (2, 2), "equal", neighbours="add-or-remove-one"), (3, 3, 3), (3, 3, 4)),
]


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(("mechanism", "first", "second"), CASES)
def test_claim_holds_and_a_fifth_less_noise_is_caught(mechanism, first, second):
    tree = mechanism.tree(len(first))
    matrix = reference.hierarchy_matrix(len(first), tree.branching).astype(np.int64)
    nodes = [matrix @ np.array(counts) for counts in (first, second)]
    epsilon = mechanism.epsilon
    assert 0.7 * epsilon < lower_bound(tree, nodes, 1_000_000) <= epsilon
    assert lower_bound(thin(tree), nodes, 1_000_000) > epsilon
