"""Servers of shared functions that come back, disagree, or are sent what cannot be."""

from __future__ import annotations

import hmac
from dataclasses import replace

import numpy as np
import pytest

from dpcore.errors import FormatError, ParameterError
from dpcore.trust import (
    Answer,
    Client,
    FunctionServers,
    FunctionSharing,
    PointwiseCDF,
    PointwiseClient,
    Protocol,
    RoundError,
    SecureAggregation,
    Server,
    SharedVectors,
    SimulatedSum,
    Ticket,
    agree,
    opened,
)
from dpcore.trust.models.remembered_noise import RememberedNoise
from dpcore.trust.protocol import storage, wire
from dpcore.trust.protocol.function_noise import noise_of
from dpcore.trust.protocol.tally import Tally

ROUND = bytes(range(16))
RNG = np.random.default_rng
EVERYWHERE = np.arange(20)
TRUSTS = [FunctionSharing(0.05), FunctionSharing(0.05, servers=3, honest=2)]
trusts = pytest.mark.parametrize("trust", TRUSTS, ids=["two servers", "three servers"])


def servers_of(protocol, clients=30):
    servers = [Server(protocol, place=place) for place in range(protocol.receivers)]
    for cell in range(clients):
        send(servers, Client(protocol).report(cell % protocol.size))
    return servers


def send(servers, reports):
    for server, report in zip(servers, reports, strict=True):
        server.add(report)


def counts_of(servers, cells=EVERYWHERE):
    return opened([server.answer(cells) for server in servers]).counts


@trusts
def test_another_report_with_the_id_of_a_client_has_other_noise(trust):
    """Or else a server that is rolled back, and is sent one, would show the client's function."""
    protocol = Protocol(trust, 20, ROUND)
    servers = servers_of(protocol)
    files = [server.to_bytes() for server in servers]
    own = Client(protocol).report(3)
    identity = wire.decode(own[0]).report_id

    def after(reports):
        again = [Server.from_bytes(each, protocol) for each in files]
        send(again, reports)
        agree(again)
        return counts_of(again)

    first = after(own)
    np.testing.assert_array_equal(after(own), first)
    impostor = Client(protocol)
    impostor._ticket = Ticket(identity, wire.client_key(wire.OPEN, ROUND, identity))
    difference = (first - after(impostor.report(19)))[:-1]
    assert np.mean((difference == 0) | (difference == 1)) < 0.5


@trusts
def test_noise_does_not_depend_on_the_order_of_settling_nor_on_files(trust):
    protocol = Protocol(trust, 20, ROUND)
    servers = servers_of(protocol)
    files = [server.to_bytes() for server in servers]
    ids = sorted(servers[0].ids)
    agree(servers)
    first = counts_of(servers)
    again = [Server.from_bytes(each, protocol) for each in files]
    for some in (ids[20:], ids[5:9], ids):
        for server in again:
            server.settle(some)
        again = [Server.from_bytes(server.to_bytes(), protocol) for server in again]
        again[0].add_up()
    np.testing.assert_array_equal(counts_of(again), first)


def test_merged_servers_have_noise_of_what_both_had():
    protocol = Protocol(TRUSTS[0], 20, ROUND)
    ours, theirs = servers_of(protocol), servers_of(protocol)
    for servers in (ours, theirs):
        agree(servers)
    files = [server.to_bytes() for server in ours]
    others = [server.to_bytes() for server in theirs]
    contents = [server._tally.content for server in (ours[0], theirs[0])]
    for one, other in zip(ours, theirs, strict=True):
        one.merge(other)
    assert ours[0]._tally.content == contents[0] ^ contents[1] != 0
    assert contents[1] not in (0, contents[0])
    first = counts_of(ours)
    again = [Server.from_bytes(each, protocol) for each in files]
    for server, other in zip(again, others, strict=True):
        server.merge(Server.from_bytes(other, protocol))
    np.testing.assert_array_equal(counts_of(again), first)


def test_servers_that_do_not_go_together_stay_open():
    """Their rounds would be lost: what is not settled is forgotten when they end."""
    protocol = Protocol(TRUSTS[0], 20, ROUND)
    servers = servers_of(protocol)
    ids = sorted(servers[0].ids)
    servers[0].settle(ids)
    servers[1].settle(ids[:-1])
    other = servers_of(Protocol(TRUSTS[0], 20, bytes(16)))
    agree(other)
    for wrong, words in (
        (servers, r"different reports \(30, 29 of them\)"),
        (servers[:1], "not the 2 servers"),
        ([servers[0], servers[0]], "each once"),
        ([servers[0], other[1]], "different rounds"),
    ):
        with pytest.raises(RoundError, match=words):
            FunctionServers(wrong)
    assert not any(server.is_closed for server in (*servers, *other))
    agree(servers)
    assert PointwiseCDF(FunctionServers(servers)).n == 30


def changed(data, magic, start, words):
    """The same, with other words from a byte of the body on, and the right checksum."""
    body = bytearray(storage.opened(magic, data))
    new = np.array(words, "<u8").tobytes()
    body[start : start + len(new)] = new
    return storage.sealed(magic, bytes(body))


@pytest.mark.parametrize("words", [2**64 - 1, 2**61, 2**40, 3])
def test_lengths_that_cannot_be_are_damage(words):
    """Whoever asks does not trust all servers: an answer may be anything."""
    protocol = Protocol(TRUSTS[0], 20, ROUND)
    servers = servers_of(protocol)
    agree(servers)
    answer = servers[0].answer([3, 19]).to_bytes()
    with pytest.raises(FormatError):  # round, digest, flags, reports; and how many cells
        Answer.from_bytes(changed(answer, b"DPCA", 41, [words]), protocol)
    saved = servers[0].to_bytes()
    keys = len(saved) - 5 - 32 - 30 * protocol.payload_bytes(wire.FUNCTION)
    with pytest.raises(FormatError):
        Server.from_bytes(changed(saved, b"DPCS", keys - 8, [words]), protocol)


@pytest.mark.parametrize("cell", [20, 2**63, 2**64 - 1])
def test_answers_are_about_cells_that_there_are(cell):
    protocol = Protocol(TRUSTS[0], 20, ROUND)
    servers = servers_of(protocol)
    agree(servers)
    answer = servers[0].answer([3, 19]).to_bytes()
    first = 33 + 3 * 8 + 32
    assert Answer.from_bytes(changed(answer, b"DPCA", first, [4]), protocol).cells[0] == 4
    with pytest.raises(FormatError, match="a cell that is not one of 20"):
        Answer.from_bytes(changed(answer, b"DPCA", first, [cell]), protocol)


@pytest.mark.parametrize("cell", [-1, 20])
def test_a_cell_that_is_refused_is_named(cell):
    (server, _) = servers_of(Protocol(TRUSTS[0], 20, ROUND))
    with pytest.raises(ParameterError, match=f"cells must be 0 to 19; got {cell}"):
        server.answer([3, cell])


def test_answers_of_one_server_are_not_those_of_two_whatever_was_asked():
    servers = servers_of(Protocol(TRUSTS[0], 20, ROUND))
    agree(servers)
    for cells in ([3], [], [19]):
        one, other = (server.answer(cells) for server in servers)
        assert opened([one, other]).n == 30
        with pytest.raises(RoundError, match="not the number of reports"):
            opened([one, one])


def test_a_client_that_shares_no_step_is_found_whatever_is_asked():
    protocol = Protocol(TRUSTS[0], 20, ROUND)
    servers = servers_of(protocol)
    one, other = (Client(protocol).report(cell) for cell in (3, 4))
    identity = wire.decode(one[0]).report_id
    key = wire.client_key(wire.OPEN, ROUND, identity)
    mixed = wire.signed(replace(wire.decode(other[1]), report_id=identity), key)
    send(servers, [one[0], wire.encode(mixed)])
    agree(servers)
    with pytest.raises(RoundError, match="not the number of reports"):
        opened([server.answer([3]) for server in servers])


def known(protocol, **more):
    """The tally of a server whose secret is no secret."""
    tally = Tally.empty(protocol)
    tally.noise_key, tally.content = bytes(range(32)), 5
    for name, value in more.items():
        setattr(tally, name, value)
    return tally


def test_noise_depends_on_the_secret_the_reports_the_round_and_all_parameters():
    trust = FunctionSharing(0.01, branching=(5, 4))
    protocol = Protocol(trust, 20, ROUND)
    of_others = [
        noise_of(known(protocol, noise_key=bytes(32)), protocol),
        noise_of(known(protocol, content=6), protocol),
        noise_of(known(protocol), Protocol(trust, 20, bytes(16))),
        noise_of(known(protocol), Protocol(trust, 20, ROUND, enrolled=True)),
        RememberedNoise(trust.tree(20), protocol.noise, bytes(range(32))),
    ]
    first = noise_of(known(protocol), protocol).of_nodes()
    np.testing.assert_array_equal(noise_of(known(protocol), protocol).of_nodes(), first)
    for other in of_others:
        assert np.sum(other.of_nodes() == first) < 5  # the root, and chance


def test_noise_is_that_of_the_first_version():
    """Others would be a second answer to a question that a server had before.

    The samplers' tables are different ones for few nodes and for whole blocks. If this fails,
    samplers have changed: then the label in the noise's keys has to change, too.
    """
    trust = FunctionSharing(0.3, branching=(3, 1000), budgets="equal")
    noise = RememberedNoise(trust.tree(2500), trust.shares(2500), bytes(range(32)))
    found = noise.of_prefixes(np.array([0, 999, 1023, 2048, 2498]))
    assert found.tolist() == [9, -30, 71, 32, 3]


def test_a_servers_key_is_made_as_is_written():
    """docs/guides/wire.md, section 5."""
    protocol = Protocol(TRUSTS[0], 20, ROUND)
    server = Server(protocol, place=0)
    secret, content = server._tally.noise_key, bytes(32)
    for cell in range(5):
        report = Client(protocol).report(cell)[0]
        server.add(report)
        said = b"dpcore settled report\4" + report[40:56] + report[92:]
        hashed = hmac.digest(secret, said, "sha256")
        content = bytes(one ^ other for one, other in zip(content, hashed, strict=True))
    server.settle(server.ids)
    context = b"dpcore server noise" + ROUND + protocol.digest + content
    key = hmac.digest(secret, context, "sha256")
    expected = RememberedNoise(protocol.trust.tree(20), protocol.noise, key).of_nodes()
    np.testing.assert_array_equal(noise_of(server._tally, protocol).of_nodes(), expected)
    assert secret + content in server.to_bytes()


def test_reprs_fit_a_line_and_tell_no_share():
    servers = servers_of(Protocol(TRUSTS[0], 20, ROUND))
    agree(servers)
    assert repr(servers[0].answer([3, 4])) == "<Answer at 2 cells, about 30 reports>"
    assert repr(FunctionServers(servers)) == "<FunctionServers of 30 clients, 20 cells>"
    members = [PointwiseClient(SecureAggregation(), 20, cell) for cell in (7, 7, 8)]
    assert repr(SharedVectors(members)) == "<SharedVectors of 3 clients, 20 cells>"
    counts = SimulatedSum([1, 2], SecureAggregation())
    assert repr(counts) == "<SimulatedSum of 3 clients, 2 cells>"


def test_files_have_a_place_and_keys_that_there_are():
    protocol = Protocol(TRUSTS[0], 20, ROUND)
    server = Server(protocol, place=1)
    server.add(Client(protocol).report(3)[1])
    server.settle(server.ids)
    body = storage.opened(b"DPCS", server.to_bytes())
    key, length = body[-17 * 8 :], body[-18 * 8 : -17 * 8]
    assert int.from_bytes(length, "little") == len(key)
    before, shorter = body[: -18 * 8 - 1], (16 * 8).to_bytes(8, "little")
    for wrong in (b"\7" + length + key, b"\1" + shorter + key[8:]):
        with pytest.raises(FormatError, match="a place or keys that such a server"):
            Server.from_bytes(storage.sealed(b"DPCS", before + wrong), protocol)
    assert Server.from_bytes(storage.sealed(b"DPCS", before + b"\1" + length + key), protocol)


def test_each_server_has_a_secret_of_its_own():
    """Noise that others can compute is none."""
    protocol = Protocol(TRUSTS[0], 20, ROUND)
    keys = [Server(protocol, place=i % 2)._tally.noise_key for i in range(20)]
    assert len(set(keys)) == 20
    assert {len(key) for key in keys} == {32}
    ones = np.unpackbits(np.frombuffer(b"".join(keys), np.uint8)).sum()
    assert abs(int(ones) - 20 * 128) < 8 * np.sqrt(20 * 64)
    seeded = [Server(protocol, place=0, rng=RNG(seed))._tally.noise_key for seed in (1, 1, 2)]
    assert seeded[0] == seeded[1] != seeded[2]


@trusts
def test_reports_that_are_alike_do_not_cancel(trust):
    protocol = Protocol(trust, 20, ROUND)
    servers = servers_of(protocol, clients=1)
    agree(servers)
    contents = [server._tally.content for server in servers]
    reports = Client(protocol).report(3)
    for identity in (b"1" * 16, b"2" * 16):
        key = wire.client_key(wire.OPEN, ROUND, identity)
        same = (replace(wire.decode(each), report_id=identity) for each in reports)
        send(servers, [wire.encode(wire.signed(each, key)) for each in same])
    agree(servers)
    for server, content in zip(servers, contents, strict=True):
        assert server._tally.content != content


@pytest.mark.parametrize("ending", [Server.end, Server.close, lambda server: server.answer([3])])
def test_what_is_not_settled_when_a_round_ends_is_forgotten(ending):
    protocol = Protocol(TRUSTS[0], 20, ROUND)
    (server, _) = servers_of(protocol)
    settled = sorted(server.ids)[:7]
    server.settle(settled)
    ending(server)
    assert server.ids == frozenset(settled)
    assert len(server.to_bytes()) < 1500 + 7 * (16 + 136)
    assert len(Server.from_bytes(server.to_bytes(), protocol).ids) == 7


def test_who_forgets_to_settle_is_told_that_reports_wait():
    servers = servers_of(Protocol(TRUSTS[0], 20, ROUND))
    with pytest.raises(RoundError, match="at least 1 are needed; 30 wait to be settled"):
        FunctionServers(servers)
    assert not any(server.is_closed for server in servers)


def test_a_last_node_at_the_end_of_a_block_is_made_of_its_children_where_these_have_less_noise():
    trust = FunctionSharing(0.05, branching=(1024, 4), budgets=(2, 3))
    size = 1023 * 4 + 1  # the last of 1024 nodes has one cell
    noise = RememberedNoise(trust.tree(size), trust.shares(size), bytes(32))
    of_cells = noise.of_nodes()[-size:]
    assert noise.of_prefixes(np.array([size - 2])).tolist() == [-of_cells[-1]]
