"""Scores of two classes counted by cell: 2 N of them, negatives rising and then positives falling.

A negative in cell k of cells.py counts there, and a positive in 2 N - 1 - k.
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
    """Add values to the counts of both classes, cells equally wide; return how many were NaN.

    Parameters
    ----------
    values
        (n,) float32 or float64.
    is_positive
        (n,) their classes.
    thresholds, lower, cells_per_unit, margin
        As in ``uniform_cells``; N thresholds.
    table, counts
        As in ``tables.add``, (2 N,): added to in place.

    Notes
    -----
    Invariant: after each block, ``counts`` and the table add up to what they should.
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
    """Add values to the counts of both classes, cells arbitrary; return how many were NaN.

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
    """Send positives to the other half, of a grid of so many cells, and NaN behind both halves."""
    first = np.uint64(start)
    none, last = np.uint32(grid), np.uint32(2 * grid - 1)
    for i in range(size):
        cell = cells[i]
        moved = last - cell if is_positive[first + np.uint64(i)] else cell
        cells[i] = moved if cell != none else last + np.uint32(1)
