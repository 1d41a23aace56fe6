"""Scores of two classes to cells: 2 N of them, negatives rising and then positives falling.

Cells are those of ``counts``: a negative in cell k counts there, and a positive in 2 N - 1 - k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel

_BLOCK = 256  # values whose cells are found together; their buffers stay in the first-level cache


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
        As in ``counts.count_uniform``; N thresholds.
    counts
        (2 N,) added to in place.

    Notes
    -----
    ``counts.count_uniform`` with one choice more; its invariant holds.
    """
    size = thresholds.size
    last, mirror = size - 1, np.uint32(2 * size - 1)
    half, middle_of_last = np.float64(0.5), np.float64(size) - 0.5
    cells = np.empty(_BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, _BLOCK):
        block, positive = values[start : start + _BLOCK], is_positive[start : start + _BLOCK]
        near = 0
        for i in range(block.size):
            position = (np.float64(block[i]) - lower) * cells_per_unit
            near += position != position  # NaN
            position = min(middle_of_last, max(half, position))  # in this order NaN gives a half
            near += abs(position - np.rint(position)) <= margin
            cells[i] = np.uint32(np.int32(np.ceil(position)) - 1)
        if near == 0:
            for i in range(block.size):
                cell = cells[i]  # no branch here: nobody can predict a class
                counts[cell + np.uint32(positive[i]) * (mirror - np.uint32(2) * cell)] += 1
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
            counts[2 * size - 1 - k if positive[i] else k] += 1
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
    values, is_positive, thresholds, counts
        As in ``count_uniform``; thresholds ascending.

    Notes
    -----
    ``counts.count_search`` with one choice more. Invariant: after each halving, a value's cell is
    within ``[cells[i], cells[i] + length)``.
    """
    mirror = np.uint32(2 * thresholds.size - 1)
    cells = np.empty(_BLOCK, np.uint32)
    missing = 0
    for start in range(0, values.size, _BLOCK):
        block, positive = values[start : start + _BLOCK], is_positive[start : start + _BLOCK]
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
                cell = cells[i]  # no branch here: nobody can predict a class
                counts[cell + np.uint32(positive[i]) * (mirror - np.uint32(2) * cell)] += 1
    return missing
