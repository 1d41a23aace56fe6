"""``dpcore roc``: right rates from files, discreet errors, and a release that is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line import counting
from dpcore.command_line import main as cli
from dpcore.command_line.labels import is_label
from dpcore.statistics.roc import ROC

SECRET = "66321.75"
FLAGS = ["--label", "y", "--score", "s", "--lower", "0", "--upper", "1", "--size", "100"]
EXACT = [*FLAGS, "--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
RNG = np.random.default_rng(1)
LABELS = RNG.random(2000) < 0.25
SCORES = np.round(np.clip(RNG.normal(0.35 + 0.3 * LABELS, 0.15), 0.005, 0.995), 2) - 0.005


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = ["yes" if label else "no" for label in LABELS]
    records = enumerate(zip(text, SCORES.tolist(), strict=True))
    rows = "".join(f"{at},{y},{s!r}\n" for at, (y, s) in records)
    (tmp_path / "t.csv").write_text(f"id,y,s\n{rows}")
    pq.write_table(pa.table({"s": SCORES, "y": LABELS}), tmp_path / "t.parquet")
    return tmp_path


def refused(capsys, *argv: str) -> str:
    """Return the error line of a run that has to fail, and has to have printed nothing else."""
    assert cli.main(["roc", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dpcore: error: ")
    assert captured.err.count("\n") == 1
    assert SECRET not in captured.err
    return captured.err.removeprefix("dpcore: error: ").rstrip()


def table(out: str) -> list[list[str]]:
    rows = out.partition("scores above\n")[2].splitlines()
    return [row.replace("%", "").replace(" -", " ").split() for row in rows]


@pytest.mark.parametrize("argv", [["t.csv", "--positive", "yes"], ["t.parquet"]])
@pytest.mark.parametrize("extra", [[], ["--smooth", "2"]])
def test_rates_and_area(folder, capsys, argv, extra):
    assert cli.main(["roc", *argv, *EXACT, *extra]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    exact = ROC.from_curves(
        dp.score_curves(LABELS, SCORES, dp.Grid.uniform(0, 1, 100), dp.mechanisms.NoNoise())
    )
    assert f"AUC         {exact.auc:.4g}\n" in captured.out
    assert f"positives   {LABELS.sum()} (released)\n" in captured.out
    assert "records     2000\n" in captured.out
    rows = table(captured.out)
    assert len(rows) == 6
    for percent, tpr, low, high, threshold in rows:
        above = [np.mean(SCORES[own] > float(threshold)) for own in (~LABELS, LABELS)]
        assert above[0] <= float(percent) / 100
        assert np.mean(SCORES[~LABELS] > float(threshold) - 0.01) > float(percent) / 100
        assert float(tpr) / 100 == pytest.approx(above[1], abs=1e-4)
        assert float(low) <= float(tpr) <= float(high)


def test_what_is_printed_is_what_is_stored_and_drawn(folder, capsys):
    argv = ["roc", "t.csv", "--positive", "yes", *FLAGS, "--epsilon", "0.5"]
    assert cli.main([*argv, "--json", "o.json", "--plot", "o.svg"]) == 0
    curves = dp.ScoreCurves.from_json(Path("o.json").read_text())
    out = capsys.readouterr().out
    assert f"AUC         {ROC.from_curves(curves).auc:.4g}\n" in out
    assert f"positives   {curves.positives[-1]:.0f} (released)\n" in out
    assert curves.privacy == dp.Privacy(0.5)
    assert "label       y, positive if yes\nscore       s\n" in out
    assert "curve       isotonic()\n" in out
    assert Path("o.svg").read_bytes().startswith(b"<?xml")


def test_all_batches_count(folder, capsys):
    pq.write_table(pa.table({"s": np.tile(SCORES, 100), "y": np.tile(LABELS, 100)}), "big.parquet")
    assert cli.main(["roc", "big.parquet", *EXACT]) == 0
    assert f"positives   {100 * LABELS.sum()} (released)\n" in capsys.readouterr().out


def test_missing_values(folder, capsys):
    Path("m.csv").write_text(f"y,s\n1,0.3\n,0.4\n0,\n1,NaN\n{SECRET},0.2\n")
    policy = "missing values (NaN, null or empty); clean them, or leave them out with --nan-policy"
    assert f"--label 'y' has {policy} omit" in refused(capsys, "m.csv", *EXACT)
    assert cli.main(["roc", "m.csv", *EXACT, "--nan-policy", "omit"]) == 0
    out = capsys.readouterr().out
    assert "records     2\n" in out
    assert "positives   1 (released)\n" in out
    Path("n.csv").write_text("y,s\n1,0.3\n0,\n")
    assert f"--score 's' has {policy} omit" in refused(capsys, "n.csv", *EXACT)
    Path("e.csv").write_text("y,s\n")
    assert "--label 'y' and --score 's' hold no records in FILE 'e.csv'" in refused(
        capsys, "e.csv", *EXACT
    )
    labels = pa.array([1.0, np.nan, 0.0])
    pq.write_table(pa.table({"y": labels, "s": [0.1, 0.2, np.nan]}), "f.parquet")
    assert "--label 'y' has missing" in refused(capsys, "f.parquet", *EXACT)
    assert cli.main(["roc", "f.parquet", *EXACT, "--nan-policy", "omit"]) == 0
    assert "records     1\n" in capsys.readouterr().out


def test_a_label_that_nobody_has_is_no_error(folder, capsys):
    assert cli.main(["roc", "t.csv", "--positive", "maybe", *EXACT]) == 0
    out = capsys.readouterr().out
    assert "positives   0 (released)\n" in out
    assert out.endswith("No ROC curve: a released class has no records.\n")
    assert cli.main(["roc", "t.csv", "--positive", "maybe", *EXACT, "--plot", "o.png"]) == 0


@pytest.mark.parametrize(
    ("found", "typed", "same"),
    [
        (b"yes", "yes", True),
        (b" yes ", "yes", True),
        (b"Yes", "yes", False),
        ("yes", "yes", True),
        (1, "1", True),
        (1.0, "1", True),
        (b"1.0", "1", True),
        (True, "1", True),
        (True, "true", True),
        (b"True", "1", True),
        (False, "0", True),
        (b"FALSE", "0", True),
        (False, "1", False),
        (b"nan", "1", False),
        (b"nan", "nan", True),
        (b"\xff", "1", False),
        (2**53 + 1, str(2**53), False),
        (2**53 + 1, str(2**53 + 1), True),
        (b"1_0", "10", False),
        (b"1e400", "1e401", False),
        (b"snan", "1", False),
        (10**30, "1e30", True),
        ("\u0661", "1", True),  # an Arabic digit one is a one
    ],
)
def test_labels_are_compared_as_text_and_as_numbers(found, typed, same):
    assert is_label(found, typed) == same


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--label", "z"], "--label must be a name in the first line of 't.csv' (cells: 3; not"),
        (["--score", "z"], "--score must be a name in the first line of 't.csv' (cells: 3; not"),
        (["--score", "y"], "--score must differ from label 'y'; got 'y'"),
        (["--label", "id", "--score", "y"], "--score 'y' must hold numbers; got text"),
        (["--size", "8388609"], "--size must be between 1 and 8388608; got 8388609"),
        (["--size", "0"], "--size must be between 1 and 16777216; got 0"),
        (["--raw"], "unrecognized arguments: --raw"),
        (["--column", "s"], "unrecognized arguments: --column s"),
        (["--epsilon", "1e-300"], "--epsilon is too small"),
        (["--mechanism", "best", "--smooth", "1"], "--smooth needs --mechanism dyadic; got best"),
        (["--json", "t.csv"], "--json 't.csv' is FILE"),
        (["--plot", "o.xyz"], "--plot must end in one of .png, .pdf, .svg; got 'o.xyz'"),
    ],
)
def test_arguments_that_are_refused(folder, capsys, argv, words):
    assert words in refused(capsys, "t.csv", *EXACT, *argv)
    assert sorted(path.name for path in folder.iterdir()) == ["t.csv", "t.parquet"]


def test_arguments_are_checked_before_the_data_are_read(folder, capsys, monkeypatch):
    def read(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(counting, "record_batches", read)
    assert cli.main(["roc", "t.csv", *EXACT]) == 130
    for argv in (["--epsilon", "1e-300"], ["--json", "none/o.json"], ["--size", "8388609"]):
        refused(capsys, "t.csv", *EXACT, *argv)
    assert "required: FILE, --label, --score" in refused(capsys)


def test_help(capsys):
    assert cli.main(["roc", "--help"]) == 0
    assert "--positive" in capsys.readouterr().out
