"""Cumulative counts as increments, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


@kernel
def difference(
    curves: NDArray[np.float64],
    total: float,
    increments: NDArray[np.float64],
    units: NDArray[np.float64],
) -> None:
    """Set the increments of curves that start from 0 and end at ``total``.

    Parameters
    ----------
    curves
        (R, B) cumulative counts.
    total
        The cumulative count after the last of them.
    increments
        (R, B + 1) the result; each row sums to ``total``.
    units
        (R,) the result: the largest absolute increment of each row.
    """
    size = curves.shape[1]
    for r in range(curves.shape[0]):
        before, largest = 0.0, 0.0
        for v in range(size + 1):
            here = curves[r, v] if v < size else total
            increments[r, v] = here - before
            largest = max(largest, abs(here - before))
            before = here
        units[r] = largest


@kernel
def accumulate(increments: NDArray[np.float64], total: float, curves: NDArray[np.float64]) -> None:
    """Set ``curves``, (R, B), from increments, (R, B + 1), that are >= 0 up to rounding.

    Invariant: the entries set so far are non-decreasing and within [0, total], exactly.
    """
    for r in range(curves.shape[0]):
        summed, highest = 0.0, 0.0
        for v in range(curves.shape[1]):
            summed += increments[r, v]
            highest = max(highest, min(summed, total))
            curves[r, v] = highest
