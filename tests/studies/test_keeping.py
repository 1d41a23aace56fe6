"""What a run does with what comes back: parts of a second, and of up to ten when it is long."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import joblib
import pytest

from dpcore import studies
from dpcore.studies import keeping, plan, runner


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand, and timers that never ring."""
    now = [0.0]
    monkeypatch.setattr(keeping, "time", SimpleNamespace(monotonic=lambda: now[0]))
    silent = SimpleNamespace(start=lambda: None, cancel=lambda: None)
    threads = SimpleNamespace(Lock=threading.Lock, Timer=lambda seconds, function: silent)
    monkeypatch.setattr(keeping, "threading", threads)
    return now


def kept(clock, seconds, times):
    """Return how many chunks each part has, of one every ``seconds``."""
    parts = []
    with keeping.Keeping(SimpleNamespace(add=lambda done: parts.append(len(done)))) as keeper:
        for _ in range(times):
            clock[0] += seconds
            keeper.keep(["done"])
    return parts


def test_parts_are_of_a_second(clock):
    assert kept(clock, 0.25, 22) == [5, 5, 5, 5, 2]
    assert kept(clock, 3.0, 3) == [1, 1, 1, 0]


def test_parts_of_a_long_run_are_of_ten_seconds(clock):
    parts = kept(clock, 0.25, 4 * 9000)
    assert parts[:3] == [5, 5, 5]
    assert set(parts[-150:-1]) == {41}
    assert parts[-1] <= 41
    assert len(parts) < 2000


@pytest.mark.parametrize("given", [None, 2])
def test_plans_know_how_many_workers_there_are(monkeypatch, given):
    """Of them the time left depends, and how long the last tasks are."""
    known = []

    def made(missing, workers):
        known.append(workers)
        return plan.Plan(missing, workers)

    monkeypatch.setattr(runner, "Plan", made)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        studies.run(studies.Study(lambda rng: {"x": 1}, {}), replicates=2, seed=1, workers=given)
    assert known == [given or 3]


@pytest.mark.usefixtures("clock")
def test_an_error_of_the_timer_is_there_when_the_run_ends_at_once():
    """The run takes the lock as soon as the timer has released it."""
    ended = []

    class Lock:
        """A lock at whose first release the run ends."""

        def __enter__(self):
            return self

        def __exit__(self, *_):
            if not ended:
                ended.append(None)
                with pytest.raises(OSError, match="the disk is full"):
                    keeper.__exit__()

    def full(done):
        if done:
            raise OSError("the disk is full")

    keeper = keeping.Keeping(SimpleNamespace(add=full))
    keeper.keep(["done"])
    keeper._lock = Lock()
    keeper._late()
    assert ended
