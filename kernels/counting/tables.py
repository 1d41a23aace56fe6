"""Cells counted in 16 bits: tables stay in the near caches, and overflow into the counts."""

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
    """Count the first ``size`` cells, of which ``absent`` ones are none: behind the last.

    Parameters
    ----------
    table
        (N,) added to in place; or (0,): everything is added to the counts themselves.
    counts
        (N,) added to in place.

    Notes
    -----
    Invariant: counts[k] + table[k] is the number of values in cell k so far. One loop has nothing
    to do: of arrays that are used in a branch only, references would be counted.
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
