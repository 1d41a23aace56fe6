"""Kaplan-Meier, Nelson-Aalen and those at risk, record by record and in fractions."""

from __future__ import annotations

from fractions import Fraction


def rounded_up(durations, thresholds):
    """The threshold that each duration counts at; None beyond the last one."""
    return [next((t for t in thresholds if x <= t), None) for x in durations]


def survival_counts(durations, event, thresholds):
    """Events by rising durations, then censorings by falling ones; beyond the grid all censored."""
    events, censored = [0] * len(thresholds), [0] * len(thresholds)
    for at, is_event in zip(rounded_up(durations, thresholds), event, strict=True):
        if at is None:
            censored[-1] += 1
        else:
            (events if is_event else censored)[list(thresholds).index(at)] += 1
    return events + censored[::-1]


def life_table(durations, event, thresholds, whole=True):
    """At each threshold: how many are at risk and have the event, survival, cumulative hazard.

    A censored record is at risk at its own threshold. Survival and hazard end where nobody is. If
    records are not whole, half of those that are censored in a cell but the last count as at risk.
    """
    ends = rounded_up(durations, thresholds)
    risks, events, survivals, cumulative = [], [], [], []
    survival, hazard = Fraction(1), Fraction(0)
    for t in thresholds:
        risk = sum(end is None or end >= t for end in ends)
        own = sum(bool(e) and end == t for end, e in zip(ends, event, strict=True))
        if risk:
            left = sum(not e and end == t for end, e in zip(ends, event, strict=True))
            half = 0 if whole or t == thresholds[-1] else Fraction(left, 2)
            survival *= 1 - own / (risk - half)
            hazard += own / (risk - half)
        risks.append(risk)
        events.append(own)
        survivals.append(float(survival) if risk or survival == 0 else None)
        cumulative.append(float(hazard) if risk else None)
    return risks, events, survivals, cumulative
