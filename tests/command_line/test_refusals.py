"""What the command line refuses: one-line errors, and nothing left behind after a failure."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpcore.command_line import counting
from dpcore.command_line import main as cli
from tests.command_line.tables import EXACT, names, run, write_tables

SECRET = "66321.75"
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has other names and other words")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    return tmp_path


def refused(capsys, *argv: str) -> str:
    """Return the error line of a run that has to fail, and has to have printed nothing else."""
    assert cli.main(["cdf", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dpcore: error: ")
    assert captured.err.count("\n") == 1
    assert SECRET not in captured.err
    return captured.err.removeprefix("dpcore: error: ").rstrip()


def test_missing_values(folder, capsys):
    Path("m.csv").write_text(f"x,y\n{SECRET},\n,\nNaN,\n")
    assert refused(capsys, "m.csv", *EXACT) == (
        "--column 'x' has missing values (NaN, null or empty); clean them, or leave them out "
        "with --nan-policy omit"
    )
    assert cli.main(["cdf", "m.csv", *EXACT, "--nan-policy", "omit"]) == 0
    assert "records     1\n" in capsys.readouterr().out
    assert "'y' holds no values" in refused(
        capsys, "m.csv", *EXACT, "--column", "y", "--nan-policy", "omit"
    )


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--lower", "abc"], "argument --lower: must be a number, or a date"),
        (["--lower", "nan"], "--lower must be finite; got nan"),
        (["--lower", "100"], "--upper must be greater than lower, 100.0; got 100.0"),
        (["--upper", "-1e5"], "--upper must be greater than lower, 0.0; got -100000.0"),
        (["--upper", "inf"], "--upper must be finite; got inf"),
        (["--size", "0"], "--size must be between 1 and 16777216; got 0"),
        (["--size", "1.5"], "argument --size: invalid int value: '1.5'"),
        (["--epsilon", "0"], "--epsilon must be positive and finite; got 0.0"),
        (["--epsilon", "-1"], "--epsilon must be positive and finite; got -1.0"),
        (["--epsilon", "inf"], "--epsilon must be finite; got inf"),
        (["--epsilon", "nan"], "--epsilon must be finite; got nan"),
        (["--epsilon", "1e-300"], "--epsilon is too small"),
        (["--mechanism", "best", "--base", "1"], "--base needs --mechanism dyadic; got best"),
        (["--mechanism", "dawa", "--smooth", "1"], "--smooth needs --mechanism dyadic; got dawa"),
        (
            ["--mechanism", "dyadic", "--base", "1"],
            "--base must be between 2 and 16777216; got 1",
        ),
        (["--rho", "1"], "argument --rho: not allowed with argument --epsilon"),
        (["--base", "3", "--mechanism", "dyadic-paper"], "--base must be 2 with --mechanism"),
        (["--mechanism", "x"], "argument --mechanism: invalid choice: 'x'"),
        (["--smooth", "3"], "argument --smooth: invalid choice: 3"),
        (["--smooth", "1", "--raw"], "--raw: not allowed with argument --smooth"),
        (["--col", "x\ny"], "unrecognized arguments: --col x y"),
        (["--delimiter", ";;"], "--delimiter must be one ASCII character, not a quote; got ';;'"),
        (["--column", "z"], "--column must be a name in the first line of 't.csv' (cells: 2; not"),
        (["--json", "none/o.json"], "--json 'none/o.json' cannot be written: No such file"),
        pytest.param(
            ["--json", "t.csv/o.json"],
            "--json 't.csv/o.json' cannot be written: Not a directory",
            marks=POSIX,
        ),
        (["--json", "."], "--json '.' cannot be written: not a regular file"),
        pytest.param(
            ["--json", "/dev/null"],
            "--json '/dev/null' cannot be written: not a regular file",
            marks=POSIX,
        ),
        (["--json", "./t.csv"], "--json 't.csv' is FILE"),
        (["--plot", "o.xyz"], "--plot must end in one of .png, .pdf, .svg; got 'o.xyz'"),
        (["--plot", "o.png", "--json", "./o.png"], "--json and --plot must differ; got 'o.png'"),
    ],
)
def test_arguments_that_are_refused(folder, capsys, argv, words):
    assert words in refused(capsys, "t.csv", *EXACT, *argv)
    assert names(folder) == ["t.csv", "t.parquet"]


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("none.csv", None, "FILE 'none.csv' cannot be read: No such file or directory"),
        ("d.txt", b"x\n1\n", "FILE 'd.txt' must end in .csv, .parquet, .pq, or have its format"),
        ("d.csv", b"", "FILE 'd.csv' is empty"),
        ("d.csv", b"x", "--column 'x' holds no values in FILE 'd.csv'"),
        ("d.csv", f"x\n{SECRET}?\n".encode(), "--column 'x' must hold numbers; got text"),
        ("d.csv", f"x,y\n{SECRET}\n".encode(), "FILE 'd.csv' is not a well-formed CSV file"),
        ("d.csv", f"{SECRET},1\n".encode(), "--column must be a name in the first line of 'd.csv'"),
        ("d.parquet", b"PAR1", "FILE 'd.parquet' is not a Parquet file, or is damaged"),
        ("d\n.csv", b"", r"FILE 'd\n.csv' is empty"),
    ],
)
def test_files_that_are_refused(folder, capsys, file, content, words):
    if content is not None:
        Path(file).write_bytes(content)
    assert words in refused(capsys, file, *EXACT, "--json", "o.json")
    assert not Path("o.json").exists()


def test_no_command_and_folders(folder, capsys):
    assert cli.main([]) == 2
    assert "arguments are required: COMMAND" in capsys.readouterr().err
    assert "required: FILE, --column" in refused(capsys)
    assert "--format must be 'parquet' for a folder; got 'csv'" in refused(
        capsys, ".", *EXACT, "--format", "csv"
    )
    assert "FILE '.' holds other files than Parquet (1 not in" in refused(capsys, ".", *EXACT)
    os.link("t.csv", "same")
    assert "--json 'same' is FILE" in refused(capsys, "t.csv", *EXACT, "--json", "same")


@pytest.mark.parametrize(
    ("module", "extra", "argv"),
    [("pyarrow", "io", []), ("matplotlib", "plot", ["--plot", "o.png"]), ("tqdm", "cli", [])],
)
def test_missing_extras_are_named(folder, capsys, monkeypatch, module, extra, argv):
    for name in [*sys.modules, module]:
        if name.partition(".")[0] == module:
            monkeypatch.setitem(sys.modules, name, None)
    if module == "tqdm":
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert f"dpcore[{extra}]" in refused(capsys, "t.csv", *EXACT, *argv)


def test_arguments_are_checked_before_the_data_are_read(folder, capsys, monkeypatch):
    def read(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(counting, "column_batches", read)
    assert cli.main(["cdf", "t.csv", *EXACT]) == 130
    for argv in (
        ["--epsilon", "1e-300"],
        ["--json", "none/o.json"],
        ["--plot", "o.xyz"],
        ["--plot", "o.png", "--json", "o.png"],
        ["--base", "3", "--mechanism", "dyadic-paper"],
    ):
        refused(capsys, "t.csv", *EXACT, *argv)


@pytest.mark.parametrize("failing", [1, 2])
def test_full_disk_releases_nothing(folder, capsys, monkeypatch, failing):
    Path("o.json").write_text("old")
    real, written = os.fsync, []

    def fsync(number):
        written.extend([number] * (os.fstat(number).st_size > 0))
        if len(written) == failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    flag = ["--json 'o.json'", "--plot 'o.png'"][failing - 1]
    assert refused(capsys, "t.csv", *EXACT, "--json", "o.json", "--plot", "o.png") == (
        f"{flag} cannot be written: No space left on device; nothing was released"
    )
    assert names(folder) == ["o.json", "t.csv", "t.parquet"]
    assert Path("o.json").read_text() == "old"


def test_interruption(folder, capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=interrupt)))
    assert cli.main(["cdf", "-", *EXACT, "--json", "o.json"]) == 130
    assert capsys.readouterr() == ("", "")
    assert names(folder) == ["t.csv", "t.parquet"]


def test_output_that_nobody_reads(folder):
    reading, writing = os.pipe()
    os.close(reading)
    done = run("cdf", "t.csv", *EXACT, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_to_a_full_disk(folder):
    with open("/dev/full", "wb") as full:
        done = run("cdf", "t.csv", *EXACT, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == (
        b"dpcore: error: standard output cannot be written: No space left on device\n"
    )
