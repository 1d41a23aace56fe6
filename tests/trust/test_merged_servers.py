"""Servers merged, saved and resumed: the same sums, and no sums that do not belong together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.errors import DtypeError, FormatError, ParameterError
from dpcore.trust.protocol.agreement import agree
from dpcore.trust.protocol.curves import release, release_scores
from dpcore.trust.protocol.partial_sums import PartialSum, combine
from dpcore.trust.protocol.servers import Server
from dpcore.trust.protocol.wire import ReportError, RoundError
from tests.trust.rounds import NOISY, PROTOCOLS, SECURE, filled, reports_of, server_of


@pytest.mark.sample(3)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=10)
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
        if protocol.shares_functions:  # keys are in the order in which they were settled
            one.add_up()
            other.add_up()
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


def test_sums_of_too_few_are_not_combined():
    servers = [Server(NOISY), Server(NOISY)]
    for server, report in zip(servers, reports_of(NOISY, [0])[0], strict=True):
        server.add(report)
    agree(servers)
    few = [
        PartialSum(NOISY, server._tally.totals, 1, bytes(32), (), simulated=True)
        for server in servers
    ]
    with pytest.raises(RoundError, match="of 1 reports, but"):
        combine(few)
