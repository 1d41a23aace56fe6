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
import os, signal, time, warnings
from dataclasses import dataclass
from typing import ClassVar
from dpcore import DpcoreWarning, studies
from helper_of_studies import shifted

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
"""


@pytest.fixture(autouse=True)
def files(folder):
    Path("s.py").write_text(STUDIES)
    Path("helper_of_studies.py").write_text("def shifted(x, rng): return x + rng.random()\n")
    Path("other_helper_of_studies.py").write_text("")


def test_workers_know_the_file_and_its_neighbours_and_find_the_same():
    results = []
    for workers in ("1", "2"):
        done = run("study", "s.py:quick", "--replicates", "40", "--seed", "1",
                   "--workers", workers, "--out", workers)  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")  # no bar and no warnings, neither there
        results.append(studies.load(workers))
    one, two = results
    assert one.array("u").tolist() == two.array("u").tolist()
    assert len({*one.array("worker").ravel()}) == 1
    assert not {*one.array("worker").ravel()} & {*two.array("worker").ravel()}


@pytest.mark.sample(1)
@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt has another exit code there")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupt_of_all_processes_keeps_what_is_done_and_says_so(folder, workers):
    """As a terminal sends it: to workers as well."""
    command = [sys.executable, "-m", "dpcore", "study", "s.py:slow", "--workers", workers]
    with subprocess.Popen(
        [*command, "--replicates", "100000", "--out", "o"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while process.poll() is None and len(list(folder.glob("o/parts/*.parquet"))) < 2:
            time.sleep(0.05)  # one has no rows
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert err == b"dpcore: what was done is kept in 'o'; the same command goes on\n"
    assert len(studies.load("o")) > 0


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_worker_that_ends_is_an_error():
    done = run("study", "s.py:killed", "--workers", "2", "--out", "o")
    assert (done.returncode, done.stdout) == (2, b"")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(b"dpcore: error: a worker has ended")
    assert b"--workers" in last
