"""Blocks of work on several threads."""

from __future__ import annotations

import _thread
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Final, TypeVar

from . import _check

__all__ = ["checked_workers", "on_threads", "one_processor"]

_Block = TypeVar("_Block")
_MOST_WORKERS: Final = 1024
_calling: Final = threading.local()  # ``alone`` says whether None means one thread


def checked_workers(workers: int | None) -> int:
    """Return the number of threads to use; None: one for each processor."""
    if workers is None:
        return 1 if getattr(_calling, "alone", False) else os.cpu_count() or 1
    return _check.integer("workers", workers, 1, _MOST_WORKERS)


@contextmanager
def one_processor() -> Iterator[None]:
    """Let this thread work alone, because somebody else distributes the processors."""
    before = getattr(_calling, "alone", False)
    _calling.alone = True
    try:
        yield
    finally:
        _calling.alone = before


def on_threads(
    work: Callable[[_Block], None], blocks: Sequence[_Block], workers: int | None
) -> None:
    """Call ``work`` on each block, on up to ``workers`` threads (None: all processors).

    The results must not depend on the number of threads, so each block has its own stream and its
    own place to write to. If no thread can start, because the interpreter ends or the system has
    reached a limit, the caller does all the work.
    """
    workers = min(checked_workers(workers), len(blocks))
    pending = deque(blocks)
    raised: list[BaseException] = []

    def drain() -> None:
        while True:
            try:
                block = pending.popleft()
            except IndexError:
                return
            work(block)

    def drain_beside(at_work: _thread.LockType) -> None:
        try:
            drain()
        except BaseException as error:  # the caller raises it again
            pending.clear()
            raised.append(error)
        finally:
            at_work.release()

    others: list[_thread.LockType] = []
    try:
        with suppress(RuntimeError):  # no thread can be started here
            for _ in range(workers - 1):
                at_work = _thread.allocate_lock()
                at_work.acquire()
                # ``Thread.start`` would wait until the thread runs, which takes a while.
                own = copy_context()  # the thread gets the context of the caller
                _thread.start_new_thread(own.run, (drain_beside, at_work))
                others.append(at_work)
        drain()  # the caller works, too; otherwise its processor would be idle
    finally:
        pending.clear()
        for at_work in others:
            at_work.acquire()
    if raised:
        raise raised[0]
