"""The experiments of ``the study functions``: errors, memory and time of shared functions."""

import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import dpcore as dp
from dpcore.trust import (
    Central,
    Client,
    DistributedNoise,
    FunctionSharing,
    PointwiseCDF,
    Protocol,
    Server,
    SimulatedSum,
    comparison,
)

from ._server_memory import renamed, traced

Values = NDArray[np.float64]
Rng = np.random.Generator
T = TypeVar("T")
Model = Central | DistributedNoise | FunctionSharing
PROBABILITIES: Final = np.arange(1, 10) / 10
ROUND: Final = bytes(16)
ANSWERS: Final = 5  # to the same question; the median counts


# --- errors, in records


class Errors(NamedTuple):
    """Root mean squares; pointwise there is nothing for a curator."""

    whole: float
    pointwise: float | None


def of_counts(model: Model, size: int, records: int) -> Errors:
    """Return the errors of a count, over all thresholds, as stated."""
    whole = root_mean_square(model.noise_deviation(size))
    if isinstance(model, Central):
        return Errors(whole, None)
    return Errors(whole, root_mean_square(pointwise_deviations(model, size, records)))


def pointwise_deviations(
    model: DistributedNoise | FunctionSharing, size: int, records: int
) -> Values:
    """Return the standard deviation of each count that is asked for by itself, (N,)."""
    curve = PointwiseCDF(SimulatedSum(even(size, records), model, np.random.default_rng(1)))
    curve(curve.grid.thresholds)
    return curve.noise_deviation


def of_quantiles(model: Model, size: int, records: int, rngs: list[Rng]) -> Errors:
    """Return how many records are between quantiles and the true ones, which are p of the axis."""
    counts, grid = even(size, records), dp.Grid.uniform(0, 1, size)
    whole, pointwise = list[Values](), list[Values]()
    for rng in rngs:
        curve = dp.cdf_from_counts(counts, grid, model, rng=rng)
        whole.append(curve.quantile(PROBABILITIES) - PROBABILITIES)
        if not isinstance(model, Central):
            asked = PointwiseCDF(SimulatedSum(counts, model, rng), grid)
            pointwise.append(asked.quantile(PROBABILITIES) - PROBABILITIES)
    of_points = records * root_mean_square(pointwise) if pointwise else None
    return Errors(records * root_mean_square(whole), of_points)


def even(size: int, records: int) -> NDArray[np.int64]:
    """Return the counts of records that are spread evenly."""
    return np.full(size, records // size)


def root_mean_square(values: ArrayLike) -> float:
    """Return it, over all axes."""
    return float(np.sqrt(np.mean(np.square(values))))


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
    _settling(protocol, made, every, rng)  # imports and compiled kernels
    tracemalloc.start()
    try:
        before = traced()
        ids = {rng.bytes(16) for _ in range(clients)}
        of_ids = traced() - before
        del ids
        return Memory(*_settling(protocol, made, clients, rng), of_ids)
    finally:
        tracemalloc.stop()


def _settling(protocol: Protocol, reports: list[bytes], clients: int, rng: Rng) -> tuple[int, int]:
    """Return the most bytes of a server, and those at the end, all being settled."""
    before, server = traced(), Server(protocol, place=0)
    tracemalloc.reset_peak()
    for _ in range(clients // len(reports)):
        ids = [rng.bytes(16) for _ in reports]
        for report, identity in zip(reports, ids, strict=True):
            server.add(renamed(report, identity))
        server.settle(ids)
        server.add_up()
    most = tracemalloc.get_traced_memory()[1]
    del ids, report, identity
    return most - before, traced() - before


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
        tracemalloc.start()
        try:
            before = traced()
            tracemalloc.reset_peak()
            _summed(path, at_once, bits, asked)
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()


def _summed(path: Path, at_once: int, bits: int, asked: NDArray[np.int64]) -> NDArray[np.uint64]:
    total = np.zeros(asked.size, np.uint64)
    with path.open("rb") as file:
        for packed in iter(lambda: file.read(at_once * comparison.key_bytes(bits)), b""):
            keys = comparison.Keys.from_packed(packed, bits, 0)
            total += comparison.evaluate_sum(keys, asked, workers=1)
    return total


# --- time


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
