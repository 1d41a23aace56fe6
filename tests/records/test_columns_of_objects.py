"""Lists and columns of objects: every number counts, and errors depend on types alone."""

from __future__ import annotations

import math
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore import trust
from dpcore.mechanisms import NoNoise
from dpcore.records.column import Column

INT128 = getattr(pl, "Int128", pl.Object)  # old polars have none
THRESHOLDS = [-(2.0**64), -1.0, 0.0, 1.0, 2.0**53, 2.0**63, 2.0**64, 1e300]
GRID = dp.Grid(THRESHOLDS)
HUGE = [2**53, 2**53 + 1, 2**63, 2**63 + 1, 2**64, 2**64 + 1, 10**400]
SPECIAL = [*HUGE, *(-each for each in HUGE), 0, 1, -1]

WHOLE = st.one_of(st.integers(), st.sampled_from(SPECIAL))
FLOATS = st.one_of(st.floats(), st.sampled_from([-0.0, math.inf, -math.inf, 2.0**53, 1e308]))
TINY = Fraction(1, 10**400)
OF_TYPE = {
    bool: st.booleans(),
    int: WHOLE,
    float: FLOATS,
    Fraction: st.one_of(st.fractions(), st.sampled_from([TINY, -TINY, 1 + TINY, 10**400 - TINY])),
    Decimal: st.one_of(
        st.decimals(allow_nan=False),
        st.sampled_from(["1e999999", "-1e999999", "1e-999999", "NaN", "sNaN"]).map(Decimal),
    ),
    type(None): st.none(),
    type(pd.NA): st.just(pd.NA),
    type(pd.NaT): st.just(pd.NaT),
    np.float32: st.floats(width=32).map(np.float32),
    np.longdouble: FLOATS.map(np.longdouble),
    np.uint64: st.integers(0, 2**64 - 1).map(np.uint64),
    np.int8: st.integers(-128, 127).map(np.int8),
    str: st.sampled_from(["a", "1", "nan", "x" * 300]),
    bytes: st.sampled_from([b"", b"1", b"\xff"]),
    np.datetime64: st.sampled_from(["2020-01-01", "NaT"]).map(lambda t: np.datetime64(t, "s")),
    np.timedelta64: st.sampled_from([1, "NaT"]).map(lambda t: np.timedelta64(t, "s")),
    complex: st.complex_numbers(allow_nan=False),
}
NUMBERS = (bool, int, float, Fraction, Decimal, np.float32, np.longdouble, np.uint64, np.int8)
ABSENT = (type(None), type(pd.NA), type(pd.NaT))
AS_ARRAY = np.float32, np.longdouble, np.uint64, np.int8


def is_missing(value):
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, ABSENT) or (isinstance(value, float | np.floating) and value != value)


def exact(value):
    """Return a number as a fraction, or an infinity."""
    if isinstance(value, Decimal) and abs(value.adjusted()) > 2000:
        sign = -1 if value < 0 else 1
        return sign * (TINY if value.adjusted() < 0 else 10**400)
    if isinstance(value, float | np.floating | Decimal) and abs(value) == math.inf:
        return math.inf if value > 0 else -math.inf
    if isinstance(value, np.floating):
        return Fraction(*value.as_integer_ratio())
    return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)


def cell(value):
    number = exact(value)
    return next((i for i, tau in enumerate(THRESHOLDS) if number <= tau), len(THRESHOLDS) - 1)


def mixed(types=tuple(OF_TYPE)):
    """Two lists of values of the same types in the same places."""
    kinds = st.lists(st.sampled_from(types), min_size=1, max_size=6)
    return kinds.flatmap(lambda t: st.tuples(*[st.tuples(*[OF_TYPE[k] for k in t])] * 2))


def outcome(call):
    """Return the error's type and message, which are the same for all values of these types."""
    try:
        call()
    except dp.MissingValueError:
        return None  # told by values: NaN is refused
    except dp.DpcoreError as error:
        return type(error), str(error)
    return None


def as_array(values):
    return np.fromiter(values, object, len(values))


WRAPS = [list, tuple, as_array, lambda v: pd.Series(as_array(v), dtype=object)]


@settings(max_examples=150)
@given(mixed(), st.sampled_from(WRAPS), st.sampled_from(["raise", "omit"]))
@example(((1, 2**53), (1, 2**64)), list, "raise")
@example(((1.0, "a"), (1.0, "nan")), list, "raise")
@example((("a", "b"), ("a", "x" * 300)), list, "raise")
@example(((b"a", "a"), (b"\xff", "a")), list, "raise")
@example(((True, None), (False, None)), list, "omit")
@example(((1.0, np.datetime64("NaT")), (1.0, np.datetime64("2020"))), list, "omit")
def test_errors_are_told_by_types(pair, wrap, nan_policy):
    told = {outcome(lambda v=v: GRID.count(wrap(v), nan_policy=nan_policy)) for v in pair}
    assert len(told) == 1
    reordered = wrap(pair[0][::-1])
    assert outcome(lambda: GRID.count(reordered, nan_policy=nan_policy)) in told
    types = set(map(type, pair[0]))
    assert (told == {None}) == types.issubset(NUMBERS + ABSENT)


@settings(max_examples=150)
@given(mixed(NUMBERS + ABSENT), st.sampled_from(WRAPS))
@example(((2**63, -1), (2**63 + 1, -1)), list)
@example(((1.5, 2**53 + 1), (0.5, 2**53)), list)
@example(((np.float32(1), 2**53 + 1), (np.float32(1), 1)), list)
@example(((Decimal("1e999999"), -TINY), (Decimal("-1e999999"), TINY)), tuple)
def test_every_number_is_counted_exactly(pair, wrap):
    values = pair[0]
    kept = [cell(value) for value in values if not is_missing(value)]
    expected = np.bincount(kept, minlength=GRID.size)
    assert np.array_equal(GRID.count(wrap(values), nan_policy="omit"), expected)
    scores = Column.of(wrap(values), "y_score").joined()
    assert np.isnan(scores).tolist() == [is_missing(value) for value in values]


LABELS = tuple(set(OF_TYPE) - {type(pd.NaT)})


@settings(max_examples=150)
@given(mixed(LABELS), st.sampled_from(WRAPS), st.sampled_from([None, 1, "a", b"1"]))
@example(((1, 2**53), (1, 2**64)), list, 1)
@example((("a", 1), ("b", 2)), list, "a")
@example((("a", 1.5), ("a", math.nan)), list, "a")
@example(((1.5,), (math.nan,)), as_array, "a")
@example(((np.longdouble(1),), (np.longdouble(2**53),)), list, "a")
@example(((Decimal(1),), (Decimal("NaN"),)), list, "a")
def test_errors_of_labels_are_told_by_types(pair, wrap, wanted):
    def count(labels):
        scores = np.zeros(len(labels))
        dp.score_counts(wrap(labels), scores, GRID, pos_label=wanted, nan_policy="omit")

    told = {outcome(lambda v=v: count(v)) for v in pair}
    assert len(told) == 1
    assert outcome(lambda: count(pair[0][::-1])) in told


@settings(max_examples=100)
@given(
    mixed(NUMBERS + ABSENT), st.sampled_from(WRAPS), st.sampled_from([None, 2**64, 2**53 + 1, 0.5])
)
@example(((2**53, 2**53 + 1, 1.5), (1, 1, 1.5)), list, 2**53 + 1)
def test_numbers_are_compared_exactly_as_labels(pair, wrap, wanted):
    labels = pair[0]
    counts = dp.score_counts(
        wrap(labels), np.zeros(len(labels)), GRID, pos_label=wanted, nan_policy="omit"
    )
    present = [exact(label) for label in labels if not is_missing(label)]
    positives = sum(label == (1 if wanted is None else wanted) for label in present)
    assert counts[: GRID.size].sum() == len(present) - positives
    assert counts[GRID.size :].sum() == positives


def same():
    return np.random.default_rng(1)


TAKE_RECORDS = [
    lambda v, **o: GRID.count(v, **o),
    lambda v, **o: dp.cdf(v, GRID, NoNoise(), **o).counts,
    lambda v, **o: dp.polynomial_sums(v, 0, 1, 3, **o).sums,
    lambda v, **o: dp.quantiles(v, [0.5], GRID, epsilon=1.0, rng=same(), **o).values,
    lambda v, **o: dp.bounds(v, epsilon=1.0, outside=0, rng=same(), **o).upper,
    lambda v, **o: dp.box_plot(v, GRID, epsilon=1.0, rng=same(), **o).median,
    lambda v, **o: dp.score_counts(np.ones(len(v), int), v, GRID, **o),
]
TAKE_WHOLE_RECORDS = [
    lambda v: dp.distances.kolmogorov_smirnov(v, [0.5]),
    lambda v: dp.distances.earth_mover(v, v),
    lambda v: dp.trust.cell_of(v[1], GRID),
    lambda v: dp.hosmer_lemeshow([0, 1, 0], v, epsilon=1.0, groups=3).n,
]


@pytest.mark.parametrize("take", [*TAKE_RECORDS, *TAKE_WHOLE_RECORDS])
def test_huge_integers_are_records_wherever_records_are_taken(take):
    clamped = take([0.5, float(2**64), -float(2**80)])
    assert np.array_equal(take([0.5, 2**64, -(2**80)]), clamped)
    assert np.array_equal(take([Fraction(1, 2), 2**64, Decimal(-(2**80))]), clamped)


def as_labels(v, **options):
    return dp.score_counts(v > 0.2, np.full(len(v), 0.5), GRID, **options)


@pytest.mark.parametrize("take", [*TAKE_RECORDS, as_labels])
def test_masked_records_are_missing(take):
    values = np.array([0.1, 0.3, 0.6])
    hidden = np.ma.array([0.1, 0.9, 0.3, 0.6], mask=[False, True, False, False])
    with pytest.raises(dp.MissingValueError):
        take(hidden)
    assert np.array_equal(take(hidden, nan_policy="omit"), take(values))
    assert np.array_equal(take(np.ma.array(values, mask=False)), take(values))


def test_client_ids_may_be_integers_of_any_size():
    trust, values = dp.trust.Central(1.0), [0.5, 0.5, 2.0]

    def counts(ids):
        rng = np.random.default_rng(1)
        return dp.trust.client_cdf(ids, values, GRID, trust, clients=2, rng=rng).counts

    for ids in ([1, 2**64, 1], [2**63, -1, 2**63], [-(2**80), 0, -(2**80)]):
        assert np.array_equal(counts(ids), counts([1, 2, 1]))


@pytest.mark.parametrize(
    "values",
    [
        [1, 2**64, 5],
        (1, -(2**80), 5),
        [1, None, 5],
        np.array([1, 2**64, 5], object),
        np.array([1, 2**63, 5], np.uint64),
        np.ma.array([1, 3, 5], mask=[0, 1, 0]),
        pd.Series([1, None, 5], dtype="Int64"),
        [True, -1, np.uint8(5)],
        [1, 2.0],
        [1.0, 2**64],
        ["1", 2**64],
    ],
)
def test_values_of_clients_are_integers_of_any_size(values):
    def reports(given):
        encoding = dp.trust.models.unary.UnaryEncoding(1.0)
        return encoding.perturb(given, 9, rng=np.random.default_rng(1))

    if len(values) == 3:
        assert np.array_equal(reports(values), reports(np.array([1, -1, 5])))
    else:
        with pytest.raises(dp.DtypeError, match="values"):
            reports(values)


def test_columns_of_other_libraries_hold_big_and_exact_numbers():
    grid = dp.Grid([0.5, 2.0**64, 2.0**70])
    decimals = [Decimal("0.5"), Decimal("0.50000000000000000001"), None]
    for values in (
        pl.Series([0, 2**64 - 1, 2**64, None], dtype=INT128),
        pd.Series([0, 2**64 - 1, 2**64, None], dtype=object),
        np.array([0, 2**64 - 1, 2**64, None], object),
        np.ma.array([0, 2**64 - 1, 2**64, 5], mask=[0, 0, 0, 1], dtype=object),
        [0, 2**64 - 1, 2**64, np.ma.masked],
    ):
        assert grid.count(values, nan_policy="omit").tolist() == [1, 2, 0]
        with pytest.raises(dp.MissingValueError):
            grid.count(values)
    for values in (
        pl.from_arrow(pa.array(decimals)),
        pa.array(decimals),
        pd.Series(decimals, dtype=pd.ArrowDtype(pa.decimal128(38, 20))),
        pd.Series(decimals),
    ):
        assert grid.count(values, nan_policy="omit").tolist() == [1, 1, 0]
    words = pa.array([2**53, 2**53 + 1, None])
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), words)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), words)
    for array in (encoded, runs):
        assert dp.Grid([2.0**53, 2.0**54]).count(array, nan_policy="omit").tolist() == [1, 1]


class Loud:
    def __array__(self, *_, **__):
        raise ValueError("secret")


class LoudList(list):
    __iter__ = Loud.__array__


def test_an_error_of_a_record_itself_does_not_pass():
    one = np.empty(2, object)
    one[0], one[1] = 1.0, Loud()
    for call in (lambda: GRID.count(one), lambda: dp.mean(one, (0, 1), epsilon=1.0)):
        with pytest.raises(dp.DtypeError, match="objects of type Loud") as caught:
            call()
        assert caught.value.__context__ is None
    rows = [[0.5, 1.0], [0.5, Loud()]]
    with pytest.raises(dp.DtypeError, match="y_prob must hold real numbers") as caught:
        dp.top_label([0, 1], rows, [0, 1])
    assert caught.value.__context__ is None
    client = trust.Client(trust.Protocol(trust.Local(1.0, clients=5), 4, b"0123456789abcdef"))
    with pytest.raises(dp.DtypeError, match="cells must be integers") as caught:
        client.report(LoudList([1]))
    assert caught.value.__context__ is None


def test_arrays_of_objects_of_pandas_may_have_any_missing_value():
    for missing in (Decimal("NaN"), Decimal("sNaN"), None):
        values = pd.array(np.array([missing, Fraction(1, 2)], object))
        assert GRID.count(values, nan_policy="omit").sum() == 1


def test_a_masked_number_in_a_list_is_missing_without_a_warning_of_its_own():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert dp.count([0.5, np.ma.masked], epsilon=1e6).value == 2
        assert GRID.count([0.5, np.ma.masked], nan_policy="omit").sum() == 1
    assert told == []


UNION = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array([0, 1])])


@pytest.mark.parametrize(
    "values",
    [
        UNION,
        pa.chunked_array([UNION]),
        pd.MultiIndex.from_tuples([(1, 2), (3, 4)]),
        pl.Series([[1], [2]]),
        pa.array([[1], [2]]),
        pa.array([{"a": 1}]),
        pd.Series([pd.Timestamp("2020", tz="UTC")]),
        pd.Series(["secret"]),
        pd.Series([None, None], dtype="string"),
        pl.Series([None, None], dtype=pl.String),
        pa.array([None, None], pa.string()),
        pa.array([None], pa.binary()),
        pl.Series(["secret"], dtype=pl.Categorical),
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        ["secret", 2**64],
        [[1], 2],
    ],
)
def test_what_is_no_column_of_numbers_is_refused_by_its_type(values):
    for nan_policy in ("raise", "omit"):
        with pytest.raises(dp.DtypeError, match="values must ") as caught:
            GRID.count(values, nan_policy=nan_policy)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (np.ones((5, 0)), r"one-dimensional; got \(5, 0\)"),
        (np.ones((2, 5)), r"one-dimensional; got \(2, 5\)"),
        ((value for value in [1, 2]), r"numbers: write list\(values\); got a generator"),
        ({1, 2}, r"numbers: write list\(values\); got a set"),
        ({1: 2}, "numbers; got a dict"),
    ],
)
def test_errors_say_what_to_write(values, told):
    with pytest.raises((dp.DtypeError, dp.ParameterError), match=told):
        dp.cdf(values, GRID, epsilon=1.0)


@pytest.mark.parametrize("rows", [[[1.0], [3.0]], [[1.0, 3.0]], [[0.0, 1.0], [0.0, 3.0]]])
@pytest.mark.parametrize("made", [list, np.array, np.ma.array])
def test_what_an_error_says_to_write_takes_the_column(rows, made):
    values = made(rows)
    with pytest.raises(dp.ParameterError, match="must be one-dimensional") as caught:
        dp.cdf(values, GRID, epsilon=1.0)
    written = re.search("write (.*);", str(caught.value))[1]
    assert list(eval(written, {"numpy": np, "values": values})) == [1.0, 3.0]


@pytest.mark.parametrize("columns", [pl.DataFrame, pd.DataFrame])
def test_labels_of_groups_may_be_the_only_column_of_a_table(columns):
    labels, values = ["a", "b", "a"], [1.0, 2.0, 3.0]
    grid, groups = dp.Grid([1.5, 3.0]), ["a", "b"]
    expected = dp.group_counts(values, labels, grid, groups)
    for by in (columns({"by": labels}), np.array(labels)[:, np.newaxis], [[x] for x in labels]):
        assert np.array_equal(dp.group_counts(values, by, grid, groups), expected)
        assert dp.counts(by, groups, epsilon=99.0).values.tolist() == [2, 1]
    kind = pl.DataFrame({"by": pl.Series(labels, dtype=pl.Enum(groups))})
    assert np.array_equal(dp.group_counts(values, kind, grid), expected)
