"""Rounded Cauchy noise: sufficient, hardly more, and draws against the plain algorithm."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.noise.sources import CryptographicSource, GeneratorSource
from dpcore.papers.cauchy import CauchyNoise, rounded_cauchy
from tests import reference
from tests.noise.goodness import p_value_of_counts

RNG = np.random.default_rng


@pytest.mark.parametrize("epsilon", [2.0**-16, 1e-3, 0.01, 0.3, 1.0, 4.0, 8.0, 100.0])
def test_noise_is_sufficient_and_hardly_more(epsilon):
    """The largest log ratio of two Cauchy densities is a distance in the hyperbolic plane."""
    noise = CauchyNoise.least(Fraction(epsilon))
    with mpmath.workdps(40):
        spent = min(mpmath.mpf(epsilon), 8)
        z = mpmath.mpf(2**24) / noise.ratio
        shift = mpmath.mpf(noise.shift.numerator) / noise.shift.denominator
        distances = [
            mpmath.acosh(1 + (shift**2 + (factor - 1) ** 2) / (2 * factor))
            for factor in (mpmath.mpf(1), z)
        ]
        assert max(distances) <= spent
        assert max(distances) >= spent * (1 - 1e-10)
        assert mpmath.log(z) <= spent / mpmath.sqrt(2)


class Words:
    """A stream that is known."""

    simulated = True

    def __init__(self, words):
        self.words = iter(words)

    def fill(self, words):
        words[:] = [next(self.words) for _ in range(words.size)]

    def spawn(self, count):
        raise NotImplementedError


SCALES = [Fraction(1, 100), Fraction(1), Fraction(22, 7), Fraction(2**60, 3), Fraction(3, 2**70)]


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2, 2**64 - 1]), max_size=12),
    st.sampled_from(SCALES),
    st.integers(0, 2**32),
)
def test_draws_are_those_of_the_plain_algorithm(start, scale, seed):
    words = [*start, *RNG(seed).integers(0, 2**64, 60, dtype=np.uint64).tolist()]
    assert rounded_cauchy(scale, Words(words)) == reference.rounded_cauchy(iter(words), scale)


def test_draws_that_are_not_certain_take_more_bits():
    """V / U = 1 to 63 bits, so that 7/2 V / U may be on either side of a half."""
    assert rounded_cauchy(Fraction(7, 2), Words([2**62, 2**62, 0, 2**64 - 1])) == 4
    assert rounded_cauchy(Fraction(7, 2), Words([2**62, 2**62, 2**64 - 1, 0])) == 3
    assert rounded_cauchy(Fraction(7, 2), Words([2**62, 2**62 + 1, 2**64 - 1, 0])) == -3
    # on the circle to 63 bits, and outside
    outside = [2**64 - 1, 0, 2**64 - 1, 2**64 - 1]
    with pytest.raises(StopIteration):
        rounded_cauchy(Fraction(1), Words(outside))


@pytest.mark.sample(4)
@pytest.mark.needs_jit
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), Fraction(40)])
@pytest.mark.parametrize("secret", [True, False])
def test_law_of_draws(scale, secret):
    stream = CryptographicSource() if secret else GeneratorSource(RNG(1))
    drawn = np.array([rounded_cauchy(scale, stream) for _ in range(20_000)], float)
    size = 61
    inside, outside = reference.rounded_cauchy_law(30, scale, size)
    shifted = drawn + 30
    observed = [np.sum(shifted == i) for i in range(size)]
    observed.append(drawn.size - sum(observed))
    expected = drawn.size * np.append(inside, outside)
    assert p_value_of_counts(observed, expected) > 1e-7
