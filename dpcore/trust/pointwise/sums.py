"""The secure sums of dpcore: by functions, by shared vectors, and simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import DtypeError, ParameterError, amount
from ...noise.sources import KEY_BYTES, random_bytes, source
from ...privacy.guarantees import Privacy
from ...privacy.spending import Account
from ...summaries.grid import MOST_CELLS
from ..models.remembered_noise import RememberedNoise
from ..protocol import wire
from ..protocol.agreement import check_settled
from ..protocol.answers import opened
from ..protocol.rounds import MOST_SERVERS
from ..protocol.servers import Server
from ..protocol.trust_models import Pointwise
from .aggregators import of_clients
from .clients import PointwiseClient, checked_cells

__all__ = ["FunctionServers", "SharedVectors", "SimulatedSum"]

_NOT_COPIED: Final = "must not be copied or pickled"


class FunctionServers:
    """Servers with which clients have shared their functions once, asked in this process.

    Clients are not asked again. For servers elsewhere, write a few lines like those of ``sum`` that
    send the cells to each server, and open the answers with ``opened``.

    Parameters
    ----------
    servers
        All servers of one round of FunctionSharing, with clients settled (``agree``) and without a
        cell for empty records. This ends their round, as the first ``Server.answer`` does, unless
        it raises.

    Raises
    ------
    DtypeError, ParameterError
        ``servers`` are not servers, or have a cell for empty records.
    RoundError
        They are not all servers of one such round, or do not agree about the clients.

    Examples
    --------
    >>> from dpcore.trust import Client, FunctionSharing, PointwiseCDF, Protocol, Server, agree
    >>> protocol = Protocol(FunctionSharing(epsilon=40.0), 16, bytes(16))
    >>> servers = [Server(protocol, place=0), Server(protocol, place=1)]
    >>> for cell in [3, 9, 9]:
    ...     for server, report in zip(servers, Client(protocol).report(cell)):
    ...         server.add(report)
    >>> agree(servers)
    3
    >>> curve = PointwiseCDF(FunctionServers(servers))
    >>> curve.quantile(0.5, method="inverted_cdf")
    10.0
    """

    __slots__ = ("__weakref__", "_servers", "clients", "simulated", "size", "trust")

    def __init__(self, servers: Sequence[Server]) -> None:
        self._servers: list[Server] = _check.items("servers", servers, "must be servers")
        check_settled(self._servers)
        protocol = self._servers[0].protocol
        if protocol.empty is not None:
            what = "must be of a round without a cell for empty records"
            raise ParameterError("servers", protocol.empty, what)
        self.size = protocol.size
        first = opened([server.answer([]) for server in self._servers])
        self.clients, self.simulated = first.n, first.simulated
        self.trust = of_clients(protocol.trust, first.n)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DtypeError("sums", type(self).__name__, f"{_NOT_COPIED}: it holds servers")

    def __repr__(self) -> str:
        return f"<FunctionServers of {amount(self.clients, 'client')}, {amount(self.size, 'cell')}>"

    def sum(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the noisy counts that the servers' answers open to, (k,): see ``Aggregator.sum``.

        Examples
        --------
        >>> from dpcore.trust import Client, FunctionServers, FunctionSharing
        >>> from dpcore.trust import Protocol, Server, agree
        >>> protocol = Protocol(FunctionSharing(epsilon=40.0), 16, bytes(16))
        >>> servers = [Server(protocol, place=0), Server(protocol, place=1)]
        >>> for cell in [3, 9, 9]:
        ...     for server, report in zip(servers, Client(protocol).report(cell)):
        ...         server.add(report)
        >>> agree(servers)
        3
        >>> FunctionServers(servers).sum([3, 8, 15])
        array([1, 1, 3])
        """
        asked = checked_cells(cells, self.size)
        return opened([server.answer(asked) for server in self._servers]).counts


class SharedVectors:
    """Vectors of clients that are split among servers, and added up by these, in this process.

    This is the secure sum of ``Protocol``, point by point: the shares are uniform in Z_2^64 except
    for their sum. In a network, clients and servers each need a few lines like those of ``sum``.

    Parameters
    ----------
    clients
        All clients, of one trust model and one size, each with a key of its own.
    servers
        The number of servers, 2 to 256.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    RoundError
        There are fewer clients than DistributedNoise requires, or more than it asks.

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

    __slots__ = ("__weakref__", "_members", "_servers", "size", "trust")

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
        self._servers = _check.integer("servers", servers, 2, MOST_SERVERS)
        self.size = members[0].size
        self.trust = of_clients(members[0].trust, len(members))

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DtypeError("sums", type(self).__name__, f"{_NOT_COPIED}: it holds clients' records")

    def __repr__(self) -> str:
        return f"<SharedVectors of {amount(self.clients, 'client')}, {amount(self.size, 'cell')}>"

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return len(self._members)

    @property
    def simulated(self) -> bool:
        """Whether a seeded generator has made a client's key."""
        return any(member.simulated for member in self._members)

    def sum(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of all clients' vectors, (k,): see ``Aggregator.sum``.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise, PointwiseClient, SharedVectors
        >>> trust = DistributedNoise(epsilon=40.0, clients=3)
        >>> clients = [PointwiseClient(trust, 16, cell) for cell in [3, 9, 9]]
        >>> SharedVectors(clients, servers=3).sum([3, 8, 15])
        array([1, 1, 3])
        """
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
    """The noisy sums over many clients, simulated from their exact counts.

    The noise has exactly the distribution that the sums would have. No clients are made: the shares
    of all clients are drawn as one variable for each node. This is for studies, and for a curator
    who lets others ask for a curve point by point. Each new object has noise of its own, so it is
    another release and spends the budget again. A budget that watches only where an older object is
    asked is charged, too: once, for the whole release. The object cannot be copied or pickled.

    Parameters
    ----------
    counts
        (N,) how many clients' records are in each cell, as ``Grid.count`` returns them. There must
        be at least one client.
    trust
        DistributedNoise, FunctionSharing or SecureAggregation.
    rng
        None for a release: a key from the operating system. A generator is for studies.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    RoundError
        There are fewer clients than DistributedNoise requires, or more than it asks.

    Notes
    -----
    A sum takes O(k) for each level, and some 2^10 draws for each block of nodes that was not asked
    for before, whatever the number of clients.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust import DistributedNoise, SimulatedSum
    >>> trust, rng = DistributedNoise(epsilon=1.0, clients=10**6), np.random.default_rng(1)
    >>> SimulatedSum(np.full(1000, 1000), trust, rng).sum([499, 999])  # the last is the public n
    array([ 499989, 1000000])
    """

    __slots__ = (
        "__weakref__",
        "_account",
        "_cumulative",
        "_noise",
        "clients",
        "simulated",
        "size",
        "trust",
    )

    def __init__(
        self, counts: Any, trust: Pointwise, rng: np.random.Generator | None = None
    ) -> None:
        exact = _check.counts("counts", counts)
        if exact.ndim != 1 or not 1 <= exact.size <= MOST_CELLS or not exact.any():
            what = f"must be (N,), 1 to {MOST_CELLS} cells with one client or more"
            raise ParameterError("counts", exact.shape, what)
        self._cumulative = np.cumsum(exact)
        self.size, self.clients = exact.size, int(self._cumulative[-1])
        self.trust = of_clients(trust, self.clients)
        stream = source(rng)
        self.simulated = stream.simulated
        # Before the charge, because a budget may be too small for these cells.
        remembered = self.trust.remembered(self.size)
        self._account = Account(self._cost(), "SimulatedSum")
        self._noise: RememberedNoise | None = None
        if remembered is not None:
            tree, shares, count = remembered
            key = random_bytes(KEY_BYTES, stream)
            self._noise = RememberedNoise(tree, shares, key, simulated=self.simulated, count=count)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DtypeError("sums", type(self).__name__, f"{_NOT_COPIED}: it holds exact counts")

    def __repr__(self) -> str:
        return f"<SimulatedSum of {amount(self.clients, 'client')}, {amount(self.size, 'cell')}>"

    def _cost(self) -> Privacy:
        return replace(self.trust.privacy, simulated=self.simulated)

    def sum(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts with all noise, (k,): see ``Aggregator.sum``.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import DistributedNoise, SimulatedSum
        >>> trust, rng = DistributedNoise(epsilon=1.0, clients=1000), np.random.default_rng(1)
        >>> aggregator = SimulatedSum([300, 400, 200, 100], trust, rng)
        >>> aggregator.sum([0, 1]), aggregator.sum([1, 2])  # the same question gets the same noise
        (array([300, 702]), array([702, 896]))
        """
        asked = checked_cells(cells, self.size)
        self._account.spend(self._cost())
        exact = self._cumulative[asked]
        return exact if self._noise is None else exact + self._noise.of_prefixes(asked)
