"""From predictions and residuals to a released residual plot: bounds, a table, points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.residual_plot import ResidualPlot
from ..curves.scores import numbered
from ..curves.table_mistakes import warn_of_residual_plot
from ..errors import DpcoreError, DtypeError, ParameterError
from ..mechanisms import Mechanism
from ..mechanisms.budgeted import MOST_RECORDS
from ..noise.sources import source
from ..privacy.budget import Budget
from ..records.columns import Chunk
from ..summaries.grid import MOST_CELLS, Grid
from ..summaries.table_grid import TableGrid, complete_pairs
from ..summaries.totals import NanPolicy
from .cdf import checked, raw_release, refuse_one_row_only
from .residual_axis import Ends, ResidualAxis, Search, with_ends
from .table import raw_table, table_mechanism

__all__ = ["residual_plot"]

_MOST_SHARE: Final = Fraction(3, 10)  # of the budget, for both bounds
_ENOUGH: Final = 470  # n epsilon, of both bounds
_RECORDS: Final = 10  # n epsilon for each cell in the paper's rule, where both are cut in halves
_WITHIN: Final = Fraction(9, 10)  # of the records, in both columns: the paper's theta^2, nearly
_MOST_SIDE: Final = 2**11


@documented
def residual_plot(
    predicted: Any,
    residuals: Any,
    *,
    epsilon: float | Fraction,
    unit: float | tuple[float, float] = 1.0,
    predicted_range: Ends | None = None,
    residual_range: Ends | None = None,
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
        What releases the table: called with ``epsilon=...``, which it must not exceed; say
        ``mechanisms.Dawa``, which is the paper's. None: as in ``dpcore.table``.
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    ResidualPlot
        Its privacy is what bounds and table cost together: epsilon, and the mechanism's delta.

    Warns
    -----
    DpcoreWarning
        Most records are beyond the bounds, or nearly all are in a small part of an axis
        (docs/table.md, section 6).

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        Whatever is wrong with the arguments, before any noise is drawn.

    Notes
    -----
    PriRP of Chen, Machanavajjhala, Reiter & Barrientos, *Differentially private regression
    diagnostics* (2016), section III.B, with other bounds and another table by default, which do
    with less n epsilon (docs/residuals-accuracy.md). Bounds get the share min(0.3, 470 / (n
    epsilon)), half of it each. Records beyond them have a cell of their own. docs/residuals.md has
    the proof. O(n + number of cells).

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
    units = _two("unit", unit)
    axes = [
        ResidualAxis("predicted_range", predicted_range, units[0], search),
        ResidualAxis("residual_range", residual_range, units[1], search),
    ]
    sides = None if cells is None else _checked_cells(cells)
    source(rng)
    columns = complete_pairs(predicted, residuals, ("predicted", "residuals"), nan_policy)
    n = columns[0].size
    if not 1 <= n <= MOST_RECORDS:
        raise ParameterError("predicted", n, f"must hold between 1 and {MOST_RECORDS} records")
    share = min(_MOST_SHARE, _ENOUGH / (n * budget.epsilon)) / 2
    searches = [axis.ends for axis in axes].count(None)
    rest = (1 - searches * share) * budget.epsilon
    if sides is None:
        sides = (_side(n, rest),) * 2
    budget.law(2, share if searches else Fraction(1))  # refuses what is too small for any part
    for axis, side in zip(axes, sides, strict=True):
        axis.refuse(side)
    size = sides[0] * sides[1] + 1
    chosen = _table_mechanism(mechanism, rest, size, n)
    counted = [axis.count(column) for axis, column in zip(axes, columns, strict=True)]
    found = [
        axis.ends or axis.released(counts, share * budget.epsilon, rng)
        for axis, counts in zip(axes, counted, strict=True)
    ]
    grid = TableGrid(*(Grid.uniform(*ends, side) for ends, side in zip(found, sides, strict=True)))
    table = raw_table(*_counted(columns, grid), grid, chosen, rng).isotonic()
    privacy = replace(budget.privacy, delta=table.privacy.delta, simulated=table.privacy.simulated)
    plot = ResidualPlot(table, table.sample(rng=rng), privacy)
    warn_of_residual_plot(plot)
    return plot


def _two(argument: str, value: Any) -> tuple[Any, Any]:
    """Return a pair, or the same thing twice."""
    if not isinstance(value, tuple | list | np.ndarray):
        return value, value
    both = _check.items(argument, value, "must be one number, or two")
    if len(both) != 2:
        raise ParameterError(argument, value, "must be one number, or two")
    return both[0], both[1]


def _checked_cells(cells: Any) -> tuple[int, int]:
    first, second = (_check.integer("cells", each, 1, MOST_CELLS) for each in _two("cells", cells))
    if (first + 2) * (second + 2) > MOST_CELLS:  # with what is beyond
        raise ParameterError(
            "cells", cells, f"must leave at most {MOST_CELLS}, with a rim around them"
        )
    return first, second


def _side(n: int, epsilon: Fraction) -> int:
    """Return how many cells to take along an axis: an even number, so that one of them ends at 0.

    Twice as many as the paper's rule sqrt(n epsilon / 10): bounds around 0 may leave one half
    empty, and isotonic regression joins cells that are alike (docs/residuals-accuracy.md).
    """
    most = _MOST_SIDE // 2
    paper = math.sqrt(min(_WITHIN * n * epsilon / _RECORDS, Fraction(most**2)))
    return 2 * max(1, round(paper))


def _table_mechanism(
    make: Callable[..., Mechanism] | None, epsilon: Fraction, size: int, n: int
) -> Callable[[int], Mechanism]:
    """Return what gives the table's mechanism, which refuses nothing any more."""
    if make is None:
        return partial(table_mechanism, size, epsilon, None, "replace-one", None)
    if not callable(make):
        raise DtypeError("mechanism", type(make).__name__, "must be called with epsilon=...")
    most = float(epsilon)  # a double, since that is what mechanisms state
    if most > epsilon:
        most = math.nextafter(most, 0.0)
    try:
        mechanism = make(epsilon=Fraction(most))
    except DpcoreError:
        raise
    except TypeError as error:
        raise DtypeError("mechanism", error, "must be called with epsilon=...") from error
    refuse_one_row_only(mechanism, "a table has two columns")
    row = numbered(size)
    chosen = checked(row, mechanism, None, None, None, None, False, None)
    cost = mechanism.privacy
    if cost.neighbours != "replace-one" or cost.epsilon is None or cost.epsilon > most:
        what = f"must be for replace-one, and spend at most the epsilon it is given, {most:.6g}"
        raise ParameterError("mechanism", cost, what)
    # What it refuses depends on its parameters, n and the number of cells. Let it be refused here,
    # by a release of no records at all, and not after bounds were paid for.
    nobody = np.zeros(size, np.int64)
    nobody[0] = n
    raw_release(nobody, row, chosen, None)
    return chosen


def _counted(columns: tuple[Chunk, Chunk], grid: TableGrid) -> tuple[NDArray[np.int64], int]:
    """Return the records in each cell of a grid, and how many are in none."""
    counts = TableGrid(with_ends(grid.x), with_ends(grid.y)).count(*columns)
    inside = counts[1:-1, 1:-1]
    return inside, int(counts.sum() - inside.sum())
