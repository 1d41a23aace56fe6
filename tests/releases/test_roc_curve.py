"""Released ROC curves: counts or records, arguments, storage and pictures."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.curves import plots
from dpcore.mechanisms import Dawa, Dyadic, Hierarchy, NoNoise, PolynomialProjection
from dpcore.releases.roc_curve import roc_curve
from dpcore.releases.score_curves import score_curves_from_counts
from dpcore.statistics.between_curves import symmetric_difference
from dpcore.statistics.roc import ROC
from tests.statistics.binormal_scores import Points, binormal, separating

RNG = np.random.default_rng


# --- from counts


def test_a_release_of_counts_is_that_of_their_records():
    labels, scores = binormal(400, RNG(7))
    grid = dp.Grid.uniform(-3, 5, 20)
    counts = sum(dp.score_counts(labels[i::2], scores[i::2], grid) for i in range(2))
    for mechanism in (Hierarchy(1.0), (Hierarchy(0.5), Dyadic(0.5))):
        found = score_curves_from_counts(counts, grid, mechanism, rng=RNG(8))
        expected = dp.score_curves(labels, scores, grid, mechanism, rng=RNG(8))
        assert np.array_equal(found.joint.counts, expected.joint.counts)


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
    assert roc_curve([0, 1], [0, 1], epsilon=1.0, delta=0.3).privacy == dp.Privacy(1.0, 0.3)
    for change, error, message in [
        ({"grid": [0, 1]}, dp.DtypeError, "grid"),
        ({"isotonic": 1}, dp.DtypeError, "isotonic"),
        ({"epsilon": None}, dp.ParameterError, "epsilon or rho must be given"),
        ({"nan_policy": "drop"}, dp.ParameterError, "nan_policy"),
        ({"rng": 7}, dp.DtypeError, "no integer seeds"),
    ]:
        with pytest.raises(error, match=message):
            roc_curve([0, 1], [0, 1], **{"epsilon": 1.0, **change})
    with pytest.raises(dp.DtypeError, match="curves"):
        ROC.from_curves(roc.curves.joint)


def test_scores_of_a_release_survive_json():
    labels, scores = binormal(100, RNG(10))
    for grid in (dp.Grid.uniform(-3, 5, 16), separating(scores)):
        for mechanism in (Dyadic(1.0), Dawa(1.0), (Hierarchy(0.5), Dyadic(0.5))):
            for isotonic in (True, False):
                curves = dp.score_curves(labels, scores, grid, mechanism, isotonic=isotonic)
                back = dp.ScoreCurves.from_json(curves.to_json())
                assert back.joint.counts.dtype == curves.joint.counts.dtype
                assert back.joint == curves.joint
                assert back == curves
    text = curves.to_json()
    for bad, message in [
        (text.replace('"dpcore.scores"', '"dpcore.cdf"'), '"format" has to be "dpcore.scores"'),
        (curves.joint.to_json(), '"format" has to be "dpcore.scores"'),
        (text.replace('"n": 100', '"n": 99'), "counts must end with n, 99"),
        (
            text.replace('"counts": [', '"counts": [0, 0, '),
            f"counts must be {2 * grid.size} or {2 * grid.size + 1} numbers",
        ),
        (text.replace('"counts": [', '"counts": [0, '), "noise_deviation"),
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
    grid, mechanism = dp.Grid.uniform(-3, 5, 16), PolynomialProjection(1.0, delta=1e-6)
    assert not roc_curve(labels, scores, grid=grid, mechanism=mechanism).plot(ax).patches
    # All scores are in a few of the cells: those are the ones to draw.
    fine = dp.Grid.uniform(-300, 500, 2**15)
    roc = roc_curve(labels, scores, grid=fine, mechanism=NoNoise())
    drawn = roc.plot(ax).get_lines()[-1].get_xydata()
    assert len(drawn) <= plots._DRAWN
    found = symmetric_difference(roc, Points(*drawn.T))
    assert found < 1e-3
    empty = roc_curve(np.zeros(500), scores, grid=fine, mechanism=NoNoise())
    empty.plot(ax)
