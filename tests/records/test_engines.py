"""Columns of engines are counted exactly as in memory, and nothing but counts is fetched."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from unittest import mock

import hypothesis.strategies as st
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import dpcore as dp
from dpcore.records import queries
from dpcore.records.column import Column
from dpcore.summaries.group_counts import group_counts
from tests.records.engines import NAMES, engine

pytestmark = [
    pytest.mark.needs_jit,
    # of DuckDB, about ibis
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
]

EDGE = 1.7976931348623157e308
GRIDS = (
    dp.Grid.uniform(0, 100, 37),
    dp.Grid.uniform(0.1, 77.7, 300),
    dp.Grid.uniform(-1e-3, 0.1, 10),
    dp.Grid.uniform(1e9, 1e9 + 1e-4, 37),
    dp.Grid.integers(0, 90),
    dp.Grid.log(0.01, 100, 50),
    dp.Grid([5.0]),
    dp.Grid([5.0, 6.0]),
    dp.Grid([2.0**53, 2.0**60, 2.0**63, 1e300, EDGE]),
    dp.Grid([-EDGE, -5e-324, 0.0, 5e-324]),
)
MICROSECOND = dt.timedelta(microseconds=1)
TIMES = [
    dt.datetime(2024, 1, 1) + dt.timedelta(third / 3) + MICROSECOND * shift
    for third in range(-3, 100)
    for shift in (-1, 0, 1)
]
EXACT = (
    pa.array([1, -5, 2**53, 2**53 + 1, 2**60 - 1, 2**60, 2**60 + 1, 2**63 - 1, -(2**63), 5, 91]),
    pa.array([1, 127, -128, 6, 90], "int8"),
    pa.array([True, False, True]),
    pa.array([0.1, 1e-30, 3e38, 5.0, 50.0], "float32"),
    pa.array([2**64 - 1, 2**63, 2**60 + 1, 0, 5], "uint64"),
    pa.array([Decimal(x) for x in ("5.000", "5.001", "-3.000", "2.703")], pa.decimal128(20, 3)),
    pa.array([Decimal(x) for x in (5, 2**60, 2**60 + 1, 10**30)], pa.decimal128(38, 0)),
)
MILLISECONDS, DAY = 1_704_067_200_000, 86_400_000  # 2024-01-01, and a day
DATES = pa.array([time.date() for time in TIMES])
IN_TIME = (
    (dp.Grid.uniform("2024-01-01", "2024-02-01", 31), pa.array(TIMES, pa.timestamp("us"))),
    (dp.Grid.uniform("2024-01-01", "2024-02-01", 31), DATES),
    (dp.Grid.days("2024-01-01", "2024-01-20"), DATES),
    (
        dp.Grid.uniform("2024-01-01T00:00Z", "2024-02-01T00:00Z", 7),
        pa.array([time.replace(tzinfo=dt.UTC) for time in TIMES], pa.timestamp("us", "UTC")),
    ),
    (
        dp.Grid(np.array(["2024-01-01", "2024-01-02"], "M8[us]")),
        pa.array([1704067200 * 10**9 + shift for shift in (-1, 0, 1)], pa.timestamp("ns")),
    ),
    (
        dp.Grid.uniform(dt.timedelta(0), dt.timedelta(10), 7),
        pa.array([time - TIMES[0] for time in TIMES], pa.duration("us")),
    ),
    # Of other units and zones, between which polars compares nothing.
    (
        dp.Grid(np.array(["2024-01-01", "2024-01-02T00:00:00.0005"], "M8[us]")),
        pa.array([MILLISECONDS + at for at in (-1, 0, 1, DAY, DAY + 1)], pa.timestamp("ms")),
    ),
    (
        dp.Grid.uniform("2024-01-01T00:00Z", "2024-02-01T00:00Z", 7),
        pa.array([time.replace(tzinfo=dt.UTC) for time in TIMES], pa.timestamp("us", "Asia/Tokyo")),
    ),
    (
        dp.Grid.uniform(dt.timedelta(0), dt.timedelta(10), 7),
        pa.array([DAY * day + at for day in range(12) for at in (-1, 0, 1)], pa.duration("ms")),
    ),
)
ABSENT = {"postgres": ("uint64", "timestamp[ns]", "duration[ms]")}


@pytest.fixture(scope="module", params=NAMES)
def place(request):
    with engine(request.param) as one:
        yield one


def nasty(grid):
    """Doubles at and beside the thresholds, and the extremes."""
    with np.errstate(over="ignore"):
        beside = [np.nextafter(grid.positions, end) for end in (np.inf, -np.inf)]
    extremes = [np.inf, -np.inf, 5e-324, -5e-324, 0.0, -0.0, EDGE, -EDGE]
    return np.concatenate([grid.positions, *beside, extremes])


@pytest.mark.sample(10)
@pytest.mark.parametrize("grid", GRIDS, ids=repr)
def test_doubles_at_the_thresholds(place, grid):
    values = nasty(grid)
    table = place.table({"x": values})
    np.testing.assert_array_equal(grid.count(table.x), grid.count(values))


@settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(data=st.data())
def test_any_doubles_and_any_uniform_grid(place, data):
    numbers = st.floats(-1e12, 1e12) | st.sampled_from([0.0, 0.1, 1.0, 100.0])
    lower = data.draw(numbers)
    width = data.draw(st.floats(1e-3, 1e6))
    grid = dp.Grid.uniform(
        lower, lower + max(width, abs(lower) * 1e-6), data.draw(st.integers(1, 99))
    )
    drawn = data.draw(st.lists(st.floats(allow_nan=False), max_size=30))
    values = np.concatenate([nasty(grid), drawn])
    table = place.table({"x": values})
    np.testing.assert_array_equal(grid.count(table.x), grid.count(values))


@pytest.mark.sample(7)
@pytest.mark.parametrize("values", EXACT, ids=lambda values: str(values.type))
def test_integers_and_decimals_are_compared_exactly(place, values):
    if str(values.type) in ABSENT.get(place.name, ()):
        pytest.skip(f"{place.name} has no such type")
    table = place.table({"x": values})
    for grid in GRIDS:
        np.testing.assert_array_equal(grid.count(table.x), grid.count(values))


@pytest.mark.parametrize(
    ("grid", "values"), IN_TIME, ids=lambda each: repr(getattr(each, "type", each))
)
def test_times(place, grid, values):
    if str(values.type) in ABSENT.get(place.name, ()):
        pytest.skip(f"{place.name} has no such type")
    table = place.table({"x": values})
    np.testing.assert_array_equal(grid.count(table.x), grid.count(values))
    with pytest.raises(dp.DtypeError, match="real numbers"):
        GRIDS[0].count(table.x)
    other = dp.Grid.uniform(0, 1, 3, unit=None)
    assert other.unit != grid.unit


def test_missing_values_by_the_policies(place):
    values = pa.array([1.0, None, float("nan"), 7.0])
    table = place.table({"x": values, "g": pa.array(["a", "b", None, None])})
    for grid in (GRIDS[0], GRIDS[5]):
        with pytest.raises(dp.MissingValueError, match="values"):
            grid.count(table.x)
        np.testing.assert_array_equal(
            grid.count(table.x, nan_policy="omit"), grid.count([1.0, 7.0])
        )
        with pytest.raises(dp.MissingValueError, match="values"):  # though in no group
            group_counts(table.x, table.g, grid, ["c"])
        present = table.filter(table.x == 7.0)
        with pytest.raises(dp.MissingValueError, match="by"):
            group_counts(present.x, present.g, grid, ["c"])
        own = group_counts(table.x, table.g, grid, ["b", "a"], nan_policy="omit")
        np.testing.assert_array_equal(own, [0 * own[0], grid.count([1.0])])


LABELS = {
    "text": (pa.array(["a", "A", "ä", "", "b "] * 7), ["a", "b", "b ", "", "ä", "a\0", "\ud800"]),
    "integers": (pa.array([1, 2, 3, 2**53 + 1, -1] * 7), [2**53 + 1, 2, 1.0, 7]),
    "doubles": (pa.array([0.1, -0.0, 0.5, np.inf, 3.0] * 7), [0.1, 0, 3, float("inf")]),
    "booleans": (pa.array([True, False, True, True, False] * 7), [True]),
    "bytes": (pa.array([b"a", b"\0", b"a\0", b"", b"'"] * 7), [b"a\0", b"'", b"\0"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_equal_as_in_memory(place, kind):
    labels, groups = LABELS[kind]
    values = np.linspace(-3, 110, len(labels))
    table = place.table({"x": values, "g": labels})
    for grid in (GRIDS[0], GRIDS[5]):
        wanted = group_counts(values, labels, grid, groups)
        np.testing.assert_array_equal(group_counts(table.x, table.g, grid, groups), wanted)


def test_collations_do_not_make_labels_equal():
    duck = ibis.duckdb.connect()
    duck.raw_sql("CREATE TABLE t (x DOUBLE, g VARCHAR COLLATE NOCASE)")
    duck.raw_sql("INSERT INTO t VALUES (1, 'a'), (2, 'A'), (3, 'A')")
    table, grid = duck.table("t"), dp.Grid([5.0])
    assert group_counts(table.x, table.g, grid, ["a", "A"]).tolist() == [[1], [2]]


def test_collations_of_postgres_do_not_either():
    with engine("postgres") as place:
        connection = place.connection.con
        connection.execute(
            "CREATE COLLATION blind (provider=icu, locale='und-u-ks-level2', deterministic=false)"
        )
        connection.execute("CREATE TABLE t (x float8, g text COLLATE blind, d numeric)")
        connection.execute(
            "INSERT INTO t VALUES (1, 'a', 0.1), (2, 'A', 0.1000000000000000055511151231257828), "
            "(3, 'A', 'NaN')"
        )
        connection.commit()
        table, grid = place.connection.table("t"), dp.Grid([5.0])
        assert group_counts(table.x, table.g, grid, ["a", "A"]).tolist() == [[1], [2]]
        # Decimals of any scale: the double 0.1 is between the two.
        own = dp.Grid([0.1, 0.2]).count(table.d, nan_policy="omit")
        assert own.tolist() == [1, 1]


def test_releases_equal_those_of_records_in_memory(place):
    values = np.random.default_rng(1).normal(50, 20, 500)
    labels = np.resize(["a", "b", "c"], 500)
    table = place.table({"x": values, "g": pa.array(labels.tolist())})

    def curves(column, by):
        rng = np.random.default_rng(3)
        return dp.cdf(column, GRIDS[0], by=by, groups=["a", "c"], epsilon=1.0, rng=rng)

    lazy, eager = curves(table.x, table.g), curves(values, labels)
    for group in ("a", "c"):
        np.testing.assert_array_equal(lazy[group].counts, eager[group].counts)
    assert lazy["a"].name == "x"


def test_whole_numbers_are_stated_by_the_type(place):
    table = place.table({"i": pa.array([1, 2]), "x": np.array([1.0, 2.0])})
    stated = [Column.of(column).stated(None, by_grid=False) for column in (table.i, table.x)]
    assert stated == [True, None]
    in_memory = ibis.memtable(pa.table({"i": [1, 2]}))  # a missing value would make doubles of it
    assert Column.of(in_memory.i).stated(None, by_grid=False) is None


def test_other_searches_agree(place):
    """Engines without a search of their own join with ranges."""
    if place.name != "duckdb":
        pytest.skip("ibis has no such joins here, or the engine has its own search")
    with mock.patch.object(queries, "_AS_OF", ()):
        for grid in GRIDS[5:]:
            values = nasty(grid)
            table = place.table({"x": values})
            np.testing.assert_array_equal(grid.count(table.x), grid.count(values))


def test_an_engine_that_computes_otherwise_is_noticed(place):
    """The cells of an engine are checked at the thresholds, and searched for if they are wrong."""
    if place.name == "postgres":
        pytest.skip("it always searches")
    grid, line = GRIDS[0], queries._line_of

    def other(cells):
        lower, width, scale, size = line(cells)
        return lower, np.nextafter(width, np.inf).item(), scale, size

    values = nasty(grid)
    table = place.table({"x": values})
    with mock.patch.object(queries, "_line_of", other):
        np.testing.assert_array_equal(grid.count(table.x), grid.count(values))
        with mock.patch.object(queries, "_line_holds", return_value=True):
            assert (grid.count(table.x) != grid.count(values)).any()


def test_polars_collects_nothing_but_counts(monkeypatch):
    values = np.random.default_rng(1).normal(50, 20, 10_000)
    frame = pl.LazyFrame({"x": values, "g": np.resize([1, 2, 3], 10_000)})
    table = ibis.polars.connect({"t": frame}).table("t")
    collect, collected = pl.LazyFrame.collect, []

    def noted(self, *args, **kwargs):
        result = collect(self, *args, **kwargs)
        collected.append(result)
        return result

    monkeypatch.setattr(pl.LazyFrame, "collect", noted)
    for grid in (GRIDS[0], GRIDS[5]):
        group_counts(table.x, table.g, grid, [1, 2])
        grid.count(frame.select("x"))
    records = [frame for frame in collected if "records" in frame.columns]
    assert len(records) == 4
    assert all(frame.height <= 2 * (grid.size + 2) for frame in records for grid in [GRIDS[5]])
    # All else is about the thresholds, which are public.
    public = [frame for frame in collected if "records" not in frame.columns]
    thresholds = GRIDS[0].positions
    for frame in public:
        assert frame.columns == ["value", "cell"]
        assert set(frame["value"]) <= {*thresholds, *np.nextafter(thresholds, np.inf)}
    assert public


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["b", "", "a\0", "a"])])
def test_categories_of_polars_are_text(kind):
    """A lazy frame states them as text to ibis, and polars would not join them with text."""
    labels = ["a", "", "b", None, "a\0", "a"]
    frame = pl.LazyFrame({"x": [1, 1, 1, 1, 1, 2], "g": pl.Series(labels, dtype=kind)})
    table = ibis.polars.connect({"t": frame}).table("t")
    groups = ["a", "b", "", "z"]
    counts = group_counts(table.x, table.g, dp.Grid([1.0, 2.0]), groups, nan_policy="omit")
    np.testing.assert_array_equal(counts, [[1, 1], [1, 0], [1, 0], [0, 0]])


@pytest.mark.parametrize("kind", [pl.Int128, pl.Object])
def test_types_of_polars_that_ibis_does_not_know_are_refused_by_name(kind):
    frame = pl.LazyFrame({"x": pl.Series([1, 2], dtype=kind)})
    with pytest.raises(dp.DtypeError, match=f"values must be of a type .*{kind.__name__}"):
        dp.Grid([1.0]).count(frame)


def test_lazy_frames_are_called_by_their_name():
    one, two = pl.LazyFrame({"x": [0.5]}), pl.LazyFrame({"x": [0.5], "y": [1.0]})
    for what, read in (
        ("one column of a table", lambda: dp.Grid([1.0]).count(two)),
        ("a column of the same table", lambda: group_counts(one, [1], dp.Grid([1.0]), [1])),
        ("in memory", lambda: dp.classwise_calibration([0], two, [0, 1], epsilon=1.0)),
        ("in memory", lambda: dp.roc_curve([0], one, epsilon=1.0)),
    ):
        with pytest.raises(dp.DtypeError, match=what) as caught:
            read()
        assert "ibis" not in str(caught.value)


def test_lazy_frames_that_cannot_be_made_are_told_by_the_kind_of_error(tmp_path):
    for frame in (pl.LazyFrame({"x": [1]}).select("y"), pl.scan_csv(tmp_path / "secret.csv")):
        with pytest.raises(dp.EngineError, match="polars") as caught:
            dp.Grid([1.0]).count(frame)
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None


def test_a_lack_of_memory_is_no_refusal_of_a_column(monkeypatch):
    no_memory = mock.Mock(side_effect=MemoryError)
    series = pd.Series([0.5, 0.25]), pd.Series([1, 2], ["a", "b"])
    monkeypatch.setattr(pd.Index, "equals", no_memory)
    monkeypatch.setattr(ibis.polars, "connect", no_memory)
    with pytest.raises(MemoryError):
        dp.cdf(series[0], GRIDS[0], by=series[1], groups=[1], epsilon=1.0)
    with pytest.raises(MemoryError):
        dp.Grid([1.0]).count(pl.LazyFrame({"x": [1]}))


def test_the_query_can_be_read(place):
    table = place.table({"x": np.array([1.0, 2.0]), "g": pa.array(["a", "b"])})
    text = dp.sql(table.x, GRIDS[0], by=table.g, groups=["a"])
    assert ("AGGREGATE" if place.name == "polars" else 'COUNT(*) AS "records"') in text
    with pytest.raises(dp.DtypeError, match="column of an engine"):
        dp.sql([1.0], GRIDS[0])
    with pytest.raises(dp.ParameterError, match="by must be the labels"):
        dp.sql(table.x, GRIDS[0], groups=["a"])


def frames():
    """Return two tables of two engines."""
    pair = [ibis.duckdb.connect() for _ in range(2)]
    for duck in pair:
        duck.raw_sql(
            "CREATE TABLE t AS SELECT 1.5::DOUBLE AS x, 'secret' AS g, DATE '2024-01-01' AS d"
        )
    return [duck.table("t") for duck in pair]


REFUSED = {
    "two engines": (lambda t, u: (t.x, u.g), dp.ParameterError, "one engine, .* got '2 engines'"),
    "two tables": (lambda t, u: (t.x, t.filter(t.x > 0).g), dp.ParameterError, "^by must be"),
    "memory and an engine": (lambda t, u: (t.x, ["a"]), dp.DtypeError, "^by must be a column"),
    "an engine and memory": (lambda t, u: ([1.5], t.g), dp.DtypeError, "^values must be a column"),
    "random": (lambda t, u: (t.x + ibis.random(), t.g), dp.ParameterError, "same records each"),
    "random below": (
        lambda t, u: (lambda v: (v.y, v.g))(t.mutate(y=ibis.random())),
        dp.ParameterError,
        "same records each",
    ),
    "a random label": (
        lambda t, u: (t.x, ibis.ifelse(ibis.random() > 0.5, t.g, "b")),
        dp.ParameterError,
        "^by must have the same",
    ),
    "sample": (
        lambda t, u: (lambda v: (v.x, v.g))(t.sample(0.5)),
        dp.ParameterError,
        "same records each",
    ),
    "limit": (
        lambda t, u: (lambda v: (v.x, v.g))(t.limit(1)),
        dp.ParameterError,
        "same records each",
    ),
    "text": (lambda t, u: (t.g, t.g), dp.DtypeError, "real numbers; got a column of string"),
    "a table": (lambda t, u: (t, t.g), dp.DtypeError, "one column of a table"),
    "a scalar": (lambda t, u: (t.x.sum(), t.g), dp.DtypeError, "one column of a table"),
    "no engine": (
        lambda t, u: (lambda v: (v.x, v.g))(ibis.table({"x": "float64", "g": "string"})),
        dp.ParameterError,
        "one engine",
    ),
    "dates as labels": (lambda t, u: (t.x, t.d), dp.DtypeError, "by must hold text"),
    "numbers as labels": (lambda t, u: (t.x, t.x), dp.DtypeError, "groups must be a number"),
    "a failure": (
        lambda t, u: (t.g.cast("float64"), t.g),
        dp.EngineError,
        "duckdb could not count .ConversionException",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_before_anything_is_spent(what):
    columns, kind, told = REFUSED[what]
    values, by = columns(*frames())
    with dp.Budget(epsilon=1.0) as budget, pytest.raises(kind, match=told) as caught:
        dp.cdf(values, GRIDS[0], by=by, groups=["a", "b"], epsilon=1.0)
    assert budget.spent.epsilon == 0
    error = caught.value
    assert "secret" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None


def test_groups_that_repeat_and_functions_that_need_records():
    table, _ = frames()
    with pytest.raises(dp.ParameterError, match="all different"):
        dp.cdf(table.x, GRIDS[0], by=table.g, groups=["a", "a"], epsilon=1.0)
    with pytest.raises(dp.ParameterError, match="groups must be given"):
        dp.cdf(table.x, GRIDS[0], by=table.g, epsilon=1.0)
    with pytest.raises(dp.DtypeError, match="must be in memory"):
        dp.roc_curve(table.x, table.x, epsilon=1.0)


def test_text_of_engines_that_may_fold_it_is_refused():
    with pytest.raises(dp.DtypeError, match="mysql may take different text for equal"):
        queries._as_bytes(ibis.literal("a"), "mysql")


def test_an_ordered_limit_is_taken():
    table, _ = frames()
    first = table.order_by("x").limit(1)
    assert GRIDS[6].count(first.x).tolist() == [1]
