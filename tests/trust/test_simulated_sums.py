"""What secure sums refuse, and that whatever a seeded generator had part in is marked."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.trust import (
    Client,
    DistributedNoise,
    FunctionSharing,
    PointwiseCDF,
    PointwiseClient,
    Protocol,
    Server,
    SharedVectors,
    SimulatedSum,
    agree,
    opened,
)

RNG = np.random.default_rng
TRUST = DistributedNoise(1.0, clients=4)


def test_one_simulated_client_marks_all():
    for place in range(4):
        rngs = [RNG(1) if i == place else None for i in range(4)]
        clients = [PointwiseClient(TRUST, 8, 3, rng=rng) for rng in rngs]
        assert SharedVectors(clients).simulated
    assert not SharedVectors([PointwiseClient(TRUST, 8, 3) for _ in range(4)]).simulated


@pytest.mark.parametrize("place", [0, 1])
def test_one_simulated_server_marks_what_is_opened(place):
    protocol = Protocol(FunctionSharing(1.0), 8, bytes(16))
    servers = [Server(protocol, place=i, rng=RNG(1) if i == place else None) for i in (0, 1)]
    for server, report in zip(servers, Client(protocol).report(3), strict=True):
        server.add(report)
    agree(servers)
    assert opened([server.answer([3]) for server in servers]).simulated


def test_one_simulated_answer_marks_all_later_ones():
    aggregator = SimulatedSum([1, 2, 1], TRUST)
    curve = PointwiseCDF(aggregator)
    curve(1.0)
    assert not curve.privacy.simulated
    aggregator.simulated = True
    curve(2.0)
    aggregator.simulated = False
    assert curve.privacy.simulated


def test_clients_without_a_bound_are_refused_wherever_they_are_added_up():
    every = DistributedNoise(1.0, clients=4, records=None)
    for use in (lambda: SimulatedSum([1, 2, 1], every), lambda: PointwiseClient(every, 8, 3)):
        with pytest.raises(ParameterError, match="trust must have one record for each client"):
            use()


def test_clients_with_several_records_are_refused_wherever_they_are_added_up():
    several = DistributedNoise(1.0, clients=4, records=2)
    with pytest.raises(ParameterError, match="trust must have one record for each client; got 2"):
        SimulatedSum([1, 2, 1], several)
    outside = SimulatedSum([1, 2, 1], TRUST)
    outside.trust = several
    with pytest.raises(ParameterError, match="trust must have one record for each client; got 2"):
        PointwiseCDF(outside)
