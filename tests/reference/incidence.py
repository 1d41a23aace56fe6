"""Cumulative incidences from the records themselves, cell by cell, in fractions."""

from __future__ import annotations

from fractions import Fraction


def incidence(durations, events, kinds, thresholds, *, whole):
    """Aalen and Johansen's estimate of each kind, and survival, at each threshold; None: no one."""
    last = thresholds[-1]
    records = [
        (t, event if t <= last and event in kinds else None)
        for t, event in zip(durations, events, strict=True)
    ]
    survival, shares = Fraction(1), [Fraction(0) for _ in kinds]
    found, left = [], []
    for cell, threshold in enumerate(thresholds):
        before = -float("inf") if cell == 0 else thresholds[cell - 1]
        is_last = threshold == last
        inside = [e for t, e in records if before < t and (t <= threshold or is_last)]
        at_risk = Fraction(sum(t > before for t, _ in records))
        if at_risk == 0:
            found.append(None)
            left.append(None)
            continue
        if not whole and not is_last:
            at_risk -= Fraction(inside.count(None), 2)
        happened = [inside.count(kind) for kind in kinds]
        for at, own in enumerate(happened):
            shares[at] += survival * own / at_risk if at_risk else 0
        survival *= 1 - (sum(happened) / at_risk if at_risk else 0)
        found.append(list(shares))
        left.append(survival)
    return found, left
