"""Containers that dpcore has never heard of work everywhere, by the protocols that they offer."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore.records.column import Column, Part

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng
N = 2_000
SCORES = RNG(1).random(N)
LABELS = (RNG(2).random(N) < SCORES).astype(np.int64)
GROUPS = np.where(LABELS, "b", "a")
GRID = dp.Grid.uniform(0, 1, 16)


class Stream:
    """A column in chunks, in Arrow's memory."""

    def __init__(self, values):
        array = values if isinstance(values, pa.Array) else pa.array(values)
        self._chunks = pa.chunked_array([array[:3], array[3:]])

    def __arrow_c_stream__(self, requested_schema=None):
        return self._chunks.__arrow_c_stream__(requested_schema)


class Once(Stream):
    """A stream that can be read once."""

    def __arrow_c_stream__(self, requested_schema=None):
        chunks, self._chunks = self._chunks, None
        return chunks.__arrow_c_stream__(requested_schema)


class Table(Stream):
    """A table with one column."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table({"private": self._chunks}).__arrow_c_stream__(requested_schema)


class Whole:
    """A column in one piece, in Arrow's memory."""

    def __init__(self, values):
        self._array = values if isinstance(values, pa.Array) else pa.array(values)

    def __arrow_c_array__(self, requested_schema=None):
        return self._array.__arrow_c_array__(requested_schema)


class Frame:
    """A data frame with one column, which knows the interchange protocol alone."""

    def __init__(self, values):
        self._array = values if isinstance(values, pa.Array) else pa.array(values)

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return pa.table({"private": self._array}).__dataframe__(nan_as_null, allow_copy)


class WithArray:
    """A column of which NumPy makes an array."""

    def __init__(self, values):
        self._array = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self._array


TYPED = {kind.__name__: kind for kind in (Stream, Once, Table, Whole)}
ALL = {**TYPED, "WithArray": WithArray}


@pytest.mark.parametrize("kind", ALL.values(), ids=ALL)
def test_curves_by_groups_quantiles_scores_and_tables(kind):
    assert np.array_equal(GRID.count(kind(SCORES)), GRID.count(SCORES))
    curve = dp.cdf(kind(SCORES), GRID, epsilon=1.0, rng=RNG(3))
    assert curve == dp.cdf(SCORES, GRID, epsilon=1.0, rng=RNG(3))
    more = {"groups": ["a", "b"], "epsilon": 1.0}
    by_groups = dp.cdf(kind(SCORES), GRID, by=kind(GROUPS), rng=RNG(3), **more)
    wanted = dp.cdf(SCORES, GRID, by=GROUPS, rng=RNG(3), **more)
    assert all(by_groups[group] == wanted[group] for group in "ab")
    medians = [
        dp.quantiles(given, 0.5, GRID, epsilon=1.0, rng=RNG(3)) for given in (SCORES, kind(SCORES))
    ]
    assert medians[0].values == medians[1].values
    scores = dp.score_curves(kind(LABELS), kind(SCORES), GRID, epsilon=1.0, rng=RNG(3))
    assert scores == dp.score_curves(LABELS, SCORES, GRID, epsilon=1.0, rng=RNG(3))
    test = dp.hosmer_lemeshow(kind(LABELS), kind(SCORES), epsilon=1.0, fitted=False, rng=RNG(3))
    assert test.n == N
    cells = dp.TableGrid(GRID, GRID)
    table = dp.table(kind(SCORES), kind(LABELS), cells, epsilon=1.0, rng=RNG(3))
    assert np.array_equal(
        table.counts, dp.table(SCORES, LABELS, cells, epsilon=1.0, rng=RNG(3)).counts
    )


COLUMNS = {
    "whole numbers": (pa.array([1, 2, 3, None], pa.int64()), True),
    "short whole numbers": (pa.array([1, 2, 3, 4], pa.uint8()), True),
    "booleans": (pa.array([True, False, True, None]), True),
    "doubles": (pa.array([1.0, 2.0, 3.0, None]), None),
    "short floats": (pa.array([1.0, 0.1, 3.0, None], pa.float32()), None),
    "decimals": (pa.array([Decimal("0.1"), Decimal(2), None, None]), None),
    "beyond doubles": (pa.array([2**53 + 1, 1, 2, 3]), True),
    "NaN and nulls": (pa.array([1.0, float("nan"), None, 2.0]), None),
    "categories": (pa.array([1, 2, 2, None]).dictionary_encode(), True),
    "none": (pa.array([], pa.int32()), True),
}
UNITS = {
    "dates": (pa.array([dt.date(2024, 1, 3), None]), "2024-01-01", "2024-02-01", True),
    "times": (pa.array([dt.datetime(2024, 1, 3, 12)]), "2024-01-01", "2024-02-01", None),
    "instants": (
        pa.array([0, None], pa.timestamp("ns", "Asia/Tokyo")),
        "1970-01-01T00Z",
        "1970-01-02T00Z",
        None,
    ),
    "durations": (
        pa.array([1500, None], pa.duration("ms")),
        dt.timedelta(0),
        dt.timedelta(seconds=9),
        None,
    ),
}


@pytest.mark.parametrize("kind", TYPED.values(), ids=TYPED)
@pytest.mark.parametrize("name", COLUMNS)
def test_the_typed_schema_speaks_as_that_of_arrow(kind, name):
    array, stated = COLUMNS[name]
    grid = dp.Grid([0.1, 1, 2, 2**53])
    wanted = grid.count(array, nan_policy="omit")
    assert np.array_equal(grid.count(kind(array), nan_policy="omit"), wanted)
    if array.null_count:
        with pytest.raises(dp.MissingValueError, match="values"):
            grid.count(kind(array))
    if len(array):
        curve = dp.cdf(kind(array), grid, dp.mechanisms.NoNoise(), nan_policy="omit")
        assert curve.integers is stated


@pytest.mark.parametrize("kind", TYPED.values(), ids=TYPED)
@pytest.mark.parametrize("name", UNITS)
def test_times_have_their_units(kind, name):
    array, lower, upper, stated = UNITS[name]
    grid = dp.Grid.uniform(lower, upper, 31)
    wanted = grid.count(array, nan_policy="omit")
    assert wanted.sum() == 1
    assert np.array_equal(grid.count(kind(array), nan_policy="omit"), wanted)
    curve = dp.cdf(kind(array), grid, dp.mechanisms.NoNoise(), nan_policy="omit")
    assert curve.integers is stated
    with pytest.raises(dp.DtypeError, match="values must hold real numbers"):
        GRID.count(kind(array))


def test_a_data_frame_of_the_interchange_protocol_is_its_only_column():
    for array, _ in (COLUMNS[name] for name in ("whole numbers", "doubles", "none")):
        wanted = GRID.count(array, nan_policy="omit")
        assert np.array_equal(GRID.count(Frame(array), nan_policy="omit"), wanted)
        curve = (
            dp.cdf(Frame(array), GRID, dp.mechanisms.NoNoise(), nan_policy="omit")
            if len(array)
            else None
        )
        assert curve is None or curve.integers is None  # dtypes of frames may follow from values
    scores = dp.score_curves(Frame(LABELS), Frame(SCORES), GRID, epsilon=1.0, rng=RNG(3))
    assert scores == dp.score_curves(LABELS, SCORES, GRID, epsilon=1.0, rng=RNG(3))


def test_a_missing_row_of_a_table_is_a_missing_value():
    rows = pa.StructArray.from_arrays([pa.array([1, 2])], ["x"], mask=pa.array([False, True]))
    with pytest.raises(dp.MissingValueError):
        GRID.count(Stream(rows))
    assert GRID.count(Stream(rows), nan_policy="omit").sum() == 1


def test_the_page_shows_it():
    page = (ROOT / "docs" / "guides" / "extending.md").read_text("utf-8")
    section = page.partition("## A column\n")[2]
    exec(section.partition("```python\n")[2].partition("```")[0], {"dp": dp})


class Tape:
    """A container without any protocol."""

    def __init__(self, values):
        self.tape = values


def test_a_new_kind_of_column_is_one_class_that_is_entered_by_being_defined():
    class TapeColumn(Column):
        @classmethod
        def takes(cls, container, libraries):
            return container is Tape

        @property
        def schema(self):
            return "int16"

        def _parts(self):
            yield Part(np.array(self.values.tape), None)

    curve = dp.cdf(
        Tape([1, 1, 0]), dp.Grid([0, 1]), dp.mechanisms.NoNoise(), by=Tape([1, 2, 2]), groups=[1, 2]
    )
    assert [own.counts.tolist() for own in curve.values()] == [[0, 1], [1, 2]]
    assert curve[1].integers
    assert isinstance(Column.of(Tape([])), TapeColumn)


class Fails:
    def __arrow_c_stream__(self, requested_schema=None):
        raise ValueError("a secret record")


@pytest.mark.parametrize(
    "given",
    [
        Fails(),
        Stream(["a secret record"]),
        Stream([["a secret record"]]),
        Stream(pa.array([{"x": 1, "y": 2}])),
        pa.table({"x": [1]}),
    ],
    ids=["a reader that fails", "text", "lists", "two columns", "a table of Arrow"],
)
def test_other_containers_are_refused_before_anything_is_spent(given):
    with dp.Budget(9.0) as budget:
        with pytest.raises(dp.DtypeError, match="values") as caught:
            dp.cdf(given, GRID, epsilon=1.0)
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None
        assert budget.spent.epsilon == 0


@pytest.mark.filterwarnings("ignore:The Dataframe Interchange Protocol is deprecated")
@pytest.mark.parametrize("last", [20, 20.5, None])
def test_one_record_does_not_change_what_a_frame_like_those_of_pandas_states(last):
    pandas = pytest.importorskip("pandas")

    class Inferred:
        def __dataframe__(self, nan_as_null=False, allow_copy=True):
            frame = pandas.DataFrame({"visits": [10] * 99 + [last]})
            return frame.__dataframe__(nan_as_null, allow_copy)

    column = Column.of(Inferred())
    assert (column.schema, column.stated(None, by_grid=False)) == (None, None)
    assert np.nansum(column.joined()) == 990 + (last or 0)


@pytest.mark.parametrize("kind", [Stream, Once, Table, Whole])
def test_sums_of_their_records(kind):
    within, exact = dp.trust.functions.Identity(0, 1), dp.trust.Central(1e9)
    total = dp.trust.vector_sum(kind([0.25, 0.5, 0.75, 1.0]), within, exact).total
    assert total == pytest.approx([2.5], abs=1e-4)
