"""Certified distribution functions against high precision."""

from __future__ import annotations

from fractions import Fraction
from itertools import cycle, product
from math import isqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.noise import distributions
from dpcore.noise.distributions import (
    Geometric,
    HalfGaussian,
    TwoSidedGaussian,
    TwoSidedGeometric,
    floors,
)
from dpcore.noise.exponential import ERROR
from dpcore.noise.tables import value
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


# --- values of F that agree with a number of 32 bits in two hundred

BITS, FINE, ONES = 32, 2**200, 2**32 - 1


def neighbours(function, low, high):
    """The multiples of 2^-200 on both sides of a zero, low and high real numbers around it."""
    with mpmath.workdps(120):
        rising = function(mpmath.mpf(low)) < 0
        below, above = int(low * FINE), int(high * FINE)
        while above - below > 1:
            middle = (below + above) // 2
            if (function(mpmath.mpf(middle) / FINE) < 0) == rising:
                below = middle
            else:
                above = middle
    return Fraction(below, FINE), Fraction(above, FINE)


def bell(rate, k, two_sided):
    """F(k) of the Gaussian laws, rate a real number."""
    least = -30 if two_sided else 0
    weights = [mpmath.exp(-rate * j * j) for j in range(least, 31)]
    return mpmath.fsum(weights[: k - least + 1]) / mpmath.fsum(weights)


def two_sided(rate, k, width):
    q = mpmath.exp(-rate)
    return q ** (1 - width * (k + 1)) / (1 + q) if k < 0 else 1 - q ** (width * (k + 1)) / (1 + q)


def geometric(rate, k, size):
    r = mpmath.exp(-rate)
    return (1 - r ** (k + 1)) / (1 - r**size)


TIES = {
    "two-sided": (TwoSidedGeometric, 1, -1, 12345678),
    "two-sided, above": (TwoSidedGeometric, 3, 2, 2**32 - 5),
    "two-sided, first": (TwoSidedGeometric, 1, -2, 1),
    "two-sided, last": (TwoSidedGeometric, 1, 3, ONES),
    "geometric": (Geometric, 4, 1, 3 * 2**30 + 1),
    "geometric, last": (Geometric, 4, 1, ONES),
    "bell": (TwoSidedGaussian, None, -1, 987654321),
    "bell, first": (TwoSidedGaussian, None, -2, 1),
    "bell, last": (TwoSidedGaussian, None, 2, ONES),
    "half a bell": (HalfGaussian, None, 0, 2**31 + 7),
    "half a bell, last": (HalfGaussian, None, 2, ONES),
}


@pytest.mark.parametrize("name", TIES)
def test_values_next_to_a_number_of_32_bits(name):
    """The first precision cannot tell on which side they are: it is raised until one can."""
    kind, size, k, numerator = TIES[name]

    def off(rate):
        match kind.__name__:
            case "TwoSidedGeometric":
                found = two_sided(rate, k, size)
            case "Geometric":
                found = geometric(rate, k, size)
            case _:
                found = bell(rate, k, kind is TwoSidedGaussian)
        return found * 2**BITS - numerator

    sides = set()
    for rate in neighbours(off, 0.25, 25):
        law = kind(rate) if size is None else kind(rate, size)
        with mpmath.workdps(150):
            above = off(mpmath.mpf(rate.numerator) / rate.denominator)
            assert 0 < abs(above) < 2.0**-150
        least, boundaries = check(law, BITS)
        assert boundaries[k - least] == (numerator if above > 0 else numerator - 1)
        sides.add(above > 0)
        if above > 0:  # U is numerator / 2^32 for 160 bits, and below that F
            assert value(law, iter([numerator, *[0] * 9]), BITS) == k
        else:
            assert value(law, iter([numerator - 1, *[ONES] * 9]), BITS) == k + 1
    assert sides == {True, False}


@pytest.mark.parametrize("choice", list(product([0, 1], repeat=2)))
def test_bounds_hold_for_all_exponentials_that_keep_their_promise(choice, monkeypatch):
    calls = cycle(choice)

    def least_or_greatest(x, precision):
        with mpmath.workdps(80):
            exact = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * 2**precision
            n = int(mpmath.floor(exact))
            n = n if next(calls) else max(int(mpmath.ceil(exact)) - ERROR, 0)
            assert n <= exact <= n + ERROR
            return n

    monkeypatch.setattr(distributions, "exponential", least_or_greatest)
    for step in range(1, 25, 2):
        rate = Fraction(step * step, 97)
        for law in (
            TwoSidedGeometric(rate, 1),
            TwoSidedGeometric(rate, 3),
            Geometric(rate, 2 + step),
            TwoSidedGaussian(rate),
            HalfGaussian(rate),
        ):
            for precision in (10, 14, 24):
                least, bounds, error = law.lower_bounds(6, precision)
                with mpmath.workdps(150):
                    exact = [v * 2**precision for v in values(law, least, len(bounds))]
                    assert all(b <= v <= b + error for b, v in zip(bounds, exact, strict=True))
