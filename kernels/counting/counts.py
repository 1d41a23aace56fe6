"""Values counted by cell; cells.py says which."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from .cells import BLOCK, searched_cells, uniform_cells


@kernel
def count_uniform(
    values: NDArray[np.floating],
    thresholds: NDArray[np.float64],
    lower: float,
    cells_per_unit: float,
    margin: float,
    counts: NDArray[np.int64],
) -> int:
    """Add values to the counts of equally wide cells in one pass; return how many were NaN.

    Parameters
    ----------
    values
        (n,) float32 or float64.
    thresholds, lower, cells_per_unit, margin
        As in ``uniform_cells``.
    counts
        (N,) added to in place.

    Notes
    -----
    Invariant: after each block, ``counts`` is exact for all values before it.
    """
    cells = np.empty(BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, BLOCK):
        block = values[start : start + BLOCK]
        absent = uniform_cells(block, thresholds, lower, cells_per_unit, margin, cells)
        _add(cells[: block.size], absent, counts)
        missing += absent
    return missing


@kernel
def count_search(
    values: NDArray[np.floating],
    thresholds: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> int:
    """Add values to the counts of arbitrary cells, by binary search; return how many were NaN.

    Parameters
    ----------
    values, counts
        As in ``count_uniform``, whose invariant holds.
    thresholds
        (N,) ascending.
    """
    cells = np.empty(BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, BLOCK):
        block = values[start : start + BLOCK]
        absent = searched_cells(block, thresholds, cells)
        _add(cells[: block.size], absent, counts)
        missing += absent
    return missing


@inner
def _add(cells: NDArray[np.uint32], absent: int, counts: NDArray[np.int64]) -> None:
    """Count a block, of whose values so many are in no cell."""
    if absent == 0:
        for i in range(cells.size):
            counts[cells[i]] += 1
        return
    for i in range(cells.size):
        if cells[i] < counts.size:
            counts[cells[i]] += 1
