"""Numbers of values in each cell. cells.py finds the cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from .cells import BLOCK, searched_cells, uniform_cells
from .tables import add


@kernel
def count_uniform(
    values: NDArray[np.floating],
    thresholds: NDArray[np.float64],
    lower: float,
    cells_per_unit: float,
    margin: float,
    table: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> int:
    """Add values to the counts of cells of equal width, in one pass. Return the number of NaNs.

    Parameters
    ----------
    values
        (n,) float32 or float64.
    thresholds, lower, cells_per_unit, margin
        As in ``uniform_cells``.
    table, counts
        As in ``tables.add``, and added to in place.

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
        add(cells, size, absent, table, counts)
        missing += absent
    return missing


@kernel
def count_search(
    values: NDArray[np.floating],
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
    """Add values to the counts of arbitrary cells, by binary search. Return the number of NaNs.

    Parameters
    ----------
    values, table, counts
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
        add(cells, size, absent, table, counts)
        missing += absent
    return missing
