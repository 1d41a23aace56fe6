"""``dpcore study``: studies by name and in files, what is printed, and what is kept."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

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
        raise ValueError("the value 1.75 is wrong")
    return {"y": x}
'''


FAILURE = 'raise ValueError("the value 1.75 is wrong")'
ALONE = ["--workers", "1"]


@pytest.fixture(autouse=True)
def file(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("s.py").write_text(STUDY)
    yield
    sys.modules.pop("study_file_s", None)


@pytest.fixture
def ran(ran):
    """Return what a run prints that says nothing else."""

    def run(*argv):
        out = ran("study", *argv, *([] if "--list" in argv else ALONE))
        assert max(map(len, out.splitlines())) <= int(os.environ["COLUMNS"])
        return out

    return run


@pytest.fixture
def refused(refused):
    return lambda *argv: refused("study", *argv, *([] if "--workers" in argv else ALONE))


def test_the_list_fits_and_can_be_typed(ran):
    out = ran("--list")
    assert "\ncdf            Errors of released distribution functions" in out
    assert " n=1000,100000 epsilon=0.1,1 " in out
    assert ran("--list", "s.py").splitlines()[:3] == [
        "errors   Errors of a curve.",
        "         n=50,100 epsilon=0.001 mechanism=hierarchy,no noise, none",
        "batched  Study(batched, 2 cells, 30 at a time)",
    ]
    assert ran("--list", "s.py:errors").startswith("s.py:errors  Errors of a curve.")
    assert ran("--list", "roc").startswith("roc  Errors of released ROC curves")


def test_a_study_of_a_file(ran):
    out = ran("s.py:errors", "--replicates", "3", "--seed", "5")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[:5]] == [
        *("study", "replicates", "seed", "interval", "parameters")
    ]
    assert lines[1].endswith("3 of 4 cells each")
    assert lines[4].endswith("epsilon = 0.001")
    assert lines[6] == "deciles"
    assert lines[7].split()[:5] == ["n", "mechanism", "position", "mean", "mean_low"]
    assert len(lines[8:16]) == 8
    assert lines[17] == "largest"
    exact = [line.partition("no noise, none")[2].split() for line in lines[17:23]]
    assert exact[3][:3] == exact[5][:3] == ["0", "0", "0"]  # mean, mean_low, mean_high
    assert names(Path()) == ["s.py"]  # nothing is written


def test_values_are_set(ran):
    def cells(*settings: str, study: str = "s.py:batched"):
        words = [word for setting in settings for word in ("--set", setting)]
        ran(study, *words, "--out", "o", "--seed", "1", "--replicates", "30")
        table = pq.read_table("o/replicates.parquet")
        labels = json.loads(table.schema.metadata[b"dpcore.study"])["cells"].values()
        for path in Path("o").glob("*.parquet"):
            path.unlink()
        return list(labels)

    assert cells("x=3,0.5", "kind=any text") == [
        {"x": 3, "kind": "any text", "on": True},
        {"x": 0.5, "kind": "any text", "on": True},
    ]
    assert cells("x=1", "on=false,TRUE")[0] == {"x": 1, "kind": "plain", "on": False}
    few, many = cells("n=20,1e3", "epsilon=2", "mechanism=no noise, none", study="s.py:errors")
    assert few == {"n": 20, "epsilon": 2, "mechanism": "no noise, none"}
    assert many == {**few, "n": 1000}
    assert cells("y=b", "x=5", study="s.py:blocks") == [{"x": 5}, {"x": 5, "y": "b"}]


def test_results_are_kept_and_continued(ran, refused):
    first = ran("s.py:errors", "--out", "o", "--replicates", "5")
    assert "kept in     o\n" in first
    assert names(Path("o"))[-2:] == ["replicates.parquet", "summary.parquet"]
    results = studies.load("o")
    assert len(results) == 20
    more = ran("s.py:errors", "--out", "o", "--replicates", "8")
    assert f"seed        {results.seed}\n" in more
    assert np.array_equal(studies.load("o").array("largest")[..., :5], results.array("largest"))
    again = ran("s.py:errors", "--replicates", "8", "--seed", str(results.seed))
    assert again == more.replace("kept in     o\n", "")
    assert "--seed must be" in refused("s.py:errors", "--out", "o", "--seed", "1")
    assert "--out must not hold another study" in refused("roc", "--out", "o")


def test_undefined_numbers_are_counted_and_a_batch_is_whole(ran):
    assert "replicates  120 of 2 cells each" in ran("s.py:batched")
    lines = ran("s.py:blocks", "--replicates", "2").splitlines()
    at = lines.index("u")
    assert "undefined" in lines[at + 1].split()
    assert [line.split()[0] for line in lines[at + 2 : at + 5]] == ["1", "2", "3"]
    assert lines[at + 3].split()[1:5] == ["nan", "nan", "nan", "2"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "STUDY"),
        (["cfd"], "STUDY must be one of bounds, cdf, "),
        (["s.py"], "STUDY must be one of s.py:errors, s.py:batched, s.py:blocks, s.py:fails"),
        (["none.py", "--out", "."], "FILE 'none.py'"),
        (["--list", "none.py"], "FILE 'none.py'"),
        (["cdf", "--replicates", "0"], "--replicates"),
        (["cdf", "--replicates", "x"], "--replicates"),
        (["s.py:batched", "--replicates", "100"], "--replicates must be a multiple of 30"),
        (["cdf", "--level", "1"], "--level"),
        (["cdf", "--workers", "0"], "--workers"),
        (["cdf", "--seed", "-1"], "--seed"),
        (["cdf", "--out", "s.py"], "--out '"),
        (["s.py:errors", "--set", "n"], "--set must be PARAMETER=VALUE,...; got 'n'"),
        (["s.py:errors", "--set", "n="], "--set must be PARAMETER=VALUE,...; got 'n='"),
        (["s.py:errors", "--set", "m=1"], "--set must name one of n, epsilon, mechanism"),
        (["s.py:errors", "--set", "n=many"], "--set n must be numbers; got 'many'"),
        (["s.py:errors", "--set", "n=1,,2"], "--set n must be numbers; got ''"),
        (["s.py:errors", "--set", "n=nan"], "NaN"),
        (["s.py:errors", "--set", "n=1,1"], "[1, 1]"),
        (["s.py:errors", "--set", "n=1", "--set", "n=2"], "--set n must be given once"),
        (["s.py:errors", "--set", "mechanism=hierarchy,none"], "hierarchy, no noise, none; got"),
    ],
)
def test_arguments_that_are_refused(refused, argv, words):
    assert words in refused(*argv)


@pytest.mark.parametrize("module", ["joblib", "cloudpickle", "pyarrow", "tqdm"])
def test_missing_extras_are_named(ran, refused, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    assert "dpcore[studies]" in refused("s.py:errors", "--out", "o")
    assert "dpcore[studies]" in refused("cdf")
    assert ran("--list")


def test_what_a_study_says_is_shown(refused):
    """Also of one that has the name of an option."""
    Path("o").mkdir()
    error = refused("s.py:fails", "--set", "x=1,2", "--out", "o")
    assert error.startswith("fails failed at x=2, ")
    line = STUDY.splitlines().index('        raise ValueError("the value 1.75 is wrong")') + 1
    assert (
        f"ValueError: the value 1.75 is wrong ({Path('s.py').absolute()}, line {line}); " in error
    )
    assert studies.load("o").parameters == {"x": [1]}  # what was done before
    Path("s.py").write_text(STUDY.replace("def fails(", "def size("))
    assert refused("s.py:size", "--set", "x=2").startswith("size failed at x=2, ")


def test_other_code_is_warned_of(ran, capsys):
    ran("s.py:errors", "--out", "o", "--replicates", "2")
    Path("s.py").write_text(STUDY.replace("rng.random(n)", "rng.random(n) ** 2"))
    assert cli.main(["study", "s.py:errors", "--out", "o", "--replicates", "3", *ALONE]) == 0
    err = capsys.readouterr().err
    assert err.startswith(f"dpcore: warning: {str(Path('o').absolute())!r} ")
    assert err.count("\n") == 1  # and nothing of much noise, which is what studies look for


def test_an_interrupt_without_a_folder_is_quiet(capsys):
    Path("s.py").write_text(
        STUDY.replace('raise ValueError("the value 1.75 is wrong")', "raise KeyboardInterrupt")
    )
    assert cli.main(["study", "s.py:fails", "--set", "x=2", *ALONE]) == 130
    assert capsys.readouterr() == ("", "")


def test_the_table_is_the_summary(ran, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    settings = ["--set", "n=300", "--set", "shape=normal", "--set", "cells=16"]
    out = ran("cdf", *settings, "--seed", "3", "--level", "0.5", "--replicates", "20")
    assert "replicates  20 of 6 cells each" in out
    assert "interval    50 % of the mean" in out
    study = cdf.over(n=300, cells=16, shape={"normal": SHAPES["normal"]})
    results = studies.run(study, replicates=20, seed=3, workers=1, progress=False)
    rows = results.summary(level=0.5).to_pylist()
    head, *table = [line.split() for line in out.split("\n\nerror\n")[1].splitlines()]
    assert head[:5] == ["epsilon", "mechanism", "mean", "mean_low", "mean_high"]
    for line, row in zip(table[:6], rows[:6], strict=True):
        shown = dict(zip(head, line, strict=True))
        assert (float(shown["epsilon"]), shown["mechanism"]) == (row["epsilon"], row["mechanism"])
        for name in ("mean", "mean_low", "mean_high", "deviation", "q0.5", "q0.25"):
            assert float(shown[name]) == pytest.approx(row[name], rel=1e-3)


@pytest.mark.parametrize("study", ["s.py:batched", "bounds"])
def test_python_goes_on_with_what_the_command_began(ran, study):
    ran(study, "--out", "o", "--replicates", "30")
    results = studies.run(files.find(study), replicates=60, out="o", workers=1, progress=False)
    assert len(results.makers) == 1  # the same code: warnings are errors here


@pytest.mark.needs_jit
def test_what_the_page_shows(ran):
    page = (ROOT / "docs" / "guides" / "studies.md").read_text("utf-8")
    (command,) = [line for line in page.splitlines() if line.startswith("dpcore study cdf")]
    shown = page.partition("```console\n")[2].partition("```")[0]
    assert ran(*command.split()[2:]).startswith(f"{shown}\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((12345.6, "12346"), (-12345.6, "-12346"), (9999.4, "9999"), (2e9, "2e+09")),
        *((0.000123456, "0.0001235"), (100000, "100000"), (None, ""), (float("nan"), "nan")),
    ],
)
def test_numbers_have_four_digits_or_those_before_the_point(value, text):
    assert study_reports._text(value) == text
