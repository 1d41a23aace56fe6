"""Interrupts at any step of a call: a report is counted once or not at all, and rounds go on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpcore.trust import (
    Client,
    DistributedNoise,
    FunctionSharing,
    Local,
    Protocol,
    SecureAggregation,
    Server,
    agree,
    combine,
    opened,
)
from dpcore.trust.protocol import tally, wire
from dpcore.trust.protocol.wire import ReportError, RoundError
from tests.trust.rounds import server_of

ROUND = bytes(range(16))
SECURE = Protocol(SecureAggregation(), 4, ROUND)
NOISY = Protocol(DistributedNoise(1.0, clients=6, dropout=0.5), 4, ROUND)
LOCAL = Protocol(Local(4.0, clients=6, branching=(4,)), 4, ROUND)
FUNCTIONS = Protocol(FunctionSharing(1.0), 4, ROUND)
PROTOCOLS = pytest.mark.parametrize(
    "protocol", [SECURE, NOISY, LOCAL, FUNCTIONS], ids=["sum", "noisy", "local", "functions"]
)


class Interrupt(BaseException):
    """What a handler of signals raises."""


def interrupted(call, step):
    """Whether a call was interrupted in a tally, before the instruction of that number."""
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if frame.f_code.co_filename != tally.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            seen += 1
            if seen > step:
                raise Interrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def servers_of(protocol):
    return [server_of(protocol, place) for place in range(protocol.receivers)]


def add_all(servers, rows):
    for row in rows:
        for server, report in zip(servers, row, strict=True):
            server.add(report)


def reports_of(protocol):
    return [Client(protocol, np.random.default_rng(i)).report(i % 4) for i in range(4)]


@pytest.mark.sample(1)
@PROTOCOLS
def test_a_report_that_was_interrupted_is_sent_again(protocol):
    first, *others = reports_of(protocol)
    first_id = wire.decode(first[0]).report_id
    whole = servers_of(protocol)
    add_all(whole, [first, *others])
    agree(whole)
    expected = [server.close().to_bytes() for server in whole]
    for step in range(10_000):
        servers = servers_of(protocol)
        more = interrupted(lambda server=servers[0]: server.add(first[0]), step)
        if more and first_id not in servers[0].ids:
            servers[0].add(first[0])
        with pytest.raises(ReportError, match="duplicate"):
            servers[0].add(first[0])
        for server, report in zip(servers[1:], first[1:], strict=True):
            server.add(report)
        add_all(servers, others)
        agree(servers)
        assert servers[0].accepted == 4
        assert [server.close().to_bytes() for server in servers] == expected
        if not more:
            break
    assert step > 20


@pytest.mark.sample(1)
@pytest.mark.parametrize("protocol", [SECURE, NOISY, FUNCTIONS], ids=["sum", "noisy", "functions"])
def test_settling_again_adds_nothing_twice(protocol):
    rows = reports_of(protocol)
    for step in range(10_000):
        servers = servers_of(protocol)
        add_all(servers, rows)
        ids = servers[0].ids
        more = interrupted(lambda server=servers[0]: server.settle(ids), step)  # noqa: B023
        for server in servers:
            server.settle(ids)
        sums = [server.close() for server in servers]
        assert combine(sums)[0] == (1 if protocol is SECURE else 4)
        if not more:
            break
    assert step > 50


@pytest.mark.sample(1)
@PROTOCOLS
def test_no_report_is_on_two_servers_after_a_merge(protocol):
    rows = reports_of(protocol)
    for step in range(10_000):
        servers, other = servers_of(protocol), server_of(protocol)
        add_all(servers, rows[:2])
        other.add(rows[2][0])
        add_all(servers[1:], [row[1:] for row in rows[2:3]])
        more = interrupted(lambda server=servers[0]: server.merge(other), step)  # noqa: B023
        assert not servers[0].ids & other.ids
        if not other.is_closed:
            servers[0].merge(other)
        agree(servers)
        if len(servers[0].ids) == 3:
            assert combine([server.close() for server in servers]).size == protocol.words
        else:  # lost, between ending the one and changing the other
            assert other.is_closed
            assert not other.ids
        with pytest.raises(RoundError):
            other.close()
        if not more:
            break
    assert step > 20


FORKS = """
import os, sys
from dpcore.trust import Client, Protocol, SecureAggregation
from dpcore.trust.protocol import clients
from dpcore.trust.protocol.wire import RoundError

client = Client(Protocol(SecureAggregation(), 4, bytes(16)))
expand, child = clients.wire.expanded, []

def handler_forks(*arguments):
    child.append(os.fork())
    return expand(*arguments)

clients.wire.expanded = handler_forks
try:
    found = len(client.report(1))
except RoundError as error:
    found = "made by a fork" in str(error)
if child == [0]:
    os._exit(0 if found is True else 1)
print(found, os.waitstatus_to_exitcode(os.waitpid(child[0], 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_amid_a_report_makes_no_second_one():
    """As by a signal handler: the child comes back to the middle of the call."""
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], cwd=root, capture_output=True, text=True
    )
    assert done.stdout.split() == ["2", "0"], done.stderr


def test_functions_that_are_added_up_are_added_once():
    rows = reports_of(FUNCTIONS)
    for step in range(10_000):
        servers = servers_of(FUNCTIONS)
        add_all(servers, rows)
        agree(servers)
        more = interrupted(servers[0].add_up, step)
        if step % 2:
            servers[0].add_up()
        found = opened([server.answer([0, 1, 2, 3]) for server in servers])
        assert found.counts[-1] == 4
        again = [Server.from_bytes(server.to_bytes(), FUNCTIONS) for server in servers]
        for server in again:
            server.add_up()
        same = opened([server.answer([0, 1, 2, 3]) for server in again])
        assert same.counts.tolist() == found.counts.tolist()
        if not more:
            break
    assert step > 50
