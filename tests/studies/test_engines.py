"""joblib's workers, whatever they are: the same table as one of them makes."""

from __future__ import annotations

import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster

import dpcore as dp
from dpcore import studies
from dpcore.studies import plan
from tests.studies.alike import content, same

GRID = dp.Grid.uniform(0, 1, 16)


def release(n, mechanism, rng):
    values = rng.beta(2, 5, n)
    curve = dp.cdf_from_counts(GRID.count(values), GRID, mechanism(), rng=rng)
    return {"counts": curve.counts, "middle": curve(0.5)}


STUDY = studies.Study(
    release,
    {
        "n": [500, 700],
        "mechanism": {  # they travel by value
            "dyadic": lambda: dp.mechanisms.Dyadic(10.0),
            "hierarchy": lambda: dp.mechanisms.Hierarchy(10.0),
        },
    },
)


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """The folder of one worker."""
    out = tmp_path_factory.mktemp("once")
    studies.run(STUDY, replicates=40, seed=3, out=out)
    return out


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def whereabouts(rng):
    return {"process": os.getpid(), "thread": threading.get_ident() % 2**53}


WHEREABOUTS = studies.Study(whereabouts, {})


def test_processes(once, tmp_path):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        studies.run(STUDY, replicates=40, seed=3, out=tmp_path)
        where = studies.run(WHEREABOUTS, replicates=2000, seed=1).array("process")
    assert content(tmp_path) == content(once)
    assert os.getpid() not in where


def test_workers_are_processes_without_a_word_about_it(once, tmp_path):
    studies.run(STUDY, replicates=40, seed=3, workers=2, out=tmp_path)
    assert content(tmp_path) == content(once)


def test_threads(once, tmp_path):
    with joblib.parallel_config(backend="threading", n_jobs=3):
        studies.run(STUDY, replicates=40, seed=3, out=tmp_path)
        where = studies.run(WHEREABOUTS, replicates=2000, seed=1).array("thread")
    assert content(tmp_path) == content(once)
    assert threading.get_ident() % 2**53 not in where


def test_a_cluster(client, once, tmp_path):
    with joblib.parallel_config(backend="dask"):
        studies.run(STUDY, replicates=40, seed=3, out=tmp_path)
        where = studies.run(WHEREABOUTS, replicates=10, seed=1).array("process")
    assert content(tmp_path) == content(once)
    assert set(where) <= set(client.run(os.getpid).values())


def waiting(at, folder, rng):
    """Say where it runs, at one call in the middle, and wait until it may go on."""
    if at == 2:
        (folder / str(os.getpid())).touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
    return {"x": rng.random(at)}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_worker_of_a_cluster_that_dies_changes_nothing(client, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "_SECONDS", 0.0)  # each call is a task
    (tmp_path / "told").mkdir()
    (tmp_path / "go").touch()
    study = studies.Study(waiting, {"at": [1, 2, 3], "folder": {"": tmp_path / "told"}})
    killed = []

    def kill():
        while not killed and threading.main_thread().is_alive():
            killed.extend(int(path.name) for path in (tmp_path / "told").iterdir())
            time.sleep(0.01)
        os.kill(killed[0], signal.SIGKILL)
        (tmp_path / "told" / "go").touch()

    watching = threading.Thread(target=kill, daemon=True)
    watching.start()
    with joblib.parallel_config(backend="dask"):
        results = studies.run(study, replicates=10, seed=3)
    watching.join()
    assert killed[0] not in client.run(os.getpid).values()
    assert same(results, studies.run(study, replicates=10, seed=3))
    assert results.array("x", at=3).shape == (10, 3)


def test_workers_that_joblib_cannot_use_are_an_error_before_anything_is_written(tmp_path):
    with (
        joblib.parallel_config(backend="multiprocessing", n_jobs=2),
        pytest.raises(studies.StudyError, match=r"cannot go on \(ValueError: Backend"),
    ):
        studies.run(STUDY, replicates=2, seed=1, out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def failing(n, rng):
    if n == 2:
        raise ZeroDivisionError("nothing to divide by")
    return {"x": n}


@pytest.mark.parametrize("backend", ["loky", "threading", "dask"])
def test_failures_come_from_wherever_they_are(backend, request, tmp_path):
    if backend == "dask":
        request.getfixturevalue("client")
    study = studies.Study(failing, {"n": [1, 2]})
    with (
        joblib.parallel_config(backend=backend, n_jobs=2),
        pytest.raises(studies.StudyError, match=r"failing.replay\(\d+, 5, n=2\) repeats it"),
    ):
        studies.run(study, replicates=20, seed=5, out=tmp_path)
    assert set(studies.load(tmp_path).table.column("n").to_pylist()) <= {1}


LOCK = threading.Lock()


def locked(rng):
    with LOCK:
        return {"x": rng.random()}


def test_what_cannot_be_pickled_is_an_error_before_anything_is_written(tmp_path):
    locked.__module__ = "__main__"  # so it goes by value, with its globals
    study = studies.Study(locked, {})
    message = r"^locked cannot be sent to workers \(TypeError: "
    with pytest.raises(studies.StudyError, match=message):
        studies.run(study, replicates=2, workers=2, out=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    alone = studies.run(study, replicates=2, seed=1, workers=1)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert same(studies.run(study, replicates=2, seed=1), alone)


def dies(n, rng):
    if n == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"x": n}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_process_that_dies_is_an_error_and_the_run_goes_on_later(tmp_path):
    study = studies.Study(dies, {"n": [1, 2]})
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        pytest.raises(studies.StudyError, match="a worker of dies has ended"),
    ):
        studies.run(study, replicates=20, seed=5, out=tmp_path)
    study = studies.Study(dies, {"n": [1, 3]})
    assert np.array_equal(
        studies.run(study, replicates=20, out=tmp_path).array("x"), np.full((2, 20), [[1], [3]])
    )
