"""The exact law of the bits of a unary encoding, several at a time (docs/proofs/local.md)."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError
from ...kernels.clients import unary as kernels
from ...noise import windows
from ...noise.sources import Source

__all__ = ["Law", "checked_epsilon", "fill", "law_of", "least_q"]

_LEAST_EPSILON: Final = Fraction(1, 2**20)
_MOST_EPSILON: Final = 40
_UNIT: Final = 2**64  # q is a multiple of 1 / _UNIT
_CELLS: Final = 2**16
_SPARSE: Final = Fraction(1, 20)  # below this q, ones are drawn one by one


class Law(NamedTuple):
    """A table of symbols and exact thresholds, and the kernel that they are for."""

    perturb: Callable[..., tuple[int, int]]
    table: NDArray[np.uint8]
    certain: int
    thresholds: NDArray[np.uint64]

    def words(self, size: int, q: Fraction) -> int:
        """Return about how many 16-bit words of randomness a client takes."""
        if self.perturb is kernels.perturb_dense:
            return 8 * -(-size // 64) + 4
        return int(size * (float(q) + 1 / 255) * 1.25) + 8


def checked_epsilon(epsilon: object) -> Fraction:
    """Return the epsilon of a report, exactly."""
    exact = _check.fraction("epsilon", epsilon)
    if not _LEAST_EPSILON <= exact <= _MOST_EPSILON:
        raise ParameterError("epsilon", epsilon, "must be between 2^-20 and 40")
    return exact


@lru_cache(maxsize=64)
def least_q(epsilon: Fraction, likely: int = 1, others: int = 1) -> Fraction:
    """Return the least multiple of 2^-64 that is at least u / (l exp(epsilon) + u).

    This is the probability of ``others``, u outcomes in all, if there are also ``likely`` ones, l,
    each with exp(epsilon) times the probability of one of the others. exp(epsilon) is irrational,
    so the number to round up is not an integer. 60 digits leave an error far below the 10^-30 that
    is added. A number that close to an integer would make q one unit too large, which is safe.
    """
    with decimal.localcontext(decimal.Context(prec=60)):
        exponent = decimal.Decimal(epsilon.numerator) / decimal.Decimal(epsilon.denominator)
        scaled = _UNIT * others / (likely * exponent.exp() + others) + decimal.Decimal("1e-30")
        return Fraction(int(scaled.to_integral_value(decimal.ROUND_CEILING)), _UNIT)


@lru_cache(maxsize=8)
def law_of(q: Fraction) -> Law:
    """Return the law of a symbol, for q a multiple of 2^-64 (docs/proofs/local.md, section 2)."""
    one = int(q * _UNIT)
    zero = _UNIT - one
    if q < _SPARSE:
        perturb, digits = kernels.perturb_sparse, 255
        weights = [(one * zero**k) << (64 * (254 - k)) for k in range(255)] + [zero**255]
    else:
        perturb, digits = kernels.perturb_dense, 8
        weights = [one ** k.bit_count() * zero ** (8 - k.bit_count()) for k in range(256)]
    cells = [(weight << 16) >> (64 * digits) for weight in weights]
    certain = sum(cells)
    table = np.zeros(_CELLS, np.uint8)
    table[:certain] = np.repeat(np.arange(256, dtype=np.uint8), cells)
    thresholds, below = np.empty((256, digits + 1), np.uint64), 0
    for k, weight in enumerate(weights):
        below += (weight << 16) & (2 ** (64 * digits) - 1)
        text = below.to_bytes(8 * (digits + 1), "big")
        thresholds[k] = np.frombuffer(text, ">u8")
    for array in (table, thresholds):
        array.flags.writeable = False  # all calls share them
    return Law(perturb, table, certain, thresholds)


def fill(
    reports: NDArray[np.uint64],
    values: NDArray[np.int64],
    stream: Source,
    *,
    size: int,
    q: Fraction,
) -> None:
    """Fill reports, (R, W), for the values of R clients; -1 is no value."""
    law = law_of(q)
    per_client = law.words(size, q)
    # Words of an incomplete client at the end of the last window.
    cut_short = np.empty(0, np.uint16)
    done = 0
    while done < values.size:
        fresh = min(per_client * (values.size - done) // 4 + 16, max(windows.WINDOW, per_client))
        window = windows.next_window(cut_short, fresh, stream)
        finished, used = law.perturb(
            window, values[done:], size, law.table, law.certain, law.thresholds, reports[done:]
        )
        done += finished
        cut_short = window[used:]
