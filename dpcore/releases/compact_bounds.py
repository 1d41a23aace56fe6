"""Private bounds around zero: choose the interval that is worth its width."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, ldexp
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..errors import ParameterError
from ..mechanisms.base import MOST_RECORDS
from ..mechanisms.selection import exponential_mechanism
from ..noise.sources import source
from ..privacy.allowance import Allowance
from ..privacy.spending import spending
from ..summaries.rungs import Rungs
from ..summaries.totals import NanPolicy
from .bounds import Bounds

__all__ = ["compact_bounds", "compact_end", "compact_rungs", "rungs_of"]

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
    n = int(counts.sum())
    if not 1 <= n <= MOST_RECORDS:
        raise ParameterError("values", n, f"must hold between 1 and {MOST_RECORDS} records")
    assert budget.epsilon is not None
    privacy = replace(budget.privacy, simulated=rng is not None)
    with spending(privacy, "compact_bounds"):
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
