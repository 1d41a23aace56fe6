"""Private bounds around zero: the first of some doubling intervals that holds enough records."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..errors import ParameterError
from ..mechanisms.budgeted import MOST_RECORDS
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
    """Release bounds -b and b between which about a share of the records is.

    Parameters
    ----------
    values
        (n,) the records, one real number each, as ``Grid.count`` takes them. Infinities are
        outside of all bounds.
    epsilon
        The budget, a positive number (a Fraction is taken exactly). Neighbours: "replace-one", so
        n is public.
    unit
        The least b, a positive number, not below 2^-1022: public, and not from the data. The
        narrower of two is the safer choice.
    coverage
        About which share of the records is to be within the bounds, between 0 and 1.
    doublings
        b is one of unit 2^i, i = 0, ..., doublings. The last of them ends every search.
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    Bounds
        lower = -b, upper = b, and ``outside``, how many records were to be left out.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        Whatever is wrong with the arguments, before any noise is drawn.

    See Also
    --------
    bounds : for columns that are not centred; it needs a larger n epsilon.

    Notes
    -----
    Chen, Machanavajjhala, Reiter & Barrientos, *Differentially private regression diagnostics*
    (2016), Algorithm 1: ``above_threshold`` on the numbers of records within [-unit 2^i, unit 2^i].
    These are monotonic, so queries have half of the paper's noise. If the k-th of these intervals
    (from i = 0) has enough records, then with probability 1 - beta the bounds have at most
    2 (log k + 2 log(2 / beta)) / epsilon fewer than were asked for: about half of what the paper
    says, or less. Where n epsilon (1 - coverage) is small, they are often too wide: see
    docs/selection.md. Values that are no doubles count as the next doubles above. O(n).

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
        (N,) of ``Rungs.count``.
    outside
        How many records are to be left out, at most.
    epsilon
        What the search spends, for "replace-one".
    rng
        As in ``above_threshold``.
    """
    inside = np.cumsum(counts)
    threshold = int(inside[-1]) - outside
    return above_threshold(inside, threshold, epsilon=epsilon, monotonic=True, rng=rng)
