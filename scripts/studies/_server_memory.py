"""The memory of servers, as ``tracemalloc`` counts it."""

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpcore.trust import Client, DistributedNoise, Protocol, Server
from dpcore.trust.protocol.wire import OPEN, client_key, decode, encode

Rng = np.random.Generator


class Allocated(NamedTuple):
    """Bytes that Python objects and arrays have taken."""

    most: int
    end: int


def allocated(work: Callable[[], object]) -> Allocated:
    """Return the memory of a function while it runs, and that of its result at the end.

    Earlier allocations do not count. No other function may run at the same time.
    """
    gc.collect()
    tracemalloc.start()
    try:
        kept = work()
        most = tracemalloc.get_traced_memory()[1]
        gc.collect()
        end = tracemalloc.get_traced_memory()[0]
        del kept
        return Allocated(most, end)
    finally:
        tracemalloc.stop()


def add_renamed(server: Server, reports: list[bytes], rng: Rng) -> list[bytes]:
    """Add copies of reports, as of clients with ids of their own, and return these ids."""
    ids = [rng.bytes(16) for _ in reports]
    for report, identity in zip(reports, ids, strict=True):
        server.add(renamed(report, identity))
    return ids


def renamed(report: bytes, identity: bytes) -> bytes:
    """Return a report as a client with another id would have sent it."""
    found = replace(decode(report), report_id=identity)
    return encode(found, client_key(OPEN, found.round_id, identity))


class Memory(NamedTuple):
    """The memory of a server of DistributedNoise, in bytes."""

    nodes: int
    seed: float  # each, waiting
    share: float
    most: int  # of all shares, settled now and then
    settled: int


def memory(clients: int, waiting: int, every: int, size: int, rng: Rng) -> Memory:
    """Return the bytes of waiting seeds and shares, and of a server that settles now and then.

    Only as many clients as are settled together make reports. The others have copies of these with
    ids of their own. Each message is dropped once it has been added, so the trace counts only what
    the server keeps.
    """
    protocol = Protocol(DistributedNoise(1.0, clients), size, rng.bytes(16))
    made = [Client(protocol, rng).report(0) for _ in range(every)]
    seeds, shares = ([reports[place] for reports in made] for place in range(2))

    def unsettled(reports: list[bytes], clients: int) -> Server:
        server = Server(protocol)
        for _ in range(clients // every):
            add_renamed(server, reports, rng)
        return server

    def settling() -> Server:
        server = Server(protocol)
        for _ in range(clients // every):
            server.settle(add_renamed(server, shares, rng))
        return server

    seed = allocated(lambda: unsettled(seeds, clients)).end / clients
    share = allocated(lambda: unsettled(shares, waiting)).end / waiting
    return Memory(protocol.words, seed, share, *allocated(settling))
