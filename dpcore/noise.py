"""Exact integer noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from . import _check
from .errors import ParameterError
from .kernels import samplers
from .randomness import Source, source

__all__ = ["discrete_laplace"]

_WORDS_PER_DRAW: Final = 4  # about what a draw needs; a shortage only means one more window
_WINDOW: Final = 2**15  # words shown to the sampler at a time


def discrete_laplace(
    scale: float | Fraction,
    size: int | tuple[int, ...],
    rng: np.random.Generator | None = None,
) -> NDArray[np.int64]:
    """Draw exact discrete Laplace noise: P(y) is proportional to exp(-|y| / scale).

    Parameters
    ----------
    scale
        A positive rational: an int, a Fraction, or a float, taken as the fraction it is. In
        lowest terms the numerator is below 2^53 and the denominator below 2^63.
    size
        Shape of the result.
    rng
        None draws from a cryptographic source. A generator is for studies; it is advanced.

    Returns
    -------
    numpy.ndarray
        int64 of that shape. Magnitudes saturate at 2^62 (probability below exp(-500)).

    Raises
    ------
    DtypeError, ParameterError
        A scale that is not such a number, a bad size, an integer seed.

    Notes
    -----
    Canonne, Kamath & Steinke, *The discrete Gaussian for differential privacy* (2020),
    Algorithm 2: integer arithmetic on uniform bits, no floating point, so the law is exact.
    Added to a count of sensitivity D, scale D / epsilon gives epsilon-differential privacy.
    About four 64-bit words a draw.

    Examples
    --------
    >>> import numpy as np
    >>> discrete_laplace(2, 5, np.random.default_rng(7)).dtype
    dtype('int64')
    """
    exact = _check.fraction("scale", scale)
    if exact.numerator >= 2**53 or exact.denominator >= 2**63:
        raise ParameterError(
            "scale",
            scale,
            "must have, in lowest terms, a numerator below 2^53 and a denominator below 2^63",
        )
    shape = size if isinstance(size, tuple) else (size,)
    for length in shape:
        _check.integer("size", length, 0, 2**40)
    stream = source(rng)
    draws = np.empty(shape, np.int64)
    fill_discrete_laplace(draws.reshape(-1), exact, stream)
    return draws


def fill_discrete_laplace(out: NDArray[np.int64], scale: Fraction, stream: Source) -> None:
    """Overwrite ``out``, (size,) contiguous, with draws made from a stream of words.

    The draws depend on the stream alone, not on the windows through which it is read.
    """
    numerator, denominator = np.uint64(scale.numerator), np.uint64(scale.denominator)
    cut_short = np.empty(0, np.uint32)  # words of a draw that the last window ended in
    done = 0
    while done < out.size:
        fresh = np.empty(min(_WORDS_PER_DRAW * (out.size - done) + 16, _WINDOW), np.uint64)
        stream.fill(fresh)
        window = np.concatenate([cut_short, fresh.view(np.uint32)])
        drawn, used = samplers.discrete_laplace(window, out[done:], numerator, denominator)
        done += drawn
        cut_short = window[used:]


def laplace_variance(scale: Fraction) -> float:
    """Return the variance of discrete Laplace noise: 2 q / (1 - q)^2 with q = exp(-1 / scale)."""
    rate = float(1 / scale)
    return 2.0 * math.exp(-rate) / math.expm1(-rate) ** 2
