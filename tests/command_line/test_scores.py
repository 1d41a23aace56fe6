"""``dpcore calibration`` and ``dpcore hosmer-lemeshow``: what they print is what was released."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line import counting
from dpcore.command_line import main as cli
from dpcore.releases.hosmer_lemeshow import FINEST, arcsine_grid
from dpcore.statistics.binning import equi_depth_bins
from dpcore.statistics.calibration import expected_calibration_error, reliability
from dpcore.statistics.hosmer_lemeshow import HosmerLemeshow

COMMANDS = ["calibration", "hosmer-lemeshow"]
FLAGS = ["--label", "y", "--score", "s"]
EXACT = [*FLAGS, "--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
RNG = np.random.default_rng(1)
SCORES = RNG.beta(2, 5, 5000)
LABELS = RNG.random(5000) < SCORES**1.3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"s": SCORES, "y": LABELS}), "t.parquet")
    return tmp_path


def run(capsys, *argv: str) -> str:
    assert cli.main([*argv]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys, *argv: str) -> str:
    """Return the error line of a run that has to fail, and has to have printed nothing else."""
    assert cli.main([*argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("dpcore: error: ").rstrip()


def table(out: str) -> list[list[float]]:
    """Return the numbers of the last paragraph, less its heading."""
    rows = out.rpartition("\n\n")[2].splitlines()[1:]
    return [[float(word) for word in row.replace("%", "").split(" -")[0].split()] for row in rows]


def curves(grid: dp.Grid) -> dp.ScoreCurves:
    return dp.score_curves(LABELS, SCORES, grid, dp.mechanisms.NoNoise())


@pytest.mark.parametrize("depth", [[], ["--equi-depth"]])
def test_calibration_of_exact_counts(folder, capsys, depth):
    out = run(capsys, "calibration", "t.parquet", *EXACT, "--bins", "5", *depth)
    exact = curves(dp.Grid.uniform(0, 1, 1000))
    found = reliability(exact, equi_depth_bins(exact, 5) if depth else 5)
    assert f"ECE         {expected_calibration_error(exact, found.bins):.4g}\n" in out
    assert f"positives   {LABELS.sum()} (released)\n" in out
    columns = [found.table[name] for name in ("lower", "upper", "mean_score", "positive_rate")]
    for row, (lower, upper, score, rate), count in zip(
        table(out), np.transpose(columns), found.counts, strict=True
    ):
        assert row[0] == pytest.approx(lower, abs=1e-4)
        assert row[1] == pytest.approx(upper, abs=1e-4)
        assert row[2] == count
        assert row[3] == pytest.approx(100 * score, abs=0.01)
        assert row[4] == pytest.approx(100 * rate, abs=0.01)


def test_empty_bins_are_left_out_of_the_table(folder, capsys):
    pq.write_table(pa.table({"s": [0.05, 0.95], "y": [0, 1]}), "two.parquet")
    assert len(table(run(capsys, "calibration", "two.parquet", *EXACT))) == 2


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("fitted", [True, False])
def test_the_test_of_exact_counts(folder, capsys, fitted):
    argv = [*EXACT, "--groups", "8", *([] if fitted else ["--not-fitted"])]
    out = run(capsys, "hosmer-lemeshow", "t.parquet", *argv)
    test = HosmerLemeshow.from_curves(curves(arcsine_grid(FINEST)), 8, fitted=fitted)
    assert out.startswith(f"cells       {FINEST} (by the records and the budget; --size sets it)\n")
    assert f"statistic   {test.statistic:.4g}, " in out
    assert f"freedom     {test.merged.size - 2 * fitted} degrees, " in out
    assert "p-value     0.001, by 999 simulated releases" in out  # too many are expected
    rows = table(out)
    assert [row[2] for row in rows] == test.observed[:, 1].tolist()
    assert [row[3] for row in rows] == pytest.approx(test.expected[:, 1], abs=0.05)


@pytest.mark.sample(1)
@pytest.mark.parametrize("epsilon", ["2", "20"])
def test_the_size_is_that_of_the_library(folder, capsys, epsilon):
    argv = ["hosmer-lemeshow", "t.parquet", *FLAGS, "--epsilon", epsilon, "--json", "o.json"]
    run(capsys, *argv)
    stored = dp.ScoreCurves.from_json(Path("o.json").read_text())
    own = dp.hosmer_lemeshow(LABELS, SCORES, epsilon=float(epsilon))
    assert stored.grid == own.simulation.curves.curves.grid
    run(capsys, *argv, "--size", "100")
    stored = dp.ScoreCurves.from_json(Path("o.json").read_text())
    assert stored.grid == arcsine_grid(100)


@pytest.mark.needs_jit
def test_groups_that_are_merged_are_marked(folder, capsys):
    pq.write_table(pa.table({"s": np.full(100, 0.5), "y": np.arange(100) % 2}), "one.parquet")
    out = run(capsys, "hosmer-lemeshow", "one.parquet", *EXACT)
    assert out.endswith("10 groups in one\n")
    assert "p-value     nan" in out  # no degree of freedom is left


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_stored_is_what_is_printed_and_drawn(folder, capsys, command):
    argv = [command, "t.parquet", *FLAGS, "--epsilon", "2"]  # enough to be told without a warning
    out = run(capsys, *argv, "--json", "o.json", "--plot", "o.svg")
    stored = dp.ScoreCurves.from_json(Path("o.json").read_text())
    assert stored.privacy == dp.Privacy(2.0)
    assert f"positives   {stored.positives[-1]:.0f} (released)\n" in out
    if command == "calibration":
        assert f"ECE         {expected_calibration_error(stored):.4g}\n" in out
    else:
        mechanism = dp.mechanisms.from_curve(stored.joint)
        test = HosmerLemeshow.from_curves(stored, mechanism=mechanism)
        assert f"statistic   {test.statistic:.4g}, " in out
        assert f"p-value     {test.pvalue:.3g}, by 999 simulated releases\n" in out
    assert Path("o.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["calibration", "--bins", "0"], "--bins must be between 1 and --size 1000; got 0"),
        (["calibration", "--size", "5"], "--bins must be between 1 and --size 5; got 10"),
        (["calibration", "--size", "0"], "--size must be between 1 and 16777216; got 0"),
        (["calibration", "--lower", "0"], "unrecognized arguments: --lower 0"),
        (["calibration", "--smooth", "2", "--mechanism", "dawa"], "--smooth needs --mechanism"),
        (["hosmer-lemeshow", "--groups", "2"], "--groups must be between 3 and 16777216; got 2"),
        (["hosmer-lemeshow", "--groups", "-1"], "--groups must be between 3 and"),
        (["hosmer-lemeshow", "--smooth", "2"], "unrecognized arguments: --smooth 2"),
        (["hosmer-lemeshow", "--size", "8388609"], "--size must be between 1 and 8388608"),
        (["hosmer-lemeshow", "--label", "s"], "--score must differ from label 's'"),
    ],
)
def test_arguments_that_are_refused_before_the_data_are_read(
    folder, capsys, monkeypatch, argv, words
):
    monkeypatch.setattr(dp, "score_counts", None)
    assert words in refused(capsys, argv[0], "t.parquet", *EXACT, *argv[1:])


def test_more_groups_than_records_are_refused_before_anything_is_released(
    folder, capsys, monkeypatch
):
    monkeypatch.setattr(dp, "score_curves_from_counts", None)
    argv = ["hosmer-lemeshow", "t.parquet", *EXACT, "--groups", "5001"]
    found = refused(capsys, *argv)
    assert found == "--groups must be at most the number of records, 5000; got 5001"


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_read_if_nothing_can_be_written(folder, capsys, monkeypatch, command):
    monkeypatch.setattr(counting, "record_batches", None)
    found = refused(capsys, command, "t.parquet", *EXACT, "--json", "none/o.json")
    assert found.startswith("--json")


@pytest.mark.parametrize("command", COMMANDS)
def test_help(capsys, command):
    assert "--positive" in run(capsys, command, "--help")
