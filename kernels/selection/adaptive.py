"""Adaptive quantiles, and curves through a few known points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


@kernel
def adaptive_quantiles(
    totals: NDArray[np.int64],
    noise: NDArray[np.int64],
    unit: float,
    n: float,
    thresholds: NDArray[np.int64],
    answers: NDArray[np.float64],
) -> None:
    """Ask for noisy cumulative counts, each in the middle of the interval with the largest gap.

    Parameters
    ----------
    totals
        (N,) exact cumulative counts, in units.
    noise
        (R, Q) the noise of each answer, in units; Q < N.
    unit
        The size of a unit, in records.
    n
        The number of records.
    thresholds
        (R, Q + 2) the result: the number of cells below each known threshold, from 0 to N.
    answers
        (R, Q + 2) the result: the answers at these thresholds, clipped to [0, n]. They may
        decrease.

    Notes
    -----
    A release takes O(Q^2). Of two intervals with equal gaps the first is taken. Only intervals of
    two or more cells can be taken. With fewer than N - 1 known thresholds inside there is one.

    Invariant: the first ``step + 2`` thresholds increase from 0 to N.
    """
    for r in range(noise.shape[0]):
        thresholds[r, 0] = 0
        answers[r, 0] = 0.0
        thresholds[r, 1] = totals.size
        answers[r, 1] = n
        for step in range(noise.shape[1]):
            chosen = 1
            widest = -np.inf
            for i in range(1, step + 2):
                apart = answers[r, i] - answers[r, i - 1]
                if apart > widest and thresholds[r, i] - thresholds[r, i - 1] > 1:
                    widest = apart
                    chosen = i
            middle = (thresholds[r, chosen - 1] + thresholds[r, chosen]) // 2
            for i in range(step + 2, chosen, -1):
                thresholds[r, i] = thresholds[r, i - 1]
                answers[r, i] = answers[r, i - 1]
            thresholds[r, chosen] = middle
            answer = (totals[middle - 1] + noise[r, step]) * unit
            answers[r, chosen] = min(max(answer, 0.0), n)


@kernel
def steps_through(
    thresholds: NDArray[np.int64], counts: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Set cumulative counts that are constant from each known count to the next.

    Parameters
    ----------
    thresholds
        (R, K) the number of cells below each known threshold, increasing from 0 to N.
    counts
        (R, K) the cumulative counts there.
    out
        (R, N) the result.
    """
    for r in range(out.shape[0]):
        for k in range(1, thresholds.shape[1]):
            last = thresholds[r, k] - 1
            # This is a slice, because a loop over cells would test each index for being negative.
            out[r, thresholds[r, k - 1] : last] = counts[r, k - 1]
            out[r, last] = counts[r, k]


@kernel
def lines_through(
    thresholds: NDArray[np.int64], counts: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Set cumulative counts that follow a straight line from each known count to the next.

    The arguments are those of ``steps_through``. The values between two known counts are exactly
    within these counts, and monotone.
    """
    for r in range(out.shape[0]):
        for k in range(1, thresholds.shape[1]):
            start = thresholds[r, k - 1]
            last = thresholds[r, k] - 1
            low = counts[r, k - 1]
            high = counts[r, k]
            slope = (high - low) / (last + 1 - start)
            least = min(low, high)
            most = max(low, high)
            part = out[r, start:last]
            for i in range(part.size):
                part[i] = min(max(low + slope * (i + 1), least), most)
            out[r, last] = high


@kernel
def add_parabolas(
    edges: NDArray[np.int64], means: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Add a parabola to the numbers of each bucket, with 0 before it and at its end; O(N).

    Parameters
    ----------
    edges
        (buckets + 1,) the cells at which buckets start, rising from 0, and N at the end.
    means
        (buckets,) the parabolas' means.
    out
        (N,) numbers; the parabolas are added in place.
    """
    for bucket in range(means.size):
        start = edges[bucket]
        width = edges[bucket + 1] - start
        height = 6.0 * means[bucket]
        for i in range(width):
            along = (i + 1) / width
            out[start + i] += height * along * (1.0 - along)
