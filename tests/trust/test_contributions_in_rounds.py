"""Clients with several records in real rounds: the same releases as simulated ones."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import (
    Client,
    DistributedNoise,
    Local,
    PartialSum,
    Protocol,
    ReportError,
    RoundError,
    SecureAggregation,
    agree,
    cell_of,
    client_cdf,
    release,
    release_scores,
)
from tests.trust.rounds import RNG, ROUND, closed, send, servers_of
from tests.trust.several_records import GRID, IDS, LABELS, MOST, SCORES, M, capped


def run(protocol, held, rng=None):
    """Let clients report the cells of their records, and return the sums of all servers."""
    servers = servers_of(protocol)
    for cells in held:
        own = None if rng is None else rng.spawn(1)[0]
        send(servers, Client(protocol, own).report(cells))
    agree(servers)
    return closed(servers)


def cells_by_client(grid, scores, labels=None):
    cells = cell_of(scores, grid, labels)
    return [cells[client == IDS] for client in range(M)]


def test_a_round_of_scored_labels_counts_what_clients_have():
    trust = SecureAggregation(records=MOST)
    protocol = Protocol(trust, 2 * GRID.size, ROUND, empty=GRID.size)
    curves = release_scores(run(protocol, cells_by_client(GRID, SCORES, LABELS)), GRID)
    plain = dp.score_curves(LABELS, SCORES, GRID, SecureAggregation(), rng=RNG(4))
    assert np.array_equal(curves.negatives, plain.negatives)
    assert np.array_equal(curves.positives, plain.positives)


def test_a_round_of_values_chooses_and_fills_up():
    trust = SecureAggregation(records=2)
    protocol = Protocol(trust, GRID.size, ROUND, empty=GRID.size)
    curve = release(run(protocol, cells_by_client(GRID, SCORES)), GRID)
    assert curve.n == capped(2).sum()
    assert np.all(np.diff(curve.counts, prepend=0) <= GRID.count(SCORES))


def test_a_round_with_noise_releases_what_a_simulation_does():
    trust = DistributedNoise(50.0, clients=M, records=MOST)
    protocol = Protocol(trust, GRID.size, ROUND, empty=GRID.size)
    curve = release(run(protocol, cells_by_client(GRID, SCORES), RNG(14)), GRID, isotonic=False)
    simulated = client_cdf(IDS, SCORES, GRID, trust, rng=RNG(15))
    assert np.array_equal(curve.noise_deviation, simulated.noise_deviation)
    assert curve.mechanism == simulated.mechanism
    assert curve.privacy == simulated.privacy
    exact = np.cumsum(GRID.count(SCORES))
    assert np.all(np.abs(curve.counts - exact) <= 6 * curve.noise_deviation + 1)


def test_a_local_round_releases_what_a_simulation_does():
    trust = Local(12.0, clients=M, records=4)
    protocol = Protocol(trust, GRID.size, ROUND, empty=GRID.size)
    curve = release(run(protocol, cells_by_client(GRID, SCORES), RNG(16)), GRID, isotonic=False)
    rng = RNG(17)
    simulated = [
        client_cdf(IDS, SCORES, GRID, trust, rng=rng, isotonic=False).counts for _ in range(200)
    ]
    middle, spread = np.mean(simulated, axis=0), np.std(simulated, axis=0)
    assert np.all(np.abs(curve.counts - middle) <= 5 * spread)


def test_all_servers_together_know_how_many_records_there_must_be():
    trust = SecureAggregation(records=2)
    protocol = Protocol(trust, 4, ROUND, empty=4)
    honest = run(protocol, [[0, 1], [2]])
    totals = honest[0].totals.copy()
    totals[0] += np.uint64(1)
    forged = PartialSum(protocol, totals, honest[0].reports, honest[0].clients)
    with pytest.raises(RoundError, match="2 records"):
        release([forged, honest[1]])


# --- what is refused


def test_a_client_has_one_record_where_there_is_no_empty_cell():
    with pytest.raises(ParameterError, match="empty"):
        Protocol(SecureAggregation(records=2), 4, ROUND)
    with pytest.raises(ParameterError, match="size"):  # no more cells than a grid has
        Protocol(SecureAggregation(records=2), 2**24, ROUND, empty=2**24)
    for cells in ([], [1, 2]):
        client = Client(Protocol(SecureAggregation(), 4, ROUND))
        with pytest.raises(ParameterError, match="cells"):
            client.report(cells)
        client.report(1)  # it has not reported before
        with pytest.raises(ReportError):
            client.report(1)


@pytest.mark.parametrize("empty", [0, 1, 3, 9, 4.0, True, "8"])
def test_the_empty_cell_is_at_the_end_or_in_the_middle(empty):
    with pytest.raises(ParameterError if type(empty) is int else DtypeError, match="empty"):
        Protocol(SecureAggregation(), 8, ROUND, empty=empty)


@pytest.mark.parametrize(
    "cells", [3, np.int64(3), np.array(3), [3], np.array([3]), (3,), range(3, 4)]
)
def test_cells_are_any_integers(cells):
    protocol = Protocol(SecureAggregation(), 4, ROUND, empty=4)
    assert release(run(protocol, [cells])).counts.tolist() == [0, 0, 0, 1]


SEVERAL = Protocol(SecureAggregation(records=2), 4, ROUND, empty=4)


@pytest.mark.parametrize("cells", [[4], [-1], 4, [1, 2**70]])
def test_cells_are_those_that_there_are(cells):
    with pytest.raises(ParameterError, match="cells"):
        Client(SEVERAL).report(cells)


NO_CELLS = [[[1]], ["a"], 1.0, [True], True, "1", "", b"\x01", b"", bytearray(b"1"), {1}, None]
NO_ARRAYS = [np.array([True]), np.array([1.0]), np.zeros((0, 3), int), np.zeros((1, 1), int)]


@pytest.mark.parametrize("cells", [*NO_CELLS, *NO_ARRAYS])
def test_cells_are_integers(cells):
    with pytest.raises(DtypeError, match="cells"):
        Client(SEVERAL).report(cells)


def test_a_round_is_released_as_what_it_is():
    scores = run(Protocol(SecureAggregation(), 8, ROUND, empty=4), [[1], []])
    with pytest.raises(ParameterError, match="release_scores"):
        release(scores)
    values = run(Protocol(SecureAggregation(), 8, ROUND, empty=8), [[1], []])
    with pytest.raises(ParameterError, match="grid"):
        release_scores(values, dp.Grid.uniform(0, 1, 4))
    assert release_scores(scores, dp.Grid.uniform(0, 1, 4)).n == 1
