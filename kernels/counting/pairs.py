"""Pairs of values, counted by the cells of a table: x in cell i and y in j are in i N_y + j."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from .cells import BLOCK, searched_cells, uniform_cells
from .tables import add


@kernel
def place_uniform(
    values: NDArray[np.floating],
    thresholds: NDArray[np.float64],
    lower: float,
    cells_per_unit: float,
    margin: float,
    out: NDArray[np.uint32],
) -> int:
    """Overwrite ``out``, (n,) or longer, with the cells of values. Return the number of NaNs.

    Parameters
    ----------
    values
        (n,) float32 or float64.
    thresholds, lower, cells_per_unit, margin
        As in ``uniform_cells``.

    Notes
    -----
    Invariant: after each block, ``out[: start + size]`` are the cells of the values so far.
    """
    cells = np.empty(BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, BLOCK):
        size = min(BLOCK, values.size - start)
        missing += uniform_cells(
            values, start, size, thresholds, lower, cells_per_unit, margin, cells
        )
        first = np.uint64(start)
        for i in range(size):
            out[first + np.uint64(i)] = cells[i]
    return missing


@kernel
def place_search(
    values: NDArray[np.floating],
    thresholds: NDArray[np.float64],
    guide: NDArray[np.uint32],
    offset: float,
    bottom: float,
    top: float,
    shift: int,
    length: int,
    out: NDArray[np.uint32],
) -> int:
    """Overwrite ``out`` with the cells of values, by binary search. Return the number of NaNs.

    Parameters
    ----------
    values, out
        As in ``place_uniform``, whose invariant holds.
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
        first = np.uint64(start)
        for i in range(size):
            out[first + np.uint64(i)] = cells[i]
    return missing


@kernel
def count_pairs(
    x_cells: NDArray[np.uint32],
    y_cells: NDArray[np.uint32],
    size: int,
    width: int,
    height: int,
    table: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> None:
    """Add the first ``size`` pairs to the counts, but not pairs that lack a cell of either kind.

    Parameters
    ----------
    x_cells, y_cells
        (size,) or longer: cells as from ``place_uniform``. NaN has the cells ``width``, ``height``.
    width, height
        The numbers of cells of either kind.
    table, counts
        As in ``tables.add``, (width height,), and added to in place.

    Notes
    -----
    Invariant: after each block, ``counts`` plus the table are the counts of the pairs so far.
    """
    cells = np.empty(BLOCK, np.uint32)
    none = np.uint32(width * height)
    for start in range(0, size, BLOCK):
        block = min(BLOCK, size - start)
        first = np.uint64(start)
        absent = 0
        for i in range(block):
            x, y = x_cells[first + np.uint64(i)], y_cells[first + np.uint64(i)]
            is_none = x == np.uint32(width) or y == np.uint32(height)
            absent += is_none
            cells[i] = none if is_none else np.uint32(x * np.uint32(height) + y)
        add(cells, block, absent, table, counts)
