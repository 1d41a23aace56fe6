"""Score histograms: the area on buckets, corrected, and metrics at their edges."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.statistics import classifier
from dpcore.statistics.binning import share
from dpcore.statistics.roc import ROC
from dpcore.statistics.score_histograms import ScoreHistogram
from tests.statistics.scored_records import area_of_ranks, exact, ranked

RNG = np.random.default_rng


@st.composite
def records(draw):
    """Labels of both classes, and scores in the middles of 24 cells."""
    at = draw(st.lists(st.integers(0, 23), min_size=2, max_size=60))
    labels = draw(st.lists(st.booleans(), min_size=len(at), max_size=len(at)))
    assume(0 < sum(labels) < len(labels))
    return np.array(labels), (np.array(at) + 0.5) / 24


@settings(max_examples=40)
@given(records())
def test_buckets_that_separate_scores_have_the_area_of_scikit_learn(data):
    metrics = pytest.importorskip("sklearn.metrics", reason="a reference, if installed")
    labels, scores = data
    found = ScoreHistogram.uniform(exact(labels, scores, dp.Grid.uniform(0, 1, 24)), 24)
    assert found.auc == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12)


@settings(max_examples=40)
@given(records(), st.integers(1, 24), st.booleans())
def test_the_area_is_off_by_ranks_within_buckets_and_never_by_more_than_the_worst_case(
    data, buckets, is_uniform
):
    labels, scores = data
    make = ScoreHistogram.uniform if is_uniform else ScoreHistogram.quantile
    found = make(exact(labels, scores, dp.Grid.uniform(0, 1, 24)), buckets)
    of_ranks = area_of_ranks(labels, scores)
    which = np.searchsorted(found.bins.edges[1:], scores)
    off = 0.0
    for bucket in np.unique(which):
        here, mine = scores[which == bucket], labels[which == bucket]
        ranks = [np.sum(here < x) + (np.sum(here == x) + 1) / 2 for x in here]
        off += np.sum((np.array(ranks) - (here.size + 1) / 2)[mine])
    off /= labels.sum() * (~labels).sum()
    assert of_ranks - found.auc == pytest.approx(off, abs=1e-12)
    low, high = found.auc_interval()
    assert low - 1e-12 <= of_ranks <= high + 1e-12
    assert found.auc_noise_deviation == 0.0


@pytest.mark.parametrize("make", [ScoreHistogram.uniform, ScoreHistogram.quantile])
def test_both_ends_of_the_worst_case_are_attained(make):
    grid, buckets = dp.Grid.uniform(0, 1, 32), 4
    rng = RNG(1)
    counts = rng.integers(1, 40, (2, buckets))
    counts[1] = 40 - counts[0]  # as many records in each bucket
    ends = []
    for down in (False, True):
        offsets = (0.05, 0.2) if down else (0.2, 0.05)  # of negatives, positives
        scores = [
            np.repeat(np.arange(buckets) / buckets + offset, each)
            for offset, each in zip(offsets, counts, strict=True)
        ]
        labels = np.repeat([False, True], counts.sum(axis=1))
        found = make(exact(labels, np.concatenate(scores), grid), buckets)
        ends.append((found.auc_interval(), area_of_ranks(labels, np.concatenate(scores))))
    (interval, low), (same, high) = ends
    assert interval == pytest.approx(same)
    assert interval == pytest.approx((low, high))
    half = np.sum(counts[0] * counts[1]) / (2 * np.prod(counts.sum(axis=1)))
    assert found.auc_discretisation() == pytest.approx(half)
    assert high - low == pytest.approx(2 * half)


def test_equal_buckets_of_a_rising_rate_hold_a_third_of_the_square():
    """1 / (3 B^2), the paper's guide line, for a rate that is linear in the ranks, from 0 to 1."""
    labels, scores = ranked(400_000, RNG(2))
    curves = exact(labels, scores, dp.Grid.uniform(0, 1, 2**14))
    truth = ROC.from_curves(curves).auc
    for buckets in (2, 4, 8):
        off = truth - ScoreHistogram.quantile(curves, buckets).auc
        assert off == pytest.approx(1 / (3 * buckets**2), rel=0.08)


@pytest.mark.full
@pytest.mark.needs_jit
def test_the_correction_leaves_a_hundredth_of_what_eq_5_is_off():
    """Binormal scores, whose rate is curved in the ranks; 2,000 records in a bucket."""
    off = []
    for seed in range(20):
        rng = RNG(seed)
        labels = rng.random(200_000) < 0.5
        scores = norm.cdf(rng.normal(np.where(labels, 0.6, -0.6)) / 2)
        found = ScoreHistogram.quantile(exact(labels, scores, dp.Grid.uniform(0, 1, 2**14)), 20)
        truth = area_of_ranks(labels, scores)
        off.append([truth - found.auc, truth - found.auc_corrected])
    plain, corrected = np.mean(off, axis=0)
    assert plain == pytest.approx(1 / (3 * 20**2), rel=0.1)
    assert abs(corrected) < plain / 20
    assert np.sqrt(np.mean(np.square(off), axis=0))[1] < plain / 8


def test_a_linear_rate_is_corrected_exactly():
    """In the mean over labels: every record counts with its rate."""
    rate, buckets = np.linspace(0.1, 0.7, 6000), 5
    positives = rate.reshape(buckets, -1).sum(axis=1)
    edges = np.linspace(0, 1, buckets + 1)
    counts = np.full(buckets, rate.size / buckets)
    plain = exact([0, 1], [0.1, 0.9], dp.Grid.uniform(0, 1, buckets))
    bins = replace(
        ScoreHistogram.uniform(plain, buckets).bins,
        edges=edges,
        positives=positives,
        negatives=counts - positives,
    )
    found = ScoreHistogram(plain, bins)
    below = np.cumsum(1 - rate) - (1 - rate) / 2
    truth = rate @ below / (rate.sum() * (1 - rate).sum())
    assert found.auc_corrected == pytest.approx(truth, abs=1e-7)
    assert found.auc < truth - 1e-3


@settings(max_examples=40)
@given(records(), st.integers(1, 30))
def test_the_corrected_area_is_within_the_worst_case(data, buckets):
    curves = exact(*data, dp.Grid.uniform(0, 1, 24))
    for make in (ScoreHistogram.uniform, ScoreHistogram.quantile):
        found = make(curves, buckets)
        low, high = found.auc_interval("worst-case")
        assert low - 1e-12 <= found.auc_corrected <= high + 1e-12


def test_neighbours_that_hardly_anybody_is_in_do_no_harm():
    """Calibrated scores near 0 and 1: uneven buckets of one width."""
    off = []
    for seed in range(10):
        rng = RNG(seed)
        scores = rng.beta(0.2, 0.2, 20_000)
        labels = rng.random(scores.size) < scores
        found = ScoreHistogram.uniform(exact(labels, scores, dp.Grid.uniform(0, 1, 2**14)), 20)
        truth = area_of_ranks(labels, scores)
        off.append([found.auc - truth, found.auc_corrected - truth])
    plain, corrected = np.sqrt(np.mean(np.square(off), axis=0))
    assert corrected < plain / 3


@pytest.mark.parametrize("labels", [[1, 1], [0, 1], [0, 1, 1, 0]])
def test_corrected_areas_of_few_records_are_within_bounds(labels):
    scores = np.linspace(0.1, 0.9, len(labels))
    for buckets in (1, 2, 5):
        found = ScoreHistogram.quantile(exact(labels, scores), buckets)
        if sum(labels) == len(labels):
            assert math.isnan(found.auc_corrected)
        else:
            assert 0 <= found.auc_corrected <= 1


@settings(max_examples=40)
@given(records(), st.integers(1, 30), st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=8))
def test_metrics_at_the_nearest_edge_are_those_of_the_buckets(data, buckets, points):
    labels, scores = data
    found = ScoreHistogram.quantile(exact(labels, scores, dp.Grid.uniform(0, 1, 24)), buckets)
    edges = found.bins.edges
    at = found.nearest(points)
    distance = np.abs(np.clip(points, 0, 1)[:, np.newaxis] - edges).min(axis=1)
    assert np.all(np.abs(np.clip(points, 0, 1) - at) == distance)
    above = edges[:-1] >= at[:, np.newaxis]
    above &= np.diff(edges) > 0
    hits, false = above @ found.bins.positives, above @ found.bins.negatives
    table = classifier.confusion(found.curves, at)
    assert np.allclose(table.true_positives, hits)
    assert np.allclose(table.false_positives, false)
    with np.errstate(invalid="ignore"):
        assert np.allclose(
            classifier.precision(found.curves, at), hits / (hits + false), equal_nan=True
        )
    assert np.allclose(classifier.recall(found.curves, at), hits / labels.sum())


def test_a_class_without_records_has_no_area():
    found = ScoreHistogram.quantile(exact([0, 0, 0], [0.1, 0.2, 0.7]), 3)
    assert math.isnan(found.auc)
    assert math.isnan(found.auc_noise_deviation)
    for kind in ("worst-case", "well-behaved"):
        assert math.isnan(found.auc_discretisation(kind))
        assert found.auc_interval(kind) == (0.0, 1.0)


def test_thresholds_from_0_on_keep_records_at_0():
    labels, scores = [0, 1, 0, 1], [0.0, 0.0, 0.3, 0.9]
    grid = dp.Grid(np.linspace(0, 1, 11))
    found = ScoreHistogram.quantile(exact(labels, scores, grid), 2)
    assert found.auc == pytest.approx(area_of_ranks(np.array(labels) == 1, np.array(scores) > 0.1))
    assert found.privacy.epsilon == math.inf


@pytest.mark.parametrize("make", [ScoreHistogram.quantile, ScoreHistogram.uniform])
def test_bad_buckets_and_curves(make):
    curves = exact([0, 1], [0.2, 0.6])
    wide = exact([0, 1], [0.2, 0.6], dp.Grid.uniform(-1, 1, 4))
    for arguments, error, named in (
        (([0.5],), DtypeError, "curves"),
        ((wide,), ParameterError, "curves"),
        ((curves, 0), ParameterError, "buckets"),
        ((curves, 2.0), DtypeError, "buckets"),
    ):
        with pytest.raises(error, match=named):
            make(*arguments)


def test_bad_questions():
    histogram = ScoreHistogram.quantile(exact([0, 1], [0.2, 0.6]), 4)
    for ask in (histogram.auc_interval, histogram.auc_discretisation):
        with pytest.raises(ParameterError, match="kind"):
            ask("best-case")
        with pytest.raises(ParameterError, match="level"):
            ask("worst-case", level=1.0)
    for at, error in ((np.nan, ParameterError), ("0.5", DtypeError)):
        with pytest.raises(error, match="t "):
            histogram.nearest(at)


HISTOGRAM = ScoreHistogram.uniform(exact([0, 1, 1], [0.1, 0.6, 0.9], dp.Grid.uniform(0, 1, 8)), 4)


@pytest.mark.parametrize(
    "changes",
    [
        {"edges": HISTOGRAM.bins.edges * 2},
        {"edges": HISTOGRAM.bins.edges / 2},
        {"edges": HISTOGRAM.bins.edges + 0.125},
        {"edges": HISTOGRAM.bins.edges[[0, 2, 1, 3, 4]]},
        {"edges": np.full(5, np.nan)},
        {"negatives": np.full(4, np.inf)},
        {"positives": np.full(4, np.nan)},
        {"positives": np.full(4, -1e150)},
    ],
)
def test_bins_of_other_curves_or_without_finite_counts_are_refused(changes):
    """Before, a release with another grid raised an IndexError in its interval, not when read."""
    (name,) = changes
    with pytest.raises(ParameterError, match=f"^(bins|{name}) must"):
        replace(HISTOGRAM, bins=replace(HISTOGRAM.bins, **changes))


def test_a_stored_histogram_of_another_grid_is_refused_when_it_is_read():
    released = dp.score_curves([0, 1] * 50, [0.2, 0.7] * 50, dp.Grid.uniform(0, 1, 8), epsilon=1.0)
    data = json.loads(ScoreHistogram.uniform(released, 4).to_json())
    data["curves"]["grid"]["upper"] = 0.5
    with pytest.raises(dp.FormatError, match="bins must have edges"):
        dp.load(json.dumps(data))


def test_a_bucket_that_hides_its_neighbours_has_no_correction_and_no_warning():
    bins = replace(HISTOGRAM.bins, negatives=np.array([2.0**70, 1.0, 1.0, 0.0]))
    found = replace(HISTOGRAM, bins=bins)
    assert np.isnan(found.auc_corrected) or 0.0 <= found.auc_corrected <= 1.0
    assert np.isinf(share(np.ones(1), np.array([5e-324]))).all()
