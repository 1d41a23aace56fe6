"""Concordance, cases and controls at a time, and survival, from counts by score and duration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..curves.hazards import exposed, hazards

__all__ = ["area_of", "cases_and_controls", "concordance_of", "survival_at"]

Reals = NDArray[np.float64]


def concordance_of(events: Reals, censored: Reals, *, whole: bool) -> Reals:
    """Return the concordance, (...), of Harrell et al. (1982); NaN where no pair is comparable.

    A pair of records is comparable if one of them had the event while the other was at risk. It is
    concordant if that one has the higher score, and counts by half if both are in one cell.

    Parameters
    ----------
    events, censored
        (..., S, N) counts by scores and durations, both ascending, 0 or more.
    whole
        Whether records lie at thresholds: then two events of a cell are tied, and are no pair, and
        its censorings come after its events. Otherwise both lie evenly in the cell, so that either
        of two records is as likely the first one; censorings of the last cell lie at its end.
    """
    own = events + censored
    later = np.cumsum(own[..., ::-1], axis=-1)[..., ::-1] - own
    if whole:
        later += censored
    else:
        later += own / 2
        later[..., -1] += censored[..., -1] / 2
    up_to = np.cumsum(later, axis=-2)
    pairs = np.sum(events * up_to[..., -1:, :], axis=(-2, -1))
    concordant = np.sum(events * (up_to - later / 2), axis=(-2, -1))
    if not whole:  # a record is no pair with itself, and less than one record is no pair at all
        alone = np.sum(events * np.minimum(events, 1.0), axis=(-2, -1)) / 2
        pairs, concordant = pairs - alone, concordant - alone / 2
    return _ratio(concordant, pairs)


def cases_and_controls(
    events: Reals, censored: Reals, until: float, *, whole: bool
) -> tuple[Reals, Reals]:
    """Return weighted cases up to a time, and controls beyond it, by scores: (..., S) each.

    Each case has the inverse of the chance 1 / G not to be censored before (Uno et al. 2007), from
    the Kaplan-Meier estimate of censoring. Where Y of n records are at risk, and S of them would
    be without censoring, n S G = Y. So the weight is n S / Y, without another estimate; all cases
    sum to n (1 - S). Controls have equal weights, which cancel in all rates.

    Parameters
    ----------
    events, censored, whole
        As in ``concordance_of``.
    until
        The number of cells up to the time; not whole where it is within a cell, at which then this
        share of the cell has ended.
    """
    each, left = events.sum(axis=-2), censored.sum(axis=-2)
    n = np.sum(each + left, axis=-1, keepdims=True)
    given = np.cumsum(each, axis=-1), np.cumsum(left, axis=-1), n
    survival = np.cumprod(1.0 - hazards(*given, whole=whole), axis=-1)
    before = np.concatenate([np.ones_like(n), survival[..., :-1]], axis=-1)
    weights = _ratio(n * before, exposed(*given, whole=whole))
    part = np.clip(until - np.arange(events.shape[-1]), 0.0, 1.0)
    cases = np.sum(np.nan_to_num(weights)[..., np.newaxis, :] * part * events, axis=-1)
    remaining = (1.0 - part) * (events + censored)
    if not whole:  # the censorings of the last cell lie at its end
        remaining[..., -1] += part[-1] * censored[..., -1]
    return cases, np.sum(remaining, axis=-1)


def area_of(cases: Reals, controls: Reals) -> Reals:
    """Return areas under ROC curves, (...), from cases and controls by ascending scores, (..., S).

    Ties count by half. NaN where there are no cases, or no controls.
    """
    below = np.cumsum(controls, axis=-1) - controls / 2
    both = np.sum(cases, axis=-1) * np.sum(controls, axis=-1)
    return _ratio(np.sum(cases * below, axis=-1), both)


def survival_at(events: Reals, censored: Reals, until: float, *, whole: bool) -> Reals:
    """Return survival up to a time, (...), of counts by ascending durations, (..., N).

    NaN where less than one record is at risk then. The other parameters are those of
    ``cases_and_controls``.
    """
    n = np.sum(events + censored, axis=-1, keepdims=True)
    given = np.cumsum(events, axis=-1), np.cumsum(censored, axis=-1), n
    own = np.clip(hazards(*given, whole=whole), 0.0, 1.0)
    curve = np.concatenate([np.ones_like(n), np.cumprod(1.0 - own, axis=-1)], axis=-1)
    cell = min(int(until), events.shape[-1] - 1)
    found = curve[..., cell] + (until - cell) * (curve[..., cell + 1] - curve[..., cell])
    gone = (given[0] + given[1])[..., max(int(np.ceil(until)) - 2, 0)] if until > 1 else 0.0
    return np.where((n[..., 0] - gone >= 1.0) | (found == 0.0), found, np.nan)


def _ratio(numerator: Reals, denominator: Reals) -> Reals:
    """Return quotients; NaN where the denominator is not above 0."""
    unknown = np.full_like(denominator, np.nan)
    return np.divide(numerator, denominator, out=unknown, where=denominator > 0.0)
