"""From records to a few released numbers: polynomial projection without a grid."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check
from ._polynomials import FIXED_POINT
from ._totals import NanPolicy
from .errors import DtypeError, ParameterError
from .mechanisms import PolynomialProjection
from .mechanisms.polynomial import checked_records
from .projection import Projection
from .randomness import source

__all__ = ["project", "project_sums"]


def project(
    values: Any,
    lower: float,
    upper: float,
    mechanism: PolynomialProjection | None = None,
    *,
    epsilon: float | Fraction | None = None,
    delta: float | None = None,
    rho: float | Fraction | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> Projection:
    """Release the distribution function of some records as K + 1 numbers.

    Parameters
    ----------
    values
        (n,) real numbers, n >= 1, in any container that ``dpcore.cdf`` takes. Values beyond the
        bounds count as the bounds.
    lower, upper
        Public bounds, finite. ``dpcore.bounds`` estimates them privately.
    mechanism
        None: ``mechanisms.PolynomialProjection`` with the budget.
    epsilon, delta, rho
        The budget, if no mechanism is given: epsilon with delta, or rho.
    rng
        None for a release: noise from a cryptographic source. A generator is for studies.
    nan_policy
        "raise" on missing values, before anything is spent, or "omit" them.

    Returns
    -------
    Projection
        Which gives curves on any grid, coefficients and moments, and adds up.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        Whatever is wrong with the arguments, before any noise is drawn.

    Notes
    -----
    O(n K), and memory that does not depend on n. For data in chunks: add up ``mechanism.sums``,
    and release once by ``project_sums``.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> sites = [rng.normal(170, 8, 5_000), rng.normal(165, 7, 3_000)]
    >>> first, second = (dp.project(site, 100, 240, epsilon=1.0, delta=1e-6) for site in sites)
    >>> both = first + second
    >>> both.n, both.privacy.epsilon
    (8000, 1.0)
    >>> bool(abs(both.moments(1)[0] - 168) < 2)
    True
    """
    chosen = _chosen(mechanism, epsilon, delta, rho, rng)
    sums = chosen.sums(values, lower, upper, nan_policy=nan_policy)
    return project_sums(sums, lower, upper, chosen, rng=rng)


def project_sums(
    sums: NDArray[np.int64],
    lower: float,
    upper: float,
    mechanism: PolynomialProjection,
    *,
    rng: np.random.Generator | None = None,
) -> Projection:
    """Release exact sums that were made before, by ``mechanism.sums``.

    Parameters
    ----------
    sums
        (K + 2,) int64, every record in them exactly once.
    lower, upper
        The bounds that they were made with.
    mechanism
        The mechanism that made them, or one with another budget.
    rng
        As in ``project``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    """
    chosen = _chosen(mechanism, None, None, None, rng)
    low, high = _check.bounds(lower, upper)
    array = np.asarray(sums)
    if array.dtype != np.int64:
        raise DtypeError("sums", f"dtype {array.dtype}", "must be int64, from mechanism.sums")
    asked, noise = chosen.scheme, chosen.noise()
    if array.shape != (asked.degree + 2,):
        raise ParameterError("sums", array.shape, f"must have shape ({asked.degree + 2},)")
    n = checked_records(int(array[0]) >> FIXED_POINT)
    totals = chosen.noisy_totals(array, 1, source(rng))[0]
    return Projection(
        lower=low,
        upper=high,
        n=n,
        totals=tuple(int(each) for each in totals),
        bits=noise.bits,
        variance=noise.variance,
        basis=chosen.basis,
        budgets=chosen.budgets,
        privacy=replace(chosen.privacy, simulated=rng is not None),
        mechanism=chosen.describe(),
    )


def _chosen(
    mechanism: PolynomialProjection | None,
    epsilon: float | Fraction | None,
    delta: float | None,
    rho: float | Fraction | None,
    rng: np.random.Generator | None,
) -> PolynomialProjection:
    """Check all that does not depend on the records, and return the mechanism."""
    source(rng)
    if mechanism is None:
        return PolynomialProjection(epsilon, delta, rho=rho)
    for name, value in {"epsilon": epsilon, "delta": delta, "rho": rho}.items():
        if value is not None:
            raise ParameterError(name, value, "must not be given beside a mechanism")
    if not isinstance(mechanism, PolynomialProjection):
        raise DtypeError("mechanism", type(mechanism).__name__, "must be a PolynomialProjection")
    return mechanism
