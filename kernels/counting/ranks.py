"""Records of two classes, compared by rank: no grid, but sorting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


@kernel
def part_by_class(
    values: NDArray[np.floating], is_positive: NDArray[np.bool_], out: NDArray[np.floating]
) -> int:
    """Put the negatives' values in front, the positives' behind; return how many are in front.

    Parameters
    ----------
    values
        (n,) float32 or float64.
    is_positive
        (n,) their classes.
    out
        (n,) the result; negatives in their order, positives in the opposite one.

    Notes
    -----
    Every value is written to both ends, and one of the two places is kept: without a branch, which
    would be guessed wrong as often as not. Invariant: what has been read is in ``out[:front]`` and
    ``out[back + 1 :]``.
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
    """Count, for some positives, the negatives below twice, and those that tie once.

    Parameters
    ----------
    negatives, positives
        (N,), (P,) sorted values, none of them NaN; N P within 62 bits.
    before
        Negatives that are known to be below the first positive asked for.
    start, stop
        The positives asked for.

    Notes
    -----
    O(stop - start) and the negatives among them. Invariant: ``below`` negatives are less than the
    positive, and those up to ``upto`` are not above it.
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
