"""A client, which makes reports of its records that servers may see."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ..._process import Owner
from ...errors import DtypeError, ParameterError
from ...noise.sources import Source, random_bytes, source
from ...summaries.grid import Grid, check_grid
from ...summaries.score_counts import score_counts
from .. import comparison
from ..models.local import Local
from . import wire
from .enrolment import Ticket
from .parameters import Protocol
from .wire import Report, ReportError, RoundError

__all__ = ["Client", "cell_of"]

_WORD: Final = 2**64
_NO_CELLS: Final = (bool, np.bool_, np.timedelta64)  # NumPy counts these as integers


class Client:
    """Makes the reports of one client, once.

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

    def report(self, cells: int | Sequence[int] | NDArray[np.integer[Any]]) -> list[bytes]:
        """Return the reports of the records, one for each server, in their order.

        Parameters
        ----------
        cells
            The cell of the record, 0 to size - 1, as ``cell_of`` returns it. If the protocol has a
            cell for empty records, the cells of any number of records. If these are more than
            count, some are chosen at random.

        Raises
        ------
        DtypeError, ParameterError
            The cells are not as above; or they are not exactly one, and the protocol has no cell
            for empty records.
        ReportError
            For "duplicate": this client has reported before, or is reporting in another thread.
        RoundError
            This is a copy that a fork has made. A client reports in the process that made it.

        Notes
        -----
        Additive protocols: all servers but the last get a seed of 32 bytes, and the last one gets
        8 bytes for each node. O(nodes), and as many bytes of AES for each seed. FunctionSharing
        with two servers: each gets a key (docs/function-sharing.md), O(log N). Local: O(N).

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
        self._check_here()
        if not self._unused.acquire(blocking=False):
            raise ReportError("duplicate", "is this client's second: send the first one again")
        stream = source(self._rng)
        contributed, empty = self._contributed(held, stream)
        payloads = self._payloads(contributed, empty, stream)
        protocol, ticket = self._protocol, self._ticket or self._own_ticket(stream)
        of_all = protocol.round_id, protocol.digest, ticket.report_id
        reports = [Report(kind, *of_all, payload, stream.simulated) for kind, payload in payloads]
        encoded = [wire.encode(wire.signed(report, ticket.key)) for report in reports]
        self._check_here()  # a signal handler may have forked, and the child may have reported
        return encoded

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

    def _checked(self, cells: int | Sequence[int] | NDArray[np.integer[Any]]) -> list[int]:
        """Return the counted cells of all records."""
        protocol = self._protocol
        given: Any = cells
        if isinstance(cells, np.ndarray):
            given = _check.array("cells", cells, "biufO", "must be integers").tolist()
        if isinstance(cells, str | bytes | bytearray | memoryview) or _is_table(cells):
            raise DtypeError("cells", type(cells).__name__, "must be one or several integers")
        held = list(given) if isinstance(given, Sequence) else [given]
        if protocol.empty is None and len(held) != 1:
            what = "must be one record: the protocol has no cell for empty records"
            raise ParameterError("cells", len(held), what)
        for cell in held:  # messages must not quote records
            if isinstance(cell, _NO_CELLS) or not isinstance(cell, Integral):
                raise DtypeError("cells", f"a {type(cell).__name__}", "must be integers")
            if not 0 <= int(cell) < protocol.size:
                raise ParameterError("cells", "another", f"must be 0 to {protocol.size - 1}")
        return [protocol.counted(int(cell)) for cell in held]

    def _contributed(self, held: list[int], stream: Source) -> tuple[list[int], int]:
        """Return the records that are reported, and the number of empty ones."""
        protocol, most = self._protocol, self._protocol.trust.records
        if protocol.records < most:  # reports one of the records that count
            drawn = _below(max(most, len(held)), stream)
            return ([held[drawn]], 0) if drawn < len(held) else ([], 1)
        chosen = held.copy()
        if len(held) > most:
            for place in range(most):  # the first records become a random choice
                drawn = place + _below(len(held) - place, stream)
                chosen[place], chosen[drawn] = chosen[drawn], chosen[place]
        return chosen[:most], max(0, most - len(held))

    def _payloads(self, cells: list[int], empty: int, stream: Source) -> list[tuple[int, bytes]]:
        """Return the kind and the content of the report to each server."""
        protocol = self._protocol
        cell = protocol.empty if empty else cells[0]
        assert cell is not None
        if wire.BITS in protocol.kinds:
            return [(wire.BITS, self._bits(cell, stream))]
        if wire.FUNCTION in protocol.kinds:
            keys = comparison.gen(np.array([cell]), protocol.bits, rng=self._rng)
            return [(wire.FUNCTION, each.packed.tobytes()) for each in keys]
        if protocol.shares_functions:
            steps = np.zeros(protocol.cells, np.int64)
            steps[cell:] = 1
            return self._shares(steps, stream)
        return self._shares(self._counts(cells, empty, stream), stream)

    def _counts(self, cells: list[int], empty: int, stream: Source) -> NDArray[np.int64]:
        """Return the counts of records on all levels, with the client's share of the noise."""
        protocol = self._protocol
        counts, times = np.zeros(protocol.words, np.int64), Counter(cells)
        if empty:
            assert protocol.empty is not None
            times[protocol.empty] += empty
        if not protocol.noise:
            for cell, number in times.items():
                counts[cell] += number
            return counts
        for level, share in enumerate(protocol.noise):
            start, stop = protocol.starts[level], protocol.starts[level + 1]
            if share is not None:
                share.fill(counts[start:stop], stream)
            elif level > 0:
                continue  # an uncounted level has no noise, so it must not be sent
            for cell, number in times.items():
                counts[start + protocol.node(cell, level)] += number
        return counts

    def _shares(self, counts: NDArray[np.int64], stream: Source) -> list[tuple[int, bytes]]:
        """Split numbers into shares that add up to them modulo 2^64."""
        rest = counts.view(np.uint64)
        payloads = []
        for _ in range(self._protocol.receivers - 1):
            seed = random_bytes(wire.SEED_BYTES, stream)
            rest = rest - wire.expanded(seed, rest.size)
            payloads.append((wire.SEED, seed))
        return [*payloads, (wire.ADDITIVE, rest.astype("<u8").tobytes())]

    def _bits(self, cell: int, stream: Source) -> bytes:
        """Return a level, which is not secret, and the perturbed bits of its nodes."""
        protocol = self._protocol
        assert isinstance(protocol.trust, Local)
        shares = np.cumsum(protocol.asked)
        drawn = _below(int(shares[-1]), stream)
        level = 1 + int(np.searchsorted(shares, drawn, side="right"))
        size = protocol.level_size(level)
        node = np.array([protocol.node(cell, level)])
        words = protocol.trust.encoding.perturb(node, size, rng=self._rng, workers=1)
        packed: bytes = words[0].astype("<u8").tobytes()
        length = protocol.payload_bytes(wire.BITS, level) - 1
        return bytes([level]) + packed[:length]


def cell_of(score: Any, grid: Grid, label: bool | None = None) -> int:
    """Return the cell in which ``Grid.count`` or ``dpcore.score_counts`` counts one record.

    Parameters
    ----------
    score
        One real number.
    grid
        N public thresholds.
    label
        None for a value, which is in one of N cells. For a scored record, whether it is positive;
        it is in one of 2 N cells.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is not as above.

    Notes
    -----
    O(N), because the functions named above count one record.

    Examples
    --------
    >>> import dpcore as dp
    >>> grid = dp.Grid.uniform(0, 1, 4)
    >>> dp.trust.cell_of(0.3, grid), dp.trust.cell_of(0.3, grid, True)
    (1, 6)
    """
    check_grid("grid", grid)
    grid._refuse_times("grid")
    if label is None:
        return int(np.argmax(grid.count([score])))
    if not isinstance(label, bool | np.bool_):
        raise DtypeError("label", type(label).__name__, "must be a bool")
    return int(np.argmax(score_counts([bool(label)], [score], grid)))


def _is_table(cells: object) -> bool:
    return isinstance(cells, np.ndarray) and cells.ndim > 1


def _below(bound: int, stream: Source) -> int:
    """Return an exactly uniform integer of at least 0 and below ``bound``."""
    while True:  # continues with a probability below bound / 2^64
        word = int.from_bytes(random_bytes(8, stream), "little")
        if word < _WORD - _WORD % bound:
            return word % bound
