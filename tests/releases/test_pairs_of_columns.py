"""Columns that do not belong together are refused by types, shapes and indices, at no cost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.papers.priroc import score_curves_at_medians
from dpcore.papers.quantile_roc import quantile_roc
from dpcore.papers.smooth_roc_curve import smooth_roc_curve

N = 400
RNG = np.random.default_rng(1)
SCORES = RNG.random(N)
LABELS = (RNG.random(N) < SCORES).astype(int)
GROUPS = np.where(LABELS == 1, "a", "b")
GRID, CELLS = dp.Grid.uniform(0, 1, 8), dp.TableGrid.uniform((0, 1), (0, 1), 4)
CLIENTS = {"trust": dp.trust.Central(1.0), "clients": N}

SCORED = {
    "score_counts": lambda y, s, **how: dp.score_counts(y, s, GRID, **how),
    "score_curves": lambda y, s, **how: dp.score_curves(y, s, GRID, epsilon=1.0, **how),
    "roc_curve": lambda y, s, **how: dp.roc_curve(y, s, epsilon=1.0, **how),
    "smooth_roc_curve": lambda y, s, **how: smooth_roc_curve(y, s, epsilon=1.0, **how),
    "quantile_roc": lambda y, s, **how: quantile_roc(y, s, epsilon=1.0, **how),
    "at medians": lambda y, s, **how: score_curves_at_medians(y, s, epsilon=1.0, **how),
    "hosmer_lemeshow": lambda y, s, **how: dp.hosmer_lemeshow(y, s, epsilon=1.0, **how),
    "by groups": lambda y, s, **how: hosmer_lemeshow_by_groups(y, s, epsilon=1.0, **how),
    "clients": lambda y, s, **how: dp.trust.client_score_curves(
        np.arange(N), y, s, GRID, **CLIENTS, **how
    ),
}
PAIRS = {
    **SCORED,
    "cdf": lambda x, y: dp.cdf(y, GRID, epsilon=1.0, by=x, groups=[0, 1]),
    "table": lambda x, y: dp.table(x, y, CELLS, epsilon=1.0),
    "TableGrid.count": lambda x, y: CELLS.count(x, y),
    "residual_plot": lambda x, y: dp.residual_plot(x, y, epsilon=1.0),
    "client_cdf": lambda x, y: dp.trust.client_cdf(
        x, y, GRID, dp.trust.Central(1.0, records=64), clients=9
    ),
    "labels of clients": lambda x, y: dp.trust.client_score_curves(
        x, y > 0.5, SCORES, GRID, dp.trust.Central(1.0, records=64), clients=9
    ),
    "scores of clients": lambda x, y: dp.trust.client_score_curves(
        x, LABELS, y, GRID, dp.trust.Central(1.0, records=64), clients=9
    ),
    "cell_of": lambda y, s: dp.trust.cell_of(s, GRID, y == 1),
    "logistic": lambda y, x: dp.models.LogisticRegression(1.0, x_bounds=(0, 1)).fit(
        x.to_frame("x") if hasattr(x, "to_frame") else np.reshape(x, (-1, 1)), y
    ),
    "linear": lambda y, x: dp.models.LinearRegression(1.0, x_bounds=(0, 1), y_bounds=(0, 1)).fit(
        x.to_frame("x") if hasattr(x, "to_frame") else np.reshape(x, (-1, 1)), y
    ),
}


def refused(call, *arguments, error, match, **how):
    with dp.Budget(9.0, delta=0.5) as budget, pytest.raises(error, match=match) as caught:
        call(*arguments, **how)
    assert budget.log == ()
    return str(caught.value)


# --- pandas' index


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("index", [np.arange(N)[::-1], list(map(str, range(N)))])
def test_another_index_is_refused(name, index):
    pair = pd.Series(LABELS), pd.Series(SCORES, index)
    match = (
        r"must have the index of .*, in its order: write .*reindex.* to pair records by position"
    )
    for first, second in (pair, (pd.Series(LABELS, index), pd.Series(SCORES))):
        text = refused(PAIRS[name], first, second, error=dp.ParameterError, match=match)
        assert text.endswith("; got 'another index'")


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", PAIRS)
def test_columns_of_one_index_or_of_none_go_together(name):
    index = RNG.permutation(N)
    pairs = [
        (pd.Series(LABELS, index), pd.Series(SCORES, index.copy())),
        (pd.Series(LABELS, index), SCORES),
        (LABELS, pd.Series(SCORES, index)),
        (pd.Series(LABELS), pd.Series(SCORES, np.arange(N))),  # a range is its numbers
    ]
    for labels, scores in pairs:
        PAIRS[name](labels, scores)


def test_indices_of_equal_values_are_told_by_their_order():
    doubled = np.repeat(np.arange(N // 2), 2)
    labels, scores = pd.Series(LABELS, doubled), pd.Series(SCORES, doubled)
    with dp.Budget(epsilon=1.0):
        dp.roc_curve(labels, scores, epsilon=1.0)
    for other in (scores[::-1], pd.DataFrame({"s": SCORES}, doubled[::-1])):
        refused(SCORED["roc_curve"], labels, other, error=dp.ParameterError, match=r"^y_score")


class Unequal:
    def __eq__(self, other):
        raise ValueError("a secret")

    __hash__ = None


def test_an_index_that_cannot_be_compared_is_another_one():
    first, second = (pd.Index([*range(N - 1), Unequal()], dtype=object) for _ in range(2))
    labels, scores = pd.Series(LABELS, first), pd.Series(SCORES, second)
    text = refused(SCORED["roc_curve"], labels, scores, error=dp.ParameterError, match=r"^y_score")
    assert "secret" not in text


# --- exchanged labels and scores


OF_OBJECTS = {
    "lists": lambda values: values.tolist(),
    "objects": lambda values: values.astype(object),
}
CONTAINERS = {
    "NumPy": np.asarray,
    "pandas": pd.Series,
    "pandas, Arrow": lambda values: pd.Series(
        pa.array(values), dtype=pd.ArrowDtype(pa.array(values).type)
    ),
    "polars": pl.Series,
    "Arrow": pa.array,
    "of shape (n, 1)": lambda values: values.reshape(-1, 1),
}


@pytest.mark.parametrize("name", SCORED)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("labels", [LABELS, LABELS == 1], ids=["integers", "booleans"])
def test_exchanged_labels_and_scores_are_refused(name, container, labels):
    make = CONTAINERS[container]
    match = r"^y_true"
    refused(SCORED[name], make(SCORES), make(labels), error=dp.DtypeError, match=match)


@pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")
@pytest.mark.parametrize("name", SCORED)
@pytest.mark.parametrize("container", OF_OBJECTS)
def test_the_type_of_one_record_in_a_list_decides_no_error(name, container):
    make, labels = OF_OBJECTS[container], LABELS.astype(float)
    outcomes = []
    for last in (1, 0.5):
        scores = make(LABELS)
        scores[-1] = last
        try:
            SCORED[name](make(labels), scores)
        except dp.DpcoreError as error:
            outcomes.append(str(error))
        else:
            outcomes.append("released")
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", SCORED)
def test_labels_that_are_floats_go_with_scores_that_are_integers_if_this_is_said(name):
    SCORED[name](LABELS.astype(float), LABELS, pos_label=1)
    SCORED[name](LABELS.astype(float), SCORES)
    SCORED[name](LABELS, LABELS)


@pytest.mark.parametrize("name", SCORED)
def test_scores_are_never_text(name):
    refused(SCORED[name], LABELS, GROUPS, error=dp.DtypeError, match="must hold real numbers")


# --- labels that no record can have


@pytest.mark.parametrize(
    ("column", "label"),
    [
        (LABELS == 1, 2),
        (pl.Series(LABELS == 1), 2),
        (LABELS, 0.5),
        (LABELS.astype(np.uint8), 256),
        (pa.array(LABELS.astype(np.int32)), 2**31),
        (LABELS.astype(np.float32), 0.1),
        (LABELS.astype(float), 2**53 + 1),
        (pl.Series(GROUPS, dtype=pl.Enum(["a", "b"])), "c"),
    ],
)
def test_a_label_that_the_type_excludes_is_refused(column, label):
    kind = "must be a (number of dtype|category of the Enum)"
    found = (dp.ParameterError, f"pos_label {kind}"), (dp.ParameterError, f"groups {kind}")
    for name in SCORED:
        error, match = found[0]
        refused(SCORED[name], column, SCORES, error=error, match=match, pos_label=label)
    error, match = found[1]
    present = "a" if isinstance(label, str) else 1
    for groups in ([label], [present, label]):
        options = {"by": column, "groups": groups, "epsilon": 1.0}
        refused(dp.cdf, SCORES, GRID, error=error, match=match, **options)


class Interchanged:
    """A table that offers the dataframe interchange protocol alone."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, *arguments, **options):
        return self.table.__dataframe__(*arguments, **options)


@pytest.mark.filterwarnings("ignore:The Dataframe Interchange Protocol is deprecated")
@pytest.mark.parametrize("kind", [None, "Int64", "int64[pyarrow]"])
def test_types_of_pandas_exclude_no_label_because_a_record_may_have_chosen_them(kind):
    labels = np.tile([1, 2, 2], 40)
    series = pd.Series(labels, dtype=kind)
    groups = {"groups": [1, 1.5], "epsilon": 100.0}
    for column in (series, Interchanged(series.to_frame("by"))):
        with pytest.warns(dp.DpcoreWarning, match="group 1.5: the released number of records"):
            curves = dp.cdf(np.full(120, 0.5), GRID, by=column, **groups)
        assert abs(curves[1].n - 40) < 2
    with_one_more = pd.concat([series, pd.Series([1.5])], ignore_index=True)
    dp.cdf(np.full(121, 0.5), GRID, by=with_one_more, **groups)


def test_classes_that_the_type_excludes_are_refused():
    model = dp.models.LogisticRegression(1.0, x_bounds=(0, 1), classes=(0, 2))
    match = r"^classes must be a number of dtype bool, as .*; got 2"
    refused(model.fit, SCORES[:, None], LABELS == 1, error=dp.ParameterError, match=match)


# --- warnings, from released numbers


def told(call, *arguments, **options):
    with pytest.warns(dp.DpcoreWarning) as found:
        call(*arguments, **options, rng=np.random.default_rng(2))
    assert len(found) == 1
    return str(found[0].message)


@pytest.mark.parametrize(
    "name", ["score_curves", "roc_curve", "at medians", "hosmer_lemeshow", "by groups"]
)
def test_a_positive_label_that_no_record_has_is_told_by_its_name(name):
    text = told(SCORED[name], GROUPS, SCORES, pos_label="c")
    assert "pos_label ('c')" in text or "standard error" in text
    call = {"at medians": score_curves_at_medians, "by groups": hosmer_lemeshow_by_groups}.get(name)
    if call is not None:
        assert "pos_label ('c')" in told(call, GROUPS, SCORES, epsilon=500.0, pos_label="c")


@pytest.mark.parametrize("epsilon", [1.0, 500.0])
def test_a_group_that_no_record_has_is_told_by_its_name(epsilon):
    values, by = np.tile(SCORES, 50), np.tile(GROUPS, 50)
    text = told(dp.cdf, values, GRID, by=by, groups=["a", "b", "zz"], epsilon=epsilon)
    start = "group 'zz': the released number of records is within its noise of 0"
    assert text == f"{start}: is it a label that records have?"
