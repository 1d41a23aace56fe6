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


# --- whole numbers


def released(capsys, *argv):
    """The curve, and what was printed."""
    assert cli.main(["cdf", *argv, "--epsilon", "1e6", "--json", "o.json"]) == 0
    return dp.CDF.from_json(Path("o.json").read_text()), capsys.readouterr().out


def test_each_whole_number_has_its_cell(folder, capsys):
    values = RNG.integers(0, 9, 500)
    Path("w.csv").write_text("x\n" + "\n".join(map(str, values)))
    argv = ["w.csv", "--column", "x", "--lower", "-1", "--upper", "10", "--integers"]
    curve, out = released(capsys, *argv)
    assert out.startswith("cells       12 (one for each whole number; --size sets it)")
    assert repr(curve.grid) == "Grid.integers(-1, 10)"
    assert curve(0) == np.mean(values == 0)
    assert curve.quantile(0.5) == np.quantile(values, 0.5, method="inverted_cdf")
    for sized in (["--size", "11"], []):
        others = [*argv, *sized] if sized else argv[:-1]
        assert not released(capsys, *others)[0].grid.of_integers


def test_each_day_has_its_cell(folder, capsys):
    days = np.datetime64("2024-01-01") + RNG.integers(0, 30, 500)
    Path("d.csv").write_text("x\n" + "\n".join(map(str, days)))
    bounds = ["--lower", "2024-01-01", "--upper", "2024-01-31"]
    curve, out = released(capsys, "d.csv", "--column", "x", *bounds, "--integers")
    assert out.startswith("cells       31 (one for each day; --size sets it)")
    assert curve.grid == dp.Grid.days("2024-01-01", "2024-01-31")
    assert curve("2024-01-01") == np.mean(days == np.datetime64("2024-01-01"))


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (["--lower", "0.5", "--upper", "3"], "--lower must be a whole number; got 0.5. With --si"),
        (["--lower", "3", "--upper", "0"], "--upper must not be below --lower, 3.0; got 0.0"),
        (["--lower", "0", "--upper", "1e9"], "--upper must leave at most 16777216 cells from --l"),
        (["--lower", "2024-01-01T12:00", "--upper", "2024-02-01"], "--lower must be a whole day"),
        (["--lower", "0", "--upper", "2024-02-01"], "--lower must be a date"),
    ],
)
def test_bounds_that_are_not_whole_are_refused(folder, capsys, bounds, words):
    assert cli.main(["cdf", "t.csv", "--column", "y", *bounds, "--integers", "--epsilon", "1"]) == 2
    assert words in capsys.readouterr().err
