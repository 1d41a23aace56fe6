"""Workers that end before their study, and workers whose study ends before them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool

import joblib
import pytest

from dpcore import studies


def kills_itself(n, rng):
    if n == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"x": n}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_worker_that_dies_is_an_error_of_the_study(tmp_path):
    study = studies.Study(kills_itself, {"n": [1, 2]})
    message = "a worker of kills_itself has ended, perhaps because memory ran out"
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        pytest.raises(studies.StudyError, match=re.escape(message)) as caught,
    ):
        studies.run(study, replicates=20, seed=5, out=tmp_path)
    assert isinstance(caught.value.__cause__, BrokenProcessPool)


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
@pytest.mark.skipif(os.name == "nt", reason="Windows has no flock")
@pytest.mark.parametrize("seconds", ["600", "0.001"])
def test_no_worker_outlives_a_killed_study(seconds, tmp_path):
    """Neither in a long call nor between tasks."""
    import fcntl

    (tmp_path / "script.py").write_text(ORPHANS)
    running = subprocess.Popen([sys.executable, "script.py", seconds], cwd=tmp_path)
    while len(list(tmp_path.glob("ready-*"))) < 2:
        assert running.poll() is None
        time.sleep(0.01)
    running.kill()
    running.wait()
    files = [open(path, "ab") for path in tmp_path.glob("held-*")]  # noqa: SIM115
    end = time.monotonic() + 60  # joblib's own patience is 300 seconds
    for file in files:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)
        file.close()
