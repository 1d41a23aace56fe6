"""The command line as a process: closed and full outputs, and interrupts, from its start on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from dpcore.command_line import main as cli
from tests.command_line.tables import ROOT

FLAGS = ["--column", "x", "--lower", "0", "--upper", "9", "--size", "9"]
EXACT = [*FLAGS, "--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
WARNED = ["cdf", "t.csv", *FLAGS, "--epsilon", "0.001"]
COMMAND = [sys.executable, "dpcore"]  # the script that pip makes
MODULE = [sys.executable, "-m", "dpcore"]
WAY_IN = pytest.mark.parametrize("start", [COMMAND, MODULE], ids=["command", "module"])
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other pipes and signals")
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


@pytest.fixture(autouse=True)
def files(folder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    Path("t.csv").write_text("x\n" + "1\n2\n3\n" * 50)
    Path("dpcore").write_text(
        "import sys\nfrom dpcore.command_line.main import main\nsys.exit(main())"
    )


def redirected(start: list[str], redirection: str, *argv: str) -> tuple[int, bytes, bytes]:
    """Run with the shell's redirections: ``>&-`` closes standard output."""
    shell = ["sh", "-c", f'exec "$0" "$@" {redirection}']
    done = subprocess.run([*shell, *start, *argv], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.sample(1)
@WAY_IN
@POSIX
def test_closed_output_is_an_error_before_anything_is_spent(start):
    closed = (2, b"", b"dpcore: error: standard output is closed\n")
    assert redirected(start, ">&-", "cdf", "t.csv", *EXACT, "--json", "o.json") == closed
    assert redirected(start, ">&-", "--help") == closed
    assert not Path("o.json").exists()


@POSIX
def test_without_standard_error_nothing_is_said_elsewhere(monkeypatch, capsys):
    code, out, err = redirected(MODULE, "2>&-", *WARNED)
    assert (code, err) == (0, b"")  # and a warning that nobody sees
    assert out.startswith(b"column      x\n")
    assert b"warning" not in out
    monkeypatch.setattr(sys, "stderr", None)
    assert cli.main(["cdf", "none.csv", *EXACT]) == 2
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(["cdf", "t.csv", *EXACT]) == 2


@FULL
def test_full_standard_error_changes_no_exit_code(monkeypatch):
    assert redirected(COMMAND, "2>/dev/full", *WARNED)[0] == 0
    monkeypatch.setattr(sys, "stderr", open("/dev/full", "w"))  # noqa: SIM115
    assert cli.main(["cdf", "none.csv", *EXACT]) == 2
    sys.stderr.close()


@FULL
def test_output_to_a_full_disk(monkeypatch, capsys):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert cli.main(["cdf", "t.csv", *EXACT]) == 2
    error = "dpcore: error: standard output cannot be written: No space left on device\n"
    assert capsys.readouterr().err == error


@pytest.mark.sample(1)
@WAY_IN
@POSIX
@pytest.mark.parametrize("argv", [["cdf", "--help"], ["--version"], ["cdf", "t.csv", *EXACT]])
def test_readers_that_have_gone(start, argv):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*start, *argv], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@WAY_IN
@POSIX
def test_an_interrupt_while_the_package_is_imported(folder, start, monkeypatch):
    (folder / "fake").mkdir()
    (folder / "fake" / "numpy.py").write_text("import signal; signal.raise_signal(signal.SIGINT)")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder / "fake"), str(ROOT)]))
    done = subprocess.run([*start, "--version"], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


def test_an_interrupt_of_another_program_is_not_ours():
    script = "import signal, dpcore; assert signal.getsignal(2) is signal.default_int_handler"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.sample(1)
@WAY_IN
@POSIX
def test_an_interrupt_while_a_pipe_is_read(start):
    with subprocess.Popen(
        [*start, "cdf", "-", *EXACT, "--json", "o.json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write(b"x\n" + b"1\n" * 5_000_000)  # returns when it has been read
        process.stdin.flush()
        while process.poll() is None:  # Python misses a signal right before it starts to read
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
        assert process.returncode == 130
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
    assert sorted(os.listdir()) == ["dpcore", "t.csv"]
