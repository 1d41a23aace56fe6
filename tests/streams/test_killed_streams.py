"""Streams whose process is killed as they add, save and resume: no state is used twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.records.files import FileError
from dpcore.streams import RunningCDF, RunningCount, RunningScores, saved

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")

# outputs are noise alone, so wide that no two are alike by chance
NEW = {
    "count": lambda: RunningCount(None, epsilon=1e-9),
    "window": lambda: RunningCount(None, epsilon=1e-9, window=3),
    "curve": lambda: RunningCDF(dp.Grid.uniform(0, 8, 8), None, rho=0.01, isotonic=False),
    "scores": lambda: RunningScores(
        dp.Grid.uniform(0, 8, 4), None, epsilon=1e-6, window=3, isotonic=False
    ),
    "levels": lambda: RunningCDF(dp.Grid.uniform(0, 1, 40), None, epsilon=1e-6, isotonic=False),
}


def output(stream):
    if isinstance(stream, RunningCount):
        return str(stream.add(0))
    if isinstance(stream, RunningScores):
        counts = stream.add_counts(np.zeros(2 * stream.grid.size, int)).joint.counts
    else:
        counts = stream.add_counts(np.zeros(stream.grid.size, int)).counts
    return counts[:-1].tobytes().hex()


def steps_of_a_life(name, path, log):
    """Add, save and resume without end, and write down what is done: before it, and after it."""

    def note(*words):
        os.write(log, (" ".join(map(str, words)) + "\n").encode())

    if path.exists():
        note("resuming")
        stream = type(NEW[name]()).resume(path)
        note("resumed", stream.step)
    else:
        stream = NEW[name]()
        note("new")
    while True:
        for _ in range(2):
            note("adding")
            note("out", stream.step, output(stream))
        note("saving", stream.step)
        stream.save(path)
        note("saved", stream.step)
        note("resuming")
        stream = type(stream).resume(path)
        note("resumed", stream.step)


LIFE = """
import os, sys
from pathlib import Path
from tests.streams.test_killed_streams import steps_of_a_life
steps_of_a_life(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
"""


def killed(name, path, log_path, chance):
    """Start a process, and kill it some time after its first output."""
    log = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    before = log_path.stat().st_size
    process = subprocess.Popen(
        [sys.executable, "-c", LIFE, name, str(path), str(log)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        pass_fds=[log],
    )
    os.close(log)
    until = time.monotonic() + 300
    while b"out " not in log_path.read_bytes()[before:]:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.002)
    time.sleep(chance.uniform(0.0, 0.06))
    assert process.poll() is None
    process.kill()
    assert process.wait() == -signal.SIGKILL


def readable(folder):
    """The files that somebody could resume, if need be under another name."""
    names = []
    for path in folder.iterdir():
        try:
            saved.load(path.read_bytes())
        except dp.FormatError:
            continue
        names.append(path)
    return names


def check_after_a_kill(name, path, log_path):
    """What may go on does so once; return the stream if it does, and how the process ended."""
    lines = [line.split() for line in log_path.read_text().splitlines()]
    last, *rest = lines[-1]
    files = readable(path.parent)
    assert len(files) <= 1
    kind = type(NEW[name]())
    try:
        stream = kind.resume(path)
    except FileError:  # the last state was in the process alone, or on its way
        assert last != "saved"
        return None, last
    except dp.FormatError:  # the name was held for a file that did not come
        assert (last, path.read_bytes()) == ("saving", b"")
        return None, last
    assert files == [path]
    assert readable(path.parent) == []
    with pytest.raises(FileError):
        kind.resume(path)
    assert last in ("saving", "saved", "resuming")
    steps = [line[1] for line in lines if line[0] in ("saving", "saved")]
    assert stream.step == int(steps[-1] if last == "resuming" else rest[0])
    return stream, last


def outlived(name, folder, rounds, seed):
    """Kill processes, and go on with what they leave; return how often each end was seen."""
    chance, ends = random.Random(seed), {}
    seen, number = [], 0
    for _ in range(rounds):
        home = folder / str(number)
        home.mkdir(exist_ok=True)
        path, log_path = home / "state", folder / f"log-{number}"
        killed(name, path, log_path, chance)
        stream, last = check_after_a_kill(name, path, log_path)
        ends[last, stream is not None] = ends.get((last, stream is not None), 0) + 1
        if stream is None:
            number += 1  # this stream is over: its noise is lost
            continue
        with log_path.open("a") as log:
            print("out", stream.step, output(stream), file=log)
            stream.save(path)
            print("saved", stream.step, file=log)
        for other in home.iterdir():  # what the guide tells to remove
            if other != path:
                other.unlink()
    for log_path in folder.glob("log-*"):
        outputs = [line.split() for line in log_path.read_text().splitlines()]
        steps = [int(line[1]) for line in outputs if line[0] == "out"]
        assert steps == sorted(set(steps))  # no step has two outputs
        seen += [line[2] for line in outputs if line[0] == "out"]
    assert len(set(seen)) == len(seen) >= rounds
    return ends


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "rounds", [2, pytest.param(50, marks=pytest.mark.full)], ids=["some", "many"]
)
@pytest.mark.parametrize("name", NEW)
def test_a_killed_stream_goes_on_once_or_not_at_all(tmp_path, name, rounds):
    ends = outlived(name, tmp_path, rounds, seed=rounds)
    if rounds > 2:
        assert {goes_on for _, goes_on in ends} == {False, True}
