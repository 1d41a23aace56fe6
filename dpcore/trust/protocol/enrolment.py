"""Who takes part in a round: a ticket for each client, and servers that know all tickets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...errors import DtypeError, ParameterError
from . import wire
from .parameters import Protocol

__all__ = ["Enrolment", "Ticket"]

_LABEL: Final = b"dpcore report id"


@dataclass(frozen=True, slots=True, repr=False)
class Ticket:
    """A client's ticket for one round: the id of its report, and a key.

    Parameters
    ----------
    report_id
        16 bytes. They are not secret, but somebody with the enrolment can tell which client it is.
    key
        32 bytes, a secret of this client and the servers. Whoever has it can report in place of the
        client.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> from dpcore.trust import Enrolment, Protocol, SecureAggregation
    >>> protocol = Protocol(SecureAggregation(), 4, bytes(16), enrolled=True)
    >>> ticket = Enrolment(bytes(range(32))).ticket(protocol, "account 17")
    >>> ticket.report_id.hex()
    'eb08a2433be788495a7a9fe6dc7ab03f'
    """

    report_id: bytes
    key: bytes

    def __post_init__(self) -> None:
        _check_bytes("report_id", self.report_id, wire.ID_BYTES)
        _check_bytes("key", self.key, wire.KEY_BYTES)

    def __repr__(self) -> str:
        return "<Ticket>"

    def to_bytes(self) -> bytes:
        """Return id and key, 48 bytes.

        Send them to the client only, over a channel that nobody else can read.

        Examples
        --------
        >>> from dpcore.trust import Enrolment, Protocol, SecureAggregation
        >>> protocol = Protocol(SecureAggregation(), 4, bytes(16), enrolled=True)
        >>> ticket = Enrolment(bytes(range(32))).ticket(protocol, "account 17")
        >>> len(ticket.to_bytes())
        48
        """
        return self.report_id + self.key

    @classmethod
    def from_bytes(cls, data: bytes) -> Ticket:
        """Return the ticket from its bytes.

        Raises
        ------
        DtypeError, ParameterError
            ``data`` are not the bytes of a ticket.

        Examples
        --------
        >>> from dpcore.trust import Ticket
        >>> ticket = Ticket.from_bytes(bytes(range(48)))
        >>> ticket.report_id.hex()
        '000102030405060708090a0b0c0d0e0f'
        """
        _check_bytes("data", data, wire.ID_BYTES + wire.KEY_BYTES)
        return cls(data[: wire.ID_BYTES], data[wire.ID_BYTES :])


@dataclass(frozen=True, slots=True, repr=False)
class Enrolment:
    """The secret that the servers of a round share with whoever enrols clients.

    With it, servers take only reports from clients with a ticket, one from each client, and only
    unchanged reports (docs/guides/wire.md, section 6). The protocol needs ``enrolled=True``.

    Parameters
    ----------
    key
        32 random bytes, ``secrets.token_bytes(32)``, that no client ever sees.

    Raises
    ------
    DtypeError, ParameterError
        ``key`` is not 32 bytes, or all of them are zero.

    Examples
    --------
    >>> import secrets
    >>> from dpcore.trust import Client, Enrolment, Protocol, SecureAggregation, Server
    >>> protocol = Protocol(SecureAggregation(), 4, secrets.token_bytes(16), enrolled=True)
    >>> enrolment = Enrolment(secrets.token_bytes(32))
    >>> server = Server(protocol, enrolment)
    >>> ticket = enrolment.ticket(protocol, "account 17")
    >>> server.add(Client(protocol, ticket=ticket).report(2)[0])
    >>> server.accepted
    1
    """

    key: bytes

    def __post_init__(self) -> None:
        _check_bytes("key", self.key, wire.KEY_BYTES)
        # HMAC pads keys with zeros, so this key equals ``wire.OPEN``, which is public.
        if not any(self.key):
            raise ParameterError("key", "only zeros", "must be random")

    def __repr__(self) -> str:
        return "<Enrolment>"

    def ticket(self, protocol: Protocol, client: str) -> Ticket:
        """Return the ticket of a client.

        Parameters
        ----------
        protocol
            The parameters of the round. The tickets of two rounds have nothing in common.
        client
            The name by which whoever enrols knows the client. The same name gets the same ticket,
            so asking again does not make a second client.

        Raises
        ------
        DtypeError
            An argument is not as above.

        Examples
        --------
        >>> from dpcore.trust import Enrolment, Protocol, SecureAggregation
        >>> protocol = Protocol(SecureAggregation(), 4, bytes(16), enrolled=True)
        >>> enrolment = Enrolment(bytes(range(32)))  # the key of a real enrolment is secret
        >>> for client in ("account 17", "account 18", "account 17"):
        ...     print(enrolment.ticket(protocol, client).report_id.hex()[:8])
        eb08a243
        ca1a0004
        eb08a243
        """
        if not isinstance(protocol, Protocol):
            raise DtypeError("protocol", type(protocol).__name__, "must be a Protocol")
        if not isinstance(client, str):
            raise DtypeError("client", type(client).__name__, "must be a string")
        name = client.encode("utf-8", "surrogatepass")
        report_id = wire.keyed_hash(self.key, _LABEL + protocol.round_id + name)[: wire.ID_BYTES]
        return Ticket(report_id, wire.client_key(self.key, protocol.round_id, report_id))


def _check_bytes(argument: str, value: object, length: int) -> None:
    if not isinstance(value, bytes):
        raise DtypeError(argument, type(value).__name__, "must be bytes")
    if len(value) != length:
        raise ParameterError(argument, len(value), f"must be {length} bytes")
