"""Once is once: forks, threads, signals, interrupts and copies make no second report or sum."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpcore.trust import (
    Client,
    DistributedNoise,
    FunctionSharing,
    Local,
    Protocol,
    ReportError,
    RoundError,
    SecureAggregation,
    Server,
    agree,
    combine,
)
from dpcore.trust.protocol import servers as server_module
from dpcore.trust.protocol import tally, wire
from tests.trust.rounds import (
    ROUND,
    closed,
    counts_of,
    reports_of,
    resumed,
    send,
    server_of,
    servers_of,
)

SECURE = Protocol(SecureAggregation(), 4, ROUND)
NOISY = Protocol(DistributedNoise(1.0, clients=4, dropout=0.5), 4, ROUND)
LOCAL = Protocol(Local(4.0, clients=6, branching=(4,)), 4, ROUND)
FUNCTIONS = Protocol(FunctionSharing(1.0), 4, ROUND)

# Interrupts that Python ignores, because it is closing a generator.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored .*generator:pytest.PytestUnraisableExceptionWarning"
)

# In a process of its own: pytest's has threads, and a fork of such a process is warned of.
FORKED = """
import os, signal, threading, warnings
from dpcore.trust import Client, Local, Protocol, SecureAggregation, Server, agree
from dpcore.trust.protocol import clients
from dpcore.trust.protocol.wire import RoundError

warnings.simplefilter("ignore", DeprecationWarning)
secure = Protocol(SecureAggregation(), 4, bytes(16))
servers = [Server(secure), Server(secure)]
rows = [Client(secure).report(cell) for cell in (0, 2, 2)]
for row in rows[:2]:
    for server, report in zip(servers, row):
        server.add(report)
agree(servers)
(late,), local = [row[:1] for row in rows[2:]], Protocol(Local(1.0, clients=9), 4, bytes(16))
counted = Server(local)
counted.add(Client(local).report(1)[0])
client, fresh, first = Client(secure), Server(secure), servers[0]
USES = {
    "report": lambda: client.report(1),
    "vector": lambda: client.vector(1),
    "add": lambda: first.add(late[0]),
    "settle": lambda: first.settle([]),
    "ids": lambda: first.ids,
    "merge": lambda: fresh.merge(first),
    "take over": lambda: Server(secure).merge(first),
    "close": lambda: first.close(),
    "close local": lambda: counted.close(),
    "save": lambda: first.to_bytes(),
    "agree": lambda: agree(servers),
}


def refused(use):
    try:
        use()
    except RoundError as error:
        return "made by a fork" in str(error)
    return False


def children(use, depth):
    \"\"\"Whether two forks, and forks of these, refuse.\"\"\"
    results = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            fine = refused(use) and (depth == 0 or children(use, depth - 1))
            os._exit(0 if fine else 1)
        results.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0)
    return all(results)


for name, use in USES.items():
    print(name, children(use, depth=1))
with first._turn():  # as another thread might hold it while this one forks
    print("amid a call", children(USES["close"], depth=0))
expand, child = clients.wire.expanded, []


def handler_forks(*arguments):
    child.append(os.fork())
    return expand(*arguments)


clients.wire.expanded = handler_forks  # a child comes back to the middle of the call
late_fork = refused(lambda: Client(secure).report(1))
if child == [0]:
    os._exit(0 if late_fork else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child[0], 0)[1])
print("amid a report", code == 0 and late_fork is False)
clients.wire.expanded = expand
client.report(1)  # the parent's own still work
first.add(late[0])
print("parent", first.close().reports)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_copies_refuse():
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", FORKED], cwd=root, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    said = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines())
    assert said.pop("parent") == "2"
    assert len(said) == 13
    assert {name for name, fine in said.items() if fine != "True"} == set()


def test_a_client_reports_once_whatever_the_threads():
    """Two threads go through the same lines in step, so that each sees what the other one saw."""
    client, both, results = Client(SECURE), threading.Barrier(2), []

    def in_step(frame, event, _):
        if frame.f_code is Client.report.__code__:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(5)
            return in_step
        return None

    def attempt():
        sys.settrace(in_step)
        try:
            results.append(len(client.report(1)))
        except ReportError as error:
            results.append(error.reason)
        finally:
            sys.settrace(None)
            both.abort()  # the other one goes on alone

    threads = [threading.Thread(target=attempt) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(map(str, results)) == ["2", "duplicate"]


def server_with(settled, waiting=0):
    server = Server(SECURE)
    for number in range(settled + waiting):
        if number == settled:
            server.settle(server.ids)
        server.add(Client(SECURE).report(1)[0])
    if not waiting:
        server.settle(server.ids)
    return server


def test_a_sum_that_is_given_away_does_not_change_amid_a_settle(monkeypatch):
    """While one thread adds shares up, another one closes: before it or after it, not between."""
    server = server_with(settled=1, waiting=1)
    adding, settle = threading.Event(), tally.Tally.settle

    def slowly(self, *arguments):
        adding.set()
        closing.join(0.2)  # the other one is given the time to go wrong
        settle(self, *arguments)

    sums = []
    closing = threading.Thread(target=lambda: (adding.wait(60), sums.append(server.close())))
    monkeypatch.setattr(tally.Tally, "settle", slowly)
    closing.start()
    server.settle(server.ids)
    closing.join(60)
    assert [part.reports for part in sums] == [2]
    assert sums[0].to_bytes() == server.close().to_bytes()


def test_merging_each_other_ends():
    for _ in range(20):
        first, second = server_with(settled=1), server_with(settled=1)

        def merge(pair):
            try:
                pair[0].merge(pair[1])
            except RoundError:
                return 0
            return 1

        with ThreadPoolExecutor(2) as pool:
            done = sum(pool.map(merge, [(first, second), (second, first)], timeout=60))
        assert done == 1
        assert {first.is_closed, second.is_closed} == {True, False}


def test_a_call_amid_a_call_is_refused(monkeypatch):
    """As from a signal handler: it neither waits for itself nor finds half of the work done."""
    server = server_with(settled=1, waiting=1)
    refused, settle = [], tally.Tally.settle

    def interrupted(self, *arguments):
        with pytest.raises(RoundError) as raised:
            server.close()
        refused.append(raised)
        settle(self, *arguments)

    monkeypatch.setattr(tally.Tally, "settle", interrupted)
    server.settle(server.ids)
    assert len(refused) == 1
    assert server.close().reports == 2


# --- interrupts at any step of a call

TRACED = set()  # what has been traced once: Python 3.12 traces instructions only from then on


def interrupted(call, step, *modules):
    """Whether a call was interrupted in a tally, before the instruction of that number.

    Python ignores an interrupt while it closes a generator; the call then goes on to its end.
    """
    files = {module.__file__ for module in (tally, *modules)}
    seen, is_interrupted, known = 0, False, len(TRACED)

    def trace(frame, event, _):
        nonlocal seen, is_interrupted
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        TRACED.add(frame.f_code)
        if event == "opcode":
            seen += 1
            if seen > step:
                is_interrupted = True
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return is_interrupted or len(TRACED) > known


def two_reports(protocol):
    return reports_of(protocol, range(2))


@pytest.mark.sample(1)
@pytest.mark.parametrize("protocol", [SECURE, NOISY, LOCAL, FUNCTIONS])
def test_a_report_that_was_interrupted_is_sent_again(protocol):
    first, second = two_reports(protocol)
    first_id = wire.decode(first[0]).report_id
    whole = servers_of(protocol)
    send(whole, first, second)
    agree(whole)
    expected = [part.to_bytes() for part in closed(whole)]
    for step in range(10_000):
        servers = servers_of(protocol)
        more = interrupted(lambda server=servers[0]: server.add(first[0]), step)
        if more and first_id not in servers[0].ids:
            servers[0].add(first[0])
        with pytest.raises(ReportError, match="duplicate"):
            servers[0].add(first[0])
        send(servers[1:], first[1:])
        send(servers, second)
        agree(servers)
        assert servers[0].accepted == 2
        assert [part.to_bytes() for part in closed(servers)] == expected
        if not more:
            break
    assert step > 20


@pytest.mark.sample(1)
@pytest.mark.parametrize("protocol", [SECURE, NOISY, FUNCTIONS])
def test_settling_again_adds_nothing_twice(protocol):
    rows = two_reports(protocol)
    for step in range(10_000):
        servers = servers_of(protocol)
        send(servers, *rows)
        ids = servers[0].ids
        more = interrupted(lambda server=servers[0]: server.settle(ids), step)  # noqa: B023
        for server in servers:
            server.settle(ids)
        assert combine(closed(servers))[0] == (1 if protocol is SECURE else 2)
        if not more:
            break
    assert step > 50


@pytest.mark.sample(1)
@pytest.mark.parametrize("protocol", [SECURE, NOISY, LOCAL, FUNCTIONS])
@pytest.mark.parametrize("first", ["self", "other"])
def test_after_a_merge_each_report_is_on_one_server(protocol, first):
    rows = two_reports(protocol)
    for step in range(10_000):
        servers, other = servers_of(protocol), server_of(protocol)
        send(servers, rows[0])
        other.add(rows[1][0])
        send(servers[1:], rows[1][1:])
        more = interrupted(lambda server=servers[0]: server.merge(other), step, server_module)  # noqa: B023
        used = [servers[0], other]
        ids = [len(server.ids) for server in (used if first == "self" else used[::-1])]
        assert sorted(ids) == ([0, 2] if other.is_closed else [1, 1])
        if not other.is_closed:
            servers[0].merge(other)
        agree(servers)
        assert len(servers[0].ids) == servers[0].accepted == 2
        assert combine(closed(servers)).size == protocol.words
        with pytest.raises(RoundError):
            other.close()
        if not more:
            break
    assert step > 20


def test_functions_that_are_added_up_are_added_once():
    rows = two_reports(FUNCTIONS)
    for step in range(10_000):
        servers = servers_of(FUNCTIONS)
        send(servers, *rows)
        agree(servers)
        more = interrupted(servers[0].add_up, step)
        if step % 2:
            servers[0].add_up()
        counts = counts_of(servers, [0, 1, 2, 3])
        assert counts[-1] == 2
        again = resumed(servers)
        for server in again:
            server.add_up()
        assert counts_of(again, [0, 1, 2, 3]).tolist() == counts.tolist()
        if not more:
            break
    assert step > 50
