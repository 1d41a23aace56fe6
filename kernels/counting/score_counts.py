"""Scores of two classes, counted in 2 N cells: negatives rising and then positives falling.

A negative in cell k of cells.py counts in cell k, and a positive in cell 2 N - 1 - k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from .cells import BLOCK, searched_cells, uniform_cells
from .tables import add


@kernel
def count_uniform(
    values: NDArray[np.floating],
    is_positive: NDArray[np.bool_],
    thresholds: NDArray[np.float64],
    lower: float,
    cells_per_unit: float,
    margin: float,
    table: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> int:
    """Add values to the counts of both classes, for cells of equal width. Return the NaNs' number.

    Parameters
    ----------
    values
        (n,) float32 or float64.
    is_positive
        (n,) their classes.
    thresholds, lower, cells_per_unit, margin
        As in ``uniform_cells``, with N thresholds.
    table, counts
        As in ``tables.add``, (2 N,), and added to in place.

    Notes
    -----
    Invariant: after each block, ``counts`` plus the table are the counts of the values so far.
    """
    cells = np.empty(BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, BLOCK):
        size = min(BLOCK, values.size - start)
        absent = uniform_cells(
            values, start, size, thresholds, lower, cells_per_unit, margin, cells
        )
        _mirror(cells, is_positive, start, size, thresholds.size)
        add(cells, size, absent, table, counts)
        missing += absent
    return missing


@kernel
def count_search(
    values: NDArray[np.floating],
    is_positive: NDArray[np.bool_],
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
    """Add values to the counts of both classes, for arbitrary cells. Return the NaNs' number.

    Parameters
    ----------
    values, is_positive, table, counts
        As in ``count_uniform``, whose invariant holds.
    thresholds, guide, offset, bottom, top, shift, length
        As in ``searched_cells``.
    """
    cells = np.empty(BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, BLOCK):
        size = min(BLOCK, values.size - start)
        absent = searched_cells(
            values, start, size, thresholds, guide, offset, bottom, top, shift, length, cells
        )
        _mirror(cells, is_positive, start, size, thresholds.size)
        add(cells, size, absent, table, counts)
        missing += absent
    return missing


@inner
def _mirror(
    cells: NDArray[np.uint32], is_positive: NDArray[np.bool_], start: int, size: int, grid: int
) -> None:
    """Map positives to the other half, for a grid of so many cells, and NaN behind both halves."""
    first = np.uint64(start)
    none, last = np.uint32(grid), np.uint32(2 * grid - 1)
    for i in range(size):
        cell = cells[i]
        moved = last - cell if is_positive[first + np.uint64(i)] else cell
        cells[i] = moved if cell != none else last + np.uint32(1)
