"""From two columns to a released table: what is checked, what is spent, and on what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.scores import numbered
from ..curves.table import Integers, Table, of_both_columns
from ..curves.table_mistakes import warn_of_table
from ..errors import ParameterError
from ..mechanisms import Histogram, Mechanism
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Neighbours
from ..records.integers import are_integers
from ..records.names import name_of
from ..summaries.table_grid import TableGrid, check_table_grid, in_a_row
from ..summaries.totals import NanPolicy
from .cdf import checked, raw_release, refuse_one_row_only
from .most_accurate import data_aware

__all__ = ["raw_table", "table", "table_from_counts", "table_mechanism"]

# Up to so many times N^1.5, n epsilon is small for N cells, which are better told in buckets.
_FEW: Final = {"Laplace": 1 / 16, "Gaussian": 1 / 4}


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
    """Release how two columns are distributed together, with differential privacy.

    Parameters
    ----------
    x, y
        (n,) the columns of the same records, one real number each, as in ``dpcore.cdf``.
    grid
        The cells. They are public, so they must not come from the data.
    mechanism
        What adds the noise to the cells in a row, along Hilbert's curve; None: ``Dawa`` where n is
        public and n epsilon is N^1.5 / 16 at most, for N cells in all (with Gaussian noise
        N^1.5 / 4), else ``Histogram``. ``Hierarchy`` is better for sums of many cells, where there
        are many (docs/table-accuracy.md).
    epsilon, rho, delta
        {budget}
    neighbours
        {neighbours}
    isotonic
        Whether to make cells 0 or more, by isotonic regression along the row, at no cost in
        privacy and mostly a gain in accuracy. Off: the raw release.
    rng
        {rng}
    nan_policy
        {nan_policy}
    integers
        Whether x and y are whole numbers, and so the quantiles of their curves: a tuple of two, or
        one bool for both. None: if the dtype of the column says so, as in ``dpcore.cdf``.

    Returns
    -------
    Table

    Warns
    -----
    DpcoreWarning
        The noise is too much for so many cells, or nearly all that is released is at the ends of a
        column's grid (docs/table.md, section 6).

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        Whatever is wrong with the arguments, before any noise is drawn.

    Notes
    -----
    docs/table.md has the proof. O(n + N_x N_y).

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
    chosen = _checked(grid, mechanism, epsilon, rho, neighbours, delta, isotonic, rng)
    said = of_both_columns(integers)
    counts = grid.count(x, y, nan_policy=nan_policy)
    relation = neighbours if mechanism is None else mechanism.privacy.neighbours
    if relation != "add-or-remove-one" and not counts.any():
        raise ParameterError("x", 0, "must hold at least one record")
    of_x, of_y = (
        are_integers(column) if of_it is None else of_it
        for column, of_it in zip((x, y), said, strict=True)
    )
    raw = raw_table(counts, None, grid, chosen, rng, (of_x, of_y), what="table")
    return _finished(replace(raw, names=(name_of(x), name_of(y))), isotonic)


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
    """Release a table of records that were counted before.

    For data that come in chunks or from several files: add up ``grid.count(x, y)`` of the chunks
    and release once. Every record must be counted exactly once.

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
        As in ``table``. None: not said; a column is taken for whole numbers if its thresholds are
        consecutive ones.

    Raises
    ------
    DtypeError, ParameterError
        As in ``table``; or counts are not such integers.

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
    chosen = _checked(grid, mechanism, epsilon, rho, neighbours, delta, isotonic, rng)
    said = of_both_columns(integers)
    exact = _check.counts("counts", counts)
    if exact.shape != grid.shape:
        raise ParameterError("counts", exact.shape, f"must have shape {grid.shape}")
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
    """Release a table as it is, from counts that were checked.

    Parameters
    ----------
    counts
        (N_x, N_y) exact counts.
    outside
        How many records are in no cell; None: all of them are in one.
    grid, rng
        As in ``table``.
    mechanism
        Takes n, and returns what adds the noise.
    integers
        As in ``Table``.
    what
        The function that a budget is told of.
    """
    cells = counts.reshape(-1)[in_a_row(grid.shape)]
    if outside is not None:
        cells = np.append(cells, outside)
    return Table(
        grid, raw_release(cells, numbered(cells.size), mechanism, rng, what=what), integers
    )


def _finished(raw: Table, isotonic: bool) -> Table:
    """Warn of what a table shows, and return it as it was asked for."""
    warn_of_table(raw)
    return raw.isotonic() if isotonic else raw


def _checked(
    grid: TableGrid,
    mechanism: Mechanism | None,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours | None,
    delta: float | None,
    isotonic: object,
    rng: np.random.Generator | None,
) -> Callable[[int], Mechanism]:
    """Check all that does not depend on the records; return what gives the mechanism for n."""
    check_table_grid(grid)
    refuse_one_row_only(mechanism, "a table has two columns")
    row, default = numbered(grid.size), table_mechanism
    return checked(row, mechanism, epsilon, rho, neighbours, delta, isotonic, rng, default)


def table_mechanism(
    size: int,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours,
    delta: float | None = None,
    n: int | None = None,
) -> Mechanism:
    """Return what releases a table of so many cells and records if no mechanism is given.

    Of trees over the cells only the flat one: levels in between help sums of many cells, and a
    table is looked at cell by cell, too (docs/table-accuracy.md).
    """
    Allowance.checked(epsilon, rho, neighbours, delta)
    flat = _flat(size, epsilon, rho, neighbours, delta)  # refuses too small ones
    buckets = None if n is None else data_aware(size, epsilon, rho, neighbours, delta, n)
    if n is None or buckets is None:
        return flat
    signal, few = buckets._signal(n), _FEW["Gaussian"]
    if flat.epsilon is not None and flat.delta is None:
        signal, few = n * float(flat.epsilon), _FEW["Laplace"]
    return buckets if signal <= few * size**1.5 else flat


@lru_cache(maxsize=256)
def _flat(
    size: int,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours,
    delta: float | None,
) -> Histogram:
    """Return noise on each cell, of the kind that has the least of it; with a delta both may do."""
    found = [Histogram(epsilon, rho=rho, neighbours=neighbours, delta=delta)]
    if delta is not None:
        found.append(Histogram(epsilon, neighbours=neighbours))
    return min(found, key=lambda each: each.mean_squared_error(size))
