"""The processes of rehearsals: servers that listen on 127.0.0.1, and clients that report to them.

Servers take reports only from clients with a ticket. Tickets and secrets come through a pipe. A
deployment needs its own way to know whom to enrol (docs/guides/wire.md).
"""

import hashlib
import json
import os
import secrets
import socket
import socketserver
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.trust import (
    Client,
    DistributedNoise,
    Enrolment,
    FunctionSharing,
    PartialSum,
    Protocol,
    ReportError,
    Server,
    Ticket,
)
from dpcore.trust.protocol.wire import decode, encode

from .frames import (
    ANSWER,
    CLOSE,
    COUNTS,
    HOST,
    IDS,
    LENGTH,
    REPORT,
    SETTLE,
    TIMEOUT,
    ask,
    checked,
    receive,
    send,
)

_MOST_REQUESTS: Final = 16  # of one connection
_SAVED_EVERY: Final = 20  # reports
_ID: Final = 16
_MODELS: Final = {"distributed noise": DistributedNoise, "function sharing": FunctionSharing}


def protocol_of(settings: dict[str, Any]) -> Protocol:
    """Return the protocol that all processes share, from the settings in their command line."""
    trust = _MODELS[settings["model"]](**settings["trust"])
    return Protocol(trust, settings["size"], bytes.fromhex(settings["round"]), enrolled=True)


# --- a server


class Listener(socketserver.ThreadingTCPServer):
    """A ``Server`` behind a port, with a file from which it can continue."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, protocol: Protocol, enrolment: Enrolment, path: Path, place: Any = None
    ) -> None:
        super().__init__((HOST, 0), _Handler)
        self.path = path
        self.turn = threading.Lock()
        found = path.read_bytes() if path.exists() else None
        if found is None:
            self.server = Server(protocol, enrolment, place=place)
        else:
            self.server = Server.from_bytes(found, protocol, enrolment)

    def answer(self, request: bytes) -> bytes:
        """Do a request, and return b"+" and the result, or b"-" and the reason for a refusal."""
        kind, content = request[:1], request[1:]
        with self.turn:
            try:
                return b"+" + self.done(kind, content)
            except ReportError as error:
                return b"-" + error.reason.encode()
            except DpcoreError as error:
                return b"-" + str(error).encode()

    def done(self, kind: bytes, content: bytes) -> bytes:
        """Do a request of some kind, and return the result."""
        server = self.server
        if kind == REPORT:
            server.add(content)
            if server.accepted % _SAVED_EVERY == 0:
                self.save()
        elif kind == IDS:
            self.save()  # a report that somebody was told of must not get lost
            return b"".join(sorted(server.ids))
        elif kind == SETTLE:
            server.settle(content[i : i + _ID] for i in range(0, len(content), _ID))
            self.save()
        elif kind == CLOSE:
            part = server.close()
            self.save()  # before the sum is sent, so that an old file cannot give another sum
            return part.to_bytes()
        elif kind == ANSWER:
            was_closed = server.is_closed
            answer = server.answer(np.frombuffer(content, "<u8").astype(np.int64))
            if not was_closed:  # before it is sent, so that the file takes no other clients
                self.save()
            return answer.to_bytes()
        elif kind == COUNTS:
            return json.dumps({"accepted": server.accepted, **server.refused}).encode()
        return b""

    def save(self) -> None:
        """Write the whole state of the server to its file, in one step."""
        fresh = self.path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(self.server.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self.path)


class FallingListener(Listener):
    """A listener that fails before it sends its first answer, and prints a hash of the answer."""

    def done(self, kind: bytes, content: bytes) -> bytes:
        """Do a request, but fail instead of sending an answer."""
        said = super().done(kind, content)
        if kind == ANSWER:
            print(hashlib.sha256(said).hexdigest(), flush=True)
            os._exit(1)  # without cleaning up, as if somebody had killed it
        return said


class _Handler(socketserver.BaseRequestHandler):
    server: Listener

    def handle(self) -> None:
        self.request.settimeout(TIMEOUT)
        for _ in range(_MOST_REQUESTS):
            try:
                send(self.request, self.server.answer(receive(self.request)))
            except (OSError, ValueError):
                return  # the client is gone, too slow, or sends too much


# --- clients


def report_all(
    protocol: Protocol, cells: Sequence[int], tickets: Sequence[Ticket], ports: Sequence[int]
) -> int:
    """Let a client report each cell, and return how many reached all servers."""
    reached = 0
    for cell, ticket in zip(cells, tickets, strict=True):
        reports = Client(protocol, ticket=ticket).report(cell)
        answers = [ask(port, REPORT + report) for port, report in zip(ports, reports, strict=True)]
        reached += all(answer == b"+" for answer in answers)
    return reached


def misbehave(protocol: Protocol, enrolment: Enrolment, ports: Sequence[int]) -> dict[str, str]:
    """Misbehave in ways that servers must withstand, and return their answers."""

    def reports(of: Protocol, name: str) -> list[bytes]:
        return Client(of, ticket=enrolment.ticket(of, name)).report(0)

    def said_of(report: bytes) -> str:
        answer = ask(ports[0], REPORT + report)
        return "accepted" if answer == b"+" else f"refused: {answer[1:].decode()}"

    said = {}
    fine = reports(protocol, "reaches one server")
    said["says that more bytes follow than do"] = said_of(fine[0][:-8])
    other = replace(protocol, round_id=secrets.token_bytes(16))
    said["reports for another round"] = said_of(reports(other, "late")[0])
    larger = replace(protocol, size=2 * protocol.size)
    said["reports for other parameters"] = said_of(reports(larger, "larger")[0])
    twice = reports(protocol, "sends twice")
    for at, report in zip(ports, twice, strict=True):
        ask(at, REPORT + report)
    said["sends twice"] = said_of(twice[0])
    said["makes a second report"] = said_of(reports(protocol, "sends twice")[0])
    renamed = replace(decode(twice[0]), report_id=secrets.token_bytes(16))
    said["sends it under another id"] = said_of(encode(renamed))
    if protocol.shares_functions:
        said["sends the key for the other server"] = said_of(fine[1])
    said["reports to one server alone"] = said_of(fine[0])
    with socket.create_connection((HOST, ports[0]), timeout=TIMEOUT) as connection:
        connection.sendall(LENGTH.pack(2**32 - 1))
        try:
            receive(connection)
            said["announces 4 GiB"] = "answered"
        except (OSError, ValueError):
            said["announces 4 GiB"] = "connection closed"
    return said


# --- bringing the servers together


def settle(ports: Sequence[int]) -> int:
    """Let the servers settle on the clients that all of them have, and return their number."""
    held = [checked(ask(port, IDS)) for port in ports]
    each = [{ids[i : i + _ID] for i in range(0, len(ids), _ID)} for ids in held]
    common = set.intersection(*each)
    for port in ports:
        checked(ask(port, SETTLE + b"".join(sorted(common))))
    return len(common)


def sums_of(protocol: Protocol, ports: Sequence[int]) -> list[PartialSum]:
    """End the round, and return the servers' sums."""
    return [PartialSum.from_bytes(checked(ask(port, CLOSE)), protocol) for port in ports]


def counts_of(ports: Sequence[int]) -> list[dict[str, int]]:
    """Return how many reports each server has taken and, by reason, refused."""
    return [json.loads(checked(ask(port, COUNTS))) for port in ports]


def main() -> None:
    """Run a server or some clients.

    The command line has ``ROLE SETTINGS``, in JSON. The first line of the input has the secrets.
    """
    role, settings = sys.argv[1], json.loads(sys.argv[2])
    protocol, secret = protocol_of(settings), sys.stdin.readline()
    if role == "clients":
        tickets = [Ticket.from_bytes(bytes.fromhex(each)) for each in json.loads(secret)]
        cells = json.loads(sys.stdin.read())
        print(report_all(protocol, cells, tickets, settings["ports"]))
        return
    kind = FallingListener if role == "falling server" else Listener
    enrolment, path = Enrolment(bytes.fromhex(secret)), Path(settings["file"])
    place = settings["place"] if protocol.shares_functions else None
    with kind(protocol, enrolment, path, place) as listener:
        threading.Thread(target=_until_the_end_of_input, args=(listener,), daemon=True).start()
        print(listener.server_address[1], flush=True)
        listener.serve_forever(poll_interval=0.05)


def _until_the_end_of_input(listener: Listener) -> None:
    """Stop when the process that started this one ends or closes the pipe."""
    sys.stdin.read()
    listener.shutdown()


if __name__ == "__main__":
    main()
