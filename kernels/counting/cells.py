"""Values to cells: cell k (from 0) holds thresholds[k - 1] < x <= thresholds[k].

Below the first threshold is cell 0; above the last is the last cell. NaN is in no cell, and gets
the number N, behind the last one. Values come in blocks, whose cells stay in the first-level cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner

BLOCK = 256  # values whose cells are found together


@inner
def uniform_cells(
    block: NDArray[np.floating],
    thresholds: NDArray[np.float64],
    lower: float,
    cells_per_unit: float,
    margin: float,
    cells: NDArray[np.uint32],
) -> int:
    """Overwrite ``cells`` with those of values among equally wide ones, without a search.

    Parameters
    ----------
    block
        (b,) float32 or float64.
    thresholds
        (N,) ascending; threshold k is ``lower + (k + 1) / cells_per_unit`` up to rounding.
    lower, cells_per_unit
        The line that sends a value to its position in cells.
    margin
        A bound on the rounding error of that position, in cells. Positions this close to a whole
        number are compared with the thresholds themselves, so cells are exact for the thresholds
        as stored.
    cells
        (b,) at least: unsigned, so that there is no test for indices from the end.

    Returns
    -------
    int
        How many values were NaN.

    Notes
    -----
    The first loop has no branch and vectorises. The second is for blocks with a NaN or a value
    near a threshold; invariant: the cells before i are exact.
    """
    size = thresholds.size
    last = size - 1
    half, middle_of_last = np.float64(0.5), np.float64(size) - 0.5
    near = 0
    for i in range(block.size):
        position = (np.float64(block[i]) - lower) * cells_per_unit
        near += position != position  # NaN
        position = min(middle_of_last, max(half, position))  # in this order NaN gives a half
        near += abs(position - np.rint(position)) <= margin
        cells[i] = np.uint32(np.int32(np.ceil(position)) - 1)
    missing = 0
    if near > 0:
        for i in range(block.size):
            value = np.float64(block[i])
            k = np.int64(cells[i])
            if np.isnan(value):
                missing += 1
                k = np.int64(size)
            else:
                while k > 0 and value <= thresholds[k - 1]:
                    k -= 1
                while k < last and value > thresholds[k]:
                    k += 1
            cells[i] = np.uint32(k)
    return missing


@inner
def searched_cells(
    block: NDArray[np.floating], thresholds: NDArray[np.float64], cells: NDArray[np.uint32]
) -> int:
    """Overwrite ``cells`` with those of values, by binary search; return how many were NaN.

    Parameters
    ----------
    block, cells
        As in ``uniform_cells``.
    thresholds
        (N,) ascending.

    Notes
    -----
    The searches of a block advance together, so that their cache misses overlap. Invariant: after
    each halving, a value's cell is within ``[cells[i], cells[i] + length)``.
    """
    for i in range(block.size):
        cells[i] = 0
    length = thresholds.size
    while length > 1:
        half = length >> 1
        for i in range(block.size):
            at = cells[i] + np.uint32(half)
            cells[i] = at if thresholds[at - np.uint32(1)] < block[i] else cells[i]
        length -= half
    missing = 0
    for i in range(block.size):
        if np.isnan(block[i]):
            missing += 1
            cells[i] = thresholds.size
    return missing
