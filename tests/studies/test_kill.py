"""A run that is killed, with all its workers, and started again: the bytes of one that was not."""

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


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    killed, once = tmp_path / "killed", tmp_path / "once"
    command = [sys.executable, "script.py", "slowly"]
    running = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
    while len(list((killed / "parts").glob("*.parquet"))) < 4:
        assert running.poll() is None
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    assert 3 <= len(studies.load(killed)) < 600
    draw = runpy.run_path(str(tmp_path / "script.py"))["draw"]
    studies.run(draw, replicates=150, out=killed)  # without a warning: it is the same code
    studies.run(draw, replicates=150, seed=3, out=once)
    assert len(studies.load(killed)) == 600
    assert content(killed) == content(once)


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
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_run_that_is_killed_as_it_writes_leaves_nothing_for_good(tmp_path):
    (tmp_path / "script.py").write_text(WRITES)
    out = tmp_path / "out"
    for arguments, leaves in ((["2"], False), (["3", "killed"], True), (["3"], False)):
        ended = subprocess.run([sys.executable, "script.py", *arguments], cwd=tmp_path)
        assert ended.returncode == (-signal.SIGKILL if leaves else 0)
        assert bool(list(out.rglob("*.tmp"))) == leaves
        assert len(studies.load(out)) == (4 if arguments == ["2"] else 6)
    assert content(out).keys() == {".lock", "replicates.parquet", "summary.parquet"}
