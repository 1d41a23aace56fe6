"""The records that a client contributes: chosen at random, and the choice is secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DtypeError, MissingValueError, ParameterError
from ..kernels.clients import grouping as kernels
from ..noise.sources import source
from ..records import object_kinds
from ..records.column import Column

__all__ = ["Contributed", "choose", "choose_slots", "grouped"]


class Contributed(NamedTuple):
    """The reported records, (n,) booleans, and the number of empty ones."""

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
    """Choose, for each client, one of the records or empty ones that ``choose`` would choose."""
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
    """Return the choice that a kernel makes by so many random words."""
    stream, fresh = source(rng), np.empty(words, np.uint64)
    while True:  # continues with a probability of about words times records over 2^64
        stream.fill(fresh)
        chosen = np.zeros(order.size, bool)
        if kernel(order, ends, most, fresh, chosen):
            return chosen


def _by_client(
    client_ids: Any, size: int, clients: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records in the order of clients, (n,), and where each client's records end."""
    order, ends = grouped(_numbers(client_ids, size))
    if ends.size > clients:  # the number of such clients is private
        raise ParameterError("clients", clients, "must be no less than the clients with records")
    return order, ends


def _numbers(client_ids: Any, size: int) -> NDArray[np.integer[Any]]:
    """Return an integer for each record, (n,), the same for all records of a client."""
    ids = _column(client_ids)
    if ids.shape != (size,):
        raise ParameterError("client_ids", ids.shape, f"must have shape ({size},)")
    if ids.dtype.kind in "iu":
        return ids
    if ids.dtype.kind == "m":  # its elements may be integers, with one for missing ones
        raise DtypeError("client_ids", f"dtype {ids.dtype}", "must hold integers, or strings")
    names = [
        int(name) if isinstance(name, np.integer) and not isinstance(name, np.timedelta64) else name
        for name in ids.tolist()
    ]
    if ids.dtype.kind in "OT" and object_kinds.missing(np.fromiter(names, object, size)).any():
        raise MissingValueError("client_ids")
    if all(isinstance(name, int) and not isinstance(name, bool) for name in names):
        whole = np.array(names) if names else np.empty(0, np.int64)
        if whole.dtype.kind in "iu":
            return whole
        kind: type = int  # for integers beyond 64 bits
    else:
        kind = str
    if all(isinstance(name, kind) for name in names):
        known: dict[int | str, int] = {}
        plainly: Any = int.__int__ if kind is int else str.__str__  # subclasses may compare oddly
        numbered = (known.setdefault(plainly(name), len(known)) for name in names)
        return np.fromiter(numbered, np.int64, size)
    raise DtypeError("client_ids", f"dtype {ids.dtype}", "must hold integers, or strings")


def _column(client_ids: Any) -> NDArray[Any]:
    """Return the ids as one array, which is of objects if they were in a list."""
    given = client_ids
    if isinstance(client_ids, list | tuple):  # as they are, because NumPy would ask each of them
        given = np.fromiter(client_ids, object, len(client_ids))
    columns = list(Column.of(given, "client_ids").parts())
    if any(part.absent is not None for part in columns):
        raise MissingValueError("client_ids")
    present = [part.present for part in columns]
    if not present:
        return np.empty(0, np.int64)
    return np.concatenate(present) if len(present) > 1 else present[0]


def grouped(ids: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records in the order of ids, (n,), and where each id's records end.

    The sort is a stable radix sort.
    """
    if ids.size == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    first = int(ids.min())
    bits = (int(ids.max()) - first).bit_length()
    wide = ids.astype(np.uint64 if ids.dtype.kind == "u" else np.int64)
    # As unsigned integers, wrapped differences are right.
    keys = (wide - wide.dtype.type(first)).view(np.uint64)
    order = np.arange(ids.size)
    spare_keys, spare_order = np.empty_like(keys), np.empty_like(order)
    for shift in range(0, bits, kernels.DIGIT_BITS):
        kernels.by_digit(keys, order, shift, spare_keys, spare_order)
        keys, spare_keys, order, spare_order = spare_keys, keys, spare_order, order
    changes = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    return order, np.append(changes, ids.size)
