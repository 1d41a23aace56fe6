"""Deviations of areas: noise, what is hidden between knots, and lost classes."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.confidence import reach
from dpcore.curves.simulated_releases import Simulation
from dpcore.mechanisms import Dawa, Hierarchy, NoNoise
from dpcore.statistics import ROC
from dpcore.statistics.areas import BucketedScores, area_of

GRID = dp.Grid.uniform(0, 1, 64)


@contextmanager
def simplefilter_off():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dp.DpcoreWarning)
        yield


def curves_by(mechanism):
    rng = np.random.default_rng(1)
    labels = rng.random(4000) < 0.3
    scores = np.clip(rng.normal(np.where(labels, 0.6, 0.4), 0.2), 0, 1)
    counts = dp.score_counts(labels, scores, GRID)
    return dp.score_curves_from_counts(counts, GRID, mechanism, rng=rng)


def knotted(negatives, positives, knots):
    """Return curves of exact counts that are known at some thresholds of each class only."""
    grid = dp.Grid.uniform(0, 1, len(negatives))
    counts = np.append(negatives, positives[::-1])
    curves = dp.score_curves_from_counts(counts, grid, NoNoise())
    size = 2 * grid.size
    ends = [*knots[0], grid.size - 1, *(size - 2 - at for at in knots[1][::-1]), size - 1]
    joint, ends = curves.joint, np.array(ends)
    line = np.interp(np.arange(size), np.append(-1, ends), np.append(0.0, joint.counts[ends]))
    return replace(curves, joint=replace(joint, counts=line, knots=ends))


def test_what_is_hidden_is_the_range_of_all_places_of_records():
    negatives, positives = np.array([3, 0, 2, 1, 4, 1]), np.array([0, 2, 1, 1, 2, 3])
    knots = [1, 2], [3]  # so runs of both classes: all cells
    curves = knotted(negatives, positives, knots)
    scores = BucketedScores(curves, np.arange(6), NoNoise())
    places = {0: (0, 1), 1: (2,), 2: (3, 4, 5)}, {0: (0, 1, 2, 3), 1: (4, 5)}
    masses = (3, 2, 6), (4, 5)
    for ties in (0.0, 0.5, 1.0):
        found = []
        for place in product(*places[0].values(), *places[1].values()):
            split = place[:3], place[3:]
            moved = [np.bincount(at, of, 6) for at, of in zip(split, masses, strict=True)]
            found.append(float(area_of(*moved, ties)))
        area = scores.area(ties)
        reached = [area + sign * scores.hidden(ties, sign).sum() for sign in (-1.0, 1.0)]
        # A run of positives may meet its best place only if negatives do not lie there, too.
        assert reached[0] <= min(found) + 1e-12
        assert max(found) - 1e-12 <= reached[1]
        assert reached == pytest.approx([min(found), max(found)], abs=0.15)
    assert scores.area(0.5) == pytest.approx(ROC(curves).auc)


def test_runs_between_common_knots_are_independent():
    cells = np.full(6, 2)
    curves = knotted(cells, cells, ([1, 3], [1, 3]))
    hidden = BucketedScores(curves, np.arange(6), NoNoise()).hidden(0.5, 1.0)
    assert hidden.tolist() == pytest.approx([4 * 4 * 0.5 / 144] * 3)
    known = knotted(cells, cells, ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]))
    assert not BucketedScores(known, np.arange(6), NoNoise()).hidden(0.5, 1.0).any()
    assert reach(1.0, 0.0, hidden) == pytest.approx(hidden.sum() / np.sqrt(3.0))
    assert reach(2.0, 0.0, hidden[:1]) == pytest.approx(hidden[0])  # no more than the whole range


def test_intervals_cover_clumps_that_share_a_bucket():
    rng, covered, grid = np.random.default_rng(1), 0, dp.Grid.uniform(0, 1, 256)
    for _ in range(40):
        labels = rng.random(500) < 0.3
        scores = np.where(rng.random(500) < 0.5, 0.25, rng.random(500) / 2 + labels / 2)
        counts = dp.score_counts(labels, scores, grid)
        true = ROC(dp.score_curves_from_counts(counts, grid, NoNoise())).auc
        with simplefilter_off():
            roc = ROC(dp.score_curves_from_counts(counts, grid, epsilon=0.5, rng=rng), Dawa(0.5))
        low, high = roc.auc_interval()
        covered += low <= true <= high
    assert covered >= 35


@pytest.mark.parametrize("mechanisms", [(Dawa(0.05), Dawa(0.05)), (Dawa(0.05), Hierarchy(0.05))])
def test_classes_that_are_released_alone_have_the_noise_of_both(mechanisms):
    rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 64)
    labels, scores = rng.random(4000) < 0.3, rng.random(4000)
    with simplefilter_off():
        roc = dp.roc_curve(labels, scores, grid, mechanisms, rng=rng)
    noise = Simulation(roc.curves.joint, roc.mechanism).of_noise(2000, rng)
    knots = roc.curves.joint.knots
    assert noise.shape == (2000, knots.size)
    stated = roc.curves.joint.noise_deviation[knots]
    assert noise.std(axis=0) == pytest.approx(stated, rel=0.2, abs=1e-9)
    low, high = roc.auc_interval()
    assert low < 0.5 < high


class WithoutPositives:
    """All records of simulated releases are negatives."""

    def __init__(self, mechanism):
        self.describe = mechanism.describe

    def release(self, counts, *, rng=None, replicates=None):
        del rng
        found = np.full((replicates, counts.size), float(counts.sum()))
        found[:, : counts.size // 2] *= np.linspace(0.1, 1.0, counts.size // 2)
        return found


def test_an_area_without_positives_is_as_wrong_as_can_be():
    mechanism = Hierarchy(1.0)
    scores = BucketedScores(curves_by(mechanism), np.arange(64), WithoutPositives(mechanism))
    assert scores.area(0.5) > 0.6
    assert scores.deviations(0.5)[0] == pytest.approx(scores.area(0.5), abs=1e-3)
