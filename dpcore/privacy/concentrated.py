"""From zero-concentrated to approximate differential privacy and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from .. import _check
from ..errors import ParameterError

__all__ = ["not_negative", "probability", "zcdp_delta", "zcdp_epsilon", "zcdp_rho"]

# A sum of terms, each with a few roundings, has an error below this factor times their sizes.
_SUM_ERROR: Final = 2.0**-49
_MOST_X: Final = 2.0**500  # epsilon is rounded down to it, too, so that products are finite


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the epsilon for which rho-zCDP implies (epsilon, delta)-differential privacy.

    Parameters
    ----------
    rho
        The parameter of zero-concentrated differential privacy, above 0.
    delta
        Within (0, 1).

    Returns
    -------
    float
        0 or more, rounded up: never below the bound's exact value.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not such a number.

    Notes
    -----
    Canonne, Kamath & Steinke, *The discrete Gaussian for differential privacy* (2020),
    Corollary 13, minimised over all alpha > 1 by solving one equation (docs/proofs/privacy.md,
    section 2). It takes about a hundred logarithms.

    Examples
    --------
    >>> round(zcdp_epsilon(0.5, 1e-6), 3)
    5.222
    """
    rho = _check.positive("rho", rho)
    log_delta = math.log(probability("delta", delta))
    x = _root(lambda x: -log_delta - rho * x * x - math.log1p(x))
    terms = (rho, rho * x, _log_ratio(x), -log_delta / x, -math.log1p(x) / x)
    return max(0.0, _above(terms))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return the delta for which rho-zCDP implies (epsilon, delta)-differential privacy.

    Parameters
    ----------
    rho
        The parameter of zero-concentrated differential privacy, above 0.
    epsilon
        0 or more.

    Returns
    -------
    float
        Within (0, 1], rounded up: never below the bound's exact value.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not such a number.

    Notes
    -----
    The bound is that of ``zcdp_epsilon``, solved for delta.

    Examples
    --------
    >>> round(zcdp_delta(0.5, 5.0) * 1e6, 2)
    2.9
    """
    rho, epsilon = _check.positive("rho", rho), min(not_negative("epsilon", epsilon), _MOST_X)
    x = _root(lambda x: epsilon - (1.0 + 2.0 * x) * rho - _log_ratio(x))
    terms = (x * rho, x * rho * x, -x * epsilon, x * _log_ratio(x), -math.log1p(x))
    return min(1.0, math.nextafter(math.exp(min(0.0, _above(terms))), math.inf))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho for which rho-zCDP implies (epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon
        0 or more.
    delta
        Within (0, 1).

    Returns
    -------
    float
        Above 0, rounded down: its conversion does not exceed epsilon and delta.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not such a number.

    Notes
    -----
    This is the inverse of ``zcdp_epsilon`` in rho, from the same equations.

    Examples
    --------
    >>> round(zcdp_rho(1.0, 1e-6), 5)
    0.02436
    """
    epsilon = min(not_negative("epsilon", epsilon), _MOST_X)
    log_delta = math.log(probability("delta", delta))

    def excess(x: float) -> float:
        budget = -log_delta - math.log1p(x)
        return (1.0 + 2.0 * x) * (budget / x / x) + _log_ratio(x) - epsilon

    x = _root(excess)
    # The terms sum to -x (1 + x) rho, so that rounding the sum up rounds rho down.
    terms = (-log_delta, -x * epsilon, x * _log_ratio(x), -math.log1p(x))
    rho = -_above(terms) / x / (1.0 + x) * (1.0 - _SUM_ERROR)
    if rho <= 0.0:
        raise ParameterError("delta", delta, f"is too small for epsilon = {epsilon}")
    return rho


def _log_ratio(x: float) -> float:
    """Return log(x / (1 + x)), accurate for small and for large x."""
    return -math.log1p(1.0 / x)


def _root(decreasing: Callable[[float], float]) -> float:
    """Return about where a decreasing function of x > 0 is 0.

    Every x gives a valid bound. Near the best x the bounds differ only in second order, so doubles
    are exact enough. Invariant: decreasing(low) > 0 >= decreasing(high), or the end concerned is an
    end of the search.
    """
    low, high = 1.0 / _MOST_X, _MOST_X
    while high / low > 2.0:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if decreasing(middle) > 0.0 else (low, middle)
    for _ in range(52):
        middle = low + (high - low) / 2.0
        low, high = (middle, high) if decreasing(middle) > 0.0 else (low, middle)
    return low


def _above(terms: tuple[float, ...]) -> float:
    """Return an upper bound of the sum of terms that each have a few rounding errors."""
    return math.fsum(terms) + _SUM_ERROR * math.fsum(map(abs, terms))


def probability(argument: str, value: object) -> float:
    """Return a float above 0 and below 1."""
    checked = _check.positive(argument, value)
    if checked >= 1.0:
        raise ParameterError(argument, value, "must be above 0 and below 1")
    return checked


def not_negative(argument: str, value: object) -> float:
    """Return a finite float, 0 or above."""
    checked = _check.finite(argument, value)
    if checked < 0.0:
        raise ParameterError(argument, value, "must not be negative")
    return checked
