"""The lattice and the noise of a sum of vectors: as fine as 64 bits and the samplers allow."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...noise.gaussian_shares import GaussianShares
from ...noise.laws import DiscreteLaplace
from ...noise.polya import PolyaShares
from ...noise.sources import Source
from ...privacy.allowance import Allowance, rho_of
from ...privacy.guarantees import Neighbours
from ...privacy.lattice import integer_noise
from .bounds import Bound
from .function import MOST_BITS, Function, checked_values
from .lattices import Lattice, Lengths

__all__ = [
    "MOST_RECORDS",
    "SHARES_MARGIN",
    "Shares",
    "SumNoise",
    "changed",
    "most_noise",
    "sum_noise",
]

Shares = PolyaShares | GaussianShares

MOST_RECORDS: Final = 2**40  # in a sum, where clients may have any number of records
_MOST_STEPS: Final = 2**31
_MOST_TOTAL: Final = 2**61  # of values, and of the noise; together they are below 2^63
_SECURITY: Final = 128  # a sum of honest clients is refused with a probability of 2^-128
_LEAST_EPSILON: Final = Fraction(1, 2**30)  # 2^-40 of it is more than 2^25 times 2^-100
# In the variance, or in epsilon and delta, for what a sum of shares differs by from its law.
SHARES_MARGIN: Final = 1 + Fraction(1, 2**40)
_LESS: Final = 1.0 - 2.0**-40


class SumNoise(NamedTuple):
    """The integers of a vector, and the noise in each coordinate of their sum.

    Parameters
    ----------
    lattice
        The integers.
    bits
        A unit of the bound has 2^bits steps.
    share
        The noise of one party; None: no noise.
    parties
        How many parties add noise.
    """

    lattice: Lattice
    bits: int
    share: Shares | None
    parties: int

    @property
    def variance(self) -> float:
        """The variance of the noise in each coordinate, in steps^2."""
        return 0.0 if self.share is None else self.parties * self.share.variance

    def rho(self, neighbours: Neighbours) -> Fraction | None:
        """Return the rho of discrete Laplace noise; None of other noise, whose budget states it.

        It is far below epsilon^2 / 2 where a record changes many coordinates.
        """
        if not isinstance(self.share, PolyaShares):
            return None
        squares = changed(self.lattice, neighbours).squares
        return rho_of(DiscreteLaplace(self.share.scale), squares)

    def deviation(self, n: int, is_whole: bool) -> NDArray[np.float64]:
        """Return the standard deviation of each sum of n values: noise, and at most rounding."""
        rounding = 0.0 if is_whole else n / 4
        return np.asarray(np.sqrt(self.variance + rounding) * self.lattice.units)

    def added_up(
        self, function: Function, records: NDArray[np.float64], stream: Source
    ) -> NDArray[np.int64]:
        """Return the sums of a function's rounded values over records, (d,), without noise.

        NumPy says nothing: its warnings would tell of a record, and some users make them errors.
        """
        with np.errstate(all="ignore"):
            sums = self.lattice.rounded(checked_values(function, records), stream).sum(axis=0)
        return np.asarray(sums)

    def drawn(self, stream: Source) -> NDArray[np.int64]:
        """Return the noise of all parties in each coordinate, (d,)."""
        size = self.lattice.units.size
        if self.share is None:
            return np.zeros(size, np.int64)
        return self.share.sum_of(self.parties, size, stream)


def changed(lattice: Lattice, neighbours: Neighbours) -> Lengths:
    """Return how far the sums of neighbours are apart."""
    return lattice.apart if neighbours == "replace-one" else lattice.longest


@lru_cache(maxsize=64)
def sum_noise(
    bound: Bound,
    budget: Allowance | None,
    required: int,
    parties: int,
    records: int,
    most_bits: int = MOST_BITS,
) -> SumNoise:
    """Return lattice and noise.

    Parameters
    ----------
    bound
        The bound of a record's vector.
    budget
        What a record may spend; None: there is no noise, and neighbours are by replace-one.
    required, parties
        How many shares make up the noise that the budget needs, and how many there are at most.
    records
        The most records in a sum.
    most_bits
        The most bits of a unit's steps.

    Raises
    ------
    ParameterError
        The budget is too small, or too large for so many shares, with any lattice.
    """
    neighbours = "replace-one" if budget is None else budget.neighbours
    problem: ParameterError | None = None
    for bits in range(most_bits, -1, -1):
        lattice = bound.lattice(1 << bits, neighbours == "replace-one")
        if lattice.largest > _MOST_STEPS or lattice.largest * records > _MOST_TOTAL:
            continue
        if budget is None:
            return SumNoise(lattice, bits, None, parties)
        try:
            share = _share(budget, changed(lattice, neighbours), required, bound.size)
        except ParameterError as error:  # with longer steps, the noise has fewer of them
            problem = problem or error
            continue
        if most_noise(share, parties, bound.size) > _MOST_TOTAL:
            continue
        return SumNoise(lattice, bits, share, parties)
    raise problem or ParameterError("records", records, "must be fewer for such a bound")


def most_noise(share: Shares, reports: int, words: int) -> float:
    """Return what the noise in a total exceeds with a probability of 2^-128, or less, anywhere.

    A sum of Polya shares is the difference of two negative binomial variables. Each is
    stochastically at most the sum of ``whole`` geometric ones, each of which exceeds t with a
    probability of at most exp(-t / scale). A sum of discrete Gaussian shares is subgaussian, with
    the sum of their sigma^2.
    """
    if isinstance(share, GaussianShares):
        tail = math.log(2 * words) + _SECURITY * math.log(2)
        return math.sqrt(2 * tail * reports * float(share.share.sigma_squared))
    whole = math.ceil(reports / share.shares)
    tail = math.log(2 * whole * words) + _SECURITY * math.log(2)
    return whole * (float(share.scale) * tail + 1)


def _share(budget: Allowance, changes: Lengths, required: int, size: int) -> Shares:
    if budget.epsilon is not None:
        law = budget.law(changes.absolute)
        assert isinstance(law, DiscreteLaplace)
        return PolyaShares(law.scale, required)
    assert budget.rho is not None
    margin = SHARES_MARGIN if required > 1 else Fraction(1)
    law = budget.gaussian(changes.squares / (2 * budget.rho) * margin)
    if (less := _with_delta(budget, required)) is not None:
        with suppress(ParameterError):  # the budget is too small for the formula
            own = integer_noise(less, Fraction(changes.squares), size)
            law = min(law, own, key=lambda each: each.sigma_squared)
    return GaussianShares(law.sigma_squared, required)


def _with_delta(budget: Allowance, required: int) -> Allowance | None:
    """Return (epsilon, delta), less what the sum of shares differs by from discrete Gaussian."""
    if budget.stated is None or budget.stated[0] < _LEAST_EPSILON:
        return None
    if required == 1:
        return budget
    epsilon, delta = budget.stated
    return Allowance.checked(epsilon / SHARES_MARGIN, None, budget.neighbours, delta * _LESS)
