"""Values to cells: cell k (from 0) holds thresholds[k - 1] < x <= thresholds[k].

Below the first threshold is cell 0; above the last is the last cell. NaN is in no cell, and gets
the number N, behind the last one. Values come in blocks, whose cells stay in the first-level cache.
Nothing here makes a view of an array: counting its references takes as long as some values do.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .._compile import inner

BLOCK: Final = 256  # values whose cells are found together
_NEAR: Final = np.uint32(2**31)  # the mark of a cell that is to be compared with its thresholds


@inner
def uniform_cells(
    values: NDArray[np.floating],
    start: int,
    size: int,
    thresholds: NDArray[np.float64],
    lower: float,
    cells_per_unit: float,
    margin: float,
    cells: NDArray[np.uint32],
) -> int:
    """Overwrite ``cells`` with those of values among equally wide ones, without a search.

    Parameters
    ----------
    values
        (n,) float32 or float64, of which ``size`` from ``start`` on are meant.
    thresholds
        (N,) ascending; threshold k is ``lower + (k + 1) / cells_per_unit`` up to rounding.
    lower, cells_per_unit
        The line that sends a value to its position in cells.
    margin
        A bound on the rounding error of that position, in cells. Positions this close to the end
        of a cell are compared with the thresholds themselves, so cells are exact for the
        thresholds as stored.
    cells
        (size,) at least: unsigned, so that there is no test for indices from the end.

    Returns
    -------
    int
        How many values were NaN.

    Notes
    -----
    The first loop has no branch and vectorises: positions are counted from the middle of the first
    cell, so the nearest whole number is the cell. The second is for the marked values, NaN,
    infinities and those near a threshold; invariant: the cells before i are exact.
    """
    first = np.uint64(start)  # unsigned: no test for indices from the end
    last = thresholds.size - 1
    middle, far = 0.5 + margin, 0.5 - 2.0 * margin  # what is on a threshold falls below it
    end = np.float64(last)
    any_near = False
    for i in range(size):
        value = np.float64(values[first + np.uint64(i)])
        position = (value - lower) * cells_per_unit - middle
        nearest = np.rint(position)
        near = not (abs(position - nearest) < far)  # or NaN
        cell = min(end, max(0.0, nearest))  # in this order NaN gives 0
        any_near |= near
        cells[i] = np.uint32(np.int32(cell)) | (np.uint32(near) << np.uint32(31))
    missing = 0
    if any_near:
        for i in range(size):
            if cells[i] < _NEAR:
                continue
            value = np.float64(values[first + np.uint64(i)])
            k = np.int64(cells[i] - _NEAR)
            if value != value:
                missing += 1
                k = np.int64(thresholds.size)
            else:
                while k > 0 and value <= thresholds[k - 1]:
                    k -= 1
                while k < last and value > thresholds[k]:
                    k += 1
            cells[i] = np.uint32(k)
    return missing


@inner
def searched_cells(
    values: NDArray[np.floating],
    start: int,
    size: int,
    thresholds: NDArray[np.float64],
    guide: NDArray[np.uint32],
    offset: float,
    bottom: float,
    top: float,
    shift: int,
    length: int,
    cells: NDArray[np.uint32],
) -> int:
    """Overwrite ``cells`` with those of values, by binary search; return how many were NaN.

    Parameters
    ----------
    values, start, size, cells
        As in ``uniform_cells``.
    thresholds
        (N,) ascending.
    guide, offset, bottom, top, shift, length
        Where to start: ``x + offset``, clipped to [bottom, top] (0 <= bottom), and the distance of
        its bits from those of ``bottom``, less the last ``shift`` ones, are the value's bucket b.
        None of this ever falls as x rises. So ``guide[b]``, the number of thresholds in buckets
        before b (or less, so that ``guide[b] + length`` is N at most), is no more than the value's
        cell, which is below ``guide[b] + length``, as no bucket has that many thresholds. The last
        threshold, which no cell depends on, is in none.

    Notes
    -----
    The searches of a block advance together, so that their cache misses overlap. Invariant: after
    each halving, a value's cell is within ``[cells[i], cells[i] + length)``.
    """
    first = np.uint64(start)
    origin = np.float64(bottom).view(np.uint64)
    for i in range(size):
        unclipped = np.float64(values[first + np.uint64(i)]) + offset
        key = min(top, max(bottom, unclipped))  # in this order NaN gives the bottom
        cells[i] = guide[(np.float64(key).view(np.uint64) - origin) >> np.uint64(shift)]
    while length > 1:
        half = length >> 1
        for i in range(size):
            at = cells[i] + np.uint32(half)
            below = thresholds[at - np.uint32(1)] < values[first + np.uint64(i)]
            cells[i] = at if below else cells[i]
        length -= half
    missing = 0
    for i in range(size):
        if np.isnan(values[first + np.uint64(i)]):
            missing += 1
            cells[i] = np.uint32(thresholds.size)
    return missing
