"""What to release, and what errors to expect: from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from .. import _check
from ..curves.shapes import float_or_array
from ..curves.shown import short
from ..errors import DtypeError, ParameterError
from ..mechanisms import Mechanism
from ..mechanisms.budgeted import MOST_RECORDS
from ..privacy.guarantees import Neighbours
from ..records.times import scalar
from ..summaries.grid import Grid
from .most_accurate import error_of, most_accurate
from .plan_shapes import expected_errors

__all__ = ["FINEST", "Suggestion", "suggest", "suggested_size"]

FINEST: Final = 2**16
_SIZES: Final = tuple(2**height for height in range(4, 17))
_CELL: Final = 1 / math.sqrt(12)  # the standard deviation of a place anywhere in a cell
_OF_A_CHOICE: Final = 2 * math.sqrt(2)  # records, times m / epsilon, off a drawn quantile
_MOST_DOUBLINGS: Final = 20.0  # of the budget, either way
_PRECISION: Final = 0.01  # of its logarithm to the base 2

Unit = Literal["shares", "values"]


@dataclass(frozen=True, slots=True, repr=False)
class Suggestion:
    """A grid and a mechanism for ``dpcore.cdf``, and the errors to expect. Made by ``suggest``.

    Parameters
    ----------
    n
        The number of records that it is for.
    grid
        As fine as the noise makes sense of.
    mechanism
        Ready for ``dpcore.cdf``.
    count_error
        The root mean square error to expect of cumulative counts of isotonic curves, over the
        thresholds, in records: the largest of ``dpcore.plan``'s reference shapes.
    share_error
        Of a quantile, in ranks as a part of n: by the noise, and by the width of a cell.
    value_error
        Of a quantile, in units of the values, where records are spread evenly over the bounds.
        Where they are k times as dense, it is 1 / k of that, down to a cell's width. Of times and
        durations, a timedelta64.
    few_quantiles
        For no more quantiles than that ``dpcore.quantiles`` is more accurate; 0: for none.
    enough
        The least epsilon, or rho, with which the error is the one that was wished, to within 1 %;
        None if none was wished, or no budget up to 2^20 times the given one is enough.
    reasons
        Sentences that say so.

    Examples
    --------
    >>> import dpcore as dp
    >>> dp.suggest(n=10_000, epsilon=1.0, lower=0, upper=120)
    <Suggestion for 10,000 records: 512 cells, dawa, quantiles to 0.13 % of ranks>
    """

    n: int
    grid: Grid
    mechanism: Mechanism
    count_error: float
    share_error: float
    value_error: Any
    few_quantiles: int
    enough: float | None
    reasons: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"<Suggestion for {self.n:,} records: {self.grid.size} cells, "
            f"{self.mechanism.describe()['name']}, "
            f"quantiles to {100 * self.share_error:.2g} % of ranks>"
        )

    def __str__(self) -> str:
        return "\n".join(self.reasons)


class _Budget(NamedTuple):
    """What may be spent."""

    epsilon: float | Fraction | None
    rho: float | Fraction | None
    neighbours: Neighbours
    delta: float | None

    @property
    def name(self) -> str:
        return "rho" if self.rho is not None else "epsilon"

    def times(self, factor: float) -> _Budget:
        """Return so many times the budget."""
        if self.rho is not None:
            return self._replace(rho=float(self.rho) * factor)
        assert self.epsilon is not None
        return self._replace(epsilon=float(self.epsilon) * factor)

    def mechanism(self, size: int, n: int | None = None) -> Mechanism:
        return most_accurate(size, self.epsilon, self.rho, self.neighbours, self.delta, n)

    def error(self, size: int) -> float:
        """Return the root mean square of the noise in counts, in closed form."""
        mechanism: Any = self.mechanism(size)
        return error_of(mechanism, size)


def suggest(
    *,
    n: int,
    lower: Any,
    upper: Any,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    delta: float | None = None,
    neighbours: Neighbours = "replace-one",
    error: Any = None,
    unit: Unit = "shares",
) -> Suggestion:
    """Suggest a grid and a mechanism for records, and say what errors to expect.

    Parameters
    ----------
    n
        How many records there are, about: a public number, 1 to 2^46.
    lower, upper
        Public bounds of the values: numbers, dates, times or durations, as in ``Grid.uniform``.
    epsilon, rho, delta
        What the release may spend, as in ``dpcore.cdf``.
    neighbours
        "replace-one" or "add-or-remove-one".
    error
        An error of quantiles that is wished, above 0 and below the whole (1, or upper - lower):
        ``enough`` then says what would reach it.
    unit
        Of ``error``: "shares", ranks as a part of n; or "values", the unit of the bounds, and a
        duration where these are times or durations.

    Returns
    -------
    Suggestion
        ``dpcore.cdf(values, found.grid, found.mechanism)`` does what is suggested.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    From public numbers alone, so it costs nothing. The number of cells, a power of two from 16 to
    2^16, balances noise, which grows with it, and the width of a cell, for records that are spread
    over the bounds; if they are known to lie in a k-th of these, take narrower bounds, or k times
    as many cells. docs/suggest.md.

    Examples
    --------
    >>> import dpcore as dp
    >>> found = dp.suggest(n=10_000, epsilon=1.0, lower=0, upper=120, error=1.0, unit="values")
    >>> found.grid, round(found.value_error, 2), round(found.enough, 2)
    (Grid.uniform(0.0, 120.0, 512), 0.16, 0.12)
    """
    n = _check.integer("n", n, 1, MOST_RECORDS)
    bounds = Grid.uniform(lower, upper, 1)
    width = float(bounds.positions[-1]) - bounds.start
    _check.choice("unit", unit, Unit)
    goal = None if error is None else _goal(error, bounds, unit)
    whole = width if unit == "values" else 1.0
    if goal is not None and goal >= whole:
        raise ParameterError("error", error, f"must be below the whole, in {unit}")
    budget = _Budget(epsilon, rho, neighbours, delta)
    budget.mechanism(_SIZES[0])  # refuses what is wrong
    size = _best_size(budget, n)
    grid = Grid.uniform(lower, upper, size)
    mechanism = budget.mechanism(size, n)
    counts = max(expected_errors(mechanism, size, n).values())
    share = min(_rank_error(counts, size, n), 1.0)
    few = 0
    if epsilon is not None and neighbours == "replace-one":
        few = math.floor(counts * float(epsilon) / _OF_A_CHOICE)
    enough = None
    if goal is not None:
        enough = _enough(budget, n, goal / whole)
    value = float_or_array(grid.shown_differences(np.asarray(share * width)))
    name = mechanism.describe()["name"]
    reasons = (
        f"Release dp.cdf(values, dp.{grid!r}, {budget.name}=...), by {name}.",
        f"Counts of records up to a value are off by {counts:.3g} (root mean square).",
        f"Quantiles are off by {100 * share:.2g} % of the ranks, or {short(value, 2)} where values"
        " spread evenly over the bounds.",
        _about_quantiles(few, budget),
        *([] if goal is None else [_about_enough(enough, budget, _wished(goal, grid, unit))]),
    )
    return Suggestion(
        n=n,
        grid=grid,
        mechanism=mechanism,
        count_error=counts,
        share_error=share,
        value_error=value,
        few_quantiles=few,
        enough=enough,
        reasons=reasons,
    )


def suggested_size(
    n: int,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    delta: float | None,
) -> int:
    """Return how many cells ``suggest`` takes under replace-one."""
    return _best_size(_Budget(epsilon, rho, "replace-one", delta), n)


def _rank_error(counts: float, size: int, n: int) -> float:
    """Return the error of a quantile, as a part of n, if counts are off by so many records."""
    return math.hypot(counts / n, _CELL / size)


def _best_size(budget: _Budget, n: int) -> int:
    """Return the number of cells with the least error in closed form."""
    errors: dict[int, float] = {}
    refusal = None
    for size in _SIZES:
        try:
            errors[size] = _rank_error(budget.error(size), size, n)
        except ParameterError as error:  # the budget is too small for so many cells
            refusal = error
    if not errors:
        assert refusal is not None
        raise refusal
    return min(errors, key=errors.__getitem__)


def _enough(budget: _Budget, n: int, goal: float) -> float | None:
    """Return the least epsilon or rho with which the error, in closed form, is the goal."""

    def is_enough(doublings: float) -> bool:
        larger = budget.times(2.0**doublings)
        try:
            size = _best_size(larger, n)
            return _rank_error(larger.error(size), size, n) <= goal
        except ParameterError:  # too small for any grid
            return False

    found = _least(is_enough, -_MOST_DOUBLINGS, _MOST_DOUBLINGS)
    if found is None:
        return None
    larger = budget.times(2.0**found)
    spent = larger.rho if larger.rho is not None else larger.epsilon
    assert spent is not None
    return float(spent)


def _least(holds: Callable[[float], bool], low: float, high: float) -> float | None:
    """Return the least number at which a condition holds that goes on to hold; None: at none."""
    if not holds(high):
        return None
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _about_quantiles(few: int, budget: _Budget) -> str:
    if budget.epsilon is None or budget.neighbours != "replace-one":
        return "dp.quantiles is for epsilon and replace-one alone: take dp.cdf(...).quantile(p)."
    if few < 1:
        return "Quantiles of the curve are more accurate than those of dp.quantiles."
    return (
        f"For up to {few} quantiles, and no curve, dp.quantiles is more accurate: off by"
        f" {_OF_A_CHOICE / float(budget.epsilon):.2g} records for each that is asked for."
    )


def _goal(error: Any, grid: Grid, unit: Unit) -> float:
    """Return the error that is wished, above 0, in ranks or on the line of the thresholds."""
    if unit == "shares" or grid.unit is None:
        return _check.positive("error", error)
    found = scalar("error", error)
    if found is None or found[1] != "duration":
        raise DtypeError(
            "error", type(error).__name__, "must be a duration, as the bounds are times"
        )
    return _check.positive("error", found[0])


def _about_enough(enough: float | None, budget: _Budget, wished: str) -> str:
    if enough is None:
        return f"No {budget.name} reaches an error of {wished} with so many records."
    return f"For an error of {wished}, {budget.name} = {enough:.2g} is enough."


def _wished(goal: float, grid: Grid, unit: Unit) -> str:
    """Return how an error that is wished is written."""
    if unit == "shares":
        return f"{goal:.3g} of the ranks"
    span = float_or_array(grid.shown_differences(np.asarray(goal)))
    return short(span, 3) + (" in the values' unit" if grid.unit is None else "")
