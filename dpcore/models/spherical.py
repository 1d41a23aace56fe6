"""Noise with the density exp(-|z|), the same in all directions, in doubles near the ideal variate.

The ideal variate is a function of uniform reals. 512 bits of each are drawn. The returned vector
differs from the ideal one by at most a known share of its length (docs/proofs/models.md, section
4).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..noise.sources import Source

__all__ = ["longest", "relative_error", "spherical"]

_WORDS: Final = 8  # words for a uniform real number
_ONE: Final = 1 << (64 * _WORDS + 1)


def longest(size: int) -> float:
    """Return the length of the longest vectors. Longer ones are rarer than 1 in 2^256."""
    return 256.0 + 2.0 * size


def relative_error(size: int) -> float:
    """Return the share of its length by which a vector may be off, if libm is off by 4 ulp."""
    return (64 + 2 * size) * 2.0**-52


def spherical(size: int, stream: Source) -> NDArray[np.float64]:
    """Draw a vector of density proportional to exp(-|z|).

    Parameters
    ----------
    size
        The size of the vector, at least 1.
    stream
        A stream of words, which is advanced.

    Returns
    -------
    numpy.ndarray
        (size,), at most ``longest(size)`` long.

    Notes
    -----
    The length has the Gamma law, as a sum of ``size`` exponential variates. The direction is that
    of normal variates, in pairs by Box & Muller (1958): the root of twice an exponential variate,
    and an angle within a quadrant. Two more bits choose the quadrant.
    """
    length = min(sum(_exponential(stream) for _ in range(size)), longest(size))
    normal = np.empty(2 * ((size + 1) // 2))
    for k in range(0, normal.size, 2):
        radius = math.sqrt(2.0 * _exponential(stream))
        share, rest = _uniform(stream)
        quadrant = _word(stream) >> 62
        # These are sines of small angles. A cosine near a right angle has a larger relative error.
        normal[k] = math.copysign(radius * math.sin(math.pi / 2 * rest), (quadrant & 1) - 0.5)
        normal[k + 1] = math.copysign(radius * math.sin(math.pi / 2 * share), (quadrant & 2) - 1.0)
    direction = normal[:size]
    return direction * (length / math.hypot(*direction))


def _exponential(stream: Source) -> float:
    share, rest = _uniform(stream)
    return -math.log(share) if share < 0.5 else -math.log1p(-rest)


def _uniform(stream: Source) -> tuple[float, float]:
    """Return a uniform variate u and 1 - u, each to double precision."""
    words = np.empty(_WORDS, np.uint64)
    stream.fill(words)
    drawn = 2 * int.from_bytes(words.astype("<u8").tobytes(), "little") + 1  # in between
    return drawn / _ONE, (_ONE - drawn) / _ONE


def _word(stream: Source) -> int:
    word = np.empty(1, np.uint64)
    stream.fill(word)
    return int(word[0])
