"""The command line charges a budget in a file, and stops where it does."""

from __future__ import annotations

import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line.main import main


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(1)
    score = rng.random(1000)
    table = pa.table({"x": score, "y": rng.random(1000) < score, "e": score - 0.5})
    data, budget = tmp_path / "data.parquet", tmp_path / "budget"
    pq.write_table(table, data)
    return data, budget


def cdf(data, *others):
    bounds = ["--column", "x", "--lower", "0", "--upper", "1", "--size", "16"]
    return main(["cdf", str(data), *bounds, *map(str, others)])


def test_a_budget_from_beginning_to_end(files, capsys):
    data, budget = files
    assert main(["budget", str(budget), "--epsilon", "1"]) == 0
    assert "remaining               epsilon = 1" in capsys.readouterr().out
    assert cdf(data, "--epsilon", 0.75, "--budget", budget) == 0
    capsys.readouterr()
    assert cdf(data, "--epsilon", 0.5, "--budget", budget) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "epsilon = 0.5" in told.err
    assert "what remains is epsilon = 0.25" in told.err
    assert main(["budget", str(budget)]) == 0
    shown = capsys.readouterr().out
    assert "spent                   epsilon = 0.75" in shown
    assert "epsilon = 0.75                  dpcore cdf" in shown
    assert dp.Budget.open(budget).spent == dp.Privacy(0.75)


COMMANDS = {
    "roc": ["roc", "--label", "y", "--score", "x", "--lower", "0", "--upper", "1"],
    "calibration": ["calibration", "--label", "y", "--score", "x"],
    "hosmer-lemeshow": ["hosmer-lemeshow", "--label", "y", "--score", "x"],
    "residuals": ["residuals", "--predicted", "x", "--residual", "e"],
    "incidence": ["incidence", "--duration", "x", "--event", "y", "--kinds", "1", "--upper", "1"],
    "survival": ["survival", "--duration", "x", "--event", "y", "--upper", "1"],
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_charged_once(files, name, capsys):
    data, path = files
    budget = dp.Budget.open(path, epsilon=3.0)
    command, *others = COMMANDS[name]
    words = [command, str(data), *others, "--epsilon", "1", "--budget", str(path)]
    assert main(words) == 0, capsys.readouterr().err
    (charge,) = budget.log
    assert charge[1:] == (f"dpcore {name}", dp.Privacy(1.0), "")
    assert main([*words, "--budget-label", "a survey"]) == 0, capsys.readouterr().err
    assert budget.log[1][1:] == (f"dpcore {name}", dp.Privacy(1.0), "a survey")


def test_a_label_that_is_none_is_refused_before_anything_is_charged(files, capsys):
    data, path = files
    budget = dp.Budget.open(path, epsilon=1.0)
    for label in ("", "a\nb"):
        assert cdf(data, "--epsilon", 1, "--budget", path, "--budget-label", label) == 2
        assert "--budget-label must" in capsys.readouterr().err
    assert cdf(data, "--epsilon", 1, "--budget-label", "a survey") == 2
    assert "--budget-label needs --budget" in capsys.readouterr().err
    assert budget.log == ()


def test_a_budget_that_is_none(folder, files, refused):
    data, path = map(str, files)
    flags = ["--column", "x", "--lower", "0", "--upper", "1", "--size", "4", "--epsilon", "1"]
    for file in (path, data):
        error = refused("cdf", data, *flags, "--budget", file)
        assert file in error
        assert "budget" in error.replace(file, "")
    refused("budget", path)
    assert "epsilon" in refused("budget", path, "--epsilon", "-1")


def test_what_is_refused_for_another_reason_is_not_charged(files, capsys):
    data, path = files
    budget = dp.Budget.open(path, epsilon=1.0)
    assert cdf(data, "--epsilon", 1, "--budget", path, "--json", "/nowhere/x.json") == 2
    assert cdf(data, "--epsilon", 1, "--budget", path, "--column", "z") == 2
    capsys.readouterr()
    assert budget.log == ()


def test_a_charge_is_kept_by_sqlite_itself(files):
    data, path = files
    dp.Budget.open(path, rho=0.5, delta=1e-6)
    assert cdf(data, "--rho", 0.125, "--budget", path) == 0
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT epsilon, delta, rho FROM charges").fetchall()
    connection.close()
    assert rows == [(None, 0.0, 0.125)]


def test_nothing_is_written_over_the_budget(files, capsys):
    """What was spent would be forgotten."""
    data, path = files
    budget = dp.Budget.open(path.with_suffix(".png"), epsilon=1.0)
    for flag in ("--json", "--plot"):
        assert cdf(data, "--epsilon", 0.25, "--budget", path.with_suffix(".png"), flag,
                   path.parent / "." / path.with_suffix(".png").name) == 2  # fmt: skip
        assert "is the budget, and would be written over it" in capsys.readouterr().err
    assert budget.log == ()


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
def test_nothing_is_written_where_the_budget_has_its_journal(files, ending, capsys):
    """SQLite removes such a file: the release would be lost, and paid."""
    data, path = files
    budget = dp.Budget.open(path, epsilon=1.0)
    out = path.with_name(path.name + ending)
    assert cdf(data, "--epsilon", 0.25, "--budget", path, "--json", out) == 2
    assert "is the budget, and would be written over it" in capsys.readouterr().err
    assert budget.log == ()


def test_nothing_is_written_into_a_folder_of_records(files, capsys):
    """A part would be replaced by the release, or the release be read as records."""
    data, path = files
    folder = data.parent / "parts"
    (folder / "year").mkdir(parents=True)
    part = data.rename(folder / "year" / "p.parquet")
    (data.parent / "link").symlink_to(folder)
    content, budget = part.read_bytes(), dp.Budget.open(path, epsilon=1.0)
    for out in (part, folder / "new.json", data.parent / "link" / "year" / "new.parquet"):
        assert cdf(folder, "--epsilon", 0.25, "--budget", path, "--json", out) == 2
        assert "is in FILE, and would be read as records" in capsys.readouterr().err
    assert part.read_bytes() == content
    assert budget.log == ()
    for out in (folder / "_release.json", data.parent / "parts.json"):
        assert cdf(folder, "--epsilon", 0.25, "--budget", path, "--json", out) == 0
    assert cdf(folder, "--epsilon", 0.25, "--budget", path) == 0


def test_errors_name_what_was_typed(files, tmp_path, capsys):
    data, path = files
    new = tmp_path / "new"
    for arguments, told in {
        (f"--json={new}", f"--budget={new}"): f"--budget '{new}' does not exist: a new budget",
        ("--budget=",): "--budget must be a file's path",
    }.items():
        assert cdf(data, "--epsilon", 1, *arguments) == 2
        assert f"dpcore: error: {told}" in capsys.readouterr().err
    assert main(["budget", str(new)]) == 2
    assert "error: FILE" in capsys.readouterr().err
    assert not new.exists()
    dp.Budget.open(path, epsilon=1.0)
    assert main(["budget", str(path), "--epsilon", "2"]) == 2
    assert "error: FILE must have the cap epsilon = 2" in capsys.readouterr().err
    assert cdf("", "--epsilon", 1) == 2
    assert "error: FILE must be a path" in capsys.readouterr().err
    assert main(["study", "none"]) == 2
    assert "error: STUDY must be one of" in capsys.readouterr().err


def test_labels_and_a_picture_of_what_was_spent_when(files, tmp_path, capsys):
    _, path = files
    budget = dp.Budget.open(path, epsilon=2.0, delta=1e-6, composition="zero-concentrated")
    for month in ("January $x^2$", "February"):
        with budget.label(month):
            dp.cdf([0.5] * 40, dp.Grid.uniform(0, 1, 8), epsilon=0.25)
    budget.charge(dp.Privacy(rho=0.001), "_by hand")
    for ending in ("png", "svg"):
        picture = tmp_path / f"spent.{ending}"
        assert main(["budget", str(path), "--picture", str(picture)]) == 0
        shown = capsys.readouterr().out.splitlines()
        assert shown[-1] == f"wrote {picture}"
        assert [line.split()[-1] for line in shown if "cdf" in line] == ["$x^2$", "February"]
        assert picture.stat().st_size > 1000
    text = picture.read_text("utf-8")
    assert "February" in text
    content = path.read_bytes()
    for out in (path.with_suffix(".txt"), f"{path}-wal.png"):
        assert (main(["budget", str(path), "--picture", str(out)]) == 0) == (
            out == f"{path}-wal.png"
        )
    link = tmp_path / "link.png"
    link.symlink_to(path)
    assert main(["budget", str(path), "--picture", str(link)]) == 2
    assert "--picture" in capsys.readouterr().err
    assert path.read_bytes() == content


def test_a_picture_of_nothing_is_a_cap(files, tmp_path):
    for number, cap in enumerate((["--rho", "1"], ["--epsilon", "1"])):
        words = ["budget", str(tmp_path / f"{number}"), *cap, "--picture", str(tmp_path / "a.pdf")]
        assert main(words) == 0
