"""Servers merged, saved and resumed: the same sums, and no sums that do not belong together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import DtypeError, FormatError
from dpcore.trust import PartialSum, ReportError, RoundError, Server, agree, combine, release
from tests.trust.rounds import (
    NOISY,
    PROTOCOLS,
    SECURE,
    closed,
    filled,
    reports_of,
    resumed,
    send,
    server_of,
    servers_of,
)


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
