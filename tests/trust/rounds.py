"""Protocols, the reports of their clients, and servers that hold these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcore.trust import (
    Central,
    Client,
    DistributedNoise,
    FunctionSharing,
    Local,
    Protocol,
    ReportError,
    SecureAggregation,
    Server,
    SquareWave,
    agree,
    opened,
)
from dpcore.trust.protocol import wire

RNG = np.random.default_rng
ROUND = bytes(range(16))
SECURE = Protocol(SecureAggregation(), 20, ROUND)
NOISY = Protocol(DistributedNoise(1.0, clients=50, dropout=0.2), 20, ROUND)
LOCAL = Protocol(Local(1.0, clients=50), 20, ROUND)
FUNCTIONS = Protocol(FunctionSharing(1.0), 20, ROUND)
TABLES = Protocol(FunctionSharing(1.0, servers=3), 20, ROUND)
CURATED = Protocol(Central(1.0), 20, ROUND)
WAVE = Protocol(SquareWave(1.0, clients=50), 20, ROUND)
PROTOCOLS = [SECURE, NOISY, LOCAL, FUNCTIONS, TABLES, CURATED, WAVE]


def reports_of(protocol, cells, seed=1):
    """(clients, servers) reports."""
    rng = None if seed is None else RNG(seed)
    return [Client(protocol, rng).report(int(cell)) for cell in cells]


def server_of(protocol, place=0, rng=None):
    """A server without reports. One that makes noise is seeded, if by nothing else by its place."""
    if rng is None and protocol.round.servers_draw:
        rng = RNG(place)
    return Server(protocol, place=place if protocol.shares_functions else None, rng=rng)


def servers_of(protocol, seeded=True):
    """All servers of a round, without reports; if they are not seeded, they have secrets."""
    if protocol.shares_functions and not seeded:
        return [Server(protocol, place=place) for place in range(protocol.receivers)]
    return [server_of(protocol, place) for place in range(protocol.receivers)]


def send(servers, *rows):
    """Send the reports of each client, one to each server."""
    for row in rows:
        for server, report in zip(servers, row, strict=True):
            server.add(report)


def filled(protocol, reports):
    """The servers of a protocol, with these reports."""
    servers = servers_of(protocol)
    send(servers, *reports)
    return servers


def settled(protocol, cells, seed=None):
    """The servers of a protocol, with the reports of clients, settled."""
    servers = servers_of(protocol, seeded=seed is not None)
    send(servers, *reports_of(protocol, cells, seed))
    agree(servers)
    return servers


def closed(servers):
    return [server.close() for server in servers]


def resumed(servers):
    return [Server.from_bytes(server.to_bytes(), server.protocol) for server in servers]


def counts_of(servers, cells):
    return opened([server.answer(cells) for server in servers]).counts


def resigned(report, **changes):
    """A report with other content, and the right tag: as its client would have made it."""
    changed = replace(wire.decode(report), **changes)
    key = wire.client_key(wire.OPEN, changed.round_id, changed.report_id)
    return wire.encode(changed, key)


def refusal(server, report):
    """The reason why a server refuses a report, and nothing but their number has changed."""
    accepted, refused = server.accepted, dict(server.refused)
    with pytest.raises(ReportError) as raised:
        server.add(report)
    reason = raised.value.reason
    assert server.accepted == accepted
    assert server.refused == {**refused, reason: refused[reason] + 1}
    return reason
