"""Servers: shares that sum exactly, clients that vanish or misbehave; merged, saved, resumed."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import dpcore as dp
from dpcore.errors import DtypeError, FormatError
from dpcore.noise.sources import source
from dpcore.trust import (
    Client,
    PartialSum,
    Protocol,
    ReportError,
    RoundError,
    SecureAggregation,
    Server,
    agree,
    combine,
    release,
)
from dpcore.trust.protocol import wire
from tests.trust.rounds import (
    LOCAL,
    NOISY,
    PROTOCOLS,
    RNG,
    ROUND,
    SECURE,
    closed,
    filled,
    refusal,
    reports_of,
    resumed,
    send,
    server_of,
    servers_of,
)


def totals_of(protocol, reports):
    servers = filled(protocol, reports)
    agree(servers)
    return combine(closed(servers))


# --- shares


@given(st.integers(2, 9), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4))
def test_shares_sum_exactly_and_wrap_around(servers, numbers):
    protocol = Protocol(SecureAggregation(servers), 4, ROUND)
    payloads = protocol.round.split(np.array(numbers, np.int64), source(None))
    shares = [(protocol.round.kind(place), payload) for place, payload in enumerate(payloads)]
    total = np.zeros(4, np.uint64)
    for kind, payload in shares:
        if kind == wire.SEED:
            total += wire.expanded(payload, 4)
        else:
            total += np.frombuffer(payload, "<u8")
    assert total.view(np.int64).tolist() == numbers
    assert [kind for kind, _ in shares] == [wire.SEED] * (servers - 1) + [wire.ADDITIVE]


@pytest.mark.parametrize("protocol", [SECURE, NOISY])
def test_each_share_alone_is_uniform(protocol):
    for reports in zip(*reports_of(protocol, [3] * 400, seed=5), strict=True):
        payloads = b"".join(wire.decode(report).payload for report in reports)
        counts = np.bincount(np.frombuffer(payloads, np.uint8), minlength=256)
        assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("servers", [2, 3, 5])
def test_totals_are_the_sums_of_what_clients_counted(servers):
    protocol = Protocol(NOISY.trust, 20, ROUND, servers=servers)
    cells = np.arange(45) % 20
    rng, expected = RNG(3), np.zeros(protocol.words, np.int64)
    for cell in cells:  # the same generator, before what splitting takes from it
        state = rng.bit_generator.state
        expected += protocol.round.vector(np.array([int(cell)]), np.ones(1, int), source(rng))
        rng.bit_generator.state = state
        Client(protocol, rng).report(int(cell))
    totals = totals_of(protocol, reports_of(protocol, cells, seed=3))
    assert np.array_equal(totals, expected)
    assert totals[0] == 45


def test_secure_aggregation_releases_the_exact_curve():
    cells = RNG(1).integers(0, 20, 100)
    grid = dp.Grid.uniform(0, 1, 20)
    servers = filled(SECURE, reports_of(SECURE, cells, seed=None))
    assert agree(servers) == 100
    curve = release(closed(servers), grid)
    truth = dp.cdf_from_counts(np.bincount(cells, minlength=20), grid, SecureAggregation())
    assert np.array_equal(curve.counts, truth.counts)
    assert (curve.n, curve.privacy, curve.mechanism) == (100, truth.privacy, truth.mechanism)
    assert not curve.privacy.simulated


# --- clients that vanish, and clients that misbehave


def test_clients_that_reach_one_server_alone_are_left_out():
    first, second = servers_of(SECURE)
    for i, row in enumerate(reports_of(SECURE, np.arange(10))):
        if i != 2:
            first.add(row[0])
        if i not in (5, 6):
            second.add(row[1])
    assert agree([first, second]) == 7
    totals = combine(closed([second, first]))
    assert totals.tolist() == [1, 1, 0, 1, 1, 0, 0, 1, 1, 1] + [0] * 10


def test_settling_in_parts_is_settling_at_once():
    reports = reports_of(NOISY, np.arange(44) % 20)
    servers = servers_of(NOISY)
    for i, row in enumerate(reports):
        send(servers, row)
        if i % 7 == 0:
            agree(servers)
    agree(servers)
    assert np.array_equal(combine(closed(servers)), totals_of(NOISY, reports))


@pytest.mark.parametrize(("start", "stop", "words"), [(0, 4, r"\(5, 4 of them\)"), (1, 6, "5, 5")])
def test_servers_that_settled_different_clients_are_not_combined(start, stop, words):
    first, second = filled(SECURE, reports_of(SECURE, np.arange(10)))
    ids = sorted(first.ids)
    first.settle(ids[:5])
    second.settle(ids[start:stop])
    sums = closed([first, second])
    for use in (combine, release):
        with pytest.raises(RoundError, match=words):
            use(sums)


def test_unknown_clients_are_not_settled():
    server, _ = filled(SECURE, reports_of(SECURE, [1, 2]))
    before = server.to_bytes()
    with pytest.raises(RoundError, match="1 of 3"):
        server.settle([*server.ids, bytes(16)])
    assert server.to_bytes() == before


def test_a_client_counts_once():
    row = reports_of(SECURE, [3])[0]
    first, second = filled(SECURE, [row])
    for server, report in [(first, row[0]), (first, row[1]), (second, row[1])]:
        assert refusal(server, report) == "duplicate"
    agree([first, second])
    assert refusal(first, row[0]) == "duplicate"  # settled, and still known
    assert combine(closed([first, second]))[3] == 1
    client = Client(SECURE)
    client.report(1)
    with pytest.raises(ReportError, match="duplicate"):
        client.report(1)


def test_so_many_reports_are_summed_and_no_fewer_and_no_more():
    reports = reports_of(NOISY, np.arange(51) % 20)
    servers = filled(NOISY, reports[:39])
    agree(servers)
    for server in servers:
        with pytest.raises(RoundError, match=r"39 .* 40 are needed"):
            server.close()
        assert not server.is_closed
    send(servers, reports[39])
    many = resumed(servers)
    agree(servers)
    curve = release(closed(servers))
    assert (curve.n, curve.mechanism["reporting"], curve.mechanism["clients"]) == (40, 40, 50)
    trust = replace(NOISY.trust, reporting=40)
    assert np.array_equal(curve.noise_deviation, trust.noise_deviation(20))
    send(many, *reports[40:50])
    assert refusal(many[0], reports[50][0]) == "full"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_closed_round_stays_closed(protocol):
    reports = reports_of(protocol, np.arange(45) % 20)
    servers = filled(protocol, reports[:44])
    agree(servers)
    part = servers[0].close()
    for server in (servers[0], *resumed(servers[:1])):
        for change in (
            lambda server=server: server.add(reports[44][0]),
            lambda server=server: server.settle([]),
            lambda server=server: server.merge(server_of(protocol)),
            lambda server=server: server_of(protocol).merge(server),
            lambda server=server: agree([server]),
        ):
            with pytest.raises(RoundError, match="closed"):
                change()
        assert server.close().to_bytes() == part.to_bytes()
        assert server.accepted == 44


def test_simulated_reports_make_simulated_releases():
    for seed in (1, None):
        server = filled(LOCAL, reports_of(LOCAL, np.arange(30) % 20, seed))[0]
        assert release(server.close()).privacy == dp.Privacy(1.0, simulated=seed is not None)
    mixed = reports_of(LOCAL, np.arange(29) % 20, None) + reports_of(LOCAL, [0], 2)
    assert release(filled(LOCAL, mixed)[0].close()).privacy.simulated


# --- merged, saved and resumed


@pytest.mark.sample(3)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=6)
@given(st.data())
def test_merged_in_any_order_is_the_same(protocol, data):
    reports = reports_of(protocol, np.arange(44) % 20)
    of_first = [row[0] for row in reports]
    whole = server_of(protocol)
    for report in of_first:
        whole.add(report)
    parts = [server_of(protocol) for _ in range(4)]
    for report in of_first:
        parts[data.draw(st.integers(0, 3))].add(report)
    with pytest.raises(ReportError):
        parts[0].add(b"DPCR")
    for i in data.draw(st.permutations(range(4))):
        if data.draw(st.booleans()):
            parts[i].settle(parts[i].ids)
        if i:
            parts[0].merge(parts[i])
    assert parts[0].refused == {**whole.refused, "length": 1}
    assert parts[0].accepted == whole.accepted
    for server in (whole, parts[0]):
        server.settle(server.ids)
    assert parts[0].close().to_bytes() == whole.close().to_bytes()


def test_what_must_not_be_merged():
    reports = reports_of(NOISY, np.zeros(50))
    first, _ = filled(NOISY, reports[:30])
    overlapping, _ = filled(NOISY, reports[29:])
    more, _ = filled(NOISY, reports_of(NOISY, np.zeros(21), seed=9))
    before = first.to_bytes()
    for other, error, words in (
        (overlapping, RoundError, "1 clients"),
        (more, RoundError, "50"),
        (Server(SECURE), RoundError, "another round"),
        (first, RoundError, "this one"),
        (before, DtypeError, "other"),
    ):
        with pytest.raises(error, match=words):
            first.merge(other)
    assert first.to_bytes() == before
    most, _ = filled(NOISY, reports_of(NOISY, np.zeros(20), seed=9))
    first.merge(most)
    assert first.accepted == 50


def test_a_server_that_was_taken_over_gives_nothing_away():
    first, second = Server(NOISY), Server(NOISY)
    rows = reports_of(NOISY, np.arange(NOISY.least_reports) % NOISY.size)
    for row in rows:
        second.add(row[0])
    second.settle(second.ids)
    first.merge(second)
    assert first.accepted == len(rows)
    (again,) = resumed([second])
    for use in (second.close, again.close, lambda: second.add(rows[0][0])):
        with pytest.raises(RoundError):
            use()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_resumed_is_the_same(protocol):
    reports = reports_of(protocol, np.arange(44) % 20)
    straight, stopped = filled(protocol, reports), servers_of(protocol)
    for i, row in enumerate(reports):
        if i % 10 == 5:
            stopped = resumed(stopped)
        if i == 20:
            agree(stopped)
        send(stopped, row)
    for servers in (straight, stopped):
        agree(servers)
    for one, other in zip(straight, stopped, strict=True):
        if protocol.shares_functions:  # keys are in the order in which they were settled
            one.add_up()
            other.add_up()
        assert one.to_bytes() == other.to_bytes()
        assert one.close().to_bytes() == other.close().to_bytes()
    sums = closed(straight)
    back = [PartialSum.from_bytes(part.to_bytes(), protocol) for part in sums]
    assert np.array_equal(combine(back), combine(sums))
    assert np.array_equal(release(back).counts, release(sums).counts)
    for data, other in (
        (sums[0].to_bytes()[:-1], protocol),
        (sums[0].to_bytes(), replace(protocol, round_id=bytes(16))),
    ):
        with pytest.raises(FormatError):
            PartialSum.from_bytes(data, other)


def test_saved_servers_of_others_and_damaged_ones_are_refused():
    server, _ = filled(NOISY, reports_of(NOISY, np.zeros(3)))
    data = server.to_bytes()
    for other in (SECURE, replace(NOISY, round_id=bytes(16)), replace(NOISY, size=19)):
        with pytest.raises(FormatError):
            Server.from_bytes(data, other)
    changed = data[:100] + bytes([data[100] ^ 1]) + data[101:]
    for damaged in (changed, *(data[:end] for end in range(0, len(data), 7))):
        with pytest.raises(FormatError):
            Server.from_bytes(damaged, NOISY)


# --- what is refused


@pytest.mark.parametrize(
    ("make", "error", "name"),
    [
        (lambda: Client(SECURE, 7), DtypeError, "rng"),
        (lambda: Client("protocol"), DtypeError, "protocol"),
        (lambda: Server("protocol"), DtypeError, "protocol"),
        (lambda: agree([1]), DtypeError, "servers .*got int"),
        (lambda: agree([]), RoundError, "servers"),
        (lambda: agree(servers_of(NOISY)[:1]), RoundError, "2 servers"),
        (lambda: agree(servers_of(NOISY)[:1] * 2), RoundError, "2 servers"),
        (lambda: agree([Server(NOISY), Server(SECURE)]), RoundError, "different rounds"),
        (
            lambda: agree([Server(NOISY), Server(replace(NOISY, round_id=bytes(16)))]),
            RoundError,
            "different rounds",
        ),
    ],
)
def test_bad_arguments(make, error, name):
    with pytest.raises(error, match=name):
        make()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize(("once", "name"), [(Server(NOISY), "server"), (Client(NOISY), "client")])
def test_neither_servers_nor_clients_are_copied(copied, once, name):
    with pytest.raises(DtypeError, match=name):
        copied(once)
