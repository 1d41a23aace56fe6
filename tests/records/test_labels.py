"""Labels: pos_label is of the column's kind, whatever holds the column and whatever is in it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpcore as dp

GRID = dp.Grid.uniform(0, 1, 2)
INT128 = getattr(pl, "Int128", pl.Object)  # old polars have none
TEXT = ["yes", "no", None, "yes"]


def positives(labels, pos_label, nan_policy="omit"):
    scores = np.full(len(labels), 0.5)
    counts = dp.score_counts(labels, scores, GRID, pos_label=pos_label, nan_policy=nan_policy)
    return counts[2:].sum()


COLUMNS_OF_TEXT = [
    list,
    lambda v: np.array(v, object),
    lambda v: pd.Series(v, dtype=object),
    lambda v: pd.Series(v, dtype=object).fillna(math.nan),
    lambda v: pd.Series(v, dtype="string"),
    lambda v: pd.Series(v, dtype="str"),
    lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    lambda v: pd.Series(v, dtype="category"),
    lambda v: pd.Categorical(v),
    lambda v: pl.Series(v, dtype=pl.String),
    lambda v: pl.Series(v, dtype=pl.Categorical),
    lambda v: pl.Series(v, dtype=pl.Enum(["yes", "no"])),
    lambda v: pa.array(v, pa.string()),
    lambda v: pa.array(v, pa.large_string()),
    lambda v: pa.array(v, pa.string_view()),
    lambda v: pa.array(v, pa.string()).dictionary_encode(),
    lambda v: pa.chunked_array([v[:1], v[1:]], pa.string()),
    lambda v: np.array(v, np.dtypes.StringDType(na_object=None)),
]


@pytest.mark.parametrize("column", COLUMNS_OF_TEXT)
def test_labels_of_text_have_a_label_of_text(column):
    assert positives(column(TEXT), "yes") == 2
    if "Enum" in str(getattr(column(TEXT), "dtype", "")):
        with pytest.raises(dp.ParameterError, match="pos_label must be a category of the Enum"):
            positives(column(TEXT), "Yes")
    else:
        assert positives(column(TEXT), "Yes") == 0
    for wrong in (1, True, 1.0, b"yes"):
        with pytest.raises(dp.DtypeError, match="pos_label must be a string, as the labels are"):
            positives(column(TEXT), wrong)
    with pytest.raises(dp.ParameterError, match="pos_label must be given"):
        positives(column(TEXT), None)
    with pytest.raises(dp.MissingValueError, match="y_true"):
        positives(column(TEXT), "yes", "raise")


@pytest.mark.parametrize(
    "column", COLUMNS_OF_TEXT[4:5] + COLUMNS_OF_TEXT[6:7] + COLUMNS_OF_TEXT[9:]
)
def test_a_dtype_of_text_is_told_even_if_all_labels_are_missing(column):
    assert positives(column([None, None]), "yes") == 0
    with pytest.raises(dp.DtypeError, match="pos_label must be a string"):
        positives(column([None, None]), 1)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([b"yes", None, b"no"], object),
        pd.Series([b"yes", None, b"no"], dtype=pd.ArrowDtype(pa.binary())),
        pl.Series([b"yes", None, b"no"]),
        pa.array([b"yes", None, b"no"]),
        pa.array([b"yes", None, b"no"]).dictionary_encode(),
    ],
)
def test_labels_of_bytes_have_a_label_of_bytes(labels):
    assert positives(labels, b"yes") == 1
    with pytest.raises(dp.DtypeError, match="pos_label must be bytes"):
        positives(labels, "yes")


@pytest.mark.parametrize(
    "labels",
    [
        [1, None, 0, 1],
        [True, None, False, True],
        [1.0, math.nan, 0, True],
        np.array([1, None, 0, 1], object),
        pd.Series([True, None, False, True], dtype=object),
        pd.Series([1, None, 0, 1], dtype="Int8"),
        pd.Series([1, None, 0, 1], dtype="category"),
        pl.Series([True, None, False, True]),
        pl.Series([1, None, 0, 1], dtype=INT128),
        pa.array([1, None, 0, 1]).dictionary_encode(),
        np.ma.array([1, 1, 0, 1], mask=[0, 1, 0, 0]),
        [1, np.ma.masked, 0, 1],
    ],
)
@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
def test_labels_of_numbers_have_a_number(labels):
    for wanted in (None, 1, True, 1.0, np.int8(1)):
        assert positives(labels, wanted) == 2
    may_be_of_any_size = str(getattr(labels, "dtype", "object")) in ("object", "Int128", "Object")
    if may_be_of_any_size and not isinstance(labels, pa.DictionaryArray):
        assert positives(labels, 10**400) == 0
    else:
        with pytest.raises(dp.ParameterError, match="pos_label must be a number of dtype"):
            positives(labels, 10**400)
    with pytest.raises(dp.DtypeError, match="pos_label must be a number, as the labels are"):
        positives(labels, "1")
    with pytest.raises(dp.MissingValueError, match="y_true"):
        positives(labels, 1, "raise")


@pytest.mark.parametrize(
    "pos_label",
    [
        np.datetime64("NaT"),
        np.timedelta64("NaT"),
        np.timedelta64(1, "ns"),
        np.datetime64(1, "ns"),
        pd.NaT,
        pd.NA,
        np.ma.masked,
        1j,
    ],
)
def test_what_is_no_label_is_no_pos_label(pos_label):
    with pytest.raises(dp.DtypeError, match="pos_label must be a number, a string or bytes"):
        positives([0, 1], pos_label)


@pytest.mark.parametrize(
    "labels",
    [["yes", 1], [b"yes", "yes"], [b"yes", True], [None, 1, "no"]],
)
def test_labels_of_several_kinds_are_refused(labels):
    for wanted in (None, 1, "yes", b"yes"):
        with pytest.raises(dp.DtypeError, match="y_true must hold labels of one kind"):
            positives(labels, wanted)


def test_floats_may_stand_among_text():
    assert positives(["yes", math.nan, 1.0], "yes") == 1
    with pytest.raises(dp.DtypeError, match="pos_label must be a string"):
        positives(["yes", math.nan, 1.0], 1.0)


@pytest.mark.parametrize(
    "labels",
    [
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
        pd.MultiIndex.from_tuples([("a", "b")]),
        [pd.Timestamp("2020")],
        [("yes", "no")],
        [{"yes"}],
        [1j],
        np.array(["2020"], "M8[D]"),
        pl.Series([["yes"]]),
    ],
)
def test_what_is_no_label_is_refused_by_its_type(labels):
    with pytest.raises(dp.DpcoreError, match="y_true must"):
        positives(labels, "yes")


def test_text_is_compared_to_its_last_character():
    assert positives(["yes\0", "yes"], "yes") == 1
    assert positives(np.array([b"yes\0", b"yes"], object), b"yes") == 1


def test_huge_labels_are_quoted_by_their_size():
    with pytest.raises(dp.DtypeError, match="got an integer of 16610 bits"):
        positives(["yes"], 10**5000)
