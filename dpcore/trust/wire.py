"""Reports as bytes, and back; the format is in docs/wire.md. Pure functions, without any state."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from ..errors import DpcoreError, DtypeError

__all__ = [
    "ADDITIVE",
    "BITS",
    "HEADER_BYTES",
    "ID_BYTES",
    "REASONS",
    "SEED",
    "SEED_BYTES",
    "VERSION",
    "Reason",
    "Report",
    "ReportError",
    "RoundError",
    "decode",
    "encode",
    "expanded",
    "share",
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
    "duplicate",
    "full",
]
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)

VERSION: Final = 1
ADDITIVE: Final = 1  # what is left of a client's numbers, as 64-bit words
SEED: Final = 2  # 32 bytes that expand to such a share
BITS: Final = 3  # a level, and perturbed bits
SEED_BYTES: Final = 32
ID_BYTES: Final = 16  # of a round, of parameters, of a report

_MAGIC: Final = b"DPCR"
_HEADER: Final = struct.Struct("<4sBBH16s16s16sI")
HEADER_BYTES: Final = _HEADER.size
_KINDS: Final = (ADDITIVE, SEED, BITS)
_SIMULATED: Final = 1
_PREFIX: Final = 5  # magic and version, which stay where they are in all versions


class ReportError(DpcoreError, ValueError):
    """A report is refused, and has changed nothing.

    The message never quotes what a report holds.

    Parameters
    ----------
    reason
        One word for it: "length", "magic", "version", "kind", "flags", "round", "parameters",
        "payload", "duplicate" or "full".
    problem
        What is wrong, as the end of a sentence.
    """

    def __init__(self, reason: Reason, problem: str) -> None:
        self.reason: Reason = reason
        super().__init__(f"report refused ({reason}): it {problem}")


class RoundError(DpcoreError, ValueError):
    """The reports of a round cannot be released, or the servers do not agree about them.

    Or a copy of a client or a server that a fork has made was used in the child.
    """


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """One message of a client to one server.

    Parameters
    ----------
    kind
        1: an additive share; 2: the seed of one; 3: packed bits.
    round_id, digest, report_id
        16 bytes each: of the round, of the protocol's parameters, of the client's report.
    payload
        Of the length that ``Protocol.check`` asks for.
    simulated
        Whether its random numbers came from a generator.
    """

    kind: int
    round_id: bytes
    digest: bytes
    report_id: bytes
    payload: bytes
    simulated: bool = False

    def __repr__(self) -> str:
        """Tell the kind and the length alone: what clients send is not for logs."""
        return f"<Report of kind {self.kind}, {len(self.payload)} bytes>"


def encode(report: Report) -> bytes:
    """Return a report as bytes: a header of 60, and the payload."""
    return (
        _HEADER.pack(
            _MAGIC,
            VERSION,
            report.kind,
            _SIMULATED if report.simulated else 0,
            report.round_id,
            report.digest,
            report.report_id,
            len(report.payload),
        )
        + report.payload
    )


def decode(data: bytes | bytearray | memoryview) -> Report:
    """Read a report. Of which round and which parameters it has to be is checked elsewhere.

    Parameters
    ----------
    data
        All of it, and nothing behind it.

    Raises
    ------
    DtypeError
        data is not bytes.
    ReportError
        For "length", "magic", "version", "kind" or "flags".

    Notes
    -----
    O(length), which is what the caller has received, whatever the header says.

    Examples
    --------
    >>> report = Report(2, bytes(16), bytes(16), bytes(16), bytes(32))
    >>> decode(encode(report)) == report
    True
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DtypeError("report", type(data).__name__, "must be bytes")
    content = bytes(data)
    if len(content) < _PREFIX:
        raise ReportError("length", f"has {len(content)} bytes, fewer than a header")
    if content[:4] != _MAGIC:
        raise ReportError("magic", "does not begin as reports do")
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
        found = len(content) - HEADER_BYTES
        raise ReportError("length", f"says that {length} bytes follow, and {found} do")
    return Report(kind, round_id, digest, report_id, content[HEADER_BYTES:], bool(flags))


def expanded(seed: bytes, words: int) -> NDArray[np.uint64]:
    """Return the share that a seed of 32 bytes stands for, (words,), read-only.

    The key stream of AES-256 in counter mode from a counter of zero, as little-endian words. A seed
    is a key that is used for this alone, so that no nonce is needed.
    """
    stream = Cipher(algorithms.AES(seed), modes.CTR(bytes(16))).encryptor()
    return np.frombuffer(stream.update(bytes(8 * words)), "<u8")


def share(kind: int, payload: bytes, words: int) -> NDArray[np.uint64]:
    """Return the additive share that a payload of kind 1 or 2 stands for, (words,), read-only."""
    return expanded(payload, words) if kind == SEED else np.frombuffer(payload, "<u8")
