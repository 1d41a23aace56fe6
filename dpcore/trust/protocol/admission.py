"""Checks of the reports, ids and tallies that a server takes."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from ... import _check
from ...errors import DtypeError
from . import wire
from .parameters import Protocol
from .tally import Tally
from .wire import Report, ReportError, RoundError

__all__ = ["admitted", "check_disjoint", "checked_ids"]


def admitted(report: bytes, tally: Tally, protocol: Protocol, secret: bytes) -> Report:
    """Return a report that the server can take, or raise ReportError or DtypeError."""
    decoded, most = wire.decode(report), protocol.most_reports
    protocol.check(decoded)
    key = wire.client_key(secret, decoded.round_id, decoded.report_id)
    if not hmac.compare_digest(wire.tag_of(decoded, key), decoded.tag):
        raise ReportError("tag", "is not what the client with its id has sent")
    if decoded.report_id in tally:
        raise ReportError("duplicate", "is from a client that has already reported")
    if tally.place is not None and not protocol.is_for(decoded, tally.place):
        raise ReportError("payload", "is for another server")
    if most is not None and tally.accepted >= most:
        raise ReportError("full", f"is beyond the {most} reports that were asked for")
    return decoded


def check_disjoint(own: Tally, other: Tally, protocol: Protocol) -> None:
    """Check that a server can take over another one's tally of the round, or raise RoundError."""
    if own.place != other.place:
        raise RoundError("the other server is in another place")
    both = len(own.ids & other.ids)
    if both:
        raise RoundError(f"{both} clients have reported to both servers")
    most = protocol.most_reports
    if most is not None and own.accepted + other.accepted > most:
        raise RoundError(f"together they have more than the {most} reports that were asked for")


def checked_ids(ids: Iterable[bytes]) -> set[bytes]:
    """Return the ids to settle, or raise DtypeError."""
    requirement = "must be several ids, of bytes each"
    if isinstance(ids, str | bytes):
        raise DtypeError("ids", type(ids).__name__, requirement)
    checked = set()
    for identity in _check.items("ids", ids, requirement):
        if not isinstance(identity, bytes):
            raise DtypeError("ids", type(identity).__name__, requirement)
        checked.add(identity)
    return checked
