"""``dpcore study`` as processes: workers, interrupts of all of them, and workers that end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpcore import studies
from tests.command_line.tables import ROOT, run

STUDIES = """
from __future__ import annotations
import os, signal, threading, time, warnings
from dataclasses import dataclass
from typing import ClassVar
from dpcore import DpcoreWarning, studies
from helper_of_studies import shifted

LOCK = threading.Lock()

@dataclass(frozen=True)
class Law:
    shift: int
    kind: ClassVar[str] = "uniform"

@studies.study({"x": {"one": Law(1), "two": Law(2)}})
def quick(x, rng):
    import other_helper_of_studies
    assert isinstance(x, Law)
    warnings.warn("much noise", DpcoreWarning)
    return {"u": shifted(x.shift, rng), "worker": os.getpid()}

@studies.study({"x": [1, 2]})
def slow(x, rng):
    time.sleep(0.02)
    return {"u": rng.random()}

@studies.study({"x": [1, 2]})
def killed(x, rng):
    os.kill(os.getpid(), signal.SIGKILL)

@studies.study({"x": [1, 2]})
def locked(x, rng):
    with LOCK:
        return {"u": rng.random()}
"""
COMMAND = [sys.executable, "-m", "dpcore", "study"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.py").write_text(STUDIES)
    (tmp_path / "helper_of_studies.py").write_text("def shifted(x, rng): return x + rng.random()\n")
    (tmp_path / "other_helper_of_studies.py").write_text("")
    return tmp_path


def test_workers_know_the_file_and_its_neighbours_and_find_the_same(folder):
    found = []
    for workers in ("1", "2"):
        done = run("study", "s.py:quick", "--replicates", "40", "--seed", "1",
                   "--workers", workers, "--out", workers)  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")  # no bar and no warnings, neither there
        found.append(studies.load(workers))
    one, two = found
    assert one.array("u").tolist() == two.array("u").tolist()
    assert len({*one.array("worker").ravel()}) == 1
    assert not {*one.array("worker").ravel()} & {*two.array("worker").ravel()}


@pytest.mark.sample(1)
@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt has another exit code there")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupt_of_all_processes_keeps_what_is_done_and_says_so(folder, workers):
    """As a terminal sends it: to workers as well."""
    command = [*COMMAND, "s.py:slow", "--replicates", "100000", "--workers", workers]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*command, "--out", "o"],
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while (
            process.poll() is None and len(list(folder.glob("o/parts/*.parquet"))) < 2
        ):  # one has no rows
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert err == b"dpcore: what was done is kept in 'o'; the same command goes on\n"
    kept = len(studies.load("o"))
    assert kept > 0
    goes_on = run("study", "s.py:slow", "--replicates", "1", "--workers", workers, "--out", "o")
    assert goes_on.returncode == 0
    assert len(studies.load("o")) >= kept


@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt has another exit code there")
def test_an_interrupt_without_a_folder_is_quiet(folder):
    (folder / "i.py").write_text(
        STUDIES.replace("    time.sleep(0.02)", "    signal.raise_signal(signal.SIGINT)")
    )
    done = run("study", "i.py:slow", "--workers", "1")
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_worker_that_ends_is_an_error(folder):
    done = run("study", "s.py:killed", "--workers", "2", "--out", "o")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.splitlines()[-1].startswith(
        b"dpcore: error: a worker has ended, perhaps because memory ran out: use fewer --workers"
    )


def test_what_cannot_be_sent_to_workers_is_an_error(folder):
    done = run("study", "s.py:locked", "--workers", "2")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (
        b"dpcore: error: locked cannot be sent to workers (TypeError: cannot pickle "
        b"'_thread.lock' object); a single one needs no sending\n"
    )
    assert run("study", "s.py:locked", "--workers", "1", "--replicates", "2").returncode == 0


def test_a_reader_that_has_gone(folder):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "s.py:quick", "--replicates", "2", "--workers", "1", "--out", "o"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
    assert len(studies.load(Path("o"))) == 4
