"""Saved servers, partial sums and answers to bytes, and back; docs/guides/wire.md, section 5."""

from __future__ import annotations

import hashlib
from functools import partial
from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import DtypeError, FormatError
from . import wire
from .parameters import Protocol
from .tally import Tally
from .wire import ID_BYTES, REASONS

__all__ = [
    "dump_answer",
    "dump_sum",
    "dump_tally",
    "load_answer",
    "load_sum",
    "load_tally",
    "opened",
    "sealed",
]

_STATE: Final = b"DPCS"
_SUM: Final = b"DPCT"
_ANSWER: Final = b"DPCA"
_SIMULATED: Final = 1
_CLOSED: Final = 2
_NO_TOTALS: Final = 4
_CHECKSUM: Final = 32


def dump_tally(tally: Tally, protocol: Protocol) -> bytes:
    """Return the state of a server, which is as secret as the reports in it."""
    of = protocol.round
    waiting = [tally.waiting[kind] for kind in of.kinds if of.receivers > 1] or [{}, {}]
    counts = [tally.accepted, len(REASONS), len(tally.settled), *map(len, waiting)]
    refused = [tally.refused[reason] for reason in REASONS]
    words, flags = tally.words, _SIMULATED * tally.simulated | _CLOSED * tally.closed
    # The totals are many zeros until keys are evaluated.
    if tally.memory is not None and not words.any():
        words, flags = words[:0], flags | _NO_TOTALS
    parts = [
        *protocol.key,
        bytes([flags]),
        *(_packed(numbers) for numbers in (counts, refused, words)),
        *sorted(tally.settled),
    ]
    for payloads in waiting:
        for identity in sorted(payloads):
            parts += [identity, payloads[identity]]
    if tally.memory is not None:
        parts.append(tally.memory.to_bytes())
    return sealed(_STATE, b"".join(parts))


def load_tally(data: bytes, protocol: Protocol) -> Tally:
    """Return the state of a saved server.

    Raises
    ------
    FormatError
        The data are damaged, or belong to another round or other parameters.
    """
    body, flags = _begun(_STATE, data, protocol)
    of = protocol.round
    tally = Tally.empty(of)
    kinds = of.kinds if of.receivers > 1 else ()
    accepted, reasons, settled, *waiting = _words(body, 3 + (len(kinds) or 2)).tolist()
    if reasons != len(REASONS):
        raise FormatError(f"has {reasons} reasons to refuse a report, instead of {len(REASONS)}")
    tally.accepted = accepted
    tally.refused = dict(zip(REASONS, _words(body, reasons).tolist(), strict=True))
    if not flags & _NO_TOTALS:
        tally.words = _words(body, of.stored_words)
    for _ in range(settled):
        tally.settled.add(_read(body, ID_BYTES))
    if any(waiting[len(kinds) :]):
        raise FormatError("has reports that wait, and here none does")
    for kind, count in zip(kinds, waiting, strict=False):
        for _ in range(count):
            identity = _read(body, ID_BYTES)
            tally.waiting[kind][identity] = _read(body, of.payload_bytes(kind))
    tally.memory = of.memory_from(partial(_read, body))
    tally.simulated, tally.closed = bool(flags & _SIMULATED), bool(flags & _CLOSED)
    _ended(body)
    return tally


def dump_sum(
    protocol: Protocol,
    totals: NDArray[np.uint64],
    reports: int,
    clients: bytes,
    by_level: tuple[int, ...],
    simulated: bool,
) -> bytes:
    """Return the parts of a partial sum as bytes."""
    parts = [
        *protocol.key,
        bytes([_SIMULATED * simulated]),
        _packed([reports]),
        clients,
        _packed(by_level),
        _packed(totals),
    ]
    return sealed(_SUM, b"".join(parts))


def load_sum(data: bytes, protocol: Protocol) -> dict[str, Any]:
    """Return the arguments that make the partial sum.

    Raises
    ------
    FormatError
        The data are damaged, or belong to another round or other parameters.
    """
    body, flags = _begun(_SUM, data, protocol)
    fields = {
        "protocol": protocol,
        "reports": int(_words(body, 1)[0]),
        "clients": _read(body, _CHECKSUM),
        "by_level": tuple(_words(body, len(protocol.asked)).tolist()),
        "totals": _words(body, protocol.words),
        "simulated": bool(flags & _SIMULATED),
    }
    _ended(body)
    return fields


def dump_answer(
    protocol: Protocol,
    cells: NDArray[np.int64],
    shares: NDArray[np.uint64],
    total: int,
    reports: int,
    clients: bytes,
    simulated: bool,
) -> bytes:
    """Return the parts of an answer as bytes."""
    parts = [
        *protocol.key,
        bytes([_SIMULATED * simulated]),
        _packed([reports, cells.size, total]),
        clients,
        _packed(cells),
        _packed(shares),
    ]
    return sealed(_ANSWER, b"".join(parts))


def load_answer(data: bytes, protocol: Protocol) -> dict[str, Any]:
    """Return the arguments that make the answer.

    Raises
    ------
    FormatError
        The data are damaged, or belong to another round or other parameters.
    """
    body, flags = _begun(_ANSWER, data, protocol)
    reports, asked, total = _words(body, 3).tolist()
    clients, cells = _read(body, _CHECKSUM), _words(body, asked)
    if np.any(cells >= protocol.cells):
        raise FormatError(f"is about a cell that is not one of {protocol.cells}")
    fields = {
        "protocol": protocol,
        "total": total,
        "reports": reports,
        "clients": clients,
        "cells": cells.astype(np.int64),
        "shares": _words(body, asked),
        "simulated": bool(flags & _SIMULATED),
    }
    _ended(body)
    return fields


def sealed(magic: bytes, body: bytes) -> bytes:
    """Return magic number, version, body, and a checksum of these.

    The checksum, SHA-256, detects damage; it is no signature.
    """
    content = magic + bytes([wire.VERSION]) + body
    return content + hashlib.sha256(content).digest()


def opened(magic: bytes, data: bytes) -> bytes:
    """Return the body of sealed data.

    Raises
    ------
    DtypeError
        ``data`` are not bytes.
    FormatError
        They are something else, of another version, cut short or damaged.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DtypeError("data", type(data).__name__, "must be bytes")
    data = bytes(data)
    if data[: len(magic)] != magic:
        raise FormatError(f"does not begin with {magic.decode()}")
    start = len(magic) + 1
    if len(data) < start + _CHECKSUM:
        raise FormatError("is cut short")
    if data[start - 1] != wire.VERSION:
        raise FormatError(f"is of version {data[start - 1]}; this dpcore reads {wire.VERSION}")
    if hashlib.sha256(data[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
        raise FormatError("is damaged: its checksum is wrong")
    return data[start:-_CHECKSUM]


def _begun(magic: bytes, data: bytes, protocol: Protocol) -> tuple[BytesIO, int]:
    """Return the rest of the body behind the flags, and the flags."""
    if not isinstance(protocol, Protocol):
        raise DtypeError("protocol", type(protocol).__name__, "must be a Protocol")
    body = BytesIO(opened(magic, data))
    round_id, digest, flags = _read(body, ID_BYTES), _read(body, ID_BYTES), _read(body, 1)
    if round_id != protocol.round_id:
        raise FormatError("belongs to another round")
    if digest != protocol.digest:
        raise FormatError("was made with other parameters")
    return body, flags[0]


def _ended(body: BytesIO) -> None:
    if body.read(1):
        raise FormatError("has more bytes behind its end")


def _read(body: BytesIO, length: int) -> bytes:
    if length > body.getbuffer().nbytes - body.tell():  # the word for a length may have any value
        raise FormatError("is cut short")
    return body.read(length)


def _packed(numbers: ArrayLike) -> bytes:
    return np.asarray(numbers, "<u8").tobytes()


def _words(body: BytesIO, count: int) -> NDArray[np.uint64]:
    return np.frombuffer(_read(body, 8 * count), "<u8").astype(np.uint64)
