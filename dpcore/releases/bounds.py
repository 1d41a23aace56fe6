"""Private bounds: two searches over public thresholds, one from below and one from above."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves import forms
from ..curves.shapes import float_or_array
from ..curves.shown import cost, line, short
from ..curves.stored import Stored
from ..errors import ParameterError, amount
from ..mechanisms.base import MOST_RECORDS, checked_size
from ..mechanisms.selection import above_threshold
from ..noise.laws import DiscreteLaplace
from ..noise.sources import source
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Privacy, with_rho
from ..privacy.spending import releasing
from ..summaries.grid import Grid, check_grid
from ..summaries.totals import NanPolicy

__all__ = ["Bounds", "bounds"]

_FAILURE: Final = 0.05  # the probability that one of the two searches stops too early
_POWERS: Final = 2.0 ** np.arange(-20, 63)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Bounds(Stored):
    """Released bounds, lower < upper. Made by ``bounds`` and ``symmetric_bounds``.

    Parameters
    ----------
    lower, upper
        Public thresholds. Nearly all records are between them.
    n
        The public number of records.
    outside
        About how many records the search was asked to leave out: for ``bounds``, at or below
        ``lower``, and as many again above ``upper``; for ``symmetric_bounds``, on both sides
        together.
    privacy
        The cost of both bounds together.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> dp.bounds(rng.lognormal(8, 0.5, 10_000), epsilon=1.0, rng=rng)
    <Bounds: 512 to 1.638e+04, n = 10000, epsilon = 1, SIMULATED>
    """

    _kind = "dpcore.bounds"

    lower: float = field(metadata=forms.VALUE)
    upper: float = field(metadata=forms.VALUE)
    n: int = field(metadata=forms.WHOLE)
    outside: int = field(metadata=forms.WHOLE)
    privacy: Privacy = field(metadata=forms.PRIVACY)

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            _check.held(name, getattr(self, name), kinds="iufmM")
        for name in ("n", "outside"):
            _check.integer(name, getattr(self, name), 0, 2**63 - 1)
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        both = [np.asarray(end) for end in (self.lower, self.upper)]
        are_times = [end.dtype.kind in "mM" for end in both]
        if any(are_times) and both[0].dtype.kind != both[1].dtype.kind:
            raise ParameterError("upper", self.upper, "must be of the kind of lower")
        if not (np.isfinite(both[0]) and np.isfinite(both[1]) and both[0] < both[1]):
            raise ParameterError("upper", self.upper, f"must be above lower, {self.lower}")

    def _choices(self) -> Mapping[str, Any]:
        return {"n": self.n}

    def __repr__(self) -> str:
        ends = f"{short(self.lower)} to {short(self.upper)}"
        return line("Bounds", f"{ends}, n = {self.n}, {cost(self.privacy)}")


@documented
def bounds(
    values: Any,
    *,
    epsilon: float | Fraction,
    grid: Grid | None = None,
    outside: int | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> Bounds:
    """Release bounds of some records with differential privacy, as the ends of a later grid.

    Parameters
    ----------
    values
        (n,) the records, one real number each, as ``Grid.count`` takes them.
    epsilon
        The budget of both bounds together, a positive number (a Fraction is taken exactly).
        Neighbours: "replace-one", so n is public.
    grid
        The public thresholds, at least two. None: 0 and +-2^k for k = -20, ..., 62.
    outside
        About how many records to leave out on either side, less than n / 2. None: a number with
        which, with probability 95 %, neither search stops too early. This number depends only on
        epsilon and the number of thresholds, and it grows with 1 / epsilon.
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    Bounds
        If the searches find lower and upper in the wrong order, they are exchanged. If both find
        the same threshold, upper becomes the next threshold; if there is none, lower becomes the
        one before.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid, or n is too small for this epsilon. Errors are raised before any
        noise is drawn.

    Notes
    -----
    Two calls of ``above_threshold`` search the cumulative counts, which are monotonic, each with
    half of epsilon. The search from below looks for the first threshold with n - outside records
    or more up to it. The search from above looks for the first threshold with at most outside
    records up to it. With ``outside=None`` and with probability 95 %, each search leaves out fewer
    than twice this number of records on its side (or the grid ends before), and neither bound lies
    beyond the first threshold that leaves out no record (docs/proofs/selection.md). The cost is
    O(n log N).

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Grid
    >>> incomes = np.random.default_rng(1).lognormal(8, 0.5, 10_000)
    >>> rng = np.random.default_rng(2)  # for a reproducible example; a release takes none
    >>> found = bounds(incomes, epsilon=1.0, rng=rng)
    >>> found
    <Bounds: 512 to 1.638e+04, n = 10000, epsilon = 1, SIMULATED>
    >>> Grid.uniform(found.lower, found.upper, 1024)
    Grid.uniform(512.0, 16384.0, 1024)
    """
    grid = _default_grid() if grid is None else grid
    check_grid("grid", grid)
    if grid.size < 2:
        raise ParameterError("grid", grid.size, "must have at least two thresholds")
    budget = Allowance.checked(epsilon, None, "replace-one")
    law = budget.law(1, Fraction(1, 4))  # for the threshold and for each count
    assert isinstance(law, DiscreteLaplace)
    chosen = _likely_enough(float(law.scale), grid.size) if outside is None else outside
    chosen = _check.integer("outside", chosen, 0, MOST_RECORDS)
    source(rng)
    counts = grid.count(values, nan_policy=nan_policy)
    n = checked_size("values", int(counts.sum()))
    if 2 * chosen >= n and outside is not None:
        raise ParameterError("outside", outside, f"must be less than half of the {n} records")
    if 2 * chosen >= n:
        needed = f"with it, they need at least {2 * chosen + 1}"
        raise ParameterError(
            "epsilon", epsilon, f"is too small for bounds of {amount(n, 'record')}: {needed}"
        )
    assert budget.epsilon is not None
    cost = with_rho(budget.privacy, budget.epsilon**2 / 4)  # of two searches, half of it each
    with releasing(cost, "bounds", rng) as privacy:
        low, high = sorted(ends(counts, chosen, budget.epsilon / 2, rng))
    if low == high:
        low, high = (low, high + 1) if high + 1 < grid.size else (low - 1, high)
    return Bounds(
        float_or_array(grid.shown(grid.positions[low])),
        float_or_array(grid.shown(grid.positions[high])),
        n,
        chosen,
        privacy,
    )


def ends(
    counts: NDArray[np.int64], outside: int, epsilon_each: Fraction, rng: np.random.Generator | None
) -> tuple[int, int]:
    """Return the indices of a lower and an upper threshold, which may be in the wrong order."""
    cumulative = np.cumsum(counts)
    n = int(cumulative[-1])
    low = above_threshold(
        -cumulative[::-1], -outside, epsilon=epsilon_each, monotonic=True, rng=rng
    )
    high = above_threshold(cumulative, n - outside, epsilon=epsilon_each, monotonic=True, rng=rng)
    return counts.size - 1 - low, high


def _default_grid() -> Grid:
    return Grid(np.concatenate([-_POWERS[::-1], [0.0], _POWERS]))


def _likely_enough(scale: float, thresholds: int) -> int:
    """Return the least count that no noise exceeds at any threshold, with enough probability.

    Let X and Y be independent discrete Laplace variables of one scale, q = exp(-1 / scale), and
    z >= 0. The sum over the ways to split z is
    P(X - Y = z) = ((1 - q) / (1 + q))^2 q^z (z + 1 + 2 q^2 / (1 - q^2)). Its sum from a on is
    P(X - Y >= a) = q^a ((a + 1) (1 - q) + q + 2 q^2 / (1 + q)) / (1 + q)^2. There are two
    searches, and each compares at most one such difference for each threshold.
    """
    q, p = math.exp(-1.0 / scale), -math.expm1(-1.0 / scale)

    def is_enough(a: int) -> bool:
        tail = math.exp(-a / scale) * ((a + 1) * p + q + 2 * q * q / (1 + q)) / (1 + q) ** 2
        return 2 * thresholds * tail <= _FAILURE

    low, high = -1, 1
    while not is_enough(high):
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
