"""Bounds of exp(-x), and trials with that probability."""

from __future__ import annotations

from fractions import Fraction
from itertools import repeat

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.noise.exponential import ERROR, exponential, is_below_exponential
from tests import reference
from tests.noise.test_distributions import neighbours

fractions = st.fractions(0, 300) | st.builds(
    Fraction, st.integers(0, 2**53), st.integers(1, 2**63 - 1)
)


def exactly(x, precision):
    """2^precision exp(-x), to 50 digits behind the point."""
    with mpmath.workdps(precision // 3 + 60):
        return mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * 2**precision


@given(fractions, st.integers(1, 700))
def test_bounds_hold(x, precision):
    n = exponential(x, precision)
    assert n <= exactly(x, precision) <= n + ERROR


@pytest.mark.parametrize(
    "x",
    [
        Fraction(0),
        Fraction(1, 2**200),
        Fraction(1, 2**8),
        Fraction(2**60 + 1, 2**60),
        Fraction(95),
        Fraction(96),
        Fraction(2**116, 3),
    ],
)
def test_bounds_hold_far_out(x):
    n = exponential(x, 96)
    assert n <= exactly(x, 96) <= n + ERROR


@given(
    st.fractions(0, 3, max_denominator=10**6),
    st.sampled_from([7, 12, 32]),
    st.integers(0, 4),
    st.integers(-2, 2),
    st.lists(st.integers(0, 2**7 - 1), min_size=40, max_size=40),
)
def test_uniform_reals_that_agree_with_the_bound_in_some_digits(x, bits, ties, off, more):
    digits = [int(exactly(x, bits * k)) % 2**bits for k in range(1, ties + 2)]
    digits[-1] = min(max(digits[-1] + off, 0), 2**bits - 1)
    fast, plain = iter([*digits, *more]), iter([*digits, *more])
    assert is_below_exponential(x, fast, bits) == reference.below_exponential(plain, bits, x)


def test_certainty_needs_words_too_and_never_ends_in_a_no():
    assert is_below_exponential(Fraction(0), repeat(2**32 - 2), 32)


@pytest.mark.parametrize("bits", [7, 32])
@pytest.mark.parametrize("digit", [1, 3, 2**7 - 1])
def test_trials_with_a_probability_next_to_a_digit(bits, digit):
    above, below = neighbours(lambda x: mpmath.exp(-x) - mpmath.mpf(digit) / 2**bits, 0, 30)
    ends = 60  # words: more than 200 bits
    assert is_below_exponential(above, iter([digit, *[0] * ends]), bits)
    assert not is_below_exponential(above, iter([digit, 1]), bits)
    assert not is_below_exponential(below, iter([digit, *[0] * ends]), bits)
    last = 2**bits - 1
    assert not is_below_exponential(below, iter([digit - 1, *[last] * ends]), bits)
    assert is_below_exponential(below, iter([digit - 1, last - 1]), bits)
