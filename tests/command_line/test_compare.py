"""``dpcore compare``: what ``dpcore.compare`` says of two stored curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.statistics import ROC, auc_difference_interval

GRID = dp.Grid.uniform(0, 100, 20)
GRID_OF_SCORES = dp.Grid.uniform(0, 1, 32)
GROUPS = {"by": np.arange(2000) % 3, "groups": [0, 1, 2]}
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
    Path("scores.json").write_text(scores(1, rng=None).to_json())
    Path("t.csv").write_text("x\n1\n")


def scores(power, rng=RNG, **groups):
    own = np.random.default_rng(2).random(2000)
    labels = np.random.default_rng(3).random(2000) < own
    return dp.score_curves(labels, own**power, GRID_OF_SCORES, epsilon=2.0, rng=rng, **groups)


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


@pytest.mark.usefixtures("folder")
def test_areas_of_two_roc_curves(ran):
    for name, power in (("a", 1), ("b", 3)):
        Path(f"{name}.json").write_text(scores(power).to_json())
    first, second = (
        ROC(dp.load(file), dp.mechanisms.from_curve(dp.load(file).joint))
        for file in ("a.json", "b.json")
    )
    row = ran("compare", "a.json", "b.json", "--level", "0.9").splitlines()[-1]
    low, high = auc_difference_interval(first, second, 0.9)
    said = f"{first.auc:.4g} {second.auc:.4g} {first.auc - second.auc:.4g} {low:.4g} to {high:.4g}"
    assert " ".join(row.split()).startswith(said)
    assert row.endswith("  a.json and b.json")


@pytest.mark.usefixtures("folder")
def test_groups_of_one_file(ran):
    values = RNG.normal(50, 9, 2000) + 9.0 * (GROUPS["by"] == 2)
    Path("c.json").write_text(dp.cdf(values, GRID, epsilon=2.0, rng=RNG, **GROUPS).to_json())
    out = ran("compare", "c.json", "--simulations", "99")
    assert [line.split()[-3:] for line in out.splitlines()[3:6]] == [
        ["0", "and", "1"],
        ["0", "and", "2"],
        ["1", "and", "2"],
    ]
    found = dp.pairwise_tests(dp.load("c.json"), simulations=99)
    assert [line.split()[0] for line in out.splitlines()[3:6]] == [
        f"{statistic:.4g}" for statistic in found.statistics
    ]
    Path("s.json").write_text(scores(1, **GROUPS).to_json())
    assert len(ran("compare", "s.json").splitlines()) == 6


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["a.json", "a.json"], "SECOND must be another release"),
        (["a.json", "other.json"], "SECOND"),
        (["a.json", "x.json"], "FIRST and SECOND must both be files of dpcore cdf"),
        (["a.json", "scores.json"], "FIRST and SECOND must both be files of dpcore cdf"),
        (["scores.json", "scores.json"], "SECOND must be another release"),
        (["a.json"], "SECOND is missing"),
        (["x.json"], "FIRST 'x.json' must hold two groups or more"),
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
