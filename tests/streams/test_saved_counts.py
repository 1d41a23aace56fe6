"""Saved running counts: each goes on once, and what may have gone on is never taken back."""

from __future__ import annotations

import contextlib
import copy
import errno
import hashlib
import json
import os
import pickle
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest

import dpcore as dp
from dpcore.records.files import FileError
from dpcore.streams import CounterClosedError, DyadicTree, RunningCount, saved
from tests.streams.counters import BUDGETS, seeded


@pytest.mark.parametrize("rng", [None, 5])
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_saved_goes_on_once(rng, budget, tmp_path):
    path = tmp_path / "count"
    mechanism = DyadicTree(**budget, base=3)
    counter = RunningCount(50, mechanism, rng=rng and np.random.default_rng(rng))
    counter.extend([4] * 20)
    open_nodes = counter._state.noise[0].nodes.tolist()
    counter.save(path)
    assert os.listdir(tmp_path) == ["count"]
    if os.name != "nt":  # which has no such permissions
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for call in (lambda: counter.add(1), lambda: counter.extend([]), lambda: counter.save(path)):
        with pytest.raises(CounterClosedError, match=re.escape(str(path))):
            call()
    resumed = RunningCount.resume(path)
    assert os.listdir(tmp_path) == []
    assert (resumed.step, resumed.horizon, resumed.mechanism) == (20, 50, mechanism)
    assert resumed.privacy == counter.privacy
    assert resumed._state.noise[0].nodes.tolist() == open_nodes
    assert resumed._state.sums.tolist() == [80]
    assert resumed.extend([1] * 30).shape == (30,)
    with pytest.raises(FileError):
        RunningCount.resume(path)


def test_a_release_resumes_with_fresh_draws(tmp_path):
    counter = RunningCount(50, DyadicTree(0.001))
    counter.extend([0] * 20)
    ahead = counter._state.noise[0].drawn.rest
    assert ahead.size > 0
    counter.save(tmp_path / "count")
    assert json.loads((tmp_path / "count").read_bytes())["state"]["noise"][0]["generator"] is None
    resumed = RunningCount.resume(tmp_path / "count")
    resumed.add(0)
    assert not np.isin(resumed._state.noise[0].drawn.rest, ahead).all()


def test_of_many_that_resume_one_does(tmp_path):
    path = tmp_path / "count"
    for _ in range(20):
        seeded().save(path)

        def attempt(_):
            with contextlib.suppress(FileError):
                return RunningCount.resume(path)

        with ThreadPoolExecutor(8) as pool:
            assert sum(counter is not None for counter in pool.map(attempt, range(8))) == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_links_are_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "count")
    seeded().save(tmp_path / "link")
    assert (tmp_path / "count").is_file()
    RunningCount.resume(tmp_path / "link")
    assert not (tmp_path / "count").exists()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FileError):
        seeded().save(tmp_path / "loop")


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "count").write_text("precious")
    counter = seeded()
    with pytest.raises(FileError, match="File exists"):
        counter.save(tmp_path / "count")
    assert (tmp_path / "count").read_text() == "precious"
    with pytest.raises(FileError, match="nowhere"):
        counter.save(tmp_path / "nowhere" / "count")
    assert counter.add(1) == seeded().add(1)


@pytest.mark.parametrize("failing", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_counter_open_and_no_file(failing, error, tmp_path):
    counter = seeded()
    with (
        mock.patch.object(saved.os, failing, side_effect=error),
        pytest.raises((FileError, KeyboardInterrupt)),
    ):
        counter.save(tmp_path / "count")
    assert os.listdir(tmp_path) == []
    assert counter.add(1) == seeded().add(1)


@pytest.mark.parametrize("failing", ["rename", "fsync"])
def test_a_failed_claim_leaves_the_file(failing, tmp_path):
    seeded().save(tmp_path / "count")
    before = (tmp_path / "count").read_bytes()
    problem = mock.Mock(side_effect=[OSError(5, "Input/output error")])
    honest = getattr(os, failing)

    def once(*arguments):
        return problem() if not problem.called else honest(*arguments)

    with (
        mock.patch.object(saved.os, failing, once),
        pytest.raises(FileError, match="Input/output error"),
    ):
        RunningCount.resume(tmp_path / "count")
    assert os.listdir(tmp_path) == ["count"]
    assert (tmp_path / "count").read_bytes() == before


def test_a_file_that_changes_while_it_is_read_is_put_back(tmp_path):
    seeded().save(tmp_path / "count")
    with pytest.raises(FileError):
        saved.claim(tmp_path / "count", b"what it held")
    assert os.listdir(tmp_path) == ["count"]
    RunningCount.resume(tmp_path / "count")
    with pytest.raises(FileError):
        RunningCount.resume(tmp_path)  # a folder


def one_saved(tmp_path):
    path = tmp_path / "count"
    counter = seeded(horizon=10)
    counter.extend([1, 2, 3])
    counter.save(path)
    return path, path.read_bytes()


def refused(path, content):
    path.write_bytes(content)
    with pytest.raises(dp.FormatError):
        RunningCount.resume(path)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_cut_short_or_garbled_files_stay_where_they_are(tmp_path):
    path, content = one_saved(tmp_path)
    for size in range(len(content) - 1):
        refused(path, content[:size])
    for at in range(len(content) - 1):
        refused(path, content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    path.write_bytes(content)
    assert RunningCount.resume(path).step == 3


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b'{"format": "dpcore.cdf", "version": 1}',
        b'{"format": "dpcore.running-count", "version": 2}',
        b'{"format": "dpcore.running-count", "version": true}',
        b'{"format": "dpcore.running-count", "version": 1}',
        b'{"format": "dpcore.running-count", "version": 1.0}',
        b'{"format": "dpcore.stream", "version": 1}',
        b'{"format": "dpcore.stream", "version": 2}',
    ],
)
def test_other_files(content, tmp_path):
    refused(tmp_path / "count", content)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "dpcore.cdf"),
        ("version", 1),
        ("version", True),
        ("version", 2.0),
        ("digest", "0" * 64),
        ("more", 1),
    ],
)
def test_files_that_are_right_but_for_a_field(field, value, tmp_path):
    path, content = one_saved(tmp_path)
    refused(path, json.dumps(json.loads(content) | {field: value}).encode())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "running-cdf"),
        ("horizon", 2),
        ("horizon", "10"),
        ("horizon", None),
        ("mechanism", {}),
        ("mechanism.name", "toeplitz"),
        ("mechanism.epsilon", None),
        ("mechanism.epsilon", [1, 0]),
        ("mechanism.epsilon", [1, 1, 1]),
        ("mechanism.rho", [1, 2]),
        ("mechanism.base", 1),
        ("mechanism.sensitivity", "paper"),
        ("mechanism.sensitivity", []),
        ("noise", []),
        ("noise.0.scale", [7, 1]),
        ("noise.0.scale", None),
        ("step", 11),
        ("step", True),
        ("sums", [-1]),
        ("sums", [2**62]),
        ("sums", [1, 2]),
        ("noise.0.nodes", [[1], [2]]),
        ("noise.0.nodes", [["1"], [2], [3], [4], [5]]),
        ("noise.0.nodes", [[2**63], [2], [3], [4], [5]]),
        ("noise.0.nodes", [[1, 1], [2], [3], [4], [5]]),
        ("noise.0.nodes", None),
        ("noise.0.generator", {}),
        ("noise.0.generator", {"used": 10**6, "state": {}}),
        ("noise.0.generator", {"used": 0, "state": {"bit_generator": "os"}}),
        ("noise.0.generator", {"used": 0, "state": {"bit_generator": "PCG64"}}),
        ("more", None),
        ("more", []),
    ],
)
def test_fields_that_contradict_each_other(field, value, tmp_path):
    path, content = one_saved(tmp_path)
    for is_missing in (False, True):
        state = part = saved.load(content)
        *way, name = [int(key) if key.isdigit() else key for key in field.split(".")]
        for key in way:
            part = part[key]
        if is_missing:
            del part[name]
        else:
            part[name] = value
        refused(path, saved.dump(state))


def test_a_count_of_an_earlier_version_goes_on(tmp_path):
    """Saved by version 1: horizon 10, epsilon = 0.5, replace-one, after the steps 1, 2, 3."""
    counter, path = seeded(horizon=10), tmp_path / "count"
    counter.extend([1, 2, 3])
    noise = counter._noises[0].describe(counter._state.noise[0])
    state = {
        "horizon": 10,
        "epsilon": [1, 2],
        "rho": None,
        "base": 2,
        "sensitivity": "exact",
        "noise_scale": noise["scale"],
        "step": 3,
        "count": 6,
        "nodes": [node for (node,) in noise["nodes"]],
        "generator": noise["generator"],
    }
    digest = hashlib.sha256(json.dumps(state, sort_keys=True, separators=(",", ":")).encode())
    old = {"format": "dpcore.running-count", "version": 1, "digest": digest.hexdigest()}
    path.write_text(json.dumps(old | {"state": state}))
    resumed = RunningCount.resume(path)
    assert resumed.mechanism == DyadicTree(0.5)
    assert resumed.extend([4, 5]).tolist() == counter.extend([4, 5]).tolist()
    del state["count"]
    digest = hashlib.sha256(json.dumps(state, sort_keys=True, separators=(",", ":")).encode())
    refused(path, json.dumps(old | {"digest": digest.hexdigest(), "state": state}).encode())


def test_a_generator_that_cannot_be_stored_is_refused_before_the_counter_closes(tmp_path):
    class Odd(np.random.PCG64):
        pass

    counter = RunningCount(10, epsilon=1, rng=np.random.Generator(Odd(1)))
    with pytest.raises(dp.ParameterError, match="rng"):
        counter.save(tmp_path / "count")
    counter.add(1)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_counter_is_not_copied(duplicate):
    with pytest.raises(dp.DtypeError, match="counter"):
        duplicate(seeded())


def test_a_file_that_may_have_been_resumed_is_not_taken_back(tmp_path, monkeypatch):
    counter, path = seeded(), tmp_path / "count"

    def resume_and_fail(folder):
        monkeypatch.undo()
        resumed.append(RunningCount.resume(path))
        raise OSError(errno.EIO, "no")

    resumed: list[RunningCount] = []
    monkeypatch.setattr("dpcore.streams.saved.sync_folder", resume_and_fail)
    with pytest.raises(FileError, match="exists"):
        counter.save(path)
    assert resumed[0].add(1) == seeded().add(1)
    with pytest.raises(CounterClosedError):
        counter.add(1)


def test_an_interrupt_after_the_renaming_leaves_the_counter_closed(tmp_path, monkeypatch):
    counter, path, replace = seeded(), tmp_path / "count", os.replace

    def interrupted(source, target):
        replace(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        counter.save(path)
    monkeypatch.undo()
    with pytest.raises(CounterClosedError):
        counter.add(1)
    assert RunningCount.resume(path).add(1) == seeded().add(1)


def test_a_forked_copy_is_closed():
    counter, process = seeded(), os.getpid()
    with (
        mock.patch("os.getpid", return_value=process + 1),
        pytest.raises(CounterClosedError, match=str(process)),
    ):
        counter.add(1)
    assert counter.add(1) == seeded().add(1)
