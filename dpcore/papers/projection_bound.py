"""Theorem 1 of the projection paper: how far its released curve is from the population's."""

from __future__ import annotations

import math
from typing import Final

from .. import _check
from ..errors import DtypeError, ParameterError
from ..mechanisms.polynomial import PolynomialProjection
from ..summaries.polynomials import MOST_RECORDS

__all__ = ["published_error_bound"]

_STEPS: Final = 200  # halvings, more than a double has bits


def published_error_bound(
    mechanism: PolynomialProjection,
    records: int,
    level: float = 0.95,
    *,
    approximation: float = 0.0,
) -> float:
    """Return the bound in L2 that Theorem 1 of the projection paper states, eta.

    Its proof rests on an inequality (2) that does not hold from degree 4 on, and from degree 10 on
    the theorem is wrong. ``PolynomialProjection.error_bound`` is smaller, and proved.

    Parameters
    ----------
    mechanism
        The mechanism of the paper, with ``basis="moments"``. Its noise is that of dpcore.
    records, level, approximation
        As in ``PolynomialProjection.error_bound``. ``approximation`` is alpha.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    eta makes 2 exp(-n (eta - alpha)^2 / 16) + 2 (K + 1) exp(-(eta - alpha)^2 / (4 (K + 1)^4 s^2))
    equal to 1 - level, with the standard deviation s of the noise in a mean of powers
    (docs/proofs/projection.md, section 4).

    Examples
    --------
    >>> from dpcore.mechanisms import PolynomialProjection
    >>> from dpcore.papers.projection_bound import published_error_bound
    >>> for epsilon in (0.1, 1.0):
    ...     mechanism = PolynomialProjection(epsilon, basis="moments", delta=1e-6)
    ...     published = published_error_bound(mechanism, 10_000)
    ...     print(epsilon, round(published, 2), round(mechanism.error_bound(10_000), 2))
    0.1 3.39 0.69
    1.0 0.39 0.1
    """
    if not isinstance(mechanism, PolynomialProjection):
        what = "must be a PolynomialProjection"
        raise DtypeError("mechanism", type(mechanism).__name__, what)
    if mechanism.basis != "moments":
        raise ParameterError("mechanism", mechanism, 'must have basis="moments"')
    n = _check.integer("records", records, 1, MOST_RECORDS)
    fails = 1.0 - _check.proportion("level", level)
    alpha = _check.finite("approximation", approximation)
    if alpha < 0.0:
        raise ParameterError("approximation", alpha, "must be 0 or more")
    terms = mechanism.scheme.degree + 1
    spread = 4.0 * terms**4 * mechanism.noise().variance / n**2

    def failing(squared: float) -> float:
        return 2.0 * math.exp(-n * squared / 16.0) + 2.0 * terms * math.exp(-squared / spread)

    most = math.log(4.0 * terms / fails) * (16.0 / n + spread)  # each term is below fails / 2
    least = 0.0
    for _ in range(_STEPS):
        middle = (least + most) / 2
        least, most = (middle, most) if failing(middle) > fails else (least, middle)
    return alpha + math.sqrt(most)
