"""Bounds of exp(-x) as integers, to any precision, which certify all tables of noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

__all__ = ["ERROR", "exponential", "is_below_exponential"]

ERROR: Final = 2  # the error of ``exponential``, in units of its last bit
_SMALL_BITS: Final = 8  # arguments of the series are at most 2^-8
_GUARD_BITS: Final = 24


def exponential(x: Fraction, precision: int) -> int:
    """Return an integer n with n <= 2^precision exp(-x) <= n + ERROR, for x >= 0.

    Notes
    -----
    exp(-x) = exp(-y)^(2^m), y = x / 2^m <= 2^-8. The terms of the alternating series of exp(-y)
    fall, so the error of stopping is less than the last term. Each term is rounded down twice, and
    y once. Squares are rounded outwards. The code checks that the bounds are as close as promised.
    """
    if x >= precision:  # exp(-x) < 2^-x
        return 0
    halvings = int(x).bit_length() + _SMALL_BITS
    guard = halvings + _GUARD_BITS
    bits = precision + guard
    y = (x.numerator << bits) // (x.denominator << halvings)
    series, term, terms = 0, 1 << bits, 0
    while term > 0:
        series += -term if terms % 2 else term
        terms += 1
        term = (term * y >> bits) // terms
    low, high = series - 2 * terms - 2, series + 2 * terms + 2
    for _ in range(halvings):
        low, high = low * low >> bits, (high * high >> bits) + 1
    n = low >> guard
    if high > (n + ERROR) << guard:
        raise ArithmeticError(f"exp(-{x}) is not known to {precision} bits")
    return n


def is_below_exponential(x: Fraction, words: Iterator[int], bits: int) -> bool:
    """Return whether a uniform real, whose digits are words, is below exp(-x), x >= 0.

    This is exactly Bernoulli(exp(-x)). Words of ``bits`` bits are read until the answer is certain.
    """
    drawn, known = next(words), bits
    while True:
        precision = known + 2 * bits
        bound = exponential(x, precision)
        more = precision - known
        if (drawn + 1) << more <= bound:
            return True
        if drawn << more >= bound + ERROR:
            return False
        drawn, known = drawn << bits | next(words), known + bits
