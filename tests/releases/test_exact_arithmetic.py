"""Statistics of small whole numbers beside their definitions in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore import statistics as of
from tests.releases.readings import (
    METHODS,
    WHOLE,
    curve_of,
    drawn,
    incidence_of,
    kinds_of,
    pair_of,
    roc_of,
    scored_of,
    survival_of,
)


def least_reaching(values, p):
    """Return the least value with F >= p, in fractions."""
    return next(
        x for x in sorted(values) if Fraction(sum(v <= x for v in values), len(values)) >= p
    )


def kaplan_meier(durations, event):
    """Return the times of events, and survival after each, in fractions."""
    survival, steps = Fraction(1), []
    for time in sorted({t for t, e in zip(durations, event, strict=True) if e}):
        risk = sum(t >= time for t in durations)
        died = sum(t == time and e == 1 for t, e in zip(durations, event, strict=True))
        survival *= Fraction(risk - died, risk)
        steps.append((time, survival))
    return steps


@pytest.mark.parametrize("seed", range(40))
def test_exact_arithmetic(seed):
    records = drawn(seed, WHOLE)
    values = np.clip(records.x, 2, 11).astype(int).tolist()
    label, n = records.label.tolist(), len(values)
    curve, roc = curve_of(records, WHOLE), roc_of(records, WHOLE)
    shares = [Fraction(j, d) for d in (n, 2, 3, 4, 7, 10) for j in range(1, d + 1)]
    expected = [least_reaching(values, p) for p in shares]
    p = [float(share) for share in shares]
    for method in METHODS:
        assert curve.quantile(p, method=method).tolist() == expected
        for ends in curve.quantile_interval(p, method=method):
            assert ends.tolist() == expected
    mean = Fraction(sum(values), n)
    variance = sum((x - mean) ** 2 for x in values) / n
    gini = Fraction(sum(abs(x - y) for x in values for y in values), 2 * n * n) / mean
    assert curve.mean() == pytest.approx(float(mean), rel=1e-12)
    assert curve.mean_interval() == pytest.approx([float(mean)] * 2, rel=1e-12)
    assert curve.std() == pytest.approx(math.sqrt(variance), abs=1e-7)
    assert of.gini(curve) == pytest.approx(float(gini), abs=1e-12)
    for x in range(1, 13):
        assert curve(x) == sum(v <= x for v in values) / n == curve.share(upper=x)
    # scores
    positive, negative = ([x for x, e in zip(values, label, strict=True) if e == c] for c in (1, 0))
    wins = sum(Fraction(2 * (a > b) + (a == b), 2) for a in positive for b in negative)
    assert roc.auc == pytest.approx(float(wins / (len(positive) * len(negative))), abs=1e-12)
    precision, before = Fraction(0), 0
    for x in sorted(set(values), reverse=True):
        hits = sum(v >= x for v in positive)
        precision += Fraction(hits, sum(v >= x for v in values)) * (hits - before)
        before = hits
    assert roc.average_precision == pytest.approx(float(precision / len(positive)), abs=1e-12)
    pair = pair_of(curve_of)(records, WHOLE)
    gaps = [
        Fraction(sum(v <= x for v in negative), len(negative))
        - Fraction(sum(v <= x for v in positive), len(positive))
        for x in range(2, 12)
    ]
    assert dp.distances.kolmogorov_smirnov(*pair) == pytest.approx(
        float(max(map(abs, gaps))), abs=1e-12
    )
    assert dp.distances.earth_mover(*pair) == pytest.approx(float(sum(map(abs, gaps))), abs=1e-12)
    energy = 2 * sum(gap**2 for gap in gaps)
    assert dp.distances.energy(*pair) == pytest.approx(math.sqrt(energy), abs=1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_exact_arithmetic_of_durations(seed):
    records = drawn(seed, WHOLE)[: seed + 1]
    durations, within = np.clip(records.x, 2, 11).astype(int).tolist(), records.x <= 11
    event = np.where(within, records.label, 0).tolist()  # what is later is not known
    survival = survival_of(records, WHOLE)
    steps = kaplan_meier(durations, event)
    last = max(durations)

    def at_time(time):
        return next((s for t, s in reversed(steps) if t <= time), Fraction(1))

    for time in range(2, last + 1):
        assert survival(time) == pytest.approx(float(at_time(time)), abs=1e-12)
        area = 2 + sum(at_time(t) for t in range(2, time))
        assert survival.restricted_mean(time) == pytest.approx(float(area), abs=1e-12)
    for share in (Fraction(j, d) for d in (2, 3, 4, 5, 10, len(durations)) for j in range(1, d)):
        reached = next((t for t, s in steps if s <= 1 - share), math.nan)
        assert survival.quantile(float(share)) == pytest.approx(reached, nan_ok=True)
    kinds = np.where(within, kinds_of(records), 0).tolist()
    incidence = incidence_of(records, WHOLE)
    every = kaplan_meier(durations, [kind > 0 for kind in kinds])
    for at, kind in enumerate((1, 2)):
        total, before = Fraction(0), Fraction(1)
        for time in range(2, last + 1):
            risk = sum(t >= time for t in durations)
            own = sum(t == time and k == kind for t, k in zip(durations, kinds, strict=True))
            total += before * Fraction(own, risk)
            before = next((s for t, s in reversed(every) if t <= time), Fraction(1))
            assert incidence(time)[at] == pytest.approx(float(total), abs=1e-12)
    scored = scored_of(records, WHOLE)
    score = np.ceil(records.y * 4).astype(int).tolist()
    every = list(zip(durations, event, score, strict=True))
    pairs = [
        (a, b) for t, e, a in every for u, f, b in every if e and (t < u or (t == u and not f))
    ]
    wins = sum(Fraction(2 * (a > b) + (a == b), 2) for a, b in pairs)
    expected = float(wins / len(pairs)) if pairs else math.nan
    assert scored.concordance == pytest.approx(expected, abs=1e-12, nan_ok=True)
