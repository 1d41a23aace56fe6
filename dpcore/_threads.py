"""Work in blocks, dealt out to threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

from . import _check

__all__ = ["checked_workers", "on_threads"]

_Block = TypeVar("_Block")
_MOST_WORKERS: Final = 1024


def checked_workers(workers: int | None) -> int:
    """Return how many threads were asked for; None: one for each processor."""
    if workers is None:
        return os.cpu_count() or 1
    return _check.integer("workers", workers, 1, _MOST_WORKERS)


def on_threads(
    work: Callable[[_Block], None], blocks: Sequence[_Block], workers: int | None
) -> None:
    """Call ``work`` on each block, on up to ``workers`` threads (None: all processors).

    What is computed must not depend on the number of threads: a block brings its own stream and
    its own place to write to. Where no thread can start, as the interpreter ends or at a limit of
    the system, the caller does all the work.
    """
    workers = min(checked_workers(workers), len(blocks))
    pending = deque(blocks)

    def drain() -> None:
        while True:
            try:
                block = pending.popleft()
            except IndexError:
                return
            work(block)

    if workers <= 1:
        drain()
        return
    with ThreadPoolExecutor(workers - 1) as pool:
        others = []
        with suppress(RuntimeError):  # raised by the pool: what ``drain`` raises is in its result
            for _ in range(workers - 1):
                others.append(pool.submit(drain))
        try:
            drain()  # the caller works, too: its processor is not free for another thread
        finally:
            pending.clear()
        for other in others:
            other.result()
