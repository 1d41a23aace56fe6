"""The table of a residual plot: its number of cells, its mechanism, and its counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.scores import numbered
from ..errors import DpcoreError, DtypeError, ParameterError
from ..mechanisms import Histogram, Mechanism
from ..mechanisms.base import check_mechanism
from ..privacy.allowance import Allowance
from ..privacy.spending import unwatched
from ..records.column import Chunk
from ..summaries.grid import MOST_CELLS
from ..summaries.table_grid import TableGrid
from .cdf import checked, raw_release, refuse_one_row_only
from .residual_axis import for_both_axes, with_ends
from .table import table_mechanism as by_default

__all__ = ["counts_within", "side_of", "sides_of", "table_mechanism"]

# ``n epsilon`` for each cell in the paper's rule. Here both sides of the rule are halved.
_RECORDS: Final = 10
# A share of the records in both columns; nearly the paper's theta^2.
_WITHIN: Final = Fraction(9, 10)
_MOST_SIDE: Final = 2**11


def sides_of(cells: Any) -> tuple[int, int]:
    """Return the number of cells along each axis.

    Raises
    ------
    DtypeError, ParameterError
        ``cells`` is not one or two numbers, or is too large.
    """
    first, second = (
        _check.integer("cells", side, 1, MOST_CELLS) for side in for_both_axes("cells", cells)
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


def table_mechanism(
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


def counts_within(columns: tuple[Chunk, Chunk], grid: TableGrid) -> tuple[NDArray[np.int64], int]:
    """Return the count of each cell of a grid, and the number of records in no cell."""
    counts = TableGrid(with_ends(grid.x), with_ends(grid.y)).count(*columns)
    inside = counts[1:-1, 1:-1]
    return inside, int(counts.sum() - inside.sum())
