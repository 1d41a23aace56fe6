"""Public labels and labels of records are equal where Python says so, in every container."""

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


class Text(str):
    """Text that claims to equal all text."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return isinstance(other, str)


WORDS = ["", "a", "a\0", "a\0\0", "\0", "a ", "A", "\xe9", "e\u0301", "\ud800", "\u212b", "\xc5"]
BYTES = [b"", b"a", b"a\0", b"a\0\0", b"\0", b"a ", b"A", b"\xff"]
NUMBERS = [0, 0.0, -0.0, 1, True, False, 1.0, -1, 0.1, 2**53, 2**53 + 1, float(2**53), 2**63 - 1]
NUMBERS += [2**63, 2**64 - 1, 2**64, -(2**63), 256, math.inf, 1e30, np.int64(1), np.float32(0.1)]
# Records may be of more types than groups.
OBJECTS = [
    Fraction(1),
    Decimal(1),
    Fraction(1, 10),
    Decimal("0.1"),
    np.longdouble(1),
    np.bool_(True),
]
OBJECTS += [math.nan, None, Decimal("NaN"), pd.NA, np.uint64(2**64 - 1), 10**400]


def codes(dtype, values):
    return pa.DictionaryArray.from_arrays(
        pa.array(range(len(values)), pa.int32()), pa.array(values, dtype)
    )


TEXT_COLUMNS = [
    list,
    lambda v: list(map(np.str_, v)),
    lambda v: list(map(Text, v)),
    lambda v: np.array(v, str),
    lambda v: np.array(v, ">U4"),
    lambda v: np.array(v, object),
    lambda v: np.array(v, np.dtypes.StringDType()),
    lambda v: np.ma.array(np.array(v, str), mask=[False] * len(v)),
    lambda v: pd.Series(v, dtype=object),
    lambda v: pd.Series(v, dtype="string"),
    lambda v: pd.Series(v, dtype="category"),
    lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    lambda v: pl.Series(v, dtype=pl.String),
    lambda v: pl.Series(v, dtype=pl.Categorical),
    lambda v: pl.Series(v, dtype=pl.Enum(sorted(set(v)))),
    lambda v: pa.array(v, pa.string()),
    lambda v: pa.chunked_array([v[:1], v[1:]], pa.large_string()),
    lambda v: pa.array(v, pa.string()).dictionary_encode(),
    lambda v: codes(pa.string(), v),
]
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
NUMBER_COLUMNS = [
    list,
    lambda v: np.array(v, object),
    lambda v: np.array(v, bool),
    lambda v: np.array(v).astype(np.float64),
    lambda v: np.array(v).astype(np.float32),
    lambda v: np.array(v).astype(np.longdouble),
    lambda v: np.array([int(x) if abs(x) < 2**63 else 0 for x in v], np.int64),
    lambda v: np.array([int(x) if 0 <= x < 2**64 else 0 for x in v], np.uint64),
    lambda v: np.array([int(x) if 0 <= x < 2**8 else 0 for x in v], np.uint8),
    lambda v: pd.Series(v, dtype=object),
    lambda v: pd.Series(np.array(v).astype(np.float64), dtype="Float64"),
    lambda v: pd.Series([int(x) if abs(x) < 2**63 else None for x in v], dtype="Int64"),
    lambda v: pd.Series([int(x) if 0 <= x < 2**64 else None for x in v], dtype="category"),
    lambda v: pl.Series([int(x) if 0 <= x < 2**64 else None for x in v], dtype=pl.UInt64),
    lambda v: pa.array([int(x) if abs(x) < 2**63 else None for x in v], pa.int64()),
    lambda v: pa.array(
        [int(x) if abs(x) < 2**63 else None for x in v], pa.int64()
    ).dictionary_encode(),
]


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


@given(st.sampled_from(TEXT_COLUMNS), subsets(WORDS), subsets([*WORDS, np.str_("a\0"), Text("b")]))
def test_text_is_compared_by_all_of_its_characters(column, labels, groups):
    try:
        made = column(labels)
    except (UnicodeError, pl.exceptions.PolarsError, TypeError, ValueError):
        return  # this container has no lone surrogates
    check(made, groups)


@given(st.sampled_from(BYTES_COLUMNS), subsets(BYTES), subsets([*BYTES, np.bytes_(b"a\0")]))
def test_bytes_are_compared_to_the_last_one(column, labels, groups):
    check(column(labels), groups)


@given(
    st.sampled_from(NUMBER_COLUMNS),
    subsets([x for x in NUMBERS if x != math.inf]),
    subsets(NUMBERS),
)
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
    with pytest.raises(dp.ParameterError, match="all different"):
        public_groups([1], groups)


@pytest.mark.parametrize(
    "groups",
    [
        *(
            ["a", b"a"],
            [1, "1"],
            [1, math.nan],
            [None],
            [np.datetime64("NaT")],
            [("a",)],
            [Fraction(1)],
        ),
        *([pd.Timestamp("2020-01-01")], [np.datetime64("2020", "ns")], [np.timedelta64(1, "s")]),
    ],
)
def test_what_is_no_label_is_no_group(groups):
    with pytest.raises(dp.DtypeError, match="groups must"):
        public_groups([1], groups)


@pytest.mark.parametrize("column", [0, 3, 4, 5, 6, 8, 9, 15])
def test_a_group_with_null_characters_takes_no_record_of_another_one(column):
    by = TEXT_COLUMNS[column](["a"] * 500)
    groups = ["a" + "\0" * i for i in range(20)]
    found = dp.cdf(np.zeros(500), GRID, dp.mechanisms.NoNoise(), by=by, groups=groups[:1])
    assert found["a"].n == 500
    counts = group_counts(np.zeros(500), by, GRID, groups)
    assert counts.ravel().tolist() == [500] + 19 * [0]


@pytest.mark.parametrize("pos_label", ["a\0", np.str_("a\0")])
@pytest.mark.parametrize("column", [list, np.array, lambda v: np.array(v, object), pl.Series])
def test_a_positive_label_is_compared_to_its_last_character(column, pos_label):
    counts = dp.score_counts(column(["a", "b", "a"]), [0.5] * 3, GRID, pos_label=pos_label)
    assert counts.tolist() == [3, 0]


def test_records_have_one_group_where_partitions_are_counted():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"by": ["a", "a\0", "b"] * 4, "value": 0.0}), npartitions=3)
    counts = group_counts(frame["value"], frame["by"], GRID, ["a", "a\0", "b"])
    assert counts.ravel().tolist() == [4, 4, 4]
