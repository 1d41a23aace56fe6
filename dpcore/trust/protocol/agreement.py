"""The clients that have reached all servers of a round, and checks that servers go together."""

from __future__ import annotations

from collections.abc import Sequence

from .parts import check_kinds
from .servers import Server
from .wire import RoundError

__all__ = ["agree", "check_settled"]


def agree(servers: Sequence[Server]) -> int:
    """Settle, on each server, the clients that have reached all of them, and return how many.

    This is for servers in one process. Servers elsewhere send each other their ``ids``
    (scripts/rehearse.py).

    Raises
    ------
    DtypeError, RoundError
        ``servers`` are not all servers of one round, each once; or one is closed. Nothing has
        changed.

    Examples
    --------
    >>> from dpcore.trust import Client, Protocol, SecureAggregation, Server, agree
    >>> protocol = Protocol(SecureAggregation(), 4, bytes(16))
    >>> servers = [Server(protocol), Server(protocol)]
    >>> for cell in [0, 2]:
    ...     for server, report in zip(servers, Client(protocol).report(cell)):
    ...         server.add(report)
    >>> servers[0].add(Client(protocol).report(3)[0])  # the other server gets nothing
    >>> agree(servers)
    2
    """
    check_kinds("servers", servers, Server, "must be servers")
    for server in servers:
        server._check_open()
    _check_together(servers)
    common = frozenset.intersection(*(server.ids for server in servers))
    for server in servers:
        server.settle(common)
    return len(common)


def check_settled(servers: Sequence[Server]) -> None:
    """Check that servers have settled the same clients, before their rounds end.

    Raises
    ------
    DtypeError, RoundError
        ``servers`` are not all servers of one round, each once; or they have settled different
        clients.
    """
    check_kinds("servers", servers, Server, "must be servers")
    _check_together(servers)
    settled = [server._settled() for server in servers]
    if any(ids != settled[0] for ids in settled):
        numbers = ", ".join(str(len(ids)) for ids in settled)
        raise RoundError(f"the servers settled different reports ({numbers} of them)")


def _check_together(servers: Sequence[Server]) -> None:
    protocol = servers[0].protocol
    if any(server.protocol.key != protocol.key for server in servers):
        raise RoundError("the servers are of different rounds, or have different parameters")
    if len(set(map(id, servers))) != len(servers) or len(servers) != protocol.receivers:
        raise RoundError(f"these are not the {protocol.receivers} servers of the round, each once")
