"""Hierarchies: what is spent on every pair of neighbours, and lower bounds on epsilon."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore.mechanisms import Hierarchy, Histogram
from dpcore.mechanisms.tree import noisy_nodes
from dpcore.noise.sources import GeneratorSource
from dpcore.privacy import gaussian_sigma
from tests import reference
from tests.audit.harness import both_ways, cost_of_levels, thinner, unit_changes

SHAPES = [
    (Hierarchy, {}),
    (Hierarchy, {"branching": 2, "budgets": "equal"}),
    (Hierarchy, {"branching": 3}),
    (Histogram, {}),
]


def spent(mechanism, change):
    """The exact cost of a change: each node's change over its scale, or half its square."""
    tree = mechanism.tree(change.size)
    matrix = reference.hierarchy_matrix(change.size, tree.branching).astype(int) << tree.bits
    public = [level for level in range(tree.variances.size) if tree.variances[level] == 0]
    return cost_of_levels(tree.laws, tree.starts, matrix @ change, public)


@pytest.mark.parametrize(("kind", "shape"), SHAPES)
@pytest.mark.parametrize("cells", [2, 3, 4, 7, 10])
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize(
    ("budget", "whole", "used"),
    [
        ({"epsilon": 0.7}, Fraction(0.7), 1 - 2.0**-28),
        ({"rho": 0.7}, Fraction(0.7), 1 - 2.0**-28),
        *(
            # half the square of the distance in standard deviations
            ({"epsilon": e, "delta": d}, Fraction(gaussian_sigma(e, d)) ** -2 / 2, 0.98)
            for e, d in [(0.1, 1e-6), (1.0, 1e-9), (4.0, 1e-3)]
        ),
    ],
)
def test_the_costliest_neighbours_spend_the_budget(
    kind, shape, cells, relation, budget, whole, used
):
    mechanism = kind(**budget, **shape, neighbours=relation)
    most = max(spent(mechanism, change) for change in unit_changes(cells, relation))
    assert used * whole < most <= whole


def test_a_histogram_is_the_tree_without_levels():
    one = Histogram(1.0, delta=0.04).tree(5)
    other = Hierarchy(1.0, 5, "equal", delta=0.04).tree(5)
    assert one.laws == other.laws
    assert one.bits == other.bits


CASES = [
    (Hierarchy(5.0, 2, (2, 1)), (3, 3, 3), (2, 3, 4)),
    (Hierarchy(2.0, 2, "equal"), (9, 9), (8, 10)),
    (Histogram(3.0, neighbours="add-or-remove-one"), (3, 3), (3, 4)),
    (Hierarchy(5.0, (2, 2), "equal", neighbours="add-or-remove-one"), (3, 3, 3), (3, 3, 4)),
]


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(("mechanism", "first", "second"), CASES)
def test_claim_holds_and_a_fifth_less_noise_is_caught(mechanism, first, second):
    tree = mechanism.tree(len(first))
    matrix = reference.hierarchy_matrix(len(first), tree.branching).astype(np.int64)

    def bound(noisy):
        nodes = (matrix @ np.array(counts) for counts in (first, second))
        source = GeneratorSource(np.random.default_rng(1))  # how close bounds come varies much
        return both_ways(*(noisy_nodes(noisy, exact, 500_000, source) for exact in nodes))

    epsilon = mechanism.epsilon
    assert 0.7 * epsilon < bound(tree) <= epsilon
    thin = replace(tree, laws=tuple(law and thinner(law) for law in tree.laws))
    assert bound(thin) > epsilon
