"""From predictions and residuals to a released residual plot: bounds, a table, points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.residual_plot import ResidualPlot
from ..curves.scores import numbered
from ..errors import DtypeError, ParameterError
from ..mechanisms import Mechanism
from ..mechanisms.budgeted import MOST_RECORDS
from ..noise.sources import source
from ..privacy.budget import Budget
from ..records.columns import Chunk
from ..summaries.grid import MOST_CELLS, Grid
from ..summaries.table_grid import TableGrid, complete_pairs
from ..summaries.totals import NanPolicy
from .cdf import checked, refuse_one_row_only
from .compact_bounds import compact_end, compact_rungs
from .symmetric_bounds import Rungs, symmetric_end
from .table import raw_table, table_mechanism

__all__ = ["residual_plot"]

Search = Literal["compact", "sparse-vector"]
Range = tuple[float, float]

_COVERAGE: Final = Fraction(19, 20)  # theta in the paper: of either column
_DOUBLINGS: Final = 62  # of the unit, in the paper's search
_MOST_SHARE: Final = Fraction(3, 10)  # of the budget, for both bounds
_ENOUGH: Final = 470  # n epsilon, of both bounds
_RECORDS: Final = 10  # n epsilon for each cell in the paper's rule, where both are cut in halves
_MOST_SIDE: Final = 2**11


@documented
def residual_plot(
    predicted: Any,
    residuals: Any,
    *,
    epsilon: float | Fraction,
    unit: float | tuple[float, float] = 1.0,
    predicted_range: Range | None = None,
    residual_range: Range | None = None,
    search: Search = "compact",
    cells: int | tuple[int, int] | None = None,
    mechanism: Callable[..., Mechanism] | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> ResidualPlot:
    """Release a plot of residuals against predicted values with differential privacy.

    The model has to be public, or released itself: what it has learned of the records is not paid
    for here. Neighbours: one record replaced, its predicted value and its residual.

    Parameters
    ----------
    predicted, residuals
        (n,) predicted values, and observed less predicted ones, real numbers, n >= 1.
    epsilon
        The budget of the whole plot, a positive number (a Fraction is taken exactly).
    unit
        A unit of either column, public: bounds are the unit times a power of two. One number for
        both, or two.
    predicted_range, residual_range
        The bounds, where they are public; nothing is then spent on them. They must not come from
        the data. None: they are released.
    search
        How bounds are found. "compact": by ``compact_bounds``. "sparse-vector": by
        ``symmetric_bounds``, for 95 % of the records, as the paper does.
    cells
        How many cells along either axis, one number or two; None: by the public n epsilon.
    mechanism
        What releases the table: called with ``epsilon=...``, say ``mechanisms.Dawa``, which is the
        paper's. None: as in ``dpcore.table``.
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    ResidualPlot
        Its privacy is the sum of what bounds and table cost.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        Whatever is wrong with the arguments, before any noise is drawn.

    Notes
    -----
    PriRP of Chen, Machanavajjhala, Reiter & Barrientos, *Differentially private regression
    diagnostics* (2016), section III.B, with other bounds and another table by default, which need a
    fifth of its n epsilon (docs/residuals.md, docs/residuals-accuracy.md). Bounds get the share
    min(0.3, 470 / (n epsilon)), half of it each. Records beyond them have a cell of their own.
    O(n + number of cells).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(1, 50, 5000)
    >>> plot = dp.residual_plot(x, rng.normal(0, 1 + x / 10), epsilon=1.0)
    >>> spread = plot.quantiles([0.25, 0.75])
    >>> plot.points.shape[1]
    2
    """
    budget = Budget.checked(epsilon, None, "replace-one")
    assert budget.epsilon is not None
    _check.choice("search", search, Search)
    rungs = [
        compact_rungs(each) if search == "compact" else Rungs(each, _DOUBLINGS)
        for each in _two("unit", unit)
    ]
    ends = [
        None if known is None else _checked_range(name, known)
        for name, known in (
            ("predicted_range", predicted_range),
            ("residual_range", residual_range),
        )
    ]
    sides = None if cells is None else _checked_cells(cells)
    source(rng)
    columns = complete_pairs(predicted, residuals, ("predicted", "residuals"), nan_policy)
    n = columns[0].size
    if not 1 <= n <= MOST_RECORDS:
        raise ParameterError("predicted", n, f"must hold between 1 and {MOST_RECORDS} records")
    each = min(_MOST_SHARE * budget.epsilon, Fraction(_ENOUGH, n)) / 2
    rest = budget.epsilon - each * ends.count(None)
    if sides is None:
        sides = (_side(n, rest),) * 2
    chosen = _table_mechanism(mechanism, rest, sides[0] * sides[1] + 1)
    Budget.checked(each, None, "replace-one").law(1, Fraction(1, 2))  # refuses too small ones
    found = [
        _released(own.count(column, "raise"), own, search, each, rng) if known is None else known
        for own, column, known in zip(rungs, columns, ends, strict=True)
    ]
    grid = TableGrid(
        *(Grid.uniform(*known, side) for known, side in zip(found, sides, strict=True))
    )
    table = raw_table(*_counted(columns, grid), grid, chosen, rng).isotonic()
    cost = table.privacy
    if mechanism is None:
        cost = replace(budget.privacy, simulated=rng is not None)
    elif budget.epsilon > rest:
        spent = Budget.checked(budget.epsilon - rest, None, "replace-one").privacy
        cost += replace(spent, simulated=rng is not None)
    return ResidualPlot(table, table.sample(rng=rng), cost)


def _two(argument: str, value: Any) -> tuple[Any, Any]:
    """Return a pair, or the same thing twice."""
    if not isinstance(value, tuple | list | np.ndarray):
        return value, value
    if len(value) != 2:
        raise ParameterError(argument, value, "must be one number, or two")
    return value[0], value[1]


def _checked_range(argument: str, ends: Any) -> Range:
    values = _check.items(argument, ends, "must be two numbers")
    if len(values) != 2:
        raise ParameterError(argument, ends, "must be two numbers")
    low, high = (_check.finite(argument, end) for end in values)
    if not low < high:
        raise ParameterError(argument, ends, "must rise")
    return low, high


def _checked_cells(cells: Any) -> tuple[int, int]:
    first, second = (_check.integer("cells", each, 1, MOST_CELLS) for each in _two("cells", cells))
    if first * second >= MOST_CELLS:
        raise ParameterError("cells", cells, f"must be fewer than {MOST_CELLS} in all")
    return first, second


def _side(n: int, epsilon: Fraction) -> int:
    """Return how many cells to take along an axis: an even number, so that one of them ends at 0.

    Twice as many as the paper's rule sqrt(n epsilon / 10): bounds around 0 may leave one half
    empty, and isotonic regression joins cells that are alike (docs/residuals-accuracy.md).
    """
    return 2 * min(max(1, round(math.sqrt(0.9 * n * float(epsilon) / _RECORDS))), _MOST_SIDE // 2)


def _table_mechanism(
    make: Callable[..., Mechanism] | None, epsilon: Fraction, size: int
) -> Callable[[int], Mechanism]:
    """Return what gives the table's mechanism for n records, checked."""
    if make is None:
        return partial(table_mechanism, size, epsilon, None, "replace-one", None)
    if not callable(make):
        raise DtypeError("mechanism", type(make).__name__, "must be called with epsilon=...")
    mechanism = make(epsilon=epsilon)
    refuse_one_row_only(mechanism, "a table has two columns")
    chosen = checked(numbered(size), mechanism, None, None, None, None, False, None)
    if mechanism.privacy.neighbours != "replace-one" or mechanism.privacy.rho is not None:
        raise ParameterError(
            "mechanism", mechanism.privacy, "must state an epsilon for replace-one: n is public"
        )
    return chosen


def _released(
    counts: NDArray[np.int64],
    rungs: Rungs,
    search: Search,
    epsilon: Fraction,
    rng: np.random.Generator | None,
) -> Range:
    """Return bounds of a column that is counted on rungs."""
    if search == "compact":
        end = compact_end(counts, epsilon, rng)
    else:
        outside = round((1 - _COVERAGE) * int(counts.sum()))
        end = symmetric_end(counts, outside, epsilon, rng)
    most = float(rungs.ends[end])
    return -most, most


def _counted(columns: tuple[Chunk, Chunk], grid: TableGrid) -> tuple[NDArray[np.int64], int]:
    """Return the records in each cell of a grid, and how many are in none."""
    wider = TableGrid(*(_with_ends(own) for own in (grid.x, grid.y)))
    counts = wider.count(*columns)
    inside = counts[1:-1, 1:-1]
    return inside, int(counts.sum() - inside.sum())


def _with_ends(grid: Grid) -> Grid:
    """Return a grid with one more cell at either end, for what is beyond."""
    beyond = math.nextafter(float(grid.thresholds[-1]), math.inf)
    return Grid(np.concatenate([[grid.lower], grid.thresholds, [beyond]]))
