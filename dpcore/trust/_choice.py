"""Which of its records a client contributes: chosen at random, and secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import columns
from ..errors import DtypeError, MissingValueError, ParameterError
from ..kernels import grouping as kernels
from ..randomness import source

__all__ = ["Contributed", "choose", "choose_slots", "grouped"]


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
    """Return the records by id, (n,), and where those of each id end. Stable."""
    if ids.dtype.kind in "iu" and ids.size:
        keys, order = _radix_sorted(ids)
    else:
        order = np.argsort(ids, kind="stable")
        keys = ids[order]
    changes = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    return order, np.append(changes, ids.size) if ids.size else changes


def _radix_sorted(ids: NDArray[np.integer[Any]]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the ids, less the least one, in order, and the records that they are of."""
    first = int(ids.min())
    bits = (int(ids.max()) - first).bit_length()
    wide = ids.astype(np.uint64 if ids.dtype.kind == "u" else np.int64)
    keys = (wide - wide.dtype.type(first)).view(np.uint64)  # what wraps around is right again
    order = np.arange(ids.size)
    spare_keys, spare_order = np.empty_like(keys), np.empty_like(order)
    for shift in range(0, bits, kernels.DIGIT_BITS):
        kernels.by_digit(keys, order, shift, spare_keys, spare_order)
        keys, spare_keys, order, spare_order = spare_keys, keys, spare_order, order
    return keys, order
