"""Rounds in which clients share functions: their servers, and the reports in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpcore.trust import (
    Client,
    FunctionSharing,
    Protocol,
    Server,
    agree,
    opened,
)
from dpcore.trust.protocol import wire

ROUND = bytes(range(16))
RNG = np.random.default_rng
CELLS = RNG(5).integers(0, 20, 60)
TRUE = np.cumsum(np.bincount(CELLS, minlength=20))
EVERYWHERE = np.arange(20)
EXACT = FunctionSharing(epsilon=10_000.0)  # noise that is 0, but with probability exp(-500) or so


def protocol_of(trust=EXACT, size=20, **more):
    return Protocol(trust, size, ROUND, **more)


def server_of(protocol, place=0, *more, **others):
    """One of the servers of a protocol."""
    return Server(protocol, *more, place=place, **others)


def servers_of(protocol):
    return [server_of(protocol, place) for place in range(protocol.receivers)]


def filled(protocol, cells=CELLS, rng=None):
    """Servers that have the reports of all, settled."""
    servers = servers_of(protocol)
    for cell in cells:
        for server, report in zip(servers, Client(protocol, rng).report(int(cell)), strict=True):
            server.add(report)
    agree(servers)
    return servers


def counts_of(servers, cells=EVERYWHERE):
    return opened([server.answer(cells) for server in servers]).counts


def resumed(servers):
    return [Server.from_bytes(server.to_bytes(), server.protocol) for server in servers]


def key_of(protocol=None, cell=3, server=0):
    return Client(protocol or protocol_of()).report(cell)[server]


def resigned(report, **changes):
    """A report with other content, and the right tag: as its client would have made it."""
    changed = replace(wire.decode(report), **changes)
    key = wire.client_key(wire.OPEN, changed.round_id, changed.report_id)
    return wire.encode(wire.signed(changed, key))


def payload_of(report):
    return wire.decode(report).payload
