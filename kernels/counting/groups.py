"""Values of several groups, counted in G N cells: cell k of group g is g N + k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from .cells import BLOCK, searched_cells, uniform_cells
from .tables import add


@kernel
def count_uniform(
    values: NDArray[np.floating],
    groups: NDArray[np.int32],
    thresholds: NDArray[np.float64],
    lower: float,
    cells_per_unit: float,
    margin: float,
    table: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> int:
    """Add values to the counts of their groups, for cells of equal width. Return the NaNs' number.

    Parameters
    ----------
    values
        (n,) float32 or float64.
    groups
        (n,) the group of each value, from 0; G or more for none.
    thresholds, lower, cells_per_unit, margin
        As in ``uniform_cells``, with N thresholds.
    table, counts
        As in ``tables.add``, (G N,) with G N < 2^31, and added to in place.

    Notes
    -----
    Invariant: after each block, ``counts`` plus the table are the counts of the values so far.
    """
    cells = np.empty(BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, BLOCK):
        size = min(BLOCK, values.size - start)
        missing += uniform_cells(
            values, start, size, thresholds, lower, cells_per_unit, margin, cells
        )
        absent = _of_groups(cells, groups, start, size, thresholds.size, counts.size)
        add(cells, size, absent, table, counts)
    return missing


@kernel
def count_search(
    values: NDArray[np.floating],
    groups: NDArray[np.int32],
    thresholds: NDArray[np.float64],
    guide: NDArray[np.uint32],
    offset: float,
    bottom: float,
    top: float,
    shift: int,
    length: int,
    table: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> int:
    """Add values to the counts of their groups, for arbitrary cells. Return the NaNs' number.

    Parameters
    ----------
    values, groups, table, counts
        As in ``count_uniform``, whose invariant holds.
    thresholds, guide, offset, bottom, top, shift, length
        As in ``searched_cells``.
    """
    cells = np.empty(BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, BLOCK):
        size = min(BLOCK, values.size - start)
        missing += searched_cells(
            values, start, size, thresholds, guide, offset, bottom, top, shift, length, cells
        )
        absent = _of_groups(cells, groups, start, size, thresholds.size, counts.size)
        add(cells, size, absent, table, counts)
    return missing


@inner
def _of_groups(
    cells: NDArray[np.uint32],
    groups: NDArray[np.int32],
    start: int,
    size: int,
    grid: int,
    total: int,
) -> int:
    """Move cells to those of their groups, and what has none behind them all; return how many."""
    first = np.uint64(start)
    none, width, behind = np.uint32(grid), np.uint32(grid), np.uint32(total)
    number = np.uint32(total // grid)
    absent = 0
    for i in range(size):
        group = np.uint32(groups[first + np.uint64(i)])
        is_none = (cells[i] == none) | (group >= number)
        absent += is_none
        cells[i] = behind if is_none else np.uint32(group * width + cells[i])
    return absent
