"""How servers, partial sums and answers are stored as bytes; docs/guides/wire.md, section 5."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from io import BytesIO
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import DtypeError, FormatError
from . import wire
from .parameters import Protocol
from .tally import Tally
from .wire import ID_BYTES, REASONS

__all__ = [
    "HASH_BYTES",
    "Reader",
    "dump_tally",
    "dumped",
    "load_tally",
    "opened",
    "sealed",
]

_STATE: Final = b"DPCS"
_SIMULATED: Final = 1
_CLOSED: Final = 2
_NO_TOTALS: Final = 4
HASH_BYTES: Final = 32


def dump_tally(tally: Tally, protocol: Protocol) -> bytes:
    """Return the state of a server, which is as secret as the reports in it."""
    of = protocol.round
    waiting = [tally.waiting[kind] for kind in of.kinds if of.receivers > 1] or [{}, {}]
    counts = [tally.accepted, len(REASONS), len(tally.settled), *map(len, waiting)]
    refused = [tally.refused[reason] for reason in REASONS]
    words, flags = tally.words, _CLOSED * tally.closed
    # The totals are many zeros until keys are evaluated.
    if tally.memory is not None and not words.any():
        words, flags = words[:0], flags | _NO_TOTALS
    parts: list[bytes | ArrayLike] = [counts, refused, words, *sorted(tally.settled)]
    for payloads in waiting:
        for identity in sorted(payloads):
            parts += [identity, payloads[identity]]
    if tally.memory is not None:
        parts.append(tally.memory.to_bytes())
    return dumped(_STATE, protocol, tally.simulated, parts, flags)


def load_tally(data: bytes, protocol: Protocol) -> Tally:
    """Return the state of a saved server.

    Raises
    ------
    FormatError
        The data are damaged, or belong to another round or other parameters.
    """
    body = Reader(_STATE, data, protocol)
    of = protocol.round
    tally = Tally.empty(of)
    kinds = of.kinds if of.receivers > 1 else ()
    accepted, reasons, settled, *waiting = body.words(3 + (len(kinds) or 2)).tolist()
    if reasons != len(REASONS):
        raise FormatError(f"has {reasons} reasons to refuse a report, instead of {len(REASONS)}")
    tally.accepted = accepted
    tally.refused = dict(zip(REASONS, body.words(reasons).tolist(), strict=True))
    if not body.flags & _NO_TOTALS:
        tally.words = body.words(of.stored_words)
    for _ in range(settled):
        tally.settled.add(body.read(ID_BYTES))
    if any(waiting[len(kinds) :]):
        raise FormatError("has reports that wait, and here none does")
    for kind, count in zip(kinds, waiting, strict=False):
        for _ in range(count):
            identity = body.read(ID_BYTES)
            tally.waiting[kind][identity] = body.read(of.payload_bytes(kind))
    tally.memory = of.memory_from(body.read)
    tally.simulated, tally.closed = body.simulated, bool(body.flags & _CLOSED)
    body.end()
    return tally


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
    if len(data) < start + HASH_BYTES:
        raise FormatError("is cut short")
    if data[start - 1] != wire.VERSION:
        raise FormatError(f"is of version {data[start - 1]}; this dpcore reads {wire.VERSION}")
    if hashlib.sha256(data[:-HASH_BYTES]).digest() != data[-HASH_BYTES:]:
        raise FormatError("is damaged: its checksum is wrong")
    return data[start:-HASH_BYTES]


def dumped(
    magic: bytes,
    protocol: Protocol,
    simulated: bool,
    parts: Iterable[bytes | ArrayLike],
    flags: int = 0,
) -> bytes:
    """Return a round, flags, and parts, which are bytes, or numbers as words."""
    head = [*protocol.key, bytes([_SIMULATED * simulated | flags])]
    for part in parts:
        head.append(part if isinstance(part, bytes) else np.asarray(part, "<u8").tobytes())
    return sealed(magic, b"".join(head))


class Reader:
    """Reads what ``dumped`` has written, part by part.

    Raises
    ------
    DtypeError
        An argument is of another type.
    FormatError
        The data are damaged, or belong to another round or other parameters.
    """

    def __init__(self, magic: bytes, data: bytes, protocol: Protocol) -> None:
        if not isinstance(protocol, Protocol):
            raise DtypeError("protocol", type(protocol).__name__, "must be a Protocol")
        self._body = BytesIO(opened(magic, data))
        round_id, digest, self.flags = self.read(ID_BYTES), self.read(ID_BYTES), self.read(1)[0]
        if round_id != protocol.round_id:
            raise FormatError("belongs to another round")
        if digest != protocol.digest:
            raise FormatError("was made with other parameters")

    @property
    def simulated(self) -> bool:
        """Whether a generator has made anything in it."""
        return bool(self.flags & _SIMULATED)

    def read(self, length: int) -> bytes:
        """Return the next bytes."""
        body = self._body
        if length > body.getbuffer().nbytes - body.tell():  # a word for a length may have any value
            raise FormatError("is cut short")
        return body.read(length)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        return np.frombuffer(self.read(8 * count), "<u8").astype(np.uint64)

    def end(self) -> None:
        """Refuse more bytes."""
        if self._body.read(1):
            raise FormatError("has more bytes behind its end")
