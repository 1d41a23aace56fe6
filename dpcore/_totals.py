"""Additive summaries of a column: chunk by chunk, on threads, the same bits however it is cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _check, columns
from .errors import MissingValueError
from .randomness import on_threads

__all__ = ["NanPolicy", "totals"]

NanPolicy = Literal["raise", "omit"]
Totals = NDArray[np.int64]


def totals(
    values: Any,
    add: Callable[[columns.Chunk, Totals], int],
    size: int,
    least_part: int,
    nan_policy: NanPolicy,
) -> Totals:
    """Return the (size,) totals of all values.

    Parameters
    ----------
    values
        (n,) real numbers in any container that ``columns.chunks`` knows.
    add
        Adds a chunk's totals to an array, without the GIL, and returns how many values were NaN.
    size
        How many totals there are.
    least_part
        Of a chunk, to be worth a thread.
    nan_policy
        "raise" on missing values, or "omit" them.

    Raises
    ------
    MissingValueError
        There are missing values and nan_policy is "raise".
    DtypeError, ParameterError
        The values are not a one-dimensional array of real numbers.
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    out = np.zeros(size, np.int64)
    for chunk in columns.chunks(values):
        missing = chunk is None or _add_on_threads(chunk, add, least_part, out) > 0
        if missing and nan_policy == "raise":
            raise MissingValueError("values")
    return out


def _add_on_threads(
    chunk: columns.Chunk, add: Callable[[columns.Chunk, Totals], int], least_part: int, out: Totals
) -> int:
    """Add a chunk, and return how many of its values were NaN."""
    processors = os.cpu_count() or 1
    # More parts than processors: whoever starts late or is held up does fewer.
    parts = min(4 * processors, chunk.size // least_part)
    if parts <= 1 or processors == 1:
        return add(chunk, out)
    own = np.zeros((parts, out.size), np.int64)
    missing = np.zeros(parts, np.int64)

    def work(i: int) -> None:
        start, end = i * chunk.size // parts, (i + 1) * chunk.size // parts
        missing[i] = add(chunk[start:end], own[i])

    on_threads(work, range(parts), None)
    out += own.sum(axis=0)
    return int(missing.sum())
