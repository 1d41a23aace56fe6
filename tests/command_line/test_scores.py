"""``dpcore calibration`` and ``dpcore hosmer-lemeshow``: what they print is what was released."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line import main as cli
from dpcore.mechanisms.base import registered
from dpcore.planning.score_grid import score_grid
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


pytestmark = pytest.mark.usefixtures("scores")


@pytest.fixture
def scores(folder):
    pq.write_table(pa.table({"s": SCORES, "y": LABELS}), "t.parquet")


def table(out: str) -> list[list[float]]:
    """Return the numbers of the last paragraph, less its heading."""
    rows = out.rpartition("\n\n")[2].splitlines()[1:]
    return [[float(word) for word in row.replace("%", "").split(" -")[0].split()] for row in rows]


def curves(grid: dp.Grid) -> dp.ScoreCurves:
    return dp.score_curves(LABELS, SCORES, grid, dp.mechanisms.NoNoise())


@pytest.mark.parametrize("depth", [[], ["--equi-depth"]])
def test_calibration_of_exact_counts(ran, depth):
    out = ran("calibration", "t.parquet", *EXACT, "--bins", "5", *depth)
    exact = curves(score_grid())
    expected = reliability(exact, equi_depth_bins(exact, 5) if depth else 5)
    assert f"ECE         {expected_calibration_error(exact, expected.bins):.4g}\n" in out
    assert f"positives   {LABELS.sum()} (released)\n" in out
    columns = [expected.table[name] for name in ("lower", "upper", "mean_score", "positive_rate")]
    for row, (lower, upper, score, rate), count in zip(
        table(out), np.transpose(columns), expected.counts, strict=True
    ):
        assert row[:2] == pytest.approx([lower, upper], abs=1e-4)
        assert row[2] == count
        assert row[3:5] == pytest.approx([100 * score, 100 * rate], abs=0.01)


def test_empty_bins_are_left_out_of_the_table(ran):
    pq.write_table(pa.table({"s": [0.05, 0.95], "y": [0, 1]}), "two.parquet")
    assert len(table(ran("calibration", "two.parquet", *EXACT))) == 2


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("fitted", [True, False])
def test_the_test_of_exact_counts(ran, fitted):
    argv = [*EXACT, "--groups", "8", *([] if fitted else ["--not-fitted"])]
    out = ran("hosmer-lemeshow", "t.parquet", *argv)
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
def test_the_size_is_that_of_the_library(ran, epsilon):
    argv = ["hosmer-lemeshow", "t.parquet", *FLAGS, "--epsilon", epsilon, "--json", "o.json"]
    ran(*argv)
    stored = dp.ScoreCurves.from_json(Path("o.json").read_text())
    own = dp.hosmer_lemeshow(LABELS, SCORES, epsilon=float(epsilon))
    assert stored.grid == own.simulation.curves.grid
    ran(*argv, "--size", "100")
    stored = dp.ScoreCurves.from_json(Path("o.json").read_text())
    assert stored.grid == arcsine_grid(100)


@pytest.mark.parametrize("command", [["calibration"], ["roc", "--lower", "0", "--upper", "1"]])
@pytest.mark.parametrize("given", ["best", "dyadic", "histogram"])
@pytest.mark.parametrize("epsilon", ["0.05", "2"])
def test_grid_and_mechanism_are_those_of_the_library(capsys, command, given, epsilon):
    budget = ["--epsilon", epsilon, "--mechanism", given, "--json", "o.json", "--quiet"]
    assert cli.main([*command, "t.parquet", *FLAGS, *budget]) == 0
    stored = dp.ScoreCurves.from_json(Path("o.json").read_text())
    how = {"epsilon": float(epsilon)}
    if given != "best":
        how = {"mechanism": registered(given)(**how)}
    own = dp.score_curves(LABELS, SCORES, **how, rng=np.random.default_rng(1))
    assert stored.grid == own.grid
    assert stored.joint.mechanism == own.joint.mechanism
    assert f"cells       {own.grid.size} (by the records" in capsys.readouterr().out


@pytest.mark.needs_jit
def test_groups_that_are_merged_are_marked(capsys):
    pq.write_table(pa.table({"s": np.full(100, 0.5), "y": np.arange(100) % 2}), "one.parquet")
    assert cli.main(["hosmer-lemeshow", "one.parquet", *EXACT]) == 0
    captured = capsys.readouterr()
    assert captured.out.endswith("10 groups in one\n")
    assert "p-value     none, without a degree of freedom\n" in captured.out
    assert captured.err.startswith("dpcore: warning: 1 group of 10 is left, ")
    assert captured.err.endswith(" or a lower --minimum-expected keep more groups\n")


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_stored_is_what_is_printed_and_drawn(ran, command):
    argv = [command, "t.parquet", *FLAGS, "--epsilon", "2"]  # enough to be told without a warning
    out = ran(*argv, "--json", "o.json", "--plot", "o.svg")
    stored = dp.ScoreCurves.from_json(Path("o.json").read_text())
    assert stored.privacy == dp.Privacy(2.0)
    mechanism = dp.mechanisms.from_curve(stored.joint)
    assert f"positives   {stored.positives[-1]:.0f} (released)\n" in out
    if command == "calibration":
        error = expected_calibration_error(stored, mechanism=mechanism)
        assert f"ECE         {error:.4g}\n" in out
    else:
        test = HosmerLemeshow.from_curves(stored, mechanism=mechanism)
        assert f"statistic   {test.statistic:.4g}, " in out
        assert f"p-value     {test.pvalue:.3g}, by 999 simulated releases\n" in out
    assert Path("o.svg").read_bytes().startswith(b"<?xml")
