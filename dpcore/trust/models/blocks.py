"""Blocks of clients, each with its own stream, so that threads do not change the reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..._threads import on_threads
from ...noise.sources import Source

__all__ = ["on_blocks", "values_in_order"]

_CLIENTS: Final = 2**15  # the number of clients in a block


def on_blocks(
    work: Callable[[int, int, Source], None], clients: int, stream: Source, workers: int | None
) -> None:
    """Call ``work`` with the first client, the end and the stream of each block."""
    starts = range(0, clients, _CLIENTS)
    blocks = list(zip(starts, stream.spawn(len(starts)), strict=True))
    on_threads(
        lambda block: work(block[0], min(block[0] + _CLIENTS, clients), block[1]), blocks, workers
    )


def values_in_order(ends: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    """Return the values of clients start to stop, who are sorted by their values.

    ``ends`` says how many clients have each value or a lower one. Clients behind these have -1.
    """
    bounds = np.clip(ends, start, stop)
    present = np.diff(bounds, prepend=start)
    values = np.full(stop - start, -1, np.int64)
    values[: int(present.sum())] = np.repeat(np.arange(ends.size), present)
    return values
