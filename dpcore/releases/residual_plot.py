"""Release a residual plot from predicted values and residuals: bounds, a table, points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from .. import _check
from .._documentation import documented
from ..curves.residual_plot import ResidualPlot
from ..curves.table import Integers, of_both_columns
from ..curves.table_mistakes import warn_of_residual_plot
from ..errors import ParameterError
from ..mechanisms import Mechanism
from ..mechanisms.base import MOST_RECORDS
from ..noise.sources import source
from ..privacy.allowance import Allowance
from ..privacy.spending import spending
from ..records.column import Column
from ..summaries.grid import Grid
from ..summaries.table_grid import TableGrid, complete_pairs
from ..summaries.totals import NanPolicy
from .cdf import taken
from .residual_axis import checked_ends, for_both_axes, refuse_narrow
from .residual_search import Ends, Search, found, rungs_for, share_of
from .residual_table import counts_within, side_of, sides_of, table_mechanism
from .table import raw_table

__all__ = ["residual_plot"]

_MOST_SHARE: Final = Fraction(3, 10)  # the largest share of the budget for both bounds
_ENOUGH: Final = 470  # this n epsilon is enough for both bounds


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
    units = for_both_axes("unit", unit)
    for axis_unit in units:
        _check.positive("unit", axis_unit)
    known = (
        checked_ends("predicted_range", predicted_range),
        checked_ends("residual_range", residual_range),
    )
    sides = None if cells is None else sides_of(cells)
    said = of_both_columns(integers)
    given = Column.of(predicted, "predicted"), Column.of(residuals, "residuals")
    of_both = given[0].stated(said[0], by_grid=False), given[1].stated(said[1], by_grid=False)
    source(rng)
    columns = complete_pairs(*given, nan_policy)
    n = columns[0].size
    if not 1 <= n <= MOST_RECORDS:
        raise ParameterError("predicted", n, f"must hold between 1 and {MOST_RECORDS} records")
    share = min(_MOST_SHARE, _ENOUGH / (n * budget.epsilon)) * share_of(search, known)
    first, rest = share * budget.epsilon, (1 - share) * budget.epsilon
    if sides is None:
        sides = (side_of(n, rest),) * 2
    # This refuses an epsilon that is too small for any part. No part needs more noise than each
    # half in the paper.
    budget.law(2, share / 2 if share else Fraction(1))
    rungs = rungs_for(search, units, known, n, first)
    refuse_narrow("predicted_range", known[0], rungs[0], sides[0])
    refuse_narrow("residual_range", known[1], rungs[1], sides[1])
    size = sides[0] * sides[1] + 1
    chosen = table_mechanism(mechanism, rest, size, n, cells is None)
    noise = chosen(n)
    noise._check_total(n, size)
    simulated = noise.privacy.simulated or rng is not None
    privacy = replace(budget.privacy, delta=noise.privacy.delta, simulated=simulated)
    with spending(privacy, "residual_plot"):
        ends = found(search, columns, units, known, first, rng)
        axes = (Grid.uniform(*axis_ends, side) for axis_ends, side in zip(ends, sides, strict=True))
        grid = TableGrid(*axes)
        counts = counts_within(columns, grid)
        table = raw_table(
            *counts, grid, taken(noise), rng, of_both, what="residual_plot"
        ).isotonic()
    plot = ResidualPlot(table, table.sample(rng=rng), privacy)
    warn_of_residual_plot(plot)
    return plot
