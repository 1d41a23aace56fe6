"""Deviations of areas: what simulations see, what a mechanism lost before, and lost classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy
from dpcore.statistics.areas import BucketedScores

GRID = dp.Grid.uniform(0, 1, 64)


def curves_by(mechanism):
    rng = np.random.default_rng(1)
    labels = rng.random(4000) < 0.3
    scores = np.clip(rng.normal(np.where(labels, 0.6, 0.4), 0.2), 0, 1)
    counts = dp.score_counts(labels, scores, GRID)
    return dp.score_curves_from_counts(counts, GRID, mechanism, rng=rng)


class NoiseAlone:
    """The same releases, of which nothing is said but the name."""

    loses_records = False

    def __init__(self, mechanism):
        self.release, self.describe = mechanism.release, mechanism.describe


def test_what_is_lost_in_buckets_counts_for_a_third_of_its_bound():
    mechanism = Dawa(0.05)
    curves, ends = curves_by(mechanism), np.arange(64)
    # what is stated beyond noise is made large, so that it is nearly all that there is
    joint = curves.joint
    large = replace(curves, joint=replace(joint, noise_deviation=30.0 * joint.noise_deviation))
    ((whole,), (alone,), (bound,)) = (
        BucketedScores(large, ends, each).deviations(0.5)
        for each in (mechanism, NoiseAlone(mechanism), None)
    )
    assert alone < 0.1 * whole
    assert whole == pytest.approx(bound / 3.0, rel=0.02)


def test_what_is_simulated_counts_beside_it():
    mechanism = Dawa(0.05)
    curves, ends = curves_by(mechanism), np.arange(64)
    both, alone = (
        BucketedScores(curves, ends, each).deviations(0.5)[0]
        for each in (mechanism, NoiseAlone(mechanism))
    )
    assert both > alone > 0.0


class WithoutPositives(NoiseAlone):
    """All records of simulated releases are negatives."""

    def __init__(self, mechanism):
        super().__init__(mechanism)
        self.release = self._release

    def _release(self, counts, *, rng=None, replicates=None):
        del rng
        found = np.full((replicates, counts.size), float(counts.sum()))
        found[:, : counts.size // 2] *= np.linspace(0.1, 1.0, counts.size // 2)
        return found


def test_an_area_without_positives_is_as_wrong_as_can_be():
    mechanism = Hierarchy(1.0)
    scores = BucketedScores(curves_by(mechanism), np.arange(64), WithoutPositives(mechanism))
    assert scores.area(0.5) > 0.6
    assert scores.deviations(0.5)[0] == pytest.approx(scores.area(0.5), abs=1e-3)
