"""The order and the size of tasks: about a second each, and smaller ones at the end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .calls import Chunk, Done

__all__ = ["LIMIT", "Plan"]

LIMIT: Final = 2.0  # a worker begins no call of a task after so many seconds
_SECONDS: Final = 1.0  # the length of a task, as far as it is known before
_GROWTH: Final = 8  # the largest growth of a cell's chunks, because its later calls may take longer
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
        self._waiting = deque((key, deque(ranges), 1) for key, ranges in missing.items() if ranges)
        self._workers = workers
        self._left = {key: sum(map(len, ranges)) for key, ranges in missing.items()}
        self._seconds: dict[str, float] = {}  # the last known time of a call, by cell
        self._all_seconds = 0.0  # the sum of these times
        self._known_work = 0.0  # the remaining seconds in cells with a known time
        self._unknown_calls = self.calls = sum(self._left.values())
        self._lock = threading.Lock()

    @property
    def waits(self) -> bool:
        """Whether there are chunks that are in no task: at first, and after ``put_back``."""
        return bool(self._waiting)

    def seconds_left(self) -> float | None:
        """Return how long the rest will take, or None if nothing is known yet."""
        with self._lock:
            return self._rest()

    def tasks(self) -> Iterator[list[Chunk]]:
        """Return all chunks, several at a time. Each task is made when it is requested.

        A cell without a known time is asked for one call, which counts as one of the known cells
        on average. While nothing is known, and where calls are slow, a task is one call.
        """
        task: list[Chunk] = []
        asked: set[str] = set()  # the cells in the task without a known time
        room = self._wished()
        while self._waiting:
            key, ranges, most = self._waiting.popleft()
            known, seconds = self._expected(key)
            if task and (seconds > room or key in asked):
                yield task
                task, room = [], self._wished()
                asked.clear()
                known, seconds = self._expected(key)
            size = max(min(most, int(room / max(seconds, 1e-9))), 1) if known else 1
            calls = ranges.popleft()
            now, later = calls[:size], calls[size:]
            task.append(Chunk(key, now.start, now.stop))
            if later:
                ranges.appendleft(later)
            if ranges:
                self._waiting.append((key, ranges, _GROWTH * size))
            if not known:
                asked.add(key)
            room -= seconds * len(now)
            if room <= 0.0:
                yield task
                task, room = [], self._wished()
                asked.clear()
        if task:
            yield task

    def put_back(self, chunks: Sequence[Chunk]) -> None:
        """Take chunks of a task back, whose calls have not been made."""
        for chunk in chunks:
            self._waiting.append((chunk.key, deque([range(chunk.start, chunk.stop)]), _GROWTH))

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

    def _expected(self, key: str) -> tuple[bool, float]:
        """Return whether the time of a cell's calls is known, and the seconds to count for one."""
        with self._lock:
            seconds = self._seconds.get(key)
            return seconds is not None, self._usual() if seconds is None else seconds

    def _wished(self) -> float:
        """Return how many seconds a task should take now."""
        rest = self.seconds_left()
        return 0.0 if rest is None else min(_SECONDS, max(rest / _LAST, _LEAST))

    def _usual(self) -> float:
        return max(self._all_seconds, 0.0) / len(self._seconds) if self._seconds else 0.0

    def _rest(self) -> float | None:
        if not self._seconds:
            return None
        work = self._known_work + self._usual() * self._unknown_calls
        return max(work, 0.0) / self._workers
