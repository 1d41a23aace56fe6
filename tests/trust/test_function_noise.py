"""Noise of servers of shared functions: once for what they have settled, and secret."""

from __future__ import annotations

import hmac
from dataclasses import replace

import numpy as np
import pytest

from dpcore.noise.sources import source
from dpcore.trust import Client, FunctionSharing, Protocol, Server, Ticket, agree
from dpcore.trust.models.remembered_noise import RememberedNoise
from dpcore.trust.protocol import wire
from tests.trust.rounds import (
    FUNCTIONS,
    RNG,
    ROUND,
    counts_of,
    reports_of,
    resigned,
    resumed,
    send,
    servers_of,
)

EVERYWHERE = np.arange(20)
TRUSTS = [FunctionSharing(0.05), FunctionSharing(0.05, servers=3, honest=2)]
PROTOCOL = Protocol(TRUSTS[0], 20, ROUND)
trusts = pytest.mark.parametrize("trust", TRUSTS, ids=["two servers", "three servers"])


def waiting(protocol, clients=30):
    """Servers that have reports, which are not settled."""
    servers = servers_of(protocol, seeded=False)
    send(servers, *reports_of(protocol, np.arange(clients) % protocol.size, seed=None))
    return servers


@trusts
def test_another_report_with_the_id_of_a_client_has_other_noise(trust):
    """Or else a server that is rolled back, and is sent one, would show the client's function."""
    protocol = Protocol(trust, 20, ROUND)
    servers = waiting(protocol)
    own = Client(protocol).report(3)
    identity = wire.decode(own[0]).report_id

    def after(reports):
        again = resumed(servers)
        send(again, reports)
        agree(again)
        return counts_of(again, EVERYWHERE)

    first = after(own)
    np.testing.assert_array_equal(after(own), first)
    impostor = Client(protocol)
    impostor._ticket = Ticket(identity, wire.client_key(wire.OPEN, ROUND, identity))
    difference = (first - after(impostor.report(19)))[:-1]
    assert np.mean((difference == 0) | (difference == 1)) < 0.5


@trusts
def test_noise_depends_on_who_is_settled_and_neither_on_the_order_nor_on_files(trust):
    servers = waiting(Protocol(trust, 20, ROUND))
    again, others = resumed(servers), resumed(servers)
    ids = sorted(servers[0].ids)
    agree(servers)
    first = counts_of(servers, EVERYWHERE)
    for some in (ids[20:], ids[5:9], ids):
        for server in again:
            server.settle(some)
        again = resumed(again)
        again[0].add_up()
    np.testing.assert_array_equal(counts_of(again, EVERYWHERE), first)
    for server in others:
        server.settle(ids[1:])
    difference = (first - counts_of(others, EVERYWHERE))[:-1]  # of a client's bits, and of noise
    assert np.mean((difference == 0) | (difference == 1)) < 0.3


def test_merged_servers_have_noise_of_what_both_had():
    ours, theirs = waiting(PROTOCOL), waiting(PROTOCOL)
    for servers in (ours, theirs):
        agree(servers)
    again, others = resumed(ours), resumed(theirs)
    contents = [server._tally.memory.content for server in (ours[0], theirs[0])]
    for one, other in zip(ours + again, theirs + others, strict=True):
        one.merge(other)
    assert ours[0]._tally.memory.content == contents[0] ^ contents[1] != 0
    assert contents[1] not in (0, contents[0])
    np.testing.assert_array_equal(counts_of(again, EVERYWHERE), counts_of(ours, EVERYWHERE))


@trusts
def test_reports_that_are_alike_do_not_cancel(trust):
    protocol = Protocol(trust, 20, ROUND)
    servers = waiting(protocol, clients=1)
    agree(servers)
    contents = [server._tally.memory.content for server in servers]
    reports = Client(protocol).report(3)
    for identity in (b"1" * 16, b"2" * 16):
        send(servers, [resigned(report, report_id=identity) for report in reports])
    agree(servers)
    for server, content in zip(servers, contents, strict=True):
        assert server._tally.memory.content != content


def known(protocol, **more):
    """The memory of a server whose secret is no secret."""
    memory = protocol.round.memory(0, source(None))
    return replace(memory, **{"noise_key": bytes(range(32)), "content": 5, **more})


def noise_of(memory, protocol):
    """The noise of a server."""
    return protocol.round.noise_of(memory, b"".join(protocol.key), False)


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


def test_a_servers_key_is_made_as_is_written():
    """docs/guides/wire.md, section 5."""
    server = Server(PROTOCOL, place=0)
    secret, content = server._tally.memory.noise_key, bytes(32)
    for cell in range(5):
        report = Client(PROTOCOL).report(cell)[0]
        server.add(report)
        said = b"dpcore settled report\4" + report[40:56] + report[92:]
        hashed = hmac.digest(secret, said, "sha256")
        content = bytes(one ^ other for one, other in zip(content, hashed, strict=True))
    server.settle(server.ids)
    context = b"dpcore server noise" + ROUND + PROTOCOL.digest + content
    key = hmac.digest(secret, context, "sha256")
    expected = RememberedNoise(PROTOCOL.trust.tree(20), PROTOCOL.noise, key).of_nodes()
    np.testing.assert_array_equal(noise_of(server._tally.memory, PROTOCOL).of_nodes(), expected)
    assert secret + content in server.to_bytes()


def test_each_server_has_a_secret_of_its_own():
    """Noise that others can compute is none."""
    keys = [Server(FUNCTIONS, place=i % 2)._tally.memory.noise_key for i in range(20)]
    assert len(set(keys)) == 20
    assert {len(key) for key in keys} == {32}
    ones = np.unpackbits(np.frombuffer(b"".join(keys), np.uint8)).sum()
    assert abs(int(ones) - 20 * 128) < 8 * np.sqrt(20 * 64)
    seeded = [
        Server(FUNCTIONS, place=0, rng=RNG(seed))._tally.memory.noise_key for seed in (1, 1, 2)
    ]
    assert seeded[0] == seeded[1] != seeded[2]
