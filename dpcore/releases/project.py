"""Release a distribution as a few numbers: polynomial projection, without a grid."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from .. import _check
from .._documentation import documented
from ..curves.projection import Projection
from ..errors import ParameterError
from ..mechanisms import PolynomialProjection
from ..mechanisms.base import check_mechanism
from ..noise.sources import source
from ..privacy.allowance import refuse_beside_mechanism
from ..privacy.spending import releasing
from ..summaries.polynomial_sums import PolynomialSums, polynomial_sums
from ..summaries.totals import NanPolicy

__all__ = ["project", "project_sums"]


@documented
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
        Public finite bounds. ``dpcore.bounds`` estimates them privately.
    mechanism
        The mechanism that adds the noise. None: ``mechanisms.PolynomialProjection`` with the
        budget.
    epsilon, delta, rho
        {gaussian_budget}
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    Projection
        It gives curves on any grid, coefficients and moments. Projections can be added.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn.

    Notes
    -----
    The cost is O(n K); the memory does not depend on n. For data in chunks, add up
    ``polynomial_sums`` of the chunks, and release once by ``project_sums``.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> sites, budget = rng.normal([[172], [168]], 8, (2, 2000)), {"epsilon": 1.0, "delta": 1e-6}
    >>> first, second = (dp.project(site, 130, 210, **budget) for site in sites)
    >>> both = first + second
    >>> both.n, both.privacy.epsilon, both.moments(1).round(-1)
    (4000, 1.0, array([170.]))
    """
    chosen = _chosen(mechanism, epsilon, delta, rho, rng)
    degree = chosen.scheme.degree
    sums = polynomial_sums(values, lower, upper, degree, chosen.basis, nan_policy=nan_policy)
    if sums.n < 1:
        raise ParameterError("values", sums.n, "must hold at least one record")
    return project_sums(sums, chosen, rng=rng)


@documented
def project_sums(
    sums: PolynomialSums,
    mechanism: PolynomialProjection,
    *,
    rng: np.random.Generator | None = None,
) -> Projection:
    """Release exact sums that ``polynomial_sums`` returned.

    Parameters
    ----------
    sums
        Sums over at least one record. Every record must be in them exactly once.
    mechanism
        A mechanism with the basis and degree of the sums.
    rng
        {rng}

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> chunks = rng.normal(170, 8, (2, 2000))
    >>> first, second = (dp.polynomial_sums(chunk, 130, 210, degree=16) for chunk in chunks)
    >>> mechanism = dp.mechanisms.PolynomialProjection(1.0, degree=16, delta=1e-6)
    >>> found = dp.project_sums(first + second, mechanism, rng=rng)
    >>> found.n, found.moments(1).round()
    (4000, array([170.]))
    """
    chosen = _chosen(mechanism, None, None, None, rng)
    _check.instance("sums", sums, PolynomialSums, "must be PolynomialSums")
    asked, noise = chosen.scheme, chosen.noise()
    if (sums.basis, sums.degree) != (asked.basis, asked.degree):
        wanted = f"must be of basis {asked.basis!r} and degree {asked.degree}"
        raise ParameterError("sums", (sums.basis, sums.degree), wanted)
    if sums.n < 1:
        raise ParameterError("sums", sums.n, "must be of at least one record")
    with releasing(chosen.privacy_for(1), "project", rng) as privacy:
        totals = chosen.release_totals(sums.sums, rng=rng)
    return Projection(
        lower=sums.lower,
        upper=sums.upper,
        n=sums.n,
        totals=tuple(int(total) for total in totals),
        bits=noise.bits,
        variance=noise.variance,
        basis=chosen.basis,
        budgets=chosen.budgets,
        privacy=privacy,
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
        mechanism = PolynomialProjection(epsilon, rho=rho, delta=delta)
        mechanism.noise()  # refuses a budget that is too small
        return mechanism
    check_mechanism("mechanism", mechanism, PolynomialProjection)
    refuse_beside_mechanism(epsilon=epsilon, delta=delta, rho=rho)
    mechanism.noise()
    return mechanism
