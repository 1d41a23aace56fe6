"""The logarithm of factorials to any number of digits, in decimal arithmetic."""

from __future__ import annotations

import decimal
from contextlib import AbstractContextManager
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import comb, prod

__all__ = ["context", "inverse", "log_gamma"]


@lru_cache(maxsize=2**12)
def log_gamma(x: int, digits: int) -> Decimal:
    """Return log((x - 1)!): Stirling's series from x >= digits on; below that, (y - 1)! / (x ...).

    The terms of the series alternate, so the error is less than the first term that is left out.
    """
    with context(digits):
        y = max(x, digits)
        z, logarithm = Decimal(y), _half_log_two_pi(digits)
        logarithm += (z - Decimal("0.5")) * z.ln() - z
        power, least, k = z, Decimal(1).scaleb(-digits), 1
        while True:
            bernoulli = _bernoulli(2 * k)
            term = _quotient(bernoulli / (2 * k * (2 * k - 1))) / power
            if abs(term) < least:
                break
            logarithm += term
            power, k = power * z * z, k + 1
        return logarithm - Decimal(prod(range(x, y))).ln() if y > x else logarithm


@lru_cache(maxsize=8)
def _half_log_two_pi(digits: int) -> Decimal:
    """Return log(2 pi) / 2, with pi from Machin's formula."""
    unit: int = 10 ** (digits + 10)

    def inverse_tangent(x: int) -> int:
        term: int = unit // x
        total, k = term, 1
        while term:
            term //= -x * x
            k += 2
            total += term // k
        return total

    pi: int = 4 * (4 * inverse_tangent(5) - inverse_tangent(239))
    return (2 * Decimal(pi) / unit).ln() / 2


@lru_cache(maxsize=512)
def _bernoulli(n: int) -> Fraction:
    if n == 0:
        return Fraction(1)
    below = (k for k in range(n) if k < 2 or k % 2 == 0)
    return -sum((comb(n + 1, k) * _bernoulli(k) for k in below), Fraction(0)) / (n + 1)


def context(digits: int) -> AbstractContextManager[decimal.Context]:
    """Return a context with the given number of digits and the widest range of exponents."""
    return decimal.localcontext(
        decimal.Context(prec=digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    )


def inverse(scale: Fraction) -> Decimal:
    """Return 1 / scale."""
    return Decimal(scale.denominator) / Decimal(scale.numerator)


def _quotient(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / Decimal(exact.denominator)
