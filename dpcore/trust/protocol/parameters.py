"""The parameters about which clients and servers agree before a round begins."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ..._sealed import sealed
from ...errors import DtypeError, ParameterError
from ...mechanisms.base import Mechanism
from ...summaries.grid import MOST_CELLS
from ..functions.function import Function
from ..functions.sum_noise import Shares
from . import wire
from .rounds import MOST_CLIENTS, MOST_SERVERS, AnsweringRound, Round
from .trust_models import Summing, TrustModel, names_of
from .wire import Report, ReportError

__all__ = ["Protocol"]

_Cells = TypeVar("_Cells", int, NDArray[np.int64])


@sealed
@dataclass(frozen=True, slots=True)
class Protocol:
    """The public parameters of one round, the same for all clients and servers.

    A client holds records, each in one of ``size`` cells; ``trust.records`` of them count, or all
    of them if that is None.

    Parameters
    ----------
    trust
        The trust model, of dpcore or your own. Nobody knows beforehand who will report, so
        ``reporting`` of DistributedNoise is ignored.
    size
        N, the number of cells, 2 to 2^24, or below 2^24 with ``empty``. For scored labels it is
        twice the number of thresholds. For a function, the number of its values.
    round_id
        16 bytes that no other round has, ``secrets.token_bytes(16)``.
    servers
        For DistributedNoise: the number of servers, 2 to 256; None: 2. SecureAggregation and
        FunctionSharing contain the number themselves, and the others have one server.
    empty
        The place of a further cell, for empty records: it is put before this cell. Give ``size``
        for values, or half of it for scored labels, where the classes meet. None: every client has
        one record. It must be given if more than one record of a client counts, and left out if
        there is no contribution bound.
    enrolled
        Whether servers take reports only from clients with a ticket: see ``Enrolment``. Otherwise
        anybody may report any number of times, unless the transport prevents it.
    function
        A declared function (``trust.functions``) whose values are summed: see ``of_function``.
        None: records are counted in cells.

    Attributes
    ----------
    round
        What clients and servers do, as the trust model says.
    digest
        16 bytes, a hash of ``parameters()``. Servers refuse a report with another digest.
    cells
        The number of counted cells, N or N + 1; of a function, one more than it has values.
    records
        The number of records in a report; None: any number.
    receivers
        The number of servers, and of reports that a client makes.
    branching, starts
        The tree that is counted, as in ``kernels.trees.hierarchy``. For SecureAggregation it has
        one level.
    noise
        For DistributedNoise, a client's noise on a node of each level, root first; for
        FunctionSharing, a server's noise. None: no noise.
    asked
        For Local: how many of all clients are to report each level below the root.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the trust model cannot have this size.

    Examples
    --------
    >>> from dpcore.trust import DistributedNoise
    >>> protocol = Protocol(DistributedNoise(1.0, clients=1000), 256, bytes(16))
    >>> protocol.receivers, len(protocol.digest)
    (2, 16)
    """

    trust: TrustModel
    size: int
    round_id: bytes
    servers: int | None = None
    empty: int | None = None
    enrolled: bool = False
    function: Function | None = None
    round: Round = field(init=False, repr=False, compare=False)
    cells: int = field(init=False, repr=False)
    records: int | None = field(init=False, repr=False)
    digest: bytes = field(init=False, repr=False)
    receivers: int = field(init=False, repr=False)
    branching: tuple[int, ...] = field(init=False, repr=False)
    starts: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    noise: tuple[Shares | None, ...] = field(init=False, repr=False)
    asked: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.trust, TrustModel):
            raise DtypeError(
                "trust", type(self.trust).__name__, f"must be a {names_of(TrustModel)}"
            )
        if not isinstance(self.round_id, bytes):
            raise DtypeError("round_id", type(self.round_id).__name__, "must be bytes")
        if len(self.round_id) != wire.ID_BYTES:
            raise ParameterError("round_id", len(self.round_id), f"must be {wire.ID_BYTES} bytes")
        if not isinstance(self.enrolled, bool):
            raise DtypeError("enrolled", type(self.enrolled).__name__, "must be a bool")
        servers = self.servers
        if servers is not None:
            servers = _check.integer("servers", servers, 1, MOST_SERVERS)
        of, size, empty = (
            self._about_cells(servers)
            if self.function is None
            else self._about(self.function, servers)
        )
        if not isinstance(of, Round):
            raise DtypeError("trust", type(self.trust).__name__, "must have a round, a Round")
        if servers not in (None, of.receivers):
            raise ParameterError("servers", servers, f"must be {of.receivers}")
        if empty is not None and of.most_records is None:
            what = "must be left out: without a contribution bound, nobody fills up"
            raise ParameterError("empty", empty, what)
        if empty is not None and self.trust.one_row_only:
            what = "must be left out: a cell for empty records is no neighbour of other cells"
            raise ParameterError("empty", empty, what)
        if empty is None and of.most_records is not None and of.most_records > 1:
            raise ParameterError("empty", None, "must be given if clients have several records")
        asked_of_round = ("trust", "records", "receivers", "branching", "starts", "noise", "asked")
        for name, value in {
            "size": size,
            "empty": empty,
            "cells": of.cells,
            "round": of,
            **{name: getattr(of, name) for name in asked_of_round},
        }.items():
            object.__setattr__(self, name, value)
        digest = hashlib.sha256(self.parameters()).digest()[: wire.ID_BYTES]
        object.__setattr__(self, "digest", digest)

    @classmethod
    def of_function(
        cls,
        trust: TrustModel,
        function: Function,
        round_id: bytes,
        servers: int | None = None,
        *,
        enrolled: bool = False,
    ) -> Self:
        """Return the parameters of a round that sums the values of a function.

        Parameters
        ----------
        trust
            Central, SecureAggregation or DistributedNoise, for clients with one record each; or
            DistributedNoise with ``records=None``, for clients with any number of them.
        function
            The declared function.
        round_id, servers, enrolled
            As in ``Protocol``.

        Raises
        ------
        DtypeError, ParameterError
            As from ``Protocol``.

        Examples
        --------
        >>> import dpcore as dp
        >>> from dpcore.trust import Client, Protocol, SecureAggregation, Server
        >>> age = dp.trust.functions.Identity(0, 100)
        >>> protocol = Protocol.of_function(SecureAggregation(), age, bytes(16))
        >>> servers = [Server(protocol), Server(protocol)]
        >>> for record in [21, 34, 55]:
        ...     for server, report in zip(servers, Client(protocol).report(record)):
        ...         server.add(report)
        >>> dp.trust.agree(servers)
        3
        >>> dp.trust.release_sum([server.close() for server in servers]).total.round(3)
        array([110.])
        """
        if not isinstance(function, Function):
            what = "must be a declared function, such as trust.functions.Identity"
            raise DtypeError("function", type(function).__name__, what)
        return cls(trust, function.size, round_id, servers, enrolled=enrolled, function=function)

    def _about(self, function: object, servers: int | None) -> tuple[Round, int, None]:
        """Return what clients and servers do to sum a declared function."""
        if not isinstance(function, Function):
            raise DtypeError("function", type(function).__name__, "must be a declared function")
        if not isinstance(self.trust, Summing):
            what = f"must be {names_of(Summing)}, to sum a function"
            raise DtypeError("trust", type(self.trust).__name__, what)
        if self.empty is not None:
            raise ParameterError("empty", self.empty, "must be left out: a function has no cells")
        if self.size != function.size:
            raise ParameterError("size", self.size, f"must be {function.size}, as of the function")
        return self.trust.sum_round(function, servers), function.size, None

    def _about_cells(self, servers: int | None) -> tuple[Round, int, int | None]:
        """Return what they do to count records, the number of cells, and the place of empty ones.

        The cell of empty records is one more.
        """
        size = _check.integer("size", self.size, 2, MOST_CELLS)
        empty, cells = self.empty, size
        if empty is not None:
            _check.integer("size", size, 2, MOST_CELLS - 1)
            empty, cells = _check.integer("empty", empty, 1, size), size + 1
            if empty != size and 2 * empty != size:
                raise ParameterError("empty", empty, f"must be {size} or half of it")
        return self.trust.round(cells, servers), size, empty

    def parameters(self) -> bytes:
        """Return all parameters on which reports depend, as JSON with sorted keys, in ASCII.

        Examples
        --------
        >>> import json
        >>> from dpcore.trust import Protocol, SecureAggregation
        >>> public = json.loads(Protocol(SecureAggregation(), 4, bytes(16)).parameters())
        >>> public["trust"], public["size"]
        ({'name': 'secure-aggregation', 'records': 1, 'servers': 2}, 4)
        """
        content: dict[str, Any] = {
            "wire": wire.VERSION,
            "trust": self.trust.describe(),
            "epsilon": self.round.exact,
            "size": self.size,
            "empty": self.empty,
            "enrolled": self.enrolled,
            "servers": self.receivers,
            "branching": self.branching,
            "noise": [share and share.described for share in self.noise],
            "asked": self.asked,
        }
        if self.round.ones:
            content["ones"] = self.round.ones
        if self.function is not None:
            content["function"] = self.function.describe()
        return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")

    @property
    def key(self) -> tuple[bytes, bytes]:
        """Round id and digest, which are the same in all reports and sums of a round."""
        return self.round_id, self.digest

    @property
    def is_additive(self) -> bool:
        """Whether reports are shares, which are random numbers except for their sum."""
        return self.receivers > 1

    @property
    def shares_functions(self) -> bool:
        """Whether clients share step functions, which servers evaluate where they are asked."""
        return isinstance(self.round, AnsweringRound)

    @property
    def kinds(self) -> tuple[int, ...]:
        """The kinds of reports in this round."""
        return self.round.kinds

    @property
    def words(self) -> int:
        """How many numbers a sum has: one for each node of the tree, or for each cell."""
        return self.round.words

    @property
    def shared_words(self) -> int:
        """How many numbers a client shares: ``words``, or the values of its step function."""
        return self.round.shared_words

    @property
    def bits(self) -> int:
        """L, the least number with 2^L >= cells: keys of comparison functions have L bits."""
        return max(1, (self.cells - 1).bit_length())

    @property
    def most_reports(self) -> int | None:
        """The most reports that a server takes, one of each client asked; None: any number."""
        return self.round.most_reports

    @property
    def least_reports(self) -> int:
        """The fewest reports for which a server gives a sum away.

        For Local it is the number of levels, because it has no tree for fewer clients.
        """
        return self.round.least_reports

    def mechanism(self, reports: int) -> Mechanism:
        """Return the trust model for as many clients as have reported.

        It is the mechanism of what ``release`` and ``release_scores`` return, for functions that
        take it: ``ROC.from_curves`` then has shorter intervals.

        Raises
        ------
        DtypeError, ParameterError
            ``reports`` is not an integer, or fewer or more than the trust model allows.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise, Protocol
        >>> protocol = Protocol(DistributedNoise(1.0, clients=1000, dropout=0.2), 250, bytes(16))
        >>> protocol.mechanism(900).reporting
        900
        """
        most = self.most_reports or MOST_CLIENTS
        reports = _check.integer("reports", reports, self.least_reports, most)
        return self.round.mechanism(reports)

    def level_size(self, level: int) -> int:
        """Return the number of nodes of a level; the root is level 0.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise, Protocol
        >>> protocol = Protocol(DistributedNoise(1.0, clients=1000, branching=16), 250, bytes(16))
        >>> [protocol.level_size(level) for level in range(3)]
        [1, 16, 250]
        """
        return self.round.level_size(level)

    def node(self, cell: _Cells, level: int) -> _Cells:
        """Return the node of a level that contains a cell, or the nodes of an array of cells.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise, Protocol
        >>> protocol = Protocol(DistributedNoise(1.0, clients=1000, branching=16), 256, bytes(16))
        >>> [protocol.node(100, level) for level in range(3)]
        [0, 6, 100]
        """
        return self.round.node(cell, level)

    def counted(self, cell: _Cells) -> _Cells:
        """Return the place of one of the N cells among the counted cells, or of an array of them.

        Examples
        --------
        >>> from dpcore.trust import Protocol, SecureAggregation
        >>> protocol = Protocol(SecureAggregation(records=2), 8, bytes(16), empty=4)
        >>> protocol.counted(3), protocol.counted(4)  # between them, 4 is for empty records
        (3, 5)
        """
        return cell if self.empty is None else cell + (cell >= self.empty)

    def payload_bytes(self, kind: int, level: int = 0) -> int:
        """Return the length of a report's payload; the level is for packed bits.

        Examples
        --------
        >>> from dpcore.trust import Protocol, SecureAggregation
        >>> protocol = Protocol(SecureAggregation(), 256, bytes(16))
        >>> [protocol.payload_bytes(kind) for kind in protocol.kinds]  # a seed, and a share
        [32, 2048]
        """
        return self.round.payload_bytes(kind, level)

    def is_for(self, report: Report, place: int) -> bool:
        """Say whether a report, which has been checked, is for the server at a place.

        Examples
        --------
        >>> from dpcore.trust import Client, Protocol, SecureAggregation
        >>> from dpcore.trust.protocol.wire import decode
        >>> protocol = Protocol(SecureAggregation(servers=3), 4, bytes(16))
        >>> for report in map(decode, Client(protocol).report(2)):
        ...     print(report.kind, [protocol.is_for(report, place) for place in range(3)])
        2 [True, True, False]
        2 [True, True, False]
        1 [False, False, True]
        """
        return self.round.is_for(report.kind, report.payload, place)

    def check(self, report: Report) -> None:
        """Check that a report is for this round, these parameters, and of the right length.

        Raises
        ------
        ReportError
            For "round", "parameters", "kind", "length" or "payload".

        Examples
        --------
        >>> from dpcore.trust import Client, Protocol, ReportError, SecureAggregation
        >>> from dpcore.trust.protocol.wire import decode
        >>> report = decode(Client(Protocol(SecureAggregation(), 4, bytes(16))).report(2)[0])
        >>> for size in (4, 8):
        ...     try:
        ...         Protocol(SecureAggregation(), size, bytes(16)).check(report)
        ...     except ReportError as error:
        ...         print(size, error.reason)
        8 parameters
        """
        if report.round_id != self.round_id:
            raise ReportError("round", "is for another round")
        if report.digest != self.digest:
            raise ReportError("parameters", "was made with other parameters")
        if report.kind not in self.kinds:
            raise ReportError("kind", f"is of kind {report.kind}, which this protocol does not use")
        self.round.check(report.kind, report.payload)
