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
from dpcore.command_line import main as cli
from dpcore.command_line import roc

SCORED = ["--label", "y", "--score", "s"]
BOUNDS = ["--lower", "0", "--upper", "1", "--size", "8"]
EXACT = ["--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
RUNS = {"roc": [*SCORED, *BOUNDS, *EXACT], "calibration": [*SCORED, *EXACT]}
RUNS["hosmer-lemeshow"] = [*SCORED, *EXACT, "--size", "16", "--groups", "4"]
SCORES = np.linspace(0.05, 0.95, 200)


pytestmark = pytest.mark.usefixtures("folder")


def write(labels: list[object]) -> None:
    cycle = [labels[at % len(labels)] for at in range(SCORES.size)]
    rows = "".join(f"{y},{s}\n" for y, s in zip(cycle, SCORES, strict=True))
    Path("t.csv").write_text(f"y,s\n{rows}", encoding="utf-8")


def asks(error: str) -> bool:
    return error.startswith("--label 'y' holds text") and "--positive" in error


@pytest.mark.parametrize("command", RUNS)
def test_text_without_a_positive_label_is_refused(command, ran, refused):
    write(["yes", "no"])
    argv = [command, "t.csv", *RUNS[command], "--json", "o.json"]
    assert asks(refused(*argv))
    assert "positives   100 (released)\n" in ran(*argv, "--positive", "yes")


@pytest.mark.parametrize("labels", [["1", "0", "x"], ["1", "?"], ["0", "1 0"], ["1", " nan "]])
def test_a_single_cell_of_text_is_enough(labels, refused):
    write(["1", "0"] * 40 + labels)
    assert asks(refused("roc", "t.csv", *RUNS["roc"], "--nan-policy", "omit"))


@pytest.mark.parametrize(
    "labels", [["1", "0"], ["1.0", " 0"], ["True", "False"], ["TRUE", "0"], ["1", "2"], ["1", "-1"]]
)
def test_numbers_and_booleans_need_none(labels, ran):
    write(labels)
    out = ran("roc", "t.csv", *RUNS["roc"])
    assert "label       y, positive if 1\n" in out
    assert "positives   100 (released)\n" in out


@pytest.mark.parametrize("missing", ["", "NA", "nan", "null"])
def test_missing_labels_are_not_text(missing, ran, refused):
    write(["1", "0", missing, "0"])
    assert refused("roc", "t.csv", *RUNS["roc"]).startswith("--label 'y' has missing values")
    assert ran("roc", "t.csv", *RUNS["roc"], "--nan-policy", "omit")


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
    argv = ["roc", "t.parquet", *RUNS["roc"]]
    assert cli.main(argv) == (2 if is_text else 0)
    assert ("holds text" in capsys.readouterr().err) == is_text
    assert cli.main([*argv, "--positive", "1"]) == (2 if labels.null_count else 0)


@pytest.fixture
def instead(monkeypatch):
    """Let another function run instead of ``dpcore roc``."""
    return lambda function: monkeypatch.setattr(roc, "COMMAND", roc.COMMAND._replace(run=function))


def test_warnings_of_a_release_are_lines_of_their_own(capsys, instead):
    """They follow what is printed; those of others are Python's."""
    write(["1", "0"])
    honest = roc.COMMAND.run

    def warn(options):
        for _ in range(2):
            warnings.warn("is pos_label right?", dp.DpcoreWarning, stacklevel=1)
        warnings.warn("and are\ny_true and y_score?", dp.DpcoreWarning, stacklevel=1)
        warnings.warn("of a library", FutureWarning, stacklevel=1)
        return honest(options)

    instead(warn)
    with pytest.warns(FutureWarning, match="^of a library$"):
        assert cli.main(["roc", "t.csv", *RUNS["roc"], "--json", "o.json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == (
        "dpcore: warning: is --positive right?\ndpcore: warning: and are --label and --score?\n"
    )
    assert "warning" not in captured.out
    json.loads(Path("o.json").read_text())


@pytest.mark.filterwarnings("always::dpcore.DpcoreWarning")
def test_a_label_that_nobody_has_is_warned_of_once_if_there_is_a_release(capsys, refused):
    write(["yes", "no"])
    argv = ["roc", "t.csv", *SCORED, *BOUNDS, "--epsilon", "1", "--positive", "Yes"]
    assert cli.main(argv) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dpcore: warning: ")
    assert "--positive ('Yes') right, and are labels and scores in order?" in line
    Path("o.json").mkdir()
    assert "warning" not in refused(*argv, "--json", "o.json")


def test_an_error_of_our_own_making_does_not_quote(refused, instead):
    def fail(options):
        raise IndexError("canary")

    instead(fail)
    error = refused("roc", "t.csv", *RUNS["roc"])
    assert error.startswith("dpcore has failed (IndexError in ")
    assert "canary" not in error
