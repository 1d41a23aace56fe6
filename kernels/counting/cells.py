"""The cells of values: cell k (from 0) holds thresholds[k - 1] < x <= thresholds[k].

Values below the first threshold are in cell 0. Values above the last are in the last cell. NaN is
in no cell, and gets the number N, after the last cell. Values come in blocks, whose cells stay in
the first-level cache. These kernels make no views of arrays, because counting the references of a
view takes as long as some values do.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .._compile import inner

BLOCK: Final = 256  # the cells of so many values are found together
_NEAR: Final = np.uint32(2**31)  # the mark of a cell that has to be compared with its thresholds


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
    """Overwrite ``cells`` with the cells of values, for cells of equal width, without a search.

    Parameters
    ----------
    values
        (n,) float32 or float64. The kernel reads ``size`` of them from ``start`` on.
    thresholds
        (N,) ascending. Threshold k is ``lower + (k + 1) / cells_per_unit`` up to rounding.
    lower, cells_per_unit
        The line that maps a value to its position in cells.
    margin
        A bound on the rounding error of that position, in cells. Positions this close to the end
        of a cell are compared with the thresholds themselves, so cells are exact for the
        thresholds as stored.
    cells
        (size,) or longer. Unsigned, so that no test for negative indices is made.

    Returns
    -------
    int
        The number of NaN values.

    Notes
    -----
    The first loop has no branch and vectorises. It counts positions from the middle of the first
    cell, so the nearest whole number is the cell. The second loop is for the marked values: NaN,
    infinities and values near a threshold. Its invariant: the cells before i are exact.
    """
    first = np.uint64(start)  # unsigned: no test for negative indices
    last = thresholds.size - 1
    middle, far = 0.5 + margin, 0.5 - 2.0 * margin  # a value on a threshold falls below it
    end = np.float64(last)
    any_near = False
    for i in range(size):
        value = np.float64(values[first + np.uint64(i)])
        position = (value - lower) * cells_per_unit - middle
        nearest = np.rint(position)
        near = not (abs(position - nearest) < far)  # or NaN
        cell = min(end, max(0.0, nearest))  # with this order of arguments, NaN gives 0
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
    """Overwrite ``cells`` with the cells of values, by binary search. Return the number of NaNs.

    Parameters
    ----------
    values, start, size, cells
        As in ``uniform_cells``.
    thresholds
        (N,) ascending.
    guide, offset, bottom, top, shift, length
        The start of the search. ``x + offset`` is clipped to [bottom, top] (0 <= bottom). The
        distance of its bits from those of ``bottom``, without the last ``shift`` bits, is the
        bucket b of the value. No step of this ever falls as x rises. ``guide[b]`` is the number of
        thresholds in buckets before b (or less, so that ``guide[b] + length`` is at most N). So it
        is at most the cell of the value, which is below ``guide[b] + length``, as no bucket has
        that many thresholds. The last threshold, on which no cell depends, is in no bucket.

    Notes
    -----
    The searches of a block advance together, so that their cache misses overlap. Invariant: after
    each halving, the cell of a value is within ``[cells[i], cells[i] + length)``.
    """
    first = np.uint64(start)
    origin = np.float64(bottom).view(np.uint64)
    for i in range(size):
        unclipped = np.float64(values[first + np.uint64(i)]) + offset
        key = min(top, max(bottom, unclipped))  # with this order of arguments, NaN gives the bottom
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
