"""The memory and the time of shared functions, measured on this machine.

The runner of studies does not run these measurements. This process must do nothing else meanwhile,
and no other process may run beside it.
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
ANSWERS: Final = 5  # answers to the same question, of which the median counts


# --- memory, in bytes


class Memory(NamedTuple):
    """Of a server, and of a set of as many ids."""

    most: int
    end: int
    ids: int


def of_server(clients: int, every: int, size: int, rng: Rng) -> Memory:
    """Return the memory of a server that settles and adds up at intervals.

    The clients of the first interval make their reports. The others have copies of these reports
    with their own ids. Messages are dropped after they are added.
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
    """Return the largest memory, in bytes, of sums over keys that are read from a file in parts."""
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
    """The costs of one client in seconds, and its messages to each server in bytes."""

    report: float
    add: float
    settle: float
    answer: float
    sent: list[int]


def of_client(model: FunctionSharing, size: int, clients: int, asked: int, rng: Rng) -> Costs:
    """Return the costs of one of so many clients: medians of its steps, and its part of others.

    The slowest server counts.
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
    """Return the seconds of a call, and its result."""
    start = perf_counter()
    found = call(*arguments)
    return perf_counter() - start, found
