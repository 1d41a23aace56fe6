"""Metrics at thresholds: the textbook's and scikit-learn's where nothing is noisy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.mechanisms import Dyadic
from dpcore.statistics import classifier
from tests import reference
from tests.statistics.scored_records import exact

RNG = np.random.default_rng
EXACT = 1e-12
METRICS = ("precision", "recall", "accuracy", "f1")


def ratio(part, whole):
    return part / whole if whole else math.nan


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=1, max_size=30),
    st.lists(st.sampled_from([-math.inf, -3.0, 0.0, 2.0, 5.0, 9.0, 20.0, math.inf]), max_size=4),
)
def test_exact_metrics_are_the_definitions(records, thresholds):
    labels, scores = (list(column) for column in zip(*records, strict=True))
    curves = exact(labels, scores, dp.Grid(np.arange(10)))
    found = classifier.confusion(curves, thresholds)
    for at, threshold in enumerate(thresholds):
        tn, fp, fn, tp = reference.confusion_above(labels, scores, threshold)
        assert [float(each[at]) for each in found] == [tn, fp, fn, tp]
        expected = [
            ratio(tp, tp + fp),
            ratio(tp, tp + fn),
            (tp + tn) / len(labels),
            ratio(2 * tp, 2 * tp + fp + fn),
        ]
        for name, value in zip(METRICS, expected, strict=True):
            metric = getattr(classifier, name)(curves, threshold)
            assert float(metric) == pytest.approx(value, abs=EXACT, nan_ok=True)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_exact_metrics_are_those_of_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics", reason="a reference, if installed")
    rng = RNG(seed)
    labels = rng.random(200) < 0.4
    scores = np.round(rng.normal(labels), 1)
    curves = exact(labels, scores, dp.Grid(np.unique(scores)))
    thresholds = np.unique(scores)[:-1]  # above the last one precision is 0/0: a warning there
    for name in METRICS:
        theirs = [getattr(metrics, f"{name}_score")(labels, scores > t) for t in thresholds]
        assert getattr(classifier, name)(curves, thresholds) == pytest.approx(theirs, abs=EXACT)
    matrix = metrics.confusion_matrix(labels, scores > 0)
    assert np.array_equal(matrix.ravel(), classifier.confusion(curves, 0))


def test_between_thresholds_the_one_below_counts():
    curves = exact([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], dp.Grid.uniform(0, 1, 10))
    assert classifier.recall(curves, 0.39) == classifier.recall(curves, 0.3) == 1.0
    assert classifier.recall(curves, 0.05) == 1.0
    assert classifier.accuracy(curves, [[0.3], [0.4]]).tolist() == [[0.75], [0.75]]


def test_shapes_are_those_of_the_thresholds():
    curves = exact([0, 1], [0.1, 0.9], dp.Grid.uniform(0, 1, 10))
    for t in (0.5, [0.5], np.full((2, 3), 0.5), np.zeros((0, 2))):
        for name in METRICS:
            assert np.shape(getattr(classifier, name)(curves, t)) == np.shape(t)
        assert all(np.shape(each) == np.shape(t) for each in classifier.confusion(curves, t))


@pytest.mark.parametrize("number", [0.5, np.float32(0.5), np.array(0.5), 1])
def test_a_number_in_is_a_float_out(number):
    curves = exact([0, 1], [0.1, 0.9], dp.Grid.uniform(0, 1, 10))
    statistics = dp.statistics
    functions = [getattr(classifier, name) for name in METRICS]
    functions += [classifier.precision_interval, classifier.population_recall_interval]
    results = [function(curves, number) for function in (*functions, classifier.confusion)]
    results += [
        statistics.ScoreHistogram.uniform(curves, 2).nearest(number),
        statistics.HistogramBinning.fit(curves).predict(number),
        statistics.IsotonicCalibration.fit(curves).predict(number),
    ]
    flat = [part for each in results for part in (each if isinstance(each, tuple) else (each,))]
    assert {type(part) for part in flat} == {float}


@pytest.mark.parametrize("labels", [[0, 0], [1, 1]])
def test_a_class_without_records(labels):
    curves = exact(labels, [0.1, 0.9], dp.Grid.uniform(0, 1, 10))
    assert math.isnan(classifier.recall(curves, 0.5)) == (labels[0] == 0)
    assert math.isnan(classifier.precision(curves, 1.0))
    assert classifier.accuracy(curves, 0.5) == 0.5
    assert classifier.f1(curves, 0.5) == (0.0 if labels[0] == 0 else pytest.approx(2 / 3))
    assert math.isnan(classifier.f1(exact([0], [0.5], curves.grid), 1.0))


def test_released_metrics_stay_within_0_and_1():
    rng = RNG(1)
    labels, scores = rng.random(40) < 0.2, rng.random(40)
    raw = dp.score_curves(labels, scores, mechanism=Dyadic(0.05), isotonic=False, rng=rng)
    t = np.linspace(-0.1, 1.1, 300)
    for name in METRICS:
        found = getattr(classifier, name)(raw, t)
        found = found[~np.isnan(found)]
        assert np.all((found >= 0) & (found <= 1))
    assert np.sum(classifier.confusion(raw, t), axis=0) == pytest.approx(40)


@pytest.mark.parametrize("name", ["confusion", *METRICS])
def test_bad_arguments(name):
    curves = exact([0, 1], [0.1, 0.9], dp.Grid.uniform(0, 1, 10))
    metric = getattr(classifier, name)
    for arguments, error, named in (
        ((curves, [0.5, math.nan]), dp.ParameterError, "t"),
        ((curves, "0.5"), dp.DtypeError, "t"),
        ((curves.joint, 0.5), dp.DtypeError, "curves"),
    ):
        with pytest.raises(error, match=f"^{named} "):
            metric(*arguments)
