"""Servers: shares that sum exactly, clients that misbehave, and curves as the mechanisms' own."""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
import os
import pickle
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

import dpcore as dp
from dpcore.errors import DtypeError, FormatError, MissingValueError, ParameterError
from dpcore.noise.sources import GeneratorSource, source
from dpcore.trust import DistributedNoise, Enrolment, Local, SecureAggregation
from dpcore.trust.protocol import wire
from dpcore.trust.protocol.clients import Client, cell_of
from dpcore.trust.protocol.curves import release, release_scores
from dpcore.trust.protocol.parameters import Protocol
from dpcore.trust.protocol.partial_sums import PartialSum, combine
from dpcore.trust.protocol.servers import Server, agree
from dpcore.trust.protocol.wire import ReportError, RoundError, decode, encode

ROUND = bytes(range(16))
SECURE = Protocol(SecureAggregation(), 20, ROUND)
NOISY = Protocol(DistributedNoise(1.0, clients=50, dropout=0.2), 20, ROUND)
LOCAL = Protocol(Local(1.0, clients=50), 20, ROUND)
PROTOCOLS = [SECURE, NOISY, LOCAL]


def reports_of(protocol, cells, seed=1):
    """(clients, servers) reports."""
    rng = None if seed is None else np.random.default_rng(seed)
    return [Client(protocol, rng).report(int(cell)) for cell in cells]


def filled(protocol, reports):
    """The servers of a protocol, with these reports."""
    servers = [Server(protocol) for _ in range(protocol.receivers)]
    for row in reports:
        for server, report in zip(servers, row, strict=True):
            server.add(report)
    return servers


def totals_of(protocol, reports):
    servers = filled(protocol, reports)
    agree(servers)
    return combine([server.close() for server in servers])


def counts_of(protocol, seed, cell):
    """What a client's report is made of, before it is split."""
    rng = np.random.default_rng(seed)
    return Client(protocol, rng)._counts([cell], 0, source(rng))


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
        expected += Client(protocol, rng)._counts([int(cell)], 0, source(rng))
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
    with pytest.raises(ReportError, match="send the first again"):
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
        with pytest.raises(RoundError, match="39 reports are settled, and it takes at least 40"):
            server.close()
        assert not server.is_closed
    for server, report in zip(servers, reports[39], strict=True):
        server.add(report)
    agree(servers)
    curve = release([server.close() for server in servers])
    assert (curve.n, curve.mechanism["reporting"], curve.mechanism["clients"]) == (40, 40, 50)
    trust = replace(NOISY.trust, reporting=40)
    assert np.array_equal(curve.noise_deviation, trust.standard_error(20))


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
            lambda each=each: each.merge(Server(protocol)),
            lambda each=each: Server(protocol).merge(each),
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


# --- merging and resuming


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=10)
@given(st.data())
def test_merged_in_any_order_is_the_same(protocol, data):
    reports = reports_of(protocol, np.arange(44) % 20)
    of_first = [row[0] for row in reports]
    whole = Server(protocol)
    for report in of_first:
        whole.add(report)
    parts = [Server(protocol) for _ in range(4)]
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
    before = first.to_bytes()
    with pytest.raises(RoundError, match="1 clients"):
        first.merge(overlapping)
    more, _ = filled(NOISY, reports_of(NOISY, np.zeros(21), seed=9))
    with pytest.raises(RoundError, match="more than the 50"):
        first.merge(more)
    with pytest.raises(RoundError, match="another round"):
        first.merge(Server(SECURE))
    with pytest.raises(DtypeError):
        first.merge(first.to_bytes())
    with pytest.raises(RoundError):
        first.merge(first)
    assert first.to_bytes() == before


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_resumed_is_the_same(protocol):
    reports = reports_of(protocol, np.arange(44) % 20)
    straight, stopped = filled(protocol, reports), filled(protocol, [])
    for i, row in enumerate(reports):
        if i % 10 == 5:
            stopped = [Server.from_bytes(each.to_bytes(), protocol) for each in stopped]
        if i == 20:
            agree(stopped)
        for server, report in zip(stopped, row, strict=True):
            server.add(report)
    for servers in (straight, stopped):
        agree(servers)
    for one, other in zip(straight, stopped, strict=True):
        assert one.to_bytes() == other.to_bytes()
        assert one.close().to_bytes() == other.close().to_bytes()


def test_saved_servers_of_others_and_damaged_ones_are_refused():
    server, _ = filled(NOISY, reports_of(NOISY, np.zeros(3)))
    data = server.to_bytes()
    for other in (SECURE, replace(NOISY, round_id=bytes(16)), replace(NOISY, size=19)):
        with pytest.raises(FormatError):
            Server.from_bytes(data, other)
    for end in range(0, len(data), 7):
        with pytest.raises(FormatError):
            Server.from_bytes(data[:end], NOISY)
    changed = bytearray(data)
    changed[100] ^= 1
    with pytest.raises(FormatError, match="checksum"):
        Server.from_bytes(bytes(changed), NOISY)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_partial_sums_are_read_back(protocol):
    servers = filled(protocol, reports_of(protocol, np.arange(44) % 20))
    agree(servers)
    sums = [server.close() for server in servers]
    back = [PartialSum.from_bytes(part.to_bytes(), protocol) for part in sums]
    assert np.array_equal(combine(back), combine(sums))
    assert np.array_equal(release(back).counts, release(sums).counts)
    with pytest.raises(FormatError):
        PartialSum.from_bytes(sums[0].to_bytes()[:-1], protocol)
    with pytest.raises(FormatError):
        PartialSum.from_bytes(sums[0].to_bytes(), replace(protocol, round_id=bytes(16)))


def test_sums_that_do_not_belong_together():
    servers = filled(NOISY, reports_of(NOISY, np.zeros(40)))
    agree(servers)
    sums = [server.close() for server in servers]
    for wrong in ([], sums[0], sums[:1], [*sums, sums[0]]):
        with pytest.raises(RoundError):
            combine(wrong)
    other = PartialSum(SECURE, np.zeros(20, np.uint64), 40, sums[0].clients)
    with pytest.raises(RoundError, match="different parameters"):
        combine([sums[0], other])
    with pytest.raises(DtypeError):
        combine([sums[0], sums[0].to_bytes()])
    with pytest.raises(ParameterError):
        release(sums, dp.Grid.uniform(0, 1, 19))
    with pytest.raises(DtypeError):
        release(sums, isotonic=1)
    with pytest.raises(ParameterError):
        release_scores(sums, dp.Grid.uniform(0, 1, 20))


# --- the law of what is released


@pytest.mark.needs_jit
def test_distributed_noise_has_the_variance_that_is_stated():
    protocol = Protocol(DistributedNoise(1.0, clients=20, dropout=0.25, branching=4), 16, ROUND)
    rng, rounds = np.random.default_rng(11), 200
    errors, nodes = np.empty((rounds, 15)), np.empty((rounds, protocol.words))
    cells = np.arange(18) % 16
    truth = np.cumsum(np.bincount(cells, minlength=16))
    for i in range(rounds):
        servers = filled(protocol, [Client(protocol, rng).report(int(cell)) for cell in cells])
        agree(servers)
        sums = [server.close() for server in servers]
        nodes[i] = combine(sums)
        curve = release(sums, isotonic=False)
        errors[i] = (curve.counts - truth)[:-1]
    # A discrete Laplace sum has a kurtosis near 6, that of 18 of 15 shares somewhat less.
    tolerance = 5 * np.sqrt(5 / rounds)
    expected = curve.noise_deviation[:-1] ** 2
    assert np.mean(errors**2, axis=0) == pytest.approx(expected, rel=tolerance)
    assert np.mean(np.mean(errors**2, axis=0) / expected) == pytest.approx(1, abs=0.2)
    tree = protocol.trust.tree(16)
    for level, law in enumerate(tree.laws):
        part = nodes[:, tree.starts[level] : tree.starts[level + 1]]
        stated = 0.0 if law is None else 18 / 15 * law.variance
        assert part.var(axis=0).mean() == pytest.approx(stated, rel=0.25)


@pytest.mark.needs_jit
def test_local_agrees_with_the_mechanism():
    trust = Local(3.0, clients=120, branching=4)
    protocol = Protocol(trust, 16, ROUND)
    rng, rounds = np.random.default_rng(12), 30
    cells = np.minimum(np.arange(120) // 12, 15)
    counts = np.bincount(cells, minlength=16)
    released = np.empty((rounds, 16))
    for row in released:
        server = Server(protocol)
        for cell in cells:
            server.add(Client(protocol, rng).report(int(cell))[0])
        row[:] = release(server.close(), isotonic=False).counts
    own = trust.release(counts, rng=np.random.default_rng(13), replicates=1500)
    deviation = own.std(axis=0)[:-1]
    assert np.all(released[:, -1] == 120)
    means = (released.mean(axis=0) - np.cumsum(counts))[:-1]
    assert np.abs(means / deviation * np.sqrt(rounds)).max() < 4.5
    ratio = released.var(axis=0)[:-1] / deviation**2
    low, high = chi2.ppf([1e-4, 1 - 1e-4], rounds - 1) / (rounds - 1)
    # Levels are drawn here, and dealt out in fixed numbers there: a little more variance.
    assert np.all((ratio > low) & (ratio < 1.1 * high))


def test_local_totals_are_those_of_the_encoding():
    server, rows = Server(LOCAL), {level: [] for level in range(1, len(LOCAL.asked) + 1)}
    for (report,) in reports_of(LOCAL, np.arange(50) % 20):
        server.add(report)
        payload = decode(report).payload
        padded = payload[1:] + bytes(-(len(payload) - 1) % 8)
        rows[payload[0]].append(np.frombuffer(padded, "<u8").astype(np.uint64))
    part = server.close()
    assert part.by_level == tuple(map(len, rows.values()))
    for level, reports in rows.items():
        found = part.totals[LOCAL.starts[level] : LOCAL.starts[level + 1]]
        if reports:
            size = LOCAL.level_size(level)
            expected = LOCAL.trust.encoding.totals(np.array(reports), size)
            assert np.array_equal(found, expected)


@pytest.mark.needs_jit
def test_levels_are_drawn_in_proportion():
    protocol = Protocol(Local(1.0, clients=1000, branching=(2, 5, 4)), 40, ROUND)
    server = Server(protocol)
    for (report,) in reports_of(protocol, np.zeros(1000)):
        server.add(report)
    assert len(protocol.asked) == 3
    assert chisquare(server.close().by_level, protocol.asked).pvalue > 1e-4


def test_a_level_that_nobody_reported_is_not_used():
    protocol = Protocol(Local(8.0, clients=50, branching=2), 8, ROUND)
    server = Server(protocol)
    for (report,) in reports_of(protocol, np.zeros(200), seed=4):
        if decode(report).payload[0] != 2:
            server.add(report)
    part = server.close()
    assert part.by_level[1] == 0
    curve = release(part, isotonic=False)
    assert np.all(np.isfinite(curve.counts))
    assert abs(curve.counts[0] / part.reports - 1) < 0.5


def test_rounds_with_fewer_reports_than_levels_stay_open():
    """They used to be closed, once and for all, and then could not be released."""
    protocol = Protocol(Local(8.0, clients=50, branching=2), 8, ROUND)
    server = Server(protocol)
    rows = reports_of(protocol, np.zeros(40), seed=4)
    for (report,) in [row for row in rows if decode(row[0]).payload[0] == 3][:2]:
        with pytest.raises(RoundError, match="reports are settled, and it takes at least 3"):
            server.close()
        server.add(report)
    with pytest.raises(RoundError, match="2 reports are settled, and it takes at least 3"):
        server.close()
    assert not server.is_closed
    server.add(next(row[0] for row in rows if decode(row[0]).payload[0] == 1))
    assert release(server.close()).n == 3


def test_levels_without_noise_are_not_told():
    counts = counts_of(NOISY, 1, 7)
    assert counts[0] == 1  # the root is no secret: it has no noise
    hidden = (NOISY.noise[0], None, *NOISY.noise[2:])
    protocol = replace(NOISY)
    object.__setattr__(protocol, "noise", hidden)
    assert not np.any(counts_of(protocol, 1, 7)[protocol.starts[1] : protocol.starts[2]])


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 300), st.integers(2, 17), st.data())
def test_a_record_is_in_one_node_of_each_level(size, branching, data):
    protocol = Protocol(DistributedNoise(1.0, clients=50, branching=branching), size, ROUND)
    cell = data.draw(st.integers(0, size - 1))
    rng = np.random.default_rng(1)
    counts, source = counts_of(protocol, 1, cell), GeneratorSource(rng)
    for level, share in enumerate(protocol.noise):
        if share is not None:
            noise = np.empty(protocol.level_size(level), np.int64)
            share.fill(noise, source)
            counts[protocol.starts[level] : protocol.starts[level + 1]] -= noise
    exact = np.zeros(size, np.int64)
    exact[cell] = 1
    expected = protocol.trust.tree(size).node_sums(exact)
    for level, share in enumerate(protocol.noise):
        if share is None and level > 0:  # not counted
            expected[protocol.starts[level] : protocol.starts[level + 1]] = 0
    assert np.array_equal(counts, expected)


# --- scored labels


def test_cells_are_those_of_the_counts():
    rng = np.random.default_rng(2)
    for grid in (dp.Grid.uniform(0, 1, 16), dp.Grid([0.0, 0.1, 0.7, 2.0])):
        for score in [*rng.random(20), *grid.thresholds, -np.inf, np.inf, 5]:
            assert grid.count([score])[cell_of(score, grid)] == 1
            for label in (True, False):
                counts = dp.score_counts([label], [score], grid)
                assert counts[cell_of(score, grid, label)] == 1
    with pytest.raises(MissingValueError):
        cell_of(np.nan, grid)
    with pytest.raises(DtypeError):
        cell_of(0.5, grid, 2)
    with pytest.raises(DtypeError):
        cell_of(0.5, [0.0, 1.0])


def test_scored_labels():
    grid = dp.Grid.uniform(0, 1, 10)
    rng = np.random.default_rng(3)
    y_true, y_score = rng.random(60) < 0.4, rng.random(60)
    protocol = Protocol(SecureAggregation(), 20, ROUND)
    cells = [cell_of(score, grid, label) for score, label in zip(y_score, y_true, strict=True)]
    servers = filled(protocol, reports_of(protocol, cells))
    agree(servers)
    curves = release_scores([server.close() for server in servers], grid)
    exact = dp.score_curves(y_true, y_score, grid, dp.mechanisms.NoNoise())
    assert np.array_equal(curves.negatives, exact.negatives)
    assert np.array_equal(curves.positives, exact.positives)


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


# --- over TCP

SAID = {
    "says that more bytes follow than do": "refused: length",
    "reports for another round": "refused: round",
    "reports for other parameters": "refused: parameters",
    "sends twice": "refused: duplicate",
    "makes a second report": "refused: duplicate",
    "sends it under another id": "refused: tag",
    "reports to one server alone": "accepted",
    "announces 4 GiB": "connection closed",
}
REFUSED = {
    **dict.fromkeys(wire.REASONS, 0),
    "length": 1,
    "round": 1,
    "parameters": 1,
    "duplicate": 2,
    "tag": 1,
}


@pytest.fixture
def script(monkeypatch):
    """Import a module of scripts/, and forget it afterwards."""
    root = Path(__file__).parents[2]
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.syspath_prepend(str(root / "scripts"))
    yield importlib.import_module
    for name in ("rehearse", "_rehearsal_processes", "_environment"):
        sys.modules.pop(name, None)


def released_well(curve, settled, cells, lost):
    truth = np.cumsum(np.bincount(cells, minlength=curve.grid.size))
    assert (curve.n, curve.privacy) == (settled, dp.Privacy(1.0))
    assert np.abs(curve.counts - truth).max() < 8 * curve.noise_deviation.max() + lost


def test_a_round_over_sockets_with_a_server_that_is_lost(tmp_path, script):
    """What rehearse.py does, on threads of this process."""
    processes = script("_rehearsal_processes")
    settings = {"epsilon": 1.0, "clients": 130, "dropout": 0.25, "size": 16, "round": ROUND.hex()}
    protocol, cells = processes.protocol_of(settings), [i // 10 for i in range(120)]
    enrolment = Enrolment(b"e" * 32)
    tickets = [enrolment.ticket(protocol, str(i)) for i in range(120)]

    @contextlib.contextmanager
    def listening(name):
        with processes.Listener(protocol, enrolment, tmp_path / name) as listener:
            thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
            thread.start()
            try:
                yield listener.server_address[1]
            finally:
                listener.shutdown()
                thread.join()

    with listening("first") as first:
        with listening("second") as second:
            assert processes.report_all(protocol, cells[:70], tickets[:70], [first, second]) == 70
            assert processes.misbehave(protocol, enrolment, [first, second]) == SAID
        with listening("second") as second:  # again, from its file, which has 60 reports
            assert processes.report_all(protocol, cells[70:], tickets[70:], [first, second]) == 50
            settled, sums = processes.finish(protocol, [first, second])
            late = Client(protocol, ticket=enrolment.ticket(protocol, "late")).report(0)[0]
            with pytest.raises(ValueError, match="the round is closed"):
                processes._checked(processes.ask(first, processes.REPORT + late))
            counts = json.loads(processes.ask(first, processes.COUNTS)[1:])
        resumed = Server.from_bytes((tmp_path / "second").read_bytes(), protocol, enrolment)
    assert settled == 110
    assert counts == {"accepted": 122, **REFUSED}
    assert resumed.close().to_bytes() == sums[1].to_bytes()  # saved before it was sent
    released_well(release(sums), settled, cells, lost=11)


@pytest.mark.full
@pytest.mark.needs_jit
def test_loopback(tmp_path, script):
    cells = np.minimum(np.arange(480) // 10, 63).tolist()
    outcome = script("rehearse").take_round(tmp_path, cells, 500, processes=1)
    assert outcome.said == SAID
    assert 450 <= outcome.settled <= 481  # the killed server had saved all but its last ones
    assert outcome.counts[0] == {"accepted": 482, **REFUSED}
    released_well(outcome.curve, outcome.settled, cells, lost=31)


def test_a_server_that_was_taken_over_gives_nothing_away():
    first, second = (Server(NOISY) for _ in range(2))
    rows = reports_of(NOISY, np.arange(NOISY.least_reports) % NOISY.size)
    for row in rows:
        second.add(row[0])
    second.settle(second.ids)
    first.merge(second)
    assert first.accepted == len(rows)
    for use in (second.close, lambda: second.add(rows[0][0])):
        with pytest.raises(RoundError):
            use()
    again = Server.from_bytes(second.to_bytes(), NOISY)
    with pytest.raises(RoundError):
        again.close()
    with pytest.raises(RoundError, match="the other server is this one"):
        first.merge(first)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_neither_servers_nor_clients_are_copied(copied):
    for each in (Server(NOISY), Client(NOISY)):
        with pytest.raises(TypeError, match="is not copied or pickled"):
            copied(each)


def test_sums_of_too_few_are_not_combined():
    servers = [Server(NOISY), Server(NOISY)]
    for server, report in zip(servers, reports_of(NOISY, [0])[0], strict=True):
        server.add(report)
    agree(servers)
    few = [
        PartialSum(NOISY, server._tally.totals, 1, bytes(32), (), simulated=True)
        for server in servers
    ]
    with pytest.raises(RoundError, match="1 reports, and it takes"):
        combine(few)


def test_servers_that_cannot_agree():
    servers = [Server(NOISY), Server(NOISY)]
    other = Server(replace(NOISY, round_id=bytes(15) + b"x"))
    for bad in (servers[:1], [servers[0], servers[0]], [servers[0], other]):
        with pytest.raises(RoundError):
            agree(bad)
    with pytest.raises(DtypeError, match="servers must be servers; got int"):
        agree([1])
