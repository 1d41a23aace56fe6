"""Release the number of records, or the number of records of each public category."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.counts import Count, Counts
from ..curves.likely_mistakes import warn_of_categories
from ..errors import MissingValueError, ParameterError
from ..noise.sources import Source, source
from ..privacy.allowance import Allowance, Law, rho_of
from ..privacy.guarantees import Neighbours, Privacy, with_rho
from ..privacy.spending import releasing
from ..privacy.whole_counts import spread_over_counts
from ..records.column import Column
from ..records.labels import Label, places
from ..summaries.group_counts import public_groups
from ..summaries.totals import NanPolicy

__all__ = ["count", "counts", "noise_of_counts"]


@documented
def count(
    values: Any,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    delta: float | None = None,
    rng: np.random.Generator | None = None,
) -> Count:
    """Release the number of records with differential privacy.

    Parameters
    ----------
    values
        One column of the records, in any container in memory that ``dpcore.cdf`` takes, of any
        type. Missing values are counted, too.
    epsilon, rho, delta
        {budget}
    rng
        {rng}

    Returns
    -------
    Count
        With ``value`` and ``interval``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is invalid. Errors are raised before any noise is drawn.

    Notes
    -----
    The guarantee is for "add-or-remove-one". Under "replace-one" the number of records is public:
    it needs no release. A count has discrete Laplace noise of scale 1 / epsilon.

    Examples
    --------
    >>> import dpcore as dp
    >>> dp.count([21, 34, 55], epsilon=50.0).value
    3
    """
    budget = Allowance.checked(epsilon, rho, "add-or-remove-one", delta)
    law, bits = noise_of_counts(budget)
    stream, column = source(rng), Column.of(values)
    exact = np.array([_size(column)], np.int64)
    with releasing(_cost(budget, law, bits), "count", rng) as privacy:
        (noisy,) = _with_noise(exact, law, bits, stream).tolist()
    return Count(noisy, _deviation(law, bits), privacy)


@documented
def counts(
    values: Any,
    categories: Sequence[Label] | None = None,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours | None = None,
    delta: float | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> Counts:
    """Release the number of records of each public category with differential privacy.

    Parameters
    ----------
    values
        (n,) labels of the records, of one kind: numbers, booleans, strings or bytes, in any
        container in memory. Records in no category are not counted.
    categories
        (K,) the labels to count, all different. They are public, so they must not come from the
        data. None: those of a polars Enum.
    epsilon, rho, delta
        {budget}
    neighbours
        "replace-one": n is public, and the result keeps it. "add-or-remove-one": it is not, and the
        noise has half the scale. None: "replace-one".
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    Counts
        With ``values``, ``interval`` and ``to_frame``. ``chi_square_test`` compares two of them.

    Warns
    -----
    DpcoreWarning
        Nearly all records may be in no category, if n is public.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid, or there are no records and n is public. Errors are raised before
        any noise is drawn.

    Notes
    -----
    Categories are disjoint, so all together cost as much as one: the noise is discrete Laplace of
    scale 2 / epsilon under replace-one, where a record may leave one and enter another, and of
    scale 1 / epsilon under add-or-remove-one. O(n + K).

    Examples
    --------
    >>> import dpcore as dp
    >>> answers = ["yes"] * 700 + ["no"] * 300
    >>> found = dp.counts(answers, ["yes", "no"], epsilon=1.0)
    >>> abs(found["yes"] - 700) < 80, found.n
    (True, 1000)
    """
    relation: Neighbours = "replace-one" if neighbours is None else neighbours
    budget = Allowance.checked(epsilon, rho, relation, delta)
    law, bits = noise_of_counts(budget)
    _check.choice("nan_policy", nan_policy, NanPolicy)
    stream, column = source(rng), Column.of(values)
    labels = public_groups(column, categories, "categories")
    place, is_missing = places(column, labels, "categories")
    if is_missing is not None and nan_policy == "raise":
        raise MissingValueError("values")
    n = int(place.size if is_missing is None else np.count_nonzero(~is_missing))
    if budget.total_is_public and n < 1:
        raise ParameterError("values", n, "must hold at least one record")
    exact = np.bincount(place, minlength=len(labels) + 1)[: len(labels)]  # the last: in none
    with releasing(_cost(budget, law, bits), "counts", rng) as privacy:
        noisy = _with_noise(exact.astype(np.int64), law, bits, stream)
    public, deviation = n if budget.total_is_public else None, _deviation(law, bits)
    of_all = deviation * math.sqrt(noisy.size)
    warn_of_categories(labels, int(noisy.sum()), public, of_all, privacy)
    return Counts(labels, noisy, public, deviation, privacy)


def noise_of_counts(budget: Allowance) -> tuple[Law, int]:
    """Return the noise of disjoint counts, in units of 2^-bits, and the bits.

    Raises
    ------
    ParameterError
        The budget is too small.
    """
    spread = spread_over_counts(budget, budget.moved, Fraction(1))
    return spread.budget.law(budget.moved * 4**spread.bits), spread.bits


def _cost(budget: Allowance, law: Law, bits: int) -> Privacy:
    """Return the guarantee of the budget, with the rho of the noise: one or two counts change."""
    return with_rho(budget.privacy, rho_of(law, budget.moved * 4**bits))


def _with_noise(exact: NDArray[np.int64], law: Law, bits: int, stream: Source) -> NDArray[np.int64]:
    """Return counts with noise, rounded to whole counts."""
    drawn = np.empty(exact.size, np.int64)
    law.fill(drawn, stream)
    half = 1 << bits >> 1
    return np.asarray(exact + ((drawn + half) >> bits))


def _deviation(law: Law, bits: int) -> float:
    """Return the standard deviation of the noise in a count, with that of rounding."""
    rounding = 0.0 if bits == 0 else 1.0 / 12.0
    return float((law.variance * 4.0**-bits + rounding) ** 0.5)


def _size(column: Column) -> int:
    """Return how many records a column has, missing ones among them."""
    total = 0
    for part in column.parts():
        if part.present.ndim == 0:
            raise ParameterError(column.argument, (), "must be a column")
        total += part.present.shape[0] if part.absent is None else part.absent.size
    return total
