"""Isotonic regression: the nearest non-decreasing sequence in least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


@kernel
def isotonic(rows: NDArray[np.float64], least: float, most: float) -> None:
    """Project each row, (R, N), on the non-decreasing sequences within [least, most], in place.

    Pool adjacent violators (Ayer et al. 1955), then clipping, which together are the projection.
    O(N) a row.

    Invariant: the blocks so far have increasing means, and are the regression of what they cover.
    A block's mean is written to all of its places, so the result is monotone with no tolerance.
    """
    sums, ends = np.empty(rows.shape[1]), np.empty(rows.shape[1], np.int64)
    means = np.empty(rows.shape[1])
    for r in range(rows.shape[0]):
        blocks = 0
        for i in range(rows.shape[1]):
            total, start = rows[r, i], i
            mean = total
            while blocks > 0 and means[blocks - 1] >= mean:
                blocks -= 1
                total += sums[blocks]
                start = ends[blocks - 1] if blocks > 0 else 0
                mean = total / (i + 1 - start)
            sums[blocks], means[blocks], ends[blocks] = total, mean, i + 1
            blocks += 1
        i = 0
        for block in range(blocks):
            value = min(max(means[block], least), most)
            while i < ends[block]:
                rows[r, i] = value
                i += 1
