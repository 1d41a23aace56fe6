"""Summaries of columns in partitions. They are made where the partitions lie, and added up.

Only this module knows that a summary of the whole is the sum of the summaries of its parts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, Final, TypeVar

from .. import _check
from .._threads import one_processor
from ..errors import DpcoreError
from ..records.column import Column, aligned, empty, mapped

__all__ = ["sum_of_parts"]

Summary = TypeVar("Summary")

_AT_A_TIME: Final = 8  # one task adds up to so many summaries


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
