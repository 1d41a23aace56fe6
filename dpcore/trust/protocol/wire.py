"""Reports to bytes, and back; docs/guides/wire.md has the format. The functions have no state."""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from ...errors import DpcoreError, DtypeError

__all__ = [
    "ADDITIVE",
    "BITS",
    "FUNCTION",
    "HEADER_BYTES",
    "ID_BYTES",
    "KEY_BYTES",
    "OPEN",
    "OWN",
    "REASONS",
    "SEED",
    "SEED_BYTES",
    "VERSION",
    "Reason",
    "Report",
    "ReportError",
    "RoundError",
    "client_key",
    "decode",
    "encode",
    "expanded",
    "keyed_hash",
    "tag_of",
]

Reason = Literal[
    "length",
    "magic",
    "version",
    "kind",
    "flags",
    "round",
    "parameters",
    "payload",
    "tag",
    "duplicate",
    "full",
]
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)

VERSION: Final = 2
ADDITIVE: Final = 1  # a client's numbers minus its other shares, as 64-bit words
SEED: Final = 2  # 32 bytes that expand to such a share
BITS: Final = 3  # a level and its perturbed bits
FUNCTION: Final = 4  # a key of a comparison function
OWN: Final = 5  # what the trust model says
SEED_BYTES: Final = 32
ID_BYTES: Final = 16  # the bytes of the identifier of a round, parameters or a report

_MAGIC: Final = b"DPCR"
_HEADER: Final = struct.Struct("<4sBBH16s16s16sI")
_TAG_BYTES: Final = 32
HEADER_BYTES: Final = _HEADER.size + _TAG_BYTES
KEY_BYTES: Final = 32
OPEN: Final = b""  # replaces an enrolment's key if everybody may report
_LABEL: Final = b"dpcore client key"
_KINDS: Final = (ADDITIVE, SEED, BITS, FUNCTION, OWN)
_SIMULATED: Final = 1
_FROM_ZERO: Final = modes.CTR(bytes(16))
_PREFIX: Final = 5  # the magic number and the version have these places in all versions


class ReportError(DpcoreError, ValueError):
    """A report is refused, and has changed nothing.

    The message never quotes the contents of a report.

    Parameters
    ----------
    reason
        The reason in one word: "length", "magic", "version", "kind", "flags", "round",
        "parameters", "payload", "tag", "duplicate" or "full".
    problem
        The problem, as the end of a sentence.
    """

    def __init__(self, reason: Reason, problem: str) -> None:
        self.reason: Reason = reason
        super().__init__(f"report refused ({reason}): it {problem}")


class RoundError(DpcoreError, ValueError):
    """The reports of a round cannot be released, or the servers do not agree about them.

    It is also raised if a child process uses the copy of a client or a server that a fork has made.
    """


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """One message of a client to one server.

    Parameters
    ----------
    kind
        1: an additive share; 2: the seed of one; 3: packed bits; 4: a key of a shared function;
        5: what the trust model says.
    round_id, digest, report_id
        16 bytes each: the ids of the round, of the protocol's parameters, and of the client's
        report.
    payload
        Bytes, as many as ``Protocol.check`` asks for.
    simulated
        Whether its random numbers came from a generator.
    tag
        32 bytes, ``tag_of`` all fields above.
    """

    kind: int
    round_id: bytes
    digest: bytes
    report_id: bytes
    payload: bytes
    simulated: bool = False
    tag: bytes = bytes(_TAG_BYTES)

    def __repr__(self) -> str:
        """Return only the kind and the length, because a client's data must not get into logs."""
        return f"<Report of kind {self.kind}, {len(self.payload)} bytes>"


def keyed_hash(key: bytes, content: bytes) -> bytes:
    """Return HMAC-SHA256, 32 bytes."""
    return hmac.digest(key, content, hashlib.sha256)


def client_key(secret: bytes, round_id: bytes, report_id: bytes) -> bytes:
    """Return the key of a client's reports; if ``secret`` is ``OPEN``, it is not secret either."""
    return keyed_hash(secret, _LABEL + round_id + report_id)


def tag_of(report: Report, key: bytes) -> bytes:
    """Return the tag of header and payload, which nobody can make without the key."""
    return keyed_hash(key, _head(report) + report.payload)


def encode(report: Report, key: bytes | None = None) -> bytes:
    """Return a report as bytes: a header of 60, the tag of 32, and the payload.

    The tag is the one that this key makes; None: the report's own.
    """
    head = _head(report)
    tag = report.tag if key is None else keyed_hash(key, head + report.payload)
    return head + tag + report.payload


def _head(report: Report) -> bytes:
    return _HEADER.pack(
        _MAGIC,
        VERSION,
        report.kind,
        _SIMULATED if report.simulated else 0,
        report.round_id,
        report.digest,
        report.report_id,
        len(report.payload),
    )


def decode(data: bytes | bytearray | memoryview) -> Report:
    """Return the report that bytes hold, without checking its round, parameters and tag.

    Parameters
    ----------
    data
        The whole report, and nothing behind it.

    Raises
    ------
    DtypeError
        ``data`` are not bytes.
    ReportError
        For "length", "magic", "version", "kind" or "flags".

    Notes
    -----
    O(length) of the received bytes, whatever the header says.

    Examples
    --------
    >>> from dpcore.trust import Client, Protocol, SecureAggregation
    >>> from dpcore.trust.protocol.wire import decode
    >>> protocol = Protocol(SecureAggregation(), 4, bytes(16))
    >>> for report in map(decode, Client(protocol).report(2)):
    ...     print(report.kind, len(report.payload))
    2 32
    1 32
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DtypeError("report", type(data).__name__, "must be bytes")
    content = bytes(data)
    if len(content) < _PREFIX:
        raise ReportError("length", f"has {len(content)} bytes, fewer than a header")
    if content[:4] != _MAGIC:
        raise ReportError("magic", "does not begin like a report")
    if content[4] != VERSION:
        raise ReportError("version", f"is of version {content[4]}; this server reads {VERSION}")
    if len(content) < HEADER_BYTES:
        raise ReportError("length", f"has {len(content)} bytes, fewer than a header")
    _, _, kind, flags, round_id, digest, report_id, length = _HEADER.unpack_from(content)
    if kind not in _KINDS:
        raise ReportError("kind", f"is of kind {kind}, which does not exist")
    if flags & ~_SIMULATED:
        raise ReportError("flags", "has flags that mean nothing in this version")
    if length != len(content) - HEADER_BYTES:
        size = len(content) - HEADER_BYTES
        raise ReportError("length", f"says that {length} bytes follow, but {size} do")
    tag, payload = content[_HEADER.size : HEADER_BYTES], content[HEADER_BYTES:]
    return Report(kind, round_id, digest, report_id, payload, bool(flags), tag)


def expanded(seed: bytes, words: int) -> NDArray[np.uint64]:
    """Return the share that a seed of 32 bytes stands for, (words,), read-only.

    It is the key stream of AES-256 in counter mode from a counter of zero, as little-endian words.
    A seed is a key that is used only for this, so no nonce is needed.
    """
    stream = Cipher(algorithms.AES(seed), _FROM_ZERO).encryptor()
    return np.frombuffer(stream.update(bytes(8 * words)), "<u8")
