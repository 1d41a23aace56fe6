"""Protocols, the reports of their clients, and servers that hold these."""

from __future__ import annotations

import numpy as np

from dpcore.trust import DistributedNoise, FunctionSharing, Local, SecureAggregation
from dpcore.trust.protocol.clients import Client
from dpcore.trust.protocol.parameters import Protocol
from dpcore.trust.protocol.servers import Server

ROUND = bytes(range(16))
SECURE = Protocol(SecureAggregation(), 20, ROUND)
NOISY = Protocol(DistributedNoise(1.0, clients=50, dropout=0.2), 20, ROUND)
LOCAL = Protocol(Local(1.0, clients=50), 20, ROUND)
FUNCTIONS = Protocol(FunctionSharing(1.0), 20, ROUND)
TABLES = Protocol(FunctionSharing(1.0, servers=3), 20, ROUND)
PROTOCOLS = [SECURE, NOISY, LOCAL, FUNCTIONS, TABLES]


def reports_of(protocol, cells, seed=1):
    """(clients, servers) reports."""
    rng = None if seed is None else np.random.default_rng(seed)
    return [Client(protocol, rng).report(int(cell)) for cell in cells]


def server_of(protocol, place=0, rng=None):
    """A server without reports. One that makes noise is seeded, if by nothing else by its place."""
    if rng is None and protocol.shares_functions:
        rng = np.random.default_rng(place)
    return Server(protocol, place=place if protocol.shares_functions else None, rng=rng)


def filled(protocol, reports):
    """The servers of a protocol, with these reports."""
    servers = [server_of(protocol, place) for place in range(protocol.receivers)]
    for row in reports:
        for server, report in zip(servers, row, strict=True):
            server.add(report)
    return servers
