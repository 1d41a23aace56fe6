"""Reports of a unary encoding, made from exact bits in blocks of clients, and added up."""

from __future__ import annotations

from fractions import Fraction
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...kernels.clients import unary_totals
from ...noise import windows
from ...noise.sources import Source
from .blocks import on_blocks, values_in_order
from .unary_law import law_of

__all__ = ["perturbed", "perturbed_totals", "totals_of", "width"]

_WORDS: Final = 2**16  # the number of words of reports that are made and added up at a time


def width(size: int) -> int:
    """Return the number of 64-bit words of a report about ``size`` values."""
    return -(-size // 64)


def perturbed(
    values: NDArray[np.int64], size: int, q: Fraction, stream: Source, workers: int | None
) -> NDArray[np.uint64]:
    """Return the packed reports of clients with given values, (R, W)."""
    reports = np.empty((values.size, width(size)), np.uint64)

    def work(start: int, stop: int, own: Source) -> None:
        _fill(reports[start:stop], values[start:stop], size, q, own)

    on_blocks(work, values.size, stream, workers)
    return reports


def totals_of(reports: NDArray[np.uint64], size: int) -> NDArray[np.int64]:
    """Return how many of the reports, (R, W), have a one at each value, (size,)."""
    totals = np.zeros(size, np.int64)
    flat = np.ascontiguousarray(reports).reshape(-1)
    unary_totals.add_reports(flat, width(size), totals)
    return totals


def perturbed_totals(
    counts: NDArray[np.int64], clients: int, q: Fraction, stream: Source, workers: int | None
) -> NDArray[np.int64]:
    """Return the totals of the reports of all clients, (size,), without keeping the reports.

    The first clients have the values that ``counts`` gives, in ascending order. The others have no
    value.
    """
    size, ends = counts.size, np.cumsum(counts)
    rows = max(1, _WORDS // width(size))
    totals, lock = np.zeros(size, np.int64), Lock()

    def work(start: int, stop: int, own: Source) -> None:
        values = values_in_order(ends, start, stop)
        packed = np.empty((min(rows, values.size), width(size)), np.uint64)
        block_totals = np.zeros_like(totals)
        for at in range(0, values.size, rows):
            part = values[at : at + rows]
            _fill(packed[: part.size], part, size, q, own)
            unary_totals.add_reports(packed[: part.size].reshape(-1), width(size), block_totals)
        with lock:
            np.add(totals, block_totals, out=totals)

    on_blocks(work, clients, stream, workers)
    return totals


def _fill(
    reports: NDArray[np.uint64],
    values: NDArray[np.int64],
    size: int,
    q: Fraction,
    stream: Source,
) -> None:
    """Fill reports, (R, W), for the values of R clients."""
    law = law_of(q)
    per_client = law.words(size, q)
    # Words of an incomplete client at the end of the last window.
    cut_short = np.empty(0, np.uint16)
    done = 0
    while done < values.size:
        fresh = min(per_client * (values.size - done) // 4 + 16, max(windows.WINDOW, per_client))
        window = windows.next_window(cut_short, fresh, stream)
        finished, used = law.perturb(
            window, values[done:], size, law.table, law.certain, law.thresholds, reports[done:]
        )
        done += finished
        cut_short = window[used:]
