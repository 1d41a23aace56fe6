"""Groups as Arrow tables: exact round trips, also through files, and damages that are refused."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import dpcore as dp

pytestmark = pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")


def released(groups=("a", "b", "c"), **how):
    values = np.random.default_rng(3).uniform(0, 16, 600)
    how = how or {"epsilon": 1.0}
    by = list(groups) * (600 // len(groups))
    grid = dp.Grid.uniform(0, 16, 16)
    return dp.cdf(values, grid, by=by, groups=list(groups), **how)


WAYS = {
    "default": {"epsilon": 0.5},
    "rho": {"rho": Fraction(1, 3), "neighbours": "replace-one-within-group"},
    "approximate": {"epsilon": 1.0, "delta": 1e-6},
    "raw": {"epsilon": 1.0, "isotonic": False},
    "simulated": {"epsilon": 1.0, "rng": np.random.default_rng(1)},
    "whole numbers": {"epsilon": 1.0, "integers": True},
    "data-dependent": {"mechanism": dp.mechanisms.Dawa(1.0)},
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_groups_come_back_exactly_from_a_table_and_from_a_file_of_it(way, tmp_path):
    found = released(**way)
    for groups in (found, found.isotonic(), dp.GroupedCDF(found.groups, tuple(found.values()))):
        table = groups.to_arrow()
        pq.write_table(table, tmp_path / "groups.parquet")
        for given in (table, pq.read_table(tmp_path / "groups.parquet")):
            read = dp.GroupedCDF.from_arrow(given)
            assert read == groups
            assert list(read) == list(groups)
            assert [one.to_json() for one in read.values()] == [
                one.to_json() for one in groups.values()
            ]


@pytest.mark.parametrize(
    "labels", [(3, 1, 2), (True, False), (0.5, np.inf, -0.0), (b"\0", b"a"), ("a", "a\0", "é")]
)
def test_labels_keep_their_type(labels):
    read = dp.GroupedCDF.from_arrow(released(labels).to_arrow())
    assert [(type(label), label) for label in read] == [(type(one), one) for one in labels]


def test_rows_and_columns_may_come_in_another_order():
    found = released()
    table = found.to_arrow()
    other = table.take([2, 0]).select(sorted(table.column_names))
    read = dp.GroupedCDF.from_arrow(other)
    assert dict(read) == {"c": found["c"], "a": found["a"]}


def test_times_keep_their_unit():
    days = np.datetime64("2026-01-01") + np.arange(200) % 100
    grid = dp.Grid.days("2026-01-01", "2026-04-30")
    found = dp.cdf(days, grid, by=["a", "b"] * 100, groups=["a", "b"], epsilon=1.0)
    read = dp.GroupedCDF.from_arrow(found.to_arrow())
    assert read == found
    assert np.array_equal(read.quantile(0.5), found.quantile(0.5))


def test_what_a_table_cannot_hold_is_refused():
    with pytest.raises(dp.ParameterError, match=r"groups must be of one type .* got 'int, str'"):
        dp.GroupedCDF(("a", 1), tuple(released(("a", "b")).values())).to_arrow()
    for label in ("a\udc80", 2**64):
        of = dp.GroupedCDF((label,), (released(("a", "b"))["a"],))
        with pytest.raises(dp.ParameterError, match="groups must be text of UTF-8, or integers"):
            of.to_arrow()
        assert of.to_frame()["group"].tolist() == [label] * 16
    exact = released(mechanism=dp.mechanisms.NoNoise())
    with pytest.raises(dp.ParameterError, match="must be finite: an exact curve is not a release"):
        exact.to_arrow()
    first, second = released(("a", "b")).values()
    mixed = dp.GroupedCDF(("a", "b"), (first, second.as_released()))
    with pytest.raises(dp.ParameterError, match="be processed alike"):
        mixed.to_arrow()


def _changed(table, name, change):
    at = table.column_names.index(name)
    return table.set_column(at, name, change(table[name].combine_chunks()))


def _numbers(change):
    def of(column):
        flat = change(column.flatten().to_numpy().copy())
        return pa.FixedSizeListArray.from_arrays(pa.array(flat), 16)

    return of


def _put(at, value):
    def change(numbers):
        numbers[at] = value
        return numbers

    return _numbers(change)


def _short(column):
    return pa.array([row[:-1] for row in column.to_pylist()], pa.list_(pa.float64(), 15))


def _null(column):
    return pa.array([None, *column.to_pylist()[1:]], column.type)


def _text(text):
    return lambda column: pa.array([column.to_pylist()[0], text, text])


def _all(value):
    return lambda column: pa.array([value] * len(column))


DAMAGES = {
    "a count beyond doubles' squares": ("counts", _put(20, 1e200)),
    "a count of NaN": ("counts", _put(20, np.nan)),
    "an end that is not n": ("counts", _put(31, 1.0)),
    "a raw count of infinity": ("raw", _put(20, np.inf)),
    "a raw end that is not n": ("raw", _put(31, 1.0)),
    "a deviation below 0": ("noise_deviation", _put(20, -1.0)),
    "a deviation of NaN": ("noise_deviation", _put(20, np.nan)),
    "counts as halves": ("counts", _numbers(lambda flat: flat.astype(np.float32))),
    "too few counts": ("counts", _short),
    "too few deviations": ("noise_deviation", _short),
    "one row without counts": ("counts", _null),
    "one row without raw counts": ("raw", _null),
    "no group": ("group", _null),
    "one group twice": ("group", _text("b")),
    "no n": ("n", _null),
    "n as doubles": ("n", lambda column: pc.cast(column, pa.float64())),
    "no releases": ("releases", _null),
    "releases as numbers": ("releases", lambda column: pa.array([[1]] * len(column))),
    "a guarantee that is no JSON": ("privacy", _text("{")),
    "a guarantee without epsilon": ("privacy", _text("{}")),
    "a negative epsilon": (
        "privacy",
        _text('{"epsilon": -1, "delta": 0, "neighbours": "replace-one", "simulated": false}'),
    ),
    "no mechanism": ("mechanism", _null),
    "a mechanism that is a list": ("mechanism", _text("[]")),
    "a guarantee as a list of texts": ("privacy", _all(["{}"])),
    "a mechanism as an object of Arrow": ("mechanism", _all({"name": "histogram"})),
    "deviations as one number": ("noise_deviation", _all(1.0)),
    "deviations as integers": ("noise_deviation", _numbers(lambda flat: flat.astype(np.int64))),
    "a knot for a list of them": ("knots", lambda column: pa.array([None, 3, None])),
    "knots as an object": ("knots", lambda column: pa.array([None, {"at": 3}, None])),
    "knots that are no indices": ("knots", lambda column: pa.array([None, [7, 3], None])),
    "a knot of null": ("knots", lambda column: pa.array([None, [3, None, 15], None])),
    "a later release as a number": ("releases", lambda column: pa.array([[], [1], []])),
    "a release of null": ("releases", lambda column: pa.array([["a"], ["b", None], ["c"]])),
}


@pytest.mark.parametrize(("name", "change"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_column_is_refused(name, change):
    table = _changed(released().to_arrow(), name, change)
    with pytest.raises(dp.DpcoreError):
        dp.GroupedCDF.from_arrow(table)


def _with(**changes):
    table = released().to_arrow()
    shared = json.loads(table.schema.metadata[b"dpcore"])
    return table.replace_schema_metadata({b"dpcore": json.dumps(shared | changes).encode()})


@pytest.mark.parametrize(
    "table",
    [
        released().to_arrow().replace_schema_metadata(None),
        released().to_arrow().replace_schema_metadata({b"dpcore": b"[1]"}),
        released().to_arrow().replace_schema_metadata({b"dpcore": b"\xff"}),
        released().to_arrow().drop_columns(["n"]),
        released().to_arrow().slice(0, 0),
        _with(format="dpcore.cdf"),
        _with(version=2),
        _with(grid={"kind": "uniform", "lower": 0, "upper": 1, "size": 17}),
        _with(grid=None),
        _with(processing=[1]),
        _with(integers="yes"),
        _with(other=1),
        pa.table({"group": ["a"]}),
    ],
)
def test_a_table_of_another_kind_is_refused(table):
    with pytest.raises(dp.FormatError):
        dp.GroupedCDF.from_arrow(table)


@pytest.mark.parametrize("table", [None, "table", {"group": ["a"]}, released()])
def test_what_is_no_table_is_named(table):
    with pytest.raises(dp.DtypeError, match="table must be an Arrow table; got"):
        dp.GroupedCDF.from_arrow(table)
