"""``--by`` and ``--groups``: a release of each group, as the library's own, and intervals."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line.main import main
from dpcore.statistics.roc import ROC

RNG = np.random.default_rng(1)
WHERE = RNG.choice(["north", "a, b", "7.0"], 3000, p=[0.5, 0.3, 0.2])
SCORES = np.round(RNG.random(3000), 3)
LABELS = (RNG.random(3000) < SCORES).astype(int)
BOUNDS = ["--lower", "0", "--upper", "1", "--size", "100"]
EXACT = ["--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
BY = ["--by", "g", "--groups", 'north,"a, b",7']
SCORED = ["--label", "y", "--score", "s"]
NAMES = ["north", "a, b", "7"]

pytestmark = pytest.mark.usefixtures("table")


@pytest.fixture
def table(folder):
    columns = zip(WHERE.tolist(), LABELS.tolist(), SCORES.tolist(), strict=True)
    rows = "".join(f'"{g}",{y},{s!r}\n' for g, y, s in columns)
    Path("t.csv").write_text(f"g,y,s\n{rows}")
    labels = pa.array(WHERE).dictionary_encode()
    pq.write_table(pa.table({"s": SCORES, "g": labels, "y": LABELS}), "t.parquet")


def own(name: str) -> np.ndarray:
    return ("7.0" if name == "7" else name) == WHERE


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
def test_curves_of_groups(ran, file):
    out = ran("cdf", file, "--column", "s", *BOUNDS, *EXACT, *BY, "--json", "o.json")
    stored = dp.load("o.json")
    assert list(stored) == NAMES
    for name in NAMES:
        counts = dp.Grid.uniform(0, 1, 100).count(SCORES[own(name)])
        assert np.array_equal(stored[name].counts, np.cumsum(counts))
        assert f"group       {name}\nrecords     {counts.sum()}\n" in out
        median = f"{stored[name].quantile(0.5):.10g}"
        assert re.search(rf"^ *50 % +{median} +\S+ - +\S+$", out, re.MULTILINE)
    assert f"by          g\nprivacy     {stored.privacy}\n" in out


def test_sizes_of_groups_are_private_unless_a_mechanism_says_otherwise(ran):
    argv = ["cdf", "t.csv", "--column", "s", "--lower", "0", "--upper", "1", *BY]
    out = ran(*argv, "--epsilon", "1", "--json", "o.json")
    stored = dp.load("o.json")
    assert stored.privacy == dp.Privacy(1.0, neighbours="add-or-remove-one")
    assert f"cells       {stored['7'].grid.size} (by the budget; --size sets it)\n" in out
    ran(*argv, *EXACT, "--json", "o.json")
    assert dp.load("o.json").privacy.neighbours == "replace-one-within-group"


def test_a_group_that_no_record_has_is_named(capsys):
    argv = ["cdf", "t.csv", "--column", "s", *BOUNDS, "--epsilon", "1"]
    assert main([*argv, "--by", "g", "--groups", "north,south"]) == 0
    assert "warning: group 'south': the released number of records" in capsys.readouterr().err
    assert main([*argv, *EXACT, "--by", "g", "--groups", "north,south"]) == 2
    assert "error: --groups must have at least one record" in capsys.readouterr().err


@pytest.mark.needs_jit
@pytest.mark.parametrize("smooth", [[], ["--smooth", "2"]])
def test_areas_of_groups(ran, smooth):
    out = ran("roc", "t.parquet", *SCORED, *BOUNDS, *EXACT, *BY, *smooth, "--level", "0.9")
    assert "90% (records)     90% (population)" in out
    rows = out.splitlines()[-3:]
    for name, row in zip(NAMES, rows, strict=True):
        exact = ROC.from_curves(
            dp.score_curves(
                LABELS[own(name)],
                SCORES[own(name)],
                dp.Grid.uniform(0, 1, 100),
                dp.mechanisms.NoNoise(),
            )
        )
        area, low, _, high, least, _, most, n, positives, *rest = row.split()
        assert area == f"{exact.auc:.4g}"
        assert float(least) < float(low) <= float(area) <= float(high) < float(most)
        assert (int(n), int(positives)) == (own(name).sum(), LABELS[own(name)].sum())
        assert " ".join(rest) == name


@pytest.mark.needs_jit
def test_hosmer_lemeshow_of_groups(capsys):
    by = ["--by", "g", "--by-groups", 'north,"a, b",7,nobody', "--groups", "5"]
    argv = ["hosmer-lemeshow", "t.csv", *SCORED, "--epsilon", "1e6", *by, "--json", "o.json"]
    assert main(argv) == 0
    told = capsys.readouterr()
    assert "group 'nobody'" in told.err
    rows, stored = told.out.splitlines()[-6:-2], dp.load("o.json")
    for name, row in zip(NAMES, rows, strict=False):
        mechanism = dp.mechanisms.from_curve(stored[name].joint)
        test = dp.statistics.HosmerLemeshow.from_curves(stored[name], 5, mechanism=mechanism)
        assert row.split()[:3] == [f"{test.statistic:.4g}", "3", f"{test.pvalue:.3g}"]
        assert stored[name].n == own(name).sum()
    assert rows[-1].split()[:3] == ["none", "-", "-"]  # and nothing was spent in vain
    assert main([*argv, "--mechanism", "dyadic"]) == 2
    assert "error: --by-groups must have at least one record" in capsys.readouterr().err


@pytest.mark.needs_jit
def test_calibration_of_groups(ran):
    argv = ["calibration", "t.csv", *SCORED, "--epsilon", "4", *BY, "--plot", "o.svg"]
    out = ran(*argv, "--json", "o.json")
    stored = dp.load("o.json")
    assert isinstance(stored, dp.GroupedScores)
    rng = np.random.default_rng(1)
    like = dp.score_curves(LABELS, SCORES, by=WHERE, groups=["north"], epsilon=4.0, rng=rng)
    assert stored["north"].grid == like["north"].grid
    assert stored["north"].joint.mechanism == like["north"].joint.mechanism
    assert [row.split()[-1] for row in out.splitlines()[-3:]] == ["north", "b", "7"]
    assert Path("o.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.needs_jit
def test_intervals_of_one_release(ran):
    out = ran("roc", "t.csv", *SCORED, *BOUNDS, "--epsilon", "2", "--level", "0.99")
    area = float(re.search(r"^AUC +(\S+)$", out, re.MULTILINE)[1])
    numbers = re.search(r"^99% AUC +(\S+) to (\S+) \(records\), (\S+) to (\S+) ", out, re.MULTILINE)
    low, high, least, most = map(float, numbers.groups())
    assert least < low < area < high < most
    assert "99% (noise)" in out
    out = ran("calibration", "t.csv", *SCORED, "--epsilon", "2")
    error = float(re.search(r"^ECE +(\S+)$", out, re.MULTILINE)[1])
    numbers = re.search(r"^95% ECE +(\S+) to (\S+) \(records\), (\S+) to (\S+) ", out, re.MULTILINE)
    low, high, least, most = map(float, numbers.groups())
    assert least <= low <= error <= high <= most


@pytest.mark.parametrize("command", ["cdf", "roc"])
def test_missing_labels(refused, ran, command):
    Path("m.csv").write_text("g,y,s\nx,1,0.5\n,0,0.2\nx,0,0.1\n")
    columns = ["--column", "s"] if command == "cdf" else SCORED
    argv = [command, "m.csv", *columns, *BOUNDS, *EXACT, "--by", "g", "--groups", "x"]
    assert refused(*argv).startswith("--by 'g' has missing values")
    ran(*argv, "--nan-policy", "omit", "--json", "o.json")
    assert dp.load("o.json")["x"].n == 2
