"""Bounds for both axes of a residual plot: public ones, or those of one of two private searches."""

from __future__ import annotations

from fractions import Fraction
from math import floor, sqrt
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..mechanisms.selection import exponential_mechanism
from ..records.column import Chunk
from ..summaries.grid import Grid
from ..summaries.rungs import Rungs
from .bounds_around_zero import compact_end, compact_rungs, rungs_of, symmetric_end

__all__ = [
    "LEAST_GAIN",
    "PARTS",
    "Ends",
    "Search",
    "ends_of",
    "gain_of",
    "parts_of",
    "residual_bounds",
    "rungs_for",
    "share_of",
]

Ends = tuple[float, float]
Known = tuple[Ends | None, Ends | None]
Search = Literal["compact", "sparse-vector"]

_COVERAGE: Final = 0.95  # theta in the paper, for each column
_DOUBLINGS: Final = 62  # how often the paper's search doubles the unit

LEAST_GAIN: Final = Fraction(1, 50)  # so there are at most 50 doublings
_MOST_GAIN: Final = Fraction(1, 10)
_REACH: Final = 2.5  # doublings, times the root of n epsilon
_OF_PREDICTED, _OF_RESIDUALS = 2, 1  # parts of the budget (docs/proofs/selection.md, section 8)
PARTS: Final = _OF_PREDICTED + _OF_RESIDUALS


def share_of(search: Search, known: Known) -> Fraction:
    """Return the part of the budget for both axes that goes to ends that are not known."""
    if search == "compact":
        return Fraction(parts_of(known), PARTS)
    return Fraction(known.count(None), 2)


def rungs_for(
    search: Search, units: tuple[Any, Any], known: Known, n: int, epsilon: Fraction
) -> tuple[Rungs, Rungs]:
    """Return the ends from which a search chooses, for each axis.

    Parameters
    ----------
    search, units, known
        As in ``ends_of``.
    n
        The public number of records.
    epsilon
        The budget for the ends that are not known.

    Raises
    ------
    DtypeError, ParameterError
        A unit is not a positive number, or is too large.
    """
    if None not in known:  # both are known, so no unit is doubled
        return rungs_of(units[0], 0), rungs_of(units[1], 0)
    if search == "compact":
        gain = gain_of(n, epsilon / parts_of(known))
        return compact_rungs(units[0], gain), compact_rungs(units[1], gain)
    return rungs_of(units[0], _DOUBLINGS), rungs_of(units[1], _DOUBLINGS)


def ends_of(
    search: Search,
    columns: tuple[Chunk, Chunk],
    units: tuple[Any, Any],
    known: Known,
    epsilon: Fraction,
    rng: np.random.Generator | None,
) -> tuple[Ends, Ends]:
    """Return the ends of both axes, those of predicted values first.

    Parameters
    ----------
    search
        "compact": ``residual_bounds``. "sparse-vector": ``symmetric_bounds`` on either axis.
    columns
        Predicted values and residuals, without missing values.
    units, known, rng
        As in ``residual_bounds``.
    epsilon
        The budget for the ends that are not known, for "replace-one".
    """
    if search == "compact":
        return residual_bounds(*columns, units, known, epsilon, rng)
    across, upright = (
        _searched(column, unit, epsilon / known.count(None), rng) if ends is None else ends
        for column, unit, ends in zip(columns, units, known, strict=True)
    )
    return across, upright


def parts_of(known: Known) -> int:
    """Return how many of the ``PARTS`` of the budget go to bounds that are not known."""
    return _OF_PREDICTED * (known[0] is None) + _OF_RESIDUALS * (known[1] is None)


def residual_bounds(
    predicted: Chunk,
    residuals: Chunk,
    units: tuple[float, float],
    known: tuple[Ends | None, Ends | None],
    epsilon: Fraction,
    rng: np.random.Generator | None,
) -> tuple[Ends, Ends]:
    """Return bounds of both axes; a value at a bound is within the bounds.

    Parameters
    ----------
    predicted, residuals
        (n,) numbers without missing values, n >= 1.
    units
        The units of both columns, positive numbers. Bounds are 0 and +-unit 2^i.
    known
        The bounds of each axis if they are public; they cost nothing. None: they are searched for.
    epsilon
        What the search for bounds spends, for "replace-one", so n is public. It may be 0 if all
        bounds are known.
    rng
        As in ``exponential_mechanism``.

    Raises
    ------
    DtypeError, ParameterError
        A unit is not a positive number, or is too large for its doublings (at most 50); or epsilon
        is too small for ``exponential_mechanism``. Errors depend on the records only through n.

    Notes
    -----
    The exponential mechanism chooses twice, each time an interval that is worth its width.
    Residuals are centred, so their interval is one of [-b, b], as in ``compact_bounds``. Predicted
    values may have one sign, so their interval is one of [-b, b], [0, b] and [-b, 0]. These are not
    nested and therefore need twice the epsilon for the same accuracy; they get two of three parts.
    The gain depends only on n and epsilon (docs/proofs/selection.md, section 8). The cost is O(n).
    """
    across, upright = known
    if across is not None and upright is not None:
        return across, upright
    part = epsilon / parts_of(known)
    gain = gain_of(predicted.size, part)
    beside, rungs = (compact_rungs(unit, gain) for unit in units)  # raises before any draw
    if across is None:
        across = _beside_zero(predicted, beside.ends, gain, _OF_PREDICTED * part, rng)
    if upright is None:
        counts = rungs.count(residuals, "raise")
        end = float(rungs.ends[compact_end(counts, _OF_RESIDUALS * part, rng, gain)])
        upright = -end, end
    return across, upright


def gain_of(n: int, part: Fraction) -> Fraction:
    """Return the gain for n records and an epsilon for each part, all of them public."""
    reach = _REACH * sqrt(min(n * part, 1 / LEAST_GAIN**2))
    return min(max(LEAST_GAIN, 1 / Fraction(reach)), _MOST_GAIN)


def _searched(
    column: Chunk, unit: float, epsilon: Fraction, rng: np.random.Generator | None
) -> Ends:
    rungs = rungs_of(unit, _DOUBLINGS)
    counts = rungs.count(column, "raise")
    outside = round((1 - _COVERAGE) * int(counts.sum()))
    end = float(rungs.ends[symmetric_end(counts, outside, epsilon, rng)])
    return -end, end


def _beside_zero(
    values: Chunk,
    ends: NDArray[np.float64],
    gain: Fraction,
    epsilon: Fraction,
    rng: np.random.Generator | None,
) -> Ends:
    """Return the chosen interval, on one side of zero or on both."""
    inside = _records_inside(values, ends)
    price = gain * values.size
    # [-b, b] is as wide as [0, 2 b]. The widest interval is left out, because its cost would be all
    # records or more.
    prices = np.array([floor(i * price) for i in range(ends.size)])
    scores = inside - np.concatenate([prices, prices, prices[1:]])
    chosen = exponential_mechanism(scores, epsilon=epsilon, rng=rng)
    lower = np.concatenate([-ends, np.zeros(ends.size), -ends[:-1]])
    upper = np.concatenate([np.zeros(ends.size), ends, ends[:-1]])
    return float(lower[chosen]), float(upper[chosen])


def _records_inside(values: Chunk, ends: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the records in each [-b, 0], in each [0, b], and in each [-b, b] but the last.

    Both ends belong to an interval. Records beyond the last b count as if they were at it.
    """
    with np.errstate(under="ignore"):  # the neighbour of 0 is subnormal
        just_below = np.nextafter(np.concatenate([-ends[-2::-1], [0.0]]), -np.inf)
    counts = Grid(np.concatenate([just_below, [0.0], ends])).count(values)
    up_to = np.concatenate([[0], np.cumsum(counts)])
    size = ends.size
    less = up_to[size - 1 :: -1]  # the number of records below each -b
    negative, no_more = up_to[size : size + 2]  # the numbers below 0, and at most 0
    at_most = up_to[size + 2 :]  # the number at most each b
    return np.concatenate([no_more - less, at_most - negative, (at_most - less)[:-1]])
