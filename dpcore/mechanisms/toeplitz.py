"""The square root of the prefix sum, with the least known Gaussian noise of cumulative counts."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from ..noise.laws import DiscreteGaussian
from ..noise.sources import Source
from ..privacy.allowance import rho_of
from ..privacy.guarantees import Neighbours
from ..privacy.lattice import integer_noise
from ..summaries.grid import MOST_CELLS
from .base import Mechanism, Work

__all__ = ["UNIT", "ToeplitzGaussian", "convolution", "exact_convolution", "factors"]

UNIT: Final = 2**12  # the coefficients are multiples of 1 / UNIT
_LIMB_BITS: Final = 16  # counts are convolved in parts of 16 bits, so that rounding is exact
_BLOCKS: Final = 4  # the number of blocks in a convolution
_MARGIN: Final = Fraction(2**40 + 1, 2**40)  # a factor that covers the rounding of sums of squares


@dataclass(frozen=True, eq=False, slots=True)
class Factors:
    """The two factors of the prefix sum for N cells; both are convolutions.

    Parameters
    ----------
    strategy
        (N,) integers. The release is the counts convolved with them, plus noise.
    reconstruction
        (N,) numbers whose convolution with strategy / 2^12 and the counts gives cumulative counts.
    largest_change
        The largest sum of squares by which neighbours change the convolved counts.
    gains
        (N,) the share of the last cumulative count's error in each count, for a public total.
    variances
        (N,) variances of the cumulative counts for noise of variance 1, before the gains are used.
    transforms
        The transforms of the strategy, and of the reconstruction from multiples of 2^-12.
    """

    strategy: NDArray[np.int64]
    reconstruction: NDArray[np.float64]
    largest_change: Fraction
    gains: NDArray[np.float64]
    variances: NDArray[np.float64]
    transforms: tuple[NDArray[np.complex128], NDArray[np.complex128]]


@dataclass(frozen=True, slots=True)
class ToeplitzGaussian(Mechanism):
    """Cumulative counts by a square-root factorisation of the prefix sum, with Gaussian noise.

    The N x N matrix of ones on and below the diagonal is the square of the Toeplitz matrix with
    the coefficients of (1 - t)^(-1/2), c_k = binom(2 k, k) / 4^k (Bennett 1977; Fichtenberger,
    Henzinger & Upadhyay 2023). The mechanism convolves the counts with c, rounded to multiples of
    2^-12, and adds discrete Gaussian noise on that lattice. A convolution with the running sum of
    the exact inverse gives the cumulative counts. Under replace-one the public total then corrects
    all of them.

    Parameters
    ----------
    epsilon, delta
        For (epsilon, delta)-differential privacy. Both are needed.
    rho
        Instead of them: the parameter of zero-concentrated differential privacy, a positive number.
    neighbours
        "replace-one" or "add-or-remove-one".

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    docs/proofs/hierarchy.md, section 6, has the proof. The largest standard deviation grows like
    log N.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.mechanisms import ToeplitzGaussian
    >>> mechanism = ToeplitzGaussian(rho=0.5)
    >>> released = mechanism.release(np.array([40, 30, 20, 10]), rng=np.random.default_rng(1))
    >>> released.round(1)
    array([ 39.9,  69.5,  90.6, 100. ])
    >>> for size in (2**8, 2**12):
    ...     print(size, mechanism.noise_deviation(size).max().round(2))
    256 3.38
    4096 4.66
    """

    name: ClassVar[str] = "toeplitz"
    is_additive: ClassVar[bool] = True

    epsilon: float | Fraction | None = None
    _: KW_ONLY
    rho: float | Fraction | None = None
    neighbours: Neighbours = "replace-one"
    delta: float | None = None

    def __post_init__(self) -> None:
        if self._budget().rho is None:
            raise ParameterError("delta", None, "must be given beside epsilon; or write rho=0.5")

    def noise(self, size: int) -> DiscreteGaussian:
        """Return the noise of each convolved count, in units of 2^-12 counts.

        Examples
        --------
        >>> from dpcore.mechanisms import ToeplitzGaussian
        >>> law = ToeplitzGaussian(rho=0.5).noise(256)
        >>> round(law.variance**0.5 / 2**12, 2)  # in counts
        2.13
        """
        factors = self._factors(_check.integer("size", size, 1, MOST_CELLS))
        return integer_noise(self._budget(), factors.largest_change or Fraction(1), size)

    def _factors(self, size: int) -> Factors:
        return factors(size, self._budget().total_is_public)

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,).

        Examples
        --------
        >>> from dpcore.mechanisms import ToeplitzGaussian
        >>> ToeplitzGaussian(rho=0.5).noise_deviation(6).round(2)
        array([1.43, 1.57, 1.61, 1.58, 1.46, 0.  ])
        """
        unit = self.noise(size).variance / UNIT**2
        factors = self._factors(size)
        variances = factors.variances - factors.gains**2 * factors.variances[-1]
        if self._budget().total_is_public:
            variances[-1] = 0.0
        return np.asarray(np.sqrt(unit * np.maximum(variances, 0.0)))

    def _rho(self, size: int) -> Fraction:
        return rho_of(self.noise(size), self._factors(size).largest_change or Fraction(1))

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        law, factors = self.noise(exact.size), self._factors(exact.size)
        strategy, reconstruction = factors.transforms
        convolved, total = exact_convolution(exact, strategy), int(exact.sum())
        public = self._budget().total_is_public

        def fill(out: NDArray[np.float64], stream: Source) -> None:
            noisy = np.empty(out.shape, np.int64)
            law.fill(noisy.reshape(-1), stream)
            noisy += convolved
            out[:] = convolution(noisy, reconstruction)
            if public:
                out += factors.gains * (total - out[:, -1:])
                out[:, -1] = total  # up to rounding, it is that already

        return Work(fill, exact.size, np.float64)


@lru_cache(maxsize=4)  # for the largest grids, each entry has a gigabyte
def factors(size: int, total_is_public: bool) -> Factors:
    """Return the two factors of the prefix sum for ``size`` cells. Cached."""
    k = np.arange(1, size)
    root = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])
    strategy = np.rint(UNIT * root).astype(np.int64)
    reconstruction = np.cumsum(_inverse_series(strategy / UNIT))
    variances = np.cumsum(reconstruction**2)
    gains = np.zeros(size)
    if total_is_public:
        gains = _correlations(reconstruction)[::-1] / variances[-1]
    squares = np.cumsum(strategy.astype(np.float64) ** 2)
    change = squares[-1]
    if total_is_public:
        # The largest difference is between columns 0 and some d (docs/proofs/hierarchy.md).
        products = _correlations(strategy.astype(np.float64))
        apart = squares[-1] + squares[:-1][::-1] - 2.0 * products[1:]
        change = max(0.0, apart.max(initial=0.0))
    transforms = _transformed(strategy), _transformed(reconstruction / UNIT)
    return Factors(
        strategy, reconstruction, Fraction(change) * _MARGIN, gains, variances, transforms
    )


def exact_convolution(
    counts: NDArray[np.int64], transformed: NDArray[np.complex128]
) -> NDArray[np.int64]:
    """Return the first N terms of a convolution of integers, exactly; the series is transformed.

    It uses floating-point transforms of parts of the counts. Their error is far below 1/2
    (docs/proofs/hierarchy.md, section 7), so rounding gives the integers. Invariant: ``rest`` times
    2^16^part has not been convolved yet.
    """
    total = np.zeros(counts.size, np.int64)
    rest, shift = counts, 0
    while rest.any():
        product = convolution(rest & ((1 << _LIMB_BITS) - 1), transformed)
        total += np.rint(product, out=product).astype(np.int64) << shift
        rest, shift = rest >> _LIMB_BITS, shift + _LIMB_BITS
    return total


def _transformed(series: NDArray[np.integer[Any] | np.floating[Any]]) -> NDArray[np.complex128]:
    """Return the transforms of a series, (N,), that ``_convolution`` needs.

    The lower triangular Toeplitz matrix of the series is cut into square blocks of M x M numbers.
    Blocks along one diagonal are equal. The blocks at the distance c from the main diagonal hold
    the terms within M of the term c M. These terms are transformed.
    """
    block = _block(series.size)
    padded = np.zeros((_BLOCKS + 1) * block)
    padded[block : block + series.size] = series
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * block)[::block]
    return np.fft.rfft(around, _transform_length(2 * block))


def convolution(
    rows: NDArray[np.integer[Any] | np.floating[Any]], transformed: NDArray[np.complex128]
) -> NDArray[np.float64]:
    """Return the first N terms of the convolution of each row, (..., N), with a series.

    It goes block by block: transforms of a quarter of the length stay in the cache, and in memory
    that the process already has.
    """
    size, block = rows.shape[-1], _block(rows.shape[-1])
    length = _transform_length(2 * block)
    buffer = np.zeros((*rows.shape[:-1], _BLOCKS, length))
    for i in range(_BLOCKS):
        part = rows[..., i * block : (i + 1) * block]
        buffer[..., i, : part.shape[-1]] = part
    blocks = np.fft.rfft(buffer)
    for i in reversed(range(_BLOCKS)):  # in place, because the blocks before it are still unchanged
        blocks[..., i, :] *= transformed[0]
        for before in range(i):
            blocks[..., i, :] += blocks[..., before, :] * transformed[i - before]
    np.fft.irfft(blocks, length, out=buffer)
    return buffer[..., block : 2 * block].reshape(*rows.shape[:-1], -1)[..., :size]


def _block(size: int) -> int:
    return -(-size // _BLOCKS)


def _correlations(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sum_k s_k s_(k + d) for d = 0, ..., N - 1."""
    length = _transform_length(2 * series.size)
    power = np.abs(np.fft.rfft(series, length)) ** 2
    return np.asarray(np.fft.irfft(power, length)[: series.size])


def _inverse_series(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first N terms of 1 / (s_0 + s_1 t + ...) by Newton's method.

    Invariant: the first ``inverse.size`` terms of ``inverse`` are correct.
    """
    inverse = np.array([1.0 / series[0]])
    while inverse.size < series.size:
        known = min(2 * inverse.size, series.size)
        length = _transform_length(4 * known)
        ours = np.fft.rfft(inverse, length)
        update = 2.0 * ours - np.fft.rfft(series[:known], length) * ours * ours
        inverse = np.fft.irfft(update, length)[:known]
    return inverse


def _transform_length(least: int) -> int:
    """Return a power of two that is at least ``least``."""
    return 1 << max(1, (least - 1).bit_length())
