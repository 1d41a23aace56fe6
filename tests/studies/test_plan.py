"""Plans: each call once, in tasks of some seconds, whatever calls take. Clocks are made up."""

from __future__ import annotations

import collections
import itertools

import numpy as np
import pytest

from dpcore.studies.calls import Chunk, Done
from dpcore.studies.plan import Plan
from dpcore.studies.store import _gaps

MISSING = {
    "a": [range(1000)],
    "b": [range(3), range(7, 8), range(20, 900)],
    "c": [],
    "d": [range(1)],
}


def play(plan, seconds, workers=1, ahead=2):
    """Return the tasks, on workers that have some tasks ahead, as joblib does."""
    tasks, waiting, played = plan.tasks(), collections.deque(), []
    while True:
        waiting.extend(itertools.islice(tasks, ahead * workers - len(waiting)))
        if not waiting:
            return played
        played.append(waiting.popleft())
        for chunk in played[-1]:
            calls = range(chunk.start, chunk.stop)
            plan.learn(Done(chunk, [], sum(seconds(chunk.key, call) for call in calls)))


def length(task, seconds):
    return sum(seconds(c.key, call) for c in task for call in range(c.start, c.stop))


TIMES = {
    "equal": lambda key, call: 0.01,
    "unequal cells": lambda key, call: {"a": 1e-6, "b": 0.3, "d": 0.01}[key],
    "slow at first": lambda key, call: 5.0 if call == 0 else 1e-4,
    "slow from the middle on": lambda key, call: 1e-3 if call < 300 else 0.5,
    "no time at all": lambda key, call: 0.0,
}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("times", TIMES)
def test_each_missing_call_is_made_once(times, workers):
    plan = Plan(MISSING, workers)
    assert plan.calls == 1000 + 884 + 1
    played = play(plan, TIMES[times], workers)
    made = [(c.key, call) for task in played for c in task for call in range(c.start, c.stop)]
    wished = [(key, call) for key, ranges in MISSING.items() for calls in ranges for call in calls]
    assert sorted(made) == sorted(wished)
    assert plan.seconds_left() == pytest.approx(0.0, abs=1e-9)


def test_tasks_take_some_seconds_and_the_last_ones_less():
    for times in ("equal", "unequal cells"):
        plan = Plan({"a": [range(20_000)], "b": [range(300)]}, 2)
        lengths = [length(task, TIMES[times]) for task in play(plan, TIMES[times], 2)]
        assert max(lengths) < 2.0 + 2 * 0.3
        assert max(lengths[-4:]) < 1.0
        assert len(lengths) < 250


def test_calls_that_become_slow_make_a_task_long_once():
    """What is known of a cell is what its last calls took; two tasks are ahead at that time."""
    plan = Plan({"a": [range(1000)]}, 1)
    seconds = TIMES["slow from the middle on"]
    lengths = [length(task, seconds) for task in play(plan, seconds)]
    assert sum(seconds > 4.0 for seconds in lengths) <= 3
    plan = Plan({"a": [range(200)]}, 1)  # more slowly known, as the first calls are few
    grown = [c.stop - c.start for task in play(plan, TIMES["no time at all"]) for c in task]
    assert all(later <= 8 * before for before, later in itertools.pairwise(grown))


def test_cells_that_are_not_known_are_asked_one_call_at_a_time():
    plan = Plan({f"{n}": [range(5)] for n in range(1000)}, 1)
    played = play(plan, lambda key, call: 1e-6)
    seen = set()
    for task in played:
        first = [chunk for chunk in task if chunk.key not in seen]
        assert len({chunk.key for chunk in first}) == len(first)
        assert all(chunk.stop - chunk.start == 1 for chunk in first)
        seen |= {chunk.key for chunk in task}
    assert len(played) < 1000


def test_slow_cells_that_are_not_known_are_not_packed_together():
    """Each counts as the known ones on average, so a task is one call of two seconds."""
    plan = Plan({f"{n}": [range(3)] for n in range(17)}, 1)
    tasks = play(plan, lambda key, call: 2.0)
    assert [sum(chunk.stop - chunk.start for chunk in task) for task in tasks] == [1] * 51
    plan = Plan({f"{n}": [range(3)] for n in range(17)}, 1)
    tasks = play(plan, lambda key, call: 0.3)
    assert max(length(task, lambda key, call: 0.3) for task in tasks) < 1.2


def test_what_a_worker_did_not_make_is_asked_again():
    """Also where all tasks have been asked for: the next round has them."""
    plan = Plan({"a": [range(40)], "b": [range(3)]}, 2)
    made, rounds = [], 0
    for key, start, stop in next(plan.tasks()):
        made.append((key, start))
        plan.learn(Done(Chunk(key, start, stop), [], 0.0))
    while plan.waits:
        rounds += 1
        for task in list(plan.tasks()):  # all before any of them has been made
            (key, start, stop), *others = task
            made.append((key, start))
            plan.learn(Done(Chunk(key, start, start + 1), [], 0.0))
            left = [Chunk(key, start + 1, stop)] if start + 1 < stop else []
            plan.put_back([*left, *others])
    assert sorted(made) == [("a", call) for call in range(40)] + [("b", call) for call in range(3)]
    assert rounds > 1
    assert plan.seconds_left() == pytest.approx(0.0, abs=1e-9)


def test_time_left_is_of_all_cells_and_workers():
    plan = Plan({"a": [range(10)], "b": [range(30)]}, 2)
    assert plan.seconds_left() is None
    tasks = plan.tasks()
    (first,), (second,) = next(tasks), next(tasks)
    plan.learn(Done(first, [], 4.0))
    assert plan.seconds_left() == pytest.approx((9 * 4 + 30 * 4) / 2)
    plan.learn(Done(Chunk("a", 1, 3), [], 1.0))  # half a second for each
    assert plan.seconds_left() == pytest.approx((7 * 0.5 + 30 * 0.5) / 2)
    plan.learn(Done(second, [], 2.0))
    assert plan.seconds_left() == pytest.approx((7 * 0.5 + 29 * 2) / 2)


@pytest.mark.parametrize(
    ("have", "expected"),
    [
        ([], [range(6)]),
        ([[0, 1, 2, 3, 4, 5]], []),
        ([[0, 1], [1, 4]], [range(2, 4), range(5, 6)]),
        ([[9, 3, 2]], [range(2), range(4, 6)]),
    ],
)
def test_gaps(have, expected):
    assert _gaps([np.array(calls, np.int64) for calls in have], 6) == expected
