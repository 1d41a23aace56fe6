"""The number of digits and the tables for the draws of a law."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final

from .distributions import (
    Floors,
    Geometric,
    TwoSidedGaussian,
    TwoSidedGeometric,
    floors,
    kept_floors,
)
from .tables import WORD_BITS, Bins, Digits

__all__ = ["gaussian_rows", "kept_laplace_digits", "laplace_digits", "table_entries"]

_ENTRIES: Final = 2**11  # the largest number of entries of a table: 8 KiB
_FEW_ENTRIES: Final = 2**7  # up to ``_FEW`` draws take less time than making a long table
_FEW: Final = 2**12
# Boundaries of a Laplace table for each bit of a word and each unit of its scale.
_BOUNDARIES: Final = 1.4
_LEAST_IN_BINS: Final = 2**14  # the least sigma^2 for bins; tables have about 13 sigma entries


def laplace_digits(
    scale: Fraction,
    entries: int = _ENTRIES,
    word_bits: int = WORD_BITS,
    floors: Floors = floors,
) -> Digits:
    """Return the digits of discrete Laplace variables, as many as keep the tables small.

    A table holds about 2 log(2) word_bits boundaries for each unit of the scale, which is counted
    in units of ``width``. The table of the first digit has at most ``entries`` entries, and those
    of the other digits have half as many.
    """
    radix, width, laws = entries // 2, 1, []
    while _BOUNDARIES * word_bits * scale > entries * width:
        laws.append(Geometric(width / scale, radix))
        width *= radix
    return Digits((TwoSidedGeometric(1 / scale, width), *laws[::-1]), radix, word_bits, floors)


@lru_cache(maxsize=128)
def kept_laplace_digits(scale: Fraction, entries: int) -> Digits:
    """Return ``laplace_digits``, cached. Do not use this for a scale that depends on records."""
    return laplace_digits(scale, entries, floors=kept_floors)


def table_entries(draws: int) -> int:
    """Return the largest sensible number of entries of a table for ``draws`` draws."""
    return _ENTRIES if draws > _FEW else _FEW_ENTRIES


@lru_cache(maxsize=128)
def gaussian_rows(sigma_squared: Fraction) -> Digits | Bins:
    """Return one digit, or bins if sigma is large, cached."""
    if sigma_squared >= _LEAST_IN_BINS:
        return Bins(sigma_squared)
    return Digits((TwoSidedGaussian(1 / (2 * sigma_squared)),), 1)
