"""Additive summaries of a column, chunk by chunk, on threads, with the same bits for any chunks.

Only this module knows that a summary of the whole is the sum of the summaries of its parts. If a
column is in partitions, their summaries are made where they lie.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._threads import checked_workers, on_threads, one_processor
from ..errors import DpcoreError, MissingValueError
from ..records.column import Chunk, Column, aligned, empty, mapped

__all__ = ["NanPolicy", "add_on_threads", "count_in_table", "sum_of_parts", "totals"]

NanPolicy = Literal["raise", "omit"]
Totals = NDArray[np.int64]
Summary = TypeVar("Summary")

_TABLE_FROM: Final = 4  # values for each cell, from which on a table is used
_AT_A_TIME: Final = 8  # one task adds up to so many summaries


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


def sum_of_parts(summary: Callable[..., Summary], *columns: Column) -> Summary:
    """Return the sum of the summaries of all partitions, made by Dask's scheduler.

    Parameters
    ----------
    summary
        A function of the columns of a partition, by position. Its results can be added with ``+``.
        It is a method or a partial of a function, because it travels to the workers.
    *columns
        Dask collections, cut into the same partitions.

    Raises
    ------
    DpcoreError
        The error of ``summary`` for no records, before any worker starts; then the error for the
        first partition that it refuses.

    Notes
    -----
    Only summaries travel, eight at a time. Tasks return errors and do not raise them, because Dask
    would log the task, and with it records.
    """
    cut = aligned(columns)
    total = summary(*map(empty, cut))
    dask = _check.extra("dask", "counting where columns lie", "dask")
    # Dask sends it once, not with every task.
    shared = dask.delayed(summary, pure=False, traverse=False)
    summaries = mapped(_of_part, cut, shared)
    add = dask.delayed(_added, pure=False)
    while len(summaries) > 1:
        starts = range(0, len(summaries), _AT_A_TIME)
        summaries = [add(*summaries[at : at + _AT_A_TIME]) for at in starts]
    for outcome in dask.compute(*summaries):
        if isinstance(outcome, DpcoreError):
            raise outcome
        total = outcome
    return total


def _of_part(*columns: Any, summary: Callable[..., Any]) -> Any:
    with one_processor():  # Dask uses the other processors for other tasks
        return _attempted(summary, *columns)


def _added(*summaries: Any) -> Any:
    """Return the sum, or the first error among the summaries."""
    failed = (summary for summary in summaries if isinstance(summary, DpcoreError))
    # The sum is a new object, because Dask may need the summaries again.
    return next(failed, None) or _attempted(reduce, operator.add, summaries)


def _attempted(work: Callable[..., Any], *given: Any) -> Any:
    """Return the result of the work, or the error that it raises."""
    try:
        return work(*given)
    except DpcoreError as error:
        return error.with_traceback(None)
