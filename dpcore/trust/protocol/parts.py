"""Checks that sums or answers of several servers belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import DtypeError
from .parameters import Protocol
from .wire import RoundError

__all__ = ["check_kinds", "check_together"]


def check_kinds(argument: str, parts: Sequence[Any], kind: type[Any], requirement: str) -> None:
    """Check that there are parts, of one kind, with a protocol.

    Raises
    ------
    DtypeError, RoundError
        They are of another kind, or there are none.
    """
    if not isinstance(parts, Sequence):
        raise DtypeError(argument, type(parts).__name__, requirement)
    for part in parts:
        if not isinstance(part, kind):
            raise DtypeError(argument, type(part).__name__, requirement)
        if not isinstance(part.protocol, Protocol):
            given = f"one of a {type(part.protocol).__name__}"
            raise DtypeError(argument, given, "must have a Protocol")
    if not parts:
        raise RoundError(f"there are no {argument}")


def check_together(argument: str, parts: Sequence[Any]) -> None:
    """Check that parts are one of each server of a round, about the same clients.

    Raises
    ------
    RoundError
        They are not as above.
    """
    first, protocol = parts[0], parts[0].protocol
    if any(part.protocol.key != protocol.key for part in parts):
        raise RoundError(f"the {argument} are of different rounds, or have different parameters")
    if len(parts) != protocol.receivers:
        raise RoundError(f"{len(parts)} {argument} for {protocol.receivers} servers")
    if any(part.clients != first.clients or part.reports != first.reports for part in parts):
        numbers = ", ".join(str(part.reports) for part in parts)
        raise RoundError(f"the servers settled different reports ({numbers} of them)")
