"""Answers of servers that share functions, and the noisy counts that these open to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ..._sealed import sealed
from ...errors import DtypeError, FormatError, amount
from .parameters import Protocol
from .parts import check_kinds, check_together
from .storage import HASH_BYTES, Reader, dumped
from .wire import RoundError

__all__ = ["Answer", "Opened", "opened"]

_ANSWER: Final = b"DPCA"


@sealed
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answer:
    """One server's shares of noisy counts at some thresholds. ``Server.answer`` returns it.

    This class checks nothing. ``opened`` checks the answers of all servers together.

    Parameters
    ----------
    protocol
        The public parameters of the round.
    cells
        (k,) int64: records up to and including this cell are counted.
    shares
        (k,) uint64, modulo 2^64, with this server's noise.
    total
        This server's share of the count at the last cell, without noise. The total of all servers
        is n if nobody lies.
    reports
        The number of clients in the counts.
    clients
        SHA-256 of the clients' report ids in order. It has to be the same for all servers.
    simulated
        Whether a report or the noise was made for a study.

    Examples
    --------
    >>> from dpcore.trust import Client, FunctionSharing, Protocol, Server, agree
    >>> protocol = Protocol(FunctionSharing(epsilon=40.0), 16, bytes(16))
    >>> servers = [Server(protocol, place=0), Server(protocol, place=1)]
    >>> for server, report in zip(servers, Client(protocol).report(9)):
    ...     server.add(report)
    >>> agree(servers)
    1
    >>> servers[0].answer([8, 9])
    <Answer at 2 cells, about 1 report>
    """

    protocol: Protocol
    cells: NDArray[np.int64]
    shares: NDArray[np.uint64]
    total: int
    reports: int
    clients: bytes
    simulated: bool = False

    def __post_init__(self) -> None:
        _check.instance("protocol", self.protocol, Protocol, "must be a Protocol")
        _check.held("cells", self.cells, (None,))
        _check.held("shares", self.shares, self.cells.shape)
        for name in ("total", "reports"):
            _check.integer(name, getattr(self, name), 0, 2**64 - 1)
        _check.instance("clients", self.clients, bytes, "must be bytes")
        _check.flag("simulated", self.simulated)

    def __repr__(self) -> str:
        return (
            f"<Answer at {amount(self.cells.size, 'cell')}, about {amount(self.reports, 'report')}>"
        )

    def to_bytes(self) -> bytes:
        """Return the answer as bytes, for whoever has asked (docs/guides/wire.md).

        Examples
        --------
        >>> from dpcore.trust import Client, FunctionSharing, Protocol, Server, agree
        >>> protocol = Protocol(FunctionSharing(epsilon=40.0), 16, bytes(16))
        >>> servers = [Server(protocol, place=0), Server(protocol, place=1)]
        >>> for server, report in zip(servers, Client(protocol).report(9)):
        ...     server.add(report)
        >>> agree(servers)
        1
        >>> [len(server.answer([8, 9]).to_bytes()) for server in servers]
        [158, 158]
        """
        numbers = [self.reports, self.cells.size, self.total]
        parts = (numbers, self.clients, self.cells, self.shares)
        return dumped(_ANSWER, self.protocol, self.simulated, parts)

    @classmethod
    def from_bytes(cls, data: bytes, protocol: Protocol) -> Answer:
        """Return the answer from its bytes.

        Raises
        ------
        FormatError
            The data are damaged, or belong to another round or other parameters.

        Examples
        --------
        >>> from dpcore.trust import Answer, Client, FunctionSharing, Protocol, Server
        >>> from dpcore.trust import agree, opened
        >>> protocol = Protocol(FunctionSharing(epsilon=40.0), 16, bytes(16))
        >>> servers = [Server(protocol, place=0), Server(protocol, place=1)]
        >>> for server, report in zip(servers, Client(protocol).report(9)):
        ...     server.add(report)
        >>> agree(servers)
        1
        >>> sent = [server.answer([8, 9]).to_bytes() for server in servers]
        >>> opened([Answer.from_bytes(data, protocol) for data in sent]).counts
        array([0, 1])
        """
        body = Reader(_ANSWER, data, protocol)
        reports, asked, total = body.words(3).tolist()
        clients, cells = body.read(HASH_BYTES), body.words(asked)
        if np.any(cells >= protocol.cells):
            raise FormatError(f"is about a cell that is not one of {protocol.cells}")
        shares = body.words(asked)
        body.end()
        places = cells.astype(np.int64)
        return cls(protocol, places, shares, total, reports, clients, body.simulated)


class Opened(NamedTuple):
    """Noisy counts at thresholds.

    Parameters
    ----------
    cells
        (k,) int64: records up to and including this cell are counted.
    counts
        (k,) int64, with the noise of all servers. The count at the last cell is n, without noise.
    n
        The number of clients, each with one record.
    clients
        SHA-256 of the clients' report ids in order. If it changes from one question to the next, a
        server has gone back to an older file, and the budget is being spent again.
    simulated
        Whether a report or some noise was made for a study.

    Examples
    --------
    >>> from dpcore.trust import Client, FunctionSharing, Protocol, Server, agree, opened
    >>> protocol = Protocol(FunctionSharing(epsilon=40.0), 16, bytes(16))
    >>> servers = [Server(protocol, place=0), Server(protocol, place=1)]
    >>> for server, report in zip(servers, Client(protocol).report(9)):
    ...     server.add(report)
    >>> agree(servers)
    1
    >>> released = opened([server.answer([8, 9]) for server in servers])
    >>> released.cells, released.counts, released.n
    (array([8, 9]), array([0, 1]), 1)
    """

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    n: int
    clients: bytes
    simulated: bool


def opened(answers: Sequence[Answer]) -> Opened:
    """Return the noisy counts that the answers of all servers add up to.

    Parameters
    ----------
    answers
        One answer of each server, in any order, all to one question.

    Raises
    ------
    DtypeError
        ``answers`` are not answers, or have fields of a wrong type or shape.
    RoundError
        The answers are not one from each server of one round, to one question and about the same
        clients; or the count at the last cell, which every answer contains, is not the number of
        clients, so some client or server did not keep to the protocol.

    Examples
    --------
    >>> from dpcore.trust import Client, FunctionSharing, Protocol, Server, agree
    >>> protocol = Protocol(FunctionSharing(epsilon=40.0), 16, bytes(16))
    >>> servers = [Server(protocol, place=0), Server(protocol, place=1)]
    >>> for cell in [3, 9, 9]:
    ...     for server, report in zip(servers, Client(protocol).report(cell)):
    ...         server.add(report)
    >>> agree(servers)
    3
    >>> opened([server.answer([8, 15]) for server in servers]).counts
    array([1, 3])
    """
    check_kinds("answers", answers, Answer, "must be answers")
    for answer in answers:
        _check_form(answer)
    check_together("answers", answers)
    first, protocol = answers[0], answers[0].protocol
    if any(not np.array_equal(answer.cells, first.cells) for answer in answers):
        raise RoundError("the answers are to different questions")
    counts = np.zeros(first.cells.size, np.uint64)
    for answer in answers:
        counts += answer.shares
    signed = counts.view(np.int64)
    total = sum(answer.total for answer in answers) % 2**64
    if total != first.reports or np.any(signed[first.cells == protocol.cells - 1] != total):
        raise RoundError(
            "the count at the last cell is not the number of reports: some client did not send "
            "shares of a step function, or two answers are of one server"
        )
    simulated = any(answer.simulated for answer in answers)
    return Opened(first.cells, signed, first.reports, first.clients, simulated)


def _check_form(answer: Answer) -> None:
    """Check the types of fields, which are right in an answer that was read from bytes."""
    for name in ("total", "reports"):
        if not isinstance(number := getattr(answer, name), int):
            raise DtypeError("answers", type(number).__name__, f"must have an integer {name}")
    for name, kind in (("cells", np.int64), ("shares", np.uint64)):
        array = getattr(answer, name)
        if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != 1:
            what = f"must have {name}, (k,) {np.dtype(kind).name}"
            raise DtypeError("answers", type(array).__name__, what)
    if answer.cells.size != answer.shares.size:
        raise DtypeError("answers", "cells and shares", "must have the same size")
