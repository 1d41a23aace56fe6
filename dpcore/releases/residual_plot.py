"""Release a residual plot from predicted values and residuals: bounds, a table, points."""

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
from ..curves.table import Integers, of_both_columns
from ..curves.table_mistakes import warn_of_residual_plot
from ..errors import DpcoreError, DtypeError, ParameterError
from ..mechanisms import Histogram, Mechanism
from ..mechanisms.base import check_mechanism, checked_size
from ..noise.sources import source
from ..privacy.allowance import Allowance
from ..privacy.guarantees import with_rho
from ..privacy.spending import spending, unwatched
from ..records.column import Chunk, Column
from ..summaries.grid import MOST_CELLS, Grid
from ..summaries.rungs import Rungs
from ..summaries.table_grid import TableGrid, complete_pairs
from ..summaries.totals import NanPolicy
from .cdf import checked, raw_release, refuse_one_row_only, taken
from .residual_bounds import Ends, Search, ends_of, rungs_for, share_of
from .table import raw_table
from .table import table_mechanism as by_default

__all__ = ["residual_plot"]

_MOST_SHARE: Final = Fraction(3, 10)  # the largest share of the budget for both bounds
_ENOUGH: Final = 470  # this n epsilon is enough for both bounds
# ``n epsilon`` for each cell in the paper's rule. Here both sides of the rule are halved.
_RECORDS: Final = 10
# A share of the records in both columns; nearly the paper's theta^2.
_WITHIN: Final = Fraction(9, 10)
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
    integers: bool | Integers | None = None,
) -> ResidualPlot:
    """Release a plot of residuals against predicted values with differential privacy.

    The model must be public or released with its own guarantee. This release does not pay for what
    the model has learned from the records. Neighbours: one record is replaced, with its predicted
    value and its residual.

    Parameters
    ----------
    predicted, residuals
        (n,) predicted values, and residuals, which are observed minus predicted values. Real
        numbers, n >= 1.
    epsilon
        The budget of the whole plot, a positive number (a Fraction is taken exactly).
    unit
        A public unit of each column: one number for both, or two numbers. Bounds are the unit times
        a power of two. They reach 2^9 units if n epsilon is 100 or less, and 2^24 units if it is
        1000.
    predicted_range, residual_range
        The bounds, if they are public; no budget is then spent on them. They must not come from
        the data. None: they are released.
    search
        How bounds are found. "compact": choose intervals that are worth their width; they are
        symmetric around zero, or, for predicted values, also on one side of zero.
        "sparse-vector": use ``symmetric_bounds`` for 95 % of the records, as the paper does.
    cells
        The number of cells along each axis, one number or two. None: the public n epsilon
        determines it.
    mechanism
        A function that is called with ``epsilon=...`` and returns the mechanism for the table,
        which must not spend more; for example ``mechanisms.Dawa``, which the paper uses. None:
        ``mechanisms.Histogram``, or the choice of ``dpcore.table`` if ``cells`` are given.
    rng
        {rng}
    nan_policy
        {nan_policy}
    integers
        Whether the predicted values and the residuals are whole numbers: a tuple of two bools, or
        one bool for both. None: the typed schema of the column says so, as in ``dpcore.cdf``.

    Returns
    -------
    ResidualPlot
        Its ``privacy`` is the cost of bounds and table together: epsilon, and the delta of the
        mechanism.

    Warns
    -----
    DpcoreWarning
        Most records are beyond the bounds, or nearly all are in a small part of an axis
        (docs/guides/table.md, section 6).

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn.

    Notes
    -----
    This is PriRP of Chen, Machanavajjhala, Reiter & Barrientos, *Differentially private regression
    diagnostics* (2016), section III.B. By default, bounds and table differ from the paper; they
    need less n epsilon (docs/measured/residuals-accuracy.md). Bounds get the share
    min(0.3, 470 / (n epsilon)) of the budget. Of this share, compact bounds of predicted values get
    two thirds, and the paper's bounds of predicted values get one half. Records beyond the bounds
    are counted in one separate cell. docs/proofs/residuals.md has the proof. The cost is
    O(n + number of cells).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(1, 50, 5000)
    >>> plot = dp.residual_plot(x, rng.normal(0, 1 + x / 10), epsilon=1.0, rng=rng)
    >>> plot.predicted_range, plot.residual_range
    ((0.0, 64.0), (-16.0, 16.0))
    >>> plot.quantiles([0.25, 0.75])[[5, 30]].round(1)  # in two columns of cells
    array([[-1.3,  1.1],
           [-3.9,  4.5]])
    """
    budget = Allowance.checked(epsilon, None, "replace-one")
    assert budget.epsilon is not None
    _check.choice("search", search, Search)
    units = _for_both_axes("unit", unit)
    for axis_unit in units:
        _check.positive("unit", axis_unit)
    known = (
        None if predicted_range is None else _check.ends("predicted_range", predicted_range),
        None if residual_range is None else _check.ends("residual_range", residual_range),
    )
    sides = None if cells is None else _sides_of(cells)
    said = of_both_columns(integers)
    given = Column.of(predicted, "predicted"), Column.of(residuals, "residuals")
    of_both = given[0].stated(said[0], by_grid=False), given[1].stated(said[1], by_grid=False)
    source(rng)
    columns = complete_pairs(*given, nan_policy)
    n = checked_size("predicted", columns[0].size)
    share = min(_MOST_SHARE, _ENOUGH / (n * budget.epsilon)) * share_of(search, known)
    first, rest = share * budget.epsilon, (1 - share) * budget.epsilon
    if sides is None:
        sides = (side_of(n, rest),) * 2
    # This refuses an epsilon that is too small for any part. No part needs more noise than each
    # half in the paper.
    budget.law(2, share / 2 if share else Fraction(1))
    rungs = rungs_for(search, units, known, n, first)
    _refuse_narrow("predicted_range", known[0], rungs[0], sides[0])
    _refuse_narrow("residual_range", known[1], rungs[1], sides[1])
    size = sides[0] * sides[1] + 1
    chosen = _table_mechanism(mechanism, rest, size, n, cells is None)
    noise = chosen(n)
    simulated = noise.privacy.simulated or rng is not None
    counted = noise.privacy_for(size)
    privacy = replace(budget.privacy, delta=counted.delta, simulated=simulated)
    if counted.rho is not None:
        privacy = with_rho(privacy, first**2 / 2 + Fraction(counted.rho))
    with spending(privacy, "residual_plot", partial(noise._check_total, n, size)):
        ends = ends_of(search, columns, units, known, first, rng)
        axes = (Grid.uniform(*axis_ends, side) for axis_ends, side in zip(ends, sides, strict=True))
        grid = TableGrid(*axes)
        counts = _counts_within(columns, grid)
        table = raw_table(
            *counts, grid, taken(noise), rng, of_both, what="residual_plot"
        ).isotonic()
    plot = ResidualPlot(table, table.sample(rng=rng), privacy)
    warn_of_residual_plot(plot)
    return plot


def _for_both_axes(argument: str, value: Any) -> tuple[Any, Any]:
    """Return a pair; one number counts for both axes."""
    if not isinstance(value, tuple | list | np.ndarray):
        return value, value
    both = _check.in_order(argument, value, "must be one number, or two")
    if len(both) != 2:
        raise ParameterError(argument, value, "must be one number, or two")
    return both[0], both[1]


def _sides_of(cells: Any) -> tuple[int, int]:
    """Return the number of cells along each axis.

    Raises
    ------
    DtypeError, ParameterError
        ``cells`` is not one or two numbers, or is too large.
    """
    first, second = (
        _check.integer("cells", side, 1, MOST_CELLS) for side in _for_both_axes("cells", cells)
    )
    if (first + 2) * (second + 2) > MOST_CELLS:  # including the cells beyond the ends
        what = f"must make at most {MOST_CELLS} cells, together with a rim around them"
        raise ParameterError("cells", cells, what)
    return first, second


def side_of(n: int, epsilon: Fraction) -> int:
    """Return the default number of cells along an axis: it is even, so that one cell ends at 0.

    It is twice the number of the paper's rule, sqrt(n epsilon / 10). Bounds around 0 may leave one
    half empty, and isotonic regression joins cells that are alike
    (docs/measured/residuals-accuracy.md).
    """
    most = _MOST_SIDE // 2
    paper = math.sqrt(min(_WITHIN * n * epsilon / _RECORDS, Fraction(most**2)))
    return 2 * max(1, round(paper))


def _refuse_narrow(argument: str, ends: Ends | None, rungs: Rungs, cells: int) -> None:
    """Refuse ends that are too far apart, or too close for doubles to tell the cells apart.

    Parameters
    ----------
    argument
        The name of the argument with the ends.
    ends
        The ends if they are known; None: a search finds them.
    rungs
        The ends that a search may find.
    cells
        The number of cells along the axis.

    Raises
    ------
    ParameterError
        The ends, or some of the rungs, are such ends.
    """
    narrowest, widest = rungs.ends[[0, -1]].tolist()
    for low, high in [(0.0, narrowest), (-widest, widest)] if ends is None else [ends]:
        try:
            with_ends(Grid.uniform(low, high, cells))
        except ParameterError:
            name, value = ("unit", narrowest) if ends is None else (argument, ends)
            what = f"must leave room for {cells} cells that doubles can tell apart"
            raise ParameterError(name, value, what) from None


def _table_mechanism(
    make: Callable[..., Mechanism] | None, epsilon: Fraction, size: int, n: int, by_n: bool
) -> Callable[[int], Mechanism]:
    """Return a function that gives the mechanism for n records, after all checks.

    Parameters
    ----------
    make
        As in ``residual_plot``.
    epsilon
        The budget of the table.
    size
        The number of cells, including the one for records outside.
    n
        The public number of records.
    by_n
        Whether n epsilon determined the number of cells. Noise on each cell is then best.

    Raises
    ------
    DtypeError, ParameterError
        ``make`` does not return a mechanism, or returns one that cannot release this table.
    """
    if make is None and by_n:
        return lambda _: Histogram(epsilon)
    if make is None:
        return partial(by_default, size, Allowance(epsilon, None, "replace-one"))
    if not callable(make):
        raise DtypeError("mechanism", type(make).__name__, "must be called with epsilon=...")
    most = float(epsilon)  # a double, because mechanisms state doubles
    if most > epsilon:
        most = math.nextafter(most, 0.0)
    try:
        mechanism = make(epsilon=Fraction(most))
    except DpcoreError:
        raise
    except TypeError as error:
        raise DtypeError("mechanism", error, "must be called with epsilon=...") from error
    check_mechanism("mechanism", mechanism)
    refuse_one_row_only(mechanism, "a table has two columns")
    row = numbered(size)
    chosen = checked(row, mechanism, False, None)
    cost = mechanism.privacy
    if cost.neighbours != "replace-one" or cost.epsilon is None or cost.epsilon > most:
        what = f"must be for replace-one, and spend at most the epsilon it is given, {most:.6g}"
        raise ParameterError("mechanism", cost, what)
    # Parameters, n and the number of cells decide whether a mechanism refuses. A release without
    # records makes it refuse here, before the bounds spend anything.
    nobody = np.zeros(size, np.int64)
    nobody[0] = n
    with unwatched():
        raw_release(nobody, row, chosen, None, what="residual_plot")
    return chosen


def _counts_within(columns: tuple[Chunk, Chunk], grid: TableGrid) -> tuple[NDArray[np.int64], int]:
    """Return the count of each cell of a grid, and the number of records in no cell."""
    counts = TableGrid(with_ends(grid.x), with_ends(grid.y)).count(*columns)
    inside = counts[1:-1, 1:-1]
    return inside, int(counts.sum() - inside.sum())


def with_ends(grid: Grid) -> Grid:
    """Return a grid with one more cell at either end, for values beyond; both ends are within.

    Raises
    ------
    ParameterError
        There are no doubles beyond the ends.
    """
    below = math.nextafter(grid.start, -math.inf)
    beyond = math.nextafter(float(grid.positions[-1]), math.inf)
    return Grid(np.concatenate([[below], grid.positions, [beyond]]))
