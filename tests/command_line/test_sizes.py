"""``--size`` left out: as many cells as dpcore.suggest takes, counted as on that grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpcore as dp

RNG = np.random.default_rng(1)
LABELS = (RNG.random(2000) < 0.25).astype(int)
SCORES = np.clip(RNG.normal(0.35 + 0.3 * LABELS, 0.15), 0.0, 1.0)
BOUNDS = ["--lower", "0", "--upper", "1"]


pytestmark = pytest.mark.usefixtures("scores")


@pytest.fixture
def scores(folder):
    rows = "".join(f"{y},{s!r}\n" for y, s in zip(LABELS.tolist(), SCORES.tolist(), strict=True))
    Path("t.csv").write_text(f"y,s\n{rows}")


@pytest.fixture
def released(ran):
    """The curve of a column, and what is printed."""

    def release(file, *argv):
        out = ran("cdf", file, *argv, "--json", "o.json")
        return dp.CDF.from_json(Path("o.json").read_text()), out

    return release


@pytest.mark.parametrize("budget", [["--epsilon", "0.5"], ["--rho", "0.5"]])
def test_cdf_takes_what_is_suggested_and_says_so(released, budget):
    argv = ["t.csv", "--column", "s", *BOUNDS, *budget]
    curve, out = released(*argv)
    expected = dp.suggest(n=2000, lower=0, upper=1, **{budget[0][2:]: 0.5})
    assert curve.grid == expected.grid
    assert curve.mechanism == expected.mechanism.describe()
    assert out.startswith(f"cells       {curve.grid.size} (by the records and the budget; --size")
    assert "by the records" not in released(*argv, "--size", "64")[1]


def test_counts_are_those_of_the_suggested_grid(released):
    argv = ["t.csv", "--column", "s", *BOUNDS, "--epsilon", "1e6", "--raw"]
    curve, _ = released(*argv, "--mechanism", "histogram")  # noise that is zero
    np.testing.assert_array_equal(curve.counts, np.cumsum(curve.grid.count(SCORES)))


def test_roc_takes_it_for_both_classes(ran):
    bounds = ["--lower", "-1", "--upper", "1"]  # [0, 1] has the grid of dpcore.score_curves
    argv = ["t.csv", "--label", "y", "--score", "s", *bounds, "--epsilon", "1e6", "--json", "o"]
    out = ran("roc", *argv, "--mechanism", "histogram")
    curves = dp.ScoreCurves.from_json(Path("o").read_text())
    assert curves.grid == dp.suggest(n=2000, lower=-1, upper=1, epsilon=1e6).grid
    exact = dp.score_counts(LABELS, SCORES, curves.grid)
    np.testing.assert_allclose(curves.joint.counts, np.cumsum(exact))
    assert out.startswith(f"cells       {curves.grid.size} (by the records")


# --- whole numbers


def test_each_whole_number_has_its_cell(released):
    values = RNG.integers(0, 9, 500)
    Path("w.csv").write_text("x\n" + "\n".join(map(str, values)))
    flags = ["--column", "x", "--lower", "-1", "--upper", "10", "--epsilon", "1e6", "--integers"]
    argv = ["w.csv", *flags]
    curve, out = released(*argv)
    assert out.startswith("cells       12 (one for each whole number; --size sets it)")
    assert repr(curve.grid) == "Grid.integers(-1, 10)"
    assert curve(0) == np.mean(values == 0)
    assert curve.quantile(0.5) == np.quantile(values, 0.5, method="inverted_cdf")
    for others in ([*argv, "--size", "11"], argv[:-1]):
        assert not released(*others)[0].grid.of_integers


def test_each_day_has_its_cell(released):
    days = np.datetime64("2024-01-01") + RNG.integers(0, 30, 500)
    Path("d.csv").write_text("x\n" + "\n".join(map(str, days)))
    bounds = ["--lower", "2024-01-01", "--upper", "2024-01-31"]
    argv = ["--column", "x", *bounds, "--epsilon", "1e6", "--integers"]
    curve, out = released("d.csv", *argv)
    assert out.startswith("cells       31 (one for each day; --size sets it)")
    assert curve.grid == dp.Grid.days("2024-01-01", "2024-01-31")
    assert curve("2024-01-01") == np.mean(days == np.datetime64("2024-01-01"))


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        ("0.5", "3", "--lower must be a whole number"),
        ("3", "0", "--upper"),
        ("0", "1e9", "--upper must leave at most 16777216 cells"),
        ("2024-01-01T12:00", "2024-02-01", "--lower must be a whole day"),
        ("0", "2024-02-01", "--lower must be a date"),
    ],
)
def test_bounds_that_are_not_whole_are_refused(refused, lower, upper, words):
    bounds = ["--lower", lower, "--upper", upper, "--epsilon", "1"]
    assert refused("cdf", "t.csv", "--column", "y", *bounds, "--integers").startswith(words)
