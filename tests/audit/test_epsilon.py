"""Empirical lower bounds on epsilon: within the claim, and above it for a mechanism that cheats."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dyadic
from tests import reference
from tests.audit.harness import epsilon_lower_bound
from tests.audit.test_sensitivity import Thin

pytestmark = pytest.mark.needs_jit

# cells, base, epsilon: epsilons at which a few million outputs come close to the claim
SMALL = [(2, 2, 1.0), (3, 2, 3.0), (5, 5, 5.0)]
LARGE = [(4, 2, 5.0), (4, 3, 5.0), (5, 2, 6.0), (8, 2, 9.0), (9, 2, 9.0)]


def farthest_neighbours(cells, base):
    """Two inputs whose replaced record sits in the two cells that are farthest apart."""
    distance = reference.distances(cells - 1, base)
    a, b = np.unravel_index(distance.argmax(), distance.shape)
    first, second = np.full(cells, 3), np.full(cells, 3)
    first[a] += 1
    second[b] += 1
    return first, second


def audited(mechanism, cells, base, replicates, rng=None):
    """The larger of the lower bounds for the two directions."""
    first, second = (
        mechanism.release(counts, replicates=replicates, rng=rng)[:, :-1]
        for counts in farthest_neighbours(cells, base)
    )
    return max(epsilon_lower_bound(first, second), epsilon_lower_bound(second, first))


def check(cells, base, epsilon, replicates, caught):
    """The claim holds for what is released, and the audit has the power to tell.

    A bound holds but for once in a million. How close it comes to the truth varies more, with the
    event that is chosen; so the two about that are seeded.
    """
    case = cells, base, replicates
    assert audited(Dyadic(epsilon, base), *case) <= epsilon
    assert 0.7 * epsilon < audited(Dyadic(epsilon, base), *case, np.random.default_rng(1))
    assert audited(Thin(epsilon, base), *case, np.random.default_rng(1)) > caught * epsilon


@pytest.mark.sample(1)
@pytest.mark.parametrize(("cells", "base", "epsilon"), SMALL)
def test_claim_holds_and_a_fifth_less_noise_is_caught(cells, base, epsilon):
    check(cells, base, epsilon, 600_000, caught=1.1)


@pytest.mark.full
@pytest.mark.parametrize(("cells", "base", "epsilon"), LARGE)
def test_claim_holds_and_a_fifth_less_noise_is_caught_on_trees(cells, base, epsilon):
    check(cells, base, epsilon, 5_000_000, caught=1.0)


def test_identical_inputs_show_nothing():
    same = Dyadic(1.0).release(np.array([3, 4, 5]), replicates=100_000)[:, :-1]
    assert epsilon_lower_bound(same[::2], same[1::2]) < 0.1


@pytest.mark.full
def test_whole_way_from_records_to_release():
    def released(mechanism, values):
        grid = dp.Grid([0.0, 1.0])
        return np.array(
            [dp.cdf(values, grid, mechanism, isotonic=False).counts[:1] for _ in range(60_000)]
        )

    first, second = [0.5, 0.7, 0.2], [0.5, 0.7, -9.0]
    honest = [released(Dyadic(1.0), values) for values in (first, second)]
    assert 0.85 < epsilon_lower_bound(*honest) <= 1.0
    cheating = [released(Thin(1.0), values) for values in (first, second)]
    assert epsilon_lower_bound(*cheating) > 1.0
