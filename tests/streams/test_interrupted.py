"""A running count that is called in the middle of a call, and work as the interpreter ends."""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import pytest

from dpcore import _threads
from dpcore.noise import DiscreteLaplace
from dpcore.streams import CounterBusyError, CounterClosedError, RunningCount, saved
from tests.streams.counters import seeded

CALLS = [
    lambda counter, folder: counter.add(1),
    lambda counter, folder: counter.extend([1, 2]),
    lambda counter, folder: counter.save(folder / "nested"),
]


@pytest.mark.parametrize("nested", CALLS)
@pytest.mark.parametrize("name", ["fill", "put"])
def test_a_call_amid_a_call_is_refused(tmp_path, nested, name):
    """What a signal handler calls runs on top of the call that it has interrupted."""
    counter, expected = seeded(), seeded().add(3)
    place = DiscreteLaplace if name == "fill" else saved
    honest, refused = getattr(place, name), []

    def interrupted(*arguments):
        with pytest.raises(CounterBusyError):
            nested(counter, tmp_path)
        refused.append(name)
        return honest(*arguments)

    with mock.patch.object(place, name, interrupted):
        if name == "fill":
            assert counter.add(3) == expected
        else:
            counter.save(tmp_path / "count")
    assert refused == [name]
    if name == "put":
        counter = RunningCount.resume(tmp_path / "count")
    assert os.listdir(tmp_path) == []
    assert counter.step == (name == "fill")
    counter.add(1)


AT_EXIT = """
import atexit
import os
import numpy as np
import dpcore as dp

os.cpu_count = lambda: 4
values = np.linspace(0, 1, 3_000_000)
grid = dp.Grid.uniform(0, 1, 16)
atexit.register(lambda: print(grid.count(values).sum(), dp.cdf(values, grid, epsilon=1.0).n))
"""


@pytest.mark.needs_jit
def test_counting_as_the_interpreter_ends():
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    # Where no kernels are kept yet, it says that it compiles them.
    said = [line for line in done.stderr.splitlines() if "compiling kernels, once" not in line]
    assert (done.returncode, said, done.stdout) == (0, [], "3000000 3000000\n")


@pytest.mark.parametrize("started", [0, 1])
def test_work_is_done_where_threads_cannot_start(monkeypatch, started):
    honest, calls = _thread.start_new_thread, []

    def start(function, arguments):
        calls.append(function)
        if len(calls) > started:
            raise RuntimeError("can't start new thread")
        return honest(function, arguments)

    monkeypatch.setattr(_thread, "start_new_thread", start)
    done = []
    _threads.on_threads(done.append, range(50), 4)
    assert sorted(done) == list(range(50))


def is_caller():
    return threading.current_thread() is threading.main_thread()


def test_all_wait_for_a_block_that_is_being_worked_on():
    ready = threading.Event()
    done = []

    def work(block):
        if is_caller():
            ready.wait()  # the other thread has a block
        else:
            ready.set()
            time.sleep(0.2)
        done.append(block)

    _threads.on_threads(work, range(2), 2)
    assert sorted(done) == [0, 1]


def test_an_error_beside_the_caller_is_raised_and_ends_the_work():
    failed = threading.Event()
    done = []

    def work(block):
        if is_caller():
            failed.wait()
            done.append(block)
        else:
            failed.set()
            raise IndexError(block)

    with pytest.raises(IndexError):
        _threads.on_threads(work, range(10**6), 2)
    assert len(done) < 10**5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # beside threads: that is tested
def test_a_fork_amid_a_call_of_another_thread_is_refused_at_once():
    counter = seeded()
    ready, done = threading.Event(), threading.Event()

    def hold():
        with counter._lock:
            ready.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    ready.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            counter.add(1)
        except CounterClosedError:
            os._exit(7)
        os._exit(0)
    done.set()
    holder.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
