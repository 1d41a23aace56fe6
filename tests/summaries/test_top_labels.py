"""Several classes as two: right or wrong, and how confident; one record at a time."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpcore as dp
from dpcore.mechanisms import NoNoise

PROB = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.8, 0.1], [0.5, 0.5, 0.0]])
TRUE, CLASSES = ["a", "b", "b", "a"], ["a", "b", "c"]
RNG = np.random.default_rng


def test_the_likeliest_class_is_right_or_not():
    is_right, confidence = dp.top_label(TRUE, PROB, CLASSES)
    assert is_right.tolist() == [True, False, True, True]  # of equal ones the first
    assert confidence.tolist() == [0.7, 0.4, 0.8, 0.5]
    assert is_right.dtype == bool
    assert dp.top_label(["z"] * 4, PROB, CLASSES).is_right.tolist() == [False] * 4


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pd.Series(TRUE), CLASSES),
        (pl.Series(TRUE), CLASSES),
        (np.array(TRUE)[:, None], tuple(CLASSES)),
        ([0, 1.0, True, 0], [0, 1, 2]),
    ],
)
def test_labels_may_be_in_any_column(labels, classes):
    own = dp.top_label(labels, pd.DataFrame(PROB.astype(np.float32)), classes)
    assert own.is_right.tolist() == [True, False, True, True]
    assert own.confidence == pytest.approx([0.7, 0.4, 0.8, 0.5])


@pytest.mark.parametrize("odd", [None, 2**64, 2**2000, Fraction(1, 4), Decimal("nan"), pd.NA, True])
@pytest.mark.parametrize("make", [list, pd.DataFrame, partial(np.array, dtype=object)])
def test_no_record_decides_whether_lists_of_probabilities_are_refused(make, odd):
    prob = PROB.tolist()
    prob[1][0] = odd
    own = dp.top_label(TRUE, make(prob), CLASSES)
    assert own.is_right[[0, 2, 3]].tolist() == [True, True, True]
    assert own.confidence[[0, 2, 3]].tolist() == [0.7, 0.8, 0.5]
    least = {2**64: 2.0**64, 2**2000: math.inf, Fraction(1, 4): 0.4, True: 1.0}.get(odd, math.nan)
    assert own.confidence[1] == pytest.approx(least, nan_ok=True)


def test_each_record_counts_alone():
    rng = RNG(1)
    prob, true = rng.dirichlet([1, 2, 1], 50), rng.choice(CLASSES, 50)
    order = rng.permutation(50)
    whole, mixed = (
        dp.top_label(true, prob, CLASSES),
        dp.top_label(true[order], prob[order], CLASSES),
    )
    assert np.array_equal(whole.is_right[order], mixed.is_right)
    assert np.array_equal(whole.confidence[order], mixed.confidence)
    other = dp.top_label(np.append("c", true[1:]), np.r_[[[0.0, 0.1, 0.9]], prob[1:]], CLASSES)
    assert (other.is_right[0], other.confidence[0]) == (True, 0.9)
    assert np.array_equal(other.confidence[1:], whole.confidence[1:])


def test_missing_labels_and_probabilities_are_left_to_the_release():
    prob = PROB.copy()
    prob[0, 2] = np.nan
    own = dp.top_label(["a", "b", None, "a"], prob, CLASSES)
    assert np.isnan(own.confidence).tolist() == [True, False, True, False]
    assert not own.is_right[2]
    grid = dp.Grid.uniform(0, 1, 4)
    with pytest.raises(dp.MissingValueError, match="y_score"):
        dp.score_curves(*own, grid, epsilon=1.0)
    assert dp.score_curves(*own, grid, NoNoise(), nan_policy="omit").n == 2


def test_a_calibrated_classifier_is_right_as_often_as_it_says_also_by_its_class():
    rng = RNG(1)
    prob = rng.dirichlet([1, 1, 1], 20_000)
    true = (rng.random(20_000)[:, None] > prob.cumsum(axis=1)).sum(axis=1)
    own = dp.top_label(true, prob, [0, 1, 2])
    by = prob.argmax(axis=1)
    found = dp.score_curves(*own, by=by, groups=[0, 1, 2], epsilon=2.0, rng=rng)
    for curves in found.values():
        assert dp.statistics.expected_calibration_error(curves, 5) < 0.03
    wrong = dp.score_curves(own.is_right, own.confidence**3, epsilon=2.0, rng=rng)
    assert dp.statistics.expected_calibration_error(wrong, 5) > 0.2


def test_errors_name_the_arguments():
    def refused(match, kind=dp.ParameterError, **given):
        with pytest.raises(kind, match=match):
            dp.top_label(**{"y_true": TRUE, "y_prob": PROB, "classes": CLASSES} | given)

    refused(r"y_prob must have a row .* \(4, 3\)", y_prob=PROB[:, :2])
    refused("y_prob", y_prob=PROB[:3])
    refused("y_prob", y_prob=PROB[:, 0])
    refused("y_prob", dp.DtypeError, y_prob=PROB.astype(str))
    refused("y_prob", dp.DtypeError, y_prob=[[0.7, "0.2", 0.1]] * 4)
    refused("classes", classes=["a", "b", "b"])
    refused("classes must hold two", classes=["a"])
    refused("classes", dp.DtypeError, classes="abc")
    refused("classes must be a list", dp.DtypeError, classes=set(CLASSES))  # in which order?
    refused("classes", dp.DtypeError, classes=["a", 1, 2])
    refused("classes", dp.DtypeError, classes=["a", None, "b"])
    refused("classes", dp.DtypeError, y_true=[0, 1, 1, 0])
    refused("index", y_true=pd.Series(TRUE), y_prob=pd.DataFrame(PROB, index=[3, 2, 1, 0]))
    dask = pytest.importorskip("dask.dataframe")
    refused("in memory", dp.DtypeError, y_true=dask.from_pandas(pd.Series(TRUE), npartitions=2))
