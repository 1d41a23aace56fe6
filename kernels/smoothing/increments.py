"""Cumulative counts as increments, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


@kernel
def difference(
    curves: NDArray[np.float64],
    totals: NDArray[np.float64],
    increments: NDArray[np.float64],
    units: NDArray[np.float64],
) -> None:
    """Set the increments of curves that start from 0 and end at ``totals``.

    Parameters
    ----------
    curves
        (R, B) cumulative counts.
    totals
        (R,) the cumulative count after the last one of each row.
    increments
        (R, B + 1) the result; row r sums to ``totals[r]``.
    units
        (R,) the result: the largest absolute increment of each row.
    """
    size = curves.shape[1]
    for r in range(curves.shape[0]):
        before, largest = 0.0, 0.0
        for v in range(size + 1):
            here = curves[r, v] if v < size else totals[r]
            increments[r, v] = here - before
            largest = max(largest, abs(here - before))
            before = here
        units[r] = largest


@kernel
def accumulate(
    increments: NDArray[np.float64], totals: NDArray[np.float64], curves: NDArray[np.float64]
) -> None:
    """Set ``curves``, (R, B), from increments, (R, B + 1), that are >= 0 up to rounding.

    Invariant: the entries set so far are non-decreasing and within [0, totals[r]], exactly.
    """
    for r in range(curves.shape[0]):
        summed, highest = 0.0, 0.0
        for v in range(curves.shape[1]):
            summed += increments[r, v]
            highest = max(highest, min(summed, totals[r]))
            curves[r, v] = highest
