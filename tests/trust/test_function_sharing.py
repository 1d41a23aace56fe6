"""Rounds in which clients share functions, and servers answer at any cells, for one budget."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.trust import (
    Client,
    FunctionSharing,
    RoundError,
    Server,
    agree,
    combine,
    opened,
    release,
    release_scores,
)
from tests.trust.function_rounds import (
    CELLS,
    EVERYWHERE,
    EXACT,
    RNG,
    TRUE,
    counts_of,
    filled,
    protocol_of,
    resumed,
    servers_of,
)


@pytest.mark.parametrize("servers", [2, 3, 5])
@pytest.mark.parametrize("size", [2, 3, 16, 20])
def test_answers_add_up_to_the_counts(servers, size):
    cells = CELLS % size
    true = np.cumsum(np.bincount(cells, minlength=size))
    found = filled(protocol_of(replace(EXACT, servers=servers), size), cells)
    np.testing.assert_array_equal(counts_of(found, np.arange(size)), true)
    np.testing.assert_array_equal(counts_of(found, [size - 1, 0, 0]), true[[size - 1, 0, 0]])
    curve = release([server.close() for server in found])
    np.testing.assert_allclose(curve.counts, true)
    np.testing.assert_array_equal(counts_of(found, np.arange(size)), true)


@pytest.mark.parametrize("trust", [FunctionSharing(0.5), FunctionSharing(0.5, servers=3, honest=2)])
def test_noise_is_the_same_however_often_and_whatever_is_asked(trust):
    servers = filled(protocol_of(trust))
    first = counts_of(servers)
    assert np.any(first != TRUE)
    assert first[-1] == TRUE[-1]
    np.testing.assert_array_equal(counts_of(servers), first)
    np.testing.assert_array_equal(counts_of(servers, [7]), first[[7]])
    back = resumed(servers)  # and after a restart
    np.testing.assert_array_equal(counts_of(back, EVERYWHERE[::-1]), first[::-1])
    for server in back:
        server.add_up()
    np.testing.assert_array_equal(counts_of(back), first)
    nodes = combine([server.close() for server in servers])
    np.testing.assert_array_equal(counts_of(resumed(servers)), first)
    np.testing.assert_array_equal(combine([server.close() for server in back]), nodes)


def test_a_curve_has_the_noise_of_the_answers():
    """A prefix is a signed sum of the nodes of the curve: the same noise, and not more of it."""
    protocol = protocol_of(FunctionSharing(0.3, branching=(4, 5), budgets="equal"))
    servers = filled(protocol)
    nodes = combine([server.close() for server in servers])
    levels = [nodes[a:b] for a, b in zip(protocol.starts, protocol.starts[1:], strict=False)]
    below = [np.r_[0, np.cumsum(level)] for level in levels]
    answers = counts_of(servers)
    for cell, found in enumerate(answers):
        first, rest = divmod(cell + 1, 5)
        cells = levels[2][5 * first : 5 * first + 5]
        up = below[1][first] + cells[:rest].sum()
        down = below[1][first + 1] - cells[rest:].sum() if rest else up
        top = levels[0][0] - levels[1][first:].sum() + cells[:rest].sum()
        bottom = levels[0][0] - levels[1][first + 1 :].sum() - cells[rest:].sum() if rest else up
        assert found in (up, down, top, bottom)


def test_other_clients_have_other_noise():
    """So that two answers about sets that differ in one client do not differ by that client."""
    protocol = protocol_of(FunctionSharing(0.2))
    saved = [server.to_bytes() for server in filled(protocol, CELLS[:50])]
    one, other = ([Server.from_bytes(each, protocol) for each in saved] for _ in range(2))
    for server, report in zip(other, Client(protocol).report(19), strict=True):
        server.add(report)
    agree(other)
    assert np.sum(counts_of(one)[:-1] != counts_of(other)[:-1]) > 10


def test_two_servers_have_different_noise():
    protocol = protocol_of(FunctionSharing(0.1))
    servers = filled(protocol, [19] * 10)
    for server in servers:
        server.close()
    found = [server._noise.of_nodes() for server in servers]
    assert np.any(found[0] != found[1])


def test_a_server_that_adds_up_keeps_no_key():
    protocol = protocol_of(size=256)
    server, unused = filled(protocol, CELLS)
    assert len(server.to_bytes()) > CELLS.size * (16 + 150)
    server.add_up()
    assert len(server.to_bytes()) < 8 * 256 + CELLS.size * 16 + 500
    small = len(server.to_bytes())
    server.add_up()
    assert len(server.to_bytes()) == small
    del unused


def test_keys_and_sums_are_used_together():
    protocol = protocol_of()
    servers = servers_of(protocol)
    for number, cell in enumerate(CELLS):
        for server, report in zip(servers, Client(protocol).report(int(cell)), strict=True):
            server.add(report)
        if number % 7 == 0:
            agree(servers)
        if number % 20 == 0:
            servers[0].add_up()
        if number % 25 == 3:
            servers = resumed(servers)
    agree(servers)
    np.testing.assert_array_equal(counts_of(servers), TRUE)


def test_scored_labels_and_clients_without_a_record():
    labels, scores = RNG(1).random(80) < 0.3, RNG(2).random(80)
    grid = dp.Grid.uniform(0, 1, 8)
    protocol = protocol_of(size=16, empty=8)
    servers = servers_of(protocol)
    for label, score in zip(labels, scores, strict=True):
        report = Client(protocol).report(dp.trust.cell_of(score, grid, bool(label)))
        for server, each in zip(servers, report, strict=True):
            server.add(each)
    for server, each in zip(servers, Client(protocol).report([]), strict=True):
        server.add(each)
    agree(servers)
    curves = release_scores([server.close() for server in servers], grid)
    np.testing.assert_allclose(curves.positives, np.cumsum(grid.count(scores[labels])), atol=1e-9)


def test_clients_that_reach_one_server_are_left_out():
    protocol = protocol_of()
    servers = filled(protocol)
    assert servers[0].accepted == 60
    fresh = servers_of(protocol)
    for number, cell in enumerate(CELLS):
        reports = Client(protocol).report(int(cell))
        fresh[0].add(reports[0])
        if number % 3:
            fresh[1].add(reports[1])
    assert agree(fresh) == 40
    kept = CELLS[np.arange(60) % 3 > 0]
    np.testing.assert_array_equal(counts_of(fresh), np.cumsum(np.bincount(kept, minlength=20)))


def test_servers_in_one_place_merge():
    protocol = protocol_of()
    one, other = filled(protocol, CELLS[:25]), filled(protocol, CELLS[25:])
    for kept, taken in zip(one, other, strict=True):
        taken.add_up()
        kept.merge(taken)
    np.testing.assert_array_equal(counts_of(one), TRUE)
    with pytest.raises(RoundError, match="in another place"):
        filled(protocol)[0].merge(filled(protocol)[1])


def test_an_answer_ends_the_round():
    servers = filled(protocol_of())
    report = Client(servers[0].protocol).report(1)[0]
    assert not servers[0].is_closed
    servers[0].answer([3])
    assert servers[0].is_closed
    for refused in (
        lambda: servers[0].add(report),
        lambda: servers[0].settle([]),
        lambda: servers[0].merge(servers[1]),
    ):
        with pytest.raises(RoundError, match="closed"):
            refused()
    with pytest.raises(RoundError, match="0 reports are settled"):
        Server(servers[0].protocol, place=0).answer([3])


def test_studies_are_marked():
    protocol = protocol_of(FunctionSharing(1.0))
    for rng, of_server in ((RNG(1), None), (None, RNG(2))):
        servers = [Server(protocol, place=0, rng=of_server), Server(protocol, place=1)]
        for server, report in zip(servers, Client(protocol, rng).report(1), strict=True):
            server.add(report)
        agree(servers)
        assert opened([server.answer([1]) for server in servers]).simulated
        assert release([server.close() for server in resumed(servers)]).privacy.simulated
    assert not opened([server.answer([1]) for server in filled(protocol)]).simulated


def test_a_seeded_server_repeats_itself():
    protocol = protocol_of(FunctionSharing(0.1))
    found = []
    for _ in range(2):
        servers = [Server(protocol, place=place, rng=RNG(place)) for place in (0, 1)]
        rng = RNG(3)
        for cell in CELLS:
            reports = Client(protocol, rng).report(int(cell))
            for server, report in zip(servers, reports, strict=True):
                server.add(report)
        agree(servers)
        found.append(counts_of(servers))
    np.testing.assert_array_equal(*found)
