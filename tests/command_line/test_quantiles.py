"""The command line: right numbers, one-line errors, and nothing left behind after a failure."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line import counting
from dpcore.command_line import main as cli

SECRET = "66321.75"
VALUES = np.arange(1, 1001) / 10  # p percent of them are at most p
FLAGS = ["--column", "x", "--lower", "0", "--upper", "100", "--size", "1000"]
EXACT = [*FLAGS, "--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{at},{value}\n" for at, value in enumerate(VALUES))
    (tmp_path / "t.csv").write_text(f"id,x\n{rows}")
    pq.write_table(pa.table({"x": VALUES}), tmp_path / "t.parquet")
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def quantiles(out: str) -> dict[int, float]:
    table = out.partition("quantile\n")[2].splitlines()
    return {int(line.split()[0]): float(line.split()[2]) for line in table}


def refused(capsys, *argv: str) -> str:
    """Return the error line of a run that has to fail, and has to have printed nothing else."""
    assert cli.main(["cdf", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dpcore: error: ")
    assert captured.err.count("\n") == 1
    assert SECRET not in captured.err
    return captured.err.removeprefix("dpcore: error: ").rstrip()


def run(*argv: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "dpcore", *argv],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
        capture_output="stdout" not in options,
        check=False,
        **options,
    )


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("extra", [[], ["--raw"], ["--smooth", "2"], ["--smooth", "1"]])
def test_quantiles(folder, capsys, file, extra):
    assert cli.main(["cdf", file, *EXACT, *extra]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert quantiles(captured.out) == {p: p for p in (1, 5, 10, 25, 50, 75, 90, 95, 99)}
    assert "records     1000\n" in captured.out
    assert f"privacy     {dp.Privacy(1e6)}\n" in captured.out
    assert "mechanism   dyadic, " in captured.out


@pytest.mark.parametrize(("extra", "processing"), [(["--raw"], ()), ([], ("isotonic()",))])
def test_what_is_printed_is_what_is_stored(folder, capsys, extra, processing):
    argv = ["cdf", "t.csv", *FLAGS, "--epsilon", "0.01", "--json", "o.json", *extra]
    assert cli.main(argv) == 0
    curve = dp.CDF.from_json(Path("o.json").read_text())
    out = capsys.readouterr().out
    assert curve.processing == processing
    assert f"curve       {processing[0] if processing else 'raw'}\n" in out
    assert f"std. error  {curve.standard_error().max():.2g} " in out
    for percent, value in quantiles(out).items():
        assert value == pytest.approx(float(curve.quantile(percent / 100)))


def test_all_batches_count(folder, capsys):
    pq.write_table(pa.table({"x": np.tile(VALUES, 200)}), "big.parquet")
    assert cli.main(["cdf", "big.parquet", *EXACT]) == 0
    out = capsys.readouterr().out
    assert "records     200000\n" in out
    assert quantiles(out)[75] == 75


def test_mechanisms(folder):
    argv = ["cdf", "t.csv", *FLAGS, "--epsilon", "0.5", "--json", "o.json"]
    for extra, mechanism in {
        (): dp.mechanisms.Hierarchy(0.5),
        ("--mechanism", "hierarchy"): dp.mechanisms.Hierarchy(0.5),
        ("--mechanism", "histogram"): dp.mechanisms.Histogram(0.5),
        ("--mechanism", "dawa"): dp.mechanisms.Dawa(0.5),
        ("--mechanism", "dyadic", "--base", "3"): dp.mechanisms.Dyadic(0.5, base=3),
        ("--mechanism", "dyadic-paper"): dp.mechanisms.Dyadic(0.5, sensitivity="paper"),
    }.items():
        assert cli.main([*argv, *extra]) == 0
        curve = dp.CDF.from_json(Path("o.json").read_text())
        assert curve.mechanism == mechanism.describe()
        assert not curve.privacy.simulated


def test_stored_curve_and_picture(folder, capsys):
    argv = ["cdf", "t.csv", *EXACT, "--json", "o.json", "--plot", "o.png"]
    assert cli.main(argv) == 0
    curve = dp.CDF.from_json(Path("o.json").read_text())
    assert np.array_equal(curve.counts, np.arange(1, 1001))
    assert Path("o.png").read_bytes().startswith(b"\x89PNG")
    assert names(folder) == ["o.json", "o.png", "t.csv", "t.parquet"]


def test_plotting_leaves_pyplot_alone(folder):
    import matplotlib.pyplot as plt

    Path("d.csv").write_text("$x^{$\n1\n2\n", encoding="utf-8")
    argv = ["cdf", "d.csv", *EXACT, "--column", "$x^{$", "--size", "50000"]
    for picture, magic in {"o.SVG": b"<?xml", "o.pdf": b"%PDF"}.items():
        assert cli.main([*argv, "--plot", picture]) == 0
        assert Path(picture).read_bytes().startswith(magic)
    assert plt.get_fignums() == []


def test_negative_bounds_in_any_notation(folder, capsys):
    for lower in (["--lower", "-1e1"], ["--lower=-10"], ["--lower", "-10"]):
        assert cli.main(["cdf", "t.csv", *EXACT, *lower, "--size", "1100"]) == 0
        assert quantiles(capsys.readouterr().out)[50] == 50


def test_tabs_and_byte_order_marks(folder, capsys):
    Path("d.txt").write_bytes(b"\xef\xbb\xbfx\ty\n3\ta\n")
    assert cli.main(["cdf", "d.txt", *EXACT, "--format", "csv", "--delimiter", r"\t"]) == 0
    assert quantiles(capsys.readouterr().out)[50] == 3


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
        (["--lower", "abc"], "argument --lower: invalid float value: 'abc'"),
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
        (["--json", "t.csv/o.json"], "--json 't.csv/o.json' cannot be written: Not a directory"),
        (["--json", "."], "--json '.' cannot be written: not a regular file"),
        (["--json", "/dev/null"], "--json '/dev/null' cannot be written: not a regular file"),
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
    assert "FILE '.' cannot be read: Is a directory" in refused(
        capsys, ".", *EXACT, "--format", "csv"
    )
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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
def test_progress_bar_on_terminals_only(folder, monkeypatch, file):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert cli.main(["cdf", file, *EXACT, "--quiet"]) == 0
    assert sys.stderr.getvalue() == ""
    assert cli.main(["cdf", file, *EXACT]) == 0
    assert "it/s" in sys.stderr.getvalue() or "B/s" in sys.stderr.getvalue()


def test_version_and_help(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"dpcore {dp.__version__}\n"
    assert cli.main(["cdf", "--help"]) == 0
    assert "--nan-policy" in capsys.readouterr().out


def test_letters_that_the_output_does_not_know(folder, monkeypatch):
    Path("d.csv").write_text("漢\n1\n", encoding="utf-8")
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert cli.main(["cdf", "d.csv", *EXACT, "--column", "漢"]) == 0
    assert raw.getvalue().startswith(rb"column      \u6f22")


def test_as_a_process_with_standard_input(folder):
    done = run("cdf", "-", *EXACT, input=(folder / "t.csv").read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    assert quantiles(done.stdout.decode())[90] == 90
    done = run("cdf", "-", *EXACT, "--format", "parquet", input=b"")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (
        b"dpcore: error: FILE must not be '-' with --format parquet, which has to seek\n"
    )


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
