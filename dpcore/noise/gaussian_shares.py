"""Shares of nearly discrete Gaussian noise, which many clients add, and sums of these shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from .laws import DiscreteGaussian, rounded_up
from .sources import Source

__all__ = ["GaussianShares"]

_MOST_SHARES: Final = 2**40
_SHARE_BITS: Final = 20  # sums of up to 2^33 shares have a variance that the sampler takes
_CLOSE: Final = 100.0  # bits
_MOST_NUMERATOR: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class GaussianShares:
    """Independent discrete Gaussian shares of a variance that m of them make up.

    Their sum is not discrete Gaussian, but nearly: probabilities differ by a factor within
    exp(+-2^-100) for each sum of up to m shares (docs/proofs/vector-sums.md, section 4).

    Parameters
    ----------
    sigma_squared
        The variance that m shares have together at least: a positive fraction.
    shares
        The number m, 1 to 2^40.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the variance is too small for so many shares: they need
        about 8 to 11 each.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.noise.gaussian_shares import GaussianShares
    >>> from dpcore.noise.sources import source
    >>> law = GaussianShares(40_000, shares=1000)
    >>> reports = np.empty((1000, 4), np.int64)
    >>> law.fill(reports, source(np.random.default_rng(1)))
    >>> round(float(reports.var()), 1)
    39.8
    >>> law.sum_of(1000, 4, source(np.random.default_rng(1)))  # the same law, at once
    array([-127,  393, -270,  -80])
    """

    sigma_squared: Fraction
    shares: int

    def __post_init__(self) -> None:
        exact = DiscreteGaussian(self.sigma_squared).sigma_squared
        object.__setattr__(self, "sigma_squared", exact)
        shares = _check.integer("shares", self.shares, 1, _MOST_SHARES)
        object.__setattr__(self, "shares", shares)
        if self.closeness < _CLOSE:
            what = f"must be larger, for {shares} shares: 8 to 11 for each"
            raise ParameterError("sigma_squared", self.sigma_squared, what)

    @property
    def share(self) -> DiscreteGaussian:
        """The law of one share."""
        return DiscreteGaussian(rounded_up(self.sigma_squared / self.shares, _SHARE_BITS))

    @property
    def variance(self) -> float:
        """The variance of one share."""
        return self.share.variance

    @property
    def described(self) -> tuple[str, int]:
        """The variance, exactly, and the number of shares, as public parameters state them."""
        return f"sigma^2 = {self.sigma_squared}", self.shares

    @property
    def closeness(self) -> float:
        """A number b such that the factors between probabilities are within exp(+-2^-b).

        The factors of adding up m shares, one after the other, are within exp(+-t) for
        t = 5 (m - 1) exp(-pi^2 sigma^2), with the sigma^2 of a share.
        """
        if self.shares == 1:
            return math.inf
        each = math.pi**2 * float(self.sigma_squared / self.shares) / math.log(2.0)
        return each * (1.0 - 1e-9) - math.log2(5.0 * (self.shares - 1)) - 1e-9

    def fill(self, out: NDArray[np.int64], stream: Source) -> None:
        """Overwrite ``out`` with shares, one in each entry.

        Parameters
        ----------
        out
            An int64 array of any shape, contiguous and writeable.
        stream
            The source of random words.
        """
        self.share.fill(out, stream)

    def sum_of(self, count: int, size: int, stream: Source) -> NDArray[np.int64]:
        """Draw sums of ``count`` independent shares, without drawing the shares.

        The law is discrete Gaussian, from which that of the sum differs as the class says.

        Parameters
        ----------
        count
            The number of shares in each sum, 0 or more.
        size
            The number of sums, 0 to 2^40.
        stream
            The source of random words.
        """
        count = _check.integer("count", count, 0, _MOST_SHARES)
        size = _check.integer("size", size, 0, _MOST_SHARES)
        own = self.share.sigma_squared
        most = max(1, _MOST_NUMERATOR // own.numerator)  # shares whose sum one draw stands for
        sums = np.zeros(size, np.int64)
        part = np.empty(size, np.int64)
        for begun in range(0, count, most):
            DiscreteGaussian(own * min(most, count - begun)).fill(part, stream)
            sums += part
        return sums
