"""The frames that the processes of rehearsals send each other over TCP, on 127.0.0.1.

A frame is a length (4 bytes, little-endian) and as many bytes. The first byte of a request is its
kind. An answer is one frame: b"+" and the result, or b"-" and the reason for a refusal. There is no
encryption here. A deployment needs a channel that nobody else can read (docs/guides/wire.md).
"""

import socket
import struct
from typing import Final

from dpcore.trust import RoundError

HOST: Final = "127.0.0.1"
REPORT, IDS, SETTLE, CLOSE, ANSWER, COUNTS = b"R", b"I", b"S", b"C", b"A", b"N"
MOST_FRAME: Final = 2**22  # bytes; a longer one is refused before it is read
TIMEOUT: Final = 10.0  # seconds to wait for a byte
LENGTH: Final = struct.Struct("<I")
_PATIENCE: Final = 60.0  # seconds for an answer: a server that has just started may compile


def send(connection: socket.socket, content: bytes) -> None:
    """Send one frame."""
    connection.sendall(LENGTH.pack(len(content)) + content)


def receive(connection: socket.socket) -> bytes:
    """Return one frame.

    Raises
    ------
    ValueError
        The frame would be too long.
    ConnectionError
        The other side closed the connection before the end of the frame.
    """
    (length,) = LENGTH.unpack(_exactly(connection, LENGTH.size))
    if length > MOST_FRAME:
        raise ValueError(f"a frame of {length} bytes: more than {MOST_FRAME}")
    return _exactly(connection, length)


def ask(port: int, request: bytes) -> bytes:
    """Send one request to a server, and return its answer."""
    with socket.create_connection((HOST, port), timeout=_PATIENCE) as connection:
        send(connection, request)
        return receive(connection)


def checked(answer: bytes) -> bytes:
    """Return the content of an answer after its b"+".

    Raises
    ------
    RoundError
        The server refuses.
    """
    if answer[:1] != b"+":
        raise RoundError(f"a server refuses: {answer[1:].decode()}")
    return answer[1:]


def _exactly(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:  # ends, because every turn brings a byte or raises
        part = connection.recv(min(length - len(parts), 2**16))
        if not part:
            raise ConnectionError("the other side closed the connection")
        parts += part
    return bytes(parts)
