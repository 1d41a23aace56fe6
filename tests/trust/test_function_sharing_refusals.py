"""What rounds of shared functions refuse: reports, cells, answers, and files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcore.errors import DpcoreError, DtypeError, FormatError, ParameterError
from dpcore.trust import (
    Answer,
    Client,
    DistributedNoise,
    Enrolment,
    FunctionSharing,
    PartialSum,
    Protocol,
    ReportError,
    RoundError,
    Server,
    agree,
    opened,
    release,
)
from dpcore.trust.protocol import wire
from tests.trust.function_rounds import (
    CELLS,
    RNG,
    ROUND,
    TRUE,
    counts_of,
    filled,
    key_of,
    payload_of,
    protocol_of,
    resigned,
    resumed,
    server_of,
    servers_of,
)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda key: key[:-1], "length"),
        (lambda key: key + b"\0", "length"),
        (lambda key: key[:100], "length"),
        (lambda key: key[:120] + bytes([key[120] ^ 1]) + key[121:], "tag"),
        (lambda key: resigned(key, payload=payload_of(key)[:-8]), "length"),
        (lambda key: resigned(key, payload=b""), "length"),
        (lambda key: resigned(key, kind=wire.SEED, payload=bytes(32)), "kind"),
        (lambda key: resigned(key, kind=wire.ADDITIVE, payload=bytes(8 * 20)), "kind"),
        (lambda key: resigned(key, kind=wire.BITS, payload=bytes(3)), "kind"),
        (lambda key: key_of(server=1), "payload"),
        (lambda key: key_of(protocol_of(FunctionSharing(1.0))), "parameters"),
        (lambda key: key_of(protocol_of(size=21)), "parameters"),
    ],
)
def test_damaged_and_swapped_keys_are_refused(damage, reason):
    server = Server(protocol_of(), place=0)
    server.add(key_of())
    before = server.to_bytes()
    with pytest.raises(ReportError) as caught:
        server.add(damage(key_of()))
    assert caught.value.reason == reason
    assert server.refused[reason] == 1
    assert server.accepted == 1
    assert len(server.to_bytes()) == len(before)


def test_a_key_with_bits_that_mean_nothing_is_refused():
    protocol = protocol_of()
    report = key_of()
    changed = bytearray(payload_of(report))
    at = 8 * (2 + 3 * (protocol.bits - 3))  # of the word with a bit for each level
    changed[at + 7] |= 128
    with pytest.raises(ReportError) as caught:
        Server(protocol, place=0).add(resigned(report, payload=bytes(changed)))
    assert caught.value.reason == "payload"


def test_keys_are_not_for_other_rounds():
    noisy = Protocol(DistributedNoise(1.0, clients=5), 20, ROUND)
    report = Client(noisy).report(3)[0]
    with pytest.raises(ReportError, match="parameters"):
        Server(protocol_of(), place=0).add(report)
    three = protocol_of(FunctionSharing(1.0, servers=3))
    with pytest.raises(ReportError) as caught:
        Server(three, place=0).add(resigned(key_of(), digest=three.digest))
    assert caught.value.reason == "kind"


def test_a_client_whose_keys_do_not_go_together_is_found_out():
    protocol = protocol_of()
    one, other = Client(protocol).report(3), Client(protocol).report(4)
    mixed = resigned(other[1], report_id=wire.decode(one[0]).report_id)
    fresh = servers_of(protocol)
    for server, report in zip(fresh, (one[0], mixed), strict=True):
        server.add(report)
    agree(fresh)
    with pytest.raises(RoundError, match="not the number of reports"):
        counts_of(fresh)
    with pytest.raises(RoundError, match="not the number of reports"):
        release([server.close() for server in fresh])


@pytest.mark.parametrize("servers", [2, 3])
def test_nobody_can_make_a_server_take_what_is_for_another(servers):
    protocol = protocol_of(FunctionSharing(1.0, servers=servers))
    first, *_, last = Client(protocol).report(3)
    ready = servers_of(protocol)
    for each in (ready, resumed(ready)):  # empty, and yet it knows its place
        for server, report in ((each[0], last), (each[-1], first)):
            with pytest.raises(ReportError, match="for another server") as caught:
                server.add(report)
            assert caught.value.reason == "payload"
        each[0].add(first)
        each[-1].add(last)


@pytest.mark.parametrize("place", [None, 2, -1, "0", 0.0])
def test_servers_have_a_place(place):
    with pytest.raises((ParameterError, DtypeError), match="place"):
        Server(protocol_of(), place=place)
    with pytest.raises(ParameterError, match="place must be left out"):
        Server(Protocol(DistributedNoise(1.0, clients=5), 20, ROUND), place=0)
    with pytest.raises(ParameterError, match="place"):
        Server(protocol_of(FunctionSharing(1.0, servers=3)), place=3)


def test_a_round_is_ended_before_it_answers():
    servers = filled(protocol_of(FunctionSharing(0.5)))
    unused = key_of(servers[0].protocol)
    for server in servers:
        server.end()
        server.end()
        assert server.is_closed
    with pytest.raises(RoundError, match="closed"):
        servers[0].add(unused)
    saved = [server.to_bytes() for server in servers]
    first = counts_of(servers)
    assert [server.to_bytes() for server in servers] == saved
    back = [Server.from_bytes(each, servers[0].protocol) for each in saved]
    np.testing.assert_array_equal(counts_of(back), first)
    with pytest.raises(RoundError, match="0 reports"):
        server_of(protocol_of()).end()
    with pytest.raises(RoundError, match="not one of FunctionSharing"):
        Server(Protocol(DistributedNoise(1.0, clients=5), 20, ROUND)).end()


def test_enrolled_clients_share_functions():
    protocol, enrolment = protocol_of(enrolled=True), Enrolment(b"\1" * 32)
    servers = [Server(protocol, enrolment, place=place) for place in range(2)]
    for number, cell in enumerate(CELLS):
        ticket = enrolment.ticket(protocol, str(number))
        reports = Client(protocol, ticket=ticket).report(int(cell))
        for server, report in zip(servers, reports, strict=True):
            server.add(report)
    agree(servers)
    np.testing.assert_array_equal(counts_of(servers), TRUE)


@pytest.mark.parametrize(
    ("cells", "error"),
    [
        ([20], ParameterError),
        ([-1], ParameterError),
        ([0.5], DtypeError),
        (["1"], DtypeError),
        (None, DtypeError),
    ],
)
def test_bad_cells(cells, error):
    (server, _) = filled(protocol_of())
    with pytest.raises(error, match="cells"):
        server.answer(cells)
    assert not server.is_closed


def test_no_cells_and_one():
    servers = filled(protocol_of())
    assert counts_of(servers, []).size == 0
    assert counts_of(servers, 7).tolist() == [TRUE[7]]


def test_other_rounds_have_no_answers():
    noisy = Protocol(DistributedNoise(1.0, clients=5), 20, ROUND)
    for refused in (lambda: Server(noisy).answer([1]), Server(noisy).add_up):
        with pytest.raises(RoundError, match="not one of FunctionSharing"):
            refused()
    with pytest.raises(ParameterError, match="rng"):
        Server(noisy, rng=RNG(1))
    with pytest.raises(DtypeError, match="rng"):
        Server(protocol_of(), place=0, rng=7)


def test_answers_that_do_not_go_together():
    servers = filled(protocol_of())
    one, other = (server.answer([3, 19]) for server in servers)
    for wrong, words in [
        ([one], "1 answers for 2 servers"),
        ([one, other, one], "3 answers for 2"),
        ([], "no answers"),
        ([one, servers[1].answer([4, 19])], "different questions"),
        ([one, servers[1].answer([3])], "different questions"),
        ([one, one], "not the number of reports"),
        ([one, replace(other, reports=59)], "different reports"),
        ([one, replace(other, clients=bytes(32))], "different reports"),
        ([one, replace(other, protocol=protocol_of(FunctionSharing(1.0)))], "different rounds"),
    ]:
        with pytest.raises(RoundError, match=words):
            opened(wrong)
    for wrong in (one, [one, None], 3, [one, replace(other, shares=[1, 2])]):
        with pytest.raises(DtypeError, match="answers"):
            opened(wrong)
    with pytest.raises(DtypeError, match="answers"):
        opened([one, replace(other, shares=other.shares[:1])])


def test_answers_and_servers_as_bytes():
    servers = filled(protocol_of())
    for answer in (server.answer([3, 19]) for server in servers):
        data = answer.to_bytes()
        back = Answer.from_bytes(data, answer.protocol)
        assert back.shares.tolist() == answer.shares.tolist()
        assert (back.cells.tolist(), back.reports, back.clients) == ([3, 19], 60, answer.clients)
        for damaged in (data[:-1], data + b"\0", b"", data[:60], data[:20] + b"\xff" + data[21:]):
            with pytest.raises(FormatError):
                Answer.from_bytes(damaged, answer.protocol)
        with pytest.raises(FormatError, match="other parameters"):
            Answer.from_bytes(data, protocol_of(FunctionSharing(1.0)))
        with pytest.raises(FormatError, match="DPCT"):
            PartialSum.from_bytes(data, answer.protocol)
    saved = servers[0].to_bytes()
    for damaged in (saved[:-1], saved[: len(saved) // 2], saved[:100] + b"\xff" + saved[101:]):
        with pytest.raises(DpcoreError):
            Server.from_bytes(damaged, servers[0].protocol)
    back = Server.from_bytes(saved, servers[0].protocol)
    assert back.is_closed
    assert back.to_bytes() == saved


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"epsilon": 0.0}, ParameterError),
        ({"epsilon": "1"}, DtypeError),
        ({"epsilon": 1.0, "servers": 1}, ParameterError),
        ({"epsilon": 1.0, "servers": 257}, ParameterError),
        ({"epsilon": 1.0, "servers": 2.0}, DtypeError),
        ({"epsilon": 1.0, "honest": 0}, ParameterError),
        ({"epsilon": 1.0, "honest": 3}, ParameterError),
    ],
)
def test_bad_trust(arguments, error):
    with pytest.raises(error):
        FunctionSharing(**arguments)


def test_a_key_tells_its_length():
    for size, length in ((2**16, 400), (2**10, 256), (2, 8 * 5), (20, 8 * 17)):
        protocol = protocol_of(size=size)
        reports = Client(protocol).report(1)
        assert [len(each) for each in reports] == [wire.HEADER_BYTES + length] * 2
        assert protocol.payload_bytes(wire.FUNCTION) == length
    many = Client(protocol_of(FunctionSharing(1.0, servers=4))).report(1)
    assert [len(each) - wire.HEADER_BYTES for each in many] == [32, 32, 32, 8 * 20]


@pytest.mark.needs_jit
def test_a_file_has_no_totals_before_there_are_any():
    protocol = protocol_of(size=2**16)
    server, _ = filled(protocol, CELLS)
    assert len(server.to_bytes()) < CELLS.size * (16 + 400) + 500
    back = Server.from_bytes(server.to_bytes(), protocol)
    server.add_up()
    assert len(server.to_bytes()) > 8 * 2**16
    assert (
        back.answer([7, 2**16 - 1]).shares.tolist() == server.answer([7, 2**16 - 1]).shares.tolist()
    )
