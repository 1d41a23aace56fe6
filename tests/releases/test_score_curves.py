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


@settings(max_examples=60)
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


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "mechanism",
    [Hierarchy(1.0), Dyadic(1.0), ToeplitzGaussian(rho=0.5), (Hierarchy(0.5), Dyadic(0.5))],
)
def test_deviations_are_those_of_the_releases(mechanism):
    rng = RNG(1)
    labels, scores = rng.random(60) < 0.4, rng.random(60)
    grid = dp.Grid.uniform(0, 1, 6)
    releases = [
        dp.score_curves(labels, scores, grid, mechanism, isotonic=False, rng=rng)
        for _ in range(800)
    ]
    exact = dp.score_curves(labels, scores, grid, NoNoise())
    for name, deviation in zip(("negatives", "positives"), releases[0].deviations, strict=True):
        noise = np.array([getattr(each, name) for each in releases]) - getattr(exact, name)
        assert noise.std(axis=0) == pytest.approx(deviation, rel=0.15)
        assert np.all(np.abs(noise.mean(axis=0)) < 5 * deviation / math.sqrt(800))


def test_default_is_the_most_accurate_joint_mechanism():
    labels, scores = RNG(2).random(500) < 0.5, RNG(3).random(500)
    curves = dp.score_curves(labels, scores, dp.Grid.uniform(0, 1, 256), epsilon=1.0)
    assert curves.joint.mechanism == dp.plan(512, epsilon=1.0, n=500).best.describe()
    many = np.full(512, 10**4)
    curves = dp.score_curves_from_counts(many, dp.Grid.uniform(0, 1, 256), epsilon=1.0)
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


GRID = dp.Grid.uniform(0, 1, 4)
TALL = Hierarchy(1.0, branching=(3, 3))  # for up to 9 cells


@pytest.mark.parametrize(
    ("pair", "budget", "words"),
    [
        ((Hierarchy(1.0), Hierarchy(1e-14)), {}, "epsilon"),
        ((Hierarchy(1.0), "foo"), {}, "mechanism"),
        ((Hierarchy(1.0), None), {}, "mechanism"),
        ((Hierarchy(1.0),) * 2, {"epsilon": 1.0}, "epsilon"),
        ((Hierarchy(1.0), TALL), {}, "branching"),
        ((Hierarchy(1.0), Hierarchy(1.0, neighbours="add-or-remove-one")), {}, "replace-one"),
        ((Hierarchy(1.0),) * 3, {}, "must be one mechanism or two, one for each class; got 3"),
    ],
)
def test_a_pair_is_refused_before_either_releases(monkeypatch, pair, budget, words):
    def released(*_, **__):
        raise AssertionError

    monkeypatch.setattr(Hierarchy, "release", released)
    grid = dp.Grid.uniform(0, 1, 16)
    with pytest.raises(dp.DpcoreError, match=words):
        dp.score_curves([0, 1], [0.1, 0.6], grid, pair, **budget)


CLOSED = Hierarchy(1.0, neighbours="add-or-remove-one")
MASKED = np.ma.masked_array(np.ones(8, int), mask=[1] + 7 * [0])


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"y_score": [0.5, math.nan]}, dp.MissingValueError, "y_score"),
        ({"y_true": [0.0, math.nan]}, dp.MissingValueError, "y_true"),
        ({"y_score": [0.5]}, dp.ParameterError, r"y_score .*\(2,\); got \(1,\)"),
        ({"y_true": [[0, 1]], "y_score": [[0.5, 0.5]]}, dp.ParameterError, "y_true"),
        ({"y_true": ["a", "b"]}, dp.ParameterError, "pos_label"),
        ({"y_true": [], "y_score": []}, dp.ParameterError, "y_true"),
        ({"y_true": [1j, 2]}, dp.DtypeError, "y_true"),
        ({"mechanism": CLOSED, "epsilon": None}, dp.ParameterError, "replace-one"),
        ({"mechanism": (Dyadic(1.0),), "epsilon": None}, dp.ParameterError, "mechanism"),
        ({"grid": [0.0, 1.0]}, dp.DtypeError, "grid"),
        ({"epsilon": 10**400}, dp.ParameterError, "epsilon"),
    ],
)
def test_bad_input_is_refused(change, error, words):
    good = {"y_true": [0, 1], "y_score": [0.5, 0.5], "grid": GRID, "epsilon": 1.0}
    with pytest.raises(error, match=words):
        dp.score_curves(**{**good, **change})


@pytest.mark.parametrize(
    ("counts", "error"),
    [
        (np.zeros(8, int), dp.ParameterError),
        (np.ones(7, int), dp.ParameterError),
        (-np.ones(8, int), dp.ParameterError),
        (np.ones(8), dp.DtypeError),
        (MASKED, dp.DtypeError),
    ],
)
def test_bad_counts(counts, error):
    with pytest.raises(error, match="counts"):
        dp.score_curves_from_counts(counts, GRID, epsilon=1.0)


def test_records_without_a_value_are_left_out():
    curves = dp.score_curves([0, 1], [0.5, math.nan], GRID, epsilon=1.0, nan_policy="omit")
    assert curves.n == 1


def test_curves_of_classes_have_the_grid():
    curve = dp.cdf([0.5], GRID, epsilon=1.0)
    with pytest.raises(dp.ParameterError, match=r"negatives.*5"):
        dp.ScoreCurves.from_classes(GRID, curve, curve)
    with pytest.raises(dp.DtypeError, match="negatives"):
        dp.ScoreCurves.from_classes(GRID, None, None)
