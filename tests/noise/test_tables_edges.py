"""Where a bound that is a little too near would be wrong: next to powers of two, and at corners."""

from __future__ import annotations

from fractions import Fraction
from itertools import cycle, product, repeat

import mpmath
import numpy as np
import pytest

from dpcore.noise import distributions, windows
from dpcore.noise.distributions import (
    Geometric,
    HalfGaussian,
    TwoSidedGaussian,
    TwoSidedGeometric,
    kept_floors,
)
from dpcore.noise.exponential import ERROR, is_below_exponential
from dpcore.noise.plans import laplace_digits
from dpcore.noise.tables import Bins, value
from dpcore.noise.windows import fill_from_rows
from tests import reference
from tests.noise.test_distributions import check, values
from tests.noise.test_tables import Given, exponential

BITS = 32
FINE = 2**200
LARGE = 2**53 - 1
ONES = 2**32 - 1


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


# --- values of F that agree with a number of 32 bits in two hundred


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


# --- exponentials that are as wrong as they may be


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
    for step in range(1, 25):
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


# --- kernels at the corners of what they are given


@pytest.mark.parametrize(
    "sigma_squared",
    [Fraction(2**14), Fraction(2**16 - 1), Fraction(2**52 - 1), Fraction(2**52), Fraction(LARGE)],
    ids=str,
)
def test_words_next_to_the_probability_that_a_proposal_is_accepted(sigma_squared):
    law = Bins(sigma_squared)
    rng = np.random.default_rng(4)
    firsts = [0, 1, *rng.integers(0, 2**32, 20).tolist(), 2**32 - 2**10, 2**32 - 3]
    for first in firsts:
        if first in kept_floors(law._law, BITS)[1]:
            continue
        h = value(law._law, iter([first]), BITS)
        for place in {0, 1, int(rng.integers(law._width)), law._width - 1}:
            gamma = place * (2 * h * law._width + place) / (2 * sigma_squared)
            with mpmath.workdps(60):
                exact = exponential(gamma, BITS)
                wide = int(2**BITS * gamma * (gamma**2 / 5 + sigma_squared / 2**64)) + 20
                nearest = int(mpmath.floor(exact))
                for off in (-wide - 2, -1000, -10, -2, -1, 0, 1, 2, 10, 1000, wide + 2):
                    word = nearest + off
                    if not 0 <= word < 2**BITS:
                        continue
                    out = np.empty(1, np.int64)
                    row = np.array([[first, place, word]], np.uint32)
                    drawn, used = law.sample(row, out)
                    if drawn:
                        assert word + 1 <= exact
                        assert out[0] == h * law._width + place
                    elif used:
                        assert word >= exact
                    else:
                        assert abs(off) < wide


@pytest.mark.parametrize("ties", [1, 2])
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_bins_whose_word_ties_with_a_boundary(ties, off):
    """The bin takes as many words as tell it, and the place the one behind them."""
    sigma_squared = Fraction(10**6)
    law = Bins(sigma_squared)
    size = len(kept_floors(law._law, BITS)[1])
    for k in (0, 1, 40, 200, size - 1):
        boundary = kept_floors(law._law, BITS * (ties + 1))[1][k]
        digits = [boundary >> BITS * i & ONES for i in reversed(range(ties + 1))]
        digits[-1] = min(max(digits[-1] + off, 0), ONES)
        words = [*digits, 2**31 + 3, 5, 7, 2**30, 9, 11, 13]
        assert law.sample(np.array([words[:3]], np.uint32), np.empty(1, np.int64)) == (0, 0)
        stream = iter([*words, *([0, 1] * 40)])
        plain = reference.discrete_gaussian_bins(stream, sigma_squared, law._width)
        out = np.empty(1, np.int64)
        fill_from_rows(out, Given(words), law)
        assert out[0] == plain


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "sigma_squared",
    # of the last but one, 2^66 / (2 sigma^2) is not 4,097 by a hundredth
    [2**14, 2**14 + 1, 2**16 - 1, 10**6, 10**9, 2**65 * 100 // 409699, LARGE],
)
def test_no_word_that_the_probability_lies_in_is_decided(sigma_squared):
    """All roundings of the series are to the safe side, if only by a fraction of the last bit."""
    law = Bins(Fraction(sigma_squared))
    rng = np.random.default_rng(6)
    out = np.empty(1, np.int64)
    boundaries = kept_floors(law._law, BITS)[1]
    for _ in range(2000):
        h = int(rng.integers(len(boundaries) - 1))
        first = boundaries[h] - 1  # of bin h, or an earlier one
        h = int(np.searchsorted(boundaries, first))
        place = int(rng.integers(1, law._width))
        gamma = Fraction(place * (2 * h * law._width + place), 2 * sigma_squared)
        with mpmath.workdps(30):
            word = int(mpmath.floor(exponential(gamma, BITS)))
        row = np.array([[first, place, word]], np.uint32)
        assert law.sample(row, out) == (0, 0)


@pytest.mark.parametrize(
    "sigma_squared", [2**14, 2**15, 2**16 - 1, 2**16, 10**9, 2**51, 2**52 - 1, 2**52, LARGE]
)
def test_products_of_bins_fit_64_bits(sigma_squared):
    law = Bins(Fraction(sigma_squared))
    last = len(kept_floors(law._law, BITS)[1]) - 1
    most = (law._width - 1) * (2 * last * law._width + law._width - 1)
    rate = int(Fraction(2**66, 2 * sigma_squared))
    assert most < 2**52
    assert most * (rate + 1) < 2**63 + 2**52
    assert Fraction(most, 2 * sigma_squared) < Fraction(1, 8)
    assert (last + 1) * law._width < 6.5 * sigma_squared**0.5


@pytest.mark.parametrize(("entries", "most"), [(2**7, 10), (2**11, 6)])
@pytest.mark.parametrize(
    "scale",
    [*(Fraction(LARGE) / 2**k for k in range(0, 60, 3)), Fraction(320, 7), Fraction(320 * 1024, 7)],
    ids=float,
)
def test_numbers_of_several_digits_fit_64_bits(scale, entries, most):
    law = laplace_digits(scale, entries)
    least, boundaries = kept_floors(law._laws[0], BITS)
    assert max(-least, least + len(boundaries)) * law._laws[0].width < 2**59
    assert all(len(kept_floors(digit, BITS)[1]) <= entries for digit in law._laws)
    assert (law.words == 1) == (scale <= Fraction(entries, 2048) * Fraction(320, 7))
    assert law.words <= most


# --- words


@pytest.mark.parametrize("window", [1, 3, windows.WINDOW])
@pytest.mark.parametrize(
    "law", [laplace_digits(Fraction(9, 2)), laplace_digits(Fraction(10**6)), Bins(Fraction(10**5))]
)
def test_what_is_drawn_next_from_a_stream_depends_on_no_window(law, window, monkeypatch):
    """A call reads the words that its draws took, and not more than half a 64-bit word."""
    words = np.random.default_rng(5).integers(0, 2**32, 900, dtype=np.uint64)
    words[::40] = 0  # not decided by one word
    stream, count = Given(words.tolist()), Given(words.tolist())
    taken = 0

    def one_by_one():
        nonlocal taken
        while True:
            taken += 1
            yield next(count.words)

    monkeypatch.setattr(windows, "WINDOW", window)
    out = np.empty(77, np.int64)
    fill_from_rows(out, stream, law)
    numbers = one_by_one()
    assert out.tolist() == [law.one(numbers) for _ in range(77)]
    left = sum(1 for _ in stream.words)
    assert left == sum(1 for _ in count.words) - taken % 2


def test_low_halves_of_64_bit_words_come_first():
    class Numbers:
        simulated = True

        def fill(self, words):
            words[:] = [5 + (6 << 32), 7 + (8 << 32)][: words.size]

    words = windows.Words(Numbers())
    assert [next(words), next(words)] == [5, 6]
    assert words.rows(3, 1).tolist() == [[5], [6], [7]]
    assert next(words) == 5
    assert words.rows(1, 3).tolist() == [[6, 7, 8]]


def test_minus_zero_is_refused_whatever_its_third_word():
    law = Bins(Fraction(10**6))
    for third in ([0], [ONES - 5], [ONES, 3], [ONES, ONES, 0]):
        words = iter([0, 2**31, *third, 0, 2**31 + 1, 0, *repeat(0, 50)])
        assert law.one(words) == -1
        out = np.empty(1, np.int64)
        fill_from_rows(out, Given([0, 2**31, *third, 0, 2**31 + 1, 0]), law)
        assert out[0] == -1
