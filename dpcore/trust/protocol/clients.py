"""A client, which makes reports of its records that servers may see."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _check
from ..._process import Owner
from ...errors import DtypeError, ParameterError
from ...noise.sources import Source, below, random_bytes, source
from ...records.column import Column
from ..functions.function import Function
from . import wire
from .enrolment import Ticket
from .parameters import Protocol
from .possible import with_vectors
from .rounds import FunctionRound
from .wire import Report, ReportError, RoundError

__all__ = ["Client"]

_NO_CELLS: Final = (bool, np.bool_, np.timedelta64)  # NumPy counts these as integers


class Client:
    """Makes the reports of one client, or its vector for a secure aggregation, once.

    Parameters
    ----------
    protocol
        The public parameters of the round.
    rng
        None for random numbers from the operating system. A generator is for studies: it marks the
        report, and any release of it, as simulated.
    ticket
        The ticket of this client for this round, ``Enrolment.ticket``, if the protocol has
        ``enrolled``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above; or the protocol needs a ticket and it is missing; or the
        protocol has no tickets and one is given.

    Notes
    -----
    Send the reports of a client to different servers, over channels that nobody else can read.
    In an additive protocol, somebody who sees all of them sees the record. If a message is lost,
    send the *same bytes* again. A second, fresh report would spend the budget twice. So a client
    reports only once: not a second time from another thread, and not from the copy that a child
    process has after a fork.

    Examples
    --------
    >>> from dpcore.trust import Client, Protocol, SecureAggregation
    >>> protocol = Protocol(SecureAggregation(), 4, bytes(16))
    >>> client = Client(protocol)
    >>> [len(report) for report in client.report(2)]  # the bytes for each server
    [124, 124]
    """

    __slots__ = ("_owner", "_protocol", "_rng", "_ticket", "_unused")

    def __init__(
        self,
        protocol: Protocol,
        rng: np.random.Generator | None = None,
        ticket: Ticket | None = None,
    ) -> None:
        if not isinstance(protocol, Protocol):
            raise DtypeError("protocol", type(protocol).__name__, "must be a Protocol")
        source(rng)  # refuses anything but a generator or None
        if ticket is not None and not isinstance(ticket, Ticket):
            raise DtypeError("ticket", type(ticket).__name__, "must be a Ticket")
        if protocol.enrolled != (ticket is not None):
            what = "must be given" if protocol.enrolled else "must be left out"
            raise ParameterError("ticket", ticket, f"{what}: the protocol decides this")
        self._protocol = protocol
        self._ticket = ticket
        self._rng = rng
        self._owner = Owner()
        self._unused = threading.Lock()  # the first to report takes the lock and never releases it

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied: a copy would report a second time."""
        raise DtypeError(
            "client", type(self).__name__, "must not be copied or pickled: it reports only once"
        )

    def report(self, cells: ArrayLike) -> list[bytes]:
        """Return the reports of the records, one for each server, in their order.

        Parameters
        ----------
        cells
            If the protocol is about a function, the record: a number, or the (a,) numbers that the
            function takes; without a contribution bound, any number of records, (n,) or (n, a).
            Otherwise:
            The cell of the record, 0 to size - 1, as ``cell_of`` returns it. If the protocol has a
            cell for empty records, the cells of any number of records. If these are more than
            count, some are chosen at random. If the trust model has no contribution bound
            (``records=None``), the cells of any number of records, which all count.

        Raises
        ------
        DtypeError, ParameterError
            The cells are not as above; or they are not exactly one, and the protocol asks for one.
        ReportError
            For "duplicate": this client has reported before, or is reporting in another thread.
        RoundError
            This is a copy that a fork has made. A client reports in the process that made it.

        Notes
        -----
        Additive protocols: all servers but the last get a seed of 32 bytes, and the last one gets
        8 bytes for each node. O(nodes), as many bytes of AES for each seed, and O(log N) for each
        record. FunctionSharing with two servers: each gets a key (docs/proofs/function-sharing.md),
        O(log N). Local: O(N). Central and SquareWave: 8 bytes for a record.

        Examples
        --------
        >>> from dpcore.trust import Client, FunctionSharing, Protocol, SecureAggregation
        >>> for trust in (SecureAggregation(), FunctionSharing(epsilon=1.0)):
        ...     protocol = Protocol(trust, 1024, bytes(16))
        ...     print([len(report) for report in Client(protocol).report(99)])
        [124, 8284]
        [348, 348]
        """
        held = self._checked(cells)
        stream = self._begun()
        own, contributed = self._protocol.round, self._entries(held, stream)
        payloads = own.report(*contributed, stream)
        protocol, ticket = self._protocol, self._ticket or self._own_ticket(stream)
        of_all = protocol.round_id, protocol.digest, ticket.report_id
        encoded = [
            wire.encode(Report(own.kind(place), *of_all, payload, stream.simulated), ticket.key)
            for place, payload in enumerate(payloads)
        ]
        self._check_here()  # a signal handler may have forked, and the child may have reported
        return encoded

    def vector(self, cells: ArrayLike) -> NDArray[np.int64]:
        """Return the client's counts on all nodes, with its share of the noise, in one vector.

        This is for a secure aggregation that somebody else runs, as that of a framework for
        federated learning (docs/guides/flower.md). Give the vector to its client, and to nobody
        else: it shows the records. Afterwards ``VectorSum`` takes the sum of all vectors.

        Parameters
        ----------
        cells
            As in ``report``.

        Returns
        -------
        numpy.ndarray
            (nodes,) int64, ``Protocol.words`` numbers: root first, level by level. For
            SecureAggregation, the counts of the cells, without noise. For a function, the number of
            records, and sums of values in steps, with noise. A client with the same
            generator and records shares this vector among the servers of ``report``.

        Raises
        ------
        DtypeError, ParameterError, ReportError, RoundError
            As in ``report``; and ParameterError if clients have no vectors under this trust
            model, or if clients are enrolled: a vector has no ticket. A client has one vector or
            one report.

        Notes
        -----
        O(nodes + n log N) for n records.

        Examples
        --------
        >>> from dpcore.trust import Client, Protocol, SecureAggregation
        >>> Client(Protocol(SecureAggregation(), 4, bytes(16))).vector(2)
        array([0, 0, 1, 0])
        """
        own = with_vectors("protocol", self._protocol)
        held = self._checked(cells)
        stream = self._begun()
        counts = own.vector(*self._entries(held, stream), stream)
        self._check_here()  # as in ``report``
        return counts

    def _begun(self) -> Source:
        """Return the source of the first and only report."""
        self._check_here()
        if not self._unused.acquire(blocking=False):
            raise ReportError("duplicate", "is this client's second: send the first one again")
        return source(self._rng)

    def _check_here(self) -> None:
        """Check that this is not a copy that a fork has made."""
        if not self._owner.is_here:
            raise RoundError(
                f"the client belongs to process {self._owner.process}: a copy of it made by a fork "
                "would report a second time"
            )

    def _own_ticket(self, stream: Source) -> Ticket:
        """Return a ticket for a round in which everybody may report."""
        identity, round_id = random_bytes(wire.ID_BYTES, stream), self._protocol.round_id
        return Ticket(identity, wire.client_key(wire.OPEN, round_id, identity))

    def _entries(
        self, held: NDArray[Any], stream: Source
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which words a client reports something in, and how much."""
        if self._protocol.function is None:
            return self._contributed(held, stream)
        of = self._protocol.round
        assert isinstance(of, FunctionRound)
        return of.entries(held, stream)

    def _checked(self, cells: ArrayLike) -> NDArray[Any]:
        """Return the counted cells of all records, or the records that a function takes."""
        protocol = self._protocol
        if protocol.function is not None:
            return _records(cells, protocol.function, protocol.records)
        held = _integers(cells)
        if protocol.records is not None and protocol.empty is None and held.size != 1:
            what = "must be one record: the protocol has no cell for empty records"
            raise ParameterError("cells", held.size, what)
        if held.size and not 0 <= held.min() <= held.max() < protocol.size:
            # Messages must not quote records.
            raise ParameterError("cells", "another", f"must be 0 to {protocol.size - 1}")
        return protocol.counted(held.astype(np.int64))

    def _contributed(
        self, held: NDArray[np.int64], stream: Source
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the cells that are reported, the empty one at last, and the records in each."""
        protocol, most = self._protocol, self._protocol.round.most_records
        chosen, empty = held, 0
        if most is not None and protocol.records is not None:
            if protocol.records < most:  # reports one of the records that count
                drawn = below(max(most, held.size), stream)
                chosen, empty = held[drawn : drawn + 1], int(drawn >= held.size)
            else:  # ``held`` is a copy of what was given, which may be reordered
                if held.size > most:
                    for place in range(most):  # the first records become a random choice
                        drawn = place + below(held.size - place, stream)
                        held[place], held[drawn] = held[drawn], held[place]
                chosen, empty = held[:most], max(0, most - held.size)
        numbers = np.ones(chosen.size, np.int64)
        if not empty:
            return chosen, numbers
        assert protocol.empty is not None
        return np.append(chosen, protocol.empty), np.append(numbers, empty)


def _records(given: ArrayLike, function: Function, records: int | None) -> NDArray[np.float64]:
    """Return the records of a client, (n, a), for a function."""
    if records is None:
        return function.records(given)
    one = Column.of(given, "record").numbers("must be numbers").reshape(-1)
    if one.size != function.numbers:
        what = f"must be one record, of {function.numbers} numbers"
        raise ParameterError("record", f"{one.size} numbers", what)
    return function.records(one[np.newaxis], "record")


def _integers(cells: object) -> NDArray[Any]:
    """Return one or several integers as an array of integers or objects, checked for their type."""
    if type(cells) is int:  # as most clients have it
        return np.array([cells])
    given: Any = cells
    if isinstance(cells, np.ndarray):
        array = _check.array("cells", cells, "biufO", "must be integers")
        if array.ndim <= 1 and array.dtype.kind in "iu":
            return array.reshape(-1)
        given = array.tolist()
    is_table = isinstance(cells, np.ndarray) and cells.ndim > 1
    if is_table or isinstance(cells, str | bytes | bytearray | memoryview):
        raise DtypeError("cells", type(cells).__name__, "must be one or several integers")
    is_list = isinstance(given, Sequence)
    held = _check.items("cells", given, "must be integers") if is_list else [given]
    for cell in held:  # messages must not quote records
        if isinstance(cell, _NO_CELLS) or not isinstance(cell, Integral):
            raise DtypeError("cells", f"a {type(cell).__name__}", "must be integers")
    return np.array(held, dtype=object)
