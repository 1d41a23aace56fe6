"""Cauchy noise for smooth sensitivity: how much is enough, and exact draws, rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from ..kernels.selection.medians import RATIO_UNIT
from ..noise.sources import Source

__all__ = ["CauchyNoise", "rounded_cauchy"]

_MOST_EPSILON: Final = 8.0  # larger epsilons are treated as this one, because its noise is almost 0
_SAFE: Final = 1 - 2.0**-40  # the relative error of doubles is below 2^-45 here


@dataclass(frozen=True, slots=True)
class CauchyNoise:
    """Noise of scale S / shift, where S is the smooth sensitivity for exp(-beta) = ratio / 2^24.

    Parameters
    ----------
    ratio
        An integer within [1, 2^24].
    shift
        The number of scales by which the median may move.
    """

    ratio: int
    shift: Fraction

    @classmethod
    def least(cls, epsilon: Fraction) -> CauchyNoise:
        """Return the least noise for an epsilon of at least 2^-16.

        docs/proofs/selection.md, section 11, has the proof. beta is epsilon / sqrt(2) or a little
        less, which is best where the records are spread evenly. With z = exp(beta), the square of
        the shift is the smaller of 2 (cosh(epsilon) - 1) and 2 z (cosh(epsilon) - cosh(beta)).
        """
        most = min(float(epsilon), _MOST_EPSILON)
        ratio = math.ceil(RATIO_UNIT * math.exp(-most / math.sqrt(2)))
        beta = -math.log1p((ratio - RATIO_UNIT) / RATIO_UNIT)
        alone = 4 * math.sinh(most / 2) ** 2
        both = 4 * math.exp(beta) * math.sinh((most + beta) / 2) * math.sinh((most - beta) / 2)
        return cls(ratio, Fraction(_SAFE * math.sqrt(min(alone, both))))


def rounded_cauchy(scale: Fraction, stream: Source) -> int:
    """Return the integer nearest to a Cauchy variate of that scale, exactly distributed.

    V / U is standard Cauchy if (U, V) is uniform on the half disc U^2 + V^2 < 1, U > 0. Bits of
    both are drawn until it is certain whether the point is inside, and which integer is nearest.
    """
    numerator, denominator = scale.numerator, scale.denominator
    while True:
        u, v = _words(stream)
        negative = bool(v & 1)
        u, v, one = u >> 1, v >> 1, 1 << 63  # U is within [u, u + 1] / one, |V| likewise
        while u * u + v * v < one * one:
            if (u + 1) ** 2 + (v + 1) ** 2 <= one * one and u > 0:
                low, d_low = 2 * numerator * v, 2 * denominator * (u + 1)
                high, d_high = 2 * numerator * (v + 1), 2 * denominator * u
                nearest = (low + denominator * (u + 1)) // d_low
                if nearest == (high + denominator * u) // d_high:
                    return -nearest if negative else nearest
            more_u, more_v = _words(stream)
            u, v, one = u << 64 | more_u, v << 64 | more_v, one << 64


def _words(stream: Source) -> tuple[int, int]:
    drawn = np.empty(2, np.uint64)
    stream.fill(drawn)
    return int(drawn[0]), int(drawn[1])
