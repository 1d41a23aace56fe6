"""Suggest what to release, and which errors to expect, from public numbers only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np

from .. import _check
from ..curves import forms
from ..curves.shapes import float_or_array
from ..curves.shown import short
from ..curves.stored import Stored
from ..errors import DtypeError, ParameterError, amount
from ..mechanisms import Mechanism
from ..mechanisms.base import MOST_RECORDS, check_mechanism
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Neighbours
from ..records.times import scalar
from ..summaries.grid import Grid, check_grid
from .drawn import few_drawn
from .most_accurate import error_of, most_accurate
from .plan_shapes import expected_errors

__all__ = ["FINEST", "Suggestion", "suggest", "suggested_size"]

FINEST: Final = 2**16
_SIZES: Final = tuple(2**height for height in range(4, 17))
_CELL: Final = 1 / math.sqrt(12)  # the standard deviation of a uniform place within a cell
_MOST_DOUBLINGS: Final = 20.0  # the budget is doubled or halved at most so many times
_PRECISION: Final = 0.01  # the precision of the budget's binary logarithm

Unit = Literal["shares", "values"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Suggestion(Stored):
    """A grid and a mechanism for ``dpcore.cdf``, and the errors to expect. Made by ``suggest``.

    Parameters
    ----------
    n
        The number of records that the suggestion is for.
    grid
        The suggested grid. It is as fine as is useful with this noise.
    mechanism
        The suggested mechanism, ready for ``dpcore.cdf``.
    count_error
        The expected root mean square error of the cumulative counts of isotonic curves, over the
        thresholds, in records. It is the largest one among the reference shapes of ``dpcore.plan``.
    share_error
        The expected error of a quantile in ranks, as a part of n. It comes from the noise and from
        the width of a cell.
    value_error
        The expected error of a quantile in units of the values, if records are spread evenly over
        the bounds. Where they are k times as dense, the error is 1 / k of this, down to the width
        of a cell. For times and durations, a timedelta64.
    few_quantiles
        The largest number of quantiles that ``dpcore.quantiles`` draws, because that is usually
        more accurate than this curve; 0: none.
    enough
        The least epsilon, or rho, that reaches the given ``error``, to within 1 %. None if no error
        was given, or if no budget up to 2^20 times the given one is enough.
    reasons
        Sentences that explain the suggestion.

    Examples
    --------
    >>> import dpcore as dp
    >>> dp.suggest(n=10_000, epsilon=1.0, lower=0, upper=120)
    <Suggestion for 10,000 records: 512 cells, dawa, quantiles to 0.15 % of ranks>
    """

    _kind = "dpcore.suggestion"

    n: int = field(metadata=forms.WHOLE)
    grid: Grid = field(metadata=forms.GRID)
    mechanism: Mechanism = field(metadata=forms.MECHANISM)
    count_error: float = field(metadata=forms.NUMBER)
    share_error: float = field(metadata=forms.NUMBER)
    value_error: Any = field(metadata=forms.VALUE)
    few_quantiles: int = field(metadata=forms.WHOLE)
    enough: float | None = field(metadata=forms.or_null(forms.NUMBER))
    reasons: tuple[str, ...] = field(metadata=forms.tuple_of(forms.TEXT))

    def __post_init__(self) -> None:
        for name in ("n", "few_quantiles"):
            _check.integer(name, getattr(self, name), 0, 2**63 - 1)
        check_grid("grid", self.grid)
        check_mechanism("mechanism", self.mechanism)
        for name in ("count_error", "share_error"):
            _check.held(name, getattr(self, name))
        _check.held("value_error", self.value_error, kinds="iufm")
        if self.enough is not None:
            _check.held("enough", self.enough)
        _check.tuple_of("reasons", self.reasons, str)

    def _guarantees(self) -> tuple[Any, ...]:
        return ()

    def _choices(self) -> Mapping[str, Any]:
        return {"grid": self.grid, "n": self.n, "mechanism": self.mechanism.describe()}

    def __repr__(self) -> str:
        return (
            f"<Suggestion for {self.n:,} records: {amount(self.grid.size, 'cell')}, "
            f"{self.mechanism.describe()['name']}, "
            f"quantiles to {100 * self.share_error:.2g} % of ranks>"
        )

    def __str__(self) -> str:
        return "\n".join(self.reasons)


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
    integers: bool = False,
) -> Suggestion:
    """Suggest a grid and a mechanism for n records, with the errors to expect.

    Parameters
    ----------
    n
        The approximate number of records, a public number, 1 to 2^46.
    lower, upper
        Public bounds of the values: numbers, dates, times or durations, as in ``Grid.uniform``.
    epsilon, rho, delta
        The budget of the release, as in ``dpcore.cdf``.
    neighbours
        "replace-one" or "add-or-remove-one".
    error
        An error of quantiles that you want to reach, above 0 and below the whole range (1, or
        upper - lower). ``enough`` is then the budget that reaches it.
    unit
        The unit of ``error``: "shares" for ranks as a part of n; or "values" for the unit of the
        bounds, which is a duration if the bounds are times or durations.
    integers
        Whether values are whole numbers, or whole days. If so, and if there are at most as many of
        them from lower to upper as cells are useful, each has its own cell: the grid is then
        ``Grid.integers`` or ``Grid.days``.

    Returns
    -------
    Suggestion
        ``dpcore.cdf(values, found.grid, found.mechanism)`` makes the suggested release.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    The function uses public numbers only, so it costs no privacy. The number of cells is a power of
    two from 16 to 2^16, unless values are ``integers``. It balances two errors: with more cells the
    noise grows, and with fewer cells each cell is wider. This assumes that records are spread over
    the bounds. If you know that they lie in a k-th part of the bounds, use narrower bounds, or k
    times as many cells.
    docs/guides/suggest.md explains the choice.

    Examples
    --------
    >>> import dpcore as dp
    >>> found = dp.suggest(n=10_000, epsilon=1.0, lower=0, upper=120, error=1.0, unit="values")
    >>> found.grid, round(found.value_error, 2), round(found.enough, 2)
    (Grid.uniform(0.0, 120.0, 512), 0.18, 0.12)
    >>> dp.suggest(n=10_000, epsilon=1.0, lower=0, upper=60, integers=True).grid
    Grid.integers(0, 60)
    """
    n = _check.integer("n", n, 1, MOST_RECORDS)
    bounds = Grid.uniform(lower, upper, 1)
    width = float(bounds.positions[-1]) - bounds.start
    _check.choice("unit", unit, Unit)
    _check.flag("integers", integers)
    goal = None if error is None else _goal(error, bounds, unit)
    whole = width if unit == "values" else 1.0
    if goal is not None and goal >= whole:
        raise ParameterError("error", error, f"must be below the whole range, in {unit}")
    budget = Allowance.checked(epsilon, rho, neighbours, delta)
    size = _best_size(budget, n)
    grid = (_whole_grid(bounds, size) if integers else None) or Grid.uniform(lower, upper, size)
    size = grid.size
    mechanism = most_accurate(size, budget, n)
    counts = max(expected_errors(mechanism, size, n).mean.values())
    share = min(_rank_error(counts, size, n), 1.0)
    few = 0 if delta is not None else few_drawn(size, budget, n if budget.total_is_public else None)
    enough = None
    if goal is not None:
        enough = _enough(budget, n, goal / whole)
    value = float_or_array(grid.shown_differences(np.asarray(share * width)))
    name = mechanism.describe()["name"]
    reasons = (
        f"Release dp.cdf(values, dp.{grid!r}, {_parameter(budget)}=...), by {name}.",
        f"The error of the number of records up to a value is {counts:.3g} (root mean square).",
        f"The error of a quantile is {100 * share:.2g} % of the ranks, or {short(value, 2)} where"
        " values spread evenly over the bounds.",
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
    """Return the number of cells that ``suggest`` suggests under replace-one."""
    return _best_size(Allowance.checked(epsilon, rho, "replace-one", delta), n)


def _whole_grid(bounds: Grid, most: int) -> Grid | None:
    """Return one cell for each whole number or day within bounds; None: none, or more than most."""
    step, unit = bounds.step, bounds.unit
    first = math.ceil(bounds.start / step) * step
    last = math.floor(bounds.positions[0] / step) * step
    if unit == "instant" or not 0.0 < (last - first) / step < most:
        return None
    if max(-first, last) > 2.0**53:  # doubles do not tell whole numbers apart
        return None
    make = Grid.integers if unit is None else Grid.days
    return make(*bounds.shown(np.array([first, last]), whole=True))


def _rank_error(counts: float, size: int, n: int) -> float:
    """Return the error of a quantile, as a part of n, if counts are off by ``counts`` records."""
    return math.hypot(counts / n, _CELL / size)


def _best_size(budget: Allowance, n: int) -> int:
    """Return the number of cells with the least error in closed form."""
    errors: dict[int, float] = {}
    refusal = None
    for size in _SIZES:
        try:
            errors[size] = _rank_error(error_of(most_accurate(size, budget), size), size, n)
        except ParameterError as error:  # the budget is too small for so many cells
            refusal = error
    if not errors:
        assert refusal is not None
        raise refusal
    return min(errors, key=errors.__getitem__)


def _enough(budget: Allowance, n: int, goal: float) -> float | None:
    """Return the least epsilon or rho with which the error, in closed form, is the goal."""

    def is_enough(doublings: float) -> bool:
        try:
            larger = budget.times(2.0**doublings)
            size = _best_size(larger, n)
            return _rank_error(error_of(most_accurate(size, larger), size), size, n) <= goal
        except ParameterError:  # the budget is too small for any grid
            return False

    least_doublings = _least(is_enough, -_MOST_DOUBLINGS, _MOST_DOUBLINGS)
    if least_doublings is None:
        return None
    larger = budget.times(2.0**least_doublings)
    return float(larger.arguments[_parameter(larger)])


def _least(holds: Callable[[float], bool], low: float, high: float) -> float | None:
    """Return the least number from which on a condition holds; None: it holds nowhere."""
    if not holds(high):
        return None
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _about_quantiles(few: int, budget: Allowance) -> str:
    if budget.stated is not None:
        return "dp.quantiles needs epsilon or rho alone: use dp.cdf(...).quantile(p) instead."
    if few < 1:
        return "Quantiles of the curve are more accurate than those that are drawn alone."
    most = amount(few, "quantile")
    return f"If you need at most {most} and no curve, dp.quantiles is more accurate."


def _parameter(budget: Allowance) -> str:
    """Return the name of the parameter that states the budget."""
    return "rho" if budget.arguments["rho"] is not None else "epsilon"


def _goal(error: Any, grid: Grid, unit: Unit) -> float:
    """Return the given error, above 0, in ranks or in units of the grid's positions."""
    if unit == "shares" or grid.unit is None:
        return _check.positive("error", error)
    span = scalar("error", error)
    if span is None or span[1] != "duration":
        raise DtypeError(
            "error", type(error).__name__, "must be a duration, because the bounds are times"
        )
    return _check.positive("error", span[0])


def _about_enough(enough: float | None, budget: Allowance, wished: str) -> str:
    if enough is None:
        return f"No {_parameter(budget)} reaches an error of {wished} with this number of records."
    return f"For an error of {wished}, {_parameter(budget)} = {enough:.2g} is enough."


def _wished(goal: float, grid: Grid, unit: Unit) -> str:
    """Return the text of the error to reach."""
    if unit == "shares":
        return f"{goal:.3g} of the ranks"
    span = float_or_array(grid.shown_differences(np.asarray(goal)))
    return short(span, 3) + (" in the values' unit" if grid.unit is None else "")
