"""Release the table of two columns: check the arguments, count, spend, and add the noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.scores import numbered
from ..curves.table import Integers, Table, of_both_columns
from ..curves.table_mistakes import warn_of_table
from ..errors import ParameterError
from ..mechanisms import Hierarchy, Histogram, Mechanism
from ..mechanisms.dawa import signal_of
from ..planning.most_accurate import data_aware
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Neighbours
from ..records.column import Column
from ..summaries.table_grid import TableGrid, check_table_grid, in_a_row
from ..summaries.totals import NanPolicy
from .cdf import asked, checked, raw_release, refuse_one_row_only

__all__ = ["in_blocks", "raw_table", "table", "table_from_counts", "table_mechanism"]


class _Rule(NamedTuple):
    """When the default is what, for one kind of noise (docs/measured/table-accuracy.md).

    Parameters
    ----------
    few
        If n epsilon is at most this times N^1.5, buckets are more accurate.
    fewest
        With so many cells or more, blocks of them are counted, too.
    of_blocks
        The share of the budget for the counts of blocks.
    finer
        In bits, how many more blocks of cells there are.
    """

    few: float
    fewest: int
    of_blocks: float
    finer: int


_LAPLACE: Final = _Rule(few=1 / 16, fewest=1024, of_blocks=0.2, finer=0)
_GAUSSIAN: Final = _Rule(few=1 / 4, fewest=256, of_blocks=0.25, finer=2)


@documented
def table(
    x: Any,
    y: Any,
    grid: TableGrid,
    mechanism: Mechanism | None = None,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours | None = None,
    delta: float | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
    integers: bool | Integers | None = None,
) -> Table:
    """Release the joint distribution of two columns with differential privacy.

    Parameters
    ----------
    x, y
        (n,) two columns of the same records, with one real number for each record, as in
        ``dpcore.cdf``. Columns of pandas must have the same index.
    grid
        The cells. They are public, so they must not come from the data.
    mechanism
        The mechanism that adds the noise to the row of cells, which are ordered along Hilbert's
        curve. None: ``Dawa`` if n is public and n epsilon is at most N^1.5 / 16 for N cells in all
        (at most N^1.5 / 4 with Gaussian noise). Otherwise, with 1,024 cells or more (256 with
        Gaussian noise), a ``Hierarchy`` of blocks and cells, and with fewer, ``Histogram``
        (docs/measured/table-accuracy.md).
    epsilon, rho, delta
        {budget}
    neighbours
        {neighbours}
    isotonic
        Whether to make all cells 0 or more, by isotonic regression along the row. It costs no
        privacy and mostly improves the accuracy. False: the raw release.
    rng
        {rng}
    nan_policy
        {nan_policy}
    integers
        Whether x and y are whole numbers: a tuple of two bools, or one bool for both. Quantiles of
        their curves then are whole numbers, too. None: the grid of the column says so, or its typed
        schema, as in ``dpcore.cdf``.

    Returns
    -------
    Table

    Warns
    -----
    DpcoreWarning
        The noise is too large for so many cells, or nearly all of the released count is at the ends
        of a column's grid (docs/guides/table.md, section 6).

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn.

    Notes
    -----
    docs/guides/table.md has the proof. The cost is O(n + N_x N_y).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> age = rng.uniform(20, 70, 5000)
    >>> hours = rng.normal(40 - (age - 45) ** 2 / 100, 5)
    >>> grid = dp.TableGrid.uniform((20, 70), (0, 80), (5, 16))
    >>> released = dp.table(age, hours, grid, epsilon=1.0)
    >>> round(released.conditional("y", 40, 50).quantile(0.5), -1)
    40.0
    """
    check_table_grid(grid)
    spender = asked(mechanism, epsilon, rho, neighbours, delta)
    chosen = _checked(grid, spender, isotonic, rng)
    said = of_both_columns(integers)
    columns = Column.of(x, "x"), Column.of(y, "y")
    of_x = columns[0].stated(said[0], by_grid=grid.x.of_integers)
    of_y = columns[1].stated(said[1], by_grid=grid.y.of_integers)
    counts = grid.count(*columns, nan_policy=nan_policy)
    relation = neighbours if mechanism is None else mechanism.privacy.neighbours
    if relation != "add-or-remove-one" and not counts.any():
        raise ParameterError("x", 0, "must hold at least one record")
    raw = raw_table(counts, None, grid, chosen, rng, (of_x, of_y), what="table")
    return _finished(replace(raw, names=(columns[0].name, columns[1].name)), isotonic)


@documented
def table_from_counts(
    counts: NDArray[np.integer[Any]],
    grid: TableGrid,
    mechanism: Mechanism | None = None,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours | None = None,
    delta: float | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    integers: bool | Integers | None = None,
) -> Table:
    """Release a table of records that are already counted.

    Use this for data in chunks or in several files: add up ``grid.count(x, y)`` of the chunks and
    release once. Every record must be counted exactly once.

    Parameters
    ----------
    counts
        (N_x, N_y) integers, 0 or more, from ``TableGrid.count``.
    grid
        The cells. They are public, so they must not come from the data.
    mechanism
        As in ``table``.
    epsilon, rho, delta
        {budget}
    neighbours
        {neighbours}
    isotonic
        As in ``table``.
    rng
        {rng}
    integers
        As in ``table``. None: the grid of the column says so, as ``Grid.integers`` does. Counts do
        not know the types of columns.

    Raises
    ------
    DtypeError, ParameterError
        As in ``table``; also if ``counts`` are not such integers.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.TableGrid.uniform((0, 2), (0, 2), 2)
    >>> counts = grid.count([1, 1, 2] * 30, [1, 2, 2] * 30) + grid.count([2, 2], [1, 2])
    >>> found = dp.table_from_counts(counts, grid, epsilon=1.0, rng=rng)
    >>> counts.tolist(), found.counts.round().tolist()
    ([[30, 30], [1, 31]], [[24.0, 30.0], [4.0, 34.0]])
    """
    check_table_grid(grid)
    spender = asked(mechanism, epsilon, rho, neighbours, delta)
    chosen = _checked(grid, spender, isotonic, rng)
    said = of_both_columns(integers)
    exact = _check.counts("counts", counts, grid.shape)
    return _finished(
        raw_table(exact, None, grid, chosen, rng, said, what="table_from_counts"), isotonic
    )


def raw_table(
    counts: NDArray[np.int64],
    outside: int | None,
    grid: TableGrid,
    mechanism: Callable[[int], Mechanism],
    rng: np.random.Generator | None,
    integers: Integers = (None, None),
    *,
    what: str = "table_from_counts",
) -> Table:
    """Release a raw table, from counts that were checked.

    Parameters
    ----------
    counts
        (N_x, N_y) exact counts.
    outside
        The number of records in no cell; None: every record is in a cell.
    grid, rng
        As in ``table``.
    mechanism
        Takes n, and returns the mechanism.
    integers
        As in ``Table``.
    what
        The name of the function that a budget records.
    """
    cells = counts.reshape(-1)[in_a_row(grid.shape)]
    if outside is not None:
        cells = np.append(cells, outside)
    return Table(
        grid, raw_release(cells, numbered(cells.size), mechanism, rng, what=what), integers
    )


def _finished(raw: Table, isotonic: bool) -> Table:
    """Warn of likely mistakes that a table shows; return it raw or isotonic, as asked for."""
    warn_of_table(raw)
    return raw.isotonic() if isotonic else raw


def _checked(
    grid: TableGrid,
    spender: Mechanism | Allowance,
    isotonic: object,
    rng: np.random.Generator | None,
) -> Callable[[int], Mechanism]:
    """Check all that does not depend on the records; return a function from n to the mechanism."""
    refuse_one_row_only(spender, "a table has two columns")
    return checked(numbered(grid.size), spender, isotonic, rng, table_mechanism)


def table_mechanism(size: int, budget: Allowance, n: int | None = None) -> Mechanism:
    """Return the mechanism for a table of this size if none is given.

    Of all trees over the cells, only one with large blocks is used, and a small share of the budget
    for them. More levels help sums of many cells further, but users look at single cells of a
    table, too (docs/measured/table-accuracy.md).
    """
    flat = _flat(size, budget)
    rule = _rule(flat)
    counted = in_blocks(size, flat) if size >= rule.fewest else flat
    counted.noise_deviation(size)  # refuses budgets that are too small
    buckets = None if n is None else data_aware(size, budget, n)
    if n is None or buckets is None:
        return counted
    signal = signal_of(buckets, n)
    if flat.epsilon is not None and flat.delta is None:
        signal = n * float(flat.epsilon)
    return buckets if signal <= rule.few * size**1.5 else counted


@lru_cache(maxsize=256)
def _flat(size: int, budget: Allowance) -> Histogram:
    """Return noise on each cell, of the kind with the least noise; with delta, it may be either."""
    histograms = [Histogram(**budget.arguments)]
    if budget.pure is not None:
        histograms.append(Histogram(**budget.pure.arguments))
    return min(histograms, key=lambda histogram: histogram.mean_squared_error(size))


def in_blocks(size: int, flat: Histogram) -> Hierarchy:
    """Return noise of the same kind and budget on each of 16 cells or more, and on blocks of them.

    The number of blocks is a power of 4 near the root of that of the cells. So if the sides of the
    table are equal powers of 2, a block of the row is a square.
    """
    rule = _rule(flat)
    block = size // 4 ** ((size.bit_length() - 1 + rule.finer) // 4)
    of_blocks: tuple[float, ...] = (rule.of_blocks,)
    if flat.neighbours == "add-or-remove-one":  # a quarter of it is for the number of records
        of_blocks = rule.of_blocks / 4, rule.of_blocks * 3 / 4
    return Hierarchy(
        flat.epsilon,
        (-(-size // block), block),
        (*of_blocks, 1.0 - rule.of_blocks),
        rho=flat.rho,
        neighbours=flat.neighbours,
        delta=flat.delta,
    )


def _rule(flat: Histogram) -> _Rule:
    return _LAPLACE if flat.rho is None and flat.delta is None else _GAUSSIAN
