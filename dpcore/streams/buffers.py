"""Prefix sums as a product of two Toeplitz matrices, B with buffers and C: sums, norms, lags."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..kernels.trees.buffers import FINER, LIMB
from .base import MOST_STEPS
from .buffer_rates import rates

__all__ = ["Buffers", "buffers_for"]

_ALL_LAGS: Final = 2**12  # horizons up to this one try all lags
_GRID: Final = 1.0 + 2.0**-9  # from lag to lag, beyond them
_UPWARD: Final = 1.0 + 2.0**-20  # covers rounding, which is below 10^-9 (tests/streams)
_STEPS_AT_ONCE: Final = 2**12
_BELOW_ONE: Final = 1.0 - 2.0**-40


@dataclass(frozen=True, slots=True, eq=False)
class Buffers:
    """b_k = s + sum_i v_i (1 - l_i)^k for k >= 1, b_0 = 1, and c = 1 / ((1 - x) b).

    s, l_i and v_i (1 - l_i) are exact: integers below 2^31 over powers of two. The rest are
    doubles.

    Parameters
    ----------
    horizon
        The number of rows of B and C.
    decays, weights
        (d, 2) and (d + 1, 2): l_i, and s and v_i (1 - l_i), as ``kernels.buffered`` takes them.
    level, zeros, shares
        s, l and v.
    poles, parts
        (d + 1,) m and w with c_k = sum_j w_j (1 - m_j)^k, all w_j > 0.
    """

    horizon: int
    decays: NDArray[np.int64]
    weights: NDArray[np.int64]
    level: float
    zeros: NDArray[np.float64]
    shares: NDArray[np.float64]
    poles: NDArray[np.float64]
    parts: NDArray[np.float64]

    @property
    def rounding(self) -> float:
        """How much the rounding of the noise differs between two streams: below so many units."""
        return 1.0 + (len(self.decays) + 5) * 2.0**-FINER

    @property
    def inverse_norm(self) -> float:
        """The largest singular value of B^-1 is at most this: |(1 - x) c(x)| at x = -1."""
        return float(2.0 * np.sum(self.parts / (2.0 - self.poles))) * _UPWARD

    @property
    def one(self) -> float:
        """The largest squared norm of a column of C: a record that comes, or does not."""
        return float(self.squares(np.array([self.horizon]))[0]) * _UPWARD

    @property
    def sum_of_column(self) -> float:
        """The largest sum of a column of C."""
        decayed = np.exp(self.horizon * _log(self.poles))
        return float(np.sum(self.parts * (1.0 - decayed) / self.poles)) * _UPWARD

    @property
    def moved(self) -> float:
        """A bound on the squared norm of a column of C, or of the difference of two columns."""
        return _moved(self)

    def squares_of_b(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return sum_{k < t} b_k^2 for each step t."""
        out = np.empty(steps.shape)
        both, square = _pairs(self.zeros), np.outer(self.shares, self.shares)
        at_zero = (self.level + self.shares.sum()) ** 2
        for start in range(0, steps.size, _STEPS_AT_ONCE):
            t = steps[start : start + _STEPS_AT_ONCE].astype(np.float64)
            once = -np.expm1(t[:, None] * _log(self.zeros)) / self.zeros
            twice = -np.expm1(t[:, None, None] * _log(both)) / both
            total = t * self.level**2 + 2.0 * self.level * (once @ self.shares)
            total += np.einsum("tij,ij->t", twice, square)
            out[start : start + _STEPS_AT_ONCE] = total + (1.0 - at_zero)
        return out

    def squares_of_difference(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the squared norms of rows of B, ``last`` minus ``first``.

        A draw of age k at the first step has weight b_(k + d) - b_k, with d = last - first. The d
        draws after it have b_0, ..., b_(d - 1).
        """
        square, both = np.outer(self.shares, self.shares), _pairs(self.zeros)
        gaps = last - first
        out = np.where(gaps > 0, self.squares_of_b(np.maximum(gaps, 1)), 0.0)
        rest = 1.0 - self.level - self.shares.sum()  # b_0 is 1: this much is in no buffer
        for start in range(0, gaps.size, _STEPS_AT_ONCE):
            part = slice(start, start + _STEPS_AT_ONCE)
            gap, ages = gaps[part].astype(np.float64), first[part].astype(np.float64)
            faded = np.expm1(gap[:, None] * _log(self.zeros))
            twice = -np.expm1(ages[:, None, None] * _log(both)) / both
            total = np.einsum("tij,ij,ti,tj->t", twice, square, faded, faded)
            newest = faded @ self.shares - rest * (gap > 0)  # of the draw at the first step
            out[part] += total + newest**2 - (faded @ self.shares) ** 2
        return out

    def squares(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sums of the first squares of c, for counts of 1 or more."""
        return self._tails(np.zeros(1, np.int64), counts)

    def products(self, lags: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return sum_{k < T - lag} c_k c_(k + lag)."""
        return self._tails(lags, self.horizon - lags)

    def _tails(self, lags: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return sum_{k < count} c_k c_(k + lag)."""
        both = _pairs(self.poles)
        out = np.zeros(counts.size)
        for i, part in enumerate(self.parts):
            inner = -np.expm1(counts[:, None] * _log(both[i])) / both[i]
            out += (
                part
                * np.exp(np.where(lags > 0, lags * _log(self.poles[i]), 0.0))
                * (inner @ self.parts)
            )
        return out


@lru_cache(maxsize=64)
def buffers_for(horizon: int | None) -> Buffers:
    """Return the buffers for a number of steps, or for one that is not known."""
    poles, zeros = rates(horizon)
    shares, level = _partial_fractions(poles, zeros)
    total = level + shares.sum()
    decays = [_mantissa(rate) for rate in zeros]
    exact = [Fraction(m, 2 ** (LIMB + k)) for m, k in decays]
    level_parts = _mantissa(level / total * _BELOW_ONE)
    shown = [
        _mantissa(share / total * _BELOW_ONE * float(1 - rate))
        for share, rate in zip(shares, exact, strict=True)
    ]
    level_exact = Fraction(level_parts[0], 2 ** (LIMB + level_parts[1]))
    shares_exact = [
        Fraction(m, 2 ** (LIMB + k)) / (1 - rate) for (m, k), rate in zip(shown, exact, strict=True)
    ]
    rest = 1 - level_exact - sum(shares_exact)  # of b_0
    assert rest > 0  # all weights are positive, so that c is positive and decreasing
    places = np.array([0.0, *map(float, exact), 1.0])
    residues = np.array([float(level_exact), *map(float, shares_exact), float(rest)])
    found, parts = _inverted(places, residues)
    return Buffers(
        MOST_STEPS if horizon is None else horizon,
        np.array(decays, np.int64),
        np.array([level_parts, *shown], np.int64),
        residues[0],
        places[1:-1],
        residues[1:-1],
        found,
        parts,
    )


@lru_cache(maxsize=64)
def _moved(buffers: Buffers) -> float:
    """Return the largest one for small horizons.

    For large ones, lags between two of a grid have the larger square of the one, and the smaller
    product of the other.
    """
    last = buffers.horizon - 1
    if last <= _ALL_LAGS:
        low = high = np.arange(1, last + 1)
    else:
        count = math.ceil(math.log(last) / math.log(_GRID)) + 1
        lags = np.unique(np.rint(np.geomspace(1, last, count)).astype(np.int64))
        low, high = np.append(lags[:-1], last), np.append(lags[1:], last)
    apart = buffers.squares(buffers.horizon - low) - 2.0 * buffers.products(high)
    return buffers.one + max(0.0, float(apart.max(initial=0.0)) * _UPWARD)


def _partial_fractions(
    poles: NDArray[np.float64], zeros: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return v and s of b = prod (1 - (1 - m_i) x) / (1 - (1 - l_i) x) / (1 - x)."""
    among = zeros[:, None] - zeros
    np.fill_diagonal(among, 1.0)
    products = np.prod(zeros[:, None] - poles, axis=1) / np.prod(among, axis=1)
    return np.abs(products) / zeros, float(np.prod(poles / zeros))


def _inverted(
    places: NDArray[np.float64], residues: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return m and w of c, from b(x) = sum_i r_i / (1 - (1 - p_i) x).

    With x = 1 / (1 - m), b is 0 at one m between any two neighbouring p, where
    sum_i r_i / (p_i - m) is 0, because that sum grows from minus to plus infinity.
    """
    low, high = places[:-1].copy(), places[1:].copy()
    for _ in range(100):
        middle = 0.5 * (low + high)
        is_low = np.sum(residues / (places - middle[:, None]), axis=1) < 0.0
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    found = 0.5 * (low + high)
    slopes = np.sum(residues[:, None] / (places[:, None] - found[:-1]) ** 2, axis=0)
    parts = 1.0 / ((1.0 - found[:-1]) * found[:-1] * slopes)
    return found, np.append(parts, 1.0 - parts.sum())


def _mantissa(number: float) -> tuple[int, int]:
    """Return m in [2^30, 2^31) and k with m / 2^(31 + k) just below a number in (0, 1)."""
    mantissa, exponent = math.frexp(number)
    return math.floor(math.ldexp(mantissa, LIMB)), -exponent


def _pairs(rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 - (1 - r_i) (1 - r_j)."""
    return rate[:, None] + rate - rate[:, None] * rate


def _log(rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(1 - r), and a very small number instead of minus infinity."""
    return np.log1p(-np.minimum(rate, 1.0 - 2.0**-53))
