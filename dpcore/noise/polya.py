"""Shares of discrete Laplace noise, which many clients add, and the sums of these shares."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..kernels.noise import polya as kernels
from . import windows
from .laws import DiscreteLaplace
from .negative_binomial import draws, envelope
from .sources import Source

__all__ = ["PolyaShares"]

_MOST_SHARES: Final = 2**40
_MOST_ENTRIES: Final = 2**40
# The largest count / shares times scale; larger sums might not fit 64 bits.
_MOST_SPREAD: Final = 2**61
_FEW: Final = 1024  # up to so many discrete Laplace variables are drawn one by one and added up
_WORDS_PER_PROPOSAL: Final = 4  # a first guess; if proposals need more, there is another window


@dataclass(frozen=True, slots=True)
class PolyaShares:
    """Independent shares of discrete Laplace noise: the sum of m shares has exactly that law.

    A share is the difference of two negative binomial (Polya) variables of shape 1 / shares and
    ratio a = exp(-1 / scale): P(k) proportional to binomial(k - 1 + 1 / shares, k) a^k for each.

    Parameters
    ----------
    scale
        The scale s of the discrete Laplace law, which is the law of G - G' for independent
        geometric G and G', P(G = k) = (1 - a) a^k. A positive fraction, as in
        ``noise.DiscreteLaplace``.
    shares
        The number m of shares that make up one discrete Laplace variable: 1 to 2^40.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    docs/proofs/trust.md has the proofs. Sources: Cormode & Markov, *Federated Calibration and
    Evaluation of Binary Classifiers* (the federated paper), section 2.2; Goryczka & Xiong, *A
    comprehensive comparison of multiparty secure additions with differential privacy* (2017);
    Balle, Bell, Gascon & Nissim, *Private summation in the multi-message shuffle model* (2020).

    The sampler uses integer arithmetic on uniform bits and no floating point, so the law is exact.
    It leaves out k above 2^62 / denominator of the scale, where a^k is below exp(-500).

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.noise.polya import PolyaShares
    >>> from dpcore.noise.sources import source
    >>> law = PolyaShares(15, shares=1000)
    >>> reports = np.empty((1000, 4), np.int64)
    >>> law.fill(reports, source(np.random.default_rng(1)))
    >>> np.count_nonzero(reports, axis=0)  # most are 0
    array([ 7,  5, 10,  1])
    >>> reports.sum(axis=0)  # discrete Laplace noise of scale 15
    array([ 10, -29,  12,  -3])
    >>> law.sum_of(1000, 4, source(np.random.default_rng(1)))  # the same law, at once
    array([-11,  41,  -3,  41])
    """

    scale: Fraction
    shares: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", DiscreteLaplace(self.scale).scale)
        shares = _check.integer("shares", self.shares, 1, _MOST_SHARES)
        object.__setattr__(self, "shares", shares)

    @property
    def variance(self) -> float:
        """The variance of one share, 2 a / (1 - a)^2 / shares."""
        return DiscreteLaplace(self.scale).variance / self.shares

    @property
    def described(self) -> tuple[str, int]:
        """The scale, exactly, and the number of shares, as public parameters state them."""
        return str(self.scale), self.shares

    def fill(self, out: NDArray[np.int64], stream: Source) -> None:
        """Overwrite ``out`` with shares, one in each entry.

        Parameters
        ----------
        out
            The vector of one client, (D,), or of several clients, (R, D), or any other shape. It
            must be contiguous int64, and writeable.
        stream
            The source of random words. The shares depend on the stream and on their number, not on
            the windows through which the stream is read.

        Raises
        ------
        DtypeError, ParameterError
            ``out`` is not such an array.

        Notes
        -----
        It writes zeros, and takes about 2 (log2(scale) + 2) / shares proposals for each entry, on
        average.
        """
        self._overwrite(windows.flat(out), 1, stream)

    def sum_of(self, count: int, size: int, stream: Source) -> NDArray[np.int64]:
        """Draw sums of ``count`` independent shares, without drawing the shares.

        Parameters
        ----------
        count
            The number of shares in each sum: 0 or more, with count / shares * scale at most 2^61.
        size
            The number of sums, 0 to 2^40.
        stream
            The source of random words. The sums depend on the stream and on their number, not on
            the windows through which the stream is read.

        Returns
        -------
        numpy.ndarray
            (size,) int64. The probability that a sum does not fit is below exp(-180).

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        The shapes of negative binomial variables add up to count / shares. The whole part of that
        takes up to 1024 discrete Laplace draws for each sum, or two negative binomial draws where
        it is larger. The rest is drawn as in ``fill``. So time does not grow with ``count``.
        """
        most = int(_MOST_SPREAD * self.shares / self.scale)
        count = _check.integer("count", count, 0, most)
        size = _check.integer("size", size, 0, _MOST_ENTRIES)
        sums = np.empty(size, np.int64)
        self._overwrite(sums, count, stream)
        return sums

    def _overwrite(self, out: NDArray[np.int64], count: int, stream: Source) -> None:
        """Overwrite a flat array with sums of ``count`` shares."""
        whole, rest = divmod(count, self.shares)
        if whole == 0:
            out.fill(0)
        elif whole <= _FEW:
            law = DiscreteLaplace(self.scale)
            law.fill(out, stream)
            for _ in range(whole - 1):
                more = np.empty_like(out)
                law.fill(more, stream)
                out += more
        else:
            both = envelope(whole, self.scale)
            out[:] = draws(both, out.size, stream) - draws(both, out.size, stream)
        add_events(out, self.scale, Fraction(rest, self.shares), stream)


def add_events(out: NDArray[np.int64], scale: Fraction, shape: Fraction, stream: Source) -> None:
    """Add NB(shape, a) - NB(shape, a), a = exp(-1 / scale), to each entry of a flat array.

    The denominator of ``shape`` >= 0 is at most 2^40. The time is in proportion to it.
    """
    numerator, denominator = scale.numerator, scale.denominator
    blocks = (-(-numerator // denominator) - 1).bit_length()
    mean = 2 * out.size * (blocks + 1) * shape
    full, part = divmod(mean.numerator, mean.denominator)
    units = full + (part > 0)
    begun = pending = 0
    # Words of an incomplete proposal at the end of the last window.
    cut_short = np.empty(0, np.uint32)
    while pending > 0 or begun < units:
        proposals = units - begun + pending
        fresh = min(_WORDS_PER_PROPOSAL * proposals + 16, windows.WINDOW)
        window = windows.next_window(cut_short, fresh, stream)
        begun, pending, used = kernels.add_shares(
            window,
            out,
            blocks,
            np.uint64(numerator),
            np.uint64(denominator),
            full,
            np.uint64(part),
            np.uint64(mean.denominator),
            begun,
            pending,
        )
        cut_short = window[used:]
