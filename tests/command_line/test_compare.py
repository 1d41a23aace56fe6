"""``dpcore compare``: what ``dpcore.compare`` says of two stored curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpcore as dp

GRID = dp.Grid.uniform(0, 100, 20)
RNG = np.random.default_rng(1)


@pytest.fixture
def stored(folder):
    for name, mean in (("a", 40), ("b", 60)):
        curve = dp.cdf(RNG.normal(mean, 9, 2000), GRID, epsilon=1.0)
        Path(f"{name}.json").write_text(curve.to_json())
    other = dp.cdf(RNG.normal(50, 9, 2000), dp.Grid.uniform(0, 100, 8), epsilon=1.0, rng=RNG)
    Path("other.json").write_text(other.to_json())
    groups = dp.cdf(RNG.normal(50, 9, 90), GRID, by=["x"] * 90, groups=["x"], epsilon=50.0, rng=RNG)
    Path("x.json").write_text(groups.to_json())
    Path("t.csv").write_text("x\n1\n")


@pytest.mark.usefixtures("stored")
def test_it_shows_differences_and_p_values(ran):
    argv = ["compare", "a.json", "b.json", "--simulations", "99", "--level", "0.9"]
    out = ran(*argv, "--probabilities", "0.5")
    first, second = dp.load("a.json"), dp.load("b.json")
    assert out.startswith(
        f"first       a.json, 2000 records, {first.privacy}\nsecond      b.json, "
    )
    assert "p-value     0.01, of the same population, by 99 simulated pairs of releases\n" in out
    assert "90% (population)" in out
    row = out.splitlines()[-1].split()
    assert row[:2] == ["50", "%"]
    assert row[2] == f"{first.quantile(0.5) - second.quantile(0.5):.6g}"
    assert float(row[3]) <= float(row[2]) <= float(row[5])


@pytest.mark.usefixtures("folder")
def test_differences_of_times_are_durations(ran):
    days = np.datetime64("2024-01-01") + np.arange(200)
    for name, since in (("a", 0), ("b", 30)):
        curve = dp.cdf(days + since, dp.Grid.days("2024-01-01", "2024-12-31"), epsilon=9.0)
        Path(f"{name}.json").write_text(curve.to_json())
    out = ran("compare", "a.json", "b.json", "--simulations", "19")
    assert " days, 0:00:00" in out


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["a.json", "a.json"], "SECOND must be another release"),
        (["a.json", "other.json"], "SECOND"),
        (["a.json", "x.json"], "SECOND 'x.json' must hold a CDF"),
        (["t.csv", "a.json"], "FIRST must be a stored distribution: t.csv"),
        (["none.json", "a.json"], "FIRST 'none.json' cannot be read"),
        (["a.json", "b.json", "--probabilities", "0.5,x"], "--probabilities must be numbers"),
        (["a.json", "b.json", "--probabilities", "2"], "--probabilities must lie within"),
        (["a.json", "b.json", "--level", "1"], "--level"),
        (["a.json", "b.json", "--simulations", "3"], "--simulations"),
    ],
)
def test_what_cannot_be_compared_is_named(refused, argv, words):
    assert refused("compare", *argv).startswith(words)
