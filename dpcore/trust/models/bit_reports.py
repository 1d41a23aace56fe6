"""Reports of bits, made from exact random words in blocks of clients, and added up."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _check
from ...errors import DtypeError, ParameterError
from ...kernels.clients import unary_totals
from ...noise.sources import Source
from ...records import object_kinds
from ...records.column import Column
from ...records.doubles import checked_kind
from .blocks import on_blocks, values_in_order

__all__ = [
    "MOST_REPORTS",
    "MOST_SIZE",
    "Fill",
    "checked_counts",
    "checked_values",
    "perturbed",
    "perturbed_totals",
    "totals_of",
    "width",
]

MOST_SIZE: Final = 2**24
MOST_REPORTS: Final = 2**40
_WORDS: Final = 2**16  # the number of words of reports that are made and added up at a time

# Fills reports, (R, W), for the values of R clients, -1 if there is none, from a source.
Fill = Callable[[NDArray[np.uint64], NDArray[np.int64], Source], None]


def width(size: int) -> int:
    """Return the number of 64-bit words of a report about ``size`` values."""
    return -(-size // 64)


def perturbed(
    values: NDArray[np.int64], size: int, fill: Fill, stream: Source, workers: int | None
) -> NDArray[np.uint64]:
    """Return the packed reports of clients with given values, (R, W)."""
    reports = np.empty((values.size, width(size)), np.uint64)

    def work(start: int, stop: int, own: Source) -> None:
        fill(reports[start:stop], values[start:stop], own)

    on_blocks(work, values.size, stream, workers)
    return reports


def totals_of(reports: NDArray[np.uint64], size: int) -> NDArray[np.int64]:
    """Return how many of the reports, (R, W), have a one at each value, (size,)."""
    packed = _check.array("reports", reports, "iuf", "must hold uint64")
    if packed.dtype != np.uint64:
        raise DtypeError("reports", f"dtype {packed.dtype}", "must hold uint64")
    if packed.ndim != 2 or packed.shape[1] != width(size):
        raise ParameterError("reports", packed.shape, f"must have the shape (R, {width(size)})")
    totals = np.zeros(size, np.int64)
    flat = np.ascontiguousarray(packed).reshape(-1)
    unary_totals.add_reports(flat, width(size), totals)
    return totals


def perturbed_totals(
    counts: NDArray[np.int64], clients: int, fill: Fill, stream: Source, workers: int | None
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
            fill(packed[: part.size], part, own)
            unary_totals.add_reports(packed[: part.size].reshape(-1), width(size), block_totals)
        with lock:
            np.add(totals, block_totals, out=totals)

    on_blocks(work, clients, stream, workers)
    return totals


def checked_values(values: Any) -> NDArray[np.int64]:
    """Return the values of clients, (R,); missing entries and those beyond 64 bits are no value."""
    pieces = [np.empty(0, np.int64)]
    for part in Column.of(values).parts():
        checked_kind(part.present, "iuO", "values", "must hold integers")
        if part.present.ndim != 1:
            raise ParameterError("values", part.present.shape, "must have one dimension")
        present = _fitting(part.present) if part.present.dtype.kind == "O" else part.present
        whole = np.full(present.size if part.absent is None else part.absent.size, -1)
        # From 2^63 on, the uint64 becomes negative.
        whole[slice(None) if part.absent is None else ~part.absent] = present.astype(np.int64)
        pieces.append(whole)
    return np.concatenate(pieces)


def _fitting(objects: NDArray[Any]) -> NDArray[np.int64]:
    """Return integers of any size as 64 bits, and -1 for missing entries and for no value."""
    kinds = {cls: object_kinds.kind_of(cls) for cls in set(map(type, objects))}
    number = [cls for cls in kinds if kinds[cls] == "number" and issubclass(cls, numbers.Integral)]
    if wrong := [cls for cls in kinds if cls not in number and kinds[cls] != "missing"]:
        raise DtypeError("values", object_kinds.name_of(wrong), "must hold integers")
    whole = (
        int(entry) if type(entry) in number and 0 <= entry < 2**63 else -1 for entry in objects
    )
    return np.fromiter(whole, np.int64, objects.size)


def checked_counts(counts: ArrayLike, reports: int) -> tuple[NDArray[np.int64], int]:
    """Return how many clients have each value, (d,), and the number of reports."""
    exact = _check.counts("counts", counts)
    if exact.ndim != 1 or not 1 <= exact.size <= MOST_SIZE:
        raise ParameterError("counts", exact.shape, "must have the shape (d,), 1 <= d <= 2^24")
    reports = _check.integer("reports", reports, 0, MOST_REPORTS)
    if int(exact.sum()) > reports:
        raise ParameterError("reports", reports, "must not be less than the sum of counts")
    return exact, reports
