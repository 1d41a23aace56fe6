"""Scored labels: counts of both classes in one release, whatever the mechanism."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.mechanisms import Dyadic, Hierarchy, NoNoise, ToeplitzGaussian

RNG = np.random.default_rng


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(-0.2, 1.2)), min_size=1, max_size=40),
    st.integers(1, 12),
    st.booleans(),
)
def test_exact_curves_count_both_classes(records, cells, alone):
    labels, scores = (np.array(column) for column in zip(*records, strict=True))
    grid = dp.Grid.uniform(0, 1, cells)
    curves = dp.score_curves(
        labels, scores, grid, (NoNoise(), NoNoise()) if alone else NoNoise(), isotonic=False
    )
    clamped = np.minimum(scores, grid.thresholds[-1])[:, None] <= grid.thresholds
    assert np.array_equal(curves.negatives, clamped[~labels].sum(axis=0))
    assert np.array_equal(curves.positives, clamped[labels].sum(axis=0))
    assert curves.n == len(records)
    assert curves.privacy.epsilon == math.inf


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "mechanism",
    [
        Hierarchy(1.0),
        Dyadic(1.0),
        ToeplitzGaussian(0.5),
        (Hierarchy(0.5), Dyadic(0.5)),
    ],
)
def test_deviations_are_those_of_the_releases(mechanism):
    rng = RNG(1)
    labels, scores = rng.random(60) < 0.4, rng.random(60)
    grid = dp.Grid.uniform(0, 1, 6)
    releases = [
        dp.score_curves(labels, scores, grid, mechanism, isotonic=False, rng=rng)
        for _ in range(2500)
    ]
    exact = dp.score_curves(labels, scores, grid, NoNoise())
    for name, deviation in zip(("negatives", "positives"), releases[0].deviations, strict=True):
        noise = np.array([getattr(each, name) for each in releases]) - getattr(exact, name)
        assert noise.std(axis=0) == pytest.approx(deviation, rel=0.08)
        assert np.all(np.abs(noise.mean(axis=0)) < 5 * deviation / 50)


def test_default_is_the_most_accurate_joint_mechanism():
    labels, scores = RNG(2).random(500) < 0.5, RNG(3).random(500)
    curves = dp.score_curves(labels, scores, dp.Grid.uniform(0, 1, 256), epsilon=1.0)
    assert curves.joint.mechanism["name"] == "hierarchy"
    assert curves.privacy == dp.Privacy(1.0)
    assert curves.joint.is_monotone
    simulated = dp.score_curves(labels, scores, rho=0.5, rng=RNG(4))
    assert simulated.privacy == dp.Privacy(rho=0.5, simulated=True)


def test_guarantees_of_classes_released_alone_add_up():
    labels, scores = [0, 1, 1], [0.2, 0.3, 0.9]
    curves = dp.score_curves(labels, scores, mechanism=(Hierarchy(0.5), Dyadic(0.25)))
    assert curves.privacy == dp.Privacy(0.75)
    assert curves.joint.mechanism == {
        "name": "class-by-class",
        "negatives": "hierarchy",
        "positives": "dyadic",
    }


def test_counts_add_up_and_labels_may_be_anything():
    scores, grid = np.array([0.1, 0.4, 0.35, 0.8]), dp.Grid.uniform(0, 1, 5)
    expected = dp.score_counts([0, 1, 0, 1], scores, grid)
    assert expected.tolist() == [1, 1, 0, 0, 0, 0, 1, 0, 1, 0]
    for labels, positive in [
        ([False, True, False, True], None),
        (["no", "yes", "no", "yes"], "yes"),
        (np.array([2.0, 1.0, 2.0, 1.0]), None),
        (pd.Series([7, 3, 7, 3]), 3),
    ]:
        found = dp.score_counts(labels, pd.Series(scores), grid, pos_label=positive)
        assert np.array_equal(found, expected)
    parts = [dp.score_counts([0, 1], scores[:2], grid), dp.score_counts([0, 1], scores[2:], grid)]
    assert np.array_equal(sum(parts), expected)


@pytest.mark.parametrize("labels", [[0, 0, 0], [1, 1, 1], [5, 6, 7]])
def test_no_set_of_labels_is_an_error(labels):
    curves = dp.score_curves(labels, [0.1, 0.5, math.inf], epsilon=1.0)
    assert curves.n == 3


def test_smoothing_uses_the_tree():
    labels, scores = RNG(5).random(400) < 0.3, RNG(6).random(400)
    raw = dp.score_curves(labels, scores, mechanism=Dyadic(1.0), isotonic=False, rng=RNG(7))
    smooth = raw.smooth(2)
    assert smooth.joint.is_monotone
    assert not raw.joint.is_monotone


def test_bad_input_is_refused_before_anything_is_spent():
    grid = dp.Grid.uniform(0, 1, 4)
    with pytest.raises(dp.MissingValueError, match="y_score"):
        dp.score_curves([0, 1], [0.5, math.nan], grid, epsilon=1.0)
    with pytest.raises(dp.MissingValueError, match="y_true"):
        dp.score_curves([0.0, math.nan], [0.5, 0.5], grid, epsilon=1.0)
    kept = dp.score_curves([0, 1], [0.5, math.nan], grid, epsilon=1.0, nan_policy="omit")
    assert kept.n == 1
    for arguments, message in [
        (([0, 1], [0.5]), r"y_score must have the shape of y_true, \(2,\); got \(1,\)"),
        (([[0, 1]], [[0.5, 0.5]]), "y_true must be one-dimensional"),
        ((["a", "b"], [0.5, 0.5]), "pos_label must be given"),
        (([0, 1], [0.5, 0.5], grid, Hierarchy(1.0, neighbours="add-or-remove-one")), "replace-one"),
        (([0, 1], [0.5, 0.5], grid, (Dyadic(1.0),)), "mechanism must be one, or one for each"),
        (([], [], grid), "values must hold at least one record"),
    ]:
        budget = {} if len(arguments) == 4 else {"epsilon": 1.0}
        with pytest.raises(dp.ParameterError, match=message):
            dp.score_curves(*arguments, **budget)
    with pytest.raises(dp.DtypeError, match="y_true must hold numbers or strings"):
        dp.score_curves([1j, 2], [0.5, 0.5], grid, epsilon=1.0)
    with pytest.raises(dp.DtypeError, match="grid must be a Grid"):
        dp.score_curves([0, 1], [0.5, 0.5], [0.0, 1.0], epsilon=1.0)
    curve = dp.cdf([0.5], grid, epsilon=1.0)
    with pytest.raises(dp.ParameterError, match="negatives must have 5 cells"):
        dp.ScoreCurves.from_classes(grid, curve, curve)
