"""Scores of two classes counted by cell: 2 N of them, negatives rising and then positives falling.

A negative in cell k of cells.py counts there, and a positive in 2 N - 1 - k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from .cells import BLOCK, searched_cells, uniform_cells


@kernel
def count_uniform(
    values: NDArray[np.floating],
    is_positive: NDArray[np.bool_],
    thresholds: NDArray[np.float64],
    lower: float,
    cells_per_unit: float,
    margin: float,
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
    counts
        (2 N,) added to in place.

    Notes
    -----
    Invariant: after each block, ``counts`` is exact for all values before it.
    """
    cells = np.empty(BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, BLOCK):
        block, positive = values[start : start + BLOCK], is_positive[start : start + BLOCK]
        absent = uniform_cells(block, thresholds, lower, cells_per_unit, margin, cells)
        _add(cells[: block.size], positive, absent, counts)
        missing += absent
    return missing


@kernel
def count_search(
    values: NDArray[np.floating],
    is_positive: NDArray[np.bool_],
    thresholds: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> int:
    """Add values to the counts of both classes, cells arbitrary; return how many were NaN.

    Parameters
    ----------
    values, is_positive, counts
        As in ``count_uniform``, whose invariant holds.
    thresholds
        (N,) ascending.
    """
    cells = np.empty(BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, BLOCK):
        block, positive = values[start : start + BLOCK], is_positive[start : start + BLOCK]
        absent = searched_cells(block, thresholds, cells)
        _add(cells[: block.size], positive, absent, counts)
        missing += absent
    return missing


@inner
def _add(
    cells: NDArray[np.uint32], positive: NDArray[np.bool_], absent: int, counts: NDArray[np.int64]
) -> None:
    """Count a block, of whose values so many are in no cell."""
    size = np.uint32(counts.size >> 1)
    mirror = np.uint32(2) * size - np.uint32(1)
    if absent == 0:
        for i in range(cells.size):
            cell = cells[i]  # no branch here: nobody can predict a class
            counts[cell + np.uint32(positive[i]) * (mirror - np.uint32(2) * cell)] += 1
        return
    for i in range(cells.size):
        cell = cells[i]
        if cell < size:
            counts[cell + np.uint32(positive[i]) * (mirror - np.uint32(2) * cell)] += 1
