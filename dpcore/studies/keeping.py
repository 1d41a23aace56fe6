"""Keeping: finished chunks are written together, soon after they come back."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final, Self

from .calls import Done
from .store import Store

__all__ = ["Keeping"]

_KEPT: Final = 1.0  # seconds that chunks wait to be written together; this rises to
_MOST_KEPT: Final = 10.0  # this number, so that a run of a day has some thousand parts


class Keeping:
    """Saves chunks in a store, several at a time, and all of them in the end.

    A timer writes what came back while the next call takes long. A chunk that an interrupt kept
    from being written is tried again in the end.

    Parameters
    ----------
    store
        Gets the chunks.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[Done] = []
        self._begun = time.monotonic()
        self._next = self._begun + _KEPT
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._error: Exception | None = None

    def keep(self, done: Sequence[Done]) -> None:
        """Take chunks; write those that wait if it is time for that.

        Raises
        ------
        FileError, StudyError
            The store does not take them; or it did not take earlier ones.
        """
        self._waiting += done
        self._raise()
        left = self._next - time.monotonic()
        if left < 0:
            self._write()
        elif self._timer is None:
            self._timer = threading.Timer(left, self._late)
            self._timer.daemon = True
            self._timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._write()
        self._raise()

    def _late(self) -> None:
        self._timer = None  # first, so that a chunk that comes now has a timer of its own
        with self._lock:
            try:
                self._write_waiting()
            except Exception as error:
                self._error = error  # with the lock, so that the end of the run does not miss it

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _write(self) -> None:
        with self._lock:
            self._write_waiting()

    def _write_waiting(self) -> None:
        """Write what waits, with the lock."""
        size = len(self._waiting)
        try:
            self._store.add(self._waiting[:size])
        except Exception:
            del self._waiting[:size]  # chunks that cannot be kept are not tried again
            raise
        del self._waiting[:size]
        now = time.monotonic()
        self._next = now + min(_KEPT + (now - self._begun) / 500, _MOST_KEPT)
