"""Intervals from score histograms: they cover the area of the records, under noise as well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import dpcore as dp
from dpcore.curves.scores import numbered
from dpcore.mechanisms import Hierarchy, NoNoise
from dpcore.statistics.score_histograms import ScoreHistogram
from tests.statistics.scored_records import area_of_ranks, exact, ranked

RNG = np.random.default_rng


def with_joint(curves, **changes):
    return replace(curves, joint=replace(curves.joint, **changes))


@pytest.mark.needs_jit
def test_the_sampling_term_is_the_deviation_where_labels_do_not_depend_on_scores():
    rng, buckets, errors, terms = RNG(3), 5, [], []
    for _ in range(300):
        labels, scores = rng.random(1000) < 0.3, rng.random(1000)
        found = ScoreHistogram.quantile(exact(labels, scores, dp.Grid.uniform(0, 1, 4096)), buckets)
        errors.append(area_of_ranks(labels, scores) - found.auc)
        wide, narrow = (
            found.auc_discretisation("well-behaved", level=level) for level in (0.9, 0.5)
        )
        terms.append((wide - narrow) / (norm.isf(0.05) - norm.isf(0.25)))
    assert np.std(errors) == pytest.approx(np.mean(terms), rel=0.12)


@pytest.mark.needs_jit
@pytest.mark.parametrize("buckets", [5, 20, 80])
def test_well_behaved_intervals_cover_and_are_shorter(buckets):
    rng, inside = RNG(4), 0
    for _ in range(100):
        scores = rng.beta(1.5, 3.0, 2000)
        labels = rng.random(2000) < scores
        found = ScoreHistogram.quantile(exact(labels, scores, dp.Grid.uniform(0, 1, 4096)), buckets)
        low, high = found.auc_interval("well-behaved")
        inside += low <= area_of_ranks(labels, scores) <= high
        assert high - low <= np.diff(found.auc_interval())[0]
    assert inside >= 95
    assert high - low < 0.5 * np.diff(found.auc_interval())[0]


def test_the_well_behaved_interval_fails_where_its_assumption_does():
    """Positives above negatives in every bucket: a rate of total variation 2 B - 1."""
    at = (np.arange(16 * 40) % 16 + 0.5) / 16
    labels = np.arange(16 * 40) % 2 == 1
    found = ScoreHistogram.quantile(exact(labels, at, dp.Grid.uniform(0, 1, 16)), 8)
    truth = area_of_ranks(labels, at)
    low, high = found.auc_interval()
    assert low <= truth <= high + 1e-12
    low, high = found.auc_interval("well-behaved")
    assert not low <= truth <= high


@pytest.mark.parametrize("tie", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("make", [ScoreHistogram.uniform, ScoreHistogram.quantile])
@pytest.mark.parametrize("empty", [[], [500]])  # records that clients do not have
def test_the_noise_deviation_is_the_sum_of_derivatives(make, tie, empty):
    labels, scores = ranked(3000, RNG(5))
    grid, buckets = dp.Grid.uniform(0, 1, 64), 7
    counts = np.insert(dp.score_counts(labels, scores, grid), 64, empty)
    joint = dp.cdf_from_counts(counts, numbered(counts.size), NoNoise())
    curves = dp.ScoreCurves(grid, joint)
    deviations = RNG(6).random(counts.size) * np.append(np.ones(counts.size - 1), 0)
    found = make(with_joint(curves, noise_deviation=deviations), buckets)

    def area(joint):
        moved = with_joint(curves, counts=joint)
        at = np.searchsorted(grid.thresholds, found.bins.edges[1:])
        negatives = np.diff(moved.negatives[at], prepend=0.0)
        positives = np.diff(moved.positives[at], prepend=0.0)
        pairs = negatives[:, np.newaxis] * positives
        return (np.triu(pairs, 1).sum() + tie * np.trace(pairs)) / pairs.sum()

    joint, total = curves.joint.counts.astype(float), 0.0
    for k in range(counts.size - 1):
        step = np.zeros(counts.size)
        step[k] = 1e-3
        total += abs(area(joint + step) - area(joint - step)) / 2e-3 * deviations[k]
    assert found._scores.area(tie) == pytest.approx(area(joint), rel=1e-6)
    assert found._scores.deviations(tie) == pytest.approx([total], rel=1e-6)


@pytest.mark.needs_jit
def test_intervals_cover_under_noise_and_the_deviation_is_a_bound():
    rng = RNG(7)
    labels, scores = ranked(20_000, rng)
    grid = dp.Grid.uniform(0, 1, 512)
    truth = area_of_ranks(labels, scores)
    inside, errors, stated = dict.fromkeys(("worst-case", "well-behaved"), 0), [], []
    noiseless = ScoreHistogram.quantile(exact(labels, scores, grid), 50)
    for _ in range(100):
        curves = dp.score_curves(labels, scores, grid, Hierarchy(0.5), rng=rng)
        found = ScoreHistogram.quantile(curves, 50)
        errors.append(found.auc - noiseless.auc)
        stated.append(found.auc_noise_deviation)
        for kind in inside:
            low, high = found.auc_interval(kind, level=0.8)
            inside[kind] += low <= truth <= high
    assert min(inside.values()) >= 80
    assert np.std(errors) < np.mean(stated) < 7 * np.std(errors)
