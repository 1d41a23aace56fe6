"""Once is once: forks, threads, signals and copies find no second report and no second sum."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpcore.errors import DpcoreError
from dpcore.trust import Client, Protocol, SecureAggregation, Server
from dpcore.trust.protocol.wire import ReportError, RoundError

SECURE = Protocol(SecureAggregation(), 4, bytes(range(16)))

# In a process of its own: pytest's has threads, and a fork of such a process is warned of.
FORKED = """
import os, signal, threading, warnings
from dpcore.trust import Client, Local, Protocol, SecureAggregation, Server, agree
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
    assert len(said) == 12
    assert {name for name, fine in said.items() if fine != "True"} == set()


def test_a_client_reports_once_whatever_the_threads():
    """Two threads go through the same lines in step, so that each sees what the other one saw."""
    client, both, found = Client(SECURE), threading.Barrier(2), []

    def in_step(frame, event, _):
        if frame.f_code is Client.report.__code__:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(5)
            return in_step
        return None

    def attempt():
        sys.settrace(in_step)
        try:
            found.append(len(client.report(1)))
        except ReportError as error:
            found.append(error.reason)
        finally:
            sys.settrace(None)
            both.abort()  # the other one goes on alone

    threads = [threading.Thread(target=attempt) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(map(str, found)) == ["2", "duplicate"]


def settled(server, count):
    for _ in range(count):
        server.add(Client(SECURE).report(1)[0])
    server.settle(server.ids)


def test_a_sum_that_is_given_away_does_not_change_amid_a_settle(monkeypatch):
    """While one thread adds shares up, another one closes: before it or after it, not between."""
    server = Server(SECURE)
    settled(server, 1)
    server.add(Client(SECURE).report(2)[0])
    adding, tally = threading.Event(), type(server._tally)
    settle = tally.settle

    def slowly(self, *arguments):
        adding.set()
        closing.join(0.2)  # the other one is given the time to go wrong
        settle(self, *arguments)

    sums = []
    closing = threading.Thread(target=lambda: (adding.wait(60), sums.append(server.close())))
    monkeypatch.setattr(tally, "settle", slowly)
    closing.start()
    server.settle(server.ids)
    closing.join(60)
    assert [part.reports for part in sums] == [2]
    assert sums[0].to_bytes() == server.close().to_bytes()


def test_merging_each_other_ends(monkeypatch):
    for _ in range(20):
        first, second = Server(SECURE), Server(SECURE)
        settled(first, 1)
        settled(second, 1)

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
    server = Server(SECURE)
    settled(server, 1)
    server.add(Client(SECURE).report(2)[0])
    tally, found = type(server._tally), []
    settle = tally.settle

    def interrupted(self, *arguments):
        with pytest.raises(RoundError, match="in the middle of another call") as raised:
            server.close()
        found.append(raised)
        settle(self, *arguments)

    monkeypatch.setattr(tally, "settle", interrupted)
    server.settle(server.ids)
    assert len(found) == 1
    assert server.close().reports == 2


def test_copies_are_refused_by_a_typed_error():
    for each in (Server(SECURE), Client(SECURE)):
        with pytest.raises(DpcoreError, match="must not be copied or pickled"):
            each.__reduce_ex__(2)
