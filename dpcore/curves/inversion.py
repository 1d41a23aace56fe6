"""Where a curve reaches a count: the cell, and the place within it."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..summaries.grid import Grid

__all__ = ["Counts", "Method", "between", "crossings", "places", "within"]

Counts = NDArray[np.int64] | NDArray[np.float64]
Method = Literal["linear", "inverted_cdf"]


def crossings(counts: Counts, n: int, p: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return cells in which F = counts / n reaches p, coming from below.

    Parameters
    ----------
    counts
        (N,) cumulative counts, ending with n. Where they never decrease, the first cell to reach p
        is found; otherwise there may be several crossings, and one of them is.
    n
        The number of records.
    p
        Probabilities within [0, 1], any shape.

    Notes
    -----
    Algorithm 1 of the ECDF paper on the grid's indices, O(log N) each. Shares are compared, as they
    are rounded, and not p n with counts: 0.07 of 100 is above 7 in doubles.
    Invariant: F(low) < p <= F(high), with F(-1) < p and p <= F(N - 1) = 1.
    """
    low = np.full(p.shape, -1)
    high = np.full(p.shape, counts.size - 1)
    for _ in range(counts.size.bit_length()):
        middle = (low + high) // 2
        inside = middle > low
        below = inside & (counts[middle] / n < p)
        low = np.where(below, middle, low)
        high = np.where(inside & ~below, middle, high)
    return high


def within(
    cells: NDArray[np.int64],
    p: NDArray[np.float64],
    counts: Counts,
    n: int,
    grid: Grid,
    integers: bool,
) -> NDArray[np.float64]:
    """Return where in its cell F reaches each p, if the cell's records lie evenly in it.

    Parameters
    ----------
    cells
        Where F crosses p, of its shape.
    p, counts, n
        As in ``crossings``.
    grid
        Of the counts. Where its lower end is not known, the first cell is its upper end alone.
    integers
        Whether records are whole numbers, or whole days on a grid of times. They lie evenly on
        those of a cell; what is in a cell that has none is noise, and counts for the nearest one
        between the grid's ends.

    Notes
    -----
    The result never decreases with p, if the counts do not.
    """
    start = np.where(cells == 0, 0.0, counts[np.maximum(cells - 1, 0)] / n)
    rise = counts[cells] / n - start
    # There is no rise where p is 0, and the curve begins with it.
    share = np.divide(p - start, rise, out=np.zeros(p.shape), where=rise > 0.0)
    return places(cells, share, grid, integers)


def places(
    cells: NDArray[np.int64], share: NDArray[np.float64] | float, grid: Grid, integers: bool
) -> NDArray[np.float64]:
    """Return the place in each cell up to which it has so large a share of its own records.

    Parameters
    ----------
    cells
        Their numbers, any shape.
    share
        Within [0, 1], of the same shape or one for all. Of whole numbers 0 is the least one.
    grid, integers
        As in ``within``.
    """
    ends, first, step = grid.positions, grid.start, grid.step
    if not math.isfinite(first):
        first = (np.floor(ends[0] / step) - 1.0) * step if integers else ends[0]
    lower, upper = np.where(cells == 0, first, ends[np.maximum(cells - 1, 0)]), ends[cells]
    place = between(lower, upper, share)
    if not integers:
        return place
    # Quotients are rounded, and still tell a whole number of days from a microsecond less.
    nearest = np.clip(np.rint(place / step), np.ceil(first / step), np.floor(ends[-1] / step))
    least, most = np.floor(lower / step), np.floor(upper / step)
    whole = np.clip(np.ceil(between(least, most, share)), least + 1.0, most)
    return np.where(least < most, whole, nearest) * step + 0.0  # and not -0.0


def between(
    lower: NDArray[np.float64], upper: NDArray[np.float64], share: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Return lower + share (upper - lower): in halves, since the difference may be infinite."""
    half = lower / 2 + share * (upper / 2 - lower / 2)
    return np.where(share < 1.0, np.clip(2 * half, lower, upper), upper)
