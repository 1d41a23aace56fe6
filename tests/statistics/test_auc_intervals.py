"""Intervals of areas by simulation: they cover as often as they say, and are short."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore import trust
from dpcore.mechanisms import (
    Dyadic,
    Hierarchy,
    Histogram,
    HistogramQueries,
    NoNoise,
    ToeplitzGaussian,
)
from dpcore.statistics import ROC, ScoreHistogram, auc_difference_interval
from tests.statistics.scored_records import area_of_ranks, ranked

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 128)
RUNS, LEVEL = 200, 0.9
SHORTEST, LONGEST = (RUNS * LEVEL + k * np.sqrt(RUNS * LEVEL * (1 - LEVEL)) for k in (-4, 4))


def clumped(n, rng):
    labels = rng.random(n) < 0.3
    scores = np.clip(rng.normal(np.where(labels, 0.6, 0.4), 0.2), 0, 1)
    return labels, np.where(rng.random(n) < 0.5, 0.3, np.round(scores * 6) / 6)


def counted(make, n=8000):
    """Return the counts of records, and their area in the cells of the grid."""
    counts = dp.score_counts(*make(n, RNG(1)), GRID)
    return counts, ROC(dp.score_curves_from_counts(counts, GRID, NoNoise())).auc


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("isotonic", [True, False])
@pytest.mark.parametrize("make", [ranked, clumped])
@pytest.mark.parametrize(
    "mechanism",
    [Hierarchy(0.3), Dyadic(1.0), Histogram(1.0), ToeplitzGaussian(rho=0.05)],
    ids=lambda each: each.describe()["name"],
)
def test_the_interval_covers_as_often_as_it_says(mechanism, make, isotonic):
    (counts, truth), rng = counted(make), RNG(2)
    inside, ratios = np.zeros(2), []
    for _ in range(RUNS):
        curves = dp.score_curves_from_counts(counts, GRID, mechanism, rng=rng, isotonic=isotonic)
        known, unknown = (ROC(curves, each).auc_interval(LEVEL) for each in (mechanism, None))
        inside += [low <= truth <= high for low, high in (known, unknown)]
        ratios.append((unknown[1] - unknown[0]) / (known[1] - known[0]))
    assert SHORTEST <= inside[0] <= LONGEST
    assert inside[1] >= SHORTEST
    assert np.median(ratios) > 1.5


@pytest.mark.full
@pytest.mark.needs_jit
def test_a_histograms_interval_covers_as_often_as_it_says_and_is_short():
    rng, mechanism, buckets = RNG(3), Hierarchy(0.2), 100
    labels, scores = ranked(20_000, RNG(1))
    truth, counts = area_of_ranks(labels, scores), dp.score_counts(labels, scores, GRID)
    inside, widths = 0, []
    for _ in range(RUNS):
        curves = dp.score_curves_from_counts(counts, GRID, mechanism, rng=rng)
        pair = [ScoreHistogram.quantile(curves, buckets, each) for each in (mechanism, None)]
        low, high = pair[0].auc_interval("well-behaved", level=LEVEL)
        inside += low <= truth <= high
        widths.append([each.auc_noise_deviation for each in pair])
        worst, best = (each.auc_interval("worst-case") for each in pair)
        assert best[0] < worst[0] < worst[1] < best[1]
    assert SHORTEST <= inside <= LONGEST
    assert np.median(widths, axis=0) @ [2, -1] < 0


@pytest.mark.needs_jit
def test_a_release_knows_what_released_it():
    labels, scores = ranked(5000, RNG(1))
    for mechanism in (
        {"epsilon": 1.0},
        {"rho": 0.1},
        {"epsilon": 1.0, "delta": 1e-6},
        {"mechanism": Dyadic(1.0)},
        {"mechanism": (Hierarchy(0.5), Dyadic(2.0))},
        {"mechanism": trust.DistributedNoise(1.0, clients=5000)},
        {"mechanism": trust.Local(5.0, clients=5000)},
    ):
        roc = dp.roc_curve(labels, scores, grid=GRID, rng=RNG(2), **mechanism)
        low, high = roc.auc_interval()
        assert low < roc.auc < high
        wider = ROC(roc.curves).auc_interval()
        assert high - low < wider[1] - wider[0]
        assert roc.auc_interval() == (low, high)  # the same question has the same answer
        if not isinstance(mechanism.get("mechanism"), tuple | trust.Local | trust.DistributedNoise):
            again = dp.ScoreCurves.from_json(roc.curves.to_json())
            own = dp.mechanisms.from_curve(again.joint)
            assert ROC.from_curves(again, own).auc_interval() == (low, high)


def test_exact_curves_have_no_noise():
    labels, scores = ranked(500, RNG(1))
    roc = dp.roc_curve(labels, scores, grid=GRID, mechanism=NoNoise())
    assert roc.auc_interval() == (roc.auc, roc.auc) == ROC(roc.curves).auc_interval()


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("between", ["step", "linear"])
def test_pairs_between_known_thresholds_count_or_not(between):
    (counts, truth), rng = counted(clumped), RNG(2)
    mechanism, inside = HistogramQueries(1.0, 64, between=between), 0
    for _ in range(RUNS):
        curves = dp.score_curves_from_counts(counts, GRID, mechanism, rng=rng)
        low, high = ROC(curves, mechanism).auc_interval(LEVEL)
        inside += low <= truth <= high
    assert inside >= SHORTEST
    assert high - low < 0.9


@pytest.mark.parametrize("isotonic", [True, False])
def test_a_class_that_may_be_noise_has_no_area(isotonic):
    rng = RNG(1)
    labels, scores = rng.random(2000) < 0.002, rng.random(2000)
    with pytest.warns(dp.DpcoreWarning):
        roc = dp.roc_curve(labels, scores, grid=GRID, epsilon=0.1, rng=rng, isotonic=isotonic)
    assert roc.auc_interval() == ROC(roc.curves).auc_interval() == (0.0, 1.0)


def test_intervals_of_areas_of_raw_counts_are_within_their_bounds():
    grid = dp.Grid([0.25, 0.5, 0.75, 1.0])
    scores = np.linspace(0, 1, 40)
    raw = dp.score_curves([0] * 20 + [1] * 20, scores, grid, Histogram(5.0), isotonic=False)
    counts = np.cumsum([0, 20, 0, 0, 15, 15, 0, -10]).astype(raw.joint.counts.dtype)
    curves = replace(raw, joint=replace(raw.joint, counts=counts))
    roc, wrong = ROC(curves), ROC(dp.score_curves([1, 0], [0.1, 0.9], grid, NoNoise()))
    assert (roc.auc, wrong.auc) == (1.5, 0.0)
    assert roc.auc_interval(0.1) == (1.0, 1.0)  # it was (1.47, 1)
    assert roc.population_auc_interval(0.5) == (1.0, 1.0)  # a variance below 0 had no root
    assert auc_difference_interval(wrong, roc, 0.1) == (-1.0, -1.0)
