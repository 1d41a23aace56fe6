"""``--size`` left out: as many cells as dpcore.suggest takes, counted as on that grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.command_line import main as cli

RNG = np.random.default_rng(1)
LABELS = (RNG.random(2000) < 0.25).astype(int)
SCORES = np.clip(RNG.normal(0.35 + 0.3 * LABELS, 0.15), 0.0, 1.0)
BOUNDS = ["--lower", "0", "--upper", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{y},{s!r}\n" for y, s in zip(LABELS.tolist(), SCORES.tolist(), strict=True))
    Path("t.csv").write_text(f"y,s\n{rows}")
    return tmp_path


@pytest.mark.parametrize("budget", [["--epsilon", "0.5"], ["--rho", "0.5"]])
def test_cdf_takes_what_is_suggested_and_says_so(folder, capsys, budget):
    argv = ["cdf", "t.csv", "--column", "s", *BOUNDS, *budget, "--json", "o.json"]
    assert cli.main(argv) == 0
    curve = dp.CDF.from_json(Path("o.json").read_text())
    given = {budget[0][2:]: 0.5}
    expected = dp.suggest(n=2000, lower=0, upper=1, **given)
    assert curve.grid == expected.grid
    assert curve.mechanism == expected.mechanism.describe()
    out = capsys.readouterr().out
    assert out.startswith(f"cells       {curve.grid.size} (by the records and the budget; --size")


def test_counts_are_those_of_the_suggested_grid(folder, capsys):
    argv = ["cdf", "t.csv", "--column", "s", *BOUNDS, "--epsilon", "1e6", "--raw", "--json", "o"]
    assert cli.main([*argv, "--mechanism", "histogram"]) == 0  # noise that is zero
    curve = dp.CDF.from_json(Path("o").read_text())
    np.testing.assert_array_equal(curve.counts, np.cumsum(curve.grid.count(SCORES)))


def test_roc_takes_it_for_both_classes(folder, capsys):
    columns = ["--label", "y", "--score", "s"]
    argv = ["roc", "t.csv", *columns, *BOUNDS, "--epsilon", "1e6", "--json", "o.json"]
    assert cli.main([*argv, "--mechanism", "histogram"]) == 0
    curves = dp.ScoreCurves.from_json(Path("o.json").read_text())
    assert curves.grid == dp.suggest(n=2000, lower=0, upper=1, epsilon=1e6).grid
    exact = dp.score_counts(LABELS, SCORES, curves.grid)
    np.testing.assert_allclose(curves.joint.counts, np.cumsum(exact))
    assert capsys.readouterr().out.startswith(f"cells       {curves.grid.size} (by the records")


def test_with_a_size_nothing_is_said(folder, capsys):
    argv = ["cdf", "t.csv", "--column", "s", *BOUNDS, "--epsilon", "1", "--size", "64"]
    assert cli.main(argv) == 0
    assert "by the records" not in capsys.readouterr().out
