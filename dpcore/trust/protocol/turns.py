"""Turns, so that a server runs one call after the other, in one process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..._process import Owner
from .wire import RoundError

__all__ = ["Turns"]


class Turns:
    """Turns for threads. A child process after a fork, or a signal handler, does not get one."""

    __slots__ = ("_is_busy", "_lock", "_owner")

    def __init__(self) -> None:
        self._owner = Owner()
        self._lock = threading.RLock()
        self._is_busy = False

    @contextmanager
    def take(self) -> Iterator[None]:
        """Take a turn: in the process that made this object, and not during another call."""
        if not self._owner.is_here:
            raise RoundError(
                f"the server belongs to process {self._owner.process}: a copy of it made by a fork "
                "could give away a second sum"
            )
        with self._lock:
            if self._is_busy:  # a signal has interrupted this thread
                raise RoundError("the server is in the middle of another call of this thread")
            try:
                self._is_busy = True
                yield
            finally:
                self._is_busy = False
