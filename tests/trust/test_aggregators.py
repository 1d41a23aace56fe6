"""Secure sums: by shared vectors, by functions, and by somebody else's code."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import (
    DistributedNoise,
    FunctionServers,
    FunctionSharing,
    PointwiseCDF,
    PointwiseClient,
    Protocol,
    RoundError,
    SecureAggregation,
    SharedVectors,
    agree,
)
from tests.trust.rounds import RNG, ROUND, reports_of, send, server_of, settled

SIZE, N = 100, 60
GRID = dp.Grid.uniform(0, 1, SIZE)
CELLS = RNG(1).integers(SIZE, size=N)
COUNTS = np.bincount(CELLS, minlength=SIZE)
EVERYWHERE = np.arange(SIZE)
NOISY = DistributedNoise(1.0, clients=N, dropout=0.25)
both = pytest.mark.parametrize("noisy", [True, False], ids=["noise", "none"])


def members(trust=NOISY, cells=CELLS, seed=3):
    return [
        PointwiseClient(trust, SIZE, int(cell), rng=RNG([seed, i])) for i, cell in enumerate(cells)
    ]


@pytest.mark.parametrize("servers", [2, 3])
@both
def test_shared_vectors_add_up_to_counts_and_all_clients_noise(noisy, servers):
    clients = members(NOISY if noisy else SecureAggregation())
    total = SharedVectors(clients, servers).sum(EVERYWHERE)
    noise = sum(client._noise.of_prefixes(EVERYWHERE) for client in clients if client._noise)
    np.testing.assert_array_equal(total, np.cumsum(COUNTS) + noise)
    assert noisy == np.any(noise != 0)
    curve = PointwiseCDF(SharedVectors(clients, servers), GRID)
    np.testing.assert_array_equal(curve(GRID.thresholds), total / N)
    assert curve.privacy.simulated


def test_one_simulated_client_marks_all():
    trust = DistributedNoise(1.0, clients=4)
    for place in [*range(4), None]:
        rngs = [RNG(1) if i == place else None for i in range(4)]
        clients = [PointwiseClient(trust, 8, 3, rng=rng) for rng in rngs]
        assert SharedVectors(clients).simulated is (place is not None)


def test_a_servers_share_alone_is_uniform_and_not_the_vector():
    (client,) = members(cells=[3], trust=SecureAggregation())
    split = SharedVectors([client], 3)._split
    shares = np.array([split(np.arange(50)) for _ in range(200)])
    np.testing.assert_array_equal(
        shares.sum(axis=1, dtype=np.uint64), np.tile(np.arange(50), (200, 1))
    )
    for bits in (shares >> np.uint64(63), shares & np.uint64(1)):
        ones = bits.sum(axis=(0, 2)).astype(np.int64)
        assert np.all(np.abs(ones - 5_000) < 6 * 50)


def test_a_client_says_the_same_again_after_a_restart_and_in_a_copy():
    client = PointwiseClient(NOISY, SIZE, 40)
    asked = np.array([3, 39, 40, 98, 99])
    first = client.vector(asked)
    assert first[-1] == 1
    again = PointwiseClient(NOISY, SIZE, 40, client.key)
    np.testing.assert_array_equal(again.vector(asked[::-1]), first[::-1])
    copy = pickle.loads(pickle.dumps(client))
    np.testing.assert_array_equal(copy.vector(asked), first)
    other = PointwiseClient(NOISY, SIZE, 12, client.key)
    np.testing.assert_array_equal(other.vector(asked) - first, [0, 1, 0, 0, 0])


def test_clients_that_do_not_go_together_are_refused():
    first, second, third = members(cells=[1, 2, 3])
    other_trust = PointwiseClient(DistributedNoise(2.0, clients=N), SIZE, 5)
    for clients, error in (
        ([first, PointwiseClient(NOISY, SIZE + 1, 5)], ParameterError),
        ([first, other_trust], ParameterError),
        ([first, second, third, PointwiseClient(NOISY, SIZE, 9, second.key)], ParameterError),
        ([], ParameterError),
        ([first, "second"], DtypeError),
    ):
        with pytest.raises(error, match="clients"):
            SharedVectors(clients)


@pytest.mark.parametrize(
    "trust",
    [
        FunctionSharing(1.0),
        FunctionSharing(1.0, honest=2),
        FunctionSharing(1.0, servers=3, branching=4),
    ],
    ids=["one honest", "both", "three servers"],
)
def test_servers_of_functions_open_counts_with_the_noise_of_each(trust):
    servers = settled(Protocol(trust, SIZE, ROUND), CELLS, seed=3)
    aggregator = FunctionServers(servers)
    assert (aggregator.clients, aggregator.size, aggregator.simulated) == (N, SIZE, True)
    curve = PointwiseCDF(aggregator, GRID)
    noise = np.zeros(SIZE, np.int64)
    for server in servers:
        context = b"".join(server.protocol.key)
        own = server.protocol.round.noise_of(server._tally.memory, context, True)
        noise += own.of_prefixes(EVERYWHERE)
    np.testing.assert_array_equal(curve.counts_at(GRID.thresholds), np.cumsum(COUNTS) + noise)
    assert noise.any()
    assert curve.mechanism["name"] == "function-sharing"
    assert curve.privacy == dp.Privacy(1.0, simulated=True)


def test_the_noise_of_servers_is_as_large_as_the_curve_says():
    protocol = Protocol(FunctionSharing(0.5), 8, ROUND)
    cells, rounds = np.arange(8), 300
    errors = []
    for seed in range(rounds):
        servers = [server_of(protocol, i, rng=RNG([seed, i])) for i in range(2)]
        send(servers, *reports_of(protocol, [3], seed))
        agree(servers)
        curve = PointwiseCDF(FunctionServers(servers))
        errors.append(curve.counts_at(cells + 1) - (cells >= 3))
    ratio = np.std(errors, axis=0)[:-1] / curve.noise_deviation[:-1]
    assert np.abs(ratio - 1).max() < 6 * np.sqrt(5 / (4 * rounds))


class PairwiseMasks:
    """Somebody else's secure sum: each two parties share a mask, which one adds and one takes off.

    Knows nothing of dpcore, and works in numbers modulo 2^64.
    """

    def __init__(self, parties, seed):
        self.parties, self.seed, self.calls = parties, seed, 0

    def masked(self, party, vector):
        total = np.array(vector, np.uint64)
        for other in set(range(self.parties)) - {party}:
            pair = [self.seed, self.calls, min(party, other), max(party, other)]
            mask = RNG(pair).integers(2**64, size=total.size, dtype=np.uint64)
            total = total + mask if party < other else total - mask
        return total

    def run(self, vectors):
        self.calls += 1
        return sum(self.masked(party, vector) for party, vector in enumerate(vectors))


class Deployment:
    """What whoever has such a library writes."""

    def __init__(self, members):
        self.members, self.library = members, PairwiseMasks(len(members), seed=7)
        self.clients, self.size, self.trust = len(members), members[0].size, members[0].trust
        self.simulated = any(member.simulated for member in members)

    def sum(self, cells):
        vectors = [member.vector(cells).view(np.uint64) for member in self.members]
        return self.library.run(vectors).view(np.int64)


@both
def test_an_outside_secure_sum_gives_the_same_curve_and_a_client_that_drops_out_is_noticed(noisy):
    trust = DistributedNoise(1.0, clients=12, dropout=0.25) if noisy else SecureAggregation()
    deployment = Deployment(members(trust, CELLS[:12]))
    outside = PointwiseCDF(deployment, GRID)
    ours = PointwiseCDF(SharedVectors(members(trust, CELLS[:12])), GRID)
    p = [0.2, 0.5]
    np.testing.assert_array_equal(outside.quantile(p), ours.quantile(p))
    before = outside(0.5)
    gone = deployment.members.pop()
    deployment.library.parties -= 1  # a library that recovers from that
    asked = outside.asked.tolist()
    with pytest.raises(RoundError, match="12 clients"):
        outside(GRID.thresholds)
    assert outside.asked.tolist() == asked
    deployment.members.append(PointwiseClient(trust, SIZE, int(CELLS[11]), gone.key))
    deployment.library.parties += 1
    assert outside(0.5) == before == ours(0.5)
    np.testing.assert_array_equal(outside(GRID.thresholds), ours(GRID.thresholds))
    assert outside.mechanism == ours.mechanism
    assert outside.privacy.epsilon == ours.privacy.epsilon
    np.testing.assert_array_equal(outside.noise_deviation, ours.noise_deviation)
