"""Counts of cells in tables of 16 bits, which stay in near caches and overflow into counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner

_FULL = 2**16


@inner
def add(
    cells: NDArray[np.uint32],
    size: int,
    absent: int,
    table: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> None:
    """Count the first ``size`` cells. ``absent`` of them have the number N, for no cell.

    Parameters
    ----------
    table
        (N,) added to in place. If it is empty, (0,), all cells are added to the counts directly.
    counts
        (N,) added to in place.

    Notes
    -----
    Invariant: counts[k] + table[k] is the number of values in cell k so far. One of the two loops
    has nothing to do. A branch instead would make Numba count references of its arrays.
    """
    in_table = absent == 0 and table.size > 0
    for i in range(size if in_table else 0):
        cell = cells[i]
        count = np.uint16(table[cell] + np.uint16(1))
        table[cell] = count
        if count == 0:
            counts[cell] += _FULL
    for i in range(0 if in_table else size):
        if cells[i] < counts.size:
            counts[cells[i]] += 1
