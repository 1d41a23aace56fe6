"""Summaries of columns in partitions: made where the partitions lie, and added up on the way.

The one place that knows that a summary of the whole is the sum of those of its parts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, Final, TypeVar

from .. import _check
from .._threads import one_processor
from ..errors import DpcoreError
from ..records.partitions import aligned, is_collection

__all__ = ["are_partitioned", "sum_of_parts"]

Summary = TypeVar("Summary")

_AT_A_TIME: Final = 8  # summaries that one task adds up


def are_partitioned(*columns: Any) -> bool:
    """Return whether any of the columns is a Dask collection."""
    return any(map(is_collection, columns))


def sum_of_parts(summary: Callable[..., Summary], **columns: Any) -> Summary:
    """Return the sum of the summaries of all partitions, made by Dask's scheduler.

    Parameters
    ----------
    summary
        Takes the columns of a partition, by position, and returns what ``+`` adds up: a method or
        a partial of a function, as it travels to the workers.
    **columns
        By argument: Dask collections, cut alike.

    Raises
    ------
    DpcoreError
        Whatever ``summary`` raises of no records, before a worker is asked; then whatever it
        raises of the first partition that it refuses.

    Notes
    -----
    Only summaries travel, eight at a time. Tasks return errors and do not raise them: Dask would
    log the task, and with it records.
    """
    empty, parts = aligned(columns)
    total = summary(*empty)
    dask = _check.extra("dask", "counting where columns lie", "dask")
    shared = dask.delayed(summary, pure=False, traverse=False)  # sent once, and not with every task
    attempt = dask.delayed(_attempted, pure=False)
    found = [attempt(_of_part, shared, part) for part in parts]
    while len(found) > 1:
        starts = range(0, len(found), _AT_A_TIME)
        found = [attempt(_added, *found[at : at + _AT_A_TIME]) for at in starts]
    for outcome in dask.compute(*found):
        if isinstance(outcome, DpcoreError):
            raise outcome
        total = outcome
    return total


def _attempted(work: Callable[..., Any], *given: Any) -> Any:
    """Return what comes of the work, or the first error among what it is given or raises itself."""
    failed = [each for each in given if isinstance(each, DpcoreError)]
    if failed:
        return failed[0]
    try:
        return work(*given)
    except DpcoreError as error:
        return error.with_traceback(None)


def _of_part(summary: Callable[..., Any], part: tuple[Any, ...]) -> Any:
    with one_processor():  # Dask has given the others to other tasks
        return summary(*part)


def _added(*summaries: Any) -> Any:
    return reduce(operator.add, summaries)  # into none of them: Dask may need them again
