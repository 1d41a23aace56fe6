"""Secure sums over clients: what a curve asks, and three that come with dpcore."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import DtypeError, ParameterError
from ...noise.sources import KEY_BYTES, random_bytes, source
from ...summaries.grid import MOST_CELLS
from ..models.central import SecureAggregation
from ..models.distributed import DistributedNoise
from ..models.function_sharing import FunctionSharing
from ..models.remembered_noise import RememberedNoise
from ..protocol import wire
from ..protocol.wire import RoundError
from .clients import PointwiseClient, checked_cells

__all__ = ["Aggregator", "SharedVectors", "SimulatedSum", "Trust", "of_clients", "shares_in_sum"]

Trust = SecureAggregation | DistributedNoise | FunctionSharing


@runtime_checkable
class Aggregator(Protocol):
    """A secure sum over clients, whoever runs it: what ``PointwiseCDF`` asks.

    Write a class with these five, and bring your own: it need not inherit from this one.

    Attributes
    ----------
    clients
        How many clients are in a sum: in every sum the same ones, each with one record.
    trust
        Who makes the noise: DistributedNoise where the clients do, and add ``PointwiseClient``'s
        vectors; FunctionSharing where servers do; SecureAggregation where nobody does.
    size
        N, the number of cells.
    simulated
        Whether a seeded generator has made any noise.

    Notes
    -----
    The guarantee takes three things for granted. Nobody sees more than the sums. **All sums are
    over the same clients**: the difference of two sums over two sets is what the clients in one of
    them alone have sent, which hides next to nothing; so a sum that lacks a client must not be
    opened. And the noise of a cumulative count is the same whenever it is asked for, a signed sum
    of noise on nodes, as ``PointwiseClient`` and servers have it (docs/pointwise.md).
    """

    @property
    def clients(self) -> int: ...  # noqa: D102

    @property
    def trust(self) -> Trust: ...  # noqa: D102

    @property
    def size(self) -> int: ...  # noqa: D102

    @property
    def simulated(self) -> bool: ...  # noqa: D102

    def sum(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records are in all cells up to each of some, with noise.

        Parameters
        ----------
        cells
            (k,) int64, 0 to N - 1, ascending; the last one of all is among them.

        Returns
        -------
        numpy.ndarray
            (k,) int64: the sum over all clients of their vectors for these cells.

        Raises
        ------
        RoundError
            A client is missing. Nothing is opened.
        """
        ...


class SharedVectors:
    """Vectors of clients that are split among servers, and added up by these, in this process.

    The secure sum of ``Protocol``, point by point: shares that are uniform in Z_2^64 but for their
    sum. For a network, five lines like these go to either side of it.

    Parameters
    ----------
    clients
        All clients, of one trust model and one size, each with a key of its own.
    servers
        How many, 2 to 256.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    RoundError
        They are fewer clients than DistributedNoise requires, or more than it asks.

    Notes
    -----
    O(clients) vectors for each sum, and as much AES for each server but one.

    Examples
    --------
    >>> from dpcore.trust import DistributedNoise, PointwiseClient
    >>> trust = DistributedNoise(epsilon=40.0, clients=3)
    >>> clients = [PointwiseClient(trust, 16, cell) for cell in [3, 9, 9]]
    >>> SharedVectors(clients).sum([8, 15])
    array([1, 3])
    """

    __slots__ = ("_members", "_servers", "size", "trust")

    def __init__(self, clients: Sequence[PointwiseClient], servers: int = 2) -> None:
        requirement = "must be PointwiseClients"
        members = _check.items("clients", clients, requirement)
        for member in members:
            if not isinstance(member, PointwiseClient):
                raise DtypeError("clients", type(member).__name__, requirement)
        if not members:
            raise ParameterError("clients", 0, "must be one or more")
        if len({member.digest for member in members}) > 1:
            raise ParameterError("clients", len(members), "must have one trust model and one size")
        if len({member.key for member in members}) < len(members):
            raise ParameterError("clients", len(members), "must have keys of their own")
        self._members: list[PointwiseClient] = members
        self._servers = _check.integer("servers", servers, 2, 2**8)
        self.size = members[0].size
        self.trust = of_clients(members[0].trust, len(members))

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return len(self._members)

    @property
    def simulated(self) -> bool:
        """Whether a seeded generator has made a client's key."""
        return any(member.simulated for member in self._members)

    def sum(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of all clients' vectors, (k,): see ``Aggregator.sum``."""
        asked = checked_cells(cells, self.size)
        totals = np.zeros((self._servers, asked.size), np.uint64)
        for member in self._members:
            totals += self._split(member.vector(asked))
        summed: NDArray[np.uint64] = totals.sum(axis=0, dtype=np.uint64)
        return summed.view(np.int64)

    def _split(self, vector: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return shares, (servers, k), that add up to a vector modulo 2^64."""
        shares = np.empty((self._servers, vector.size), np.uint64)
        for share in shares[1:]:
            share[:] = wire.expanded(random_bytes(wire.SEED_BYTES, source(None)), vector.size)
        shares[0] = vector.view(np.uint64) - shares[1:].sum(axis=0, dtype=np.uint64)
        return shares


class SimulatedSum:
    """What the sums over many clients would be, from their exact counts.

    The law is exact, and no client is made: the shares of all are drawn as one variable a node. For
    studies; and for a curator who wants a curve to be asked point by point.

    Parameters
    ----------
    counts
        (N,) how many clients' records are in each cell, ``Grid.count``: one client or more.
    trust
        DistributedNoise, FunctionSharing or SecureAggregation.
    rng
        None for a release: a key from the operating system. A generator is for studies.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    RoundError
        They are fewer clients than DistributedNoise requires, or more than it asks.

    Notes
    -----
    A sum takes O(k) for each level, and some 2^10 draws for each block of nodes that was not asked
    for before, however many clients there are.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust import DistributedNoise
    >>> trust = DistributedNoise(epsilon=1.0, clients=10**6)
    >>> aggregator = SimulatedSum(np.full(1000, 1000), trust, np.random.default_rng(1))
    >>> bool(abs(aggregator.sum([499])[0] - 500_000) < 100)
    True
    """

    __slots__ = ("_cumulative", "_noise", "clients", "simulated", "size", "trust")

    def __init__(self, counts: Any, trust: Trust, rng: np.random.Generator | None = None) -> None:
        exact = _check.counts("counts", counts)
        if exact.ndim != 1 or not 1 <= exact.size <= MOST_CELLS or not exact.any():
            what = f"must be (N,), 1 to {MOST_CELLS} cells with one client or more"
            raise ParameterError("counts", exact.shape, what)
        self._cumulative = np.cumsum(exact)
        self.size, self.clients = exact.size, int(self._cumulative[-1])
        self.trust = of_clients(trust, self.clients)
        stream = source(rng)
        self.simulated = stream.simulated
        self._noise: RememberedNoise | None = None
        if not isinstance(trust, SecureAggregation):
            self._noise = RememberedNoise(
                trust.tree(self.size),
                trust.shares(self.size),
                random_bytes(KEY_BYTES, stream),
                simulated=stream.simulated,
                count=shares_in_sum(self.trust, self.clients),
            )

    def sum(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts with the noise of all, (k,): see ``Aggregator.sum``."""
        asked = checked_cells(cells, self.size)
        exact = self._cumulative[asked]
        return exact if self._noise is None else exact + self._noise.of_prefixes(asked)


def of_clients(trust: object, clients: int) -> Trust:
    """Return a trust model with so many clients in the sums, or raise."""
    if not isinstance(trust, Trust):
        what = "must be a SecureAggregation, DistributedNoise or FunctionSharing"
        raise DtypeError("trust", type(trust).__name__, what)
    if trust.records != 1:
        raise ParameterError("trust", trust.records, "must have one record to a client")
    if not isinstance(trust, DistributedNoise):
        return trust
    if not trust.required <= clients <= trust.clients:
        wanted = f"{trust.required} to {trust.clients}"
        raise RoundError(f"{clients} clients, and the trust model takes {wanted}")
    return replace(trust, reporting=clients)


def shares_in_sum(trust: Trust, clients: int) -> int:
    """Return how many shares of noise there are on a node."""
    if isinstance(trust, SecureAggregation):
        return 0
    return trust.servers if isinstance(trust, FunctionSharing) else clients
