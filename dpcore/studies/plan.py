"""The order and the size of tasks: a few seconds each, and smaller ones at the end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .calls import Chunk, Done

__all__ = ["Plan"]

_SECONDS: Final = 2.0  # the length of a task; a killed worker loses so much
_GROWTH: Final = 8  # the largest growth of a cell's chunks, because its later calls may take longer
_FIRSTS: Final = 8  # chunks in one task while the time of their cells is not known
# The remaining work has at least so many tasks for each worker, so that all end together.
_LAST: Final = 4
# The shortest of these tasks, in seconds; a shorter one is not worth a message.
_LEAST: Final = 0.02


class Plan:
    """The missing calls, as tasks. It learns from finished chunks how long calls take.

    Cells take turns, so that early results are of all of them. joblib may ask for tasks in another
    thread than the one that learns.

    Parameters
    ----------
    missing
        The calls that are to be made, in ranges, by the key of their cell.
    workers
        How many there are.
    """

    def __init__(self, missing: Mapping[str, Sequence[range]], workers: int) -> None:
        self._missing = missing
        self._workers = workers
        self._left = {key: sum(map(len, ranges)) for key, ranges in missing.items()}
        self._seconds: dict[str, float] = {}  # the last known time of a call, by cell
        self._all_seconds = 0.0  # the sum of these times
        self._known_work = 0.0  # the remaining seconds in cells with a known time
        self._unknown_calls = self.calls = sum(self._left.values())
        self._lock = threading.Lock()

    def seconds_left(self) -> float | None:
        """Return how long the rest will take, or None if nothing is known yet."""
        with self._lock:
            return self._rest()

    def tasks(self) -> Iterator[list[Chunk]]:
        """Return all chunks, several at a time. Each task is made when it is requested."""
        waiting = deque((key, deque(ranges), 1) for key, ranges in self._missing.items() if ranges)
        task: list[Chunk] = []
        room, firsts = self._wished(), 0
        while waiting:
            key, ranges, most = waiting.popleft()
            seconds = self._seconds.get(key)
            size = 1 if seconds is None else min(most, int(room / max(seconds, 1e-9)))
            size, calls = max(size, 1), ranges.popleft()
            now, later = calls[:size], calls[size:]
            task.append(Chunk(key, now.start, now.stop))
            if later:
                ranges.appendleft(later)
            if ranges:
                waiting.append((key, ranges, _GROWTH * size))
            firsts += seconds is None
            room -= (seconds or 0.0) * len(now)
            if firsts >= _FIRSTS or room <= 0.0:
                yield task
                task, room, firsts = [], self._wished(), 0
        if task:
            yield task

    def learn(self, done: Done) -> None:
        """Take note of a finished chunk."""
        key, calls = done.chunk.key, done.chunk.stop - done.chunk.start
        with self._lock:
            before = self._seconds.get(key)
            if before is None:
                self._unknown_calls -= self._left[key]
            else:
                self._known_work -= before * self._left[key]
            self._left[key] -= calls
            self._seconds[key] = now = done.seconds / calls
            self._all_seconds += now - (before or 0.0)
            self._known_work += now * self._left[key]

    def _wished(self) -> float:
        """Return how many seconds a task should take now."""
        rest = self.seconds_left()
        return 0.0 if rest is None else min(_SECONDS, max(rest / _LAST, _LEAST))

    def _rest(self) -> float | None:
        if not self._seconds:
            return None
        usual = self._all_seconds / len(self._seconds)
        return max(self._known_work + usual * self._unknown_calls, 0.0) / self._workers
