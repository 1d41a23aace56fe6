"""Results: arrays, summaries, and what reads their tables."""

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


def test_arrays_have_an_axis_for_each_parameter():
    x = RESULTS.array("x")
    assert x.shape == (2, 2, 40)
    assert np.array_equal(x[1, 0], replayed("x", {"kind": "a", "n": 10}, 40))
    at = RESULTS.array("at", kind="a")
    assert at.shape == (2, 40, 3)
    assert np.array_equal(at[1], replayed("at", {"kind": "a", "n": 5}, 40))
    assert np.array_equal(RESULTS.array("at", n=np.float64(5), kind="a"), at[1])


def made_of(value, rng):
    return {"x": value() + rng.random()}


def test_functions_are_selected_as_they_are_called():
    study = studies.Study(made_of, {"value": [int, float]})
    results = studies.run(study, replicates=2, seed=1)
    assert np.array_equal(results.array("x", value=float), results.array("x", value="float"))


@pytest.mark.parametrize(
    ("arguments", "selected", "message"),
    [
        ("y", {}, r"quantity must be one of \['at', 'x'\]; got 'y'"),
        ("x", {"m": 1}, r"m must be one of a parameter, one of \['kind', 'n'\]"),
        ("x", {"n": 7}, r"n must be one of \[10, 5\]; got 7"),
    ],
)
def test_what_is_not_there_is_named(arguments, selected, message):
    with pytest.raises(errors.ParameterError, match=message):
        RESULTS.array(arguments, **selected)


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
    found = row[["q0", "q0.5", "q0.125", "q1"]].tolist()
    assert found == pytest.approx(np.quantile(x, [0, 0.5, 0.125, 1]))
    row = table[(table.quantity == "at") & (table.n == 5) & (table.position == 2)].iloc[1]
    assert row["mean"] == pytest.approx(RESULTS.array("at", n=5, kind="a")[:, 2].mean())
    assert len(table) == 4 + 3 * 4


@pytest.mark.parametrize("bad", [{"level": 1}, {"level": 0}, {"quantiles": [1.5]}])
def test_bad_levels_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        RESULTS.summary(**bad)


def odd(rng):
    x = rng.random()
    found = {"nan": np.nan if x < 0.5 else x, "at": np.array([x, np.nan if x < 0.5 else 1])}
    found |= {"infinite": np.inf if x < 0.5 else x, "empty": [], "never": np.nan, "seldom": x}
    if x < 0.5:
        del found["seldom"]
    else:
        found["rare"] = [x, x]
    return found


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


def test_one_replicate_has_no_interval():
    (row,) = studies.run(studies.Study(by_kind, {}), replicates=1, seed=1).summary().to_pylist()
    assert row["mean"] == row["q0.5"]
    assert np.isnan([row["mean_low"], row["mean_high"], row["deviation"]]).all()


@pytest.mark.parametrize("read", [pl.DataFrame, lambda found: pa.table(found).to_pandas()])
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


def test_other_tables_are_refused():
    for table in (pa.table({"a": [1]}), 3):
        with pytest.raises(errors.DtypeError, match="table must be that of a study"):
            studies.Results(table)
