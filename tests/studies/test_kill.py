"""Runs that are killed: what they had made stays, they go on to the same bytes, nothing is left."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import time

import pytest

from dpcore import studies
from tests.studies.alike import content

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL, and no flock")


def started(folder, script, *arguments):
    (folder / "script.py").write_text(script)
    command = [sys.executable, "script.py", *arguments]
    return subprocess.Popen(command, cwd=folder, start_new_session=True)


def wait_until(condition, running):
    while not condition():
        assert running.poll() is None
        time.sleep(0.01)


SCRIPT = """
import sys, time
from dpcore import studies
from dpcore.studies import keeping, plan

@studies.study({"n": [1, 3], "scale": {"one": 1.0, "half": lambda: 0.5}})
def draw(n, scale, rng):
    if "slowly" in sys.argv:
        time.sleep(0.01)
    return {"x": rng.random(), "at": rng.random(n)}

if __name__ == "__main__":
    plan._SECONDS = keeping._KEPT = 0.05  # not to wait for seconds
    studies.run(draw, replicates=150, seed=3, out="killed", workers=2)
"""


def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path):
    killed, once = tmp_path / "killed", tmp_path / "once"
    running = started(tmp_path, SCRIPT, "slowly")
    wait_until(lambda: len(list((killed / "parts").glob("*.parquet"))) >= 4, running)
    os.killpg(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    assert 3 <= len(studies.load(killed)) < 600
    draw = runpy.run_path(str(tmp_path / "script.py"))["draw"]
    studies.run(draw, replicates=150, out=killed)  # without a warning: it is the same code
    studies.run(draw, replicates=150, seed=3, out=once)
    assert len(studies.load(killed)) == 600
    assert content(killed) == content(once)


SLOW = """
import time
from dpcore import studies
from dpcore.studies import keeping, plan

@studies.study({"n": range(17)})
def slow(n, rng):
    with open("begun", "ab") as log:
        log.write(b".")
    time.sleep(0.1)
    return {"x": rng.random()}

plan._SECONDS = plan.LIMIT = keeping._KEPT = 0.05  # calls take longer, as those of two seconds do
studies.run(slow, replicates=5, seed=3, out="out", workers=1)
"""


def test_a_killed_run_of_slow_calls_loses_the_call_in_hand(tmp_path):
    """Cells whose calls have no known time are not packed together."""
    running, begun = started(tmp_path, SLOW), tmp_path / "begun"
    wait_until(lambda: begun.exists() and begun.stat().st_size >= 10, running)
    running.kill()
    assert running.wait() == -signal.SIGKILL
    assert len(studies.load(tmp_path / "out")) >= begun.stat().st_size - 1


WRITES = """
import os, signal, sys
from dpcore import studies
from dpcore.records import atomic

def killed(source, target):
    if str(target).endswith("replicates.parquet"):
        os.kill(os.getpid(), signal.SIGKILL)
    os.rename(source, target)

@studies.study({"n": [1, 3]})
def draw(n, rng):
    return {"x": rng.random()}

if "killed" in sys.argv:
    atomic.os.replace = killed
studies.run(draw, replicates=int(sys.argv[1]), seed=3, out="out")
"""


@pytest.mark.full
def test_a_run_that_is_killed_as_it_writes_leaves_nothing_for_good(tmp_path):
    out = tmp_path / "out"
    for arguments, leaves in ((["2"], False), (["3", "killed"], True), (["3"], False)):
        code = started(tmp_path, WRITES, *arguments).wait()
        assert code == (-signal.SIGKILL if leaves else 0)
        assert bool(list(out.rglob("*.tmp"))) == leaves
        assert len(studies.load(out)) == (4 if arguments == ["2"] else 6)
    assert content(out).keys() == {".lock", "replicates.parquet", "summary.parquet"}


ORPHANS = """
import fcntl, os, sys, time
from pathlib import Path
from dpcore import studies

@studies.study({"n": range(4)})
def held(n, rng):
    file = open(f"held-{os.getpid()}", "wb")
    fcntl.flock(file, fcntl.LOCK_EX)  # as long as the process lives
    held_files.append(file)
    Path(f"ready-{os.getpid()}").touch()
    time.sleep(SECONDS)
    return {"x": 1.0}

held_files = []
if __name__ == "__main__":
    SECONDS = float(sys.argv[1])
    studies.run(held, replicates=1_000_000, seed=1, workers=2)
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("seconds", ["600", "0.001"])
def test_no_worker_outlives_a_killed_study(seconds, tmp_path):
    """Neither in a long call nor between tasks."""
    import fcntl

    running = started(tmp_path, ORPHANS, seconds)
    wait_until(lambda: len(list(tmp_path.glob("ready-*"))) >= 2, running)
    running.kill()
    running.wait()
    end = time.monotonic() + 60  # joblib's own patience is 300 seconds
    for path in tmp_path.glob("held-*"):
        with open(path, "ab") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    assert time.monotonic() < end
                    time.sleep(0.05)
