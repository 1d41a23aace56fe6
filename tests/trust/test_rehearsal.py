"""A round over TCP as scripts/rehearse.py takes it, with lost servers and bad clients."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import dpcore as dp
from dpcore.trust import Enrolment, RoundError
from dpcore.trust.protocol import wire
from dpcore.trust.protocol.clients import Client
from dpcore.trust.protocol.curves import release
from dpcore.trust.protocol.servers import Server
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
def test_loopback(tmp_path, script):
    cells = np.minimum(np.arange(480) // 10, 63).tolist()
    outcome = script("rehearse").take_round(tmp_path, cells, 500, processes=1)
    assert outcome.said == SAID
    assert 450 <= outcome.settled <= 481  # the killed server had saved all but its last ones
    assert outcome.counts[0] == {"accepted": 482, **REFUSED}
    released_well(outcome.curve, outcome.settled, cells, lost=31)
