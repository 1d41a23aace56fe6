"""The parameters about which clients and servers agree before a round begins."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ..._sealed import sealed
from ...errors import DpcoreError, DtypeError, ParameterError
from ...kernels.trees import hierarchy as kernels
from ...noise.polya import PolyaShares
from ...summaries.grid import MOST_CELLS
from .. import comparison
from ..models.central import SecureAggregation
from ..models.contribution import MOST_CLIENTS
from ..models.distributed import DistributedNoise
from ..models.function_sharing import FunctionSharing
from ..models.local import Local
from . import wire
from .wire import Report, ReportError

__all__ = ["Protocol"]

_MOST_SERVERS: Final = 2**8
_DEFAULT_SERVERS: Final = 2  # this is also the least number that hides anything
_KEYED_SERVERS: Final = 2  # a pair of keys shares a function between two servers

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
        SecureAggregation, DistributedNoise, FunctionSharing or Local. Nobody knows beforehand who
        will report, so ``reporting`` of DistributedNoise is ignored.
    size
        N, the number of cells, 2 to 2^24, or below 2^24 with ``empty``. For scored labels it is
        twice the number of thresholds.
    round_id
        16 bytes that no other round has, ``secrets.token_bytes(16)``.
    servers
        For DistributedNoise: the number of servers, 2 to 256; None: 2. SecureAggregation and
        FunctionSharing contain the number themselves, and Local has one server.
    empty
        The place of a further cell, for empty records: it is put before this cell. Give ``size``
        for values, or half of it for scored labels, where the classes meet. None: every client has
        one record. It must be given if more than one record of a client counts, and left out if
        there is no contribution bound.
    enrolled
        Whether servers take reports only from clients with a ticket: see ``Enrolment``. Otherwise
        anybody may report any number of times, unless the transport prevents it.

    Attributes
    ----------
    digest
        16 bytes, a hash of ``parameters()``. Servers refuse a report with another digest.
    cells
        The number of counted cells, N or N + 1.
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

    trust: SecureAggregation | DistributedNoise | FunctionSharing | Local
    size: int
    round_id: bytes
    servers: int | None = None
    empty: int | None = None
    enrolled: bool = False
    cells: int = field(init=False, repr=False)
    records: int | None = field(init=False, repr=False)
    digest: bytes = field(init=False, repr=False)
    receivers: int = field(init=False, repr=False)
    branching: tuple[int, ...] = field(init=False, repr=False)
    starts: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    noise: tuple[PolyaShares | None, ...] = field(init=False, repr=False)
    asked: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        trust = self.trust
        if not isinstance(trust, SecureAggregation | DistributedNoise | FunctionSharing | Local):
            raise DtypeError(
                "trust",
                type(trust).__name__,
                "must be a SecureAggregation, DistributedNoise, FunctionSharing or Local",
            )
        size = _check.integer("size", self.size, 2, MOST_CELLS)
        if not isinstance(self.round_id, bytes):
            raise DtypeError("round_id", type(self.round_id).__name__, "must be bytes")
        if len(self.round_id) != wire.ID_BYTES:
            raise ParameterError("round_id", len(self.round_id), f"must be {wire.ID_BYTES} bytes")
        if not isinstance(self.enrolled, bool):
            raise DtypeError("enrolled", type(self.enrolled).__name__, "must be a bool")
        empty, cells = self.empty, size
        if empty is not None and trust.records is None:
            what = "must be left out: without a contribution bound, nobody fills up"
            raise ParameterError("empty", empty, what)
        if empty is not None:
            _check.integer("size", size, 2, MOST_CELLS - 1)
            empty, cells = _check.integer("empty", empty, 1, size), size + 1
            if empty != size and 2 * empty != size:
                raise ParameterError("empty", empty, f"must be {size} or half of it")
        elif trust.records is not None and trust.records > 1:
            raise ParameterError("empty", None, "must be given if clients have several records")
        branching: tuple[int, ...] = ()
        starts = np.array([0, cells])
        noise: tuple[PolyaShares | None, ...] = ()
        asked: tuple[int, ...] = ()
        receivers = most = 1
        if isinstance(trust, DistributedNoise):
            trust = replace(trust, reporting=None)
            tree = trust.tree(cells)
            branching, starts = tuple(tree.branching.tolist()), tree.starts
            noise = tuple(trust.shares(cells))
            receivers, most = _DEFAULT_SERVERS, _MOST_SERVERS
        elif isinstance(trust, Local):
            branching, levels = trust.levels(cells)
            starts = kernels.level_starts(cells, np.array(branching, np.int64))
            asked = tuple(levels.tolist())
        else:
            receivers = most = trust.servers
        if isinstance(trust, FunctionSharing):
            tree = trust.tree(cells)
            branching, starts = tuple(tree.branching.tolist()), tree.starts
            noise = tuple(trust.shares(cells))
        if self.servers is not None:
            receivers = _check.integer("servers", self.servers, receivers, most)
        for name, value in {
            "trust": trust,
            "size": size,
            "empty": empty,
            "cells": cells,
            "records": 1 if isinstance(trust, Local) else trust.records,
            "receivers": receivers,
            "branching": branching,
            "starts": starts,
            "noise": noise,
            "asked": asked,
        }.items():
            object.__setattr__(self, name, value)
        digest = hashlib.sha256(self.parameters()).digest()[: wire.ID_BYTES]
        object.__setattr__(self, "digest", digest)

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
        trust = self.trust
        content = {
            "wire": wire.VERSION,
            "trust": trust.describe(),
            "epsilon": None if isinstance(trust, SecureAggregation) else _exact(trust.epsilon),
            "size": self.size,
            "empty": self.empty,
            "enrolled": self.enrolled,
            "servers": self.receivers,
            "branching": self.branching,
            "noise": [share and [_exact(share.scale), share.shares] for share in self.noise],
            "asked": self.asked,
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")

    @property
    def key(self) -> tuple[bytes, bytes]:
        """Round id and digest, which are the same in all reports and sums of a round."""
        return self.round_id, self.digest

    @property
    def is_additive(self) -> bool:
        """Whether reports are shares, which are random numbers except for their sum."""
        return not isinstance(self.trust, Local)

    @property
    def shares_functions(self) -> bool:
        """Whether clients share step functions, which servers evaluate."""
        return isinstance(self.trust, FunctionSharing)

    @property
    def kinds(self) -> tuple[int, ...]:
        """The kinds of reports in this round."""
        if isinstance(self.trust, Local):
            return (wire.BITS,)
        if self.shares_functions and self.receivers == _KEYED_SERVERS:
            return (wire.FUNCTION,)
        return (wire.SEED, wire.ADDITIVE)

    @property
    def words(self) -> int:
        """How many numbers a sum has: one for each node of the tree, or for each cell."""
        return int(self.starts[-1])

    @property
    def shared_words(self) -> int:
        """How many numbers a client shares: ``words``, or the values of its step function."""
        return self.cells if self.shares_functions else self.words

    @property
    def bits(self) -> int:
        """L, the least number with 2^L >= cells: keys of comparison functions have L bits."""
        return max(1, (self.cells - 1).bit_length())

    @property
    def most_reports(self) -> int | None:
        """The most reports that a server takes, one of each client asked; None: any number."""
        return self.trust.clients if isinstance(self.trust, DistributedNoise) else None

    @property
    def least_reports(self) -> int:
        """The fewest reports for which a server gives a sum away.

        For Local it is the number of levels, because it has no tree for fewer clients.
        """
        required = self.trust.required if isinstance(self.trust, DistributedNoise) else 1
        return max(required, len(self.asked))

    def mechanism(
        self, reports: int
    ) -> SecureAggregation | DistributedNoise | FunctionSharing | Local:
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
        if isinstance(self.trust, DistributedNoise):
            return replace(self.trust, reporting=reports)
        if isinstance(self.trust, Local):
            return replace(self.trust, clients=reports, branching=self.branching)
        return self.trust

    def level_size(self, level: int) -> int:
        """Return the number of nodes of a level; the root is level 0.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise, Protocol
        >>> protocol = Protocol(DistributedNoise(1.0, clients=1000, branching=16), 250, bytes(16))
        >>> [protocol.level_size(level) for level in range(3)]
        [1, 16, 250]
        """
        return int(self.starts[level + 1] - self.starts[level])

    def node(self, cell: _Cells, level: int) -> _Cells:
        """Return the node of a level that contains a cell, or the nodes of an array of cells.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise, Protocol
        >>> protocol = Protocol(DistributedNoise(1.0, clients=1000, branching=16), 256, bytes(16))
        >>> [protocol.node(100, level) for level in range(3)]
        [0, 6, 100]
        """
        return cell // math.prod(self.branching[level:])

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
        if kind == wire.ADDITIVE:
            return 8 * self.shared_words
        if kind == wire.FUNCTION:
            return comparison.key_bytes(self.bits)
        if kind == wire.SEED:
            return wire.SEED_BYTES
        return 1 + -(-self.level_size(level) // 8)

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
        if report.kind == wire.FUNCTION:
            return _party(report) == place
        return (report.kind == wire.ADDITIVE) == (place == self.receivers - 1)

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
        level = 0
        if report.kind == wire.BITS:
            if not report.payload:
                raise ReportError("length", "has no payload")
            level = report.payload[0]
            if not 1 <= level <= len(self.branching):
                raise ReportError("payload", "is about a level that does not exist")
        expected = self.payload_bytes(report.kind, level)
        if len(report.payload) != expected:
            size = len(report.payload)
            raise ReportError("length", f"has a payload of {size} bytes instead of {expected}")
        if report.kind == wire.FUNCTION:
            try:
                comparison.Keys.from_packed(report.payload, self.bits, _party(report))
            except DpcoreError:  # the length and the party are right
                raise ReportError("payload", "has bits that mean nothing") from None
        used = self.level_size(level) % 8
        if report.kind == wire.BITS and used and report.payload[-1] >> used:
            raise ReportError("payload", "has bits behind the last node")


def _party(report: Report) -> Literal[0, 1]:
    """Return for which server this key is, by its first bit (docs/proofs/function-sharing.md)."""
    return 1 if report.payload[0] & 1 else 0


def _exact(number: float | Fraction) -> str:
    return str(Fraction(number))
