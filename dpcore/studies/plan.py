"""Which calls come next, and how many at a time: chunks of some seconds, smaller at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .calls import Chunk, Done
from .cells import Cell

__all__ = ["Plan"]

_SECONDS: Final = 2.0  # of a chunk: what a killed worker loses, and what a task may cost
_GROWTH: Final = 8  # of a cell's chunks, until its time is known
_LAST: Final = 4  # chunks a worker, at least, in what is left, so that all end together


class Plan:
    """The calls that are missing, as chunks; it learns from those that are done how long they take.

    Cells take turns, so that early results are of all of them.

    Parameters
    ----------
    missing
        Each cell and the calls that are to be made: increasing.
    workers
        How many there are.
    """

    def __init__(self, missing: Sequence[tuple[Cell, Sequence[int]]], workers: int) -> None:
        self._missing = [(cell, list(calls)) for cell, calls in missing if len(calls)]
        self._left = {cell.key: len(calls) for cell, calls in self._missing}
        self._seconds: dict[str, float] = {}  # of a call, by cell
        self._workers = workers

    @property
    def calls(self) -> int:
        """How many calls are not done."""
        return sum(self._left.values())

    def seconds_left(self) -> float | None:
        """Return how long the rest will take; None: nothing is known yet."""
        if not self._seconds:
            return None
        usual = sum(self._seconds.values()) / len(self._seconds)
        whole = sum(left * self._seconds.get(key, usual) for key, left in self._left.items())
        return whole / self._workers

    def chunks(self) -> Iterator[Chunk]:
        """Return all chunks; each is made as it is asked for."""
        waiting = [(cell, calls, 0, 1) for cell, calls in self._missing]
        while waiting:
            later = []
            for cell, calls, at, size in waiting:
                stop = self._stop(cell, calls, at, size)
                yield Chunk(cell, calls[at], calls[stop - 1] + 1)
                if stop < len(calls):
                    later.append((cell, calls, stop, min(size * _GROWTH, 2**20)))
            waiting = later

    def learn(self, done: Done) -> None:
        """Take note of a chunk that is done."""
        chunk = done.chunk
        calls = chunk.stop - chunk.start
        self._left[chunk.cell.key] -= calls
        before = self._seconds.get(chunk.cell.key, float("inf"))
        self._seconds[chunk.cell.key] = min(before, done.seconds / calls)  # less what was the first

    def _stop(self, cell: Cell, calls: list[int], at: int, size: int) -> int:
        """Return where a chunk that begins at ``at`` ends: at a gap, or when it is long enough."""
        seconds, whole = self._seconds.get(cell.key), self.seconds_left()
        if seconds is not None and whole is not None:
            wished = min(_SECONDS, whole / _LAST)
            size = max(int(wished / max(seconds, 1e-9)), 1)
        stop = at + 1
        while stop < len(calls) and stop < at + size and calls[stop] == calls[stop - 1] + 1:
            stop += 1
        return stop
