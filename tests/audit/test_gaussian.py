"""Lower bounds on delta from discrete Gaussian releases: a fifth less noise exceeds the claim."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.privacy import discrete_gaussian_delta
from tests.audit.harness import delta_lower_bound

pytestmark = pytest.mark.needs_jit

RELEASES = 4_000_000
CASES = [(Fraction(1), 1.0), (Fraction(25, 4), 0.5), (Fraction(25), 0.1), (Fraction(1, 3), 2.0)]


def released(count, sigma_squared, seed):
    rng = np.random.default_rng(seed)
    return count + dp.noise.discrete_gaussian(sigma_squared, RELEASES, rng)


def audited(sigma_squared, epsilon):
    """The bound for a count that a neighbour makes one smaller."""
    first, second = (released(count, sigma_squared, 100 + count) for count in (6, 5))
    return delta_lower_bound(first, second, epsilon)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("sigma_squared", "epsilon"), CASES)
def test_claim_holds_and_a_fifth_less_noise_is_caught(sigma_squared, epsilon):
    claim = discrete_gaussian_delta(sigma_squared, epsilon)
    assert 0.8 * claim < audited(sigma_squared, epsilon) <= claim
    assert audited(sigma_squared * Fraction(16, 25), epsilon) > claim


def test_claim_of_two_steps_holds():
    claim = discrete_gaussian_delta(Fraction(9), 0.5, 2)
    first, second = (released(count, Fraction(9), 100 + count) for count in (7, 5))
    assert 0.8 * claim < delta_lower_bound(first, second, 0.5) <= claim


def test_identical_inputs_show_nothing():
    first, second = (released(5, Fraction(4), seed) for seed in (1, 2))
    assert delta_lower_bound(first, second, 0.0) < 0.01
