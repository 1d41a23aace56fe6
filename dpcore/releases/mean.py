"""Release the mean of a column within public bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from .. import _check
from .._documentation import documented
from ..curves.mean import MEAN_BITS, Mean
from ..errors import ParameterError
from ..noise.sources import source
from ..privacy.allowance import Allowance, Law, rho_of
from ..privacy.guarantees import Neighbours, with_rho
from ..privacy.lattice import integer_noise
from ..privacy.spending import releasing
from ..summaries.polynomial_sums import PolynomialSums, polynomial_sums
from ..summaries.totals import NanPolicy

__all__ = ["MeanNoise", "mean", "noise_of_mean", "totals_of_mean"]

_LEAST_BITS: Final = 0


class MeanNoise(NamedTuple):
    """The noise in each total of a mean.

    Parameters
    ----------
    law
        Its law, in units of 2^-bits.
    bits
        The fixed point of the totals.
    """

    law: Law
    bits: int


@documented
def mean(
    values: Any,
    bounds: tuple[float, float],
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours | None = None,
    delta: float | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> Mean:
    """Release the mean of some records with differential privacy.

    Parameters
    ----------
    values
        (n,) real numbers, n up to 2^33, in any container that ``dpcore.cdf`` takes; n >= 1 if n is
        public.
    bounds
        The public lower and upper bound. They must not come from the data; ``dpcore.bounds``
        estimates them privately. Values beyond them count as the nearest bound.
    epsilon, rho, delta
        {budget}
    neighbours
        "replace-one": n is public. "add-or-remove-one": it is not. None: "replace-one".
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    Mean
        With ``value``, ``interval`` and ``population_interval``.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn.

    Notes
    -----
    Records are rounded to multiples of 2^-29 of the range, and their sum is exact. The noise is
    that of the whole range in one sum, so the standard error is sqrt(2) / (n epsilon) of the range,
    also where n is not public: the sums of x and of 1 - x then change by 1 together, and their sum
    is the number of records. docs/proofs/vector-sums.md, section 7, has the proof. O(n), on all
    processors.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> ages = np.random.default_rng(1).normal(40, 12, 5000)
    >>> round(dp.mean(ages, (0, 100), epsilon=1.0).value)
    40
    >>> found = dp.mean(ages, (0, 100), epsilon=1.0, neighbours="add-or-remove-one")
    >>> round(found.value), found.n
    (40, None)
    """
    lower, upper = _check.ends("bounds", bounds)
    relation: Neighbours = "replace-one" if neighbours is None else neighbours
    budget = Allowance.checked(epsilon, rho, relation, delta)
    noise, stream = noise_of_mean(budget), source(rng)
    sums = polynomial_sums(values, lower, upper, 1, nan_policy=nan_policy)
    if budget.total_is_public and sums.n < 1:
        raise ParameterError("values", sums.n, "must hold at least one record")
    totals = totals_of_mean(sums, budget, noise.bits)
    drawn = np.empty(len(totals), np.int64)
    cost = with_rho(budget.privacy, rho_of(noise.law, 4**noise.bits))
    with releasing(cost, "mean", rng) as privacy:
        noise.law.fill(drawn, stream)
    return Mean(
        lower=lower,
        upper=upper,
        totals=tuple(exact + own for exact, own in zip(totals, drawn.tolist(), strict=True)),
        bits=noise.bits,
        n=sums.n if budget.total_is_public else None,
        noise_deviation=noise.law.variance**0.5,
        privacy=privacy,
    )


def noise_of_mean(budget: Allowance) -> MeanNoise:
    """Return the noise of a budget, with the finest totals that its samplers take.

    Neighbours' totals differ by at most 2^bits in all (docs/proofs/vector-sums.md, section 7).

    Raises
    ------
    ParameterError
        The budget is too small.
    """
    for bits in range(MEAN_BITS, _LEAST_BITS, -1):
        try:
            return _noise(budget, bits)
        except ParameterError:
            continue
    return _noise(budget, _LEAST_BITS)


def totals_of_mean(sums: PolynomialSums, budget: Allowance, bits: int) -> list[int]:
    """Return the exact totals, in units of 2^-bits: of x, and of 1 - x if n is not public.

    The kernel's integers for 2 x - 1 are within +-2^28, so those for x are within 0 and 2^29. The
    sum is rounded down, and the second total is what the records lack to 1 each.
    """
    of_x = (int(sums.sums[0]) + int(sums.sums[1])) >> (MEAN_BITS - bits)
    return [of_x] if budget.total_is_public else [of_x, (sums.n << bits) - of_x]


def _noise(budget: Allowance, bits: int) -> MeanNoise:
    if budget.epsilon is not None:
        return MeanNoise(budget.law(2**bits), bits)
    totals = 1 if budget.total_is_public else 2
    return MeanNoise(integer_noise(budget, Fraction(4**bits), totals), bits)
