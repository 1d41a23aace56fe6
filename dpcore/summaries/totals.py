"""Additive summaries of a column, chunk by chunk, on threads, with the same bits for any chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._threads import checked_workers, on_threads
from ..errors import MissingValueError
from ..records.column import Chunk

__all__ = ["NanPolicy", "add_on_threads", "count_in_table", "totals"]

NanPolicy = Literal["raise", "omit"]
Totals = NDArray[np.int64]

_TABLE_FROM: Final = 4  # values for each cell, from which on a table is used


def totals(
    chunks: Iterable[Chunk | None],
    add: Callable[[Chunk, Totals], int],
    size: int,
    least_part: int,
    nan_policy: NanPolicy,
) -> Totals:
    """Return the (size,) totals of all values.

    Parameters
    ----------
    chunks
        The chunks of a column, as ``Column.chunks`` yields them.
    add
        Adds a chunk's totals to an array, without the GIL, and returns the number of NaN values.
    size
        The number of totals.
    least_part
        The least part of a chunk that is worth a thread.
    nan_policy
        "raise" on missing values, or "omit" them.

    Raises
    ------
    MissingValueError
        There are missing values and nan_policy is "raise".
    DtypeError, ParameterError
        As ``Column.chunks`` raises them.
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    out = np.zeros(size, np.int64)
    for chunk in chunks:
        missing = chunk is None or _add_chunk(chunk, add, least_part, out) > 0
        if missing and nan_policy == "raise":
            raise MissingValueError("values")
    return out


def add_on_threads(
    add: Callable[[int, int, Totals], int], size: int, least_part: int, out: Totals
) -> int:
    """Add the totals of records 0, ..., size - 1, and return the number of records with a NaN.

    Parameters
    ----------
    add
        Takes the first record, the one behind the last, and an array. It adds their totals to the
        array, without the GIL, and returns the number of records with a NaN.
    size
        The number of records.
    least_part
        The least number of records that is worth a thread.
    out
        The array, to which totals are added in place.
    """
    parts = size // least_part
    # Asking the system takes time, so this asks only if necessary.
    processors = checked_workers(None) if parts > 1 else 1
    if processors == 1:
        return add(0, size, out)
    # With more parts than processors, a thread that starts late or is held up does fewer of them.
    parts = min(4 * processors, parts)
    # Otherwise some thread would have one more part to do.
    parts -= parts % processors if parts > processors else 0
    spare = [out]  # arrays that no thread uses now; at the end, one for each thread
    missing = np.zeros(parts, np.int64)

    def work(i: int) -> None:
        try:
            own = spare.pop()
        except IndexError:
            own = np.zeros(out.size, np.int64)
        missing[i] = add(i * size // parts, (i + 1) * size // parts, own)
        spare.append(own)

    on_threads(work, range(parts), None)
    for own in spare:
        if own is not out:
            out += own
    return int(missing.sum())


def count_in_table(
    count: Callable[[NDArray[np.uint16], Totals], int], values: int, out: Totals
) -> int:
    """Let a kernel of ``kernels.counting`` count so many values, and return the kernel's result.

    Parameters
    ----------
    count
        Takes a table and ``out``, like ``kernels.counting.tables.add``, and returns a number.
    values
        The number of values. With a few values for each cell, a table pays for its zeros.
    out
        (N,) the counts, to which values are added in place.
    """
    table = np.zeros(out.size if values >= _TABLE_FROM * out.size else 0, np.uint16)
    result = count(table, out)
    out[: table.size] += table
    return result


def _add_chunk(
    chunk: Chunk, add: Callable[[Chunk, Totals], int], least_part: int, out: Totals
) -> int:
    """Add a chunk, and return the number of its NaN values."""
    return add_on_threads(
        lambda start, stop, part: add(chunk[start:stop], part), chunk.size, least_part, out
    )
