"""Polynomial projection: how far one record moves the released integers, and what they give away.

The distance is worked out from the totals as they are rounded, for records and for cells; the
bound on delta takes nothing but releases.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import dpcore as dp
from dpcore.mechanisms import PolynomialProjection
from dpcore.noise.sources import GeneratorSource
from dpcore.privacy import gaussian_delta
from tests.audit.harness import delta_lower_bound
from tests.audit.test_gaussian_mechanisms import EPSILON, RELEASES

DELTA = 1e-2
MECHANISMS = [
    {"degree": 3},
    {"degree": 8},
    {"degree": 8, "budgets": "equal"},
    {"degree": 3, "basis": "moments"},
    {"degree": 6, "basis": "moments"},
    {"degree": 6, "basis": "moments", "sensitivity": "paper"},
]
TIGHT = [each for each in MECHANISMS if each.get("sensitivity") != "paper"]


def sums(mechanism, values):
    return dp.polynomial_sums(values, -1, 1, mechanism.scheme.degree, mechanism.basis).sums


def integers(mechanism, values):
    """The totals of some records as they are before the noise, in units of the lattice."""
    return np.array(
        mechanism.scheme.totals(sums(mechanism, values), mechanism.noise().bits), object
    )


def distances(mechanism):
    """(distance of the integers, x, y) for pairs of records, beside some others that stay."""
    points = np.concatenate([np.cos(np.linspace(0, np.pi, 41)), [-0.999, 0.999, 0.123456789]])
    others = np.random.default_rng(1).uniform(-1, 1, 3)
    each = {x: integers(mechanism, np.append(others, x)) for x in points}
    for x, y in itertools.combinations(points, 2):
        yield math.sqrt(sum(int(d) ** 2 for d in each[x] - each[y])), x, y


@pytest.mark.parametrize("arguments", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1000.0])
def test_no_record_moves_the_integers_farther_than_the_noise_is_made_for(arguments, epsilon):
    mechanism = PolynomialProjection(epsilon, **arguments, delta=DELTA)
    sigma = math.sqrt(mechanism.noise().law.sigma_squared)
    farthest = max(distance for distance, _, _ in distances(mechanism))
    assert gaussian_delta(sigma, epsilon, farthest) <= DELTA


@pytest.mark.parametrize("arguments", TIGHT)
def test_the_sensitivity_is_attained(arguments):
    mechanism = PolynomialProjection(1.0, **arguments, delta=DELTA)
    sigma = math.sqrt(mechanism.noise().law.sigma_squared)
    farthest = max(distance for distance, _, _ in distances(mechanism))
    assert gaussian_delta(sigma, 1.0, farthest) > 0.95 * DELTA


def released(mechanism, values, seed):
    """Noisy totals, from the code that releases them."""
    source = GeneratorSource(np.random.default_rng(seed))
    return mechanism._noisy_totals(sums(mechanism, values), RELEASES, source)


def audited(mechanism):
    """A lower bound on delta from releases of the two records that are farthest apart."""
    _, x, y = max(distances(mechanism))
    first = released(mechanism, [0.5, 0.5, x], 1)
    second = released(mechanism, [0.5, 0.5, y], 2)
    half = RELEASES // 2
    direction = first[:half].mean(axis=0) - second[:half].mean(axis=0)
    return delta_lower_bound(first @ direction, second @ direction, EPSILON)


@pytest.mark.needs_jit
@pytest.mark.parametrize("arguments", [{"degree": 3}, {"degree": 4, "budgets": "equal"}])
def test_claim_holds_and_a_fifth_less_noise_is_caught(arguments):
    delta = gaussian_delta(1.0, EPSILON)
    honest = PolynomialProjection(EPSILON, **arguments, delta=delta)
    assert 0.75 * delta < audited(honest) <= delta
    broken = PolynomialProjection(EPSILON, **arguments, delta=gaussian_delta(0.8, EPSILON))
    assert audited(broken) > 1.2 * delta


@pytest.mark.needs_jit
def test_noise_is_normal_to_many_digits():
    mechanism = PolynomialProjection(1.0, 3, delta=1e-6)
    noise = released(mechanism, [0.5], 3) - integers(mechanism, [0.5]).astype(np.int64)
    z = noise.ravel() / math.sqrt(mechanism.noise().law.sigma_squared)
    for tail in (-2.0, -0.5, 0.0, 1.0, 3.0):
        p = norm.cdf(tail)
        assert np.mean(z <= tail) == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / z.size))
