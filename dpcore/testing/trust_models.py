"""Checks that every trust model passes, for those who write one (docs/guides/extending.md).

The checks are about what clients and servers rely on. They are no proof of privacy, and no audit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._check import integer
from ..errors import DtypeError
from ..summaries.grid import MOST_CELLS
from ..trust import (
    Client,
    PartialSum,
    Protocol,
    ReportError,
    Server,
    TrustModel,
    agree,
    release,
    release_sum,
)
from ..trust.functions import Groups, Identity, One, Product, Step, Together
from ..trust.protocol.rounds import MOST_CLIENTS
from ..trust.protocol.trust_models import Summing, names_of

__all__ = ["check_trust_model"]

_ROUND = bytes(16)
_OF_EACH_CELL = 10  # fewer random reports of one record may be equal by chance
_TOLERANCE = 8.0  # in standard deviations


def check_trust_model(trust: TrustModel, size: int = 8, clients: int = 200) -> None:
    """Check a whole round of a trust model: reports, files, refusals, sums and the release.

    A trust model that sums declared functions is checked with one of these, too.

    Parameters
    ----------
    trust
        The trust model.
    size, clients
        The number of cells, 2 or more, and of clients that report: at least 10 for each cell, and
        as many as the trust model needs.

    Raises
    ------
    AssertionError
        A check fails; the message says which.
    DtypeError, ParameterError, ReportError, RoundError
        The argument is no trust model, or refuses these sizes or honest reports.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.testing import check_trust_model
    >>> check_trust_model(dp.trust.DistributedNoise(epsilon=1.0, clients=200))
    >>> class Loud(dp.trust.Local):
    ...     def estimated_deviation(self, released):
    ...         return 0.01 * super().estimated_deviation(released)
    >>> try:
    ...     check_trust_model(Loud(epsilon=1.0, clients=200))
    ... except AssertionError as error:
    ...     print(str(error)[:28], 8)
    an error is more than 8 time 8
    """
    if not isinstance(trust, TrustModel):
        raise DtypeError("trust", type(trust).__name__, f"must be a {names_of(TrustModel)}")
    size = integer("size", size, 2, MOST_CELLS)
    clients = integer("clients", clients, _OF_EACH_CELL * size, MOST_CLIENTS)
    several = trust.round(size).most_records not in (None, 1)
    protocol = Protocol(trust, size, _ROUND, empty=size if several else None)
    cells = np.arange(clients) % (size - 1)  # none is in the last cell
    sums = _sums_of_a_round(protocol, cells)
    curve = release(sums, isotonic=False)
    relation = "replace-client" if several else trust.privacy.neighbours
    stated = replace(trust.privacy, neighbours=relation)
    _holds(curve.privacy == stated, "a round has another guarantee")
    exact = np.cumsum(np.bincount(cells, minlength=size))
    errors = np.abs(curve.counts - exact * curve.n / clients)
    with np.errstate(invalid="ignore"):
        most = curve.noise_deviation * _TOLERANCE + 1e-6
    if not several:  # a client's empty records change what is released
        _holds((errors <= most).all(), f"an error is more than {_TOLERANCE:g} times its deviation")
    if isinstance(trust, Summing) and not several:
        _check_sum(trust, cells / size)


def _check_sum(trust: Summing, records: NDArray[np.float64]) -> None:
    """Check a whole round about a declared function."""
    function = Together([Identity(0, 1), Step(0.5), Product(Groups([0.0, 0.5, 1.0]), One())])
    protocol = Protocol.of_function(trust, function, _ROUND)
    given = records[:, np.newaxis] if protocol.records is None else records
    released = release_sum(_sums_of_a_round(protocol, given))
    _holds(released.privacy == trust.privacy, "a sum has another guarantee")
    errors = np.abs(released.total - function.values(records[:, np.newaxis]).sum(axis=0))
    most = released.deviation * _TOLERANCE + 1e-6
    _holds((errors <= most).all(), f"a sum is off by more than {_TOLERANCE:g} times its deviation")


def _sums_of_a_round(protocol: Protocol, records: NDArray[Any]) -> list[PartialSum]:
    """Return the sums of servers that have been saved, read again and merged, after checks."""
    rows = [Client(protocol).report(record) for record in records]
    servers = _servers(protocol)
    clients = len(records)
    half = clients // 2
    _check_reports(protocol, servers, rows)
    _send(servers, rows[:half])
    resumed = [Server.from_bytes(server.to_bytes(), protocol) for server in servers]
    for server, again in zip(servers, resumed, strict=True):
        _holds(again.to_bytes() == server.to_bytes(), "a server that is read again is another one")
    agree(resumed)
    others = _servers(protocol)
    _send(others, rows[half:])
    for server, other in zip(resumed, others, strict=True):
        server.merge(other)
    _holds(agree(resumed) == clients, "reports are lost when servers are merged")
    saved = [server.to_bytes() for server in resumed]
    sums = [server.close() for server in resumed]
    for part, file in zip(sums, saved, strict=True):
        data, same = part.to_bytes(), Server.from_bytes(file, protocol).close().to_bytes()
        _holds(data == same, "a server that is read again gives another sum away")
        read = PartialSum.from_bytes(data, protocol)
        _holds(read.to_bytes() == data, "a sum that is read again is another one")
    return sums


def _servers(protocol: Protocol) -> list[Server]:
    placed = protocol.round.servers_draw and protocol.receivers > 1
    return [Server(protocol, place=at if placed else None) for at in range(protocol.receivers)]


def _send(servers: Sequence[Server], rows: Sequence[Sequence[bytes]]) -> None:
    for row in rows:
        for server, report in zip(servers, row, strict=True):
            server.add(report)


def _check_reports(
    protocol: Protocol, servers: Sequence[Server], rows: Sequence[Sequence[bytes]]
) -> None:
    """Check the reports of one client, and that none that is cut short is taken."""
    own, payloads = protocol.round, rows[0]
    _holds(len(payloads) == own.receivers, f"a client makes {len(payloads)} reports")
    _holds({own.kind(place) for place in range(own.receivers)} <= set(own.kinds), "kinds differ")
    every = 1 if protocol.function else protocol.size - 1
    different = {tuple(report[92:] for report in row) for row in rows[::every]}
    exact = own.servers_draw and own.receivers == 1  # the server sees all records
    _holds(exact or len(different) > 1, "all clients with one record send the same")
    for kind in own.kinds:
        for wrong in (b"", bytes(own.payload_bytes(kind, 1) + 1)):
            try:
                own.check(kind, wrong)
            except ReportError:
                continue
            raise AssertionError(f"a payload of {len(wrong)} bytes is taken")
    _holds(all(server.accepted == 0 for server in servers), "a new server has reports")


def _holds(condition: object, otherwise: str) -> None:
    """Raise an AssertionError, which ``assert`` does not under ``python -O``."""
    if not condition:
        raise AssertionError(otherwise)
