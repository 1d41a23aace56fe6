"""Rounds over TCP as scripts/rehearse*.py take them, with lost servers and bad clients."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import numpy as np
import pytest

import dpcore as dp
from dpcore.trust import Client, Enrolment, PointwiseCDF, RoundError, Server, release
from dpcore.trust.protocol import wire
from tests.trust.rounds import ROUND

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


def released_well(curve, settled, cells, lost):
    truth = np.cumsum(np.bincount(cells, minlength=curve.grid.size))
    assert (curve.n, curve.privacy) == (settled, dp.Privacy(1.0))
    assert np.abs(curve.counts - truth).max() < 8 * curve.noise_deviation.max() + lost


def test_a_round_over_sockets_with_a_server_that_is_lost(tmp_path, script, listening):
    """What rehearse.py does, on threads of this process."""
    frames, processes = script("rehearsals.frames"), script("rehearsals.processes")
    settings = {
        "model": "distributed noise",
        "trust": {"epsilon": 1.0, "clients": 130, "dropout": 0.25},
        "size": 16,
        "round": ROUND.hex(),
    }
    protocol, cells = processes.protocol_of(settings), [i // 10 for i in range(120)]
    enrolment = Enrolment(b"e" * 32)
    tickets = [enrolment.ticket(protocol, str(i)) for i in range(120)]
    listens = partial(listening, protocol, enrolment)
    with listens(tmp_path / "first") as first:
        with listens(tmp_path / "second") as second:
            assert processes.report_all(protocol, cells[:70], tickets[:70], [first, second]) == 70
            assert processes.misbehave(protocol, enrolment, [first, second]) == SAID
        with listens(tmp_path / "second") as second:  # again, from its file, which has 60 reports
            assert processes.report_all(protocol, cells[70:], tickets[70:], [first, second]) == 50
            settled = processes.settle([first, second])
            sums = processes.sums_of(protocol, [first, second])
            late = Client(protocol, ticket=enrolment.ticket(protocol, "late")).report(0)[0]
            with pytest.raises(RoundError, match="the round is closed"):
                frames.checked(frames.ask(first, frames.REPORT + late))
            (counts, _) = processes.counts_of([first, second])
        resumed = Server.from_bytes((tmp_path / "second").read_bytes(), protocol, enrolment)
    assert settled == 110
    assert counts == {"accepted": 122, **REFUSED}
    assert resumed.close().to_bytes() == sums[1].to_bytes()  # saved before it was sent
    released_well(release(sums), settled, cells, lost=11)


@pytest.mark.full
@pytest.mark.needs_jit
def test_a_round_of_noisy_shares_in_processes(tmp_path, script):
    cells = np.minimum(np.arange(480) // 10, 63).tolist()
    outcome = script("rehearse").take_round(tmp_path, cells, 500, processes=1)
    assert outcome.said == SAID
    assert 450 <= outcome.settled <= 481  # the killed server had saved all but its last ones
    assert outcome.counts[0] == {"accepted": 482, **REFUSED}
    released_well(outcome.curve, outcome.settled, cells, lost=31)


# --- shared functions

SAID_OF_KEYS = {**SAID, "sends the key for the other server": "refused: payload"}
REFUSED_KEYS = {**REFUSED, "payload": 1}
CELLS = [i // 8 for i in range(120)]
AT = [i / 16 for i in range(1, 17)]


class Round:
    """A round whose servers listen on threads of this process, each as long as it is needed."""

    def __init__(self, script, listening, folder, epsilon=0.5):
        self.frames = script("rehearsals.frames")
        self.processes = script("rehearsals.processes")
        self.analyst = script("rehearsals.analyst")
        settings = {
            "model": "function sharing",
            "trust": {"epsilon": epsilon},
            "size": 16,
            "round": ROUND.hex(),
        }
        self.protocol, self.enrolment = self.processes.protocol_of(settings), Enrolment(b"e" * 32)
        self.files = [folder / "first", folder / "second"]
        self._listening = partial(listening, self.protocol, self.enrolment)

    def listens(self, file, place=None):
        """Have the server listen whose file it is."""
        return self._listening(file, self.files.index(file) if place is None else place)

    def report(self, start, stop, ports):
        tickets = [self.enrolment.ticket(self.protocol, str(i)) for i in range(start, stop)]
        return self.processes.report_all(self.protocol, CELLS[start:stop], tickets, ports)

    def told(self, *ports, shares=()):
        return self.analyst.told(self.protocol, ports, AT, shares)

    def said(self, server, cells=range(16)):
        """What a server says, without an analyst who compares: as bytes."""
        question = np.array(cells, "<u8").tobytes()
        return self.frames.ask(server, self.frames.ANSWER + question)


@pytest.fixture
def a_round(script, listening, tmp_path):
    return Round(script, listening, tmp_path)


def test_a_server_that_comes_back_says_the_same(a_round):
    first_file, second_file = a_round.files
    with a_round.listens(first_file) as first:
        with a_round.listens(second_file) as second:
            assert a_round.report(0, 120, [first, second]) == 120
            said = a_round.processes.misbehave(a_round.protocol, a_round.enrolment, [first, second])
            assert said == SAID_OF_KEYS
            counts = a_round.processes.counts_of([first, second])[0]
            assert counts == {"accepted": 122, **REFUSED_KEYS}
            assert a_round.processes.settle([first, second]) == 121
            before = a_round.told(first, second, shares=[0.25, 0.5])
        gone = a_round.told(first, second)
        with a_round.listens(second_file) as second:
            after = a_round.told(first, second, shares=[0.25, 0.5])
    assert gone["refused"].startswith("ConnectionRefusedError")
    assert before == after
    assert before["n"] == before["counts"][-1] == 121
    assert before["noise"][-1] == 0
    truth = np.searchsorted(CELLS, np.arange(1, 17)) + 1
    assert np.any(truth != before["counts"])
    assert np.all(np.abs(truth - before["counts"]) <= 15 * np.array(before["noise"]))
    assert before["privacy"] == "epsilon = 0.5 (replace-one)"
    assert before["questions"] == 2  # who is there, and all cells: quantiles take no more
    assert before["sent"] == 2 * (2 * 5 + 16 * 8)


def test_an_answer_that_was_not_sent_stays_what_it_was(a_round):
    """Whether the server was lost before it had saved the answer, or after that."""
    first_file, second_file = a_round.files
    with a_round.listens(first_file) as first, a_round.listens(second_file) as second:
        a_round.report(0, 40, [first, second])
        a_round.processes.settle([first, second])
        settled = second_file.read_bytes()
        said = a_round.said(second)
        ended = second_file.read_bytes()
    assert [_is_closed(file, a_round) for file in (settled, ended)] == [False, True]
    for file in (settled, ended):
        second_file.write_bytes(file)
        with a_round.listens(second_file) as second:
            assert a_round.said(second) == said
        assert _is_closed(second_file.read_bytes(), a_round)


def test_an_older_file_opens_nothing(a_round):
    first_file, second_file = a_round.files
    with a_round.listens(first_file) as first, a_round.listens(second_file) as second:
        a_round.report(0, 40, [first, second])
        unsettled = second_file.read_bytes()
        a_round.processes.settle([first, second])
        partly = second_file.read_bytes()
        a_round.report(40, 60, [first, second])
        a_round.processes.settle([first, second])
        told = a_round.told(first, second)
        kept = second_file.read_bytes()
        for older, words in (
            (unsettled, "a server refuses: 0 reports are settled"),
            (partly, "the servers settled different reports (60, 40 of them)"),
        ):
            second_file.write_bytes(older)
            with a_round.listens(second_file) as other:
                assert words in a_round.told(first, other)["refused"]
        second_file.write_bytes(kept)
        with a_round.listens(second_file) as other:
            assert a_round.told(first, other) == told


def test_an_analyst_notices_that_all_servers_have_other_clients(a_round, tmp_path):
    """As many, so that their number alone would not tell."""
    ports = []
    with ExitStack() as ends:
        for start in (0, 40):
            files = [tmp_path / f"{start} of {place}" for place in range(2)]
            servers = [ends.enter_context(a_round.listens(*one[::-1])) for one in enumerate(files)]
            a_round.report(start, start + 40, servers)
            assert a_round.processes.settle(servers) == 40
            ports.append(servers)
        now = list(ports[0])
        servers = a_round.analyst.NetworkServers(a_round.protocol, now)
        curve = PointwiseCDF(servers)
        curve.counts_at([3, 8])
        now[:] = ports[1]
        with pytest.raises(RoundError, match="other clients than before"):
            curve.counts_at([5])
        now[:] = ports[0]
        assert curve.asked.tolist() == [3, 8, 16]
        assert curve.counts_at(16) == 40


@pytest.mark.parametrize("question", [b"1234567", b"\x10" + bytes(7), b"\xff" * 8])
def test_questions_that_make_no_sense_end_no_round(a_round, question):
    """Not whole words, a cell that there is not, and one that would be negative."""
    first_file, second_file = a_round.files
    with a_round.listens(first_file) as first, a_round.listens(second_file) as second:
        a_round.report(0, 10, [first, second])
        a_round.processes.settle([first, second])
        try:
            assert a_round.frames.ask(first, a_round.frames.ANSWER + question).startswith(b"-")
        except ConnectionError:
            assert len(question) % 8
        assert not _is_closed(first_file.read_bytes(), a_round)
        assert a_round.told(first, second)["n"] == 10


def _is_closed(file, a_round):
    return Server.from_bytes(file, a_round.protocol, a_round.enrolment).is_closed


@pytest.mark.full
@pytest.mark.needs_jit
def test_a_round_of_functions_in_processes(tmp_path, script):
    cells = np.minimum(np.arange(200) * 4, 1023).tolist()
    outcome = script("rehearse_functions").take_round(tmp_path, cells, processes=1)
    assert outcome.remembers
    assert outcome.said == SAID_OF_KEYS
    assert outcome.settled == outcome.counts["n"] == 201
    assert "the servers settled different reports (201, 101 of them)" in outcome.older["refused"]
    truth = np.searchsorted(cells, np.array([0.125, 0.25, 0.375, 0.5, 0.75]) * 1024) + 1
    noise = np.array(outcome.counts["noise"])
    assert np.all(np.abs(truth - outcome.counts["counts"]) < 15 * noise)
    assert len(outcome.unsaid) == 64
