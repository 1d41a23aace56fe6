"""The memory of servers, as ``tracemalloc`` counts it."""

import gc
import tracemalloc
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpcore.trust import Client, DistributedNoise, Protocol, Server
from dpcore.trust.protocol.wire import OPEN, client_key, decode, encode, signed


class Memory(NamedTuple):
    """Bytes that Python has allocated for a server."""

    nodes: int
    seed: float  # each, waiting
    share: float
    most: int  # of all shares, settled now and then
    settled: int


def memory(clients: int, waiting: int, every: int, size: int, rng: np.random.Generator) -> Memory:
    """Return the bytes of waiting seeds and shares, and of a server that settles now and then.

    So many clients as are settled together make their reports; the others have copies of these with
    ids of their own. A message is dropped when it has been added: what is traced is what the server
    keeps.
    """
    protocol = Protocol(DistributedNoise(1.0, clients), size, rng.bytes(16))
    made = [Client(protocol, rng).report(0) for _ in range(every)]
    seeds, shares = ([reports[place] for reports in made] for place in range(2))
    tracemalloc.start()
    try:
        seed = _waiting(protocol, seeds, clients, rng)
        share = _waiting(protocol, shares, waiting, rng)
        most, settled = _settling(protocol, shares, clients, rng)
    finally:
        tracemalloc.stop()
    return Memory(protocol.words, seed, share, most, settled)


def _waiting(
    protocol: Protocol, reports: list[bytes], clients: int, rng: np.random.Generator
) -> float:
    """Return the bytes of a report that waits."""
    before, server = traced(), Server(protocol)
    for at in range(clients):
        server.add(renamed(reports[at % len(reports)], rng.bytes(16)))
    return (traced() - before) / clients


def _settling(
    protocol: Protocol, reports: list[bytes], clients: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Return the most bytes of a server of shares, and those at the end, all being settled."""
    before, server = traced(), Server(protocol)
    tracemalloc.reset_peak()
    for _ in range(clients // len(reports)):
        ids = [rng.bytes(16) for _ in reports]
        for report, identity in zip(reports, ids, strict=True):
            server.add(renamed(report, identity))
        server.settle(ids)
    most = tracemalloc.get_traced_memory()[1]
    del ids, report, identity
    return most - before, traced() - before


def renamed(report: bytes, identity: bytes) -> bytes:
    """Return a report as a client with another id would have sent it."""
    found = replace(decode(report), report_id=identity)
    return encode(signed(found, client_key(OPEN, found.round_id, identity)))


def traced() -> int:
    """Return how many bytes Python objects and arrays take."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
