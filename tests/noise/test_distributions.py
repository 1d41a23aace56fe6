"""Certified distribution functions against high precision."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.noise.distributions import (
    Geometric,
    HalfGaussian,
    TwoSidedGaussian,
    TwoSidedGeometric,
    floors,
)
from tests import reference

LARGE = 2**53 - 1
rates = st.fractions(Fraction(1, 40), 40) | st.builds(
    Fraction, st.integers(1, 2**63 - 1), st.integers(2**40, LARGE)
)


def real(x):
    return mpmath.mpf(x.numerator) / x.denominator


def values(law, least, count):
    """F(least), F(least + 1), ..., to 300 digits."""
    steps = range(least, least + count)
    match law:
        case TwoSidedGeometric(rate, width):
            q, ratio = mpmath.exp(-real(rate)), mpmath.exp(-real(rate) * width)
            return [
                q * ratio ** (-1 - h) / (1 + q) if h < 0 else 1 - ratio ** (h + 1) / (1 + q)
                for h in steps
            ]
        case Geometric(rate, size):
            r = mpmath.exp(-real(rate))
            return [(1 - r ** (k + 1)) / (1 - r**size) for k in steps]
        case TwoSidedGaussian(rate) | HalfGaussian(rate):
            law = reference.bell_law(rate, isinstance(law, TwoSidedGaussian))
            return [law(k) for k in steps]


def check(law, bits):
    least, found = floors(law, bits)
    with mpmath.workdps(300):
        exact = values(law, least, len(found))
        most = 2**bits - 1  # no value is 1, but 300 digits may say so
        assert found == [min(int(mpmath.floor(value * 2**bits)), most) for value in exact]
    return least, found


@settings(max_examples=60)
@given(rates, st.integers(0, 12), st.sampled_from([12, 32, 64]))
def test_two_sided_geometric(rate, doublings, bits):
    width = 2**doublings
    if rate * width < Fraction(1, 50):
        width = int(1 / rate)
    least, found = check(TwoSidedGeometric(rate, width), bits)
    assert found[0] == 0
    assert found[-1] == 2**bits - 1
    assert least < 0 <= least + len(found)


@settings(max_examples=60)
@given(rates | st.fractions(0, 1).filter(bool), st.integers(2, 300), st.sampled_from([12, 32, 64]))
def test_geometric(rate, size, bits):
    least, found = check(Geometric(rate, size), bits)
    assert (least, len(found)) == (0, size - 1)


@settings(max_examples=25)
@given(st.fractions(Fraction(1, 1000), 50), st.sampled_from([12, 32, 64]))
def test_gaussian(rate, bits):
    for law in (TwoSidedGaussian(rate), HalfGaussian(rate)):
        least, found = check(law, bits)
        assert found[-1] == 2**bits - 1
        assert found[0] == 0 if least < 0 else least == 0
        assert len(found) <= (2 - isinstance(law, HalfGaussian)) * (isqrt(int(bits / rate)) + 2)


@pytest.mark.parametrize(
    "law",
    [
        TwoSidedGeometric(Fraction(2**63 - 1), 1),
        TwoSidedGeometric(Fraction(1, LARGE), 2**50),
        Geometric(Fraction(1, LARGE), 1024),
        Geometric(Fraction(2**63 - 1), 2),
        TwoSidedGaussian(Fraction(2**53)),
        HalfGaussian(Fraction(1, 2**13)),
    ],
    ids=repr,
)
def test_ends_of_the_ranges(law):
    check(law, 32)


def test_too_little_precision_is_told_and_not_rounded(monkeypatch):
    """Geometric with a rate of 2^-53 has 43 digits less: 64 spare ones do not do."""
    asked = []
    original = Geometric.lower_bounds

    def spy(law, bits, precision):
        asked.append(precision)
        return original(law, bits, precision)

    monkeypatch.setattr(Geometric, "lower_bounds", spy)
    check(Geometric(Fraction(1, LARGE), 1024), 32)
    assert len(asked) > 1
    assert sorted(asked) == asked


@settings(max_examples=25)
@given(rates, st.integers(2, 50))
def test_bounds_hold_at_any_precision(rate, size):
    """Short precisions make the errors large: they are to cover what was rounded away."""
    for law in (
        TwoSidedGeometric(max(rate, Fraction(1, 40)), 1),
        Geometric(rate, size),
        TwoSidedGaussian(max(rate, Fraction(1, 100))),
        HalfGaussian(max(rate, Fraction(1, 100))),
    ):
        for precision in (12, 20, 40):
            least, bounds, error = law.lower_bounds(6, precision)
            with mpmath.workdps(300):
                exact = [value * 2**precision for value in values(law, least, len(bounds))]
            # less than the sum, but 300 digits may not show it
            assert all(b <= v <= b + error for b, v in zip(bounds, exact, strict=True))


def test_errors_are_small():
    """Or else tables would need more precision than they start with."""
    for law in (
        TwoSidedGeometric(Fraction(1, 40), 1),
        Geometric(Fraction(1, 10**6), 1024),
        TwoSidedGaussian(Fraction(1, 2**15)),
        HalfGaussian(Fraction(1, 2**15)),
    ):
        _, _, error = law.lower_bounds(32, 96)
        assert np.log2(error) < 50
