"""Labels: of one kind, and equal to what is asked for where Python says so, in every container."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

import dpcore as dp
from dpcore.summaries.group_counts import group_counts, public_groups

GRID = dp.Grid([1.0])
INT128 = getattr(pl, "Int128", pl.Object)  # old polars have none


def positives(labels, pos_label, nan_policy="omit"):
    scores = np.full(len(labels), 0.5)
    counts = dp.score_counts(labels, scores, GRID, pos_label=pos_label, nan_policy=nan_policy)
    return counts[1]


class Text(str):
    """Text that claims to equal all text."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return isinstance(other, str)


def text_array(v):
    return np.array(v, np.dtypes.StringDType(**({"na_object": None} if None in v else {})))


# Columns that also hold what is missing; those of the second table say that they are of text.
OBJECTS_OF_TEXT = {
    "list": list,
    "objects": lambda v: np.array(v, object),
    "pandas objects": lambda v: pd.Series(v, dtype=object),
    "pandas objects, NaN": lambda v: pd.Series(v, dtype=object).fillna(math.nan),
    "pandas str": lambda v: pd.Series(v, dtype="str"),
    "pandas categories": lambda v: pd.Series(v, dtype="category"),
    "categorical": pd.Categorical,
}
TYPED_TEXT = {
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas with arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    "polars": lambda v: pl.Series(v, dtype=pl.String),
    "polars categories": lambda v: pl.Series(v, dtype=pl.Categorical),
    "polars enum": lambda v: pl.Series(v, dtype=pl.Enum(sorted({*v, "yes"} - {None}))),
    "arrow": lambda v: pa.array(v, pa.string()),
    "arrow views": lambda v: pa.array(v, pa.string_view()),
    "arrow dictionary": lambda v: pa.array(v, pa.string()).dictionary_encode(),
    "arrow chunks": lambda v: pa.chunked_array([v[:1], v[1:]], pa.large_string()),
    "numpy strings": text_array,
}
ONLY_PRESENT_TEXT = {
    "list of numpy's": lambda v: list(map(np.str_, v)),
    "list of odd ones": lambda v: list(map(Text, v)),
    "numpy": lambda v: np.array(v, str),
    "numpy, other bytes": lambda v: np.array(v, ">U4"),
    "masked": lambda v: np.ma.array(np.array(v, str), mask=[False] * len(v)),
    "arrow codes": lambda v: pa.DictionaryArray.from_arrays(
        pa.array(range(len(v)), pa.int32()), pa.array(v, pa.string())
    ),
}
COLUMNS_OF_TEXT = {**OBJECTS_OF_TEXT, **TYPED_TEXT}
TEXT_COLUMNS = {**COLUMNS_OF_TEXT, **ONLY_PRESENT_TEXT}
BYTES_COLUMNS = [
    list,
    lambda v: list(map(np.bytes_, v)),
    lambda v: np.array(v, "S4"),
    lambda v: np.array(v, object),
    lambda v: pd.Series(v, dtype=object),
    lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.binary())),
    lambda v: pl.Series(v, dtype=pl.Binary),
    lambda v: pa.array(v, pa.binary()),
    lambda v: pa.array(v, pa.binary()).dictionary_encode(),
]


def whole(v, low, high, other=None):
    return [int(x) if low <= x < high else other for x in v]


NUMBER_COLUMNS = [
    list,
    lambda v: np.array(v, object),
    lambda v: np.array(v, bool),
    lambda v: np.array(v).astype(np.float64),
    lambda v: np.array(v).astype(np.float32),
    lambda v: np.array(v).astype(np.longdouble),
    lambda v: np.array(whole(v, 1 - 2**63, 2**63, 0), np.int64),
    lambda v: np.array(whole(v, 0, 2**64, 0), np.uint64),
    lambda v: np.array(whole(v, 0, 2**8, 0), np.uint8),
    lambda v: pd.Series(v, dtype=object),
    lambda v: pd.Series(np.array(v).astype(np.float64), dtype="Float64"),
    lambda v: pd.Series(whole(v, 1 - 2**63, 2**63), dtype="Int64"),
    lambda v: pd.Series(whole(v, 0, 2**64), dtype="category"),
    lambda v: pl.Series(whole(v, 0, 2**64), dtype=pl.UInt64),
    lambda v: pa.array(whole(v, 1 - 2**63, 2**63), pa.int64()),
    lambda v: pa.array(whole(v, 1 - 2**63, 2**63), pa.int64()).dictionary_encode(),
]


# --- which label is positive


@pytest.mark.parametrize("name", COLUMNS_OF_TEXT)
def test_labels_of_text_have_a_label_of_text(name):
    labels = COLUMNS_OF_TEXT[name](["yes", "no", None, "yes"])
    assert positives(labels, "yes") == 2
    if name == "polars enum":
        with pytest.raises(dp.ParameterError, match="pos_label"):
            positives(labels, "Yes")
    else:
        assert positives(labels, "Yes") == 0
    for wrong in (1, True, 1.0, b"yes"):
        with pytest.raises(dp.DtypeError, match="pos_label must be a string"):
            positives(labels, wrong)
    with pytest.raises(dp.ParameterError, match="pos_label"):
        positives(labels, None)
    with pytest.raises(dp.MissingValueError, match="y_true"):
        positives(labels, "yes", "raise")


@pytest.mark.parametrize("column", TYPED_TEXT.values(), ids=TYPED_TEXT)
def test_a_dtype_of_text_is_told_even_if_all_labels_are_missing(column):
    assert positives(column([None, None]), "yes") == 0
    with pytest.raises(dp.DtypeError, match="pos_label must be a string"):
        positives(column([None, None]), 1)


@pytest.mark.parametrize("column", BYTES_COLUMNS[3:])
def test_labels_of_bytes_have_a_label_of_bytes(column):
    labels = column([b"yes", None, b"no"])
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
    is_of_pandas = isinstance(labels, pd.Series)  # a record may have chosen its type
    dtype = str(getattr(labels, "dtype", "object"))
    may_be_of_any_size = is_of_pandas or dtype in ("object", "Int128", "Object")
    if may_be_of_any_size and not isinstance(labels, pa.DictionaryArray):
        assert positives(labels, 10**400) == 0
    else:
        with pytest.raises(dp.ParameterError, match="pos_label"):
            positives(labels, 10**400)
    with pytest.raises(dp.DtypeError, match="pos_label must be a number"):
        positives(labels, "1")
    with pytest.raises(dp.MissingValueError, match="y_true"):
        positives(labels, 1, "raise")


NAT = np.datetime64("NaT"), np.timedelta64("NaT"), pd.NaT, pd.NA
HUGE = pytest.param(10**2000, id="huge")
TIMES = np.timedelta64(1, "ns"), np.datetime64(1, "ns"), pd.Timestamp("2020")


@pytest.mark.parametrize("pos_label", [*NAT, *TIMES, np.ma.masked, 1j, HUGE])
def test_what_is_no_label_is_no_pos_label(pos_label):
    labels = ["yes", "no"] if isinstance(pos_label, int) else [0, 1]
    with pytest.raises(dp.DtypeError, match="pos_label") as caught:
        positives(labels, pos_label)
    assert len(str(caught.value)) < 200  # huge ones are quoted by their size


@pytest.mark.parametrize("labels", [["yes", 1], [b"yes", "yes"], [b"yes", True], [None, 1, "no"]])
def test_labels_of_several_kinds_are_refused(labels):
    for wanted in (None, 1, "yes", b"yes"):
        with pytest.raises(dp.DtypeError, match="y_true"):
            positives(labels, wanted)


def test_floats_may_stand_among_text():
    assert positives(["yes", math.nan, 1.0], "yes") == 1
    with pytest.raises(dp.DtypeError, match="pos_label must be a string"):
        positives(["yes", math.nan, 1.0], 1.0)


@pytest.mark.parametrize("column", [list, tuple, lambda v: np.array(v, object)])
@pytest.mark.parametrize(
    "floats", [[math.nan] * 3, [math.nan, np.float32("nan"), None], [0.5, 1.0]]
)
def test_one_label_of_text_decides_no_refusal_of_floats(column, floats):
    assert positives(column([*floats, "yes"]), "yes") == 1
    assert positives(column(floats), "yes") == 0


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


# --- which labels are equal


WORDS = ["", "a", "a\0", "a\0\0", "\0", "a ", "A", "\xe9", "e\u0301", "\ud800", "\u212b", "\xc5"]
BYTES = [b"", b"a", b"a\0", b"a\0\0", b"\0", b"a ", b"A", b"\xff"]
NUMBERS = [0, 0.0, -0.0, 1, True, False, 1.0, -1, 0.1, 2**53, 2**53 + 1, float(2**53), 2**63 - 1]
NUMBERS += [2**63, 2**64 - 1, 2**64, -(2**63), 256, math.inf, 1e30, np.int64(1), np.float32(0.1)]
# Records may be of more types than groups.
OBJECTS = [Fraction(1), Decimal(1), Fraction(1, 10), Decimal("0.1"), np.longdouble(1)]
OBJECTS += [np.bool_(True), np.uint64(2**64 - 1), 10**400, math.nan, None, Decimal("NaN"), pd.NA]


def items(column):
    """Return the labels as Python sees them: what indexing or ``tolist`` of the column gives."""
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column.to_pylist()
    if isinstance(column, pl.Series):
        return column.to_list()
    if isinstance(column, (np.ndarray, pd.Series)) and column.dtype != np.longdouble:
        return column.tolist()
    return list(column)


def plainly(label):
    return str.__str__(label) if isinstance(label, str) else label


def equal(label, group):
    """Return whether Python says so. Text of odd classes is compared by its content."""
    if label is None or label is pd.NA:
        return False
    if isinstance(label, np.longdouble):
        return np.isfinite(label) and Fraction(*label.as_integer_ratio()) == group
    label = label.item() if isinstance(label, np.number | np.bool_) else label
    return plainly(label) == plainly(group)


def check(column, groups):
    labels = items(column)
    try:
        groups = public_groups(column, groups)
    except dp.DpcoreError:
        return  # refused: two of them are equal
    refused = None
    try:
        counts = group_counts(np.zeros(len(labels)), column, GRID, groups, nan_policy="omit")
    except dp.ParameterError as error:
        refused = error
    if refused is not None:  # the type of the column has no such label
        assert refused.argument == "groups"
        assert not any(equal(label, refused.value) for label in labels)
        return
    expected = [sum(equal(label, group) for label in labels) for group in groups]
    assert counts.ravel().tolist() == expected
    assert counts.sum() <= len(labels)


def subsets(values):
    return st.lists(st.sampled_from(values), min_size=1, max_size=8)


SOME_TEXT = st.sampled_from(list(TEXT_COLUMNS.values()))


@given(SOME_TEXT, subsets(WORDS), subsets([*WORDS, np.str_("a\0"), Text("b")]))
def test_text_is_compared_by_all_of_its_characters(column, labels, groups):
    try:
        made = column(labels)
    except (UnicodeError, pl.exceptions.PolarsError, TypeError, ValueError):
        return  # this container has no lone surrogates
    check(made, groups)


@given(st.sampled_from(BYTES_COLUMNS), subsets(BYTES), subsets([*BYTES, np.bytes_(b"a\0")]))
def test_bytes_are_compared_to_the_last_one(column, labels, groups):
    check(column(labels), groups)


FINITE = [number for number in NUMBERS if number != math.inf]


@given(st.sampled_from(NUMBER_COLUMNS), subsets(FINITE), subsets(NUMBERS))
def test_numbers_are_compared_exactly(column, labels, groups):
    check(column(labels), groups)


@given(st.sampled_from(NUMBER_COLUMNS[:2]), subsets(NUMBERS + OBJECTS), subsets(NUMBERS))
def test_objects_that_are_numbers_are_compared_exactly(column, labels, groups):
    check(column(labels), groups)


@pytest.mark.parametrize(
    "groups",
    [
        *([1, True], [1, 1.0], [0.0, -0.0], [0, False], [2**53, 2.0**53], ["a", np.str_("a")]),
        *([1, np.int64(1)], [b"a", np.bytes_(b"a")], ["a", Text("a")], [Text("a"), Text("a")]),
    ],
)
def test_groups_that_are_equal_are_refused(groups):
    with pytest.raises(dp.ParameterError, match="groups"):
        public_groups([1], groups)


@pytest.mark.parametrize(
    "groups",
    [
        *(["a", b"a"], [1, "1"], [1, math.nan], [None], [("a",)], [Fraction(1)]),
        *([time] for time in (*NAT[:2], *TIMES)),
    ],
)
def test_what_is_no_label_is_no_group(groups):
    with pytest.raises(dp.DtypeError, match="groups"):
        public_groups([1], groups)


@pytest.mark.parametrize("by", [[1, 1, 2], [1.0, 1.0, 2.0], pd.Series([1, 1, 2])], ids=repr)
def test_groups_beyond_all_doubles_have_no_records_and_are_stored(by):
    far = [10**400, -(10**400)] if isinstance(by, list) else [10**400]
    curves = dp.cdf([1.0, 1.0, 2.0], GRID, epsilon=1.0, by=by, groups=[1, *far])
    assert dp.load(curves.to_json()).groups == (1, *far)
    counts = group_counts([1.0, 1.0, 2.0], by, GRID, [1, *far])
    assert counts.sum(axis=1).tolist() == [2] + [0] * len(far)


def test_labels_that_python_does_not_write_out_are_refused_before_anything_is_spent():
    with dp.Budget(epsilon=1.0) as budget:
        with pytest.raises(dp.DtypeError, match="groups must hold numbers of at most 8192 bits"):
            dp.cdf([1.0], GRID, epsilon=1.0, by=[1], groups=[1, 10**4400])
        with pytest.raises(dp.ParameterError, match="pos_label must have at most 8192 bits"):
            dp.roc_curve([1, 0], [0.1, 0.2], epsilon=1.0, pos_label=10**4400)
    assert not budget.log


@pytest.mark.parametrize("name", [name for name in TEXT_COLUMNS if name != "polars enum"])
def test_a_group_with_null_characters_takes_no_record_of_another_one(name):
    by = TEXT_COLUMNS[name](["a"] * 500)
    groups = ["a" + "\0" * i for i in range(20)]
    found = dp.cdf(np.zeros(500), GRID, dp.mechanisms.NoNoise(), by=by, groups=groups[:1])
    assert found["a"].n == 500
    if "categor" in name or "dictionary" in name or "codes" in name:
        return  # these refuse groups that are no category
    counts = group_counts(np.zeros(500), by, GRID, groups)
    assert counts.ravel().tolist() == [500] + 19 * [0]


@pytest.mark.parametrize("column", [list, np.array, lambda v: np.array(v, object), pl.Series])
def test_a_positive_label_is_compared_to_its_last_character(column):
    for pos_label in ("a\0", np.str_("a\0")):
        assert positives(column(["a", "b", "a"]), pos_label) == 0
        assert positives(column(["a", "b", "a\0"]), pos_label) == (column is not np.array)


def test_records_have_one_group_where_partitions_are_counted():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"by": ["a", "a\0", "b"] * 4, "value": 0.0}), npartitions=3)
    counts = group_counts(frame["value"], frame["by"], GRID, ["a", "a\0", "b"])
    assert counts.ravel().tolist() == [4, 4, 4]


@pytest.mark.parametrize("size", [10**9, 2**62, 2**70])
def test_ranges_that_no_memory_holds_are_refused_by_name(size):
    labels, scores = [0, 1], [[0.5, 0.5], [0.25, 0.75]]
    with pytest.raises(dp.ParameterError, match="classes must hold at most"):
        dp.classwise_calibration(labels, scores, classes=range(size), epsilon=1.0)
    with pytest.raises(dp.ParameterError, match="groups must hold at most"):
        dp.cdf([0.5, 0.5], GRID, by=labels, groups=range(size, 0, -1), epsilon=1.0)
