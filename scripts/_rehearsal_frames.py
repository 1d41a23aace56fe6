"""What the processes of rehearsals say to each other over TCP: frames, on 127.0.0.1.

Frames are a length, 4 bytes, little-endian, and as many bytes. The first byte of a request says
what it is; answers are a frame each, b"+" and more, or b"-" and why not. There is no encryption
here: a deployment needs a channel that nobody else reads (docs/wire.md).
"""

import socket
import struct
from typing import Final

from dpcore.trust import RoundError

HOST: Final = "127.0.0.1"
REPORT, IDS, SETTLE, CLOSE, ANSWER, COUNTS = b"R", b"I", b"S", b"C", b"A", b"N"
MOST_FRAME: Final = 2**22  # bytes; a longer one is refused before it is read
TIMEOUT: Final = 10.0  # seconds without a byte
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
        It would be too long.
    ConnectionError
        The other side went away before its end.
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
    """Return what is behind the b"+" of an answer.

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
    while len(parts) < length:  # ends: every turn brings a byte, or raises
        part = connection.recv(min(length - len(parts), 2**16))
        if not part:
            raise ConnectionError("the other side went away")
        parts += part
    return bytes(parts)
