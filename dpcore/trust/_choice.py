"""Which of its records a client contributes: chosen at random, and secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import columns
from ..errors import DtypeError, MissingValueError, ParameterError
from ..kernels import grouping as kernels
from ..randomness import source

__all__ = ["Contributed", "choose", "choose_slots", "grouped"]

_MOST_SPREAD: Final = 4  # of integer ids, for each record


class Contributed(NamedTuple):
    """What is reported: which records, (n,) booleans, and how many empty ones."""

    records: NDArray[np.bool_]
    empty: int


def choose(
    client_ids: Any, size: int, clients: int, most: int, rng: np.random.Generator | None
) -> Contributed:
    """Choose ``most`` records of each client, or all of them and empty ones."""
    order, ends = _by_client(client_ids, size, clients)
    larger = int(np.count_nonzero(np.diff(ends, prepend=0) > most))
    chosen = _tried(kernels.choose, order, ends, most, most * larger, rng)
    return Contributed(chosen, clients * most - int(np.count_nonzero(chosen)))


def choose_slots(
    client_ids: Any, size: int, clients: int, most: int, rng: np.random.Generator | None
) -> Contributed:
    """Choose one of those that ``choose`` would choose, or of the empty ones, of each client."""
    order, ends = _by_client(client_ids, size, clients)
    chosen = _tried(kernels.choose_slots, order, ends, most, ends.size, rng)
    return Contributed(chosen, clients - int(np.count_nonzero(chosen)))


def _tried(
    kernel: Callable[..., bool],
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
    most: int,
    words: int,
    rng: np.random.Generator | None,
) -> NDArray[np.bool_]:
    """Return the choice that a kernel makes of so many random words."""
    stream, fresh = source(rng), np.empty(words, np.uint64)
    while True:  # goes on with probability below 2^-24
        stream.fill(fresh)
        chosen = np.zeros(order.size, bool)
        if kernel(order, ends, most, fresh, chosen):
            return chosen


def _by_client(
    client_ids: Any, size: int, clients: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records by client, (n,), and where each client's end."""
    missing = columns.absent(client_ids, "client_ids")
    if missing is not None and missing.any():
        raise MissingValueError("client_ids")
    parts = [part for part in columns.arrays(client_ids, "client_ids") if part is not None]
    ids = np.concatenate(parts) if len(parts) != 1 else parts[0]
    if ids.dtype.kind == "O" and all(isinstance(each, str) for each in ids):
        ids = ids.astype(str)
    if ids.dtype.kind not in "iuUST" and ids.size:
        raise DtypeError("client_ids", f"dtype {ids.dtype}", "must hold integers or strings")
    if ids.shape != (size,):
        raise ParameterError("client_ids", ids.shape, f"must have shape ({size},)")
    order, ends = grouped(ids)
    if np.count_nonzero(np.diff(ends, prepend=0)) > clients:  # how many they are is private
        raise ParameterError("clients", clients, "must be no less than those that have records")
    return order, ends


def grouped(ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records by id, (n,), and where those of each id end; ids may have none."""
    if ids.size == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if ids.dtype.kind in "iu":
        first = int(ids.min())
        span = int(ids.max()) - first + 1
        if span <= _MOST_SPREAD * ids.size:  # close together: sorted by counting
            wide = ids.astype(np.uint64 if ids.dtype.kind == "u" else np.int64)
            groups = (wide - wide.dtype.type(first)).astype(np.int64)
            sizes, order = np.bincount(groups, minlength=span), np.empty(ids.size, np.int64)
            ends = np.cumsum(sizes) - sizes
            kernels.by_group(groups, ends, order)
            return order, ends
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    return order, np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, ids.size)
