"""What shared functions take: memory and time, measured on this machine.

These are no studies of the runner: what is measured has to be all that this process does, and no
others may run beside it.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcore.trust import Client, FunctionSharing, Protocol, Server, comparison

from ._server_memory import add_renamed, allocated

Rng = np.random.Generator
T = TypeVar("T")
ROUND: Final = bytes(16)
ANSWERS: Final = 5  # to the same question; the median counts


# --- memory, in bytes


class Memory(NamedTuple):
    """Of a server, and of a set of as many ids."""

    most: int
    end: int
    ids: int


def of_server(clients: int, every: int, size: int, rng: Rng) -> Memory:
    """Return the memory of a server that settles and adds up now and then.

    So many clients as are settled together make their reports; the others have copies of these with
    ids of their own. Messages are dropped once they are added.
    """
    protocol = Protocol(FunctionSharing(1.0), size, ROUND)
    made = [Client(protocol, rng).report(int(rng.integers(size)))[0] for _ in range(every)]

    def settling(clients: int) -> Server:
        server = Server(protocol, place=0)
        for _ in range(clients // every):
            server.settle(add_renamed(server, made, rng))
            server.add_up()
        return server

    settling(every)  # imports and compiled kernels
    ids = allocated(lambda: {rng.bytes(16) for _ in range(clients)}).end
    return Memory(*allocated(lambda: settling(clients)), ids)


def of_arrays(clients: int, at_once: int, bits: int, thresholds: int, rng: Rng) -> int:
    """Return the most bytes of sums over keys that are read from a file, some at a time."""
    asked = np.arange(1, thresholds + 1) * (2**bits // (thresholds + 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys"
        with path.open("wb") as file:
            for _ in range(clients // at_once):
                keys, _ = comparison.gen(rng.integers(0, 2**bits, at_once), bits, rng)
                file.write(keys.packed.data)
        _summed(path, at_once, bits, asked)  # imports and compiled kernels
        return allocated(lambda: _summed(path, at_once, bits, asked)).most


def _summed(path: Path, at_once: int, bits: int, asked: NDArray[np.int64]) -> NDArray[np.uint64]:
    total = np.zeros(asked.size, np.uint64)
    with path.open("rb") as file:
        for packed in iter(lambda: file.read(at_once * comparison.key_bytes(bits)), b""):
            keys = comparison.Keys.from_packed(packed, bits, 0)
            total += comparison.evaluate_sum(keys, asked, workers=1)
    return total


# --- time, in seconds


class Costs(NamedTuple):
    """Of one client, in seconds, and what it sends to each server, in bytes."""

    report: float
    add: float
    settle: float
    answer: float
    sent: list[int]


def of_client(model: FunctionSharing, size: int, clients: int, asked: int, rng: Rng) -> Costs:
    """Return what a client costs, of so many: medians of its own steps, and its part of others.

    Of servers, the one counts that takes the longest.
    """
    protocol = Protocol(model, size, ROUND)
    servers, others = ([Server(protocol, place=i) for i in range(model.servers)] for _ in range(2))
    cells = np.arange(1, asked + 1) * (size // (asked + 1))
    _round(protocol, others, cells[:1], 2, rng)  # compiled kernels
    return _round(protocol, servers, cells, clients, rng)


def _round(
    protocol: Protocol, servers: list[Server], cells: NDArray[np.int64], clients: int, rng: Rng
) -> Costs:
    reporting, adding, sent = list[float](), list[float](), list[int]()
    for cell in rng.integers(0, protocol.size, clients).tolist():
        seconds, reports = timed(lambda cell: Client(protocol).report(cell), cell)
        reporting.append(seconds)
        each = zip(servers, reports, strict=True)
        adding.append(max(timed(server.add, report)[0] for server, report in each))
        sent = [len(report) for report in reports]
    ids = frozenset.intersection(*(server.ids for server in servers))
    settling = [timed(server.settle, ids)[0] for server in servers]
    answering = [
        median(timed(server.answer, cells)[0] for _ in range(ANSWERS)) for server in servers
    ]
    return Costs(
        median(reporting),
        median(adding),
        max(settling) / clients,
        max(answering) / clients,
        sent,
    )


def timed(call: Callable[..., T], *arguments: object) -> tuple[float, T]:
    """Return seconds, and what is returned."""
    start = perf_counter()
    found = call(*arguments)
    return perf_counter() - start, found
