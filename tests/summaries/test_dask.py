"""Dask collections are counted partition by partition, to the bits of counts in memory."""

from __future__ import annotations

import os
from functools import partial

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore._threads import checked_workers
from dpcore.papers.priroc import priroc
from dpcore.records.column import Column
from dpcore.streams import RunningCount
from dpcore.summaries.rungs import Rungs
from dpcore.summaries.totals import sum_of_parts
from tests.summaries.dask_columns import GRID, X, Y, array, frame

LINEAR = dp.models.LinearRegression(1.0, x_bounds=(0, 1), y_bounds=(0, 1))
SCORES = dp.score_curves(Y, X.clip(0, 1), dp.Grid.uniform(0, 1, 8), dp.mechanisms.NoNoise())


@pytest.fixture(params=["synchronous", "threads"])
def scheduler(request):
    with dask.config.set(scheduler=request.param):
        yield


@pytest.fixture(autouse=True)
def nothing_is_gathered(monkeypatch):
    """Whatever asks NumPy for a collection would have all of it fetched."""
    for kind in (da.Array, dd.Series, dd.Index):
        monkeypatch.setattr(kind, "__array__", gather)


def gather(*_, **__):
    raise AssertionError("all partitions were gathered")


def fail(*_):
    raise AssertionError("a partition was computed")


def never(values):
    """Return an array of these values' shape and type, none of which may be asked for."""
    return array(values).map_blocks(fail, dtype=values.dtype)


COLUMNS = {
    "array": array,
    "uneven array": lambda values: array(values, (2, 0, 5_000, 1)),
    "array of unknown chunks": lambda values: (kept := array(values))[kept == kept],
    "series": lambda values: frame(x=values)["x"],
    "series of unknown divisions": lambda values: frame(x=values, divisions=False)["x"],
    "index": lambda values: frame(x=values).set_index("x", sorted=False).index,
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("made", COLUMNS.values(), ids=COLUMNS)
def test_sums_of_one_column_are_those_in_memory(made, scheduler):
    column = made(X)
    for grid in (GRID, dp.Grid(np.sort(X[:50]))):
        np.testing.assert_array_equal(grid.count(column), grid.count(X))
    np.testing.assert_array_equal(
        Rungs(0.1, 8).count(column, "raise"), Rungs(0.1, 8).count(X, "raise")
    )
    own = partial(dp.polynomial_sums, lower=-2, upper=2, degree=9)
    np.testing.assert_array_equal(own(column).sums, own(X).sums)
    assert own(column).n == X.size


@pytest.mark.parametrize("made", [each for each in COLUMNS if each != "index"])
def test_sums_of_two_columns_are_those_in_memory(made, scheduler):
    first, second = COLUMNS[made](X), COLUMNS[made](Y.astype(int) + 1) - 1
    np.testing.assert_array_equal(dp.score_counts(second, first, GRID), dp.score_counts(Y, X, GRID))
    groups = [1, 7]  # no record is in the second one
    in_groups = dp.group_counts(first, second, GRID, groups)
    np.testing.assert_array_equal(in_groups, dp.group_counts(X, Y.astype(int), GRID, groups))
    grid = dp.TableGrid(GRID, dp.Grid([0.0, 1.0]))
    np.testing.assert_array_equal(grid.count(first, second), grid.count(X, Y))


def test_an_array_and_a_series_of_the_same_partitions():
    labels = frame(y=Y)["y"]
    scores = array(X, (tuple(len(part) for part in labels.partitions),))
    expected = dp.score_counts(Y, X, GRID)
    np.testing.assert_array_equal(dp.score_counts(labels, scores, GRID), expected)
    np.testing.assert_array_equal(dp.score_counts(array(Y), array(X, 41), GRID), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "Int64", "double[pyarrow]", bool])
def test_types_of_columns(dtype):
    values = pd.Series((X * 10).astype(np.int8).clip(0, None)).astype(dtype)
    column = dd.from_pandas(values, npartitions=3)
    np.testing.assert_array_equal(GRID.count(column), GRID.count(values))
    for each in (column, values):
        curve = dp.cdf(each, GRID, epsilon=1.0)
        assert curve.integers is None  # pandas may have found the type in the records


def test_labels_that_are_text_and_missing_from_a_whole_partition():
    labels = np.where(Y, "yes", "no").astype(object)
    table = frame(y=labels, x=X)
    counts = dp.score_counts(table["y"], table["x"], GRID, pos_label="yes")
    np.testing.assert_array_equal(counts, dp.score_counts(Y, X, GRID))
    with pytest.raises(dp.ParameterError, match="pos_label"):
        dp.score_counts(table["y"], table["x"], GRID)
    labels[:2_000] = np.nan
    counts = dp.score_counts(array(labels), array(X), GRID, pos_label="yes", nan_policy="omit")
    np.testing.assert_array_equal(counts, dp.score_counts(Y[2_000:], X[2_000:], GRID))
    with pytest.raises(dp.MissingValueError, match="y_true"):
        dp.score_counts(array(labels), array(X), GRID, pos_label="yes")


def test_categories_that_dask_does_not_know():
    table = frame(y=Y.astype(int), x=X.round(1)).astype("category")
    assert not table["x"].cat.known
    np.testing.assert_array_equal(GRID.count(table["x"]), GRID.count(X.round(1)))
    counts = dp.score_counts(table["y"], table["x"], GRID)
    np.testing.assert_array_equal(counts, dp.score_counts(Y, X.round(1), GRID))
    known = frame(y=pd.Categorical(Y.astype(int)))["y"]
    curves = [dp.cdf(column, GRID, epsilon=1.0) for column in (table["y"], known)]
    assert [curve.integers for curve in curves] == [None, None]
    with pytest.raises(dp.DtypeError, match="values must hold real numbers"):
        GRID.count(frame(x=np.where(Y, "yes", "no"))["x"].astype("category"))


def test_what_is_missing_is_refused_or_left_out(scheduler):
    values, labels = X.copy(), pd.array(Y, "boolean")
    values[4_000] = np.nan
    labels[3] = pd.NA
    table = frame(x=values, y=labels, divisions=False)
    for column in (array(values), table["x"], table["x"].astype("Float64")):
        with pytest.raises(dp.MissingValueError) as caught:
            GRID.count(column)
        assert str(caught.value) == str(dp.MissingValueError("values"))
        assert GRID.count(column, nan_policy="omit").sum() == X.size - 1
    with pytest.raises(dp.MissingValueError, match="y_true"):
        dp.score_counts(table["y"], table["x"], GRID)
    counts = dp.score_counts(table["y"], table["x"], GRID, nan_policy="omit")
    np.testing.assert_array_equal(counts, dp.score_counts(labels, values, GRID, nan_policy="omit"))


@pytest.mark.parametrize(
    "summed",
    [
        lambda x, policy: dp.TableGrid(GRID, GRID).count(x, x, nan_policy=policy),
        lambda x, policy: Rungs(0.1, 8).count(x, policy),
        lambda x, policy: dp.polynomial_sums(x, -2, 2, 5, "moments", nan_policy=policy).sums,
    ],
)
def test_what_is_missing_goes_by_the_policy_in_all_sums(summed):
    values = np.where(Y, np.nan, X)
    np.testing.assert_array_equal(summed(array(values), "omit"), summed(X[~Y], "omit"))
    with pytest.raises(dp.MissingValueError):
        summed(array(values), "raise")


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (lambda column: GRID.count(column.astype(str)), "values must hold real numbers"),
        (lambda column: GRID.count(column, nan_policy="x"), "nan_policy"),
        (lambda column: GRID.count(column[None]), "values must be one-dimensional"),
        (lambda column: GRID.count(frame(x=X)), "values must be a Dask array"),
        (lambda column: GRID.count(dask.delayed(X)), "values must be a Dask array"),
        (lambda column: dp.score_counts(Y, column, GRID), "y_true must be a Dask array"),
        (lambda column: dp.score_counts(array(Y), column[1:], GRID), "y_score must have the shape"),
        (
            lambda column: dp.score_counts(frame(y=Y)["y"], column, GRID),
            "y_score must have as many",
        ),
        (lambda column: dp.TableGrid(GRID, GRID).count(column, never(X[1:])), "y must have the sh"),
        (lambda column: dp.polynomial_sums(column, 1, 0, 5), "upper"),
        (lambda column: dp.group_counts(column, Y, GRID, [0]), "by must be a Dask array"),
        (lambda column: dp.group_counts(column, column, GRID, ["a"]), "groups must be a number"),
        (lambda column: dp.group_counts(column, column, GRID), "groups"),
    ],
)
def test_nothing_is_computed_for_what_types_and_shapes_refuse(refused, words):
    column = never(X)
    with pytest.raises(dp.DpcoreError, match=f"^{words}"):
        refused(column)
    with pytest.raises(AssertionError, match="a partition was computed"):
        GRID.count(column)


def test_partitions_that_do_not_fit_each_other():
    first, second = frame(x=X)["x"], frame(x=X[:-1])["x"]
    table = dp.TableGrid(GRID, GRID)
    with pytest.raises(dp.ParameterError, match="y must have the divisions of x"):
        table.count(first, second)
    with pytest.raises(dp.ParameterError, match="y_score must have the shape of y_true"):
        dp.score_counts(first.clear_divisions(), second.clear_divisions(), GRID)
    with pytest.raises(dp.ParameterError, match="y must have the shape of x"):
        table.count(array(X), array(X)[array(X) > 0])
    counts = dp.score_counts(frame(y=Y)["y"], first.clear_divisions(), GRID)
    np.testing.assert_array_equal(counts, dp.score_counts(Y, X, GRID))


def test_what_two_columns_are_made_of_is_made_once():
    made = []

    def load(at):
        made.append(at)
        return pd.DataFrame({"y": Y[at::3], "x": X[at::3]})

    table = dd.from_map(load, range(3), meta=load(0).head(0))
    made.clear()
    counts = dp.score_counts(table["y"], table["x"], GRID)
    np.testing.assert_array_equal(counts, dp.score_counts(Y, X, GRID))
    assert sorted(made) == [0, 1, 2]


def test_objects_are_not_looked_at_to_tell_integers():
    with dask.config.set({"dataframe.convert-string": False}):
        column = dd.from_pandas(pd.Series([1, 2, 2**70] * 9, dtype=object), npartitions=3)
        curve = dp.cdf(column, GRID, epsilon=1.0)
        assert GRID.count(column)[-1] == 18
    assert curve.integers is None


@pytest.mark.parametrize(
    "released",
    [
        lambda x, y, **o: dp.cdf(x, GRID, epsilon=1.0, **o).to_json(),
        lambda x, y, **o: dp.cdf(x, GRID, by=y, groups=[1, 0], epsilon=9.0, **o).to_json(),
        lambda x, y, **o: dp.roc_curve(y, x, grid=GRID, epsilon=1.0, **o).curves.joint.to_json(),
        lambda x, y, **o: dp.table(x, y, dp.TableGrid(GRID, GRID), epsilon=1.0, **o).to_json(),
        lambda x, y, **o: dp.quantiles(x, [0.5], GRID, epsilon=1.0, **o),
        lambda x, y, **o: dp.bounds(x, epsilon=1.0, **o),
        lambda x, y, **o: dp.symmetric_bounds(x, epsilon=1.0, unit=0.1, **o),
        lambda x, y, **o: dp.compact_bounds(x, epsilon=1.0, unit=0.1, **o),
        lambda x, y, **o: dp.box_plot(x, GRID, epsilon=1.0, **o),
        lambda x, y, **o: dp.project(x, -2, 2, epsilon=1.0, delta=1e-6, **o).moments(2).tolist(),
        lambda x, y, **o: priroc(y, x, epsilon=1.0, **o),
    ],
)
def test_releases_are_those_in_memory(released):
    table, same = frame(x=X, y=Y), pd.DataFrame({"x": X, "y": Y})
    for kept, in_memory in (
        ((array(X), array(Y)), (X, Y)),
        ((table["x"], table["y"]), (same["x"], same["y"])),
    ):
        first, second = (
            released(*columns, rng=np.random.default_rng(1)) for columns in (kept, in_memory)
        )
        assert str(first) == str(second)


@pytest.mark.parametrize(
    "released",
    [
        lambda x: dp.hosmer_lemeshow(x > 0.5, x, epsilon=1.0),
        lambda x: dp.hosmer_lemeshow(x > 0.5, X, epsilon=1.0),
        lambda x: dp.residual_plot(x, X, epsilon=1.0),
        lambda x: LINEAR.fit(x, X),
        lambda x: LINEAR.fit(X[:, None], x),
        lambda x: LINEAR.fit(X[:, None] > 0, X > 0).predict(x),
        lambda x: dp.statistics.IsotonicCalibration.fit(SCORES).predict(x),
        lambda x: dp.statistics.HistogramBinning.fit(SCORES, 4).predict(x),
        lambda x: RunningCount(9, epsilon=1.0).extend(x),
        lambda x: dp.BoxPlot.from_sample(x),
        lambda x: GRID.count([x]),
        lambda x: dp.score_counts(Y, (x, x), GRID),
    ],
)
def test_what_needs_all_records_in_one_place_does_not_fetch_them(released):
    with pytest.raises(dp.DtypeError, match="must be in memory"):
        released(never(X))


def test_a_collection_that_something_else_wraps_is_not_fetched():
    class Wrapped:
        def __dask_graph__(self):
            return {}

        def __array__(self, *_, **__):
            raise AssertionError("it was fetched")

    with pytest.raises(dp.DtypeError, match="values must be a Dask array"):
        GRID.count(Wrapped())


def test_a_task_leaves_the_processors_to_other_tasks(scheduler):
    column = array(X)
    workers = sum_of_parts(lambda values: checked_workers(None), Column.of(column))
    assert workers == column.npartitions
    assert checked_workers(None) == os.cpu_count()


def test_summaries_are_not_added_into_one_another():
    ones = np.ones(3, np.int64)  # that Dask keeps
    column = array(X)
    total = sum_of_parts(lambda values: ones, Column.of(column))
    assert total.tolist() == 3 * [column.npartitions]
    assert ones.tolist() == [1, 1, 1]


def test_errors_keep_no_partition_alive(scheduler):
    with pytest.raises(dp.MissingValueError) as caught:
        GRID.count(array(np.where(Y, np.nan, X)))
    assert "_attempted" not in [frame.name for frame in caught.traceback]


def test_more_partitions_than_one_task_adds_up():
    column = da.from_array(X, chunks=7)
    assert column.npartitions > 8**3
    np.testing.assert_array_equal(GRID.count(column), GRID.count(X))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Dask's, about pandas
def test_a_folder_of_parquet_that_dask_reads(tmp_path, scheduler):
    frame(x=X, y=Y).to_parquet(tmp_path, write_index=False)
    table = dd.read_parquet(tmp_path)
    np.testing.assert_array_equal(GRID.count(table["x"]), GRID.count(X))
    counts = dp.score_counts(table["y"], table["x"], GRID)
    np.testing.assert_array_equal(counts, dp.score_counts(Y, X, GRID))
    batches = dp.files.column_batches(tmp_path, "x")
    np.testing.assert_array_equal(sum(map(GRID.count, batches)), GRID.count(X))
