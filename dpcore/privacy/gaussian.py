"""What one Gaussian release costs: continuous noise, and discrete noise on integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from .. import _check
from ..errors import ParameterError
from .concentrated import not_negative, probability

__all__ = ["discrete_gaussian_delta", "gaussian_delta", "gaussian_sigma", "theta"]

_RELATIVE_ERROR: Final = 4e-13  # deltas computed here are rounded up by this relative error
_MOST_SIGMA_SQUARED: Final = 2**40
_LEAST_SIGMA_SQUARED: Final = Fraction(1, 2**900)  # with less, quotients overflow
_CHUNK: Final = 2**16
_UNDERFLOW: Final = 800  # e^-800 underflows
_MOST_TAIL: Final = 40.0  # deviations; beyond them, the tail is below e^-_UNDERFLOW
_STEPS: Final = 8  # steps of Newton's method
_LEAST_SHIFT: Final = 2.0**-900  # the least shift from which Newton's method starts

# Nodes and weights of the double exponential rule for integrals over t > 0 of functions that
# decay like e^-t (Takahasi & Mori 1974): t = exp(u - exp(-u)), u on a grid.
_GRID: Final = np.arange(-60, 68) / 16.0
_NODES: Final = np.exp(_GRID - np.exp(-_GRID))
_WEIGHTS: Final = _NODES * (1.0 + np.exp(-_GRID)) / 16.0


def gaussian_delta(sigma: float, epsilon: float, sensitivity: float = 1.0) -> float:
    """Return the least delta of the Gaussian mechanism with *continuous* noise.

    Parameters
    ----------
    sigma
        Standard deviation of the noise, above 0.
    epsilon
        0 or more.
    sensitivity
        The largest Euclidean distance between the values for two neighbours, above 0.

    Returns
    -------
    float
        Rounded up: within [exact, exact (1 + 1e-12)]; at least the least positive double.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not such a number.

    Notes
    -----
    Balle & Wang, *Improving the Gaussian mechanism for differential privacy* (2018), Theorem 8,
    written without cancellation (docs/proofs/privacy.md, section 3). The delta of discrete noise is
    another one: see ``discrete_gaussian_delta``.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    epsilon = not_negative("epsilon", epsilon)
    shift = Fraction(_check.positive("sensitivity", sensitivity)) / Fraction(
        _check.positive("sigma", sigma)
    )
    return _continuous_delta(shift, Fraction(epsilon))


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least sigma whose *continuous* Gaussian noise is (epsilon, delta)-private.

    Parameters
    ----------
    epsilon
        0 or more.
    delta
        Within (0, 1).
    sensitivity
        The largest Euclidean distance between the values for two neighbours, above 0.

    Returns
    -------
    float
        Rounded up: gaussian_delta(sigma, epsilon, sensitivity) <= delta.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not such a number, or no double is such a sigma.

    Notes
    -----
    The analytic Gaussian mechanism of Balle & Wang (2018). ``gaussian_delta`` decreases in sigma.
    Newton's method finds a start, and bisection the result, in about 20 evaluations.

    Examples
    --------
    >>> round(gaussian_sigma(1.0, 1e-6), 3)
    4.225
    """
    exact_epsilon = Fraction(not_negative("epsilon", epsilon))
    wanted = probability("delta", delta)
    unit = Fraction(_check.positive("sensitivity", sensitivity))

    def is_enough(sigma: float) -> bool:
        return _continuous_delta(unit / Fraction(sigma), exact_epsilon) <= wanted

    low = high = _about(float(exact_epsilon), wanted) * float(unit)
    if not 0.0 < high < math.inf:
        low = high = float(unit)
    step = 2.0**-40
    while high < math.inf and not is_enough(high):
        low, high, step = high, high * (1.0 + step), min(1.0, 64.0 * step)
    while low > 0.0 and is_enough(low):
        low, high, step = low / (1.0 + step), low, min(1.0, 64.0 * step)
    if not 0.0 < low < high < math.inf:
        raise ParameterError("delta", delta, f"has no sigma among doubles at epsilon = {epsilon}")
    while math.nextafter(low, math.inf) < high:  # invariant: is_enough(high), not is_enough(low)
        middle = low + (high - low) / 2.0
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def discrete_gaussian_delta(
    sigma_squared: float | Fraction, epsilon: float, sensitivity: int = 1
) -> float:
    """Return the least delta of one integer released with discrete Gaussian noise.

    Parameters
    ----------
    sigma_squared
        The parameter of the noise (see ``dpcore.noise.discrete_gaussian``): a positive rational
        number up to 2^40.
    epsilon
        0 or more.
    sensitivity
        The largest difference between the integers of two neighbours, 1 or more.

    Returns
    -------
    float
        Rounded up: within [exact, exact (1 + 1e-12)]; at least the least positive double.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not such a number.

    Notes
    -----
    Canonne, Kamath & Steinke (2020), Theorem 7, as a sum of positive terms (docs/proofs/privacy.md,
    section 4). It takes O(sigma) time, and memory for 2^16 terms. The result is for one number. For
    vectors use the zero-concentrated guarantee.

    Examples
    --------
    >>> round(discrete_gaussian_delta(1, 1.0), 6)
    0.141351
    """
    exact = _check.fraction("sigma_squared", sigma_squared)
    if exact > _MOST_SIGMA_SQUARED:
        raise ParameterError("sigma_squared", sigma_squared, f"must be up to {_MOST_SIGMA_SQUARED}")
    if exact < _LEAST_SIGMA_SQUARED:
        raise ParameterError("sigma_squared", sigma_squared, "must be at least 2^-900")
    ratio = Fraction(not_negative("epsilon", epsilon))
    shift = _check.integer("sensitivity", sensitivity, 1, 2**40)
    # From this y on, P(y) > e^epsilon P(y + shift).
    least = math.floor(ratio * exact / shift - Fraction(shift, 2)) + 1
    largest = max(least, 0)  # about where the weights e^(-y^2 / (2 sigma^2)) are largest
    exponent = Fraction(largest**2) / (2 * exact)
    if exponent > _UNDERFLOW:
        return _above(0.0)
    # Weights that are smaller by a factor of e^-80 do not change a double.
    most = math.isqrt(largest**2 + math.ceil(160 * exact)) + 1
    least = max(least, -most)
    first_gap = float(Fraction(shift * (2 * least + shift)) / (2 * exact) - ratio)
    rate, slope = float(1 / (2 * exact)), float(shift / exact)
    total = 0.0
    for start in range(least, most + 1, _CHUNK):
        y = np.arange(start, min(start + _CHUNK, most + 1), dtype=np.float64)
        gaps = first_gap + slope * (y - least)
        total += float(np.sum(np.exp((largest - y) * (y + largest) * rate) * -np.expm1(-gaps)))
    return _above(math.exp(-float(exponent)) * total / theta(rate))


def _continuous_delta(shift: Fraction, epsilon: Fraction) -> float:
    """Return gaussian_delta for shift = sensitivity / sigma (docs/proofs/privacy.md, section 3)."""
    exact = epsilon / shift - shift / 2
    exponent = exact * exact / 2
    if exponent > _UNDERFLOW:
        return _above(0.0) if exact > 0 else 1.0
    near, apart = float(exact), float(shift)
    factor = math.exp(-float(exponent)) / math.sqrt(2.0 * math.pi)
    if near < 0.0 and apart >= 1.0:  # there is no cancellation
        return _above(math.erfc(near / math.sqrt(2.0)) / 2.0 - factor * _tail(near + apart))
    return _above(factor * _tail(near, apart))


def _about(epsilon: float, delta: float) -> float:
    """Return nearly the sigma for a sensitivity of 1; anything positive for extreme arguments.

    By Newton's method for log delta as a function of log m, with m = 1 / sigma. delta is phi(a)
    times the tail from a, with a = epsilon / m - m / 2, and its derivative in m is phi(a).
    """
    start = math.sqrt(-2.0 * math.log(delta))
    m = 2.0 * epsilon / (start + math.hypot(start, math.sqrt(2.0 * epsilon)))
    for _ in range(_STEPS):
        a = epsilon / m - m / 2.0 if m > _LEAST_SHIFT else math.inf
        if not -1.0 < a < _MOST_TAIL:
            return 1.0
        tail = _tail(a, m)
        excess = math.log(tail / delta / math.sqrt(2.0 * math.pi)) - a * a / 2.0
        m *= math.exp(max(-1.0, min(1.0, -excess * tail / m)))
    return 1.0 / m


def _tail(start: float, apart: float = math.inf) -> float:
    """Return the integral of e^(-start t - t^2 / 2) (1 - e^(-apart t)) over t > 0."""
    unit = max(start, 1.0)
    t = _NODES / unit
    inside = np.exp(-t * (start + t / 2.0)) * -np.expm1(-apart * t)
    return float(inside @ _WEIGHTS) / unit


def theta(rate: float) -> float:
    """Return the sum of e^(-rate y^2) over all integers, by Poisson's summation if rate < pi."""
    if rate < math.pi:
        return math.sqrt(math.pi / rate) * theta(math.pi**2 / rate)
    return 1.0 + 2.0 * math.fsum(math.exp(-rate * y * y) for y in range(1, 7))


def _above(delta: float) -> float:
    """Round a delta up by its error, to no more than 1 and no less than the least double."""
    return min(1.0, math.nextafter(delta * (1.0 + _RELATIVE_ERROR), math.inf))
