"""Bernoulli(exp(-a^2 / q)) for a divisor q of two words: exact, and mostly by one multiplication.

The quotient gamma = a^2 / q is never needed to the last digit: a uniform real, whose base-2^32
digits are the words, is compared with it digit by digit, and one digit nearly always decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from .samplers import LOW, ONE, WORD_BITS, ZERO, bernoulli_exp_one, uniform, word_at

_TOP = np.uint64(63)
_SLACK = np.uint64(3)


class Divisor(NamedTuple):
    """q, in two words, and constants for quick bounds of a^2 / q; all uint64."""

    high: np.uint64
    low: np.uint64
    quick: np.uint64  # the bounds hold for a below
    drop: np.uint64
    rate: np.uint64
    shift: np.uint64


def divisor(q: int, quick: int) -> Divisor:
    """Return q < 2^109 as a divisor of squares of a < 2^61, with quick bounds for a < ``quick``.

    ``drop`` leaves quick 31 bits, ``shift`` brings rate = 2^(64 + 2 drop + shift) / q, rounded
    down, into [2^31, 2^32). If q is too small beside quick^2 for that (a negative shift), there
    are no quick bounds.
    """
    drop = max(0, quick.bit_length() - 31)
    shift = q.bit_length() - 33 - 2 * drop
    bounds = (0, 0, 0, 0)
    if shift >= 0:  # 2^32 is reached by powers of two alone, and the bounds allow for it
        rate = min((1 << (64 + 2 * drop + shift)) // q, 2**32 - 1)
        bounds = (quick, drop, rate, shift)
    return Divisor(*(np.uint64(word) for word in (q >> 64, q & (2**64 - 1), *bounds)))


@inner
def _square(a: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the two words of a^2 for a < 2^62: a^2 = h^2 2^64 + 2 h l 2^32 + l^2."""
    h, low = a >> WORD_BITS, a & LOW
    middle = ((h * low) << ONE) + ((low * low) >> WORD_BITS)  # below 2^63 + 2^32
    return h * h + (middle >> WORD_BITS), (middle << WORD_BITS) | ((low * low) & LOW)


@inner
def _bring_down(
    high: np.uint64, low: np.uint64, word: np.uint64, bits: int, q: Divisor
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Long division by q: bring down the upper ``bits`` bits of ``word``, one by one.

    Returns the quotient's last 64 bits and the remainder. Invariant: remainder < q < 2^109, so
    that doubling it stays within two words.
    """
    quotient = ZERO
    for _ in range(bits):
        high = (high << ONE) | (low >> _TOP)
        low = (low << ONE) | (word >> _TOP)
        word = word << ONE
        quotient = quotient << ONE
        if high > q.high or (high == q.high and low >= q.low):
            if low >= q.low:
                high, low = high - q.high, low - q.low
            else:  # borrow
                high, low = high - q.high - ONE, low + (~q.low + ONE)
            quotient = quotient | ONE
    return quotient, high, low


@inner
def _divided(a: np.uint64, q: Divisor) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return floor(a^2 / q), which is to be below 2^64, and the remainder."""
    square_high, square_low = _square(a)
    _, high, low = _bring_down(ZERO, ZERO, square_high, 64, q)
    return _bring_down(high, low, square_low, 64, q)


@kernel
def _bounds(a: np.uint64, q: Divisor) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return floor(gamma), and bounds of the first base-2^32 digit of the fraction of gamma.

    With b = floor(a / 2^drop) < 2^31 and c = floor(b^2 / 2^32) < 2^30,
    c 2^32 <= b^2 <= (a / 2^drop)^2 < (b + 1)^2 < (c + 3) 2^32, and
    rate <= 2^(64 + 2 drop + shift) / q <= rate + 1 <= 2^32. So floor(2^32 gamma) is within
    [c rate / 2^shift, (c + 3) (rate + 1) / 2^shift], both products below 2^63. Where that leaves
    floor(gamma) open, and for large a, it is worked out.
    """
    if a < q.quick:
        b = a >> q.drop
        c = (b * b) >> WORD_BITS
        least = (c * q.rate) >> q.shift
        most = ((c + _SLACK) * (q.rate + ONE)) >> q.shift
        if least >> WORD_BITS == most >> WORD_BITS:
            return least >> WORD_BITS, least & LOW, most & LOW
    whole, high, low = _divided(a, q)
    digit, high, low = _bring_down(high, low, ZERO, 32, q)
    return whole, digit, digit


@kernel
def _is_below(
    words: NDArray[np.uint32],
    at: int,
    least: np.uint64,
    most: np.uint64,
    a: np.uint64,
    q: Divisor,
) -> tuple[bool, int]:
    """Bernoulli(fraction of gamma): is a uniform real, its base-2^32 digits words, below it?

    The digits of gamma are worked out only if the first word lies within its bounds, and words are
    read only as long as digits tie.
    """
    word = word_at(words, at)
    at += 1
    if word < least or word > most:
        return bool(word < least), at
    _, high, low = _divided(a, q)
    digit, high, low = _bring_down(high, low, ZERO, 32, q)
    while word == digit and at <= words.size:
        word = word_at(words, at)
        at += 1
        digit, high, low = _bring_down(high, low, ZERO, 32, q)
    return bool(word < digit), at


@kernel
def bernoulli_exp_square(
    words: NDArray[np.uint32], at: int, a: np.uint64, q: Divisor
) -> tuple[bool, int]:
    """Bernoulli(exp(-a^2 / q)) for a < 2^61 and a^2 / q < 2^64 (CKS 2020, Algorithm 1).

    floor(gamma) times Bernoulli(exp(-1)), then the fraction; the invariant of that loop is the one
    of ``samplers.bernoulli_exp_fraction``.
    """
    whole, least, most = _bounds(a, q)
    success = True
    while whole > ZERO and success and at <= words.size:
        whole -= ONE
        success, at = bernoulli_exp_one(words, at)
    if not success:
        return False, at
    k = ONE
    success, at = _is_below(words, at, least, most, a, q)
    while success and at <= words.size:
        k += ONE
        drawn, at = uniform(words, at, k)
        success = drawn == ZERO
        if success:
            success, at = _is_below(words, at, least, most, a, q)
    return (k & ONE) == ONE, at
