"""The place where a curve reaches a share, and the share of each cell up to a place."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError, shown
from ..summaries.grid import Grid

__all__ = [
    "Counts",
    "Method",
    "QuantileMethod",
    "are_whole",
    "between",
    "cell_ends",
    "cell_span",
    "crossings",
    "is_below",
    "least_whole",
    "places",
    "rises",
    "shares_within",
    "within",
    "within_cubic",
]

Counts = NDArray[np.int64] | NDArray[np.float64]
Knots = Callable[[NDArray[np.int64]], NDArray[np.float64]]
Method = Literal["linear", "inverted_cdf"]
QuantileMethod = Literal["linear", "cubic", "inverted_cdf"]

_HALVINGS: Final = 60  # of a cell: more than a double has bits
# Of shares that are sums of a few rounded products. One of the 2^46 records of a release is more.
_ROUNDING: Final = 2.0**-48


def are_whole(grid: Grid, integers: bool | None) -> bool:
    """Return whether records are whole: as the release states, or else as the grid does."""
    return grid.of_integers if integers is None else integers


def is_below(shares: NDArray[Any], p: Any) -> NDArray[np.bool_]:
    """Return whether shares of records are below p, and not only by rounding.

    Weights, and parts of the cells of a table, make counts of what would be whole numbers, or n, a
    little less. Without this allowance, medians would be one value too late, and the largest value
    the end of the grid.
    """
    return np.asarray(shares < p * (1.0 - _ROUNDING))


def crossings(counts: Counts, n: int, p: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return cells in which F = counts / n reaches p, coming from below.

    Parameters
    ----------
    counts
        (N,) cumulative counts, ending with n. If they never decrease, the first cell that reaches p
        is found. Otherwise F may cross p several times, and one of the crossings is found.
    n
        The number of records.
    p
        Probabilities within [0, 1], any shape.

    Notes
    -----
    Algorithm 1 of the ECDF paper on the indices of the grid, O(log N) each. Shares are compared
    with p by ``is_below``.
    Invariant: F(low) < p <= F(high), with F(-1) < p and p <= F(N - 1) = 1.
    """
    low = np.full(p.shape, -1)
    high = np.full(p.shape, counts.size - 1)
    for _ in range(counts.size.bit_length()):
        middle = (low + high) // 2
        inside = middle > low
        below = inside & is_below(counts[middle] / n, p)
        low = np.where(below, middle, low)
        high = np.where(inside & ~below, middle, high)
    return high


def crossings_of_rows(
    counts: Counts, n: NDArray[np.int64], p: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return what ``crossings`` does for each row of (B, N) counts, (B, P) for (P,) shares."""
    size = counts.shape[1]
    low, high = np.full((n.size, p.size), -1), np.full((n.size, p.size), size - 1)
    for _ in range(size.bit_length()):
        middle = (low + high) // 2
        inside = middle > low
        shares = np.take_along_axis(counts, np.maximum(middle, 0), axis=1) / n[:, np.newaxis]
        below = inside & is_below(shares, p)
        low = np.where(below, middle, low)
        high = np.where(inside & ~below, middle, high)
    return high


def within_rows(
    cells: NDArray[np.int64],
    p: NDArray[np.float64],
    counts: Counts,
    n: NDArray[np.int64],
    grid: Grid,
    integers: bool,
) -> NDArray[np.float64]:
    """Return what ``within`` does for each row of (B, N) counts and (B, P) cells."""
    shares = partial(np.take_along_axis, counts, axis=1)
    start = np.where(cells == 0, 0.0, shares(np.maximum(cells - 1, 0)) / n[:, np.newaxis])
    rise = shares(cells) / n[:, np.newaxis] - start
    share = np.divide(p - start, rise, out=np.zeros(cells.shape), where=rise > 0.0)
    return places(cells, share, grid, integers)


def within(
    cells: NDArray[np.int64],
    p: NDArray[np.float64],
    counts: Counts,
    n: int,
    grid: Grid,
    integers: bool,
) -> NDArray[np.float64]:
    """Return the place in its cell where F reaches each p, if records lie evenly in the cell.

    Parameters
    ----------
    cells
        The cells in which F crosses p, of the shape of p.
    p, counts, n
        As in ``crossings``.
    grid
        The grid of the counts. If its lower end is not known, the first cell is its upper end
        alone.
    integers
        Whether records are whole numbers, or whole days on a grid of times. Then they lie evenly on
        the whole numbers of a cell. Those of the first cell include its lower end. The count of a
        cell without any is noise, and counts for the nearest whole number between the ends of the
        grid.

    Notes
    -----
    The result never decreases with p, if the counts do not.
    """
    start = np.where(cells == 0, 0.0, counts[np.maximum(cells - 1, 0)] / n)
    rise = counts[cells] / n - start
    # The rise is 0 if p is 0 and the curve begins with 0.
    share = np.divide(p - start, rise, out=np.zeros(p.shape), where=rise > 0.0)
    return places(cells, share, grid, integers)


def within_cubic(
    cells: NDArray[np.int64],
    p: NDArray[np.float64],
    counts: Counts,
    n: int,
    grid: Grid,
    integers: bool,
) -> NDArray[np.float64]:
    """Return the place in its cell where a monotone cubic through F reaches each p.

    The parameters are those of ``within``. The cubic is that of Fritsch & Carlson (*Monotone
    piecewise cubic interpolation*, 1980), with the slopes of Fritsch & Butland (1984): harmonic
    means of the slopes of both cells, and 0 where F turns. O(1) each.

    Notes
    -----
    In units of its cell, a cubic that rises from 0 to 1 with the slopes a and b at the ends is
    s^2 (3 - 2 s) + a s (1 - s)^2 - b s^2 (1 - s). Both slopes are within [0, 3], so it is monotone.
    """
    first = 0 if math.isfinite(grid.start) and grid.start < grid.positions[0] else 1

    def end(knots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return where knots are, in quarters, so that differences are finite."""
        inner = grid.positions[np.maximum(knots - 1, 0)] / 4
        return np.where(knots == 0, grid.start / 4, inner)

    def share(knots: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(knots == 0, 0.0, counts[np.maximum(knots - 1, 0)] / n)

    start, width = share(cells), end(cells + 1) - end(cells)
    rise = share(cells + 1) - start
    linear = np.divide(p - start, rise, out=np.zeros(p.shape), where=rise > 0.0)
    if grid.size - first < 2:  # a single cell has no neighbours
        return places(cells, linear, grid, integers)
    with np.errstate(all="ignore"):  # cells may be so narrow that slopes overflow
        low, high = (
            _slopes(knots, end, share, first, grid.size) * width / rise
            for knots in (cells, cells + 1)
        )
        known = np.isfinite(low) & np.isfinite(high) & (cells >= first) & (rise > 0.0)
    solved = _solved(linear, np.where(known, low, 1.0), np.where(known, high, 1.0))
    return places(cells, np.where(known, solved, linear), grid, integers)


def _slopes(
    knots: NDArray[np.int64], end: Knots, share: Knots, first: int, last: int
) -> NDArray[np.float64]:
    """Return the slopes of the monotone cubic at knots from the first to the last."""
    inner = np.clip(knots, first + 1, last - 1)  # its cells are the ones next to an outer knot
    at = end(inner)
    left, right = at - end(inner - 1), end(inner + 1) - at
    before = (share(inner) - share(inner - 1)) / left
    after = (share(inner + 1) - share(inner)) / right
    both = 3.0 * (left + right)
    mean = both / ((2.0 * right + left) / before + (right + 2.0 * left) / after)
    slopes = np.where(before * after > 0.0, mean, 0.0)
    near, far = np.where(knots < inner, (left, right), (right, left))
    own, other = np.where(knots < inner, (before, after), (after, before))
    outer = ((2.0 * near + far) * own - near * other) / (near + far)
    outer = np.where((own * other <= 0.0) & (np.abs(outer) > 3.0 * np.abs(own)), 3.0 * own, outer)
    outer = np.where(outer * own > 0.0, outer, 0.0)
    return np.where(knots == inner, slopes, outer)


def _solved(
    share: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return where cubics from 0 to 1 with these slopes at the ends reach shares, by halving."""
    least, most = np.zeros(share.shape), np.ones(share.shape)
    for _ in range(_HALVINGS):
        s = (least + most) / 2
        reached = s * s * (3.0 - 2.0 * s) + s * (1.0 - s) * (low * (1.0 - s) - high * s)
        least, most = np.where(reached < share, s, least), np.where(reached < share, most, s)
    return np.where(share >= 1.0, 1.0, np.where(share <= 0.0, 0.0, most))  # exact at thresholds


def places(
    cells: NDArray[np.int64], share: NDArray[np.float64] | float, grid: Grid, integers: bool
) -> NDArray[np.float64]:
    """Return the place in each cell up to which the cell has this share of its records.

    Parameters
    ----------
    cells
        The numbers of the cells, any shape.
    share
        Shares within [0, 1], of the same shape or one for all. For whole numbers, the share 0 means
        the least whole number.
    grid, integers
        As in ``within``.
    """
    ends, first, step = grid.positions, grid.start, grid.step
    if not math.isfinite(first):
        first = np.floor(ends[0] / step) * step if integers else ends[0]
    lower, upper = np.where(cells == 0, first, ends[np.maximum(cells - 1, 0)]), ends[cells]
    place = between(lower, upper, share)
    if not integers:
        return place
    # Rounded quotients still distinguish a whole number of days from a microsecond less.
    nearest = np.clip(np.rint(place / step), np.ceil(first / step), np.floor(ends[-1] / step))
    least, most = np.floor(lower / step), np.floor(upper / step)
    least = np.where(cells == 0, np.ceil(first / step) - 1.0, least)  # this cell includes its ends
    whole = np.clip(np.ceil(between(least, most, share)), least + 1.0, most)
    return np.where(least < most, whole, nearest) * step + 0.0  # adding 0.0 changes -0.0 to 0.0


def cell_ends(grid: Grid, integers: bool) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the least and the largest place of records in each cell, each (N,), and their unit.

    The unit is 1, or larger where sums of places times counts would leave the doubles.
    """
    cells = np.arange(grid.size)
    low, high = (places(cells, share, grid, integers) for share in (0.0, 1.0))
    unit = 2.0**600 if max(abs(low[0]), abs(high[-1])) > 2.0**400 else 1.0
    return low / unit, high / unit, unit


def cell_span(
    first: NDArray[np.int64], last: NDArray[np.int64], grid: Grid, integers: bool
) -> tuple[Any, Any]:
    """Return where records of the cells from ``first`` to ``last`` may lie, as users see it.

    The first end is -infinity (for times: NaT) where the lower end of the grid is not known.
    """
    low = places(first, 0.0, grid, integers)
    low = np.where((first == 0) & np.isinf(grid.start), -np.inf, low)
    high = places(last, 1.0, grid, integers)
    return grid.shown(low, whole=integers), grid.shown(np.asarray(high), whole=integers)


def least_whole(grid: Grid) -> tuple[float, float]:
    """Return where records may lie before the first threshold, if they are whole numbers.

    Returns
    -------
    tuple
        The least whole number of the first cell, and its share of the cell's records, which lie
        evenly on the whole numbers. If there is none before the first threshold, or if the lower
        end of the grid is not known: infinity and 0.
    """
    if not math.isfinite(grid.start):
        return math.inf, 0.0
    least, most = math.ceil(grid.start / grid.step), math.floor(grid.positions[0] / grid.step)
    place = least * grid.step
    return (place, 1.0 / (most - least + 1)) if place < grid.positions[0] else (math.inf, 0.0)


def rises(grid: Grid, counts: Counts, integers: bool) -> tuple[NDArray[np.float64], Counts]:
    """Return the points at which curves rise, and the counts up to each, (..., N) or more.

    Parameters
    ----------
    grid, counts, integers
        As in ``within``; the counts are (..., N).
    """
    place, share = least_whole(grid) if integers else (math.inf, 0.0)
    if place == math.inf:
        return grid.positions, counts
    first = share * counts[..., :1]
    return np.append(place, grid.positions), np.concatenate([first, counts], axis=-1)


def between(
    lower: NDArray[np.float64], upper: NDArray[np.float64], share: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Return lower + share (upper - lower), in halves, as the difference may be infinite."""
    half = lower / 2 + share * (upper / 2 - lower / 2)
    return np.where(share < 1.0, np.clip(2 * half, lower, upper), upper)


def shares_within(
    grid: Grid, lower: float | None, upper: float | None, *, integers: bool
) -> NDArray[np.float64]:
    """Return the share of the records of each cell that are above lower and at most upper, (N,).

    Parameters
    ----------
    grid
        The grid of the cells, of numbers. If its lower end is not known, the first cell is its
        upper end alone.
    lower, upper
        The ends of the range, which may be infinite. None: no end. A range that begins where the
        grid does includes the lower end, if the first cell has a width.
    integers
        Whether records are whole numbers. Then they lie evenly on the whole numbers of a cell, if
        it has some. Those of the first cell include its lower end.

    Raises
    ------
    DtypeError, ParameterError
        An end is not a number, or is NaN, or lower is not below upper.
    """
    low = -math.inf if lower is None else _end("lower", lower)
    high = math.inf if upper is None else _end("upper", upper)
    if not low < high:
        raise ParameterError("upper", upper, f"must be greater than lower, {shown(lower)}")
    within = _shares_up_to(grid, integers, high)
    if low == grid.start < grid.positions[0]:  # the first cell belongs to the range, with its end
        return within
    return within - _shares_up_to(grid, integers, low)


def _end(argument: str, value: object) -> float:
    """Return a real number, which may be infinite."""
    end = _check.points(argument, value)
    if end.ndim:
        raise DtypeError(argument, type(value).__name__, "must be one number")
    return float(end)


def _shares_up_to(grid: Grid, integers: bool, end: float) -> NDArray[np.float64]:
    """Return the share of each cell up to ``end``, (N,)."""
    thresholds = grid.positions
    at = int(np.searchsorted(thresholds, end, side="right"))  # the number of whole cells
    shares = np.zeros(grid.size)
    shares[:at] = 1.0
    before = grid.start if at == 0 else float(thresholds[at - 1])
    if at == grid.size or not -math.inf < before <= end:
        return shares
    # Fractions, because they may be far apart.
    first, last, place = Fraction(before), Fraction(float(thresholds[at])), Fraction(end)
    if integers:
        least = math.ceil(first) - 1 if at == 0 else math.floor(first)
        if least < math.floor(last):
            first, last, place = map(Fraction, (least, math.floor(last), math.floor(place)))
    shares[at] = float((max(place, first) - first) / (last - first))
    return shares
