"""Magnitudes counted by rung. Rung i of a ladder holds unit 2^(i - 1) < |x| <= unit 2^i."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from .cells import BLOCK
from .tables import add

_DOUBLING: Final = np.int64(2**52)  # adding this to the bits of a normal double doubles it
_INFINITE: Final = np.int64(2047 * 2**52)  # the bits of infinity; NaN has a larger integer


@kernel
def count_rungs(
    values: NDArray[np.floating],
    unit: float,
    table: NDArray[np.uint16],
    counts: NDArray[np.int64],
) -> int:
    """Add values to the counts of the rungs in one pass. Return the number of NaNs.

    Parameters
    ----------
    values
        (n,) float32 or float64. Values below the first rung count in the first, and values above
        the last rung in the last.
    unit
        A positive normal double.
    table, counts
        As in ``tables.add``, and added to in place.

    Notes
    -----
    The bits of positive doubles rise with the doubles, and |x| <= unit 2^i is the same as
    bits(|x|) <= bits(unit) + i 2^52. So the rung is the difference of the bits divided by 2^52,
    rounded up. Invariant: after each block, ``counts`` plus the table are the counts so far.
    """
    cells = np.empty(BLOCK, np.uint32)
    below = np.float64(unit).view(np.int64) - _DOUBLING + np.int64(1)
    last = np.int64(counts.size - 1)
    missing = 0
    for start in range(0, values.size, BLOCK):
        first = np.uint64(start)  # unsigned: no test for negative indices
        size = min(BLOCK, values.size - start)
        absent = 0
        for i in range(size):
            bits = np.float64(abs(np.float64(values[first + np.uint64(i)]))).view(np.int64)
            rung = min(last, max(np.int64(0), (bits - below) >> np.int64(52)))
            is_nan = bits > _INFINITE
            absent += int(is_nan)
            cells[i] = np.uint32(counts.size if is_nan else rung)
        add(cells, size, absent, table, counts)
        missing += absent
    return missing
