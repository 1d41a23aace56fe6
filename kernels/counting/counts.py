"""Values to cells: cell k (from 0) holds thresholds[k - 1] < x <= thresholds[k].

Below the first threshold is cell 0; above the last is the last cell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel

_BLOCK = 256  # values whose cells are found together; their buffers stay in the first-level cache


@kernel
def count_uniform(
    values: NDArray[np.floating],
    thresholds: NDArray[np.float64],
    lower: float,
    cells_per_unit: float,
    margin: float,
    counts: NDArray[np.int64],
) -> int:
    """Add values to the counts of equally wide cells in one pass, without a search.

    Parameters
    ----------
    values
        (n,) float32 or float64.
    thresholds
        (N,) ascending; threshold k is ``lower + (k + 1) / cells_per_unit`` up to rounding.
    lower, cells_per_unit
        The line that sends a value to its position in cells.
    margin
        A bound on the rounding error of that position, in cells. Positions this close to a whole
        number are compared with the thresholds themselves, so counts are exact for the
        thresholds as stored.
    counts
        (N,) added to in place.

    Returns
    -------
    int
        How many values were NaN; they are in no cell.

    Notes
    -----
    Invariant: after each block, ``counts`` is exact for all values before it. The first loop has
    no branch and vectorises; the second scatters; the third is for values near a threshold.
    """
    size = thresholds.size
    last = size - 1
    half, middle_of_last = np.float64(0.5), np.float64(size) - 0.5
    cells = np.empty(_BLOCK, np.uint32)  # unsigned: no test for indices from the end
    missing = 0
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        near = 0
        for i in range(block.size):
            position = (np.float64(block[i]) - lower) * cells_per_unit
            near += position != position  # NaN
            position = min(middle_of_last, max(half, position))  # in this order NaN gives a half
            near += abs(position - np.rint(position)) <= margin
            cells[i] = np.uint32(np.int32(np.ceil(position)) - 1)
        if near == 0:
            for i in range(block.size):
                counts[cells[i]] += 1
            continue
        for i in range(block.size):
            value = np.float64(block[i])
            if np.isnan(value):
                missing += 1
                continue
            k = np.int64(cells[i])
            while k > 0 and value <= thresholds[k - 1]:
                k -= 1
            while k < last and value > thresholds[k]:
                k += 1
            counts[k] += 1
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
    values
        (n,) float32 or float64.
    thresholds
        (N,) ascending.
    counts
        (N,) added to in place.

    Notes
    -----
    A block of searches advances together, so that their cache misses overlap. Invariant: after
    each halving, a value's cell is within ``[cells[i], cells[i] + length)``.
    """
    cells = np.empty(_BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        for i in range(block.size):
            cells[i] = 0
        length = thresholds.size
        while length > 1:
            half = length >> 1
            for i in range(block.size):
                at = cells[i] + np.uint32(half)
                cells[i] = at if thresholds[at - np.uint32(1)] < block[i] else cells[i]
            length -= half
        for i in range(block.size):
            if np.isnan(block[i]):
                missing += 1
            else:
                counts[cells[i]] += 1
    return missing
