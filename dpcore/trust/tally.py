"""What a server has of a round: reports that wait, ids that are settled, and totals."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from . import wire
from .protocol import Protocol
from .wire import REASONS, Reason, Report

__all__ = ["Tally"]


@dataclass(slots=True, eq=False, repr=False)
class Tally:
    """Numbers and reports, without the rules about them, which are ``Server``'s.

    Parameters
    ----------
    totals
        (nodes,) uint64: sums of settled shares modulo 2^64; Local: how many bits were set.
    by_level
        Of Local: how many reports were about each level below the root, uint64.
    accepted, refused
        How many reports were taken, and refused by reason.
    settled
        Ids of the reports that are in the totals.
    waiting
        Of each additive kind, the payloads that are not, by id.
    simulated
        Whether a report was made for a study.
    closed
        Whether the totals have been given away.
    """

    totals: NDArray[np.uint64]
    by_level: NDArray[np.uint64]
    accepted: int = 0
    refused: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    settled: set[bytes] = field(default_factory=set)
    waiting: dict[int, dict[bytes, bytes]] = field(
        default_factory=lambda: {wire.SEED: {}, wire.ADDITIVE: {}}
    )
    simulated: bool = False
    closed: bool = False

    @classmethod
    def empty(cls, protocol: Protocol) -> Tally:
        """Return that of a round which begins."""
        return cls(np.zeros(protocol.words, np.uint64), np.zeros(len(protocol.asked), np.uint64))

    def __contains__(self, identity: bytes) -> bool:
        return identity in self.settled or any(identity in each for each in self.waiting.values())

    @property
    def ids(self) -> frozenset[bytes]:
        """Of the reports that are here, waiting or settled."""
        return frozenset(self.settled).union(*self.waiting.values())

    def take(self, report: Report, protocol: Protocol) -> None:
        """Take a report, which has been checked: shares wait, and bits are counted at once."""
        if report.kind == wire.BITS:
            level = report.payload[0]
            start, stop = protocol.starts[level], protocol.starts[level + 1]
            packed = np.frombuffer(report.payload, np.uint8, offset=1)
            self.totals[start:stop] += np.unpackbits(packed, count=stop - start, bitorder="little")
            self.by_level[level - 1] += np.uint64(1)
            self.settled.add(report.report_id)
        else:
            self.waiting[report.kind][report.report_id] = report.payload
        self.accepted += 1
        self.simulated = self.simulated or report.simulated

    def settle(self, ids: Collection[bytes]) -> None:
        """Add up reports that wait, and forget them."""
        totals = self.totals.copy()  # an interrupt leaves everything as it was
        for kind, payloads in self.waiting.items():
            for payload in (payloads[each] for each in ids if each in payloads):
                totals += wire.share(kind, payload, totals.size)
        self.totals = totals
        self.settled.update(ids)
        for payloads in self.waiting.values():
            for each in ids:
                payloads.pop(each, None)

    def close(self) -> None:
        """Forget what waits, and let nobody change the totals."""
        self.closed = True
        for payloads in self.waiting.values():
            payloads.clear()
        self.totals.flags.writeable = False

    def merge(self, other: Tally) -> None:
        """Take over what another one has, of other clients."""
        self.totals = self.totals + other.totals
        self.by_level = self.by_level + other.by_level
        self.accepted += other.accepted
        for reason, count in other.refused.items():
            self.refused[reason] += count
        self.settled |= other.settled
        for kind, payloads in other.waiting.items():
            self.waiting[kind] |= payloads
        self.simulated = self.simulated or other.simulated
