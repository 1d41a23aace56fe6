"""Servers: shares that sum exactly, and clients that vanish or misbehave."""

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
from dpcore.errors import DtypeError, ParameterError
from dpcore.noise.sources import source
from dpcore.trust import SecureAggregation
from dpcore.trust.protocol import wire
from dpcore.trust.protocol.agreement import agree
from dpcore.trust.protocol.clients import Client
from dpcore.trust.protocol.curves import release
from dpcore.trust.protocol.parameters import Protocol
from dpcore.trust.protocol.partial_sums import combine
from dpcore.trust.protocol.servers import Server
from dpcore.trust.protocol.wire import ReportError, RoundError, decode, encode
from tests.trust.rounds import LOCAL, NOISY, PROTOCOLS, ROUND, SECURE, filled, reports_of, server_of


def totals_of(protocol, reports):
    servers = filled(protocol, reports)
    agree(servers)
    return combine([server.close() for server in servers])


# --- shares


@settings(deadline=None)
@given(st.integers(2, 9), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4))
def test_shares_sum_exactly_and_wrap_around(servers, numbers):
    protocol = Protocol(SecureAggregation(servers), 4, ROUND)
    shares = Client(protocol)._shares(np.array(numbers, np.int64), source(None))
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
    seeds, rest = [], []
    for row in reports_of(protocol, [3] * 400, seed=5):
        first, second = map(decode, row)
        seeds.append(first.payload)
        rest.append(second.payload)
    for payloads in (seeds, rest):
        found = np.bincount(np.frombuffer(b"".join(payloads), np.uint8), minlength=256)
        assert chisquare(found).pvalue > 1e-4


@pytest.mark.parametrize("servers", [2, 3, 5])
def test_totals_are_the_sums_of_what_clients_counted(servers):
    protocol = Protocol(NOISY.trust, 20, ROUND, servers=servers)
    cells = np.arange(45) % 20
    rng, expected = np.random.default_rng(3), np.zeros(protocol.words, np.int64)
    for cell in cells:  # the same generator, before what splitting takes from it
        state = rng.bit_generator.state
        expected += Client(protocol, rng)._counts(np.array([int(cell)]), 0, source(rng))
        rng.bit_generator.state = state
        Client(protocol, rng).report(int(cell))
    totals = totals_of(protocol, reports_of(protocol, cells, seed=3))
    assert np.array_equal(totals, expected)
    assert totals[0] == 45


def test_secure_aggregation_releases_the_exact_curve():
    cells = np.random.default_rng(1).integers(0, 20, 100)
    grid = dp.Grid.uniform(0, 1, 20)
    servers = filled(SECURE, reports_of(SECURE, cells, seed=None))
    assert agree(servers) == 100
    curve = release([server.close() for server in servers], grid)
    counts = np.bincount(cells, minlength=20)
    truth = dp.cdf_from_counts(counts, grid, SecureAggregation())
    assert np.array_equal(curve.counts, truth.counts)
    assert (curve.n, curve.privacy, curve.mechanism) == (100, truth.privacy, truth.mechanism)
    assert not curve.privacy.simulated


# --- clients that vanish, and clients that misbehave


def test_clients_that_reach_one_server_alone_are_left_out():
    reports = reports_of(SECURE, np.arange(10))
    first, second = Server(SECURE), Server(SECURE)
    for i, row in enumerate(reports):
        if i != 2:
            first.add(row[0])
        if i not in (5, 6):
            second.add(row[1])
    assert agree([first, second]) == 7
    totals = combine([second.close(), first.close()])
    assert totals.tolist() == [1, 1, 0, 1, 1, 0, 0, 1, 1, 1] + [0] * 10


def test_settling_in_parts_is_settling_at_once():
    reports = reports_of(NOISY, np.arange(44) % 20)
    expected = totals_of(NOISY, reports)
    servers = [Server(NOISY), Server(NOISY)]
    for i, row in enumerate(reports):
        for server, report in zip(servers, row, strict=True):
            server.add(report)
        if i % 7 == 0:
            agree(servers)
    agree(servers)
    assert np.array_equal(combine([server.close() for server in servers]), expected)


def test_servers_that_settled_different_clients_are_not_combined():
    first, second = filled(SECURE, reports_of(SECURE, np.arange(10)))
    ids = sorted(first.ids)
    first.settle(ids[:5])
    second.settle(ids[:4])
    with pytest.raises(RoundError, match=r"different reports \(5, 4 of them\)"):
        combine([first.close(), second.close()])
    first, second = filled(SECURE, reports_of(SECURE, np.arange(10)))
    first.settle(ids[:5])
    second.settle(ids[1:6])
    with pytest.raises(RoundError, match="different"):
        release([first.close(), second.close()])


def test_unknown_clients_are_not_settled():
    server, _ = filled(SECURE, reports_of(SECURE, [1, 2]))
    before = server.to_bytes()
    with pytest.raises(RoundError, match="1 of 3 reports"):
        server.settle([*server.ids, bytes(16)])
    assert server.to_bytes() == before


def test_a_client_counts_once():
    row = reports_of(SECURE, [3])[0]
    first, second = filled(SECURE, [row])
    for server, report in [(first, row[0]), (first, row[1]), (second, row[1])]:
        with pytest.raises(ReportError) as raised:
            server.add(report)
        assert raised.value.reason == "duplicate"
    agree([first, second])
    with pytest.raises(ReportError, match="duplicate"):  # settled, and still known
        first.add(row[0])
    assert combine([first.close(), second.close()])[3] == 1
    client = Client(SECURE)
    client.report(1)
    with pytest.raises(ReportError, match="send the first one again"):
        client.report(1)


def test_a_sum_that_cannot_be_right_is_not_released():
    reports = reports_of(SECURE, np.arange(10))
    lie = decode(reports[4][1])
    words = np.frombuffer(lie.payload, "<u8").copy()
    words[7] += np.uint64(1000)
    key = wire.client_key(wire.OPEN, ROUND, lie.report_id)
    reports[4][1] = encode(wire.signed(replace(lie, payload=words.tobytes()), key))
    with pytest.raises(RoundError, match="the total is not the number of reports"):
        totals_of(SECURE, reports)


def test_too_few_reports_are_not_summed():
    reports = reports_of(NOISY, np.arange(40) % 20)
    servers = filled(NOISY, reports[:39])
    agree(servers)
    for server in servers:
        with pytest.raises(RoundError, match="39 reports are settled, but at least 40 are needed"):
            server.close()
        assert not server.is_closed
    for server, report in zip(servers, reports[39], strict=True):
        server.add(report)
    agree(servers)
    curve = release([server.close() for server in servers])
    assert (curve.n, curve.mechanism["reporting"], curve.mechanism["clients"]) == (40, 40, 50)
    trust = replace(NOISY.trust, reporting=40)
    assert np.array_equal(curve.noise_deviation, trust.noise_deviation(20))


def test_more_reports_than_were_asked_for_are_refused():
    reports = reports_of(NOISY, np.zeros(51))
    servers = filled(NOISY, reports[:50])
    with pytest.raises(ReportError) as raised:
        servers[0].add(reports[50][0])
    assert (raised.value.reason, servers[0].refused["full"]) == ("full", 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_closed_round_stays_closed(protocol):
    reports = reports_of(protocol, np.arange(45) % 20)
    servers = filled(protocol, reports[:44])
    agree(servers)
    server = servers[0]
    part = server.close()
    resumed = Server.from_bytes(server.to_bytes(), protocol)
    for each in (server, resumed):
        for change in (
            lambda each=each: each.add(reports[44][0]),
            lambda each=each: each.settle([]),
            lambda each=each: each.merge(server_of(protocol)),
            lambda each=each: server_of(protocol).merge(each),
            lambda each=each: agree([each]),
        ):
            with pytest.raises(RoundError, match="closed"):
                change()
        assert each.close().to_bytes() == part.to_bytes()
        assert each.accepted == 44


def test_simulated_reports_make_simulated_releases():
    for seed in (1, None):
        server = filled(LOCAL, reports_of(LOCAL, np.arange(30) % 20, seed))[0]
        assert release(server.close()).privacy == dp.Privacy(1.0, simulated=seed is not None)
    mixed = reports_of(LOCAL, np.arange(29) % 20, None) + reports_of(LOCAL, [0], 2)
    assert release(filled(LOCAL, mixed)[0].close()).privacy.simulated


# --- what is refused


@pytest.mark.parametrize("cell", [-1, 20, 1.0, True])
def test_cells_that_are_none(cell):
    with pytest.raises((DtypeError, ParameterError), match="cell"):
        Client(SECURE).report(cell)


@pytest.mark.parametrize(("protocol", "rng"), [(SECURE, 7), ("protocol", None)])
def test_wrong_clients_and_servers(protocol, rng):
    with pytest.raises(DtypeError):
        Client(protocol, rng)
    if rng is None:
        with pytest.raises(DtypeError):
            Server(protocol)
        with pytest.raises(RoundError):
            agree([])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_neither_servers_nor_clients_are_copied(copied):
    for each in (Server(NOISY), Client(NOISY)):
        with pytest.raises(TypeError, match="must not be copied or pickled"):
            copied(each)


def test_servers_that_cannot_agree():
    servers = [Server(NOISY), Server(NOISY)]
    other = Server(replace(NOISY, round_id=bytes(15) + b"x"))
    for bad in (servers[:1], [servers[0], servers[0]], [servers[0], other]):
        with pytest.raises(RoundError):
            agree(bad)
    with pytest.raises(DtypeError, match="servers must be servers; got int"):
        agree([1])
