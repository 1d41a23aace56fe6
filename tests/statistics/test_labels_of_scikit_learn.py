"""Labels, scores and curves as scikit-learn's users have them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import roc_curve

import dpcore as dp

GRID = dp.Grid.uniform(0, 1, 100)
EXACT = dp.mechanisms.NoNoise()
LABELS = np.array([0, 0, 1, 1, 1, 0])
SCORES = np.array([0.15, 0.405, 0.355, 0.855, 0.955, 0.555])
SIGNS, BOOLS, WORDS = 2 * LABELS - 1, LABELS == 1, np.array(["no", "yes"])[LABELS]
NUMBERS = {
    "list": LABELS.tolist(),
    "tuple": tuple(LABELS.tolist()),
    "list of bools": BOOLS.tolist(),
    "list of signs": SIGNS.tolist(),
    "bools": BOOLS,
    "signs": SIGNS.astype(np.int8),
    "floats": LABELS.astype(np.float32),
    "column": LABELS[:, np.newaxis],
    "column of bools": BOOLS[:, np.newaxis],
    "rows": [[each] for each in LABELS.tolist()],
    "rows as tuples": [(each,) for each in LABELS.tolist()],
    "series": pd.Series(LABELS, index=range(6, 12)),
    "nullable": pd.Series(LABELS, dtype="Int64"),
    "nullable bools": pd.Series(BOOLS, dtype="boolean"),
    "nullable floats": pd.Series(LABELS, dtype="Float64"),
    "categories": pd.Series(LABELS, dtype="category"),
    "categories of bools": pd.Series(BOOLS, dtype="category"),
    "categories of signs": pd.Series(SIGNS, dtype="category"),
    "frame": pd.DataFrame({"y": LABELS}),
    "frame of bools": pd.DataFrame({"y": BOOLS}),
    "polars": pl.Series(BOOLS),
    "polars frame": pl.DataFrame({"y": LABELS}),
}
TEXT = {
    "list": WORDS.tolist(),
    "array": WORDS,
    "objects": WORDS.astype(object),
    "column": WORDS[:, np.newaxis],
    "rows": [[each] for each in WORDS.tolist()],
    "series": pd.Series(WORDS),
    "nullable": pd.Series(WORDS, dtype="string"),
    "categories": pd.Series(WORDS, dtype="category"),
    "frame": pd.DataFrame({"y": WORDS}),
}
OURS_ALONE = {  # which scikit-learn refuses, or some of its versions
    "objects that are bools": BOOLS.astype(object),
    "objects that are numbers": LABELS.astype(object),
    "a column of such objects": BOOLS.astype(object)[:, np.newaxis],
    "a series of such objects": pd.Series(BOOLS, dtype=object),
    "a masked column": np.ma.array(LABELS[:, np.newaxis]),
}


def ours(labels, scores=SCORES, **options):
    return dp.roc_curve(labels, scores, grid=GRID, mechanism=EXACT, **options)


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        *((each, {}) for each in (*NUMBERS.values(), *OURS_ALONE.values())),
        *((each, {"pos_label": "yes"}) for each in TEXT.values()),
    ],
    ids=[*NUMBERS, *OURS_ALONE, *(f"text: {name}" for name in TEXT)],
)
def test_labels_of_any_kind(labels, options):
    fpr, tpr, thresholds = ours(labels, **options)
    for found, expected in zip((fpr, tpr, thresholds), ours(LABELS), strict=True):
        assert np.array_equal(found, expected)
    test = dp.hosmer_lemeshow(labels, SCORES, groups=3, grid=GRID, mechanism=EXACT, **options)
    assert test.observed.sum(axis=0).tolist() == [3, 3]


@pytest.mark.parametrize("name", ["list", "signs", "column of bools", "nullable", "categories"])
def test_scikit_learn_takes_labels_for_the_same(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a column where one dimension was expected
        theirs = roc_curve(NUMBERS[name], SCORES, drop_intermediate=False)[:2]
    fpr, tpr, _ = ours(NUMBERS[name])
    # There is a point for each cell here.
    assert {*zip(fpr, tpr, strict=True)} == {*zip(*theirs, strict=True)}


@pytest.mark.parametrize(
    "scores",
    [SCORES[:, np.newaxis], [[each] for each in SCORES.tolist()], pd.DataFrame({"s": SCORES})],
    ids=["column", "rows", "frame"],
)
def test_scores_may_be_a_column(scores):
    assert ours(LABELS, scores).auc == ours(LABELS).auc


def test_columns_have_one_shape_whatever_is_in_them():
    for wrong in (np.column_stack([LABELS, LABELS]), LABELS[np.newaxis], [[0, 1]] * 6):
        with pytest.raises(dp.ParameterError, match="y_true"):
            ours(wrong)
    for of_nobody in (np.empty((0, 1), int), [], pd.DataFrame({"y": np.empty(0)})):
        with pytest.raises(dp.ParameterError, match="y_true"):
            ours(of_nobody, of_nobody)


def test_a_curve_unpacks_as_the_triple():
    roc = ours(LABELS)
    fpr, tpr, thresholds = roc
    assert np.array_equal(fpr, roc.fpr)
    assert np.array_equal(tpr, roc.tpr)
    assert np.array_equal(thresholds, roc.thresholds)


def test_scikit_learn_displays_the_curve_and_the_diagram():
    sklearn = pytest.importorskip("sklearn.metrics", reason="the extra models")
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="the extra plot")
    pyplot.switch_backend("Agg")
    roc = ours(LABELS)
    shown = roc.display()
    assert isinstance(shown, sklearn.RocCurveDisplay)
    assert shown.roc_auc == roc.auc
    shown.plot()
    assert np.array_equal(shown.ax_.lines[0].get_ydata(), roc.tpr)
    diagram = dp.statistics.reliability(roc.curves, 5).display()
    assert diagram.prob_true.tolist() == [0, 1, 0, 1]  # and an empty bin
    diagram.plot(name="private")
    pyplot.close("all")


@pytest.mark.parametrize("verb", ["roc_curve", "score_curves", "hosmer_lemeshow"])
def test_weights_are_refused_by_name_before_anything_else(verb):
    release = getattr(dp, verb)
    for weights in (np.ones(6), [2, 1, 1, 1, 1, 7], 1.0, object()):
        with pytest.raises(dp.DtypeError, match="sample_weight") as told:
            release(LABELS, SCORES, epsilon=1.0, sample_weight=weights)
        assert type(weights).__name__ in str(told.value)
        assert "7" not in str(told.value)
    many = np.tile(LABELS, 9), np.tile(SCORES, 9)
    assert release(*many, mechanism=EXACT, grid=GRID, sample_weight=None).n == 54


@pytest.mark.parametrize(
    "release",
    [
        lambda weights: dp.cdf(SCORES, GRID, epsilon=1.0, weights=weights),
        lambda weights: GRID.count(SCORES, weights=weights),
        lambda weights: dp.quantiles(SCORES, 0.5, GRID, epsilon=1.0, weights=weights),
    ],
)
def test_weights_of_values_are_refused_by_name(release):
    with pytest.raises(dp.DtypeError, match="weights"):
        release(SCORES)
    release(None)
