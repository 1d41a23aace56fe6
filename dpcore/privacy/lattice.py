"""Gaussian noise on a lattice that is fine enough for the analytic formula of continuous noise.

The proof is in docs/proofs/privacy.md, section 5.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from ..errors import ParameterError
from ..noise.laws import DiscreteGaussian
from .allowance import Allowance, rho_of
from .gaussian import gaussian_sigma
from .guarantees import double_above

__all__ = ["LatticeNoise", "integer_noise", "kept_sigma", "lattice_noise", "least_deviation"]

_FINE: Final = 25  # sigma is about 2^25 units if the lattice may be so fine
_LEAST_BITS: Final = -32
_LEAST_SIGMA: Final = 8.0  # units; with this sigma, the theta function is 1 to 500 digits
_TAIL: Final = 800.0  # with probability e^-_TAIL, a noise vector is longer than the proof allows
LEAST_DELTA: Final = 1e-300
_MARGIN: Final = 1.0 + 1e-12  # a factor that covers the rounding of a few operations on doubles


class LatticeNoise(NamedTuple):
    """Noise for a vector of totals that are rounded down to multiples of 2^-bits.

    Parameters
    ----------
    law
        The law of the noise in each coordinate, in units of 2^-bits.
    bits
        The number of bits of the lattice.
    change
        The largest Euclidean distance of two neighbours' rounded totals, in units of 2^-bits.
    """

    law: DiscreteGaussian
    bits: int
    change: float

    @property
    def rho(self) -> Fraction:
        """The parameter of zero-concentrated differential privacy, without a delta."""
        return rho_of(self.law, Fraction(self.change) ** 2)

    @property
    def variance(self) -> float:
        """The variance of each total's noise, in squares of the totals' own unit."""
        return self.law.variance * 4.0**-self.bits


@lru_cache(maxsize=256)
def lattice_noise(
    budget: Allowance, change: float, coordinates: int, most_bits: int, are_whole: bool = False
) -> LatticeNoise:
    """Return the noise for totals, given the largest difference between neighbours.

    Parameters
    ----------
    budget
        An allowance with rho, or with epsilon and delta.
    change
        The largest Euclidean distance of two neighbours' totals before rounding.
    coordinates
        The number of all totals. They may belong to several questions, which may be adaptive.
    most_bits
        The largest number of bits of the lattice.
    are_whole
        Whether the totals are integers. Lattices of 0 bits and more do not round these.

    Raises
    ------
    ParameterError
        The budget is too small for a sampler of 53 bits, or for this number of coordinates; or
        delta is below 10^-300.

    Notes
    -----
    Rounding two vectors down changes their difference by at most one unit in each coordinate, and
    so by at most sqrt(coordinates) units in length. The noise is for ``change`` plus this length.
    """
    # This choice of the lattice may be approximate. For a tiny budget, any lattice will do.
    deviation = max(least_deviation(budget) * change, 2.0**-1000)
    bits = max(_LEAST_BITS, min(most_bits, _FINE - math.ceil(math.log2(deviation))))
    rounding = 0.0 if are_whole and bits >= 0 else math.sqrt(coordinates)
    units = (change * 2.0**bits + rounding) * _MARGIN
    return LatticeNoise(_noise(budget, units, coordinates), bits, units)


@lru_cache(maxsize=256)
def integer_noise(budget: Allowance, changes: Fraction, coordinates: int) -> DiscreteGaussian:
    """Return the noise for integers, given the largest sum of squared differences.

    Parameters
    ----------
    budget
        An allowance with rho, or with epsilon and delta.
    changes
        The largest sum of squared differences between neighbours. It should be large, so the
        integers should be multiples of a small unit.
    coordinates
        The number of integers.

    Raises
    ------
    ParameterError
        The budget is too small for a sampler of 53 bits.
    """
    assert budget.rho is not None
    by_rho = changes / (2 * budget.rho)
    if budget.stated is not None:
        # The budget is too small for the formula with so many coordinates.
        with suppress(ParameterError):
            law = _noise(budget, math.sqrt(changes) * _MARGIN, coordinates)
            if law.sigma_squared < by_rho:
                return law
    return budget.gaussian(by_rho)


def least_deviation(budget: Allowance) -> float:
    """Return a lower bound, and nearly the value, of sigma for a change of 1."""
    if budget.stated is None:
        assert budget.rho is not None
        return 1.0 / math.sqrt(2.0 * double_above(budget.rho))
    epsilon, delta = budget.stated
    return kept_sigma(double_above(epsilon), delta)


@lru_cache(maxsize=256)
def kept_sigma(epsilon: float, delta: float) -> float:
    """Return ``gaussian_sigma``, cached, because all mechanisms of a budget ask for it."""
    return gaussian_sigma(epsilon, delta)


def _noise(budget: Allowance, units: float, coordinates: int) -> DiscreteGaussian:
    """Return the noise for ``coordinates`` integers that change by ``units`` in length."""
    if budget.stated is None:
        assert budget.rho is not None
        return budget.gaussian(Fraction(units) ** 2 / (2 * budget.rho))
    epsilon, delta = budget.stated
    # This is the cost of the lattice. An integer is at most e^upper times and at least e^-lower
    # times as likely as under rounded continuous noise.
    least = max(_LEAST_SIGMA, least_deviation(budget) * units)
    upper = coordinates / (24.0 * least**2) * _MARGIN
    longest = math.sqrt(coordinates + 2.0 * math.sqrt(_TAIL * coordinates) + 2.0 * _TAIL)
    lower = (longest + units / least) ** 2 / (8.0 * least**2) * _MARGIN
    left = Fraction(epsilon) - Fraction(upper) - Fraction(lower)
    if left <= 0 or delta < LEAST_DELTA:
        name, value = ("epsilon", float(epsilon)) if left <= 0 else ("delta", delta)
        raise ParameterError(name, value, f"is too small for noise in {coordinates} coordinates")
    below = math.nextafter(float(left), 0.0)
    sigma = gaussian_sigma(below, delta * math.exp(-upper) / _MARGIN)
    enough = max(Fraction(_LEAST_SIGMA), Fraction(sigma) * Fraction(units))
    return budget.gaussian(enough**2)
