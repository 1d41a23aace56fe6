"""A cluster of two workers: the same counts, also where a worker dies, and no record in logs."""

from __future__ import annotations

import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import dpcore as dp
from tests.summaries.dask_columns import GRID, X, Y, array, frame

SECRET = 66321.75


@pytest.fixture
def client(request):
    """In processes or, where that does not matter, in threads, which begin at once."""
    in_processes = getattr(request, "param", False)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=in_processes
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


IN_PROCESSES = pytest.mark.parametrize("client", [True], indirect=True)


@pytest.mark.full
@IN_PROCESSES
def test_workers_count_what_is_counted_in_memory(client):
    np.testing.assert_array_equal(GRID.count(array(X)), GRID.count(X))
    uneven, table = dp.Grid(np.sort(X[:50])), frame(x=X, y=Y, divisions=False)
    expected = dp.score_counts(Y, X, uneven)
    np.testing.assert_array_equal(dp.score_counts(table["y"], table["x"], uneven), expected)
    sums = [dp.polynomial_sums(x, -2, 2, 5, "moments").sums for x in (table["x"], X)]
    np.testing.assert_array_equal(*sums)


def test_a_refused_record_is_in_no_log(client):
    values = np.array([SECRET, 1.0, np.nan])
    for column in (da.from_array(values, chunks=2), frame(x=values)["x"]):
        with pytest.raises(dp.MissingValueError) as caught:
            GRID.count(column)
        assert str(caught.value) == str(dp.MissingValueError("values"))
        assert caught.value.argument == "values"
    logs = str(client.get_worker_logs()) + str(client.get_scheduler_logs())
    assert "Compute Failed" not in logs
    assert str(SECRET) not in logs


@pytest.mark.full
@IN_PROCESSES
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_worker_that_dies_while_it_counts_changes_nothing(client, tmp_path):
    values = np.tile(X, 2)

    def slow(block):
        if block[0] == values[6 * 997]:  # after others are counted
            (tmp_path / str(os.getpid())).touch()
            while not (tmp_path / "go").exists():
                time.sleep(0.01)
        return block

    killed = []

    def kill():
        while not killed and threading.main_thread().is_alive():
            killed.extend(int(path.name) for path in tmp_path.iterdir())
            time.sleep(0.01)
        os.kill(killed[0], signal.SIGKILL)
        (tmp_path / "go").touch()

    watching = threading.Thread(target=kill, daemon=True)
    watching.start()
    column = array(values).map_blocks(slow, dtype=values.dtype)
    np.testing.assert_array_equal(GRID.count(column), 2 * GRID.count(X))
    watching.join()
    assert killed[0] not in client.run(os.getpid).values()
