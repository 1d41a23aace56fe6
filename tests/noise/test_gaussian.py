"""Discrete Gaussian draws against the law, and its variance."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcore import noise
from tests import reference
from tests.noise.test_samplers import p_value

LARGE = 2**53 - 1  # of numerators and denominators


def gaussian_p_value(draws, sigma_squared):
    edge = int(6 * float(sigma_squared) ** 0.5) + 2
    return p_value(draws, edge, lambda y: reference.discrete_gaussian_pmf(y, sigma_squared))


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "sigma_squared",
    [Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(400), Fraction(2**14)],
    ids=str,
)
@pytest.mark.parametrize("stream", ["seeded", "cryptographic"])
def test_law(sigma_squared, stream):
    rng = np.random.default_rng(12) if stream == "seeded" else None
    draws = noise.discrete_gaussian(sigma_squared, 1_000_000, rng)
    assert gaussian_p_value(draws, sigma_squared) > 1e-9


@pytest.mark.needs_jit
def test_the_law_test_would_notice_a_slightly_wrong_sigma():
    draws = noise.discrete_gaussian(Fraction(205, 2), 1_000_000, np.random.default_rng(12))
    assert gaussian_p_value(draws, Fraction(100)) < 1e-9


@pytest.mark.needs_jit
def test_the_law_test_would_notice_rounded_continuous_noise():
    draws = np.rint(np.random.default_rng(12).normal(0, 1, 1_000_000)).astype(np.int64)
    assert gaussian_p_value(draws, Fraction(1)) < 1e-9


@pytest.mark.needs_jit
def test_large_sigma_has_the_continuous_laws_shape():
    draws = noise.discrete_gaussian(Fraction(2**53 - 1), 200_000, np.random.default_rng(12))
    standard = draws / float(2**53) ** 0.5
    for power, moment, deviation in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert abs((standard**power).mean() - moment) < 5 * (deviation / draws.size) ** 0.5


@pytest.mark.parametrize(
    "sigma_squared",
    [
        *(Fraction(1, k) for k in (1000, 100, 10, 7, 6, 3, 2, 1)),
        Fraction(1.0 / (2 * np.pi)),
        Fraction(22, 7),
        Fraction(1000),
    ],
    ids=float,
)
def test_variance_to_twelve_digits(sigma_squared):
    sigma_squared = sigma_squared.limit_denominator(2**50)
    with mpmath.workdps(50):
        rate = mpmath.mpf(sigma_squared.denominator) / (2 * sigma_squared.numerator)
        weights = [mpmath.exp(-rate * y * y) for y in range(1, 500)]
        squares = mpmath.fsum(y * y * weight for y, weight in enumerate(weights, 1))
        exact = squares / (mpmath.fsum(weights) + mpmath.mpf(1) / 2)
    assert noise.DiscreteGaussian(sigma_squared).variance == pytest.approx(float(exact), rel=1e-12)


def test_variance_far_out():
    assert noise.DiscreteGaussian(Fraction(LARGE)).variance == LARGE
    assert noise.DiscreteGaussian(Fraction(1, LARGE)).variance == 0.0
