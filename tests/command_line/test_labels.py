"""What the command line makes of labels without ``--positive``, and of warnings of a release."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line import commands
from dpcore.command_line import main as cli

SCORED = ["--label", "y", "--score", "s"]
BOUNDS = ["--lower", "0", "--upper", "1", "--size", "8"]
EXACT = ["--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
RUNS = {"roc": [*SCORED, *BOUNDS, *EXACT], "calibration": [*SCORED, *EXACT]}
RUNS["hosmer-lemeshow"] = [*SCORED, *EXACT, "--size", "16", "--groups", "4"]
ASKED = "dpcore: error: --label 'y' holds text: give the label of the positives with --positive\n"
SCORES = np.linspace(0.05, 0.95, 200)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(labels: list[object]) -> None:
    cycle = [labels[at % len(labels)] for at in range(SCORES.size)]
    rows = "".join(f"{y},{s}\n" for y, s in zip(cycle, SCORES, strict=True))
    Path("t.csv").write_text(f"y,s\n{rows}", encoding="utf-8")


@pytest.mark.parametrize("command", RUNS)
def test_text_without_a_positive_label_is_refused(command, capsys):
    write(["yes", "no"])
    argv = [command, "t.csv", *RUNS[command], "--json", "o.json"]
    assert cli.main(argv) == 2
    assert capsys.readouterr() == ("", ASKED)
    assert not Path("o.json").exists()
    assert cli.main([*argv, "--positive", "yes"]) == 0
    assert "positives   100 (released)\n" in capsys.readouterr().out


@pytest.mark.parametrize("labels", [["1", "0", "x"], ["1", "?"], ["0", "1 0"], ["1", " nan "]])
def test_a_single_cell_of_text_is_enough(labels, capsys):
    write(["1", "0"] * 40 + labels)
    assert cli.main(["roc", "t.csv", *RUNS["roc"], "--nan-policy", "omit"]) == 2
    assert capsys.readouterr() == ("", ASKED)


@pytest.mark.parametrize(
    "labels", [["1", "0"], ["1.0", " 0"], ["True", "False"], ["TRUE", "0"], ["1", "2"], ["1", "-1"]]
)
def test_numbers_and_booleans_need_none(labels, capsys):
    write(labels)
    assert cli.main(["roc", "t.csv", *RUNS["roc"]]) == 0
    out = capsys.readouterr().out
    assert "label       y, positive if 1\n" in out
    assert "positives   100 (released)\n" in out


@pytest.mark.parametrize("missing", ["", "NA", "nan", "null"])
def test_missing_labels_are_not_text(missing, capsys):
    write(["1", "0", missing, "0"])
    assert cli.main(["roc", "t.csv", *RUNS["roc"]]) == 2
    assert "--label 'y' has missing values" in capsys.readouterr().err
    assert cli.main(["roc", "t.csv", *RUNS["roc"], "--nan-policy", "omit"]) == 0


@pytest.mark.parametrize(
    ("labels", "is_text"),
    [
        (pa.array([True, False]), False),
        (pa.array([1, 0], pa.int8()), False),
        (pa.array([1.0, 2.0]).dictionary_encode(), False),
        (pa.array(["1", "0"]), True),  # the type decides, not what is in it
        (pa.array(["1", "0"], pa.large_string()), True),
        (pa.array(["1", "0"]).dictionary_encode(), True),
        (pa.array([None, None], pa.string()), True),
        (pa.array([b"1", b"0"]), False),  # bytes are cells, as in CSV
        (pa.array([b"1", b"no"]), True),
    ],
)
def test_types_of_parquet_decide(labels, is_text, capsys):
    pq.write_table(pa.table({"y": labels, "s": [0.2, 0.8]}), "t.parquet")
    assert cli.main(["roc", "t.parquet", *RUNS["roc"]]) == (2 if is_text else 0)
    captured = capsys.readouterr()
    assert (captured.err == ASKED) == is_text
    assert cli.main(["roc", "t.parquet", *RUNS["roc"], "--positive", "1"]) == (
        2 if labels.null_count else 0
    )


def test_warnings_of_a_release_are_lines_of_their_own(capsys, monkeypatch):
    """They follow what is printed; those of others are Python's."""
    write(["1", "0"])
    honest = commands.COMMANDS["roc"]

    def warn(options):
        for _ in range(2):
            warnings.warn("is pos_label right?", dp.DpcoreWarning, stacklevel=1)
        warnings.warn("and are\ny_true and y_score?", dp.DpcoreWarning, stacklevel=1)
        return honest(options)

    monkeypatch.setattr(cli, "COMMANDS", {"roc": warn})
    assert cli.main(["roc", "t.csv", *RUNS["roc"], "--json", "o.json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == (
        "dpcore: warning: is --positive right?\ndpcore: warning: and are --label and --score?\n"
    )
    assert "warning" not in captured.out
    json.loads(Path("o.json").read_text())


@pytest.mark.filterwarnings("always::dpcore.DpcoreWarning")
def test_a_label_that_nobody_has_is_warned_of_once(capsys):
    write(["yes", "no"])
    argv = ["roc", "t.csv", *SCORED, *BOUNDS, "--epsilon", "1", "--positive", "Yes"]
    assert cli.main(argv) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dpcore: warning: ")
    assert "--positive ('Yes') right, and are --label and --score in order?" in line


def test_nothing_is_warned_of_where_nothing_is_released(capsys):
    write(["yes", "no"])
    argv = ["roc", "t.csv", *SCORED, *BOUNDS, "--epsilon", "1", "--positive", "Yes"]
    Path("o.json").mkdir()
    assert cli.main([*argv, "--json", "o.json"]) == 2
    assert "warning" not in capsys.readouterr().err


def test_other_warnings_are_shown_as_python_does(capsys, monkeypatch):
    write(["1", "0"])

    def warn(options):
        warnings.warn("of a library", FutureWarning, stacklevel=1)
        return "done"

    monkeypatch.setattr(cli, "COMMANDS", {"roc": warn})
    with pytest.warns(FutureWarning, match="^of a library$"):
        assert cli.main(["roc", "t.csv", *RUNS["roc"]]) == 0
    assert capsys.readouterr() == ("done\n", "")


def test_an_error_of_our_own_making_does_not_quote(capsys, monkeypatch):
    def fail(options):
        raise IndexError("canary")

    monkeypatch.setattr(cli, "COMMANDS", {"roc": fail})
    assert cli.main(["roc", "t.csv", *RUNS["roc"]]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dpcore: error: dpcore has failed (IndexError in ")
    assert captured.err.count("\n") == 1
    assert "canary" not in captured.err
