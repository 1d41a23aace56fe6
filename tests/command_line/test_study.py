"""``dpcore study``: studies by name and in files, what is printed, and what is kept."""

from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from dpcore import studies
from dpcore.command_line import main as cli
from dpcore.command_line import study_reports
from dpcore.studies import files
from dpcore.studies.named._shapes import SHAPES
from dpcore.studies.named.cdf import cdf
from tests.command_line.tables import ROOT, names

STUDY = '''
import warnings

import numpy as np

import dpcore as dp
from dpcore import studies

GRID = dp.Grid.uniform(0, 1, 16)
MECHANISMS = {"hierarchy": dp.mechanisms.Hierarchy, "no noise, none": lambda e: NONE}
NONE = dp.mechanisms.NoNoise()

@studies.study({"n": [50, 100], "epsilon": [0.001], "mechanism": MECHANISMS})
def errors(n, epsilon, mechanism, rng):
    """Errors of a curve.

    More of it.
    """
    assert (type(n), type(epsilon)) == (int, float)
    values = rng.random(n)
    counts = dp.cdf(values, GRID, mechanism(epsilon), rng=rng).counts
    off = np.abs(counts - np.cumsum(GRID.count(values)))
    return {"largest": off.max(), "deciles": off[[1, 8]], "size": float(n)}

@studies.study({"x": [1.0, 2], "kind": "plain", "on": True}, batch=30)
def batched(x, kind, on, rng, replicates):
    return {"value": np.full(replicates, x), "is_on": np.full(replicates, on)}

@studies.study([{"x": [1, 2]}, {"x": [3], "y": ["a"]}])
def blocks(x, rng, y=None):
    return {"u": float("nan") if x == 2 else x, **({"v": 1} if y else {})}

@studies.study({"x": [1]})
def fails(x, rng):
    if x == 2:
        raise ValueError("the value 66321.75 is wrong")
    return {"y": x}
'''


ALONE = ["--workers", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "s.py").write_text(STUDY)
    yield tmp_path
    sys.modules.pop("study_file_s", None)


def ran(capsys, *argv: str) -> str:
    """Return what a run prints that says nothing else."""
    assert cli.main(["study", *argv, *([] if "--list" in argv else ALONE)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert max(map(len, captured.out.splitlines())) <= 80
    return captured.out


def refused(capsys, *argv: str) -> str:
    assert cli.main(["study", *argv, *([] if "--workers" in argv else ALONE)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dpcore: error: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("dpcore: error: ").rstrip()


def test_the_list_fits_and_can_be_typed(folder, capsys):
    out = ran(capsys, "--list")
    assert "\ncdf            Errors of released distribution functions" in out
    assert " n=1000,100000 epsilon=0.1,1 " in out
    assert ran(capsys, "--list", "s.py").splitlines()[:3] == [
        "errors   Errors of a curve.",
        "         n=50,100 epsilon=0.001 mechanism=hierarchy,no noise, none",
        "batched  Study(batched, 2 cells, 30 at a time)",
    ]
    assert ran(capsys, "--list", "s.py:errors").startswith("s.py:errors  Errors of a curve.")
    assert ran(capsys, "--list", "roc").startswith("roc  Errors of released ROC curves")


def test_a_study_of_a_file(folder, capsys):
    out = ran(capsys, "s.py:errors", "--replicates", "3", "--seed", "5")
    lines = out.splitlines()
    assert lines[:5] == [
        "study       errors",
        "replicates  3 of 4 cells each",
        "seed        5",
        "interval    95 % of the mean, mean_low to mean_high",
        "parameters  epsilon = 0.001",
    ]
    assert lines[6] == "deciles"
    assert lines[7].split()[:5] == ["n", "mechanism", "position", "mean", "mean_low"]
    assert len(lines[8:16]) == 8
    assert lines[17] == "largest"
    exact = [line.partition("no noise, none")[2].split() for line in lines[17:23]]
    assert exact[3][:3] == exact[5][:3] == ["0", "0", "0"]  # mean, mean_low, mean_high
    assert names(folder) == ["s.py"]  # nothing is written


def test_the_table_is_the_summary(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    settings = ["--set", "n=300", "--set", "shape=normal", "--set", "cells=16"]
    assert cli.main(["study", "cdf", *settings, "--seed", "3", "--level", "0.5", *ALONE]) == 0
    out = capsys.readouterr().out
    assert "replicates  100 of 6 cells each" in out
    assert "interval    50 % of the mean" in out
    study = cdf.over(n=300, cells=16, shape={"normal": SHAPES["normal"]})
    results = studies.run(study, replicates=100, seed=3, workers=1, progress=False)
    rows = results.summary(level=0.5).to_pylist()
    table = out.split("\n\nerror\n")[1].splitlines()
    assert table[0].split()[:5] == ["epsilon", "mechanism", "mean", "mean_low", "mean_high"]
    for line, row in zip(table[1:7], rows[:6], strict=True):
        found = dict(zip(table[0].split(), line.split(), strict=True))
        assert (float(found["epsilon"]), found["mechanism"]) == (row["epsilon"], row["mechanism"])
        for name in ("mean", "mean_low", "mean_high", "deviation", "q0.5", "q0.25"):
            assert float(found[name]) == pytest.approx(row[name], rel=1e-3)


def test_values_are_set(folder, capsys):
    def cells(*settings: str, study: str = "s.py:batched"):
        words = [word for each in settings for word in ("--set", each)]
        ran(capsys, study, *words, "--out", "o", "--seed", "1", "--replicates", "30")
        table = pq.read_table("o/replicates.parquet")
        found = json.loads(table.schema.metadata[b"dpcore.study"])["cells"].values()
        for path in (folder / "o").glob("*.parquet"):
            path.unlink()
        return list(found)

    assert cells("x=3,0.5", "kind=any text") == [
        {"x": 3, "kind": "any text", "on": True},
        {"x": 0.5, "kind": "any text", "on": True},
    ]
    assert cells("x=1", "on=false,TRUE")[0] == {"x": 1, "kind": "plain", "on": False}
    found = cells("n=1e3, 20", "epsilon=2", "mechanism=no noise, none", study="s.py:errors")
    assert [each["n"] for each in found] == [1000, 20]
    assert {each["mechanism"] for each in found} == {"no noise, none"}
    assert cells("y=b", "x=5", study="s.py:blocks") == [{"x": 5}, {"x": 5, "y": "b"}]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("n", "--set must be PARAMETER=VALUE,...; got 'n'"),
        ("n=", "--set must be PARAMETER=VALUE,...; got 'n='"),
        ("m=1", "--set must name one of n, epsilon, mechanism; got 'm'"),
        ("n=many", "--set n must be numbers; got 'many'"),
        ("n=1,,2", "--set n must be numbers; got ''"),
        ("n=nan", "must not be NaN; got nan"),
        ("n=1,1", "must not repeat a value; got [1, 1]"),
        ("mechanism=hierarchy,none", "mechanism must be among hierarchy, no noise, none; got"),
    ],
)
def test_settings_that_are_refused(folder, capsys, setting, words):
    assert words in refused(capsys, "s.py:errors", "--set", setting, "--out", "o")
    assert "once" in refused(capsys, "s.py:errors", "--set", "n=1", "--set", "n=2")
    assert names(folder) == ["s.py"]


def test_results_are_kept_and_continued(folder, capsys):
    first = ran(capsys, "s.py:errors", "--out", "o", "--replicates", "5")
    assert "kept in     o\n" in first
    assert names(folder / "o")[-2:] == ["replicates.parquet", "summary.parquet"]
    results = studies.load("o")
    assert len(results) == 20
    more = ran(capsys, "s.py:errors", "--out", "o", "--replicates", "8")
    assert f"seed        {results.seed}\n" in more
    assert np.array_equal(studies.load("o").array("largest")[..., :5], results.array("largest"))
    again = ran(capsys, "s.py:errors", "--replicates", "8", "--seed", str(results.seed))
    assert again == more.replace("kept in     o\n", "")
    assert "--seed must be" in refused(capsys, "s.py:errors", "--out", "o", "--seed", "1")
    assert "--out must not hold another study" in refused(capsys, "roc", "--out", "o")
    assert "--out 's.py" in refused(capsys, "roc", "--out", "s.py")


def test_other_code_is_warned_of(folder, capsys):
    ran(capsys, "s.py:errors", "--out", "o", "--replicates", "2")
    (folder / "s.py").write_text(STUDY.replace("rng.random(n)", "rng.random(n) ** 2"))
    assert cli.main(["study", "s.py:errors", "--out", "o", "--replicates", "3", *ALONE]) == 0
    err = capsys.readouterr().err
    assert err.startswith("dpcore: warning: 'o' ")
    assert "other code or other versions" in err
    assert err.count("\n") == 1  # and nothing of much noise, which is what studies look for


def test_undefined_numbers_are_counted(folder, capsys):
    lines = ran(capsys, "s.py:blocks", "--replicates", "2").splitlines()
    at = lines.index("u")
    assert "undefined" in lines[at + 1].split()
    assert [line.split()[0] for line in lines[at + 2 : at + 5]] == ["1", "2", "3"]
    assert lines[at + 3].split()[1:5] == ["nan", "nan", "nan", "2"]


def test_a_batch_is_whole(folder, capsys):
    assert "replicates  120 of 2 cells each" in ran(capsys, "s.py:batched")
    said = refused(capsys, "s.py:batched", "--replicates", "100")
    assert said.startswith("--replicates must be a multiple of 30")


def test_what_a_study_says_is_shown(folder, capsys):
    said = refused(capsys, "s.py:fails", "--set", "x=1,2", "--out", "o")
    assert said.startswith("fails failed at x=2, ")
    line = STUDY.splitlines().index('        raise ValueError("the value 66321.75 is wrong")') + 1
    assert f"ValueError: the value 66321.75 is wrong ({folder / 's.py'}, line {line}); " in said
    assert studies.load("o").parameters == {"x": [1]}  # what was done before


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "STUDY is required: a name from dpcore study --list, or FILE.py"),
        (["cfd"], "study must be one of bounds, cdf, "),
        (["s.py"], "study must be one of s.py:errors, s.py:batched, s.py:blocks, s.py:fails; got"),
        (["none.py", "--out", "."], "FILE 'none.py' cannot be read: No such file or directory"),
        (["--list", "none.py"], "FILE 'none.py' cannot be read: No such file or directory"),
        (["cdf", "--replicates", "0"], "--replicates must be between 1 and"),
        (["cdf", "--replicates", "x"], "argument --replicates: invalid int value: 'x'"),
        (["cdf", "--level", "1"], "--level must be between 0 and 1; got 1.0"),
        (["cdf", "--workers", "0"], "--workers must not be 0; got 0"),
        (["cdf", "--seed", "-1"], "--seed must be between 0 and"),
    ],
)
def test_arguments_that_are_refused(folder, capsys, argv, words):
    assert words in refused(capsys, *argv)


@pytest.mark.parametrize("module", ["joblib", "cloudpickle", "pyarrow", "tqdm"])
def test_missing_extras_are_named(folder, capsys, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    assert "dpcore[studies]" in refused(capsys, "s.py:errors", "--out", "o")
    assert "dpcore[studies]" in refused(capsys, "cdf")
    assert ran(capsys, "--list")
    assert names(folder) == ["s.py"]


@pytest.mark.parametrize("study", ["s.py:batched", "bounds"])
def test_python_goes_on_with_what_the_command_began(folder, capsys, study):
    ran(capsys, study, "--out", "o", "--replicates", "30")
    results = studies.run(files.find(study), replicates=60, out="o", workers=1, progress=False)
    assert len(results.makers) == 1  # the same code: warnings are errors here


@pytest.mark.needs_jit
def test_what_the_page_shows(folder, capsys):
    page = (ROOT / "docs" / "guides" / "studies.md").read_text("utf-8")
    (command,) = [line for line in page.splitlines() if line.startswith("dpcore study cdf")]
    shown = page.partition("```console\n")[2].partition("```")[0]
    assert ran(capsys, *command.split()[2:]).startswith(f"{shown}\n")


def test_a_study_may_have_the_name_of_an_option(folder, capsys):
    (folder / "s.py").write_text(STUDY.replace("def fails(", "def size("))
    said = refused(capsys, "s.py:size", "--set", "x=2")
    assert said.startswith("size failed at x=2, ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((12345.6, "12346"), (-12345.6, "-12346"), (9999.4, "9999"), (2e9, "2e+09")),
        *((0.000123456, "0.0001235"), (100000, "100000"), (None, ""), (float("nan"), "nan")),
    ],
)
def test_numbers_have_four_digits_or_those_before_the_point(value, text):
    assert study_reports._text(value) == text
