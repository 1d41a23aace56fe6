"""Isotonic regression: the nearest non-decreasing sequence in least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

_REACH = 8  # how many neighbours on either side are compared before blocks are pooled
_ROUNDING = 2.0**-48  # pooling decides about means that differ by less than this


@inner
def _mark(row: NDArray[np.float64], may_end: NDArray[np.bool_]) -> None:
    """Mark the places of a row, (N,), after which a block of its regression may end.

    A block ends after a place if and only if all means of entries that end there are below all
    means of entries that begin after it. This function compares only the means of up to 8 entries
    on either side. That rules out most places without a branch, and processors do several places
    at a time.
    """
    for i in range(row.size):
        may_end[i] = True
    for i in range(row.size + 1 - 2 * _REACH):
        total, highest = 0.0, -np.inf
        for k in range(_REACH):
            total += row[i + _REACH - 1 - k]
            mean = total * (1.0 / (k + 1))
            highest = mean if mean > highest else highest
        total, lowest = 0.0, np.inf
        for k in range(_REACH):
            total += row[i + _REACH + k]
            mean = total * (1.0 / (k + 1))
            lowest = mean if mean < lowest else lowest
        slack = _ROUNDING * (abs(highest) + abs(lowest))
        may_end[i + _REACH - 1] = highest - lowest <= slack


@inner
def _cut(
    row: NDArray[np.float64],
    may_end: NDArray[np.bool_],
    sums: NDArray[np.float64],
    ends: NDArray[np.int64],
) -> int:
    """Cut a row after the marked places. Set the pieces' sums and ends, and return their number."""
    count, total = 1, 0.0
    for i in range(row.size):
        total += row[i]
        sums[count], ends[count] = total, i + 1  # in any case: which are marked is random
        count += may_end[i]
        total = 0.0 if may_end[i] else total
    return count


@inner
def _pool(
    count: int,
    sums: NDArray[np.float64],
    ends: NDArray[np.int64],
    means: NDArray[np.float64],
) -> int:
    """Pool pieces 1, ..., count - 1 into blocks, in place. Return the number of blocks plus one.

    Invariant: the blocks so far have increasing means, and are the regression of the places that
    they cover. Block 0 is empty, with the mean -inf.
    """
    blocks, start = 1, 0
    for i in range(1, count):
        total, end = sums[i], ends[i]
        mean = total / (end - start)
        while means[blocks - 1] >= mean:
            blocks -= 1
            total += sums[blocks]
            mean = total / (end - ends[blocks - 1])
        sums[blocks], means[blocks], ends[blocks] = total, mean, end
        blocks += 1
        start = end
    return blocks


@kernel
def isotonic(rows: NDArray[np.float64], least: float, most: float) -> None:
    """Project each row, (R, N), on the non-decreasing sequences within [least, most], in place.

    The kernel pools adjacent violators (Ayer et al. 1955), and clips. Both together are the
    projection. O(N) a row. It first finds the places where no block can end, since the branches of
    the pooling take most of the time.

    The mean of a block is written to all of its places, so the result is exactly monotone.
    """
    size = rows.shape[1]
    may_end = np.empty(size, np.bool_)
    sums, means, ends = np.empty(size + 2), np.empty(size + 2), np.empty(size + 2, np.int64)
    means[0], ends[0] = -np.inf, 0
    for r in range(rows.shape[0]):
        row = rows[r]
        _mark(row, may_end)
        blocks = _pool(_cut(row, may_end, sums, ends), sums, ends, means)
        for block in range(1, blocks):
            value = min(max(means[block], least), most)
            start, end = ends[block - 1], ends[block]
            if start + 8 <= size:  # most blocks are short; the next block overwrites the excess
                for k in range(8):
                    row[start + k] = value
                start += 8
            for i in range(start, end):
                row[i] = value
