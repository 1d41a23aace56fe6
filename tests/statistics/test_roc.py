"""ROC curves: scikit-learn's where nothing is noisy, safe bands, and the area between two."""

from __future__ import annotations

import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import dpcore as dp
from dpcore.mechanisms import (
    Dawa,
    Dyadic,
    Hierarchy,
    NoNoise,
    PolynomialProjection,
    ToeplitzGaussian,
)
from dpcore.releases.roc_curve import roc_curve
from dpcore.releases.score_curves import score_curves_from_counts
from dpcore.statistics.between_curves import symmetric_difference
from dpcore.statistics.roc import ROC
from tests import reference
from tests.statistics.binormal_scores import Points, binormal, exact

RNG = np.random.default_rng
EXACT = 1e-12
RECORDS = st.lists(st.tuples(st.booleans(), st.integers(0, 12)), min_size=1, max_size=40)


def with_counts(counts, deviations=0.0):
    """A ROC curve with such joint counts, as they are, and such deviations of the noise."""
    grid = dp.Grid(np.arange(1.0, len(counts) / 2 + 1))
    curves = score_curves_from_counts(np.ones(len(counts), int), grid, NoNoise())
    counts = np.asarray(counts, float)
    joint = replace(
        curves.joint,
        counts=counts,
        raw=None,
        n=int(counts[-1]),
        noise_deviation=np.broadcast_to(np.asarray(deviations, float), counts.shape).copy(),
    )
    return ROC(replace(curves, joint=joint))


@settings(max_examples=80)
@given(RECORDS)
def test_exact_curves_are_the_definition(records):
    labels, scores = (list(column) for column in zip(*records, strict=True))
    roc = exact(labels, scores)
    for at, threshold in enumerate(roc.thresholds):
        tn, fp, fn, tp = reference.confusion_above(labels, scores, threshold)
        for rate, part, rest in ((roc.fpr, fp, tn), (roc.tpr, tp, fn)):
            expected = part / (part + rest) if part + rest else math.nan
            assert rate[at] == pytest.approx(expected, abs=EXACT, nan_ok=True)
        expected = tp / (tp + fp) if tp + fp else 1.0
        assert roc.precision[at] == pytest.approx(expected, abs=EXACT)
    assert np.array_equal(roc.recall, roc.tpr, equal_nan=True)
    if 0 < sum(labels) < len(labels):
        assert roc.auc == pytest.approx(float(reference.area_by_pairs(labels, scores)), abs=EXACT)
    else:
        assert math.isnan(roc.auc)


@pytest.mark.parametrize("seed", range(3))
def test_exact_curves_are_those_of_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics", reason="a reference, if installed")
    labels, scores = binormal(300, RNG(seed))
    scores = np.round(scores, seed % 3)  # ties within and between classes
    roc = exact(labels, scores)
    fpr, tpr, thresholds = metrics.roc_curve(labels, scores, drop_intermediate=False)
    assert roc.fpr == pytest.approx(fpr, abs=EXACT)
    assert roc.tpr == pytest.approx(tpr, abs=EXACT)
    assert np.array_equal(roc.thresholds[:-1], thresholds[1:])  # the same, one place earlier
    assert roc.auc == pytest.approx(metrics.roc_auc_score(labels, scores), abs=EXACT)
    precision, recall, _ = metrics.precision_recall_curve(labels, scores)
    assert roc.precision[::-1] == pytest.approx(precision, abs=EXACT)
    assert roc.recall[::-1] == pytest.approx(recall, abs=EXACT)
    average = metrics.average_precision_score(labels, scores)
    assert roc.average_precision == pytest.approx(average, abs=EXACT)


@settings(max_examples=60)
@given(RECORDS.filter(lambda r: 0 < sum(y for y, _ in r) < len(r)), st.integers(1, 6))
def test_the_area_is_equation_5(records, cells):
    labels, scores = (np.array(column) for column in zip(*records, strict=True))
    grid = dp.Grid.uniform(0, 12, cells)
    p, q = grid.count(scores[labels]), grid.count(scores[~labels])
    pairs = sum(p[i] * (q[:i].sum() + q[i] / 2) for i in range(cells))
    area = exact(labels, scores, grid).auc
    assert area == pytest.approx(pairs / (p.sum() * q.sum()), abs=EXACT)
    within = (p * q).sum() / (2 * p.sum() * q.sum())
    assert abs(area - float(reference.area_by_pairs(labels, scores))) <= within + EXACT


def test_a_band_of_nearly_everything():
    labels, scores = binormal(100, RNG(1))
    band = roc_curve(labels, scores, grid=dp.Grid.uniform(-3, 5, 5), epsilon=1.0).band(1 - 2.0**-53)
    assert np.all(np.isfinite(band.tpr_high))


@pytest.mark.parametrize(
    "mechanism",
    [
        Hierarchy(0.5),
        Dyadic(0.5),
        Dawa(0.5),
        ToeplitzGaussian(rho=0.1),
        (Hierarchy(0.2), Dyadic(0.3)),
    ],
)
def test_released_curves_rise_from_corner_to_corner(mechanism):
    labels, scores = binormal(5000, RNG(1))  # so many that no released class is empty
    grid = dp.Grid.uniform(-3, 5, 50)
    roc = roc_curve(labels, scores, grid=grid, mechanism=mechanism, rng=RNG(2))
    for rate in (roc.fpr, roc.tpr):
        assert rate[0] == 0.0
        assert rate[-1] == 1.0
        assert np.all(np.diff(rate) >= 0.0)
    assert roc.fpr.shape == roc.tpr.shape == roc.precision.shape == (51,)
    assert roc.thresholds[0] == 5.0
    assert roc.thresholds[-1] == -math.inf
    assert np.all(np.diff(roc.thresholds) < 0)
    assert np.all((roc.precision >= 0) & (roc.precision <= 1))
    assert 0 <= roc.auc <= 1
    assert roc.n == 5000
    assert roc.privacy == roc.curves.privacy


def test_curves_are_made_monotone_unless_asked_not_to():
    labels, scores = binormal(3000, RNG(2))
    options = {"grid": dp.Grid.uniform(-3, 5, 64), "mechanism": Dyadic(0.5)}
    raw = roc_curve(labels, scores, isotonic=False, rng=RNG(3), **options)
    assert np.any(np.diff(raw.tpr) < 0)
    made = ROC.from_curves(raw.curves)
    same = roc_curve(labels, scores, rng=RNG(3), **options)
    assert np.array_equal(made.tpr, same.tpr)
    assert np.array_equal(made.fpr, same.fpr)
    smooth = ROC.from_curves(raw.curves.smooth(2))
    assert smooth.curves.joint.processing == ("smooth(norm=2)",)  # and nothing after it
    with pytest.raises(dp.ParameterError, match="first"):
        symmetric_difference(raw, made)


@pytest.mark.parametrize("labels", [[0, 0, 0], [1, 1, 1]])
def test_a_class_without_records_has_no_rates(labels):
    roc = exact(labels, [0.1, 0.5, 0.5])
    empty, other = (roc.tpr, roc.fpr) if labels[0] == 0 else (roc.fpr, roc.tpr)
    assert np.isnan(empty).all()
    assert other.tolist() == [0.0, 2 / 3, 1.0]
    assert math.isnan(roc.auc)
    assert math.isnan(symmetric_difference(roc, exact([0, 1], [0, 1])))
    band = roc.band()
    none = (band.tpr_low, band.tpr_high) if labels[0] == 0 else (band.fpr_low, band.fpr_high)
    assert none[0].tolist() == [0.0, 0.0, 1.0]
    assert none[1].tolist() == [0.0, 1.0, 1.0]
    assert roc.precision.tolist() == ([1.0, 0.0, 0.0] if labels[0] == 0 else [1.0, 1.0, 1.0])
    roc.plot()
    plt.close("all")


def test_tiny_released_classes():
    roc = with_counts([0.0, 1e-13, 1e-13, 7.0], deviations=3.0)
    assert np.all(np.isfinite(roc.fpr))
    assert np.all((roc.band().fpr_low >= 0) & (roc.band().fpr_high <= 1))
    assert roc.band().fpr_high[1] == 1.0  # the class may have no records at all
    subnormal = with_counts([0.0, 5e-324, 3.0, 7.0])
    assert 0 <= symmetric_difference(subnormal, with_counts([1.0, 2.0, 3.0, 4.0])) <= 1


@settings(max_examples=80)
@given(
    st.lists(st.floats(0, 100), min_size=2, max_size=12).map(sorted),
    st.floats(0, 10),
    st.floats(0.5, 0.999),
    st.data(),
)
def test_bands_hold_whatever_rates_the_noise_allows(cumulative, deviation, level, data):
    """What is within so many deviations of the counts, in whatever direction, is in the band."""
    counts = [*cumulative, float(int(cumulative[-1]) + 1)]
    counts += [counts[-1]] * (len(counts) % 2)
    roc = with_counts(counts, deviation)
    width = norm.ppf(0.5 + level / 2) * deviation
    total = data.draw(st.floats(-width, width)) + roc.curves.negatives[-1]
    band = roc.band(level)
    for at, released in enumerate(roc.curves.negatives[::-1]):
        part = released + data.draw(st.floats(-width, width))
        if total > 0 and 0 <= part <= total and at > 0:
            rate = 1 - part / total
            assert band.fpr_low[at] - 1e-9 <= rate <= band.fpr_high[at] + 1e-9


def test_bands_without_noise_and_without_knowledge():
    labels, scores = binormal(100, RNG(4))
    roc = exact(labels, scores)
    fpr_low, fpr_high, tpr_low, tpr_high = roc.band(0.5)
    for rate, ends in ((roc.fpr, (fpr_low, fpr_high)), (roc.tpr, (tpr_low, tpr_high))):
        for end in ends:
            assert end == pytest.approx(rate, abs=EXACT)
    grid, mechanism = dp.Grid.uniform(-3, 5, 9), PolynomialProjection(1.0, delta=1e-6)
    unknown = roc_curve(labels, scores, grid=grid, mechanism=mechanism).band()
    assert unknown.fpr_low[1:-1].tolist() == [0.0] * 8
    assert unknown.tpr_high[1:-1].tolist() == [1.0] * 8
    for level in (0, 1, math.nan, "0.9"):
        with pytest.raises((dp.ParameterError, dp.DtypeError), match="level"):
            roc.band(level)


@pytest.mark.full
@pytest.mark.needs_jit
def test_bands_hold_the_records_rates_as_often_as_they_say():
    rng = RNG(5)
    labels, scores = binormal(2000, rng)
    grid = dp.Grid.uniform(-3, 5, 32)
    truth = exact(labels, scores, grid)
    counts = dp.score_counts(labels, scores, grid)
    inside = []
    for _ in range(4000):
        curves = score_curves_from_counts(counts, grid, Hierarchy(0.3), isotonic=False, rng=rng)
        band = ROC(curves).band(0.9)
        inside.append(
            [
                (band.fpr_low <= truth.fpr) & (truth.fpr <= band.fpr_high),
                (band.tpr_low <= truth.tpr) & (truth.tpr <= band.tpr_high),
            ]
        )
    assert np.mean(inside, axis=0).min() > 0.88


# --- the area between two curves


def points(draw):
    size = draw(st.integers(0, 6))
    inner = st.lists(st.integers(0, 8), min_size=size, max_size=size).map(sorted)
    return [[0.0, *(x / 8 for x in draw(inner)), 1.0] for _ in range(2)]


@settings(max_examples=80)
@given(st.data())
def test_area_between_curves_is_exact(data):
    first, second, third = (points(data.draw) for _ in range(3))
    found = symmetric_difference(Points(*first), Points(*second))
    assert found == pytest.approx(float(reference.area_between(first, second)), abs=EXACT)
    assert found == pytest.approx(symmetric_difference(Points(*second), Points(*first)), abs=EXACT)
    assert symmetric_difference(Points(*first), Points(*first)) == 0.0
    detour = [symmetric_difference(Points(*each), Points(*third)) for each in (first, second)]
    assert found <= sum(detour) + EXACT
    areas = [np.trapezoid(tpr, fpr) for fpr, tpr in (first, second)]
    assert found >= abs(areas[0] - areas[1]) - EXACT


def test_area_between_vertical_and_crossing_curves():
    perfect, worst = Points([0, 0, 1], [0, 1, 1]), Points([0, 1, 1], [0, 0, 1])
    diagonal = Points([0, 1], [0, 1])
    assert symmetric_difference(perfect, worst) == 1.0
    assert symmetric_difference(perfect, diagonal) == 0.5
    step = Points([0, 0.5, 0.5, 1], [0, 0, 1, 1])  # the same area as the diagonal
    assert symmetric_difference(step, diagonal) == 0.25
