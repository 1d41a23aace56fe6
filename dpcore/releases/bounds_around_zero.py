"""Private bounds around zero, by one of two searches among intervals that double."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import ceil, floor, ldexp
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..errors import ParameterError
from ..mechanisms.base import checked_size
from ..mechanisms.selection import above_threshold, exponential_mechanism
from ..noise.sources import source
from ..privacy.allowance import Allowance, rho_of_choice
from ..privacy.guarantees import with_rho
from ..privacy.spending import releasing
from ..summaries.rungs import Rungs
from ..summaries.totals import NanPolicy
from .bounds import Bounds

__all__ = [
    "compact_bounds",
    "compact_end",
    "compact_rungs",
    "rungs_of",
    "symmetric_bounds",
    "symmetric_end",
]

_GAIN: Final = 0.04
_LEAST_GAIN: Final = Fraction(1, 1000)


@documented
def compact_bounds(
    values: Any,
    *,
    epsilon: float | Fraction,
    unit: float = 1.0,
    gain: float | Fraction = _GAIN,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> Bounds:
    """Release bounds -b and b, and weigh the records within them against their width.

    Parameters
    ----------
    values
        (n,) the records, one real number each, as ``Grid.count`` takes them. Infinities are
        outside all bounds.
    epsilon
        The budget, a positive number (a Fraction is taken exactly). Neighbours: "replace-one", so
        n is public.
    unit
        The least b, a positive number. It is public, so it must not come from the data.
    gain
        g, at least 0.001 and below 1. A doubling of b is worth it if it adds this share of the
        records. b is one of unit 2^i with i g < 1: at most 2^24 units for g = 0.04.
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    Bounds
        lower = -b, upper = b. ``outside`` is 0, because no number of records was asked for.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn.

    See Also
    --------
    symmetric_bounds : searches for a share of the records; it needs a larger n epsilon.
    bounds : for columns that are not centred.

    Notes
    -----
    The exponential mechanism chooses the interval. The score of interval i is the number of records
    in [-unit 2^i, unit 2^i] minus i gain n. Counts of nested intervals are monotonic, which doubles
    the exponent. An interval that is too wide loses gain n for each doubling, whereas a search
    treats all intervals alike that hold enough records. docs/proofs/selection.md explains this, and
    docs/measured/bounds-accuracy.md measures it. The cost is O(n).

    Examples
    --------
    >>> import numpy as np
    >>> residuals = np.random.default_rng(1).normal(0, 3, 2_000)
    >>> found = compact_bounds(residuals, epsilon=0.5)
    >>> found.lower, found.upper
    (-8.0, 8.0)
    """
    budget = Allowance.checked(epsilon, None, "replace-one")
    budget.law(1)  # refuses an epsilon that is too small for any noise
    rungs, share = compact_rungs(unit, gain), _checked_gain(gain)
    source(rng)
    counts = rungs.count(values, nan_policy)
    n = checked_size("values", int(counts.sum()))
    assert budget.epsilon is not None
    cost = with_rho(budget.privacy, rho_of_choice(budget.epsilon))
    with releasing(cost, "compact_bounds", rng) as privacy:
        end = float(rungs.ends[compact_end(counts, budget.epsilon, rng, share)])
    return Bounds(-end, end, n, 0, privacy)


def compact_rungs(unit: float, gain: float | Fraction = _GAIN) -> Rungs:
    """Return the intervals from which ``compact_bounds`` chooses.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as in ``compact_bounds``.
    """
    return rungs_of(unit, ceil(1 / _checked_gain(gain)) - 1)


def rungs_of(unit: float, doublings: int) -> Rungs:
    """Return the intervals of a unit.

    Raises
    ------
    DtypeError, ParameterError
        The unit is not a positive number, or is too large for so many doublings.
    """
    if _check.positive("unit", unit) > ldexp(sys.float_info.max, -doublings):
        raise ParameterError("unit", unit, f"must keep unit 2^{doublings} finite")
    return Rungs(unit, doublings)


def compact_end(
    counts: NDArray[np.int64],
    epsilon: Fraction,
    rng: np.random.Generator | None,
    gain: Fraction = Fraction(_GAIN),
) -> int:
    """Return the index of the rung that is chosen.

    Parameters
    ----------
    counts
        (N,) counts, from ``Rungs.count``.
    epsilon
        What the choice spends, for "replace-one".
    rng
        As in ``exponential_mechanism``.
    gain
        As in ``compact_bounds``.
    """
    inside = np.cumsum(counts)
    price = gain * int(inside[-1])  # public, because n is
    scores = inside - np.array([floor(i * price) for i in range(inside.size)])
    return exponential_mechanism(scores, epsilon=epsilon, monotonic=True, rng=rng)


def _checked_gain(gain: object) -> Fraction:
    share = _check.fraction("gain", gain)
    if not _LEAST_GAIN <= share < 1:
        raise ParameterError("gain", gain, f"must be at least {float(_LEAST_GAIN)}, and below 1")
    return share


@documented
def symmetric_bounds(
    values: Any,
    *,
    epsilon: float | Fraction,
    unit: float = 1.0,
    coverage: float = 0.95,
    doublings: int = 62,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> Bounds:
    """Release bounds -b and b that hold about a given share of the records.

    Parameters
    ----------
    values
        (n,) the records, one real number each, as ``Grid.count`` takes them. Infinities are
        outside all bounds.
    epsilon
        The budget, a positive number (a Fraction is taken exactly). Neighbours: "replace-one", so
        n is public.
    unit
        The least b, a positive number, not below 2^-1022. It is public, so it must not come from
        the data. If in doubt, choose a smaller unit.
    coverage
        The share of the records that the bounds should hold, approximately; between 0 and 1.
    doublings
        b is one of unit 2^i, i = 0, ..., doublings. Every search ends at the last of them.
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    Bounds
        lower = -b and upper = b. ``outside`` is the number of records that the search was asked to
        leave out.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn.

    See Also
    --------
    bounds : for columns that are not centred; it needs a larger n epsilon.

    Notes
    -----
    This is Algorithm 1 of Chen, Machanavajjhala, Reiter & Barrientos, *Differentially private
    regression diagnostics* (2016): ``above_threshold`` on the numbers of records within
    [-unit 2^i, unit 2^i]. These numbers are monotonic, so queries have half of the paper's noise.
    If the k-th of these intervals (from i = 0) has enough records, then with probability 1 - beta
    the bounds hold at most 2 (log k + 2 log(2 / beta)) / epsilon fewer records than were asked for.
    This is about half of the paper's number, or less. If n epsilon (1 - coverage) is small, the
    bounds are often too wide: see docs/proofs/selection.md. A value that is not a double counts as
    the next double above. The cost is O(n).

    Examples
    --------
    >>> import numpy as np
    >>> residuals = np.random.default_rng(1).normal(0, 3, 10_000)
    >>> found = symmetric_bounds(residuals, epsilon=1.0)
    >>> found.lower, found.upper
    (-8.0, 8.0)
    """
    budget = Allowance.checked(epsilon, None, "replace-one")
    budget.law(1, Fraction(1, 2))  # refuses an epsilon that is too small for any noise
    share = _check.proportion("coverage", coverage)
    rungs = Rungs(unit, doublings)
    source(rng)
    counts = rungs.count(values, nan_policy)
    n = checked_size("values", int(counts.sum()))
    outside = round((1 - share) * n)
    assert budget.epsilon is not None
    with releasing(budget.privacy, "symmetric_bounds", rng) as privacy:
        end = float(rungs.ends[symmetric_end(counts, outside, budget.epsilon, rng)])
    return Bounds(-end, end, n, outside, privacy)


def symmetric_end(
    counts: NDArray[np.int64], outside: int, epsilon: Fraction, rng: np.random.Generator | None
) -> int:
    """Return the index of the first rung that leaves out few enough of the records.

    Parameters
    ----------
    counts
        (N,) counts, from ``Rungs.count``.
    outside
        How many records to leave out at most.
    epsilon
        What the search spends, for "replace-one".
    rng
        As in ``above_threshold``.
    """
    inside = np.cumsum(counts)
    threshold = int(inside[-1]) - outside
    return above_threshold(inside, threshold, epsilon=epsilon, monotonic=True, rng=rng)
