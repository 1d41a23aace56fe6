"""Private bounds around zero: find the first interval that holds enough records."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..errors import ParameterError
from ..mechanisms.base import MOST_RECORDS
from ..mechanisms.selection import above_threshold
from ..noise.sources import source
from ..privacy.allowance import Allowance
from ..privacy.spending import spending
from ..summaries.rungs import Rungs
from ..summaries.totals import NanPolicy
from .bounds import Bounds

__all__ = ["symmetric_bounds", "symmetric_end"]


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
    n = int(counts.sum())
    if not 1 <= n <= MOST_RECORDS:
        raise ParameterError("values", n, f"must hold between 1 and {MOST_RECORDS} records")
    outside = round((1 - share) * n)
    assert budget.epsilon is not None
    privacy = replace(budget.privacy, simulated=rng is not None)
    with spending(privacy, "symmetric_bounds"):
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
