"""The state of a server in a round: reports that wait, ids that are settled, and totals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import comparison
from . import wire
from .parameters import Protocol
from .wire import REASONS, Reason, Report

__all__ = ["CONTENT_BYTES", "NOISE_KEY_BYTES", "Tally"]

NOISE_KEY_BYTES: Final = 32
CONTENT_BYTES: Final = 32

_LABEL: Final = b"dpcore settled report"


class _Change(NamedTuple):
    """A change of a tally, as values and not as differences: applying it twice is no harm."""

    accepted: int
    simulated: bool
    by_level: NDArray[np.uint64]
    part: slice  # the changed part of the totals, and its new values
    totals: NDArray[np.uint64]
    settled: Collection[bytes] = ()  # these do not wait any more, either
    waiting: Mapping[int, Mapping[bytes, bytes]] = {}
    keys: tuple[bytes, ...] | None = None  # None: unchanged
    content: int | None = None  # None: unchanged
    refused: Mapping[Reason, int] = {}


@dataclass(slots=True, eq=False, repr=False)
class Tally:
    """Numbers and reports. The rules about them are in ``Server``.

    Parameters
    ----------
    totals
        (nodes,) uint64: sums of settled shares modulo 2^64. For Local, how many bits were set. For
        FunctionSharing, (cells,), sums of shares of the functions' values.
    by_level
        For Local: how many reports were about each level below the root, uint64.
    accepted, refused
        How many reports were taken, and how many were refused, by reason.
    settled
        The ids of the reports that are in the totals.
    waiting
        For each additive kind, the payloads that are not in the totals, by id.
    keys
        Keys of comparison functions that are settled, and whose values are not in the totals, in
        blocks of one key behind the other.
    place
        For FunctionSharing: which server this is, from 0.
    noise_key
        For FunctionSharing: the 32 bytes that the server's noise is made of.
    content
        For FunctionSharing: 256 bits for what settled clients have sent. They are the exclusive or
        of the keyed hashes of the reports: the same in any order, and different for other reports.
    simulated
        Whether a report was made for a study.
    closed
        Whether the totals have been given away.
    begun
        A change that has begun. An interrupt may have left a part of it undone.
    """

    totals: NDArray[np.uint64]
    by_level: NDArray[np.uint64]
    accepted: int = 0
    refused: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    settled: set[bytes] = field(default_factory=set)
    waiting: dict[int, dict[bytes, bytes]] = field(
        default_factory=lambda: {wire.SEED: {}, wire.ADDITIVE: {}, wire.FUNCTION: {}}
    )
    keys: tuple[bytes, ...] = ()
    place: int | None = None
    noise_key: bytes = bytes(NOISE_KEY_BYTES)
    content: int = 0
    simulated: bool = False
    closed: bool = False
    begun: _Change | None = None

    @classmethod
    def empty(cls, protocol: Protocol) -> Tally:
        """Return the tally of a round that begins."""
        totals = np.zeros(protocol.shared_words, np.uint64)
        return cls(totals, np.zeros(len(protocol.asked), np.uint64))

    def __contains__(self, identity: bytes) -> bool:
        return identity in self.settled or any(
            identity in payloads for payloads in self.waiting.values()
        )

    @property
    def ids(self) -> frozenset[bytes]:
        """The ids of the reports that are here, waiting or settled."""
        return frozenset(self.settled).union(*self.waiting.values())

    def take(self, report: Report, protocol: Protocol) -> None:
        """Take a report, which has been checked: shares wait, and bits are counted at once."""
        accepted, simulated = self.accepted + 1, self.simulated or report.simulated
        if report.kind == wire.BITS:
            level = report.payload[0]
            part = slice(protocol.starts[level], protocol.starts[level + 1])
            totals, by_level = self.totals[part].copy(), self.by_level.copy()
            packed = np.frombuffer(report.payload, np.uint8, offset=1)
            totals += np.unpackbits(packed, count=totals.size, bitorder="little")
            by_level[level - 1] += np.uint64(1)
            settled = {report.report_id}
            self.change(_Change(accepted, simulated, by_level, part, totals, settled))
        else:
            part, waits = slice(0, 0), {report.kind: {report.report_id: report.payload}}
            same = self.by_level, part, self.totals[part]
            self.change(_Change(accepted, simulated, *same, waiting=waits))

    def settle(self, ids: Collection[bytes], protocol: Protocol) -> None:
        """Add up reports that wait, and forget them; keys of functions are kept."""
        same = self.accepted, self.simulated, self.by_level
        content = self._content_with(ids) if protocol.shares_functions else None
        waiting = self.waiting[wire.FUNCTION]
        if keys := b"".join(waiting[identity] for identity in ids if identity in waiting):
            part, blocks = slice(0, 0), _with(self.keys, keys)
            self.change(_Change(*same, part, self.totals[part], ids, keys=blocks, content=content))
            return
        totals = self.totals.copy()
        for kind, payloads in self.waiting.items():
            for payload in (payloads[identity] for identity in ids if identity in payloads):
                totals += wire.share(kind, payload, totals.size)
        self.change(_Change(*same, slice(None), totals, ids, content=content))

    def shares_at(self, cells: NDArray[np.int64], protocol: Protocol) -> NDArray[np.uint64]:
        """Return the share of the sum of all settled functions at some cells."""
        shares = self.totals[cells]
        for block in self.keys:
            keys = comparison.Keys.from_packed(block, protocol.bits, 1 if self.place else 0)
            shares += comparison.evaluate_sum(keys, cells)
        return shares

    def add_up(self, protocol: Protocol) -> None:
        """Evaluate all settled functions everywhere, add up, and forget their keys."""
        if self.keys:
            totals = self.shares_at(np.arange(protocol.cells), protocol)
            same = self.accepted, self.simulated, self.by_level
            self.change(_Change(*same, slice(None), totals, keys=()))

    def finish(self) -> None:
        """Finish the last change if an interrupt has left a part undone; callers do this first."""
        if (change := self.begun) is None:
            return
        self.accepted, self.simulated = change.accepted, change.simulated
        self.by_level = change.by_level
        self.totals[change.part] = change.totals
        self.refused.update(change.refused)
        for kind, more in change.waiting.items():
            self.waiting[kind].update(more)
        self.settled.update(change.settled)
        if change.keys is not None:
            self.keys = change.keys
        if change.content is not None:
            self.content = change.content
        for payloads in self.waiting.values():
            for identity in change.settled:
                payloads.pop(identity, None)
        self.begun = None

    def close(self) -> None:
        """Mark the totals as given away, and forget reports that wait."""
        self.closed = True
        for payloads in self.waiting.values():
            payloads.clear()

    def with_all_of(self, other: Tally) -> _Change:
        """Return the change that takes over another tally, which is of other clients."""
        return _Change(
            self.accepted + other.accepted,
            self.simulated or other.simulated,
            self.by_level + other.by_level,
            slice(None),
            self.totals + other.totals,
            other.settled,
            other.waiting,
            keys=(*self.keys, *other.keys),
            content=self.content ^ other.content,
            refused={reason: self.refused[reason] + n for reason, n in other.refused.items()},
        )

    def _content_with(self, ids: Collection[bytes]) -> int:
        """Return ``content`` with some waiting reports settled."""
        content = self.content
        for kind, payloads in self.waiting.items():
            start = _LABEL + bytes([kind])
            for identity in ids:
                if identity in payloads:
                    hashed = wire.keyed_hash(self.noise_key, start + identity + payloads[identity])
                    content ^= int.from_bytes(hashed, "little")
        return content

    def change(self, change: _Change) -> None:
        """Make a change: after an interrupt it has not begun, or ``finish`` will complete it."""
        self.begun = change
        self.finish()


def _with(blocks: tuple[bytes, ...], fresh: bytes) -> tuple[bytes, ...]:
    """Return blocks and one more, joined so that blocks are few and bytes are seldom copied."""
    while blocks and len(blocks[-1]) <= len(fresh):
        blocks, fresh = blocks[:-1], blocks[-1] + fresh
    return (*blocks, fresh)
