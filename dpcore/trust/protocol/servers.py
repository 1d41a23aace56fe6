"""Servers: they refuse or count reports, and give away a sum."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import DtypeError, ParameterError, amount
from ...noise.sources import source
from . import storage, wire
from .admission import admitted, check_disjoint, checked_ids
from .answers import Answer
from .enrolment import Enrolment
from .parameters import Protocol
from .partial_sums import PartialSum
from .rounds import AnsweringRound
from .tally import Tally
from .trust_models import Answering, names_of
from .turns import Turns
from .wire import Reason, ReportError, RoundError

__all__ = ["Server"]


class Server:
    """Collects the reports of one round.

    Parameters
    ----------
    protocol
        The public parameters of the round.
    enrolment
        The enrolment from which clients have their tickets, if the protocol has ``enrolled``. It is
        not saved with the server.
    place
        For FunctionSharing: which server this is, 0 to ``servers`` - 1. Clients send it the report
        with that number, and it refuses others.
    rng
        For FunctionSharing and Central, whose servers make the noise. None: random numbers from the
        operating system. A generator is for studies, and marks releases as simulated.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above; or one that the protocol needs is missing; or one is given that
        the protocol does not have.

    Notes
    -----
    Additive protocols: a client may reach one server and not the other, and its share alone would
    spoil the sum. So each share waits by itself until ``settle`` says that all servers have the
    client's report. Then the server adds it up and forgets it. Settle as often as is convenient.
    Memory is 16 bytes of id for a settled client, 48 bytes for a waiting seed, and 8 bytes a node
    for a waiting share (docs/guides/wire.md says what Python adds). Local: reports are complete,
    and the server counts them at once.

    FunctionSharing: the server keeps the keys of settled clients. ``answer`` evaluates them at the
    cells asked for; ``add_up`` evaluates them at all cells, and forgets them. Memory is some
    hundred bytes a client, or 8 bytes a cell and 16 bytes of id a client.

    A server gives its sum away once (``close``), because two sums that differ in one client would
    reveal that client's report. So it works only in the process that made it. A copy that a fork
    has made refuses everything (RoundError).

    Calls from several threads take turns. A call by a signal handler in the middle of another call
    is refused (RoundError). If an exception interrupts a call, then by the beginning of the next
    call it has done everything or nothing, on both servers of a ``merge``.

    Examples
    --------
    >>> from dpcore.trust import SecureAggregation
    >>> from dpcore.trust import Client
    >>> from dpcore.trust import agree, combine
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

    __slots__ = ("_noise", "_protocol", "_secret", "_tally", "_turns")

    def __init__(
        self,
        protocol: Protocol,
        enrolment: Enrolment | None = None,
        *,
        place: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        if not isinstance(protocol, Protocol):
            raise DtypeError("protocol", type(protocol).__name__, "must be a Protocol")
        if enrolment is not None and not isinstance(enrolment, Enrolment):
            raise DtypeError("enrolment", type(enrolment).__name__, "must be an Enrolment")
        if protocol.enrolled != (enrolment is not None):
            what = "must be given" if protocol.enrolled else "must be left out"
            raise ParameterError(
                "enrolment", enrolment, f"{what}: the protocol decides who may report"
            )
        self._protocol = protocol
        self._secret = wire.OPEN if enrolment is None else enrolment.key
        stream = source(rng)  # refuses anything but a generator or None
        of = protocol.round
        if rng is not None and not of.servers_draw:
            raise ParameterError("rng", rng, "must be left out: clients make the noise, if any")
        if of.servers_draw and of.receivers > 1:
            if place is None:
                what = f"must be given: which of the {of.receivers} servers this is, from 0"
                raise ParameterError("place", place, what)
            place = _check.integer("place", place, 0, of.receivers - 1)
        elif place is not None:
            raise ParameterError("place", place, "must be left out: all servers are alike")
        self._tally = Tally.empty(of, of.memory(place, stream))
        self._tally.simulated = of.servers_draw and stream.simulated
        self._noise: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None = None
        self._turns = Turns()

    def __repr__(self) -> str:
        return f"<Server: {amount(self.accepted, 'report')}, {self._waiting} of them waiting>"

    @property
    def protocol(self) -> Protocol:
        """The public parameters of the round."""
        return self._protocol

    @property
    def accepted(self) -> int:
        """How many reports the server has taken."""
        return self._tally.accepted

    @property
    def refused(self) -> Mapping[Reason, int]:
        """How many reports the server has refused, by reason."""
        return MappingProxyType(self._tally.refused)

    @property
    def ids(self) -> frozenset[bytes]:
        """The ids of the reports that are here, waiting or settled."""
        with self._turn():
            return self._tally.ids

    @property
    def is_closed(self) -> bool:
        """Whether the sum, or anything about it, has been given away."""
        return self._tally.closed

    def add(self, report: bytes) -> None:
        """Take a report, or refuse it and change nothing but the number of refused reports.

        Raises
        ------
        ReportError
            The report is refused; ``reason`` says why in a word.
        RoundError
            The round is closed.
        DtypeError
            ``report`` is not bytes.

        Examples
        --------
        >>> from dpcore.trust import Client, Protocol, ReportError, SecureAggregation, Server
        >>> protocol = Protocol(SecureAggregation(), 4, bytes(16))
        >>> server, report = Server(protocol), Client(protocol).report(2)[0]
        >>> server.add(report)
        >>> try:
        ...     server.add(report)
        ... except ReportError as error:
        ...     print(error.reason)
        duplicate
        >>> server.accepted
        1
        """
        with self._turn():
            self._check_open()
            tally = self._tally
            try:
                accepted = admitted(report, tally, self._protocol, self._secret)
            except ReportError as error:
                tally.refused[error.reason] += 1
                raise
            tally.take(accepted, self._protocol.round)

    def settle(self, ids: Iterable[bytes]) -> None:
        """Add up the reports of clients that have reached all servers.

        All servers have to settle the same reports.

        Parameters
        ----------
        ids
            The ids of reports that are here. Reports that were settled before may be among them.

        Raises
        ------
        DtypeError
            ``ids`` are not as above.
        RoundError
            Some reports are not here, or the round is closed. Nothing has changed.

        Notes
        -----
        O(nodes) a report. Seeds are expanded here.

        Examples
        --------
        >>> from dpcore.trust import Client, Protocol, SecureAggregation, Server
        >>> protocol = Protocol(SecureAggregation(), 4, bytes(16))
        >>> servers = [Server(protocol), Server(protocol)]
        >>> for server, report in zip(servers, Client(protocol).report(2)):
        ...     server.add(report)
        >>> common = servers[0].ids & servers[1].ids
        >>> for server in servers:
        ...     server.settle(common)
        >>> servers[0]
        <Server: 1 report, 0 of them waiting>
        """
        wanted = checked_ids(ids)
        with self._turn():
            self._check_open()
            fresh = wanted - self._tally.settled
            unknown = sum(identity not in self._tally for identity in fresh)
            if unknown:
                raise RoundError(f"{unknown} of {len(fresh)} reports to settle are not here")
            self._tally.settle(fresh, self._protocol.round)

    def merge(self, other: Server) -> None:
        """Take over all reports of another server in the same place, which ends that server.

        This is for one server that runs as several processes. Their clients must not overlap. The
        other server is left closed and empty, because two sums that overlap would reveal something
        about the clients in which they differ.

        Where servers make the noise, that of the merged server depends on which one has taken over
        the other. So do not merge older files of the same servers again: a second sum, even of the
        same reports, would have other noise, and spend the budget again.

        Raises
        ------
        DtypeError, RoundError
            ``other`` is not a server of the same round and parameters; or it is closed; or it has a
            client that is here, too; or together they have too many clients. Nothing has changed.

        Examples
        --------
        >>> from dpcore.trust import Client, Local, Protocol, Server
        >>> protocol = Protocol(Local(epsilon=1.0, clients=1000), 4, bytes(16))
        >>> server, other = Server(protocol), Server(protocol)
        >>> server.add(Client(protocol).report(2)[0])
        >>> other.add(Client(protocol).report(3)[0])
        >>> server.merge(other)
        >>> server.accepted, other.is_closed
        (2, True)
        """
        if not isinstance(other, Server):
            raise DtypeError("other", type(other).__name__, "must be a Server")
        if other is self:
            raise RoundError("the other server is this one")
        with ExitStack() as turns:
            # In one order, so that no two threads wait for each other.
            for server in sorted((self, other), key=id):
                turns.enter_context(server._turn())
            self._check_open()
            other._check_open()
            if self._protocol.key != other._protocol.key:
                raise RoundError("the other server is of another round, or has other parameters")
            if not hmac.compare_digest(self._secret, other._secret):
                raise RoundError("the other server has another enrolment")
            check_disjoint(self._tally, other._tally, self._protocol)
            of = self._protocol.round
            ended = Tally.empty(of, of.memory(other._tally.place, source(None)))
            ended.close()
            self._tally.take_over(other._tally, ended)
            other._tally = other._tally.finished()

    def close(self) -> PartialSum:
        """End the round, forget reports that are not settled, and return this server's partial sum.

        A second call returns the same. A server that goes on from ``to_bytes`` must not be closed a
        second time with other clients. So save it after closing, and before sending the sum.

        Raises
        ------
        RoundError
            No client is settled, or fewer than DistributedNoise requires, so that the sum would not
            have the promised noise. For Local: fewer are settled than there are levels, or none has
            reported the cells. The round stays open.

        Notes
        -----
        FunctionSharing: the sum has the counts of all nodes, with this server's noise. Answers
        before and afterwards have the same noise.

        Examples
        --------
        >>> from dpcore.trust import Client, Protocol, SecureAggregation, Server, agree, combine
        >>> protocol = Protocol(SecureAggregation(), 4, bytes(16))
        >>> servers = [Server(protocol), Server(protocol)]
        >>> for server, report in zip(servers, Client(protocol).report(2)):
        ...     server.add(report)
        >>> agree(servers)
        1
        >>> combine([server.close() for server in servers])
        array([0, 0, 1, 0])
        """
        with self._turn():
            clients = self._ended()
            protocol, tally = self._protocol, self._tally
            self._add_up()
            context, simulated = b"".join(protocol.key), tally.simulated
            totals = tally.totals(protocol.round)
            totals = protocol.round.given(totals, tally.memory, context, simulated)
            answers, settled = tally.answers(protocol.round), len(tally.settled)
            return PartialSum(protocol, totals, settled, clients, answers, simulated)

    def answer(self, cells: Sequence[int] | NDArray[np.integer[Any]]) -> Answer:
        """Return this server's share of the noisy number of clients up to and including each cell.

        This is for FunctionSharing. It ends the round, if ``end`` was not called. From then on any
        cells may be asked for, any number of times, for the budget of one release. The noise
        depends on the settled reports, the cells, and a secret that ``to_bytes`` keeps.

        Parameters
        ----------
        cells
            (k,) integers, 0 to N - 1, in any order. They may repeat.

        Returns
        -------
        Answer
            This server's part; ``opened`` takes the answers of all servers.

        Raises
        ------
        DtypeError, ParameterError
            ``cells`` are not as above.
        RoundError
            No client is settled; or the round is not one of FunctionSharing.

        Notes
        -----
        O(clients log N) for each cell, or O(levels) after ``add_up``.

        Examples
        --------
        >>> from dpcore.trust import Client, FunctionSharing, Protocol, Server, agree, opened
        >>> protocol = Protocol(FunctionSharing(epsilon=40.0), 16, bytes(16))
        >>> servers = [Server(protocol, place=0), Server(protocol, place=1)]
        >>> for cell in [3, 9, 9]:
        ...     for server, report in zip(servers, Client(protocol).report(cell)):
        ...         server.add(report)
        >>> agree(servers)
        3
        >>> opened([server.answer([8, 9]) for server in servers]).counts
        array([1, 3])
        """
        protocol = self._protocol
        asked = _check.array("cells", cells, "iuf", "must be integers").reshape(-1)
        if asked.size and asked.dtype.kind == "f":  # an empty list is always of this kind
            raise DtypeError("cells", f"dtype {asked.dtype}", "must be integers")
        beyond = (asked < 0) | (asked >= protocol.cells)
        if beyond.any():
            raise ParameterError("cells", asked[beyond][0], f"must be 0 to {protocol.cells - 1}")
        asked = asked.astype(np.int64)
        with self._turn():
            of = self._answering()
            clients = self._ended()
            tally = self._tally
            cells_and_last = np.append(asked, protocol.cells - 1)
            shares = of.shares_at(tally.totals(of), tally.memory, cells_and_last)
            shares, total = shares[:-1], int(shares[-1])
            if self._noise is None:
                context = b"".join(protocol.key)
                self._noise = of.noise_at(tally.memory, context, tally.simulated)
            shares += self._noise(asked).view(np.uint64)
            settled = len(tally.settled)
            return Answer(protocol, asked, shares, total, settled, clients, tally.simulated)

    def end(self) -> None:
        """End the round, and forget reports that are not settled.

        Answers are about the settled reports.

        This is for FunctionSharing. Save the server afterwards, and before it answers. A server
        that goes on from an older file could end the round with other clients, and its answers
        would spend the budget again. Saving it again later is not necessary. A second call changes
        nothing.

        Raises
        ------
        RoundError
            No client is settled, and the round stays open; or the round is not one of
            FunctionSharing.

        Examples
        --------
        >>> from dpcore.trust import Client, FunctionSharing, Protocol, Server, agree
        >>> protocol = Protocol(FunctionSharing(epsilon=40.0), 16, bytes(16))
        >>> servers = [Server(protocol, place=0), Server(protocol, place=1)]
        >>> for server, report in zip(servers, Client(protocol).report(9)):
        ...     server.add(report)
        >>> agree(servers)
        1
        >>> servers[0].end()
        >>> servers[0].accepted, servers[0].is_closed
        (1, True)
        """
        with self._turn():
            self._answering()
            self._ended()

    def add_up(self) -> None:
        """Evaluate the functions of all settled clients at all cells, and forget their keys.

        This is for FunctionSharing. The answers stay the same. Afterwards a cell costs next to no
        time, and memory does not grow with the keys. Call it as often as is convenient, like
        ``settle``.

        Raises
        ------
        RoundError
            The round is not one of FunctionSharing.

        Notes
        -----
        O(N) a client. It pays if more than a few hundred cells are asked for, or memory is short.

        Examples
        --------
        >>> from dpcore.trust import Client, FunctionSharing, Protocol, Server, agree, opened
        >>> protocol = Protocol(FunctionSharing(epsilon=40.0), 16, bytes(16))
        >>> servers = [Server(protocol, place=0), Server(protocol, place=1)]
        >>> for server, report in zip(servers, Client(protocol).report(9)):
        ...     server.add(report)
        >>> agree(servers)
        1
        >>> for server in servers:
        ...     server.add_up()
        >>> opened([server.answer(range(16)) for server in servers]).counts
        array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1])
        """
        with self._turn():
            self._answering()
            self._add_up()

    def to_bytes(self) -> bytes:
        """Return the whole state of the server, to go on from it later (docs/guides/wire.md).

        Keep the bytes as secret as the reports.

        Examples
        --------
        >>> from dpcore.trust import Client, Local, Protocol, Server
        >>> protocol = Protocol(Local(epsilon=1.0, clients=1000), 4, bytes(16))
        >>> server = Server(protocol)
        >>> server.add(Client(protocol).report(2)[0])
        >>> saved = server.to_bytes()
        >>> Server.from_bytes(saved, protocol).accepted
        1
        """
        with self._turn():
            return storage.dump_tally(self._tally, self._protocol)

    @classmethod
    def from_bytes(
        cls, data: bytes, protocol: Protocol, enrolment: Enrolment | None = None
    ) -> Server:
        """Return a server that goes on where ``to_bytes`` was called.

        Raises
        ------
        DtypeError, ParameterError
            As for ``Server``; or ``data`` are not bytes.
        FormatError
            The data are damaged, or belong to another round or other parameters.

        Examples
        --------
        >>> from dpcore.trust import Client, Local, Protocol, Server
        >>> protocol = Protocol(Local(epsilon=1.0, clients=1000), 4, bytes(16))
        >>> server = Server(protocol)
        >>> server.add(Client(protocol).report(2)[0])
        >>> again = Server.from_bytes(server.to_bytes(), protocol)
        >>> again.add(Client(protocol).report(3)[0])
        >>> again.accepted
        2
        """
        tally = storage.load_tally(data, protocol)
        server = cls(protocol, enrolment, place=tally.place)
        server._tally = tally
        return server

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied, because two copies could give two sums away: see ``to_bytes``."""
        raise DtypeError(
            "server", type(self).__name__, "must not be copied or pickled: it gives one sum away"
        )

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Take a turn, and first finish a change that an interrupt has left undone."""
        with self._turns.take():
            self._tally = self._tally.finished()
            yield

    @property
    def _waiting(self) -> int:
        return sum(map(len, self._tally.waiting.values()))

    def _ended(self) -> bytes:
        """End the round, if it may end, and return the hash of its clients' ids."""
        tally, least = self._tally, self._protocol.least_reports
        settled = len(tally.settled)
        if settled < least:
            raise RoundError(
                f"{settled} reports are settled, but at least {least} are needed; "
                f"{self._waiting} wait to be settled"
            )
        self._protocol.round.check_answers(tally.answers(self._protocol.round))
        tally.close()
        return hashlib.sha256(b"".join(sorted(tally.settled))).digest()

    def _settled(self) -> frozenset[bytes]:
        with self._turn():
            return frozenset(self._tally.settled)

    def _add_up(self) -> None:
        """Add up what the server has kept for later, if anything."""
        of, tally = self._protocol.round, self._tally
        if isinstance(of, AnsweringRound):
            added = of.added_up(tally.totals(of), tally.memory)
            if added is not None:
                tally.replace_totals(*added, of)

    def _answering(self) -> AnsweringRound:
        of = self._protocol.round
        if not isinstance(of, AnsweringRound):
            raise RoundError(
                f"the round is not one of {names_of(Answering)}: its servers only close"
            )
        return of

    def _check_open(self) -> None:
        if self.is_closed:
            raise RoundError("the round is closed: its sum or its reports have been given away")
