"""Gaussian mechanisms for (epsilon, delta), from releases alone: lower bounds on delta.

Cumulative counts from Gaussian noise tell two inputs apart as one Gaussian number does whose means
are mu standard deviations apart, the distance of the two means in the geometry of the release's own
covariance. The best event is a half-space across it (docs/proofs/privacy.md, sections 3 and 8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from dpcore.mechanisms import Dyadic, Hierarchy, Histogram, ToeplitzGaussian
from dpcore.noise import DiscreteGaussian
from dpcore.privacy import gaussian_sigma, zcdp_rho
from tests import reference
from tests.audit.test_concentrated import CELLS, EPSILON, audited
from tests.audit.test_hierarchy import changes

DELTA = 0.04
BOTH = ["replace-one", "add-or-remove-one"]
_LESS = Fraction(16, 25)  # of the variance: sigma is a fifth too small


def thinner(law):
    """The same law with a sigma that is a fifth too small."""
    return DiscreteGaussian(law.sigma_squared * _LESS)


@dataclass(frozen=True)
class ThinHierarchy(Hierarchy):
    """A hierarchy that overspends."""

    def tree(self, size):
        tree = super().tree(size)
        return replace(tree, laws=tuple(law and thinner(law) for law in tree.laws))


@dataclass(frozen=True)
class ThinToeplitz(ToeplitzGaussian):
    """A square root of the prefix sum that overspends."""

    def noise(self, size):
        return thinner(super().noise(size))


@dataclass(frozen=True)
class ThinDyadic(Dyadic):
    """A dyadic tree that overspends."""

    def noise(self, size):
        law, unit = super().noise(size)
        return thinner(law), unit


BINARY = {"branching": 2, "budgets": "equal"}
MECHANISMS = [
    *((Hierarchy, ThinHierarchy, {"neighbours": relation}) for relation in BOTH),
    *((Hierarchy, ThinHierarchy, {"neighbours": relation, **BINARY}) for relation in BOTH),
    *(
        (Hierarchy, ThinHierarchy, {"neighbours": relation, "branching": CELLS})
        for relation in BOTH
    ),
    *((ToeplitzGaussian, ThinToeplitz, {"neighbours": relation}) for relation in BOTH),
    (Dyadic, ThinDyadic, {}),
]


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(("kind", "thin", "others"), MECHANISMS)
def test_claim_holds_and_a_fifth_less_noise_is_caught(kind, thin, others):
    mechanism = kind(epsilon=EPSILON, delta=DELTA, **others)
    assert (mechanism.privacy.epsilon, mechanism.privacy.delta) == (EPSILON, DELTA)
    allowed = gaussian_sigma(EPSILON, DELTA) ** -2
    distance, delta = audited(mechanism)
    assert 0.97 * allowed < distance < 1.02 * allowed
    assert distance > 1.2 * 2 * zcdp_rho(EPSILON, DELTA)  # far more than rho would have let it be
    assert 0.6 * DELTA < delta <= DELTA
    _, delta = audited(thin(epsilon=EPSILON, delta=DELTA, **others))
    assert delta > 1.1 * DELTA


def test_a_histogram_is_the_tree_without_levels():
    one = Histogram(EPSILON, delta=DELTA).tree(CELLS)
    other = Hierarchy(EPSILON, CELLS, "equal", delta=DELTA).tree(CELLS)
    assert one.laws == other.laws
    assert one.bits == other.bits


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-9), (4.0, 1e-3)])
@pytest.mark.parametrize("size", [2, 5, 12])
def test_no_pair_of_neighbours_is_farther_apart_than_is_spent(size, epsilon, delta, relation):
    """Exactly, on all pairs: the sum of the squares of the changes over sigma."""
    for shape in ({}, BINARY, {"branching": 3}, {"branching": size}):
        tree = Hierarchy(epsilon, **shape, delta=delta, neighbours=relation).tree(size)
        matrix = reference.hierarchy_matrix(size, tree.branching).astype(int) << tree.bits
        farthest = Fraction(0)
        for change in changes(size, relation):
            moved, squares = matrix @ change, Fraction(0)
            for level, law in enumerate(tree.laws):
                part = moved[tree.starts[level] : tree.starts[level + 1]]
                if law is not None:
                    squares += Fraction(int((part**2).sum())) / law.sigma_squared
            farthest = max(farthest, squares)
        allowed = Fraction(gaussian_sigma(epsilon, delta)) ** -2
        assert 0.98 * allowed < farthest < allowed
