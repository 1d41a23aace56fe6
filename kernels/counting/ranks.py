"""Records of two classes, compared by rank, by sorting and without a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


@kernel
def part_by_class(
    values: NDArray[np.floating], is_positive: NDArray[np.bool_], out: NDArray[np.floating]
) -> int:
    """Put the negatives' values in front, the positives' behind. Return the number of negatives.

    Parameters
    ----------
    values
        (n,) float32 or float64.
    is_positive
        (n,) their classes.
    out
        (n,) the result: negatives in their order, positives in reverse order.

    Notes
    -----
    Every value is written to both ends, and one of the two places is kept. This avoids a branch,
    which would be mispredicted about half of the time. Invariant: the values read so far are in
    ``out[:front]`` and ``out[back + 1 :]``.
    """
    front, back = 0, values.size - 1
    for i in range(values.size):
        positive = int(is_positive[i])
        out[front] = values[i]
        out[back] = values[i]
        front += 1 - positive
        back -= positive
    return front


@kernel
def ordered_pairs(
    negatives: NDArray[np.floating],
    positives: NDArray[np.floating],
    before: int,
    start: int,
    stop: int,
) -> int:
    """Count, for some positives, the negatives below each twice, and the ties once.

    Parameters
    ----------
    negatives, positives
        (N,), (P,) sorted values without NaN. N P fits 62 bits.
    before
        The number of negatives that are known to be below the first of these positives.
    start, stop
        The range of the positives.

    Notes
    -----
    O(stop - start), plus the number of negatives among them. Invariant: ``below`` negatives are
    less than the positive, and those up to ``upto`` are not above it.
    """
    total = 0
    below, k = before, start
    while k < stop:
        value = positives[k]
        while below < negatives.size and negatives[below] < value:
            below += 1
        upto = below
        while upto < negatives.size and negatives[upto] == value:
            upto += 1
        first = k
        while k < stop and positives[k] == value:
            k += 1
        total += (k - first) * (below + upto)
    return total
