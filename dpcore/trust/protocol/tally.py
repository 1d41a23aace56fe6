"""The state of a server in a round: reports that wait, ids that are settled, and totals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .rounds import Memory, Round, Words
from .wire import REASONS, Reason, Report

__all__ = ["Tally"]


@dataclass(slots=True)
class _Both:
    """Whether a change of two tallies is to be finished in both; until then, it is in neither."""

    are_ready: bool = False


class _Change(NamedTuple):
    """A change of a tally, as values and not as differences: applying it twice is no harm."""

    accepted: int
    simulated: bool
    words: Mapping[int, Words] = {}  # new values, by where they begin
    settled: Collection[bytes] = ()  # these do not wait any more, either
    waiting: Mapping[int, Mapping[bytes, bytes]] = {}
    memory: Memory | None = None  # None: unchanged
    refused: Mapping[Reason, int] = {}
    both: _Both | None = None  # None: only this tally changes
    instead: Tally | None = None  # takes this one's place


@dataclass(slots=True, eq=False, repr=False)
class Tally:
    """Numbers and reports. The rules about them are in ``Server``.

    All that reports change, a change does, so that an interrupt leaves it done or not done.

    Parameters
    ----------
    words
        (stored_words,) uint64, modulo 2^64: how many settled reports answered each question, and
        the totals of what they hold.
    memory
        What the server remembers besides, as the trust model says.
    waiting
        For each kind, the payloads that are not settled, by id.
    accepted, refused
        How many reports were taken, and how many were refused, by reason.
    settled
        The ids of the reports that are settled.
    simulated
        Whether a report was made for a study.
    closed
        Whether the totals have been given away.
    begun
        A change that has begun. An interrupt may have left a part of it undone.
    """

    words: Words
    memory: Memory | None
    waiting: dict[int, dict[bytes, bytes]]
    accepted: int = 0
    refused: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    settled: set[bytes] = field(default_factory=set)
    simulated: bool = False
    closed: bool = False
    begun: _Change | None = None

    @classmethod
    def empty(cls, of: Round, memory: Memory | None = None) -> Tally:
        """Return the tally of a round that begins."""
        return cls(np.zeros(of.stored_words, np.uint64), memory, {kind: {} for kind in of.kinds})

    def __contains__(self, identity: bytes) -> bool:
        return identity in self.settled or any(
            identity in payloads for payloads in self.waiting.values()
        )

    @property
    def place(self) -> int | None:
        """Which server this is, from 0; None: all are alike."""
        return None if self.memory is None else self.memory.place

    @property
    def ids(self) -> frozenset[bytes]:
        """The ids of the reports that are here, waiting or settled."""
        return frozenset(self.settled).union(*self.waiting.values())

    def answers(self, of: Round) -> tuple[int, ...]:
        """Return how many settled reports answered each question."""
        return tuple(self.words[: len(of.asked)].tolist())

    def totals(self, of: Round) -> Words:
        """Return the totals of what settled reports hold, (shared_words,)."""
        return self.words[len(of.asked) :]

    def take(self, report: Report, of: Round) -> None:
        """Take a report, which has been checked: it waits for other servers, if there are any."""
        accepted, simulated = self.accepted + 1, self.simulated or report.simulated
        one = {report.report_id: report.payload}
        if of.receivers > 1:
            self.change(_Change(accepted, simulated, waiting={report.kind: one}))
            return
        words: dict[int, Words] = {}
        for start, numbers in of.counted(report.kind, report.payload):
            words[start] = words.get(start, self.words[start : start + numbers.size]) + numbers
        memory = None if self.memory is None else self.memory.with_settled(report.kind, one)
        self.change(_Change(accepted, simulated, words, {report.report_id}, memory=memory))

    def settle(self, ids: Collection[bytes], of: Round) -> None:
        """Add up reports that wait, and forget them."""
        words, memory = None, self.memory
        for kind, payloads in self.waiting.items():
            if not payloads:
                continue
            settled = {identity: payloads[identity] for identity in ids if identity in payloads}
            for payload in settled.values():
                for start, numbers in of.counted(kind, payload):
                    words = self.words.copy() if words is None else words
                    is_all = numbers.size == words.size  # then a slice would only take time
                    part = words if is_all else words[start : start + numbers.size]
                    part += numbers
            memory = None if memory is None else memory.with_settled(kind, settled)
        changed = {} if words is None else {0: words}
        self.change(_Change(self.accepted, self.simulated, changed, ids, memory=memory))

    def replace_totals(self, totals: Words, memory: Memory, of: Round) -> None:
        """Put other totals, and another memory, in the place of these."""
        words = {len(of.asked): totals}
        self.change(_Change(self.accepted, self.simulated, words, memory=memory))

    def finished(self) -> Tally:
        """Return the tally to go on with; callers do this first.

        If an interrupt has left a part of the last change undone, this finishes it.
        """
        if (change := self.begun) is None:
            return self
        if change.both is not None:
            if not change.both.are_ready:
                self.begun = None
                return self
            if change.instead is not None:
                return change.instead
        self.accepted, self.simulated = change.accepted, change.simulated
        for start, values in change.words.items():
            self.words[start : start + values.size] = values
        self.refused.update(change.refused)
        for kind, more in change.waiting.items():
            self.waiting[kind].update(more)
        self.settled.update(change.settled)
        if change.memory is not None:
            self.memory = change.memory
        for payloads in self.waiting.values():
            for identity in change.settled:
                payloads.pop(identity, None)
        self.begun = None
        return self

    def close(self) -> None:
        """Mark the totals as given away, and forget reports that wait."""
        self.closed = True
        for payloads in self.waiting.values():
            payloads.clear()

    def take_over(self, other: Tally, ended: Tally) -> None:
        """Take over another tally, which is of other clients; ``ended`` takes that one's place."""
        both, memory = _Both(), self.memory
        if memory is not None and other.memory is not None:
            memory = memory.with_all_of(other.memory)
        self.begun = _Change(
            self.accepted + other.accepted,
            self.simulated or other.simulated,
            {0: self.words + other.words},
            other.settled,
            other.waiting,
            memory,
            refused={reason: self.refused[reason] + n for reason, n in other.refused.items()},
            both=both,
        )
        other.begun = _Change(0, False, both=both, instead=ended)
        both.are_ready = True  # in one step: no report is lost, and none is in two sums
        self.finished()

    def change(self, change: _Change) -> None:
        """Make a change: after an interrupt it has not begun, or ``finished`` will complete it."""
        self.begun = change
        self.finished()
