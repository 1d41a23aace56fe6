"""Results: arrays for parameters of all shapes, summaries, and what reads their tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.stats

from dpcore import errors, studies


def draw(n, rng, kind=None):
    return {"x": rng.normal(size=n).mean(), "at": rng.random(3) + n}


STUDY = studies.Study(draw, {"kind": ["b", "a"], "n": [10, 5]})
RESULTS = studies.run(STUDY, replicates=40, seed=1)


def replayed(quantity, cell, replicates):
    return np.array([STUDY.replay(i, 1, **cell)[quantity] for i in range(replicates)])


def test_the_table_is_tidy():
    table = RESULTS.table
    names = ["kind", "n", "replicate", "at", "x", "made_by", "cell"]
    assert table.column_names == names
    assert table.column("kind").to_pylist() == 80 * ["b"] + 80 * ["a"]
    assert table.column("n").to_pylist() == 2 * (40 * [10] + 40 * [5])
    assert table.column("replicate").to_pylist() == 4 * list(range(40))
    assert table.column("x").to_pylist()[:40] == list(replayed("x", {"kind": "b", "n": 10}, 40))
    assert (len(RESULTS), RESULTS.seed, RESULTS.study) == (160, 1, "draw")
    assert RESULTS.quantities == ["at", "x"]
    assert RESULTS.parameters == {"kind": ["b", "a"], "n": [10, 5]}
    assert repr(RESULTS) == "Results(draw: 160 replicates of 4 cells)"


@pytest.mark.parametrize(
    ("quantity", "selected", "match"),
    [("y", {}, "'y'"), ("x", {"m": 1}, "m"), ("x", {"n": 7}, "7")],
)
def test_what_is_not_there_is_named(quantity, selected, match):
    with pytest.raises(errors.ParameterError, match=match):
        RESULTS.array(quantity, **selected)


@pytest.mark.parametrize("table", [pa.table({"a": [1]}), 3])
def test_other_tables_are_refused(table):
    with pytest.raises(errors.DtypeError, match="table"):
        studies.Results(table)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.drop_columns(["cell"]),
        lambda table: table.append_column("name", pa.array(["x"] * len(table))),
        lambda table: table.append_column("x", table.column("x")),
        lambda table: table.set_column(6, "cell", pa.nulls(len(table), pa.string())),
    ],
)
def test_tables_whose_columns_are_others_are_refused(change):
    with pytest.raises(errors.DtypeError, match="table must be that of a study"):
        studies.Results(change(RESULTS.table))


@pytest.mark.parametrize("again", [1, 2])
def test_rows_in_another_order_are_read_as_what_they_are(again):
    rows = np.random.default_rng(1).permutation(np.tile(np.arange(160), again))
    results = studies.Results(RESULTS.table.take(pa.array(rows)))
    assert results.table.equals(RESULTS.table)
    assert np.array_equal(results.array("x"), RESULTS.array("x"))


def made_of(value, rng):
    return {"x": value() + rng.random()}


def test_functions_are_selected_as_they_are_called():
    study = studies.Study(made_of, {"value": [int, float]})
    results = studies.run(study, replicates=2, seed=1)
    assert np.array_equal(results.array("x", value=float), results.array("x", value="float"))


def by_kind(rng, n=0, kind="none"):
    return {"x": rng.random()}


def test_cells_that_are_no_grid_are_no_array():
    study = studies.Study(by_kind, [{"n": [1, 2]}, {"n": 1, "kind": ["a", "b"]}])
    results = studies.run(study, replicates=2, seed=1)
    assert results.parameters == {"n": [1, 2], "kind": ["a", "b"]}
    assert results.table.column("kind").to_pylist() == 4 * [None] + ["a", "a", "b", "b"]
    with pytest.raises(errors.ParameterError, match="must be known for all combinations"):
        results.array("x")
    assert results.array("x", kind="a").shape == (2,)
    assert results.summary().num_rows == 4


def test_summaries_are_what_numpy_and_scipy_say():
    table = RESULTS.summary(level=0.9, quantiles=[0, 0.5, 0.125, 1]).to_pandas()
    row = table[(table.quantity == "x") & (table.n == 5) & (table.kind == "b")].iloc[0]
    x = RESULTS.array("x", n=5, kind="b")
    interval = scipy.stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert (row["replicates"], row["undefined"]) == (40, 0)
    assert row["mean"] == pytest.approx(x.mean())
    assert (row["mean_low"], row["mean_high"]) == pytest.approx(interval)
    assert row["deviation"] == pytest.approx(x.std(ddof=1))
    quantiles = row[["q0", "q0.5", "q0.125", "q1"]].tolist()
    assert quantiles == pytest.approx(np.quantile(x, [0, 0.5, 0.125, 1]))
    row = table[(table.quantity == "at") & (table.n == 5) & (table.position == 2)].iloc[1]
    assert row["mean"] == pytest.approx(RESULTS.array("at", n=5, kind="a")[:, 2].mean())
    assert len(table) == 4 + 3 * 4


@pytest.mark.parametrize("bad", [{"level": 1}, {"level": 0}, {"quantiles": [1.5]}])
def test_bad_levels_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        RESULTS.summary(**bad)


def drawn(rng, **parameters):
    return {"x": rng.random(), "at": rng.random(2)}


def tuned(rng, n=1, **parameters):
    return {"x": rng.random(n)}


SHAPES = {
    "none": ({}, ()),
    "one value": ({"a": 1}, ()),
    "one list": ({"a": [3, 1, 2]}, (3,)),
    "one of one value": ({"a": [3, 1, 2], "b": "only"}, (3,)),
    "three": ({"a": [2, 1], "b": ["y", "x", "z"], "c": [True, False]}, (2, 3, 2)),
    "labels": ({"a": {"two": (1, 2), "none": None}, "b": [None, 0.5, np.mean]}, (2, 3)),
    "a list of cells": ([{"a": a, "b": b} for a, b in ((1, 1), (2, 2), (1, 2), (2, 1))], (2, 2)),
    "blocks that are a grid": ([{"b": [1, 2], "a": 1}, {"a": [2, 3], "b": [2, 1]}], (2, 3)),
    "more than Python counts": ({"a": range(35), "b": range(3)}, (35, 3)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_hold_what_calls_return_where_their_labels_are(shape):
    parameters, expected = SHAPES[shape]
    study = studies.Study(drawn, parameters)
    results = studies.run(study, replicates=2, seed=1)
    x, at = results.array("x"), results.array("at")
    assert (x.shape, at.shape) == ((*expected, 2), (*expected, 2, 2))
    axes = [labels for labels in results.parameters.values() if len(labels) > 1]
    names = [name for name, labels in results.parameters.items() if len(labels) > 1]
    for cell in study.cells:
        place = tuple(axis.index(cell.labels[name]) for name, axis in zip(names, axes, strict=True))
        for call in range(2):
            replayed = study.replay(call, 1, **cell.labels)
            assert x[place][call] == replayed["x"]
            assert np.array_equal(at[place][call], replayed["at"])
        assert np.array_equal(results.array("x", **cell.labels), x[place])


def test_arrays_of_other_lengths_are_chosen_one_by_one():
    results = studies.run(studies.Study(tuned, {"n": [1, 3]}), replicates=4, seed=1)
    assert results.array("x", n=3).shape == (4, 3)
    with pytest.raises(errors.ParameterError, match="must be known for all combinations"):
        results.array("x")


def test_cells_that_are_known_more_often_are_no_array(tmp_path):
    study = studies.Study(drawn, {"a": [1, 2]})
    studies.run(study, replicates=2, seed=1, out=tmp_path)
    studies.run(study.over(a=2), replicates=3, out=tmp_path)
    results = studies.load(tmp_path)
    with pytest.raises(errors.ParameterError, match="equally often for each"):
        results.array("x")
    assert results.array("x", a=2).shape == (3,)


def test_results_of_some_rows_of_a_table():
    table = studies.run(studies.Study(drawn, {"a": [1, 2]}), replicates=3, seed=1).table
    some = studies.Results(table.slice(0, 3))
    assert some.array("x", a=1).tolist() == table.column("x").to_pylist()[:3]
    with pytest.raises(errors.ParameterError, match="must be known for all combinations"):
        some.array("x")
    assert studies.Results(table.slice(0, 0)).summary().num_rows == 0


@pytest.mark.parametrize("known", [1, 2, 5])
def test_intervals_are_of_the_replicates_that_are_defined(known):
    values = np.array([0.5, 0.1, 7.0, 2.0, -1.0, *([np.nan] * 6)])[[*range(known), *range(5, 11)]]
    study = studies.Study(lambda rng, replicates: {"x": values}, {}, batch=len(values))
    (row,) = studies.run(study, replicates=len(values), seed=1).summary(level=0.8).to_pylist()
    interval = (np.nan, np.nan)  # of one number
    if known > 1:
        interval = tuple(scipy.stats.ttest_1samp(values[:known], 0).confidence_interval(0.8))
    assert (row["mean_low"], row["mean_high"]) == pytest.approx(interval, nan_ok=True)
    assert row["mean"] == pytest.approx(values[:known].mean())
    assert (row["replicates"], row["undefined"]) == (known + 6, 6)


def odd(rng):
    x = rng.random()
    always = {"nan": np.nan if x < 0.5 else x, "at": np.array([x, np.nan if x < 0.5 else 1])}
    always |= {"infinite": np.inf if x < 0.5 else x, "empty": [], "never": np.nan}
    return always if x < 0.5 else {**always, "seldom": x, "rare": [x, x]}


def test_undefined_infinite_and_missing_numbers_are_counted():
    """Whatever the first replicate had, and without a warning."""
    results = studies.run(studies.Study(odd, {}), replicates=30, seed=1)
    x = results.array("seldom")
    n = int(np.isnan(x).sum())
    assert 0 < n < 30
    assert results.array("empty").shape == (30, 0)
    summary = {(r["quantity"], r["position"]): r for r in results.summary().to_pylist()}
    undefined = {key: row["undefined"] for key, row in summary.items()}
    assert undefined == {
        ("nan", None): n,
        ("seldom", None): n,
        ("at", 0): 0,
        ("at", 1): n,
        ("infinite", None): 0,
        ("never", None): 30,
        ("rare", 0): n,
        ("rare", 1): n,
    }
    assert summary["seldom", None]["mean"] == pytest.approx(np.nanmean(x))
    assert summary["infinite", None]["mean"] == np.inf
    assert np.isnan(summary["infinite", None]["deviation"])
    assert np.isnan(summary["never", None]["mean"])
    assert summary["at", 1]["mean"] == 1.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, np.inf, np.inf], [1, np.inf, np.inf]),
        ([-np.inf, -np.inf, 1.0], [-np.inf, -np.inf, 1]),
        ([-np.inf, 0.0, np.inf], [-np.inf, 0, np.inf]),
    ],
)
def test_quantiles_of_infinite_numbers_are_infinite(values, expected):
    study = studies.Study(lambda rng, replicates: {"x": values}, {}, batch=3)
    (row,) = studies.run(study, replicates=3, seed=1).summary(quantiles=[0, 0.5, 1]).to_pylist()
    assert [row["q0"], row["q0.5"], row["q1"]] == expected


@pytest.mark.parametrize("read", [pl.DataFrame, lambda results: pa.table(results).to_pandas()])
def test_whatever_reads_arrow_reads_results(read):
    frame = read(RESULTS)
    assert list(frame["x"]) == RESULTS.table.column("x").to_pylist()
    assert list(frame.columns) == RESULTS.table.column_names


@pytest.mark.parametrize("read", [pd.read_parquet, pl.read_parquet])
def test_files_are_read_by_themselves(read, tmp_path):
    studies.run(STUDY, replicates=2, seed=1, out=tmp_path)
    frame = read(tmp_path / "replicates.parquet")
    x = RESULTS.array("x")[:, :, :2].ravel()
    assert list(frame["x"]) == x.tolist()
    assert np.array_equal(next(iter(frame["at"])), RESULTS.array("at")[0, 0, 0])
    assert list(frame["kind"]) == 4 * ["b"] + 4 * ["a"]
    assert "mean" in read(tmp_path / "summary.parquet").columns
