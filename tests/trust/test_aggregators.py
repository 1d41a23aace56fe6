"""Secure sums: by shared vectors, by functions, and by somebody else's code."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import (
    Client,
    DistributedNoise,
    FunctionServers,
    FunctionSharing,
    Local,
    PointwiseCDF,
    PointwiseClient,
    Protocol,
    RoundError,
    SecureAggregation,
    Server,
    SharedVectors,
    agree,
)
from dpcore.trust.protocol.function_noise import noise_of
from tests.trust.rounds import server_of

RNG = np.random.default_rng
SIZE, N = 100, 60
GRID = dp.Grid.uniform(0, 1, SIZE)
CELLS = RNG(1).integers(SIZE, size=N)
COUNTS = np.bincount(CELLS, minlength=SIZE)
NOISY = DistributedNoise(1.0, clients=N, dropout=0.25)


def members(trust=NOISY, cells=CELLS, seed=3):
    return [
        PointwiseClient(trust, SIZE, int(cell), rng=RNG([seed, i])) for i, cell in enumerate(cells)
    ]


@pytest.mark.parametrize("servers", [2, 3])
@pytest.mark.parametrize("trust", [NOISY, SecureAggregation()], ids=["noise", "none"])
def test_shared_vectors_add_up_to_counts_and_all_clients_noise(trust, servers):
    clients = members(trust)
    asked = np.arange(SIZE)
    found = SharedVectors(clients, servers).sum(asked)
    noise = sum(client._noise.of_prefixes(asked) for client in clients if client._noise)
    np.testing.assert_array_equal(found, np.cumsum(COUNTS) + noise)
    assert (trust is NOISY) == np.any(noise != 0)
    curve = PointwiseCDF(SharedVectors(clients, servers), GRID)
    np.testing.assert_array_equal(curve(GRID.thresholds), found / N)
    assert curve.privacy.simulated
    assert not SharedVectors([PointwiseClient(SecureAggregation(), 4, 1)]).simulated


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
    with pytest.raises(ParameterError, match="one trust model and one size"):
        SharedVectors([first, PointwiseClient(NOISY, SIZE + 1, 5)])
    with pytest.raises(ParameterError, match="one trust model and one size"):
        SharedVectors([first, PointwiseClient(DistributedNoise(2.0, clients=N), SIZE, 5)])
    with pytest.raises(ParameterError, match="keys of their own"):
        SharedVectors([first, second, third, PointwiseClient(NOISY, SIZE, 9, second.key)])
    with pytest.raises(ParameterError, match="one or more"):
        SharedVectors([])
    with pytest.raises(DtypeError, match="PointwiseClients"):
        SharedVectors([first, "second"])


def filled_servers(trust):
    """Servers to which all clients have shared their functions, before anybody is settled."""
    protocol = Protocol(trust, SIZE, bytes(16))
    servers = [server_of(protocol, i, rng=RNG([2, i])) for i in range(protocol.receivers)]
    for i, cell in enumerate(CELLS):
        for server, report in zip(
            servers, Client(protocol, RNG([3, i])).report(int(cell)), strict=True
        ):
            server.add(report)
    return servers


def asked_servers(trust):
    servers = filled_servers(trust)
    agree(servers)
    return servers


SHARINGS = [
    FunctionSharing(1.0),
    FunctionSharing(1.0, honest=2),
    FunctionSharing(1.0, servers=3, branching=4),
]
sharings = pytest.mark.parametrize("trust", SHARINGS, ids=["one honest", "both", "three servers"])


@sharings
def test_servers_of_functions_open_counts_with_the_noise_of_each(trust):
    servers = asked_servers(trust)
    aggregator = FunctionServers(servers)
    assert (aggregator.clients, aggregator.size, aggregator.simulated) == (N, SIZE, True)
    curve = PointwiseCDF(aggregator, GRID)
    found = curve.counts_at(GRID.thresholds)
    noise = np.zeros(SIZE, np.int64)
    for server in servers:
        noise += noise_of(server._tally, server.protocol).of_prefixes(np.arange(SIZE))
    np.testing.assert_array_equal(found, np.cumsum(COUNTS) + noise)
    assert noise.any()
    assert curve.mechanism["name"] == "function-sharing"
    assert curve.privacy == dp.Privacy(1.0, simulated=True)


@sharings
def test_a_server_that_resumes_from_disk_says_the_same(trust):
    servers = asked_servers(trust)
    p = [0.1, 0.5, 0.9]
    first = PointwiseCDF(FunctionServers(servers), GRID).quantile(p)
    resumed = [*servers[:-1], Server.from_bytes(servers[-1].to_bytes(), servers[-1].protocol)]
    again = PointwiseCDF(FunctionServers(resumed), GRID)
    np.testing.assert_array_equal(again.quantile(p), first)
    np.testing.assert_array_equal(
        again(GRID.thresholds), PointwiseCDF(FunctionServers(servers), GRID)(GRID.thresholds)
    )


@sharings
def test_servers_rolled_back_say_the_same_of_the_same_clients_and_have_other_noise_for_others(
    trust,
):
    servers = filled_servers(trust)
    files = [server.to_bytes() for server in servers]
    left_out = min(servers[0].ids)

    def answers(leave_out=()):
        again = [Server.from_bytes(file, servers[0].protocol) for file in files]
        for server in again:
            server.settle(server.ids - set(leave_out))
        return FunctionServers(again).sum(np.arange(SIZE))

    agree(servers)
    first = FunctionServers(servers).sum(np.arange(SIZE))
    np.testing.assert_array_equal(answers(), first)
    difference = (first - answers([left_out]))[:-1]  # of one client's bits, and of noise
    assert np.mean((difference == 0) | (difference == 1)) < 0.3


def test_the_noise_of_servers_is_as_large_as_the_curve_says():
    trust = FunctionSharing(0.5, servers=2)
    cells, rounds = np.arange(8), 300
    errors = []
    for seed in range(rounds):
        protocol = Protocol(trust, 8, bytes(16))
        servers = [server_of(protocol, i, rng=RNG([seed, i])) for i in range(2)]
        for server, report in zip(servers, Client(protocol, RNG(seed)).report(3), strict=True):
            server.add(report)
        agree(servers)
        curve = PointwiseCDF(FunctionServers(servers))
        errors.append(curve.counts_at(cells + 1) - (cells >= 3))
    ratio = np.std(errors, axis=0)[:-1] / curve.noise_deviation[:-1]
    assert np.abs(ratio - 1).max() < 6 * np.sqrt(5 / (4 * rounds))


def test_servers_that_do_not_go_together_are_refused():
    servers = asked_servers(SHARINGS[0])
    with pytest.raises(RoundError, match="not the 2 servers"):
        FunctionServers(servers[:1])
    with pytest.raises(RoundError, match="no servers"):
        FunctionServers([])
    with pytest.raises(DtypeError, match="must be servers"):
        FunctionServers([servers[0], "another"])
    late = asked_servers(SHARINGS[0])
    (report, _) = Client(late[0].protocol, RNG(9)).report(1)
    late[0].add(report)
    late[0].settle(late[0].ids)
    with pytest.raises(RoundError, match="different reports"):
        FunctionServers(late)
    missing = Protocol(SHARINGS[0], SIZE, bytes(16), empty=SIZE)
    with pytest.raises(ParameterError, match="without a cell for empty records"):
        FunctionServers([server_of(missing), server_of(missing, 1)])
    local = Protocol(Local(1.0, clients=N), SIZE, bytes(16))
    with pytest.raises(RoundError):
        FunctionServers([Server(local)])


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


@pytest.mark.sample(1)
@pytest.mark.parametrize("trust", [NOISY, SecureAggregation()], ids=["noise", "none"])
def test_an_outside_secure_sum_gives_the_same_curve(trust):
    clients = members(trust)
    outside = PointwiseCDF(Deployment(clients), GRID)
    ours = PointwiseCDF(SharedVectors(clients), GRID)
    p = [0.2, 0.5]
    np.testing.assert_array_equal(outside.quantile(p), ours.quantile(p))
    np.testing.assert_array_equal(outside(GRID.thresholds), ours(GRID.thresholds))
    assert outside.mechanism == ours.mechanism
    assert outside.privacy == ours.privacy
    np.testing.assert_array_equal(outside.noise_deviation, ours.noise_deviation)


def test_a_client_that_drops_out_of_an_outside_sum_is_noticed():
    deployment = Deployment(members())
    curve = PointwiseCDF(deployment, GRID)
    before = curve(0.5)
    gone = deployment.members.pop()
    deployment.library.parties -= 1  # a library that recovers from that
    with pytest.raises(RoundError, match="not over 60 clients"):
        curve(0.25)
    assert curve.asked.tolist() == [0.5, 1.0]
    deployment.members.append(PointwiseClient(NOISY, SIZE, int(CELLS[-1]), gone.key))
    deployment.library.parties += 1
    assert curve(0.5) == before
    assert isinstance(curve(0.25), float)
