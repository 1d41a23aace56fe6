"""What rounds of shared functions refuse: reports, cells, answers, and files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcore.errors import DtypeError, FormatError, ParameterError
from dpcore.trust import (
    Answer,
    Client,
    FunctionServers,
    FunctionSharing,
    PartialSum,
    PointwiseCDF,
    Protocol,
    RoundError,
    Server,
    agree,
    opened,
    release,
)
from dpcore.trust.protocol import storage, wire
from tests.trust.rounds import (
    FUNCTIONS,
    NOISY,
    RNG,
    ROUND,
    TABLES,
    closed,
    counts_of,
    refusal,
    reports_of,
    resigned,
    resumed,
    send,
    servers_of,
    settled,
)

CELLS = np.arange(30) % 20


def key_of(protocol=FUNCTIONS, server=0):
    return Client(protocol).report(3)[server]


def payload_of(report):
    return wire.decode(report).payload


def with_bits_that_mean_nothing(key):
    changed = bytearray(payload_of(key))
    changed[8 * (2 + 3 * (FUNCTIONS.bits - 3)) + 7] |= 128  # the word with a bit for each level
    return resigned(key, payload=bytes(changed))


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
        (with_bits_that_mean_nothing, "payload"),
        (lambda key: key_of(Protocol(FunctionSharing(2.0), 20, ROUND)), "parameters"),
        (lambda key: key_of(replace(FUNCTIONS, size=21)), "parameters"),
        (lambda key: key_of(NOISY), "parameters"),
    ],
)
def test_damaged_and_swapped_keys_are_refused(damage, reason):
    server = Server(FUNCTIONS, place=0)
    server.add(key_of())
    before = len(server.to_bytes())
    assert refusal(server, damage(key_of())) == reason
    assert len(server.to_bytes()) == before


@pytest.mark.parametrize("protocol", [FUNCTIONS, TABLES], ids=["two servers", "three servers"])
def test_nobody_can_make_a_server_take_what_is_for_another(protocol):
    first, *_, last = Client(protocol).report(3)
    ready = servers_of(protocol)
    for servers in (ready, resumed(ready)):  # empty, and yet it knows its place
        for server, report in ((servers[0], last), (servers[-1], first)):
            assert refusal(server, report) == "payload"
        servers[0].add(first)
        servers[-1].add(last)
    assert refusal(servers_of(TABLES)[0], resigned(key_of(), digest=TABLES.digest)) == "kind"


@pytest.mark.parametrize(
    ("make", "error", "name"),
    [
        (lambda: FunctionSharing(0.0), ParameterError, "epsilon"),
        (lambda: FunctionSharing("1"), DtypeError, "epsilon"),
        (lambda: FunctionSharing(1.0, servers=1), ParameterError, "servers"),
        (lambda: FunctionSharing(1.0, servers=257), ParameterError, "servers"),
        (lambda: FunctionSharing(1.0, servers=2.0), DtypeError, "servers"),
        (lambda: FunctionSharing(1.0, honest=0), ParameterError, "honest"),
        (lambda: FunctionSharing(1.0, honest=3), ParameterError, "honest"),
        (lambda: Server(FUNCTIONS), ParameterError, "place"),
        (lambda: Server(FUNCTIONS, place=2), ParameterError, "place"),
        (lambda: Server(FUNCTIONS, place=-1), ParameterError, "place"),
        (lambda: Server(FUNCTIONS, place="0"), DtypeError, "place"),
        (lambda: Server(FUNCTIONS, place=0.0), DtypeError, "place"),
        (lambda: Server(TABLES, place=3), ParameterError, "place"),
        (lambda: Server(NOISY, place=0), ParameterError, "place"),
        (lambda: Server(NOISY, rng=RNG(1)), ParameterError, "rng"),
        (lambda: Server(FUNCTIONS, place=0, rng=7), DtypeError, "rng"),
        (lambda: Server(NOISY).answer([1]), RoundError, "FunctionSharing"),
        (lambda: Server(NOISY).add_up(), RoundError, "FunctionSharing"),
        (lambda: Server(NOISY).end(), RoundError, "FunctionSharing"),
    ],
)
def test_bad_arguments(make, error, name):
    with pytest.raises(error, match=name):
        make()


@pytest.mark.parametrize(
    ("cells", "error", "words"),
    [
        ([3, 20], ParameterError, "cells .*got 20"),
        ([3, -1], ParameterError, "cells .*got -1"),
        ([0.5], DtypeError, "cells"),
        (["1"], DtypeError, "cells"),
        (None, DtypeError, "cells"),
    ],
)
def test_bad_cells(cells, error, words):
    server = settled(FUNCTIONS, CELLS)[0]
    with pytest.raises(error, match=words):
        server.answer(cells)
    assert not server.is_closed


def test_a_client_whose_keys_do_not_go_together_is_found_whatever_is_asked():
    one, other = (Client(FUNCTIONS).report(cell) for cell in (3, 4))
    servers = servers_of(FUNCTIONS)
    mixed = resigned(other[1], report_id=wire.decode(one[0]).report_id)
    send(servers, [one[0], mixed])
    agree(servers)
    for cells in ([3], [], np.arange(20)):
        with pytest.raises(RoundError, match="number of reports"):
            counts_of(servers, cells)
    with pytest.raises(RoundError, match="number of reports"):
        release(closed(servers))


def test_servers_that_do_not_go_together_stay_open():
    """Their rounds would be lost: what is not settled is forgotten when they end."""
    servers, other = servers_of(FUNCTIONS), settled(replace(FUNCTIONS, round_id=bytes(16)), CELLS)
    send(servers, *reports_of(FUNCTIONS, CELLS))
    with pytest.raises(RoundError, match="1 are needed; 30 wait"):
        FunctionServers(servers)
    ids = sorted(servers[0].ids)
    servers[0].settle(ids)
    servers[1].settle(ids[:-1])
    missing = Protocol(FunctionSharing(1.0), 20, ROUND, empty=20)
    for wrong, error, words in (
        (servers, RoundError, r"different reports \(30, 29 of them\)"),
        (servers[:1], RoundError, "2 servers"),
        ([servers[0], servers[0]], RoundError, "2 servers"),
        ([servers[0], other[1]], RoundError, "different rounds"),
        ([], RoundError, "no servers"),
        ([Server(NOISY), Server(NOISY)], RoundError, "FunctionSharing"),
        ([servers[0], "another"], DtypeError, "servers"),
        (servers_of(missing), ParameterError, "empty"),
    ):
        with pytest.raises(error, match=words):
            FunctionServers(wrong)
    assert not any(server.is_closed for server in (*servers, *other))
    agree(servers)
    assert PointwiseCDF(FunctionServers(servers)).n == 30


def test_answers_that_do_not_go_together():
    servers = settled(FUNCTIONS, CELLS)
    one, other = (server.answer([3, 19]) for server in servers)
    for wrong, error, words in [
        ([one], RoundError, "1 answers for 2"),
        ([one, other, one], RoundError, "3 answers for 2"),
        ([], RoundError, "no answers"),
        ([one, servers[1].answer([4, 19])], RoundError, "different questions"),
        ([one, servers[1].answer([3])], RoundError, "different questions"),
        ([one, replace(other, reports=29)], RoundError, "different reports"),
        ([one, replace(other, clients=bytes(32))], RoundError, "different reports"),
        ([one, replace(other, protocol=TABLES)], RoundError, "different rounds"),
        (one, DtypeError, "answers"),
        ([one, None], DtypeError, "answers"),
        (3, DtypeError, "answers"),
    ]:
        with pytest.raises(error, match=words):
            opened(wrong)
    for shares, error in (([1, 2], DtypeError), (other.shares[:1], ParameterError)):
        with pytest.raises(error, match="shares"):
            replace(other, shares=shares)
    for cells in ([3], [], [19]):
        one, other = (server.answer(cells) for server in servers)
        assert opened([one, other]).n == 30
        with pytest.raises(RoundError, match="number of reports"):
            opened([one, one])


# --- damage


def test_answers_and_servers_as_bytes():
    servers = settled(FUNCTIONS, CELLS)
    for answer in (server.answer([3, 19]) for server in servers):
        data = answer.to_bytes()
        back = Answer.from_bytes(data, FUNCTIONS)
        assert back.shares.tolist() == answer.shares.tolist()
        assert (back.cells.tolist(), back.reports, back.clients) == ([3, 19], 30, answer.clients)
        for damaged in (data[:-1], data + b"\0", b"", data[:60], data[:20] + b"\xff" + data[21:]):
            with pytest.raises(FormatError):
                Answer.from_bytes(damaged, FUNCTIONS)
        with pytest.raises(FormatError, match="parameters"):
            Answer.from_bytes(data, Protocol(FunctionSharing(2.0), 20, ROUND))
        with pytest.raises(FormatError, match="DPCT"):
            PartialSum.from_bytes(data, FUNCTIONS)
    saved = servers[0].to_bytes()
    for damaged in (saved[:-1], saved[: len(saved) // 2], saved[:100] + b"\xff" + saved[101:]):
        with pytest.raises(FormatError):
            Server.from_bytes(damaged, FUNCTIONS)
    (back,) = resumed(servers[:1])
    assert back.is_closed
    assert back.to_bytes() == saved


def changed(data, magic, start, words):
    """The same, with other words from a byte of the body on, and the right checksum."""
    body = bytearray(storage.opened(magic, data))
    new = np.array(words, "<u8").tobytes()
    body[start : start + len(new)] = new
    return storage.sealed(magic, bytes(body))


@pytest.mark.parametrize("words", [2**64 - 1, 2**61, 2**40, 3])
def test_lengths_that_cannot_be_are_damage(words):
    """Whoever asks does not trust all servers: an answer may be anything."""
    server = settled(FUNCTIONS, CELLS)[0]
    answer = server.answer([3, 19]).to_bytes()
    with pytest.raises(FormatError):  # round, digest, flags, reports; and how many cells
        Answer.from_bytes(changed(answer, b"DPCA", 41, [words]), FUNCTIONS)
    saved = server.to_bytes()
    keys = len(saved) - 5 - 32 - 30 * FUNCTIONS.payload_bytes(wire.FUNCTION)
    with pytest.raises(FormatError):
        Server.from_bytes(changed(saved, b"DPCS", keys - 8, [words]), FUNCTIONS)


def test_answers_are_about_cells_that_there_are():
    answer = settled(FUNCTIONS, CELLS)[0].answer([3, 19]).to_bytes()
    first = 33 + 3 * 8 + 32
    assert Answer.from_bytes(changed(answer, b"DPCA", first, [4]), FUNCTIONS).cells[0] == 4
    for cell in (20, 2**63, 2**64 - 1):
        with pytest.raises(FormatError, match="20"):
            Answer.from_bytes(changed(answer, b"DPCA", first, [cell]), FUNCTIONS)


def test_files_have_a_place_and_keys_that_there_are():
    server = Server(FUNCTIONS, place=1)
    server.add(key_of(server=1))
    server.settle(server.ids)
    body = storage.opened(b"DPCS", server.to_bytes())
    key, length = body[-17 * 8 :], body[-18 * 8 : -17 * 8]
    assert int.from_bytes(length, "little") == len(key)
    before, shorter = body[: -18 * 8 - 1], (16 * 8).to_bytes(8, "little")
    for wrong in (b"\7" + length + key, b"\1" + shorter + key[8:]):
        with pytest.raises(FormatError):
            Server.from_bytes(storage.sealed(b"DPCS", before + wrong), FUNCTIONS)
    assert Server.from_bytes(storage.sealed(b"DPCS", before + b"\1" + length + key), FUNCTIONS)
