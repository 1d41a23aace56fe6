"""ROC curves: scikit-learn's where nothing is noisy, safe bands where something is."""

from __future__ import annotations

import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.curves import plots
from dpcore.kernels.counting import score_counts as kernels
from dpcore.mechanisms import Dawa, Dyadic, Hierarchy, NoNoise, ToeplitzGaussian
from dpcore.releases.roc_curve import roc_curve, smooth_roc_curve
from dpcore.releases.score_curves import score_curves_from_counts
from dpcore.statistics.binormal import BinormalROC
from dpcore.statistics.roc import ROC, symmetric_difference
from dpcore.summaries import totals
from tests import reference

RNG = np.random.default_rng
EXACT = 1e-12
RECORDS = st.lists(st.tuples(st.booleans(), st.integers(0, 12)), min_size=1, max_size=40)


def binormal(n, rng, share=0.3, apart=1.5):
    labels = rng.random(n) < share
    return labels, rng.normal(apart * labels, 1.0)


def separating(scores):
    """A grid with every score in a cell of its own."""
    return dp.Grid(np.unique(np.asarray(scores, float)))


def exact(labels, scores, grid=None):
    return roc_curve(labels, scores, grid=grid or separating(scores), mechanism=NoNoise())


def with_counts(counts, deviations=0.0):
    """A ROC curve with such joint counts, as they are, and such deviations of the noise."""
    grid = dp.Grid(np.arange(1.0, len(counts) / 2 + 1))
    curves = score_curves_from_counts(np.ones(len(counts), int), grid, NoNoise())
    counts = np.asarray(counts, float)
    joint = replace(
        curves.joint,
        counts=counts,
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


@pytest.mark.parametrize("seed", range(6))
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


def test_a_real_classifier_as_scikit_learn_sees_it():
    metrics = pytest.importorskip("sklearn.metrics", reason="a reference, if installed")
    datasets = pytest.importorskip("sklearn.datasets", reason="a reference, if installed")
    records, labels = datasets.load_breast_cancer(return_X_y=True)
    scores = -records[:, 0]  # the larger the radius, the likelier malignant, which is 0
    roc = exact(labels, scores)
    assert roc.auc == pytest.approx(metrics.roc_auc_score(labels, scores), abs=EXACT)
    fpr, tpr, _ = metrics.roc_curve(labels, scores)
    assert np.isin(np.round(fpr, 9), np.round(roc.fpr, 9)).all()
    assert np.isin(np.round(tpr, 9), np.round(roc.tpr, 9)).all()


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
    [Hierarchy(0.5), Dyadic(0.5), Dawa(0.5), ToeplitzGaussian(0.1), (Hierarchy(0.2), Dyadic(0.3))],
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
    with pytest.raises(dp.ParameterError, match=r"first must be monotone; got 'rates that fall'"):
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
    width = normal_width(level) * deviation
    total = data.draw(st.floats(-width, width)) + roc.curves.negatives[-1]
    band = roc.band(level)
    for at, released in enumerate(roc.curves.negatives[::-1]):
        part = released + data.draw(st.floats(-width, width))
        if total > 0 and 0 <= part <= total and at > 0:
            rate = 1 - part / total
            assert band.fpr_low[at] - 1e-9 <= rate <= band.fpr_high[at] + 1e-9


def normal_width(level):
    from scipy.stats import norm

    return norm.ppf(0.5 + level / 2)


def test_bands_without_noise_and_without_knowledge():
    labels, scores = binormal(100, RNG(4))
    roc = exact(labels, scores)
    fpr_low, fpr_high, tpr_low, tpr_high = roc.band(0.5)
    assert fpr_low == pytest.approx(roc.fpr, abs=EXACT)
    assert fpr_high == pytest.approx(roc.fpr, abs=EXACT)
    assert tpr_low == pytest.approx(roc.tpr, abs=EXACT)
    assert tpr_high == pytest.approx(roc.tpr, abs=EXACT)
    unknown = roc_curve(labels, scores, grid=dp.Grid.uniform(-3, 5, 9), mechanism=Dawa(1.0)).band()
    assert unknown.fpr_low[1:-1].tolist() == [0.0] * 8
    assert unknown.tpr_high[1:-1].tolist() == [1.0] * 8
    for level in (0, 1, math.nan, "0.9"):
        with pytest.raises((dp.ParameterError, dp.DtypeError), match="level"):
            roc.band(level)


@pytest.mark.needs_jit
def test_bands_hold_the_records_rates_as_often_as_they_say():
    rng = RNG(5)
    labels, scores = binormal(2000, rng)
    grid = dp.Grid.uniform(-3, 5, 32)
    truth = exact(labels, scores, grid)
    counts = dp.score_counts(labels, scores, grid)
    inside = []
    for _ in range(400):
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


class Points:
    def __init__(self, fpr, tpr):
        self.fpr, self.tpr = np.array(fpr), np.array(tpr)


@settings(max_examples=200)
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


# --- counting


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([-np.inf, -1, 0, 0.2, 0.25, 1 / 3, 0.8, 1, 7])),
        max_size=40,
    ),
    st.integers(1, 12),
    st.sampled_from([np.float64, np.float32, np.float16]),
    st.booleans(),
)
def test_counts_of_both_classes_are_exact(records, cells, dtype, uniform):
    labels = np.array([label for label, _ in records], bool)
    scores = np.array([score for _, score in records], dtype)
    grid = dp.Grid.uniform(0, 1, cells)
    grid = grid if uniform else dp.Grid(grid.thresholds)
    found = dp.score_counts(labels, scores, grid)
    assert found.tolist() == reference.count_by_class(labels, scores, grid.thresholds)


@pytest.mark.needs_jit
@pytest.mark.parametrize("uniform", [True, False])
def test_counts_on_threads_and_at_thresholds(monkeypatch, uniform):
    rng = RNG(6)
    grid = dp.Grid.uniform(0.1, 0.9, 1000)
    grid = grid if uniform else dp.Grid(grid.thresholds)
    near = rng.choice(grid.thresholds, 50_000)
    scores = np.concatenate(
        [near, np.nextafter(near, 1), np.nextafter(near, 0), rng.random(90_000)]
    )
    labels = rng.random(scores.size) < 0.4
    expected = np.concatenate(
        [
            reference.count(scores[~labels], grid.thresholds),
            reference.count(scores[labels], grid.thresholds)[::-1],
        ]
    )
    assert np.array_equal(dp.score_counts(labels, scores, grid), expected)
    monkeypatch.setattr("dpcore.summaries.score_counts._PART", 1000)
    monkeypatch.setattr(totals.os, "cpu_count", lambda: 3)
    assert np.array_equal(dp.score_counts(labels, scores, grid), expected)
    scores[7] = scores[-7] = np.nan
    with pytest.raises(dp.MissingValueError, match="y_score"):
        dp.score_counts(labels, scores, grid)
    left = dp.score_counts(labels, scores, grid, nan_policy="omit")
    assert left.sum() == scores.size - 2


@pytest.mark.parametrize("kernel", [kernels.count_uniform, kernels.count_search])
def test_kernels_add_and_tell_what_is_missing(kernel):
    thresholds = np.array([1.0, 2.0, 3.0])
    line = (0.0, 1.0, 1e-9) if kernel is kernels.count_uniform else ()
    counts = np.full(6, 10)
    scores, classes = np.array([0.5, np.nan, 2.5, 2.5]), np.array([True, True, False, True])
    assert kernel(scores, classes, thresholds, *line, counts) == 1
    assert counts.tolist() == [10, 10, 11, 11, 10, 11]


MISSING = [0.1, None, 0.6, 0.9], [0, 1, 1, None]
CONTAINERS = {
    "pandas": pd.Series,
    "pandas, nullable": lambda values: pd.Series(values, dtype="Float64"),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow, in chunks": lambda values: pa.chunked_array([values[:2], values[2:]]),
    "masked": lambda values: np.ma.masked_invalid(np.array(values, float)),
    "NaN": lambda values: np.array(values, float),
}


@pytest.mark.parametrize("of_scores", CONTAINERS)
@pytest.mark.parametrize("of_labels", [*CONTAINERS, "objects"])
def test_records_with_something_missing_are_left_out_whole(of_scores, of_labels):
    scores = CONTAINERS[of_scores](MISSING[0])
    labels = {**CONTAINERS, "objects": np.array}[of_labels](MISSING[1])
    positive = None if np.asarray(labels).dtype.kind in "biuf" else 1
    grid = dp.Grid.uniform(0, 1, 4)
    found = dp.score_counts(labels, scores, grid, pos_label=positive, nan_policy="omit")
    assert found.tolist() == [1, 0, 0, 0, 0, 1, 0, 0]
    with pytest.raises(dp.MissingValueError):
        dp.score_counts(labels, scores, grid, pos_label=positive)
    with pytest.raises(dp.MissingValueError, match="y_score"):
        dp.score_counts([0, 1, 1, 0], scores, grid)
    with pytest.raises(dp.MissingValueError, match="y_true"):
        dp.score_counts(labels, [0, 1, 1, 0], grid, pos_label=positive)


def test_a_release_of_counts_is_that_of_their_records():
    labels, scores = binormal(400, RNG(7))
    grid = dp.Grid.uniform(-3, 5, 20)
    counts = sum(dp.score_counts(labels[i::2], scores[i::2], grid) for i in range(2))
    for mechanism in (Hierarchy(1.0), (Hierarchy(0.5), Dyadic(0.5))):
        found = score_curves_from_counts(counts, grid, mechanism, rng=RNG(8))
        expected = dp.score_curves(labels, scores, grid, mechanism, rng=RNG(8))
        assert np.array_equal(found.joint.counts, expected.joint.counts)
    for bad, error, message in [
        (counts[:-1], dp.ParameterError, r"counts must have shape \(40,\); got \(39,\)"),
        (counts / 2, dp.DtypeError, "counts must hold integers"),
        (-counts, dp.ParameterError, "counts must not be negative"),
        (0 * counts, dp.ParameterError, "must hold at least one record"),
    ]:
        with pytest.raises(error, match=message):
            score_curves_from_counts(bad, grid, epsilon=1.0)


# --- what users see


def test_arguments_reach_the_release():
    labels = np.array(["no", "yes", "no", "yes"])
    scores = [0.2, 0.9, math.nan, 0.8]
    roc = roc_curve(
        labels, pd.Series(scores), epsilon=1e6, pos_label="yes", nan_policy="omit", rng=RNG(9)
    )
    assert roc.n == 3
    assert roc.auc == pytest.approx(1.0, abs=1e-4)
    assert roc.privacy == dp.Privacy(1e6, simulated=True)
    assert roc_curve([0, 1], [0, 1], rho=0.5).privacy == dp.Privacy(rho=0.5)
    assert roc_curve([0, 1], [0, 1], epsilon=1.0, delta=1e-6).privacy == dp.Privacy(1.0, 1e-6)
    for change, error, message in [
        ({"grid": [0, 1]}, dp.DtypeError, "grid must be a Grid; got list"),
        ({"isotonic": 1}, dp.DtypeError, "isotonic must be a bool; got int"),
        ({"epsilon": None}, dp.ParameterError, "epsilon or rho must be given"),
        ({"nan_policy": "drop"}, dp.ParameterError, "nan_policy must be one of 'raise', 'omit'"),
        ({"rng": 7}, dp.DtypeError, "no integer seeds"),
    ]:
        with pytest.raises(error, match=message):
            roc_curve([0, 1], [0, 1], **{"epsilon": 1.0, **change})
    with pytest.raises(dp.DtypeError, match="curves must be ScoreCurves; got CDF"):
        ROC.from_curves(roc.curves.joint)


def test_scores_of_a_release_survive_json():
    labels, scores = binormal(100, RNG(10))
    for grid in (dp.Grid.uniform(-3, 5, 16), separating(scores)):
        for mechanism in (Dyadic(1.0), Dawa(1.0), (Hierarchy(0.5), Dyadic(0.5))):
            for isotonic in (True, False):
                curves = dp.score_curves(labels, scores, grid, mechanism, isotonic=isotonic)
                back = dp.ScoreCurves.from_json(curves.to_json())
                assert back.grid == curves.grid
                assert back.joint.counts.dtype == curves.joint.counts.dtype
                assert np.array_equal(back.joint.counts, curves.joint.counts)
                assert np.array_equal(back.joint.noise_deviation, curves.joint.noise_deviation)
                assert back.joint.grid == curves.joint.grid
                assert back.privacy == curves.privacy
                assert back.joint.mechanism == curves.joint.mechanism
                assert back.joint.processing == curves.joint.processing
    text = curves.to_json()
    for bad, message in [
        (text.replace('"dpcore.scores"', '"dpcore.cdf"'), '"format" has to be "dpcore.scores"'),
        (curves.joint.to_json(), '"format" has to be "dpcore.scores"'),
        (text.replace('"n": 100', '"n": 99'), "counts must end with n, 99"),
        (
            text.replace('"counts": [', '"counts": [0, 0, '),
            f"counts must be {2 * grid.size} or {2 * grid.size + 1} numbers",
        ),
        (text.replace('"counts": [', '"counts": [0, '), "noise_deviation must be runs of"),
    ]:
        with pytest.raises(dp.FormatError, match=message):
            dp.ScoreCurves.from_json(bad)
    with pytest.raises(dp.FormatError, match=r'"format" has to be "dpcore.cdf"'):
        dp.CDF.from_json(text)


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_picture_shows_curve_band_and_diagonal(ax):
    labels, scores = binormal(500, RNG(11))
    roc = roc_curve(labels, scores, grid=dp.Grid.uniform(-3, 5, 64), epsilon=1.0)
    assert roc.plot(ax, level=0.8, color="k") is ax
    texts = [text.get_text() for text in ax.legend().get_texts()]
    assert texts == [
        "guessing",
        "private, epsilon = 1 (replace-one)",
        "80% band for the noise",
    ]
    diagonal, curve = ax.get_lines()
    assert np.array_equal(curve.get_xydata(), np.transpose([roc.fpr, roc.tpr]))
    assert curve.get_color() == "k"
    (outline,) = ax.patches
    path = outline.get_path()
    for x, y in zip(roc.fpr[5:-5:7], roc.tpr[5:-5:7], strict=True):
        assert path.contains_point((x, y), radius=1e-6) or path.contains_point((x, y), radius=-1e-6)
    assert diagonal.get_linestyle() == "--"


def test_pictures_without_band_and_with_very_many_thresholds(ax):
    labels, scores = binormal(500, RNG(12))
    dawa = roc_curve(labels, scores, grid=dp.Grid.uniform(-3, 5, 16), mechanism=Dawa(1.0)).plot(ax)
    assert not dawa.patches
    # All scores are in a few of the cells: those are the ones to draw.
    fine = dp.Grid.uniform(-300, 500, 2**15)
    roc = roc_curve(labels, scores, grid=fine, mechanism=NoNoise())
    drawn = roc.plot(ax).get_lines()[-1].get_xydata()
    assert len(drawn) <= plots._DRAWN
    found = symmetric_difference(roc, Points(*drawn.T))
    assert found < 1e-3
    empty = roc_curve(np.zeros(500), scores, grid=fine, mechanism=NoNoise())
    empty.plot(ax)


# --- the symmetric binormal curve


@pytest.mark.parametrize("area", [0.0, 1e-9, 0.2, 0.5, 0.75, 0.99, 1 - 1e-12, 1.0])
def test_binormal_curves_have_their_area_and_symmetry(area):
    curve = BinormalROC(area, 10, dp.Privacy(1.0), {})
    assert np.trapezoid(curve.tpr, curve.fpr) == pytest.approx(area, abs=2e-6)
    assert (curve.fpr[0], curve.tpr[0]) == (0.0, 0.0)
    assert (curve.fpr[-1], curve.tpr[-1]) == (1.0, 1.0)
    assert np.all(np.diff(curve.fpr) >= 0)
    assert np.all(np.diff(curve.tpr) >= 0)
    mirrored = Points(1 - curve.tpr[::-1], 1 - curve.fpr[::-1])
    assert symmetric_difference(curve, mirrored) < 1e-9
    at = curve.fpr[1:-1]
    inner = (at > 1e-9) & (at < 1 - 1e-9)
    assert curve(at[inner]) == pytest.approx(curve.tpr[1:-1][inner], abs=1e-6)


def test_binormal_curve_of_binormal_scores():
    rng = RNG(13)
    labels, scores = binormal(40_000, rng, share=0.5)
    released = smooth_roc_curve(labels, scores, epsilon=5.0, rng=rng)
    assert released.privacy == dp.Privacy(5.0, simulated=True)
    assert released.n == 40_000
    assert released.mechanism == {"name": "smooth-s", "epsilon": 5.0}
    truth = exact(labels, scores)
    assert symmetric_difference(truth, released) < 0.02
    assert released([[0.0, 0.5, 1.0]]).shape == (1, 3)
    with pytest.raises(dp.ParameterError, match=r"fpr must lie within \[0, 1\]"):
        released(1.5)
    with pytest.raises(dp.ParameterError, match=r"auc must be within \[0, 1\]; got 1.5"):
        BinormalROC(1.5, 10, dp.Privacy(1.0), {})
