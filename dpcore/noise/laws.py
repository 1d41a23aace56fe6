"""Exact integer noise: two laws, each with its variance and its sampler."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError
from .sources import Source, checked_source, source
from .tables import gaussian_rows, kept_laplace_digits, laplace_digits, table_entries
from .windows import fill_from_rows, flat

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "discrete_gaussian",
    "discrete_laplace",
    "rounded_up",
]


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """The law P(y) proportional to exp(-|y| / scale) on the integers.

    Parameters
    ----------
    scale
        A positive fraction: numerator below 2^53, denominator below 2^63, in lowest terms. Other
        real numbers are converted to fractions exactly.

    Raises
    ------
    DtypeError, ParameterError
        The scale is not such a number.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpcore.noise import DiscreteLaplace
    >>> law = DiscreteLaplace(Fraction(5, 2))
    >>> round(law.variance, 2)
    12.33
    """

    scale: Fraction

    def __post_init__(self) -> None:
        exact = _check.fraction("scale", self.scale)
        if exact.numerator >= 2**53 or exact.denominator >= 2**63:
            raise ParameterError(
                "scale",
                self.scale,
                "must have, in lowest terms, a numerator below 2^53 and a denominator below 2^63",
            )
        object.__setattr__(self, "scale", exact)

    @property
    def variance(self) -> float:
        """The variance, 2 q / (1 - q)^2 with q = exp(-1 / scale)."""
        rate = float(1 / self.scale)
        return 2.0 * math.exp(-rate) / math.expm1(-rate) ** 2

    def fill(self, out: NDArray[np.int64], stream: Source) -> None:
        """Overwrite ``out`` with draws made from a stream of words.

        The draws depend on the stream, and on whether they are few. They do not depend on the
        windows through which the stream is read.

        Parameters
        ----------
        out
            An int64 array of any shape, contiguous and writeable.
        stream
            The source of random words.

        Raises
        ------
        DtypeError, ParameterError
            ``out`` is not such an array, or ``stream`` is no source.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.noise import DiscreteLaplace
        >>> from dpcore.noise.sources import source
        >>> draws = np.empty(6, np.int64)
        >>> DiscreteLaplace(2).fill(draws, source(np.random.default_rng(7)))
        >>> draws
        array([4, 1, 1, 3, 0, 2])
        """
        row, stream = flat(out), checked_source(stream)
        fill_from_rows(row, stream, kept_laplace_digits(self.scale, table_entries(row.size)))

    def fill_once(self, out: NDArray[np.int64], stream: Source) -> None:
        """Overwrite ``out`` with the same draws as ``fill``, but keep no table for the next time.

        Use this for a scale that depends on records. A kept table would contain the scale, and the
        times of later draws would show it.

        Parameters
        ----------
        out, stream
            As in ``fill``.

        Raises
        ------
        DtypeError, ParameterError
            As in ``fill``.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.noise import DiscreteLaplace
        >>> from dpcore.noise.sources import source
        >>> draws = np.empty(6, np.int64)
        >>> DiscreteLaplace(2).fill_once(draws, source(np.random.default_rng(7)))
        >>> draws
        array([4, 1, 1, 3, 0, 2])
        """
        row, stream = flat(out), checked_source(stream)
        fill_from_rows(row, stream, laplace_digits(self.scale, table_entries(row.size)))


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """The law P(y) proportional to exp(-y^2 / (2 sigma^2)) on the integers.

    Parameters
    ----------
    sigma_squared
        A positive fraction: numerator and denominator below 2^53, in lowest terms. Other real
        numbers are converted to fractions exactly.

    Raises
    ------
    DtypeError, ParameterError
        sigma_squared is not such a number.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpcore.noise import DiscreteGaussian
    >>> round(DiscreteGaussian(4).variance, 6)
    4.0
    >>> round(DiscreteGaussian(Fraction(1, 10)).variance, 4)  # nearly all probability is at 0
    0.0133
    """

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        exact = _check.fraction("sigma_squared", self.sigma_squared)
        if max(exact.numerator, exact.denominator) >= 2**53:
            raise ParameterError(
                "sigma_squared",
                self.sigma_squared,
                "must have, in lowest terms, a numerator and a denominator below 2^53",
            )
        object.__setattr__(self, "sigma_squared", exact)

    @property
    def variance(self) -> float:
        """The variance: below sigma^2, and for sigma > 1 by less than one part in 10^6.

        With p = exp(-1 / (2 sigma^2)) it is sum y^2 p^(y^2) / sum p^(y^2). By Poisson's summation
        it is also sigma^2 - 4 pi^2 sigma^4 sum k^2 q^(k^2) / sum q^(k^2) with
        q = exp(-2 pi^2 sigma^2). The smaller of p and q is at most exp(-pi), so six terms on each
        side leave an error of less than 10^-60.
        """
        sigma_squared = float(self.sigma_squared)
        if 2.0 * math.pi * sigma_squared < 1.0:
            return _mean_square(float(1 / (2 * self.sigma_squared)))
        mean_square = _mean_square(2.0 * math.pi**2 * sigma_squared)
        return sigma_squared * (1.0 - 4.0 * math.pi**2 * sigma_squared * mean_square)

    def fill(self, out: NDArray[np.int64], stream: Source) -> None:
        """Overwrite ``out`` with draws made from a stream of words.

        The draws depend only on the stream, not on the windows through which it is read.

        Parameters
        ----------
        out, stream
            As in ``DiscreteLaplace.fill``.

        Raises
        ------
        DtypeError, ParameterError
            As in ``DiscreteLaplace.fill``.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.noise import DiscreteGaussian
        >>> from dpcore.noise.sources import source
        >>> draws = np.empty(6, np.int64)
        >>> DiscreteGaussian(4).fill(draws, source(np.random.default_rng(7)))
        >>> draws
        array([3, 1, 1, 3, 0, 1])
        """
        row, stream = flat(out), checked_source(stream)
        fill_from_rows(row, stream, gaussian_rows(self.sigma_squared))


def discrete_laplace(
    scale: float | Fraction,
    size: int | tuple[int, ...],
    rng: np.random.Generator | None = None,
) -> NDArray[np.int64]:
    """Draw exact discrete Laplace noise: P(y) is proportional to exp(-|y| / scale).

    Parameters
    ----------
    scale
        A positive rational: an int, a Fraction, or a float, which is converted exactly. In lowest
        terms the numerator is below 2^53 and the denominator below 2^63.
    size
        The shape of the result.
    rng
        None draws from a cryptographic source. A generator is for studies; the draws advance it.

    Returns
    -------
    numpy.ndarray
        int64 of that shape. Magnitudes saturate at 2^62 (probability below exp(-500)).

    Raises
    ------
    DtypeError, ParameterError
        The scale is not such a number, the size is not a shape, or ``rng`` is an integer seed.

    Notes
    -----
    The draws use inversion: the result is the least y with U < P(Y <= y), for a uniform real U, and
    bits of U are drawn until y is certain. Nearly always the first 32 bits decide, by tables of
    certified integers. No floating point is used, so the law is exact (docs/proofs/noise.md). Added
    to a count of sensitivity D, noise of scale D / epsilon gives epsilon-differential privacy.

    A draw takes one 32-bit word up to scale 45, and one more word for each factor of 1024. For few
    draws the tables are smaller and a draw takes more words. Tables are kept for the scales used
    last.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.noise import discrete_laplace
    >>> discrete_laplace(2, 5, np.random.default_rng(7))
    array([4, 1, 1, 3, 0])
    """
    law = DiscreteLaplace(scale)  # type: ignore[arg-type]  # made a fraction there
    return _drawn(law, size, rng)


def discrete_gaussian(
    sigma_squared: float | Fraction,
    size: int | tuple[int, ...],
    rng: np.random.Generator | None = None,
) -> NDArray[np.int64]:
    """Draw exact discrete Gaussian noise: P(y) is proportional to exp(-y^2 / (2 sigma^2)).

    Parameters
    ----------
    sigma_squared
        A positive rational: an int, a Fraction, or a float, which is converted exactly. In lowest
        terms numerator and denominator are below 2^53.
    size
        The shape of the result.
    rng
        None draws from a cryptographic source. A generator is for studies; the draws advance it.

    Returns
    -------
    numpy.ndarray
        int64 of that shape.

    Raises
    ------
    DtypeError, ParameterError
        sigma_squared is not such a number, the size is not a shape, or ``rng`` is an integer seed.

    Notes
    -----
    Up to sigma = 128 the draws use inversion, as in ``discrete_laplace``, with one 32-bit word for
    each draw. Above, they use bins of integers with three words for each draw, and reject less than
    one proposal in a hundred (docs/proofs/noise.md). No floating point is used, so the law is
    exact. Added to integers of Euclidean sensitivity D, the noise gives zero-concentrated
    differential privacy with rho = D^2 / (2 sigma^2) (Canonne, Kamath & Steinke, *The discrete
    Gaussian for differential privacy*, 2020, Theorem 4).

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.noise import discrete_gaussian
    >>> discrete_gaussian(2, 5, np.random.default_rng(7))
    array([2, 0, 1, 2, 0])
    """
    law = DiscreteGaussian(sigma_squared)  # type: ignore[arg-type]  # made a fraction there
    return _drawn(law, size, rng)


def rounded_up(exact: Fraction, bits: int = 31) -> Fraction:
    """Return the least fraction >= exact > 0 with ``bits`` significant bits.

    Above 2^(bits - 1) it is the least integer >= exact. Denominators are at most 2^62.

    Raises
    ------
    DtypeError, ParameterError
        ``exact`` is no Fraction above 0, or ``bits`` no integer from 1 to 62.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpcore.noise import rounded_up
    >>> rounded_up(Fraction(1, 3), bits=4)
    Fraction(3, 8)
    >>> rounded_up(Fraction(1000, 3), bits=8)
    Fraction(334, 1)
    """
    if not isinstance(exact, Fraction | int) or isinstance(exact, bool):
        raise DtypeError("exact", type(exact).__name__, "must be a Fraction")
    if exact <= 0:
        raise ParameterError("exact", exact, "must be positive")
    bits = _check.integer("bits", bits, 1, 62)
    excess = exact.numerator.bit_length() - exact.denominator.bit_length()
    shift = min(max(0, bits - 1 - excess), 62)
    return Fraction(-(-(exact.numerator << shift) // exact.denominator), 1 << shift)


def _drawn(
    law: DiscreteLaplace | DiscreteGaussian,
    size: int | tuple[int, ...],
    rng: np.random.Generator | None,
) -> NDArray[np.int64]:
    shape = size if isinstance(size, tuple) else (size,)
    for length in shape:
        _check.integer("size", length, 0, 2**40)
    stream = source(rng)
    draws = np.empty(shape, np.int64)
    law.fill(draws.reshape(-1), stream)
    return draws


def _mean_square(rate: float) -> float:
    """Return sum y^2 e^(-rate y^2) / sum e^(-rate y^2) over all integers, for rate >= pi."""
    weights = [math.exp(-rate * y * y) for y in range(1, 7)]
    return 2.0 * sum(y * y * w for y, w in enumerate(weights, 1)) / (1.0 + 2.0 * sum(weights))
