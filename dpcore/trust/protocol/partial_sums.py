"""The partial sums that servers give away at the end of a round, and their total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ..._sealed import sealed
from ...errors import DtypeError
from .parameters import Protocol
from .parts import check_kinds, check_together
from .possible import check_reports
from .rounds import Sums
from .storage import HASH_BYTES, Reader, dumped
from .vector_sums import VectorSum

__all__ = ["PartialSum", "combine", "of_all_servers"]

_SUM: Final = b"DPCT"


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PartialSum:
    """A server's part of the sum, which ``Server.close`` gives away once, at the end of a round.

    This class checks nothing. ``combine`` and ``release`` check the sums of all servers together.

    Parameters
    ----------
    protocol
        The public parameters of the round.
    totals
        (nodes,) uint64: sums of shares modulo 2^64. For Local, how many bits were set.
    reports
        The number of reports in the sum.
    clients
        SHA-256 of the reports' ids in order. It has to be the same for all servers.
    by_level
        For Local: how many reports were about each level below the root.
    simulated
        Whether a report was made for a study.

    Examples
    --------
    >>> from dpcore.trust import Client, Protocol, SecureAggregation, Server, agree
    >>> protocol = Protocol(SecureAggregation(), 4, bytes(16))
    >>> servers = [Server(protocol), Server(protocol)]
    >>> for server, report in zip(servers, Client(protocol).report(2)):
    ...     server.add(report)
    >>> agree(servers)
    1
    >>> part = servers[0].close()
    >>> part.reports, part.totals.shape
    (1, (4,))
    """

    protocol: Protocol
    totals: NDArray[np.uint64] = field(repr=False)
    reports: int
    clients: bytes = field(repr=False)
    by_level: tuple[int, ...] = ()
    simulated: bool = False

    @property
    def sums(self) -> Sums:
        """What is in it, as the trust model reads it."""
        return Sums(self.totals, self.reports, self.by_level)

    def to_bytes(self) -> bytes:
        """Return the partial sum as bytes, for whoever adds up the sums (docs/guides/wire.md).

        Examples
        --------
        >>> from dpcore.trust import Client, Protocol, SecureAggregation, Server, agree
        >>> protocol = Protocol(SecureAggregation(), 4, bytes(16))
        >>> servers = [Server(protocol), Server(protocol)]
        >>> for server, report in zip(servers, Client(protocol).report(2)):
        ...     server.add(report)
        >>> agree(servers)
        1
        >>> [len(server.close().to_bytes()) for server in servers]
        [142, 142]
        """
        parts = ([self.reports], self.clients, self.by_level, self.totals)
        return dumped(_SUM, self.protocol, self.simulated, parts)

    @classmethod
    def from_bytes(cls, data: bytes, protocol: Protocol) -> PartialSum:
        """Return the partial sum from its bytes.

        Raises
        ------
        FormatError
            The data are damaged, or belong to another round or other parameters.

        Examples
        --------
        >>> from dpcore.trust import Client, PartialSum, Protocol, SecureAggregation, Server
        >>> from dpcore.trust import agree, combine
        >>> protocol = Protocol(SecureAggregation(), 4, bytes(16))
        >>> servers = [Server(protocol), Server(protocol)]
        >>> for server, report in zip(servers, Client(protocol).report(2)):
        ...     server.add(report)
        >>> agree(servers)
        1
        >>> sent = [server.close().to_bytes() for server in servers]
        >>> combine([PartialSum.from_bytes(data, protocol) for data in sent])
        array([0, 0, 1, 0])
        """
        body = Reader(_SUM, data, protocol)
        reports, clients = int(body.words(1)[0]), body.read(HASH_BYTES)
        by_level = tuple(body.words(len(protocol.asked)).tolist())
        totals = body.words(protocol.words)
        body.end()
        return cls(protocol, totals, reports, clients, by_level, body.simulated)


def combine(
    sums: PartialSum | Sequence[PartialSum] | VectorSum,
) -> NDArray[np.int64] | NDArray[np.float64]:
    """Return the totals of all nodes, (nodes,), root first; for SecureAggregation, of the cells.

    For SquareWave, they are how many reports there are of each output. For Central, they are the
    noisy cumulative counts, (N,) float64.

    Parameters
    ----------
    sums
        The partial sums of all servers, in any order; for Local, that of its one server. Or the sum
        of clients' vectors.

    Raises
    ------
    DtypeError
        ``sums`` are not partial sums, or have fields of a wrong type or shape.
    RoundError
        The sums are not one from each server of one round; or they are not of the same clients; or
        the clients are fewer than the trust model requires, or more than were asked; or so many
        reports cannot make these totals (docs/guides/wire.md, section 5), so some client or server
        did not keep to the protocol.

    Examples
    --------
    >>> from dpcore.trust import Client, Protocol, SecureAggregation, Server, agree, combine
    >>> protocol = Protocol(SecureAggregation(), 4, bytes(16))
    >>> servers = [Server(protocol), Server(protocol)]
    >>> for cell in [0, 2, 2]:
    ...     for server, report in zip(servers, Client(protocol).report(cell)):
    ...         server.add(report)
    >>> agree(servers)
    3
    >>> combine([server.close() for server in servers])
    array([1, 0, 2, 0])
    """
    whole = of_all_servers(sums)
    return whole.protocol.round.numbers(whole.totals)


def of_all_servers(sums: PartialSum | Sequence[PartialSum] | VectorSum) -> PartialSum:
    """Return the sum of the servers' parts, after the checks that ``combine`` names."""
    if isinstance(sums, VectorSum):  # it has been checked, but a copy of it could be altered
        totals = sums.total.view(np.uint64)
        sums.protocol.round.check_sums(Sums(totals, sums.reports))
        return PartialSum(sums.protocol, totals, sums.reports, b"", simulated=sums.simulated)
    requirement = "must be partial sums, or one VectorSum"
    if not isinstance(sums, PartialSum | Sequence):
        raise DtypeError("sums", type(sums).__name__, requirement)
    parts = [sums] if isinstance(sums, PartialSum) else _check.items("sums", sums, requirement)
    check_kinds("sums", parts, PartialSum, "must be partial sums, or one VectorSum by itself")
    for part in parts:
        _check_form(part)
    check_together("sums", parts)
    first, protocol = parts[0], parts[0].protocol
    check_reports(protocol, first.reports)
    totals = np.zeros(protocol.words, np.uint64)
    for part in parts:
        totals += part.totals
    whole = replace(first, totals=totals, simulated=any(part.simulated for part in parts))
    protocol.round.check_sums(whole.sums)
    return whole


def _check_form(part: PartialSum) -> None:
    """Check the types of fields, which are right in a sum that was read from bytes."""
    totals, words = part.totals, part.protocol.words
    if not isinstance(totals, np.ndarray) or totals.dtype != np.uint64 or totals.shape != (words,):
        raise DtypeError("sums", type(totals).__name__, f"must have totals, ({words},) uint64")
    if not isinstance(part.by_level, tuple):
        raise DtypeError("sums", type(part.by_level).__name__, "must have a tuple by_level")
    for number in (part.reports, *part.by_level):
        if not isinstance(number, int):
            raise DtypeError("sums", type(number).__name__, "must have integers as numbers")
