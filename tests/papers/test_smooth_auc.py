"""The area by smooth sensitivity: the right area, noise of the right size, and arguments."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.papers.cauchy import CauchyNoise
from dpcore.papers.ranked_pairs import RankedPairs, ranked_pairs
from dpcore.papers.smooth_auc import SmoothS, area_units
from dpcore.papers.smooth_roc_curve import smooth_roc_curve
from dpcore.releases.score_curves import score_curves_from_counts
from dpcore.statistics.roc import ROC
from tests import reference
from tests.mechanisms.refusals import refusals

RNG = np.random.default_rng
UNIT = 2.0**-40
COUNTS = np.array([300, 200, 100, 600, 500, 100])  # 600 negatives, 1200 positives
AREA = 545_000 / 720_000


@settings(max_examples=50)
@given(st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), min_size=1, max_size=30))
def test_the_area_is_that_of_all_pairs(records):
    labels, scores = (list(column) for column in zip(*records, strict=True))
    pairs = ranked_pairs(labels, scores)
    assert pairs.positives == sum(labels)
    assert pairs.negatives == len(labels) - sum(labels)
    grid = dp.Grid(np.arange(-4.0, 5.0))
    area, rarer = area_units(dp.score_counts(labels, scores, grid))
    assert rarer == min(pairs[1:])
    exact = reference.area_by_pairs(labels, scores) if rarer else Fraction(1, 2)
    assert abs(area - exact * 2**40) <= Fraction(1, 2)
    assert pairs.ordered == 2 * exact * pairs.positives * pairs.negatives
    almost_exact = SmoothS(1e9, 1e-9)
    assert almost_exact.release_pairs(pairs) == pytest.approx(float(exact), abs=2e-3)


@pytest.mark.sample(3)
@pytest.mark.needs_jit
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("distinct", [3, 1000, 10**9])
def test_many_records_are_ranked_on_threads(distinct, kind):
    rng = RNG(distinct)
    labels = rng.random(600_000) < 0.6  # three parts of positives
    scores = (rng.integers(0, distinct, labels.size) - distinct // 2).astype(kind)
    negatives, positives = np.sort(scores[~labels]), scores[labels]
    expected = sum(np.searchsorted(negatives, positives, side).sum() for side in ("left", "right"))
    assert ranked_pairs(labels, scores) == (expected, negatives.size, positives.size)


def test_zeros_of_both_signs_tie_and_infinities_are_scores():
    inf = math.inf
    assert ranked_pairs([0, 1, 0, 1], [-0.0, 0.0, 0.0, -0.0]) == (4, 2, 2)
    assert ranked_pairs([0, 1, 1, 0], [-inf, inf, -inf, inf]) == (4, 2, 2)


def test_as_many_records_as_there_may_be():
    size = 2**30
    assert area_units(np.array([size, 0, size, 0])) == (2**40, size)
    assert area_units(np.array([0, size, 0, size])) == (0, size)
    assert area_units(np.array([size // 2, size // 2, 0, size])) == (2**38, size)
    SmoothS(1.0).release(np.array([size, 0, size, 0]))


@pytest.mark.parametrize("mechanism", [SmoothS(0.5), SmoothS(0.5, 1e-5), SmoothS(2**-16)])
def test_sensitivity_is_a_smooth_bound(mechanism):
    beta = -math.log(mechanism.ratio / 2**24)
    found = [mechanism.sensitivity(rarer) for rarer in range(300)]
    assert found[0] == found[1] == 2**40 + 1
    for rarer, (here, there) in enumerate(pairwise(found[1:]), 1):
        assert here >= there
        assert here * mechanism.ratio <= there * 2**24
        least = max(1 / rarer, math.exp(-beta * (rarer - 1)))
        assert float(here) * UNIT == pytest.approx(least, rel=1e-6)
    assert mechanism.sensitivity(10**9) <= Fraction(2**40, 10**9) + 1


@pytest.mark.needs_jit
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_noise_has_the_scale_of_the_sensitivity(delta):
    mechanism = SmoothS(10.0, delta)
    noise = mechanism.release(COUNTS, rng=RNG(1), replicates=4000) - AREA
    assert abs(np.median(noise)) < 5e-5
    half = np.median(np.abs(noise))  # of Cauchy noise the scale, of Laplace noise log(2) scales
    if delta is None:
        scale = 1 / 600 / float(CauchyNoise.least(Fraction(10)).shift)
        assert half == pytest.approx(scale, rel=0.08)
    else:
        assert half == pytest.approx(math.log(2) * 2 / 10 / 600, rel=0.08)
        assert np.std(noise) == pytest.approx(math.sqrt(2) * 2 / 10 / 600, rel=0.08)
        assert np.array_equal(noise + AREA, np.round((noise + AREA) / UNIT) * UNIT)


@pytest.mark.needs_jit
def test_an_area_alone_is_known_better_than_by_curves():
    rng = RNG(3)
    labels = rng.random(10_000) < 0.3
    scores, grid = rng.normal(labels), dp.Grid.uniform(-4, 5, 256)
    counts = dp.score_counts(labels, scores, grid)
    exact = area_units(counts)[0] * UNIT
    alone = SmoothS(1.0).release(counts, rng=rng, replicates=200)
    curves = [
        ROC.from_curves(score_curves_from_counts(counts, grid, epsilon=1.0, rng=rng)).auc
        for _ in range(100)
    ]
    errors = [np.abs(np.asarray(each) - exact) for each in (alone, curves)]
    assert np.median(errors[0]) < 0.5 * np.median(errors[1])
    assert np.max(errors[0]) > np.max(errors[1])  # and now and then it is far off


def test_areas_stay_within_0_and_1():
    areas = SmoothS(0.01).release(np.array([1, 0, 0, 1]), replicates=50)
    assert np.all((areas >= 0) & (areas <= 1))
    assert areas.min() == 0.0
    assert areas.max() == 1.0


def test_releases():
    mechanism = SmoothS(Fraction(1, 4), 1e-6)
    assert mechanism.privacy == dp.Privacy(0.25, 1e-6)
    assert mechanism.describe() == {"name": "smooth-s", "epsilon": 0.25, "delta": 1e-6}
    assert SmoothS(1).describe() == {"name": "smooth-s", "epsilon": 1.0}
    first = mechanism.release(COUNTS, rng=RNG(2))
    assert isinstance(first, float)
    assert mechanism.release(COUNTS, rng=RNG(2)) == first
    assert mechanism.release(COUNTS) != mechanism.release(COUNTS)
    # one in fifty Cauchy draws is off by more
    assert SmoothS(1e9).release(COUNTS, rng=RNG(2)) == pytest.approx(AREA, abs=1e-3)
    assert SmoothS(1e9, 1e-9).release(COUNTS, rng=RNG(2)) == pytest.approx(AREA, abs=1e-6)


@pytest.mark.parametrize("labels", [[0, 0], [1, 1], [True, False]])
def test_no_set_of_labels_is_an_error(labels):
    found = smooth_roc_curve(labels, [math.inf, -math.inf], epsilon=1.0)
    assert 0 <= found.auc <= 1
    assert found.n == 2


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        *refusals({"epsilon": [0, 2**-17, None]}, {}),
        ({"epsilon": 1.0, "delta": 0.0}, dp.ParameterError, "^delta"),
        ({"epsilon": 1.0, "delta": 0.6}, dp.ParameterError, "^delta"),
        ({"epsilon": 1.0, "delta": "x"}, dp.DtypeError, "^delta"),
        ({"epsilon": 2**-11, "delta": 1e-40}, dp.ParameterError, "^epsilon"),
        ({"epsilon": 2**-12, "delta": 0.01}, dp.ParameterError, "^epsilon"),
    ],
)
def test_bad_parameters(arguments, error, words):
    with pytest.raises(error, match=words):
        SmoothS(**arguments)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    refusals(
        {
            "counts": [[1, 2, 3], [[1, 2]], [1, -1], [0, 0], [2**30, 1, 2**30, 0]],
            "replicates": [0],
        },
        {"counts": [np.array([]), [0.5, 0.5]], "rng": [3]},
    ),
)
def test_bad_releases(change, error, words):
    with pytest.raises(error, match=words):
        SmoothS(1.0).release(**{"counts": COUNTS, **change})


def test_bad_records():
    with pytest.raises(dp.ParameterError, match="pairs"):
        SmoothS(1.0).release_pairs(RankedPairs(0, 0, 0))
    with pytest.raises(dp.MissingValueError, match="y_score"):
        smooth_roc_curve([0, 1], [0.5, math.nan], epsilon=1.0)
    with pytest.raises(dp.ParameterError, match="y_true"):
        smooth_roc_curve([], [], epsilon=1.0)


def test_no_class_size_is_refused_at_the_least_epsilon():
    least = SmoothS(2.0**-11, 0.01)
    for rarer in [*range(1, 40), 1000, 60_000, 70_001, 2**20 + 1, 2**29, 2**30 - 1]:
        counts = np.array([2**30, rarer])
        assert 0.0 <= least.release(counts, rng=np.random.default_rng(1)) <= 1.0
