"""The command line as a process: closed and full outputs, and interrupts, from its start on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLAGS = ["--column", "x", "--lower", "0", "--upper", "9", "--size", "9"]
EXACT = [*FLAGS, "--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
COMMAND = [sys.executable, "dpcore"]  # the script that pip makes
MODULE = [sys.executable, "-m", "dpcore"]
WAY_IN = pytest.mark.parametrize("start", [COMMAND, MODULE], ids=["command", "module"])
REDIRECTS = pytest.mark.skipif(sys.platform == "win32", reason="it takes a POSIX shell")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "t.csv").write_text("x\n" + "1\n2\n3\n" * 50)
    (tmp_path / "dpcore").write_text(
        "import sys\nfrom dpcore.command_line.main import main\nsys.exit(main())"
    )
    return tmp_path


def redirected(start: list[str], redirection: str, *argv: str) -> subprocess.CompletedProcess:
    """Run with the shell's redirections: ``>&-`` closes standard output."""
    shell = ["sh", "-c", f'exec "$0" "$@" {redirection}']
    return subprocess.run([*shell, *start, *argv], capture_output=True, check=False)


@pytest.mark.sample(1)
@WAY_IN
@REDIRECTS
@pytest.mark.parametrize("argv", [["cdf", "t.csv", *EXACT, "--json", "o.json"], ["--help"]])
def test_closed_output_is_an_error_before_anything_is_spent(folder, start, argv):
    done = redirected(start, ">&-", *argv)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"dpcore: error: standard output is closed\n"
    assert not Path("o.json").exists()


@pytest.mark.sample(1)
@WAY_IN
@REDIRECTS
def test_without_standard_error_nothing_is_said_elsewhere(folder, start):
    done = redirected(start, "2>&-", "cdf", "none.csv", *EXACT)
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")
    done = redirected(start, ">&- 2>&-", "cdf", "t.csv", *EXACT)
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")
    done = redirected(start, "2>&-", "cdf", "t.csv", *FLAGS, "--epsilon", "0.001")
    assert done.returncode == 0  # and a warning that nobody sees
    assert done.stdout.startswith(b"column      x\n")
    assert b"warning" not in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_standard_error_changes_no_exit_code(folder):
    assert redirected(COMMAND, "2>/dev/full", "cdf", "none.csv", *EXACT).returncode == 2
    done = redirected(COMMAND, "2>/dev/full", "cdf", "t.csv", *FLAGS, "--epsilon", "0.001")
    assert done.returncode == 0


@pytest.mark.sample(1)
@WAY_IN
@pytest.mark.skipif(sys.platform == "win32", reason="a broken pipe has another error there")
@pytest.mark.parametrize("argv", [["cdf", "t.csv", *EXACT], ["cdf", "--help"], ["--version"]])
def test_readers_that_have_gone(folder, start, argv):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*start, *argv], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@WAY_IN
@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt has another exit code there")
def test_an_interrupt_while_the_package_is_imported(folder, start):
    (folder / "fake").mkdir()
    (folder / "fake" / "numpy.py").write_text("import signal; signal.raise_signal(signal.SIGINT)")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder / "fake"), str(ROOT)])
    done = subprocess.run([*start, "--version"], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


def test_an_interrupt_of_another_program_is_not_ours(folder):
    script = "import signal, dpcore; assert signal.getsignal(2) is signal.default_int_handler"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.sample(1)
@WAY_IN
@pytest.mark.skipif(sys.platform == "win32", reason="no such signal can be sent there")
def test_an_interrupt_while_a_pipe_is_read(folder, start):
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
