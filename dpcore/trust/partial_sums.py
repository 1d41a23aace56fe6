"""What servers give away at the end of a round, and the sum of it over all servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import DtypeError
from . import storage
from .protocol import Protocol
from .wire import RoundError

__all__ = ["PartialSum", "combine", "of_all_servers"]


@dataclass(frozen=True, slots=True, eq=False)
class PartialSum:
    """What a server gives away at the end, once: its part of the sum. Made by ``Server.close``.

    Parameters
    ----------
    protocol
        Of the round.
    totals
        (nodes,) uint64: sums of shares modulo 2^64; Local: how many bits were set.
    reports
        How many reports there are in it.
    clients
        SHA-256 of their ids in order; all servers have to have the same.
    by_level
        Of Local: how many reports were about each level below the root.
    simulated
        Whether a report was made for a study.
    """

    protocol: Protocol
    totals: NDArray[np.uint64] = field(repr=False)
    reports: int
    clients: bytes = field(repr=False)
    by_level: tuple[int, ...] = ()
    simulated: bool = False

    def to_bytes(self) -> bytes:
        """Return it as bytes, for whoever adds up (docs/wire.md)."""
        return storage.dump_sum(self)

    @classmethod
    def from_bytes(cls, data: bytes, protocol: Protocol) -> PartialSum:
        """Read it back.

        Raises
        ------
        FormatError
            It is damaged, or belongs to another round or other parameters.
        """
        return cls(**storage.load_sum(data, protocol))


def combine(sums: PartialSum | Sequence[PartialSum]) -> NDArray[np.int64]:
    """Return the totals of a round, (nodes,), root first; SecureAggregation: of the cells.

    Parameters
    ----------
    sums
        Of all servers, in any order; of the one server of Local.

    Raises
    ------
    DtypeError
        They are no partial sums.
    RoundError
        They are not one from each server of one round; or they are not of the same clients; or
        these are fewer than the trust model requires, or more than were asked; or the total is
        not the number of reports, so that some client did not keep to the protocol.
    """
    return of_all_servers(sums).totals.view(np.int64)


def of_all_servers(sums: PartialSum | Sequence[PartialSum]) -> PartialSum:
    """Return the sum of the servers' parts, after the checks that ``combine`` names."""
    parts = [sums] if isinstance(sums, PartialSum) else list(sums)
    for part in parts:
        if not isinstance(part, PartialSum):
            raise DtypeError("sums", type(part).__name__, "must be partial sums")
    if not parts:
        raise RoundError("there are no sums")
    first, protocol = parts[0], parts[0].protocol
    if any(part.protocol.key != protocol.key for part in parts):
        raise RoundError("the sums are of different rounds, or have different parameters")
    if len(parts) != protocol.receivers:
        raise RoundError(f"{len(parts)} sums, of {protocol.receivers} servers")
    if any(part.clients != first.clients or part.reports != first.reports for part in parts):
        found = ", ".join(str(part.reports) for part in parts)
        raise RoundError(f"the servers settled different reports ({found} of them)")
    least, most = protocol.least_reports, protocol.most_reports
    if first.reports < least or (most is not None and first.reports > most):
        wanted = f"at least {least}" if most is None else f"{least} to {most}"
        raise RoundError(f"{first.reports} reports, and it takes {wanted}")
    totals = np.zeros(protocol.words, np.uint64)
    for part in parts:
        totals += part.totals
    if protocol.is_additive:
        signed = totals.view(np.int64)
        total = signed[0] if protocol.noise else signed.sum()  # the root has no noise
        if total != first.reports * protocol.records:
            each = "one record" if protocol.records == 1 else f"{protocol.records} records"
            raise RoundError(
                "the total is not the number of reports: some client sent something else than "
                f"shares of {each}"
            )
    return replace(first, totals=totals, simulated=any(part.simulated for part in parts))
