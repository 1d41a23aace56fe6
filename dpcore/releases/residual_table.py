"""The table of a residual plot: how many cells, which mechanism, and what is counted."""

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
from ..privacy.spending import unwatched
from ..records.columns import Chunk
from ..summaries.grid import MOST_CELLS
from ..summaries.table_grid import TableGrid
from .cdf import checked, raw_release, refuse_one_row_only
from .residual_axis import for_both_axes, with_ends
from .table import table_mechanism as by_default

__all__ = ["counts_within", "side_of", "sides_of", "table_mechanism"]

_RECORDS: Final = 10  # n epsilon for each cell in the paper's rule, where both are cut in halves
_WITHIN: Final = Fraction(9, 10)  # of the records, in both columns: the paper's theta^2, nearly
_MOST_SIDE: Final = 2**11


def sides_of(cells: Any) -> tuple[int, int]:
    """Return how many cells either axis is to have.

    Raises
    ------
    DtypeError, ParameterError
        These are not one or two numbers, or too large.
    """
    first, second = (
        _check.integer("cells", each, 1, MOST_CELLS) for each in for_both_axes("cells", cells)
    )
    if (first + 2) * (second + 2) > MOST_CELLS:  # with what is beyond
        what = f"must be {MOST_CELLS} at most together with a rim around them"
        raise ParameterError("cells", cells, what)
    return first, second


def side_of(n: int, epsilon: Fraction) -> int:
    """Return how many cells to take along an axis: an even number, so that one of them ends at 0.

    Twice as many as the paper's rule sqrt(n epsilon / 10): bounds around 0 may leave one half
    empty, and isotonic regression joins cells that are alike (docs/residuals-accuracy.md).
    """
    most = _MOST_SIDE // 2
    paper = math.sqrt(min(_WITHIN * n * epsilon / _RECORDS, Fraction(most**2)))
    return 2 * max(1, round(paper))


def table_mechanism(
    make: Callable[..., Mechanism] | None, epsilon: Fraction, size: int, n: int, by_n: bool
) -> Callable[[int], Mechanism]:
    """Return what gives the mechanism for n records, which refuses nothing any more.

    Parameters
    ----------
    make
        As in ``residual_plot``.
    epsilon
        What the table may spend.
    size
        How many cells there are, with the one for records outside.
    n
        The public number of records.
    by_n
        Whether there are as many cells as n epsilon asks for: noise on each of them is then best.

    Raises
    ------
    DtypeError, ParameterError
        It is no mechanism, or one that cannot release this table.
    """
    if make is None and by_n:
        return lambda _: Histogram(epsilon)
    if make is None:
        return partial(by_default, size, epsilon, None, "replace-one", None)
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
    with unwatched():
        raw_release(nobody, row, chosen, None, what="residual_plot")
    return chosen


def counts_within(columns: tuple[Chunk, Chunk], grid: TableGrid) -> tuple[NDArray[np.int64], int]:
    """Return the records in each cell of a grid, and how many are in none."""
    counts = TableGrid(with_ends(grid.x), with_ends(grid.y)).count(*columns)
    inside = counts[1:-1, 1:-1]
    return inside, int(counts.sum() - inside.sum())
