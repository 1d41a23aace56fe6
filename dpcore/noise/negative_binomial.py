"""Sums of many geometric variables, drawn at once and exactly (docs/proofs/trust.md, section 3)."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .log_gamma import context, inverse, log_gamma
from .sources import Source

__all__ = ["Envelope", "draws", "envelope", "ratio"]

_DIGITS: Final = 50  # digits beyond those of the arguments of factorials
_BITS: Final = 3  # bits for each digit
_BLOCK: Final = 2**14  # draws at a time
_WORD: Final = 2**64
# The largest number of doublings of the envelope. Widths are below 2^58, so they fit 64 bits.
_MOST_DOUBLINGS: Final = 8
_LEAST_STIRLING: Final = 1024  # from here on, two terms have an error below 2^-60
# Four times the rounding error of the few operations in ``_logarithms``.
_ROUNDING: Final = 2.0**-47
_FAR: Final = -10_000  # a logarithm below all bounds


class Envelope(NamedTuple):
    """The envelope of NB(n, a): 2^-j from j widths off the mode on, on both sides."""

    n: int
    scale: Fraction
    mode: int
    width: int
    digits: int  # digits of decimal arithmetic at the start
    slope: float  # log(a (n + mode) / (mode + 1)), to double precision


def draws(law: Envelope, size: int, stream: Source) -> NDArray[np.int64]:
    """Return independent draws, (size,), from P(k) = (1 - a)^n binomial(k - 1 + n, k) a^k.

    The draws use rejection. Double precision decides where its error cannot matter. Elsewhere
    decimal arithmetic decides, with as many digits as are needed.
    """
    out = np.empty(size, np.int64)
    for start in range(0, size, _BLOCK):
        part = out[start : start + _BLOCK]
        left = np.arange(part.size)
        while left.size:
            proposed, accepted = _trials(law, left.size, stream)
            part[left[accepted]] = proposed[accepted]
            left = left[~accepted]
    return out


@lru_cache(maxsize=64)
def envelope(n: int, scale: Fraction) -> Envelope:
    """Return the envelope of NB(n, a), a = exp(-1 / scale).

    n is at least 64, the scale is below 2^53, and their product is at most 2^61. So the deviation
    is at most 2^57, and the width, which is four thirds of it, is below 2^58.
    """
    mode = _mode(n, scale)
    digits = _DIGITS + len(str(n + mode))
    rate = 1 / float(scale)
    width = 2 + isqrt(int(1.6 * n * np.exp(-rate) / np.expm1(-rate) ** 2))
    half = 1 << (_BITS * digits - 1)
    while not all(ratio(n, scale, mode, d, digits)[1] <= half for d in (width, -width)):
        width += width // 8 + 1
    with context(digits):
        slope = (Decimal(n + mode) / (mode + 1)).ln() - inverse(scale)
    return Envelope(n, scale, mode, width, digits, float(slope))


@lru_cache(maxsize=2**14)
def ratio(n: int, scale: Fraction, mode: int, d: int, digits: int) -> tuple[int, int]:
    """Return bounds of P(mode + d) / P(mode) as integers over 2^(3 digits)."""
    if mode + d < 0:
        return 0, 0
    with context(digits):
        terms = [
            log_gamma(n + mode + d, digits),
            -log_gamma(n + mode, digits),
            -log_gamma(mode + d + 1, digits),
            log_gamma(mode + 1, digits),
            -d * inverse(scale),
        ]
        error = (1 + sum(map(abs, terms), Decimal(0))).scaleb(7 - digits)
        logarithm = sum(terms, Decimal(0))
        if logarithm + error < _FAR:
            return 0, 1
        beyond = 1 + Decimal(1).scaleb(2 - digits)
        low, high = (logarithm - error).exp() / beyond, (logarithm + error).exp() * beyond
    unit = 1 << (_BITS * digits)
    return int(Fraction(low) * unit), int(Fraction(high) * unit) + 1


def _trials(
    law: Envelope, size: int, stream: Source
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Propose values, (size,), and say which of them are accepted."""
    words = np.empty((3, size), np.uint64)
    stream.fill(words.reshape(-1))
    sides, doublings = words[0] & np.uint64(1), _ones(words[0] >> np.uint64(1))
    # So that all offsets are equally likely.
    whole = words[1] <= np.uint64(_WORD - 1 - _WORD % law.width)
    offsets = (words[1] % np.uint64(law.width)).astype(np.int64)
    small = doublings < _MOST_DOUBLINGS
    distance = np.where(small, doublings * small * law.width + offsets, 0)
    d = np.where(sides == 0, distance, -1 - distance)
    accepted, decided = _by_doubles(law, d, doublings, words[2])
    decided &= small
    accepted &= decided & whole
    values = law.mode + d
    for at in np.flatnonzero(whole & ~decided):
        far = int(doublings[at])
        if far == 63:
            far += _more_ones(stream)
        x = far * law.width + int(offsets[at])
        exact = -1 - x if sides[at] else x
        accepted[at] = _exactly(law, exact, far, int(words[2, at]), stream)
        if accepted[at]:
            values[at] = law.mode + exact
    return values, accepted


def _by_doubles(
    law: Envelope,
    d: NDArray[np.int64],
    doublings: NDArray[np.int64],
    words: NDArray[np.uint64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which proposals are accepted, and for which of them that is certain."""
    near = (2 * np.abs(d) <= law.mode) & (law.mode + d >= _LEAST_STIRLING)
    logarithm, error = _logarithms(law, np.where(near, d, 0).astype(np.float64))
    logarithm += doublings * np.log(2.0)
    error += _ROUNDING * doublings
    drawn = words.astype(np.float64) / _WORD
    surely = drawn * (1 + 2.0**-40) + 2.0**-62 < np.exp(logarithm - error)
    surely_not = drawn * (1 - 2.0**-40) > np.exp(np.minimum(logarithm + error, 1.0))
    return near & surely, near & (surely | surely_not)


def _logarithms(
    law: Envelope, d: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return log(P(mode + d) / P(mode)), and a bound of its error; |d| is at most mode / 2."""
    upper, lower = float(law.n + law.mode), float(law.mode + 1)
    first = (upper + d - 0.5) * np.log1p(d / upper)
    second = (lower + d - 0.5) * np.log1p(d / lower)
    third = d * law.slope
    rest = _stirling(upper + d) - _stirling(upper) - _stirling(lower + d) + _stirling(lower)
    error = _ROUNDING * (1 + np.abs(first) + np.abs(second) + np.abs(third))
    return first - second + third + rest, error


def _stirling(x: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return np.asarray(1 / (12.0 * x) - 1 / (360.0 * x * x * x))


def _exactly(law: Envelope, d: int, doublings: int, word: int, stream: Source) -> bool:
    """Return whether a uniform real that begins with ``word`` is below 2^doublings P(d) / P(0).

    P(d) stands for the probability of mode + d.
    """
    bits, digits = 64, law.digits
    while True:  # continues with a probability below 10^-15
        low, high = ratio(law.n, law.scale, law.mode, d, digits)
        shift = _BITS * digits - bits
        if (word + 1) << shift <= low << doublings:
            return True
        if word << shift >= high << doublings:
            return False
        word = (word << 64) | _word(stream)
        bits, digits = bits + 64, digits + 25


def _mode(n: int, scale: Fraction) -> int:
    """Return the least k with P(k + 1) <= P(k): a (n + k) <= k + 1."""
    digits = _DIGITS + len(str(n))
    if inverse(scale) > n.bit_length():  # a n is below (2 / e)^bits
        return 0
    while True:  # a is irrational, so enough digits decide
        with context(digits):
            a = (-inverse(scale)).exp()
            if a * n < Decimal("0.9"):
                return 0
            least = (a * n - 1) / (1 - a)
            error = (1 + abs(least)).scaleb(4 - digits) / (1 - a)
            low, high = (
                int((least + e).to_integral_value(decimal.ROUND_CEILING)) for e in (-error, error)
            )
        if low == high:
            return max(0, low)
        digits += 25


def _ones(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of ones at the end of each word of 63 bits."""
    lowest_zero = ~words & (words + np.uint64(1))
    return np.frexp(lowest_zero.astype(np.float64))[1].astype(np.int64) - 1


def _more_ones(stream: Source) -> int:
    """Return the number of ones that come next."""
    more = 0
    while True:  # continues with a probability of 2^-64
        word = _word(stream)
        ones = (~word & (word + 1)).bit_length() - 1
        more += ones
        if ones < 64:
            return more


def _word(stream: Source) -> int:
    word = np.empty(1, np.uint64)
    stream.fill(word)
    return int(word[0])
