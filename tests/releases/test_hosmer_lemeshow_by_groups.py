"""The Hosmer-Lemeshow test the published way: Algorithm 2 of the ECDF paper."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dyadic
from dpcore.releases.hosmer_lemeshow_by_groups import (
    _UNIT,
    _Noise,
    _sums,
    hosmer_lemeshow_by_groups,
)
from tests import reference
from tests.statistics.right_models import calibrated

RNG = np.random.default_rng


@pytest.mark.parametrize("sensitivity", ["exact", "paper"])
def test_by_groups_is_the_textbook_where_noise_vanishes(sensitivity):
    labels, p = calibrated(1000, 11)
    test = hosmer_lemeshow_by_groups(
        labels, p, epsilon=1e9, sensitivity=sensitivity, grid=dp.Grid.uniform(0, 1, 4096)
    )
    of_record = np.searchsorted(test.edges[1:-1], p)
    plain = reference.hosmer_lemeshow(labels.tolist(), p.tolist(), of_record.tolist())
    assert test.statistic == pytest.approx(plain, rel=1e-4)
    assert np.abs(test.observed.sum(axis=1) - 100).max() <= 2
    assert test.expected.sum(axis=1) == pytest.approx(test.observed.sum(axis=1), abs=1e-9)


def test_groups_are_half_open():
    p = np.repeat([0.25, 0.75], 50)
    grid = dp.Grid.uniform(0, 1, 4)
    test = hosmer_lemeshow_by_groups(p > 0.5, p, epsilon=1e9, groups=4, grid=grid)
    assert test.edges.tolist() == [0, 0.25, 0.25, 0.75, 1]
    assert test.observed.tolist() == [[50, 0], [0, 0], [0, 50], [0, 0]]
    assert test.contributions[[1, 3]].tolist() == [0.0, 0.0]


def changes(closed=False):
    """How much replacing one of three records changes all sums, for every choice of quantiles."""
    values = [0.0, 0.25, 0.6, 1.0]

    def sums(records, quantiles):
        labels, p = (np.array(column) for column in zip(*records, strict=True))
        if not closed:
            observed, expected = _sums(labels, p, np.array(quantiles))
            return np.concatenate([observed, expected / _UNIT])
        ends = list(itertools.pairwise([0.0, *quantiles, 1.0]))
        inside = np.array([(low <= p) & (p <= high) for low, high in ends])
        return inside @ np.stack([~labels, labels, 1 - p, p], axis=1)

    others = [(True, 0.25), (False, 0.6)]
    for quantiles in itertools.combinations_with_replacement(values, 3):
        for first, second in itertools.combinations(itertools.product([True, False], values), 2):
            a, b = (sums([*others, record], quantiles) for record in (first, second))
            yield float(np.abs(a - b).sum())


def test_neighbours_change_all_sums_by_4_and_closed_groups_by_more_than_published():
    assert max(changes()) == pytest.approx(4, abs=1e-5)
    assert max(changes(closed=True)) >= 2 * 4 + 1


@pytest.mark.parametrize("size", [1, 2, 3, 64, 100, 128, 1024])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), 0.7, 5])
def test_by_groups_spends_epsilon(size, epsilon):
    noise = _Noise.of(epsilon, size, "exact")
    scale = noise.curve.noise_scale(size)
    curve = Dyadic(1).noise_scale(size) / scale if scale else 0
    sums = 4 / noise.counts.scale
    assert noise.sums.scale / _UNIT == pytest.approx(float(noise.counts.scale), rel=1e-9)
    assert 4 * _UNIT / noise.sums.scale <= sums * (1 + Fraction(1, 2**29))
    assert (1 - Fraction(1, 2**28)) * Fraction(epsilon) < curve + sums <= Fraction(epsilon)
    assert noise.privacy == dp.Privacy(noise.privacy.epsilon)


def test_published_constants():
    for size, levels in ((128, 7), (1024, 10), (1000, 10)):
        noise = _Noise.of(1, size, "paper")
        for scale in (noise.curve.noise_scale(size), noise.counts.scale, noise.sums.scale / _UNIT):
            assert scale == levels + 9


@pytest.mark.needs_jit
def test_by_groups_has_the_noise_that_it_says():
    labels, p = [False, True] * 3, [0.1, 0.2, 0.3, 0.6, 0.7, 0.8]
    releases = [
        hosmer_lemeshow_by_groups(labels, p, epsilon=1.0, groups=3, rng=RNG(seed))
        for seed in range(500)
    ]
    noise = np.stack([each.observed for each in releases])
    assert noise.std(axis=0) == pytest.approx(releases[0].deviations, rel=0.25)
    noise = np.stack([each.expected for each in releases])
    assert noise.std(axis=0) == pytest.approx(releases[0].deviations, rel=0.25)
    assert noise.sum(axis=(1, 2)).mean() == pytest.approx(6, abs=8)
    assert releases[0].privacy == dp.Privacy(1.0, simulated=True)
