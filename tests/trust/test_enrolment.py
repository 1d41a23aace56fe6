"""Enrolled rounds: a client counts once, under its own id alone, with what it has sent itself."""

from __future__ import annotations

import secrets
from dataclasses import replace

import pytest

from dpcore.errors import DtypeError, FormatError, ParameterError
from dpcore.trust import (
    Client,
    DistributedNoise,
    Enrolment,
    Local,
    Protocol,
    RoundError,
    SecureAggregation,
    Server,
    Ticket,
    agree,
    combine,
)
from dpcore.trust.protocol import wire
from dpcore.trust.protocol.wire import decode, encode
from tests.trust.rounds import ROUND, closed, refusal, send

SECURE = Protocol(SecureAggregation(), 8, ROUND, enrolled=True)
NOISY = Protocol(DistributedNoise(1.0, clients=20, dropout=0.5), 8, ROUND, enrolled=True)
LOCAL = Protocol(Local(1.0, clients=20), 8, ROUND, enrolled=True)
PROTOCOLS = [SECURE, NOISY, LOCAL]
OURS = Enrolment(bytes(range(32)))


def reports_of(protocol, name, cell=3, enrolment=OURS):
    return Client(protocol, ticket=enrolment.ticket(protocol, name)).report(cell)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_reports_sent_again_under_other_ids_are_refused(protocol):
    server, report = Server(protocol, OURS), reports_of(protocol, "one")[0]
    server.add(report)
    other = OURS.ticket(protocol, "another").report_id
    for identity in (secrets.token_bytes(16), bytes(16), other):
        renamed = replace(decode(report), report_id=identity)
        known = wire.client_key(wire.OPEN, ROUND, identity)  # that of rounds without enrolment
        own = OURS.ticket(protocol, "one").key  # what a client that lies has
        for key in (None, known, own):
            assert refusal(server, encode(renamed, key)) == "tag"
    assert server.accepted == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_id_of_another_is_not_taken_from_it(protocol):
    """Nobody who only knows an id can report under it, nor keep its client from reporting."""
    server, victim = Server(protocol, OURS), OURS.ticket(protocol, "victim")
    thief = Ticket(victim.report_id, secrets.token_bytes(32))
    assert refusal(server, Client(protocol, ticket=thief).report(1)[0]) == "tag"
    server.add(Client(protocol, ticket=victim).report(2)[0])
    assert server.ids == {victim.report_id}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_client_that_enrols_again_is_the_same(protocol):
    server = Server(protocol, OURS)
    server.add(reports_of(protocol, "one", 1)[0])
    assert refusal(server, reports_of(protocol, "one", 2)[0]) == "duplicate"
    server.add(reports_of(protocol, "two", 2)[0])
    assert server.accepted == 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tickets_are_for_one_round_and_one_enrolment(protocol):
    server = Server(protocol, OURS)
    strange = Enrolment(secrets.token_bytes(32))
    assert refusal(server, reports_of(protocol, "one", enrolment=strange)[0]) == "tag"
    elsewhere = OURS.ticket(replace(protocol, round_id=bytes(16)), "one")
    assert refusal(server, Client(protocol, ticket=elsewhere).report(1)[0]) == "tag"
    here = OURS.ticket(protocol, "one")
    assert here.report_id != elsewhere.report_id
    assert here.key != elsewhere.key


@pytest.mark.parametrize("enrolled", [True, False])
def test_every_changed_bit_is_noticed(enrolled):
    """Also where everybody may report: a damaged share would spoil the whole sum."""
    protocol = replace(SECURE, enrolled=enrolled)
    server = Server(protocol, OURS if enrolled else None)
    ticket = OURS.ticket(protocol, "one") if enrolled else None
    report = Client(protocol, ticket=ticket).report(1)[1]
    for bit in range(8 * 40, 8 * len(report)):
        changed = bytearray(report)
        changed[bit // 8] ^= 1 << bit % 8
        assert refusal(server, bytes(changed)) in ("tag", "length")
    server.add(report)


def test_servers_are_saved_without_the_secret_and_cannot_do_without():
    servers = [Server(SECURE, OURS), Server(SECURE, OURS)]
    for i, cell in enumerate([0, 1, 1, 5, 5, 5]):
        send(servers, reports_of(SECURE, f"{i}", cell))
    saved = servers[0].to_bytes()
    assert OURS.key not in saved
    assert OURS.ticket(SECURE, "1").key not in saved
    with pytest.raises(ParameterError, match="enrolment"):
        Server.from_bytes(saved, SECURE)
    with pytest.raises(FormatError):
        Server.from_bytes(saved, replace(SECURE, enrolled=False))
    servers[0] = Server.from_bytes(saved, SECURE, OURS)
    assert agree(servers) == 6
    assert combine(closed(servers)).tolist() == [1, 2, 0, 0, 0, 3, 0, 0]


def test_servers_of_different_enrolments_are_not_merged():
    one, other = Server(SECURE, OURS), Server(SECURE, Enrolment(b"e" * 32))
    with pytest.raises(RoundError, match="enrolment"):
        one.merge(other)
    one.merge(Server(SECURE, Enrolment(OURS.key)))


@pytest.mark.parametrize(
    ("make", "name", "argument"),
    [(Server, "enrolment", OURS), (Client, "ticket", OURS.ticket(SECURE, "one"))],
)
def test_who_may_report_is_a_parameter(make, name, argument):
    open_round = replace(SECURE, enrolled=False)
    assert open_round.digest != SECURE.digest
    with pytest.raises(ParameterError, match=name):
        make(SECURE)
    with pytest.raises(ParameterError, match=name):
        make(open_round, **{name: argument})
    with pytest.raises(DtypeError, match=name):
        make(SECURE, **{name: b"x"})


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Enrolment(None), DtypeError),
        (lambda: Enrolment("0" * 32), DtypeError),
        (lambda: Enrolment(bytes(31)), ParameterError),
        (lambda: Enrolment(bytes(32)), ParameterError),  # whose tags everybody can make
        (lambda: OURS.ticket(SECURE, 7), DtypeError),
        (lambda: OURS.ticket(SECURE, None), DtypeError),
        (lambda: OURS.ticket(None, "one"), DtypeError),
        (lambda: Ticket(bytes(16), bytes(16)), ParameterError),
        (lambda: Ticket(None, bytes(32)), DtypeError),
        (lambda: Ticket.from_bytes(None), DtypeError),
        (lambda: Ticket.from_bytes(bytes(47)), ParameterError),
    ],
)
def test_wrong_secrets_are_refused(make, error):
    with pytest.raises(error) as raised:
        make()
    assert "x00" not in str(raised.value)  # nothing of them is quoted


def test_secrets_are_not_shown_and_tickets_are_read_back():
    ticket = OURS.ticket(SECURE, "one")
    assert Ticket.from_bytes(ticket.to_bytes()) == ticket
    assert (repr(ticket), repr(OURS)) == ("<Ticket>", "<Enrolment>")
    assert OURS.ticket(SECURE, "\udcff").report_id != OURS.ticket(SECURE, "?").report_id
