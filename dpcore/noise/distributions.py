"""Distribution functions of integer laws, as integers that are certified to the last bit.

F(k) = P(y <= k) is a real number. ``floors(law, bits)`` returns floor(2^bits F(k)) for all k that
matter. Where the law has no least number, the first floor is 0; where it has no largest number, the
last floor is 2^bits - 1. The proofs are in docs/proofs/noise.md, section "Tables".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil
from typing import Final, Protocol

from .exponential import ERROR, exponential

__all__ = [
    "Floors",
    "Geometric",
    "HalfGaussian",
    "TwoSidedGaussian",
    "TwoSidedGeometric",
    "floors",
    "kept_floors",
]

# Extra precision; it is nearly always enough, except for ratios very close to 1.
_SPARE_BITS: Final = 64


class Distribution(Protocol):
    """A law on the integers, whose distribution function can be bounded to any precision."""

    def __hash__(self) -> int: ...

    def lower_bounds(self, bits: int, precision: int) -> tuple[int, list[int], int]:
        """Return k, lower bounds of 2^precision F(k), F(k + 1), ..., and their largest error.

        A value is at least its bound, and less than bound plus error. (It is below 2^precision.)
        """
        ...


def floors(law: Distribution, bits: int) -> tuple[int, list[int]]:
    """Return k, and floor(2^bits F(k)), floor(2^bits F(k + 1)), ...

    The precision is raised until every floor is the same for both bounds.
    """
    precision = bits + _SPARE_BITS
    while True:
        least, bounds, error = law.lower_bounds(bits, precision)
        shift = precision - bits
        unit, last = 1 << shift, (1 << precision) - (1 << shift)
        if all(bound % unit + error <= unit or bound >= last for bound in bounds):
            return least, [bound >> shift for bound in bounds]
        precision *= 2


@lru_cache(maxsize=64)
def kept_floors(law: Distribution, bits: int) -> tuple[int, list[int]]:
    """Return ``floors``, cached. Do not use this for laws that depend on records."""
    return floors(law, bits)


Floors = Callable[[Distribution, int], tuple[int, list[int]]]


@dataclass(frozen=True, slots=True)
class TwoSidedGeometric:
    """floor(y / width) of a discrete Laplace y, P(y) proportional to exp(-rate |y|).

    With q = exp(-rate) and Q = q^width, F(h) = q Q^(-1 - h) / (1 + q) below 0, and
    1 - Q^(h + 1) / (1 + q) from 0 on.
    """

    rate: Fraction
    width: int

    def lower_bounds(self, bits: int, precision: int) -> tuple[int, list[int], int]:
        """Return k, lower bounds of 2^precision F(k), F(k + 1), ..., and their largest error."""
        one = 1 << precision
        q, ratio = (exponential(self.rate * steps, precision) for steps in (1, self.width))
        divisor = one + q + ERROR
        least = 1 << (precision - bits)
        left = _powers((q << precision) // divisor, ratio, precision, least)
        right = _powers((ratio << precision) // divisor, ratio, precision, least)
        # A quotient is too small by up to 2 (ERROR + 1), and each power by ERROR + 1 more.
        error = (ERROR + 1) * (max(len(left), len(right)) + 2)
        return -len(left), [*left[::-1], *(one - tail - error for tail in right)], error


@dataclass(frozen=True, slots=True)
class Geometric:
    """P(l) proportional to exp(-rate l) on 0, ..., size - 1: F(l) = (1 - r^(l + 1)) / (1 - r^size).

    F(size - 1) = 1 is left out: a word above all other boundaries means size - 1.
    """

    rate: Fraction
    size: int

    def lower_bounds(self, bits: int, precision: int) -> tuple[int, list[int], int]:
        """Return 0, lower bounds of 2^precision F(0), F(1), ..., and their largest error."""
        one = 1 << precision
        ratio = exponential(self.rate, precision)
        powers = list(
            accumulate(
                range(self.size - 2), lambda power, _: power * ratio >> precision, initial=ratio
            )
        )
        error = (ERROR + 1) * self.size
        whole = one - exponential(self.rate * self.size, precision)  # at most ERROR too large
        if whole <= 2 * error:  # too few digits to distinguish them
            return 0, [0], one
        bounds = [max(((one - power - error) << precision) // whole, 0) for power in powers]
        return 0, bounds, ((error + ERROR) << precision) // (whole - ERROR) + 2


@dataclass(frozen=True, slots=True)
class TwoSidedGaussian:
    """P(y) proportional to exp(-rate y^2) on all integers."""

    rate: Fraction

    def lower_bounds(self, bits: int, precision: int) -> tuple[int, list[int], int]:
        """Return k, lower bounds of 2^precision F(k), F(k + 1), ..., and their largest error."""
        tails, first, error = _bell(self.rate, precision)
        return _from_tails(tails, 2 * tails[0] + first, 2 * error, bits, precision, sides=2)


@dataclass(frozen=True, slots=True)
class HalfGaussian:
    """P(h) proportional to exp(-rate h^2) on 0, 1, ...."""

    rate: Fraction

    def lower_bounds(self, bits: int, precision: int) -> tuple[int, list[int], int]:
        """Return 0, lower bounds of 2^precision F(0), F(1), ..., and their largest error."""
        tails, first, error = _bell(self.rate, precision)
        return _from_tails(tails, tails[0] + first, error, bits, precision, sides=1)


def _powers(first: int, ratio: int, precision: int, least: int) -> list[int]:
    """Return first, first ratio, first ratio^2, ... down to the first that is below ``least``."""
    powers = [first]
    while powers[-1] >= least:
        powers.append(powers[-1] * ratio >> precision)
    return powers


def _bell(rate: Fraction, precision: int) -> tuple[list[int], int, int]:
    """Return lower bounds of the sums of exp(-rate j^2) over j > 0, over j > 1, ..., and of j = 0.

    The last value is the largest error of the bounds, in units of 2^-precision. The weight
    exp(-rate (j + 1)^2) is exp(-rate j^2) exp(-rate (2 j + 1)), and from j to j + 1 the last factor
    is multiplied by exp(-2 rate). The computed factor is too small by at most (ERROR + 1) (j + 1),
    and so the weight of j by at most (ERROR + 1) (j + 1)^2.
    """
    step, ratio = (exponential(rate * k, precision) for k in (1, 2))
    weights = [1 << precision]
    while weights[-1] > 0:
        weights.append(weights[-1] * step >> precision)
        step = step * ratio >> precision
    size = len(weights)
    short = (ERROR + 1) * size**2
    # Weights from j = size - 1 on are below a geometric series of ratio exp(-2 rate j).
    beyond = short * max(2, ceil(1 / (rate * (size - 1))))
    tails = list(accumulate(reversed(weights[1:]), initial=0))[::-1]
    return tails, weights[0], size * short + beyond


def _from_tails(
    tails: list[int], whole: int, error: int, bits: int, precision: int, sides: int
) -> tuple[int, list[int], int]:
    """Return bounds of F from bounds of the tails; the tails and ``whole`` may be too small.

    F(k) = 1 - tails[k] / whole for k >= 0, and F(-1 - k) = tails[k] / whole if there are two sides.
    """
    least = 1 << (precision - bits)
    shares = []
    for tail in tails:
        shares.append((tail << precision) // (whole + error))
        if shares[-1] < least:
            break
    one, wrong = 1 << precision, 2 * error + 2
    left = shares[::-1] if sides == 2 else []
    return -len(left), [*left, *(max(one - share - wrong, 0) for share in shares)], wrong
