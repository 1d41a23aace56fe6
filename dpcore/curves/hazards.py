"""Numbers at risk, hazards and survival from cumulative counts, on plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Reals",
    "area_up_to",
    "at_risk",
    "classes_of_row",
    "first_at_or_below",
    "greenwood",
    "hazards",
    "read_at",
    "survival_of",
]

Reals = NDArray[np.float64]


def classes_of_row(row: NDArray[Any], cells: int) -> tuple[Reals, Reals]:
    """Return cumulative events of each kind, (..., K, N), and cumulative censorings, (..., N).

    Parameters
    ----------
    row
        (..., (K + 1) N) cumulative counts over the cells of one row: those of events of each kind
        by rising durations, then those of censorings by falling durations.
    cells
        N, the number of cells of the grid.
    """
    counts = row.astype(np.float64)
    kinds = counts.shape[-1] // cells - 1
    blocks = counts[..., : kinds * cells].reshape(*counts.shape[:-1], kinds, cells)
    before = np.concatenate([np.zeros_like(blocks[..., :1, -1]), blocks[..., :-1, -1]], axis=-1)
    last = kinds * cells - 1
    censored = counts[..., -1:] - counts[..., last : last + cells][..., ::-1]
    return blocks - before[..., np.newaxis], censored


def at_risk(events: Reals, censored: Reals, n: Any) -> Reals:
    """Return how many records are at risk at the beginning of each cell, (..., N).

    Parameters
    ----------
    events, censored
        (..., N) cumulative counts of all events, and of censorings, up to each threshold.
    n
        The number of records: a number, or (..., 1).
    """
    gone = events + censored
    before = np.concatenate([np.zeros_like(gone[..., :1]), gone[..., :-1]], axis=-1)
    return np.asarray(n - before)


def hazards(events: Reals, risk: Reals) -> Reals:
    """Return the share of those at risk that have the event in each cell, (..., N), within [0, 1].

    Censorings in a cell come after its events, as Kaplan and Meier have it. Where nobody is at
    risk, it is 0.
    """
    own = np.diff(events, axis=-1, prepend=0.0)
    shares = np.divide(own, risk, out=np.zeros_like(own), where=risk > 0.0)
    return np.clip(shares, 0.0, 1.0)


def survival_of(row: NDArray[Any], cells: int) -> Reals:
    """Return the estimate of Kaplan and Meier at each threshold, (..., N), from monotone rows.

    The parameters are those of ``classes_of_row``; events are those of all kinds.
    """
    kinds, censored = classes_of_row(row, cells)
    events = kinds.sum(axis=-2)
    risk = at_risk(events, censored, row[..., -1:])
    return np.asarray(np.cumprod(1.0 - hazards(events, risk), axis=-1))


def greenwood(events: Reals, risk: Reals) -> Reals:
    """Return Greenwood's sum at each threshold, (..., N): the variance of log S by sampling."""
    own = np.diff(events, axis=-1, prepend=0.0)
    left = risk - own
    known = (risk > 0.0) & (left > 0.0)
    terms = np.divide(own, risk * left, out=np.zeros_like(own), where=known)
    return np.asarray(np.cumsum(terms, axis=-1))


def first_at_or_below(
    positions: Reals, survival: Reals, level: float, start: float, *, linear: bool
) -> float:
    """Return where a survival curve, (N,), first falls to a level; NaN where it does not.

    Parameters
    ----------
    positions
        (N,) the thresholds.
    survival
        (N,) the curve there; NaN where it is not known.
    level
        Within [0, 1].
    start
        Where the curve is 1; -infinity: not known.
    linear
        Whether the place is within the cell, on a straight line. Otherwise it is the threshold.
    """
    reached = np.flatnonzero(survival <= level)
    if level >= 1.0:
        return start if np.isfinite(start) else float(positions[0])
    if reached.size == 0:
        return float("nan")
    at = int(reached[0])
    before, left = (1.0, start) if at == 0 else (float(survival[at - 1]), float(positions[at - 1]))
    right = float(positions[at])
    if not linear or not np.isfinite(left):
        return right
    return left + (right - left) * (before - level) / (before - float(survival[at]))


def read_at(
    positions: Reals, survival: Reals, start: float, points: Reals, *, linear: bool
) -> Reals:
    """Return a survival curve, (N,), at points of any shape; 1 before ``start``.

    Parameters
    ----------
    positions, survival, start, linear
        As in ``first_at_or_below``. Beyond the last threshold, the value is NaN.
    points
        The points, of any shape.
    """
    curve, at = np.append(1.0, survival), np.append(min(start, positions[0]), positions)
    if linear:
        inside = np.clip(points, at[0], positions[-1])  # long doubles may be beyond doubles
        found = np.interp(np.asarray(inside, np.float64), at, curve)
    else:
        found = curve[np.maximum(np.searchsorted(at[1:], points, side="right"), 0)]
    return np.where(points > positions[-1], np.nan, found)


def area_up_to(
    positions: Reals, survival: Reals, start: float, until: float, *, linear: bool
) -> Reals:
    """Return the areas under survival curves, (..., N) to (...), from ``start`` to ``until``.

    Parameters
    ----------
    positions, start, linear
        As in ``first_at_or_below``. If not linear, a curve is flat up to each threshold.
    survival
        (..., N) the curves at the thresholds; 1 at ``start``.
    until
        Within the grid.
    """
    s = np.concatenate([np.ones_like(survival[..., :1]), survival], axis=-1)
    left = np.append(start, positions[:-1])
    widths = np.clip(until - left, 0.0, positions - left)
    inside = int(np.searchsorted(left, until))  # cells beyond may be unknown, and are not added
    widths, left, positions = widths[:inside], left[:inside], positions[:inside]
    first = s[..., :inside]
    if not linear:
        return np.asarray(np.sum(widths * first, axis=-1))
    part = np.divide(widths, positions - left, out=np.zeros_like(widths), where=positions > left)
    last = first + part * (s[..., 1 : inside + 1] - first)
    return np.asarray(np.sum(widths * (first + last) / 2, axis=-1))
