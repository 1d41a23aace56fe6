"""Concordance, weighted ROC curves and risks in bins, record by record and in fractions."""

from __future__ import annotations

from fractions import Fraction

from .survival import life_table, rounded_up

HALF = Fraction(1, 2)


def placed(durations, event, thresholds):
    """The cell of each duration, and whether it ended with the event within the grid."""
    ends = rounded_up(durations, thresholds)
    places = [len(thresholds) - 1 if t is None else list(thresholds).index(t) for t in ends]
    return places, [bool(e) and t is not None for e, t in zip(event, ends, strict=True)]


def cells_of(values, thresholds):
    """The cell of each score; those beyond the last one count in it."""
    last = len(thresholds) - 1
    return [next((k for k, t in enumerate(thresholds) if x <= t), last) for x in values]


def concordance(durations, event, scores, thresholds, score_thresholds, whole):
    """Over all pairs: of which the first had the event while the second was at risk, as it may be.

    In one cell that is not of whole numbers, either is as likely the first.
    """
    places, had = placed(durations, event, thresholds)
    cells = cells_of(scores, score_thresholds)
    pairs = concordant = Fraction(0)
    for i, (at, cell) in enumerate(zip(places, cells, strict=True)):
        for j, (other, own) in enumerate(zip(places, cells, strict=True)):
            if i == j or not had[i] or other < at:
                continue
            share = Fraction(1)
            if other == at and whole:
                share = Fraction(not had[j])
            elif other == at and (had[j] or at < len(thresholds) - 1):
                share = HALF
            pairs += share
            concordant += share * (Fraction(cell > own) + HALF * (cell == own))
    return concordant / pairs if pairs else None


def not_censored(durations, event, thresholds):
    """G before each threshold of whole numbers: the chance not to be censored before it."""
    places, had = placed(durations, event, thresholds)
    chance, chances = Fraction(1), []
    for k in range(len(thresholds)):
        chances.append(chance)
        at_risk = sum(at > k or (at == k and not e) for at, e in zip(places, had, strict=True))
        left = sum(at == k and not e for at, e in zip(places, had, strict=True))
        chance *= 1 - Fraction(left, at_risk) if at_risk else 1
    return chances


def weighted_area(durations, event, scores, thresholds, score_thresholds, until):
    """The area at a threshold of whole numbers, over all pairs of a case and a control."""
    places, had = placed(durations, event, thresholds)
    cells = cells_of(scores, score_thresholds)
    chances = not_censored(durations, event, thresholds)
    last = list(thresholds).index(until)
    won = total = Fraction(0)
    for at, is_case, cell in zip(places, had, cells, strict=True):
        for other, own in zip(places, cells, strict=True):
            if is_case and at <= last < other:
                total += 1 / chances[at]
                won += (Fraction(cell > own) + HALF * (cell == own)) / chances[at]
    return won / total if total else None


def risk_in_bin(durations, event, scores, thresholds, score_thresholds, some, until, whole):
    """1 - S at a threshold, among records with a score in some cells; None where it is unknown."""
    cells = cells_of(scores, score_thresholds)
    own = [k for k, cell in enumerate(cells) if cell in some]
    given = [durations[k] for k in own], [event[k] for k in own]
    survival = life_table(*given, thresholds, whole)[2][list(thresholds).index(until)]
    return None if survival is None else 1 - survival
