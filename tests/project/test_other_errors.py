"""Arguments whose fault shows late: in a combination, in a path, in an overflow, in a long wait."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import dpcore as dp
from dpcore import mechanisms, studies, trust
from dpcore import statistics as st
from dpcore.records.files import Column, column_batches, record_batches
from dpcore.records.sources import FileError
from dpcore.streams import RunningCount

NAMES = ["a\0b", "\ud800", "x" * 5000]
OPENED = {
    "Budget.open": lambda path: dp.Budget.open(path, epsilon=1.0),
    "column_batches": lambda path: list(column_batches(path, "x", format="csv")),
    "RunningCount.resume": RunningCount.resume,
    "RunningCount.save": lambda path: RunningCount(8, epsilon=1.0).save(path),
    "studies.load": studies.load,
    "studies.run": lambda path: studies.run(
        studies.Study(lambda n, rng: {"x": n}, {"n": [1]}), replicates=1, seed=1, out=path
    ),
}


@pytest.mark.parametrize("name", NAMES, ids=["null", "surrogate", "long"])
@pytest.mark.parametrize("function", OPENED)
def test_names_that_no_file_has(function, name):
    with pytest.raises((dp.ParameterError, FileError)) as raised:
        OPENED[function](name)
    assert len(str(raised.value)) < 700


@pytest.mark.parametrize("mechanism", [None, mechanisms.Dyadic(1.0)])
@pytest.mark.parametrize(
    "function",
    [
        st.expected_calibration_error_interval,
        st.population_expected_calibration_error_interval,
    ],
)
def test_calibration_of_what_is_no_curve(function, mechanism):
    with pytest.raises(dp.DtypeError, match=r"^curves must be ScoreCurves"):
        function([1, 2], 3, mechanism=mechanism)


@pytest.mark.parametrize(
    "make",
    [
        lambda epsilon: trust.FunctionSharing(epsilon=epsilon),
        lambda epsilon: trust.DistributedNoise(epsilon=epsilon, clients=8),
        mechanisms.Dyadic,
        mechanisms.Hierarchy,
        mechanisms.Dawa,
    ],
)
def test_numbers_that_cannot_be_written_out(make):
    with pytest.raises(dp.ParameterError, match=r"^epsilon"):
        make(np.longdouble("1e-4900"))


@pytest.mark.parametrize("table", [pl.DataFrame({"a": [1]}), pl.LazyFrame({"a": [1]}), None, 3])
def test_results_of_what_is_no_table_of_a_study(table):
    with pytest.raises(dp.DtypeError, match=r"^table must be that of a study"):
        studies.Results(table)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_edges_of_histograms_as_far_apart_as_doubles_go():
    curve = dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), mechanisms.NoNoise())
    counts, edges = curve.histogram([-1e308, 1e308])
    assert counts.tolist() == [1.0]
    assert edges.tolist() == [-1e308, 1e308]


@pytest.mark.parametrize("deviation", [1e300, 1e141])
def test_a_stored_deviation_that_no_release_has(deviation):
    days = dp.Grid.uniform(np.datetime64("2020-01-01"), np.datetime64("2021-01-01"), 4)
    rng = np.random.default_rng(1)
    curve = dp.cdf(np.array(["2020-05-05"], "M8[D]"), days, mechanisms.Dyadic(20.0), rng=rng)
    stored = json.loads(curve.to_json())
    stored["noise_deviation"] = [[deviation, 4]]
    with pytest.raises(dp.FormatError, match=r"noise_deviation must be at most 1e"):
        dp.CDF.from_json(json.dumps(stored))
    stored["noise_deviation"] = [[1e-3, 4]]
    stored["counts"] = [0.0, 0.0, 0.0, -deviation]
    with pytest.raises(dp.FormatError, match=r"counts must be within \+-1e"):
        dp.CDF.from_json(json.dumps(stored))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("solver", ["graph", "osqp"])
def test_cumulative_counts_whose_differences_overflow(solver):
    with pytest.raises(dp.ParameterError, match=r"^noisy_cumulative must be within"):
        dp.smooth([-1e308, 1e308], 3, solver=solver)


def test_as_many_replicates_as_no_machine_holds():
    study = studies.Study(lambda n, rng: {"x": n}, {"n": [1, 2]})
    with pytest.raises(dp.ParameterError, match=r"TiB of memory, and .* years") as raised:
        studies.run(study, replicates=2**53, seed=1)
    assert raised.value.argument == "replicates"


def test_a_column_of_another_kind(tmp_path):
    for wrong in ("x", Column("x", "colours"), Column(3)):
        with pytest.raises(dp.DpcoreError):
            record_batches(tmp_path / "t.csv", [wrong])
    for wrong in (None, 3, memoryview(b"x\n1\n")):
        with pytest.raises(dp.DtypeError, match=r"^source must be a path or a binary stream"):
            column_batches(wrong, "x", format="csv")
