"""Numbers at risk, hazards, survival and incidences from cumulative counts, on plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Reals",
    "area_up_to",
    "at_risk",
    "classes_of_row",
    "exposed",
    "first_at_or_below",
    "hazards",
    "incidence_of",
    "log_survival",
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


def exposed(events: Reals, censored: Reals, n: Any, *, whole: bool) -> Reals:
    """Return how many records count as at risk in each cell, (..., N).

    Parameters
    ----------
    events, censored, n
        As in ``at_risk``.
    whole
        Whether records lie at thresholds. Then the censorings of a cell come after its events, as
        Kaplan and Meier have it. Otherwise both lie evenly in the cell, so that half of its
        censorings count as at risk, as in life tables; those of the last cell lie at its end, with
        the records beyond the grid.
    """
    risk = at_risk(events, censored, n)
    if not whole:
        risk[..., :-1] -= np.diff(censored, axis=-1, prepend=0.0)[..., :-1] / 2
    return risk


def hazards(events: Reals, censored: Reals, n: Any, *, whole: bool) -> Reals:
    """Return the share of those at risk that have the event in each cell, (..., N).

    The parameters are those of ``exposed``. Shares of monotone counts are within [0, 1]; those of
    raw counts may not be. Where nobody is at risk, the share is 0.
    """
    own, risk = np.diff(events, axis=-1, prepend=0.0), exposed(events, censored, n, whole=whole)
    return np.divide(own, risk, out=np.zeros_like(own), where=risk > 0.0)


def survival_of(row: NDArray[Any], cells: int, *, whole: bool) -> Reals:
    """Return the survival estimate at each threshold, (..., N), from monotone rows.

    The parameters are those of ``classes_of_row`` and ``hazards``; events are those of all kinds.
    """
    kinds, censored = classes_of_row(row, cells)
    own = hazards(kinds.sum(axis=-2), censored, row[..., -1:], whole=whole)
    return np.asarray(np.cumprod(1.0 - np.clip(own, 0.0, 1.0), axis=-1))


def log_survival(row: NDArray[Any], cells: int, *, whole: bool) -> Reals:
    """Return the logarithm of ``survival_of``, (..., N), also from raw rows; finite.

    Raw counts may fall, so raw survival may rise, and be above 1. Nothing of the noise is cut off,
    but that no cell lets less than a quarter of a record survive.
    """
    kinds, censored = classes_of_row(row, cells)
    n = row[..., -1:]
    own = hazards(kinds.sum(axis=-2), censored, n, whole=whole)
    least = 0.25 / np.maximum(n, 1.0)  # a noisy n may be below 1
    return np.asarray(np.cumsum(np.log(np.maximum(1.0 - own, least)), axis=-1))


def incidence_of(row: NDArray[Any], cells: int, *, whole: bool) -> Reals:
    """Return the incidence of each kind at each threshold, (..., K, N), from monotone rows.

    This is the estimate of Aalen & Johansen (1978): of those who had no event before a cell, each
    kind takes its share of those at risk. Incidences and ``survival_of`` add up to 1.
    """
    kinds, censored = classes_of_row(row, cells)
    own = np.diff(kinds, axis=-1, prepend=0.0)
    risk = exposed(kinds.sum(axis=-2), censored, row[..., -1:], whole=whole)[..., np.newaxis, :]
    shares = np.clip(np.divide(own, risk, out=np.zeros_like(own), where=risk > 0.0), 0.0, 1.0)
    survival = survival_of(row, cells, whole=whole)
    before = np.concatenate([np.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)
    incidence = np.cumsum(before[..., np.newaxis, :] * shares, axis=-1)
    return np.asarray(np.minimum(incidence, 1.0))


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
    if level >= 1.0:
        return start if np.isfinite(start) else float(positions[0])
    # Survival is a product of N rounded factors, and the level a rounded difference from 1.
    rounding = float(np.finfo(np.float64).eps) * (survival.size + 1)
    reached = np.flatnonzero(survival <= min(level + rounding, np.nextafter(1.0, 0.0)))
    if reached.size == 0:
        return float("nan")
    at = int(reached[0])
    before, left = (1.0, start) if at == 0 else (float(survival[at - 1]), float(positions[at - 1]))
    right = float(positions[at])
    if not linear or not np.isfinite(left):
        return right
    return left + (right - left) * min((before - level) / (before - float(survival[at])), 1.0)


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
