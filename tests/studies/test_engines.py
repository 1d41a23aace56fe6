"""joblib's workers, whatever they are: the same table as one of them makes, and errors as there."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import warnings
from concurrent.futures.process import BrokenProcessPool

import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster

import dpcore as dp
from dpcore import studies
from dpcore.studies import plan, runner
from dpcore.studies.calls import Chunk, Shipped, make
from tests.studies.alike import content, same

GRID = dp.Grid.uniform(0, 1, 16)
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")


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
        LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def workers(request):
    """Workers of a backend of joblib, as it is named."""
    if request.param == "dask":
        request.getfixturevalue("client")
    with joblib.parallel_config(backend=request.param, n_jobs=2):
        yield request.param


of_all_workers = pytest.mark.parametrize("workers", ["loky", "threading", "dask"], indirect=True)


def whereabouts(rng):
    return {"process": os.getpid(), "thread": threading.get_ident() % 2**53}


@pytest.mark.sample(1)
@of_all_workers
def test_workers_make_the_table_that_one_of_them_makes(workers, request, once, tmp_path):
    studies.run(STUDY, replicates=40, seed=3, out=tmp_path)
    assert content(tmp_path) == content(once)
    where = studies.run(studies.Study(whereabouts, {}), replicates=500, seed=1)
    processes, threads = set(where.array("process")), set(where.array("thread"))
    if workers == "dask":
        assert processes <= set(request.getfixturevalue("client").run(os.getpid).values())
    elif workers == "loky":
        assert os.getpid() not in processes
    else:
        assert threading.get_ident() % 2**53 not in threads
        assert processes == {os.getpid()}


def test_workers_are_processes_without_a_word_about_it(once, tmp_path):
    studies.run(STUDY, replicates=40, seed=3, workers=2, out=tmp_path)
    assert content(tmp_path) == content(once)


def strays(n, rng):
    return {"x": np.random.random() if n == 3 else rng.random()}  # noqa: NPY002


@pytest.mark.parametrize("workers", ["loky", "threading"], indirect=True)
def test_workers_tell_of_draws_from_the_global_generator(workers):
    with pytest.warns(studies.StudyWarning, match=r"strays .* np\.random"):
        studies.run(studies.Study(strays, {"n": range(10)}), replicates=3, seed=1)


def waiting(at, folder, rng):
    """Say where it runs, at one call in the middle, and wait until it may go on."""
    if at == 2:
        (folder / str(os.getpid())).touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
    return {"x": rng.random(at)}


@pytest.mark.full
@POSIX
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


def dies(n, rng):
    if n == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"x": n}


@POSIX
@pytest.mark.parametrize("workers", ["loky"], indirect=True)
def test_a_process_that_dies_is_an_error_and_the_run_goes_on_later(workers, tmp_path):
    with pytest.raises(studies.StudyError, match="a worker of dies") as caught:
        studies.run(studies.Study(dies, {"n": [1, 2]}), replicates=20, seed=5, out=tmp_path)
    assert isinstance(caught.value.__cause__, BrokenProcessPool)
    with joblib.parallel_config(backend="sequential"):
        results = studies.run(studies.Study(dies, {"n": [1, 3]}), replicates=20, out=tmp_path)
    assert np.array_equal(results.array("x"), np.full((2, 20), [[1], [3]]))


def failing(n, rng):
    if n == 2:
        raise ZeroDivisionError("nothing to divide by")
    return {"x": n}


@of_all_workers
def test_failures_come_from_wherever_they_are(workers, tmp_path):
    study = studies.Study(failing, {"n": [1, 2]})
    with pytest.raises(studies.StudyError, match=r"failing.replay\(\d+, 5, n=2\)"):
        studies.run(study, replicates=20, seed=5, out=tmp_path)
    assert set(studies.load(tmp_path).table.column("n").to_pylist()) <= {1}


def test_workers_with_other_versions_are_an_error(monkeypatch):
    """The table says of each row which versions made it: those of the process that asks."""
    study = studies.Study(whereabouts, {})
    with monkeypatch.context() as patch:
        patch.setattr("dpcore.studies.header.version", lambda name: "9.9")
        sent = pickle.dumps(Shipped(study))
    with pytest.raises(studies.StudyError, match=r"numpy 9\.9 -> \d"):
        make(pickle.loads(sent), 1, [Chunk(study.cells[0].key, 0, 3)], 1e9)

    def raises(*_):
        raise studies.StudyError("other versions")

    monkeypatch.setattr(runner, "make", raises)
    with pytest.raises(studies.StudyError, match=r"^other versions$"):
        studies.run(study, replicates=3, seed=1)


LOCK = threading.Lock()


def locked(rng):
    with LOCK:
        return {"x": rng.random()}


def test_workers_that_cannot_be_used_are_an_error_before_anything_is_written(tmp_path):
    locked.__module__ = "__main__"  # so it goes by value, with its globals
    study = studies.Study(locked, {})
    with pytest.raises(studies.StudyError, match=r"^locked .* \(TypeError: "):
        studies.run(study, replicates=2, workers=2, out=tmp_path / "new")
    with (
        joblib.parallel_config(backend="multiprocessing", n_jobs=2),
        pytest.raises(studies.StudyError, match=r"\(ValueError: Backend"),
    ):
        studies.run(STUDY, replicates=2, seed=1, out=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    alone = studies.run(study, replicates=2, seed=1, workers=1)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert same(studies.run(study, replicates=2, seed=1), alone)


def test_a_process_that_is_replaced_is_not_told_of_and_other_warnings_are(monkeypatch):
    """Where a process has come to use much memory, joblib starts another, and warns."""
    told = "A worker stopped while some jobs were given to the executor. This can be caused by"

    class Replacing(joblib.Parallel):
        def __call__(self, tasks):
            for task in super().__call__(tasks):
                warnings.warn(f"{told} a memory leak.", UserWarning, 1)
                warnings.warn("something else", UserWarning, 1)
                yield task

    monkeypatch.setattr(joblib, "Parallel", Replacing)
    study = studies.Study(lambda rng: {"x": rng.random()}, {})
    with pytest.warns(UserWarning, match="something else") as caught:
        studies.run(study, replicates=5, seed=1)
    assert {str(warning.message) for warning in caught} == {"something else"}
