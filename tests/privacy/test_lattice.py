"""Gaussian noise on a fine lattice: never below the analytic formula, and hardly above it."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import ParameterError
from dpcore.privacy import gaussian_delta
from dpcore.privacy.allowance import Allowance
from dpcore.privacy.lattice import integer_noise, lattice_noise


def approximate(epsilon, delta):
    return Allowance.checked(epsilon, None, "replace-one", delta)


@settings(max_examples=60)
@given(
    st.floats(1e-2, 50),
    st.floats(1e-12, 1e-2),
    st.floats(0.1, 100),
    st.integers(1, 130),
    st.integers(12, 28),
)
def test_deviation_is_that_of_the_analytic_formula(epsilon, delta, change, coordinates, most):
    law, bits, _ = lattice_noise(approximate(epsilon, delta), change, coordinates, most)
    units = change * 2.0**bits + math.sqrt(coordinates)
    sigma = math.sqrt(law.sigma_squared)
    assert bits <= most
    assert gaussian_delta(sigma, epsilon, units) <= delta
    # nearly all of it: with a little more epsilon, less noise is not enough
    assert gaussian_delta(0.99 * sigma, epsilon, units) > delta or sigma < 2**13


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (10.0, 1e-9)])
@pytest.mark.parametrize("coordinates", [1, 33])
def test_sums_lose_less_than_a_part_in_ten_thousand(epsilon, delta, coordinates):
    noise = lattice_noise(approximate(epsilon, delta), math.sqrt(2), coordinates, 28)
    assert gaussian_delta(math.sqrt(noise.variance) * (1 - 1e-4), epsilon, math.sqrt(2)) > delta


def test_rho_pays_for_rounding_alone():
    budget = Allowance.checked(None, Fraction(1, 2), "replace-one")
    law, bits, _ = lattice_noise(budget, 3.0, 4, 10)
    assert float(law.sigma_squared) == pytest.approx((3.0 * 2**bits + 2.0) ** 2, rel=1e-9)
    assert law.sigma_squared >= Fraction((3 * 2**bits + 2) ** 2)


@pytest.mark.parametrize("sigma", [8.0, 20.0, 300.0])
def test_discrete_and_rounded_noise_are_as_close_as_the_proof_says(sigma):
    with mpmath.workdps(40):
        # Poisson's summation
        total = (
            sigma
            * mpmath.sqrt(2 * mpmath.pi)
            * mpmath.jtheta(3, 0, mpmath.exp(-2 * (mpmath.pi * sigma) ** 2))
        )
        for t in (0.0, 0.5, 1.0, 5.0, 20.0):
            y = round(t * sigma)
            discrete = mpmath.exp(-(mpmath.mpf(y) ** 2) / (2 * sigma**2)) / total
            rounded = mpmath.quad(
                lambda z: mpmath.npdf(z, 0, sigma), [y - mpmath.mpf(0.5), y + mpmath.mpf(0.5)]
            )
            apart = mpmath.log(discrete / rounded)
            assert apart <= 1 / mpmath.mpf(24 * sigma**2)
            assert (
                -apart <= mpmath.mpf(y) ** 2 / (8 * mpmath.mpf(sigma) ** 4) + mpmath.mpf(10) ** -30
            )


@pytest.mark.parametrize(
    ("epsilon", "delta", "change", "most", "name"),
    [
        (1.0, 1e-303, 1.0, 20, "delta"),
        (0.5, 1e-6, 1e-3, 0, "epsilon"),
        (1e-9, 1e-9, 1e12, 20, "epsilon"),
    ],
)
def test_budgets_too_small_are_refused(epsilon, delta, change, most, name):
    with pytest.raises(ParameterError) as caught:
        lattice_noise(approximate(epsilon, delta), change, 3, most)
    assert caught.value.argument == name


def test_noise_is_never_finer_than_the_proof_allows():
    law, *_ = lattice_noise(approximate(1e9, 1e-6), 1e-3, 3, 4)
    assert law.sigma_squared >= 64


@settings(max_examples=60, deadline=None)
@given(
    st.floats(1e-2, 20),
    st.floats(1e-12, 0.3),
    st.integers(10**6, 10**9),
    st.integers(1, 10**5),
)
def test_integers_in_small_units_get_the_analytic_noise(epsilon, delta, squares, integers):
    budget = approximate(epsilon, delta)
    law = integer_noise(budget, Fraction(squares), integers)
    assert gaussian_delta(math.sqrt(law.sigma_squared), epsilon, math.sqrt(squares)) <= delta
    assert law.sigma_squared <= budget.law(squares).sigma_squared
    if law.sigma_squared > 10**5 * max(1.0, integers / epsilon):
        less = 0.99 * math.sqrt(law.sigma_squared)
        assert gaussian_delta(less, epsilon, math.sqrt(squares)) > delta


def test_integers_with_rho_or_in_large_units_go_by_rho():
    budget = Allowance.checked(None, Fraction(1, 2), "replace-one")
    assert integer_noise(budget, Fraction(7), 3).sigma_squared == 7
    coarse = approximate(8.0, 1e-6)
    assert integer_noise(coarse, Fraction(1), 3) == coarse.law(1)
