"""Tables of distribution functions, for draws that take a word a digit (docs/proofs/noise.md)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..kernels.noise import bins, inversion
from .distributions import (
    Distribution,
    Floors,
    Geometric,
    HalfGaussian,
    TwoSidedGaussian,
    TwoSidedGeometric,
    floors,
    kept_floors,
)
from .exponential import is_below_exponential

__all__ = [
    "WORD_BITS",
    "Bins",
    "Digits",
    "gaussian_rows",
    "kept_laplace_digits",
    "laplace_digits",
    "table_entries",
    "value",
]

WORD_BITS: Final = 32
_GUIDE_BITS: Final = 14  # the largest guide of a table has 32 KiB, which fits the first-level cache
_SPARE_BITS: Final = 4  # a guide has 16 or more entries for each boundary, within that limit
_MOST: Final = 2**62  # the largest magnitude; larger ones have a probability below exp(-500)
_ENTRIES: Final = 2**11  # the largest number of entries of a table: 8 KiB
_FEW_ENTRIES: Final = 2**7  # up to ``_FEW`` draws take less time than making a long table
_FEW: Final = 2**12
# Boundaries of a Laplace table for each bit of a word and each unit of its scale.
_BOUNDARIES: Final = 1.4
_LEAST_IN_BINS: Final = 2**14  # the least sigma^2 for bins; tables have about 13 sigma entries


class Digits:
    """Integers of D independent digits, each with its own law.

    Parameters
    ----------
    laws
        The laws of the digits. The first digit may be negative.
    radix
        The radix of all digits except the first.
    word_bits
        The bits of a word, at most 32. Fewer bits are for tests, which go through all words.
    floors
        ``distributions.kept_floors``, or ``floors`` for laws that depend on records.

    Notes
    -----
    y = (... (d_1 R + d_2) R + ...) + d_D. If the first digit is negative, -1 - y has the other
    digits, and the first is -1 - d_1.
    """

    def __init__(
        self,
        laws: tuple[Distribution, ...],
        radix: int,
        word_bits: int = WORD_BITS,
        floors: Floors = kept_floors,
    ) -> None:
        self.words = len(laws)
        self._laws, self._radix, self._word_bits, self._floors = laws, radix, word_bits, floors
        tables = [floors(law, word_bits) for law in laws]
        self._least, _ = tables[0]
        size = 1 + max(len(boundaries) for _, boundaries in tables)
        self._shift = _shift(size, word_bits)
        self._boundaries = np.array([_padded(row, word_bits, size) for _, row in tables])
        self._guides = np.array([_guide(row, self._shift, word_bits) for row in self._boundaries])

    def sample(self, words: NDArray[np.uint32], out: NDArray[np.int64]) -> tuple[int, int]:
        """Fill ``out`` from rows of words, and return how many entries and rows are done with."""
        rows = min(len(words), out.size)
        drawn = inversion.invert(
            words[:rows],
            out[:rows],
            self._boundaries,
            self._guides,
            self._shift,
            self._least,
            self._radix,
        )
        return drawn, drawn

    def one(self, words: Iterator[int]) -> int:
        """Return one draw, from as many words as it takes."""
        first, *rest = (value(law, words, self._word_bits, self._floors) for law in self._laws)
        magnitude = first if first >= 0 else -1 - first
        for digit in rest:
            magnitude = magnitude * self._radix + digit
        return _fitting(magnitude if first >= 0 else -1 - magnitude)


class Bins:
    """The discrete Gaussian law in bins of 2^b integers, with rejection inside the bins.

    Parameters
    ----------
    sigma_squared
        The parameter of the law, at least 4096.
    word_bits
        The bits of a word: at most 32, and more than b, the largest b with 64 2^b <= sigma.
    """

    words = 3

    def __init__(self, sigma_squared: Fraction, word_bits: int = WORD_BITS) -> None:
        self._rate, self._word_bits = 1 / (2 * sigma_squared), word_bits
        bits = (int(sigma_squared) >> 12).bit_length() - 1 >> 1
        self._width = 1 << bits
        self._law = HalfGaussian(self._rate * self._width**2)
        _, boundaries = kept_floors(self._law, word_bits)
        self._shift = _shift(1 + len(boundaries), word_bits)
        self._boundaries = _padded(boundaries, word_bits, 1 + len(boundaries))
        self._guide = _guide(self._boundaries, self._shift, word_bits)

    def sample(self, words: NDArray[np.uint32], out: NDArray[np.int64]) -> tuple[int, int]:
        """Fill ``out`` from rows of words, and return how many entries and rows are done with."""
        return bins.accepted_proposals(
            words,
            out,
            self._boundaries,
            self._guide,
            self._shift,
            np.uint64(self._width),
            np.uint64(int(self._rate * 2**bins.RATE_BITS)),
            np.uint64(self._word_bits),
        )

    def one(self, words: Iterator[int]) -> int:
        """Return one draw, from as many words as it takes."""
        while True:
            start = value(self._law, words, self._word_bits) * self._width
            second = next(words)
            magnitude = start + second % self._width
            negative = second >> (self._word_bits - 1) == 1
            gamma = (magnitude**2 - start**2) * self._rate
            accepted = is_below_exponential(gamma, words, self._word_bits)
            if accepted and not (negative and magnitude == 0):
                return _fitting(-magnitude if negative else magnitude)


def value(
    law: Distribution, words: Iterator[int], word_bits: int, floors: Floors = kept_floors
) -> int:
    """Return the least k with U < F(k), where U is a uniform real whose digits are words.

    Words are read until k is certain.
    """
    drawn, bits = next(words), word_bits
    while True:
        least, boundaries = floors(law, bits)
        at = bisect_left(boundaries, drawn)
        if at == len(boundaries) or boundaries[at] != drawn:
            return least + at
        drawn, bits = drawn << word_bits | next(words), bits + word_bits


def _padded(boundaries: list[int], word_bits: int, size: int) -> NDArray[np.uint32]:
    """Return the boundaries, padded to (size,) with the largest word."""
    return np.array(boundaries + [2**word_bits - 1] * (size - len(boundaries)), np.uint32)


def _guide(boundaries: NDArray[np.uint32], shift: np.uint32, word_bits: int) -> NDArray[np.uint16]:
    """Return the number of boundaries below each multiple of 2^shift."""
    size = 1 << (word_bits - int(shift))
    below = np.bincount((boundaries >> shift) + np.uint32(1), minlength=size + 1)[:size]
    return np.cumsum(below, dtype=np.uint16)


def _shift(size: int, word_bits: int) -> np.uint32:
    """Return the number of low bits of a word that the guide of a table ignores."""
    return np.uint32(word_bits - min(word_bits, _GUIDE_BITS, size.bit_length() + _SPARE_BITS))


def _fitting(y: int) -> int:
    return max(-_MOST, min(y, _MOST))


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
