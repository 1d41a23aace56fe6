"""Finished calls are kept, whatever ends a run: a kill, an error, an interrupt, a full disk."""

from __future__ import annotations

import pickle
import time

import joblib
import numpy as np
import pytest

from dpcore import studies
from dpcore.records.files import FileError
from dpcore.studies import keeping, plan, runner
from dpcore.studies.calls import Chunk, Done, Shipped, make
from dpcore.studies.folder import Folder
from dpcore.studies.store import Store
from tests.studies.alike import content, same


def called(rng):
    return rng.bit_generator.seed_seq.spawn_key[-1]


class SpeechlessError(Exception):
    def __str__(self):
        raise ValueError


@pytest.mark.parametrize(
    "error", [ZeroDivisionError, SystemExit, MemoryError, SpeechlessError, KeyboardInterrupt]
)
def test_an_error_or_an_interrupt_keeps_all_calls_before_it(error, tmp_path):
    made = []

    def fails(n, rng):
        if len(made) == 93:
            raise error("no")
        made.append(n)
        return {"x": rng.random()}

    study = studies.Study(fails, {"n": range(9)})
    with pytest.raises((studies.StudyError, KeyboardInterrupt)) as caught:
        studies.run(study, replicates=50, seed=3, out=tmp_path)
    assert len(studies.load(tmp_path)) == 93
    if error is not KeyboardInterrupt:
        assert error.__name__ in str(caught.value)
        assert isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize("batch", [None, 2])
def test_a_call_with_another_shape_loses_no_other_call(batch, tmp_path):
    size = batch or 1

    def changes(n, rng, replicates=1):
        positions = 3 if (n, called(rng)) == (4, 7) else 2
        return {"x": np.zeros((size, positions) if batch else positions)}

    study = studies.Study(changes, {"n": range(9)}, batch)
    with pytest.raises(studies.StudyError, match="an array of 3 after an array of 2"):
        studies.run(study, replicates=10 * size, seed=3, out=tmp_path)
    kept = studies.load(tmp_path).table.select(["n", "replicate"]).to_pylist()
    calls = {(row["n"], row["replicate"] // size) for row in kept}
    assert {(n, call) for n in range(9) for call in range(10)} - calls == {(4, 7)}


@pytest.mark.usefixtures("each_call_a_part")
def test_chunks_of_one_task_are_kept_together(tmp_path):
    """The first of them has another shape, and is written at once; so are the ones after it."""
    study = studies.Study(lambda n, rng: {"x": np.zeros(n)}, {"n": [1, 2]})
    one, two = (cell.key for cell in study.cells)
    store = Store(tmp_path, study, 3, 9)
    row = {1: {"x": np.zeros(1)}, 2: {"x": np.zeros(2)}}
    chunks = [
        Done(Chunk(one, 0, 5), [row[1], row[2], row[1], row[2], row[1]], 1.0),
        Done(Chunk(two, 2, 4), [row[2]] * 2, 1.0),
    ]
    with pytest.raises(studies.StudyError, match="2 after"), keeping.Keeping(store) as keeper:
        keeper.keep(chunks)
    kept = studies.load(tmp_path).table.select(["n", "replicate"]).to_pylist()
    assert [(row["n"], row["replicate"]) for row in kept] == [
        (1, 0),
        (1, 2),
        (1, 4),
        (2, 2),
        (2, 3),
    ]


@pytest.mark.usefixtures("each_call_a_part")
def test_an_interrupt_while_a_part_is_written_loses_nothing(monkeypatch, tmp_path):
    add, made = Store.add, []

    def interrupted(self, done):
        if len(made) == 5:
            made.append(None)
            raise KeyboardInterrupt
        add(self, done)

    monkeypatch.setattr(Store, "add", interrupted)
    study = studies.Study(lambda rng: made.append(1) or {"x": rng.random()}, {})
    with pytest.raises(KeyboardInterrupt):
        studies.run(study, replicates=50, seed=1, out=tmp_path)
    assert len(studies.load(tmp_path)) == 5


def fails_at_94(rng):
    if called(rng) == 94:
        raise ZeroDivisionError("nothing to divide by")
    return {"x": rng.random(), "call": called(rng)}


FAILING = studies.Study(fails_at_94, {})


def test_calls_before_a_failure_come_back_with_it_from_a_process():
    key = FAILING.cells[0].key
    there = pickle.loads(pickle.dumps(Shipped(FAILING)))
    made = make(there, 3, [Chunk(key, 90, 200), Chunk(key, 300, 301)], 1e9)
    assert [(done.chunk, len(done.rows)) for done in made.done] == [(Chunk(key, 90, 94), 4)]
    assert made.left == [Chunk(key, 94, 200), Chunk(key, 300, 301)]
    error = pickle.loads(pickle.dumps(made)).error
    assert isinstance(error, studies.StudyError)
    assert "replay(94, 3) repeats it" in str(error)
    assert "in fails_at_94" in error.__notes__[0]  # the traceback of the worker


def test_a_task_ends_after_its_seconds():
    """Whatever was expected of it: calls that become slow do not wait for each other."""
    study = studies.Study(lambda n, rng: {"x": rng.random()}, {"n": [1, 2]})
    one, two = (cell.key for cell in study.cells)
    chunks = [Chunk(one, 5, 9), Chunk(two, 0, 2)]
    made = make(Shipped(study), 3, chunks, 0.0)
    assert [done.chunk for done in made.done] == [Chunk(one, 5, 6)]
    assert made.left == [Chunk(one, 6, 9), Chunk(two, 0, 2)]
    assert made.error is None
    made = make(Shipped(study), 3, chunks, 1e9)
    assert ([done.chunk for done in made.done], made.left) == (chunks, [])


@pytest.mark.sample(1)
@pytest.mark.parametrize("workers", [1, 2])
def test_tasks_that_end_early_are_made_whole_later(workers, monkeypatch, tmp_path):
    def drawn(n, rng):
        return {"x": rng.random(n)}

    study = studies.Study(drawn, {"n": [1, 2]})
    expected = studies.run(study, replicates=30, seed=3, out=tmp_path / "once")
    monkeypatch.setattr(runner, "LIMIT", 0.0)
    early = studies.run(study, replicates=30, seed=3, workers=workers, out=tmp_path / "early")
    assert same(early, expected)
    assert content(tmp_path / "early") == content(tmp_path / "once")


def test_what_came_back_is_written_while_the_next_call_takes_long(monkeypatch, tmp_path):
    monkeypatch.setattr(plan, "_SECONDS", 0.0)  # each call is a task

    def waiting(rng):
        end = time.monotonic() + 60
        while called(rng) == 2 and len(studies.load(tmp_path)) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        return {"written": len(studies.load(tmp_path)) if called(rng) == 2 else np.nan}

    results = studies.run(studies.Study(waiting, {}), replicates=3, seed=1, out=tmp_path)
    assert results.array("written")[2] == 2


def test_what_a_timer_could_not_write_is_an_error(monkeypatch, tmp_path):
    """A full disk is told after the next call, not when all has been made."""
    monkeypatch.setattr(plan, "_SECONDS", 0.0)
    tried, calls = [], []

    def full(self, part):
        tried.append(len(part))
        raise FileError("part", "cannot be written: No space left on device")

    def waiting(rng):
        calls.append(called(rng))
        end = time.monotonic() + 60
        while len(calls) == 2 and not tried and time.monotonic() < end:
            time.sleep(0.01)
        return {"x": 1.0}

    monkeypatch.setattr(Folder, "add", full)
    with pytest.raises(FileError, match="No space left"):
        studies.run(studies.Study(waiting, {}), replicates=50, seed=1, out=tmp_path)
    assert len(calls) <= 3


@pytest.mark.sample(1)
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_a_full_disk_ends_the_work_of_others(backend, monkeypatch, tmp_path):
    """Without a warning, and what was written before stays."""
    monkeypatch.setattr(keeping, "_KEPT", -1.0)
    add, parts = Folder.add, []

    def full(self, part):
        parts.append(part)
        if len(parts) == 3:
            raise FileError("part", "cannot be written: No space left on device")
        add(self, part)

    monkeypatch.setattr(Folder, "add", full)
    study = studies.Study(lambda n, rng: {"x": rng.random()}, {"n": range(9)})
    with (
        joblib.parallel_config(backend=backend, n_jobs=2),
        pytest.raises(FileError, match="No space left"),
    ):
        studies.run(study, replicates=3000, seed=1, out=tmp_path)
    assert len(studies.load(tmp_path)) >= sum(map(len, parts[:2]))
