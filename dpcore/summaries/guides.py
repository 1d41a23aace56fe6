"""Guides for the search of a value's cell. A table replaces most steps of the search."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Guide", "best_guide", "no_guide"]

_MOST_BUCKETS: Final = 2**20  # 4 megabytes
# More buckets may save a step of the search, but they miss the cache.
_BUCKETS_A_CELL: Final = (2, 8)


class Guide(NamedTuple):
    """Buckets of values in ascending order, and the number of thresholds before each.

    Parameters
    ----------
    starts, offset, bottom, top, shift, length
        As ``guide``, ... in ``kernels.counting.cells.searched_cells``.
    """

    starts: NDArray[np.uint32]
    offset: float
    bottom: float
    top: float
    shift: int
    length: int


def no_guide(thresholds: NDArray[np.float64]) -> Guide:
    """Return one bucket, which saves no step of the search."""
    return Guide(np.zeros(1, np.uint32), 0.0, 0.0, 0.0, 0, thresholds.size)


def best_guide(thresholds: NDArray[np.float64]) -> Guide:
    """Return the buckets that leave the shortest search.

    The bits of a positive double grow about with its logarithm, so buckets of equally many bits
    suit thresholds in geometric progression. Those of x + offset, for an offset as large as all
    thresholds are apart, grow with x itself. Cells are exact whatever the thresholds. O(N).
    """
    inner = thresholds[:-1]  # all values above the last but one threshold are in the last cell
    guides = [no_guide(thresholds)]
    if inner.size > 1:
        span = float(inner[-1]) - float(inner[0])
        if math.isfinite(4 * span):
            guides += _with_offset(inner, 2.0 ** math.ceil(math.log2(span)) - float(inner[0]))
        if inner[-1] > 0:
            guides += _with_offset(inner, 0.0)
    return min(guides, key=lambda guide: ((guide.length - 1).bit_length(), guide.starts.size))


def _with_offset(thresholds: NDArray[np.float64], offset: float) -> list[Guide]:
    keys = np.maximum(thresholds + offset, 0.0)
    bits = keys.view(np.uint64)
    distances = bits - bits[0]
    guides = []
    for per_cell in _BUCKETS_A_CELL:
        most = min(_MOST_BUCKETS, per_cell * thresholds.size)
        shift = max(0, int(distances[-1]).bit_length() - most.bit_length() + 1)
        within = np.bincount((distances >> np.uint64(shift)).astype(np.int64))
        length = int(within.max()) + 1
        before = np.cumsum(within) - within
        starts = np.minimum(before, thresholds.size + 1 - length).astype(np.uint32)
        guides.append(Guide(starts, offset, float(keys[0]), float(keys[-1]), shift, length))
    return guides
