"""Draws by tables: against plain inversion on the same words, and on all words there are."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import islice, pairwise, product, repeat

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.noise import windows
from dpcore.noise.distributions import (
    Geometric,
    HalfGaussian,
    TwoSidedGaussian,
    TwoSidedGeometric,
    kept_floors,
)
from dpcore.noise.tables import Bins, Digits, laplace_digits, value
from dpcore.noise.windows import fill_from_rows
from tests import reference

SHORT = 12  # bits of a word, for tests that go through all words
LAPLACE = [
    Fraction(1, 3),
    Fraction(1),
    Fraction(22, 7),
    Fraction(40),
    Fraction(700),
    Fraction(10**6),
]


class Given:
    """A source of given words of 32 bits, and of zeros and ones in turn behind them."""

    simulated = True

    def __init__(self, words):
        self.words = iter([*words, *([0, 1] * 1000)])

    def fill(self, words):
        words.view(np.uint32)[:] = list(islice(self.words, 2 * words.size))


def filled(law, size, words):
    out = np.empty(size, np.int64)
    fill_from_rows(out, Given(words), law)
    return out.tolist()


def tie(law, bits, at, digits):
    """Words of the value of F that is ``at`` places from the first one, to so many digits."""
    boundary = kept_floors(law, bits * digits)[1][at]
    return [boundary >> bits * k & 2**bits - 1 for k in reversed(range(digits))]


def plain_laplace(words, scale, law, bits=32):
    return reference.discrete_laplace_digits(words, scale, law.words, law._radix, bits)


# --- the same as plain inversion


@pytest.mark.sample(6)
@pytest.mark.parametrize("entries", [2**7, 2**11])
@pytest.mark.parametrize("scale", [*LAPLACE, Fraction(2**53 - 1), Fraction(1, 2**40)], ids=str)
def test_laplace_is_plain_inversion_on_the_same_words(scale, entries):
    law = laplace_digits(scale, entries)
    words = np.random.default_rng(1).integers(0, 2**32, 60 * law.words).tolist()
    stream = iter(words)
    plain = [plain_laplace(stream, scale, law) for _ in range(60)]
    assert filled(law, 60, words) == plain
    stream = iter(words)
    assert [law.one(stream) for _ in range(60)] == plain


@pytest.mark.parametrize("sigma_squared", [4096, 4096 * 16 - 1, 10**6, 2**53 - 1])
def test_gaussian_in_bins_is_the_plain_rejection_on_the_same_words(sigma_squared):
    law = Bins(Fraction(sigma_squared))
    words = np.random.default_rng(2).integers(0, 2**32, 500, dtype=np.uint64)
    words[2::3] |= np.uint64(2**32 - 2**26)  # of each proposal, close to a rejection
    words = words.tolist()
    stream = iter(words)
    plain = [
        reference.discrete_gaussian_bins(stream, Fraction(sigma_squared), law._width)
        for _ in range(40)
    ]
    assert filled(law, 40, words) == plain
    stream = iter(words)
    assert [law.one(stream) for _ in range(40)] == plain


@settings(max_examples=60)
@given(
    st.sampled_from(LAPLACE),
    st.integers(0, 2**16),
    st.integers(1, 3),
    st.integers(-1, 1),
    st.integers(0, 2),
)
def test_words_that_tie_with_a_boundary(scale, place, ties, off, digit):
    """The slow path: the first digits of U are those of F, and later ones decide."""
    law = laplace_digits(scale)
    digit %= law.words
    boundaries = len(kept_floors(law._laws[digit], 32)[1])
    # the same boundary, counted from the middle: lists for more bits are longer on both sides
    least = kept_floors(law._laws[digit], 32)[0]
    at = place % boundaries + least - kept_floors(law._laws[digit], 32 * ties)[0]
    tied = tie(law._laws[digit], 32, at, ties)
    tied[-1] = min(max(tied[-1] + off, 0), 2**32 - 1)
    words = [2**31 + 12345, 77, 1234567][:digit] + tied + [5, 2**31 + 9, 3, 2**32 - 7, 11, 8]
    count = 2
    stream = iter([*words, *([0, 1] * 40)])
    assert filled(law, count, words) == [plain_laplace(stream, scale, law) for _ in range(count)]


@pytest.mark.parametrize("scale", LAPLACE, ids=str)
@pytest.mark.parametrize("word", [0, 2**32 - 1])
def test_tails_beyond_the_table(scale, word):
    law = laplace_digits(scale)
    words = [word] * 3 + [2**31 + 1, 5, 9, 13, 17]
    stream = iter([*words, *([0, 1] * 40)])
    assert filled(law, 1, words) == [plain_laplace(stream, scale, law)]
    assert abs(filled(law, 1, words)[0]) > 60 * scale  # less than 2^-96


@pytest.mark.parametrize("ties", [1, 2])
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_bins_where_the_series_does_not_decide(ties, off):
    """The third word is that of exp(-gamma), and so may be the fourth."""
    sigma_squared = Fraction(10**6)
    law = Bins(sigma_squared)
    for place in (1, 2, 6, 7):
        for first in (2**31, 2**32 - 2**20):
            start = value(law._law, iter([first]), 32) * law._width
            gamma = Fraction((start + place) ** 2 - start**2) / (2 * sigma_squared)
            digits = [int(exponential(gamma, 32 * (k + 1))) % 2**32 for k in range(ties)]
            digits[-1] = min(max(digits[-1] + off, 0), 2**32 - 1)
            words = [first, place + 2**31, *digits, 2**30, 3, 4, 5]
            stream = iter([*words, *([0, 1] * 40)])
            plain = [
                reference.discrete_gaussian_bins(stream, sigma_squared, law._width)
                for _ in range(2)
            ]
            assert filled(law, 2, words) == plain


def exponential(gamma, precision):
    """2^precision exp(-gamma)."""
    with mpmath.workdps(100):
        return mpmath.exp(-mpmath.mpf(gamma.numerator) / gamma.denominator) * 2**precision


# --- all words of twelve bits


def measure(law, digits):
    """For each k, the numbers of so many short words that decide for k without one more."""
    exact = kept_floors(law, SHORT * digits)[1]
    least, size = kept_floors(law, SHORT * digits)[0], 2 ** (SHORT * digits)
    edges = [-1, *exact, size]
    found = {least + i: b - a - 1 for i, (a, b) in enumerate(pairwise(edges))}
    return {k: count for k, count in found.items() if count > 0}


ONE_DIGIT = [
    TwoSidedGeometric(Fraction(1, 4), 1),
    TwoSidedGeometric(Fraction(1, 9), 16),
    TwoSidedGeometric(Fraction(12), 1),
    Geometric(Fraction(1, 100), 64),
    Geometric(Fraction(1, 10**9), 64),
    HalfGaussian(Fraction(1, 9000)),
    TwoSidedGaussian(Fraction(1, 50)),
    TwoSidedGaussian(Fraction(3)),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize("law", ONE_DIGIT, ids=repr)
def test_all_words_lead_where_the_law_says(law):
    """Each k gets as many words as lie within its interval whole, and the rest is not decided."""
    kernel = Digits((law,), 2, SHORT)
    found, undecided = Counter(), []
    for word in range(2**SHORT):
        out = np.empty(1, np.int64)
        drawn, used = kernel.sample(np.array([[word]], np.uint32), out)
        assert drawn == used
        if drawn:
            found[int(out[0])] += 1
        else:
            undecided.append(word)
    expected = measure(law, 1)
    if isinstance(law, Geometric):  # the kernel asks about the largest word, which only stands
        expected[law.size - 1] -= 1  # for the last value here
    assert found == expected
    # and then all second words: exactly the law, to 24 bits
    for word in undecided:
        for second in range(2**SHORT):
            words = iter([word, second])
            try:
                k = value(law, words, SHORT)
            except StopIteration:
                continue
            number = word << SHORT | second
            least, boundaries = kept_floors(law, 2 * SHORT)
            found_at = k - least
            assert found_at == 0 or boundaries[found_at - 1] < number
            assert found_at == len(boundaries) or number < boundaries[found_at]


@pytest.mark.parametrize("scale", [Fraction(2), Fraction(35, 2)], ids=str)
def test_all_words_of_some_digits(scale):
    """The measure of words that lead to y is the probability of y, but for what is undecided."""
    law = laplace_digits(scale, 16, 6)  # words of six bits, radix 8
    assert law.words == 2 + (scale > 15)
    rows = np.array(list(product(range(64), repeat=law.words)), np.uint32)
    found, at = Counter(), 0
    while at < len(rows):
        some, out = rows[at : at + 64], np.empty(64, np.int64)
        drawn, _ = law.sample(some, out)
        found.update(out[:drawn].tolist())
        at += drawn + (drawn < len(some))  # and one that is not decided
    decided = sum(found.values())
    assert decided > len(rows) / 3
    for y in range(-20, 21):
        mass = float(reference.discrete_laplace_pmf(y, scale)) * len(rows)
        assert found[y] <= mass <= found[y] + (len(rows) - decided)
        assert found[y] == found_by_digits(law, y)


def found_by_digits(law, y):
    """The product of the measures of the digits of y."""
    magnitude, count = (y if y >= 0 else -1 - y), 1
    for digit in reversed(law._laws[1:]):
        magnitude, place = divmod(magnitude, law._radix)
        count *= measure_of(digit, place)
    return count * measure_of(law._laws[0], magnitude if y >= 0 else -1 - magnitude)


def measure_of(law, k):
    least, boundaries = kept_floors(law, 6)
    edges = [-1, *boundaries, 64]
    at = k - least
    if not 0 <= at < len(edges) - 1:
        return 0
    asked = isinstance(law, Geometric) and k == law.size - 1  # about the largest word
    return max(edges[at + 1] - edges[at] - 1 - asked, 0)


def test_all_proposals_of_twelve_bits_in_bins():
    """Of every bin and place, as many third words are accepted as exp(-gamma) says."""
    sigma_squared = Fraction(64**2 * 16)  # bins of four
    law = Bins(sigma_squared, SHORT)
    thirds = np.arange(2**SHORT, dtype=np.uint32)
    undecided = 0
    for first in (1, 2048, 4000):
        h = value(law._law, iter([first]), SHORT)
        for second in (0, 1, 2, 3, 2**11, 2**11 + 3):
            rows = np.empty((2**SHORT, 3), np.uint32)
            rows[:, 0], rows[:, 1], rows[:, 2] = first, second, thirds
            accepted = np.zeros(2**SHORT, int)
            for row in rows:
                out = np.empty(1, np.int64)
                drawn, used = law.sample(row[None, :], out)
                accepted[row[2]] = 1 if drawn else -1 if used else 0
            undecided += np.count_nonzero(accepted == 0)
            place = second % 4
            gamma = Fraction((4 * h + place) ** 2 - (4 * h) ** 2) / (2 * sigma_squared)
            mass = float(exponential(gamma, SHORT))
            if second == 2**11 and h == 0:
                assert not np.any(accepted > 0)  # minus zero
                continue
            assert np.all(np.diff(accepted) <= 0)
            assert np.count_nonzero(accepted > 0) <= mass <= np.count_nonzero(accepted >= 0)
    assert undecided < 3 * 6 * 8


# --- streams and windows


def test_nothing_to_fill():
    out = np.empty(0, np.int64)
    fill_from_rows(out, Given([]), laplace_digits(Fraction(3)))


def test_magnitudes_saturate():
    law = laplace_digits(Fraction(2**53 - 1))
    assert law.one(iter([0] * 30 + [1] * 30)) == -(2**62)
    assert law.one(iter([2**32 - 1] * 30 + [1] * 30)) == 2**62


# --- kernels at the corners of what they are given

BITS, ONES, LARGE = 32, 2**32 - 1, 2**53 - 1


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
        assert filled(law, 1, words) == [plain]


def test_minus_zero_is_refused_whatever_its_third_word():
    law = Bins(Fraction(10**6))
    for third in ([0], [ONES - 5], [ONES, 3], [ONES, ONES, 0]):
        words = iter([0, 2**31, *third, 0, 2**31 + 1, 0, *repeat(0, 50)])
        assert law.one(words) == -1
        assert filled(law, 1, [0, 2**31, *third, 0, 2**31 + 1, 0]) == [-1]
    assert filled(law, 1, [0, 0, 0]) == [0]


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
