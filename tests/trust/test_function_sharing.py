"""Rounds in which clients share functions, and servers answer at any cells, for one budget."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

import dpcore as dp
from dpcore.trust import (
    Client,
    Enrolment,
    FunctionSharing,
    Protocol,
    RoundError,
    Server,
    agree,
    combine,
    opened,
    release,
    release_scores,
)
from dpcore.trust.protocol import wire
from tests.trust.rounds import (
    RNG,
    ROUND,
    closed,
    counts_of,
    reports_of,
    resumed,
    send,
    servers_of,
    settled,
)

CELLS = RNG(5).integers(0, 20, 60)
TRUE = np.cumsum(np.bincount(CELLS, minlength=20))
EVERYWHERE = np.arange(20)
TRUST = FunctionSharing(epsilon=10_000.0)  # noise is 0, but with probability exp(-500) or so
EXACT = Protocol(TRUST, 20, ROUND)


@pytest.mark.parametrize(
    ("servers", "size"),
    [(2, 2), (2, 3), (2, 16), (2, 20), (3, 2), (3, 3), (3, 1024), (5, 16), (5, 20)],
)
def test_answers_add_up_to_the_counts(servers, size):
    cells = CELLS * 7 % size
    true = np.cumsum(np.bincount(cells, minlength=size))
    ready = settled(Protocol(replace(TRUST, servers=servers), size, ROUND), cells)
    np.testing.assert_array_equal(counts_of(ready, np.arange(size)), true)
    np.testing.assert_array_equal(counts_of(ready, [size - 1, 0, 0]), true[[size - 1, 0, 0]])
    np.testing.assert_allclose(release(closed(ready)).counts, true)
    np.testing.assert_array_equal(counts_of(ready, np.arange(size)), true)
    assert counts_of(ready, []).size == 0
    assert counts_of(ready, 1).tolist() == [true[1]]


@pytest.mark.parametrize("trust", [FunctionSharing(0.5), FunctionSharing(0.5, servers=3, honest=2)])
def test_noise_is_the_same_however_often_and_whatever_is_asked(trust):
    servers = settled(Protocol(trust, 20, ROUND), CELLS)
    first = counts_of(servers, EVERYWHERE)
    assert np.any(first != TRUE)
    assert first[-1] == TRUE[-1]
    np.testing.assert_array_equal(counts_of(servers, EVERYWHERE), first)
    np.testing.assert_array_equal(counts_of(servers, [7]), first[[7]])
    back = resumed(servers)  # and after a restart
    np.testing.assert_array_equal(counts_of(back, EVERYWHERE[::-1]), first[::-1])
    for server in back:
        server.add_up()
    np.testing.assert_array_equal(counts_of(back, EVERYWHERE), first)
    nodes = combine(closed(servers))
    np.testing.assert_array_equal(counts_of(resumed(servers), EVERYWHERE), first)
    np.testing.assert_array_equal(combine(closed(back)), nodes)


def test_a_curve_has_the_noise_of_the_answers():
    """A prefix is a signed sum of the nodes of the curve: the same noise, and not more of it."""
    protocol = Protocol(FunctionSharing(0.3, branching=(4, 5), budgets="equal"), 20, ROUND)
    servers = settled(protocol, CELLS)
    nodes = combine(closed(servers))
    levels = [nodes[a:b] for a, b in zip(protocol.starts, protocol.starts[1:], strict=False)]
    below = [np.r_[0, np.cumsum(level)] for level in levels]
    for cell, answer in enumerate(counts_of(servers, EVERYWHERE)):
        first, rest = divmod(cell + 1, 5)
        cells = levels[2][5 * first : 5 * first + 5]
        up = below[1][first] + cells[:rest].sum()
        down = below[1][first + 1] - cells[rest:].sum() if rest else up
        top = levels[0][0] - levels[1][first:].sum() + cells[:rest].sum()
        bottom = levels[0][0] - levels[1][first + 1 :].sum() - cells[rest:].sum() if rest else up
        assert answer in (up, down, top, bottom)


@pytest.mark.needs_jit
def test_a_server_has_keys_and_no_totals_before_it_adds_up_and_then_totals_alone():
    ready = settled(Protocol(TRUST, 4096, ROUND), CELLS)
    server = ready[0]
    key = server.protocol.payload_bytes(wire.FUNCTION)
    before = len(server.to_bytes())
    assert 60 * (16 + key) < before < 60 * (16 + key) + 500
    (back, _) = resumed(ready)
    for _ in range(2):
        server.add_up()
        assert 8 * 4096 < len(server.to_bytes()) < 8 * 4096 + 60 * 16 + 500
    assert back.answer([7, 4095]).shares.tolist() == server.answer([7, 4095]).shares.tolist()


def test_keys_and_sums_are_used_together():
    servers = servers_of(EXACT)
    for number, reports in enumerate(reports_of(EXACT, CELLS)):
        send(servers, reports)
        if number % 7 == 0:
            agree(servers)
        if number % 20 == 0:
            servers[0].add_up()
        if number % 25 == 3:
            servers = resumed(servers)
    agree(servers)
    np.testing.assert_array_equal(counts_of(servers, EVERYWHERE), TRUE)


def test_scored_labels_and_clients_without_a_record():
    labels, scores = RNG(1).random(80) < 0.3, RNG(2).random(80)
    grid = dp.Grid.uniform(0, 1, 8)
    protocol = Protocol(TRUST, 16, ROUND, empty=8)
    servers = servers_of(protocol)
    send(servers, *reports_of(protocol, dp.trust.cell_of(scores, grid, labels)))
    send(servers, Client(protocol).report([]))
    agree(servers)
    curves = release_scores(closed(servers), grid)
    np.testing.assert_allclose(curves.positives, np.cumsum(grid.count(scores[labels])), atol=1e-9)


def test_clients_that_reach_one_server_are_left_out():
    servers = servers_of(EXACT)
    for number, reports in enumerate(reports_of(EXACT, CELLS)):
        servers[0].add(reports[0])
        if number % 3:
            servers[1].add(reports[1])
    assert agree(servers) == 40
    kept = np.bincount(CELLS[np.arange(60) % 3 > 0], minlength=20)
    np.testing.assert_array_equal(counts_of(servers, EVERYWHERE), np.cumsum(kept))


def test_servers_in_one_place_merge():
    one, other = settled(EXACT, CELLS[:25]), settled(EXACT, CELLS[25:])
    for kept, taken in zip(one, other, strict=True):
        taken.add_up()
        kept.merge(taken)
    np.testing.assert_array_equal(counts_of(one, EVERYWHERE), TRUE)
    with pytest.raises(RoundError, match="place"):
        servers_of(EXACT)[0].merge(servers_of(EXACT)[1])


@pytest.mark.parametrize("ending", [Server.end, Server.close, lambda server: server.answer([3])])
def test_a_round_ends_and_what_is_not_settled_is_forgotten(ending):
    protocol = Protocol(FunctionSharing(0.5), 20, ROUND)
    servers = servers_of(protocol)
    send(servers, *reports_of(protocol, CELLS))
    kept = sorted(servers[0].ids)[:7]
    for server in servers:
        server.settle(kept)
        assert not server.is_closed
        ending(server)
        assert server.is_closed
        assert server.ids == frozenset(kept)
        assert len(server.to_bytes()) < 1500 + 7 * (16 + 136)
    for change in (
        lambda: servers[0].add(Client(protocol).report(1)[0]),
        lambda: servers[0].settle([]),
        lambda: servers[0].merge(servers[1]),
    ):
        with pytest.raises(RoundError, match="closed"):
            change()
    saved = [server.to_bytes() for server in servers]
    back = resumed(servers)
    first = counts_of(servers, EVERYWHERE)
    ending(servers[0])
    assert [server.to_bytes() for server in servers] == saved
    np.testing.assert_array_equal(counts_of(back, EVERYWHERE), first)
    assert len(back[0].ids) == 7
    with pytest.raises(RoundError, match="0 reports"):
        ending(Server(protocol, place=0))


@pytest.mark.parametrize("seeded", ["nobody", "client", "first server", "second server"])
def test_studies_are_marked(seeded):
    protocol = Protocol(FunctionSharing(1.0), 20, ROUND)
    rngs = [RNG(1) if f"{name} server" == seeded else None for name in ("first", "second")]
    servers = [Server(protocol, place=place, rng=rng) for place, rng in enumerate(rngs)]
    send(servers, *reports_of(protocol, [1], seed=1 if seeded == "client" else None))
    agree(servers)
    simulated = seeded != "nobody"
    assert opened([server.answer([1]) for server in servers]).simulated is simulated
    assert release(closed(resumed(servers))).privacy.simulated is simulated


def test_enrolled_clients_share_functions():
    protocol, enrolment = Protocol(TRUST, 20, ROUND, enrolled=True), Enrolment(b"\1" * 32)
    servers = [Server(protocol, enrolment, place=place) for place in range(2)]
    for number, cell in enumerate(CELLS):
        ticket = enrolment.ticket(protocol, str(number))
        send(servers, Client(protocol, ticket=ticket).report(int(cell)))
    agree(servers)
    np.testing.assert_array_equal(counts_of(servers, EVERYWHERE), TRUE)


def test_a_key_tells_its_length():
    for size, length in ((2**16, 400), (2**10, 256), (2, 8 * 5), (20, 8 * 17)):
        protocol = Protocol(TRUST, size, ROUND)
        reports = Client(protocol).report(1)
        assert [len(report) for report in reports] == [wire.HEADER_BYTES + length] * 2
        assert protocol.payload_bytes(wire.FUNCTION) == length
    many = Client(Protocol(FunctionSharing(1.0, servers=4), 20, ROUND)).report(1)
    assert [len(report) - wire.HEADER_BYTES for report in many] == [32, 32, 32, 8 * 20]


# --- more than two servers: a table for the last, seeds for the others


def tables_of(cell, size, servers, clients, seed):
    """(servers, clients, size) the shares of the values of one cell's step function."""
    protocol = Protocol(FunctionSharing(1.0, servers=servers), size, ROUND)
    rows = reports_of(protocol, [cell] * clients, seed)
    tables = np.empty((servers, clients, size), np.uint64)
    for client, row in enumerate(rows):
        for server, report in enumerate(map(wire.decode, row)):
            [(_, tables[server, client])] = protocol.round.counted(report.kind, report.payload)
    return tables


@pytest.mark.parametrize(("servers", "size"), [(3, 2), (3, 3), (3, 64), (4, 1000), (4, 1024)])
def test_shares_add_up_to_the_step(servers, size):
    for cell in {0, 1, size // 2, size - 1}:
        total = tables_of(cell, size, servers, 3, 1).sum(axis=0, dtype=np.uint64)
        np.testing.assert_array_equal(total, np.tile(np.arange(size) >= cell, (3, 1)))


@pytest.mark.sample(1)
@pytest.mark.parametrize("cell", [0, 5, 7])
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_all_servers_but_one_have_uniform_words(cell, missing):
    """Whoever is missing: the words that the others have, and the sum of these."""
    shares = np.delete(tables_of(cell, 8, 3, 2000, 2), missing, axis=0)
    for words in (*shares, shares.sum(axis=0, dtype=np.uint64)):
        octets = words.reshape(-1, 8).view(np.uint8).reshape(-1, 8)
        for place in range(8):
            counts = np.bincount(octets[:, place], minlength=256)
            assert chisquare(counts).pvalue > 1e-6
        bits = np.unpackbits(words.view(np.uint8), axis=1).mean(axis=0)
        assert np.all(np.abs(bits - 0.5) < 6 * 0.5 / np.sqrt(2000))


def test_what_servers_but_one_have_is_the_same_for_all_values():
    """From one stream of random numbers: only the last server's table depends on the value."""
    first, other = (tables_of(cell, 64, 4, 20, 3) for cell in (2, 60))
    np.testing.assert_array_equal(first[:-1], other[:-1])
    between = (np.arange(64) >= 2) & (np.arange(64) < 60)
    changed = (first[-1] - other[-1]).view(np.int64)
    np.testing.assert_array_equal(changed, np.tile(between, (20, 1)))
