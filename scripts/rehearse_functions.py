"""Servers that answer after all clients have ended: ``python scripts/rehearse_functions.py``.

Starts two servers and some client processes on this machine, which talk over TCP. Each client has
one score and a ticket. It shares the step function of its score, with a key for each server, and
ends. Some clients misbehave. Then analysts, which are also processes, ask the servers for counts
and for quantiles. Meanwhile one server fails before it sends its first answer, another is killed
between two questions, and one comes back with a file that is too old. The noise stays the same. The
releases are printed beside the truth. The first start makes ``.venv`` in the clone.
"""

import argparse
import hashlib
import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from _environment import ensure
from rehearsals.starts import Servers, answers_to, let_clients_report

_CELLS: Final = 1024
_EPSILON: Final = 1.0
_THRESHOLDS: Final = (0.125, 0.25, 0.375, 0.5, 0.75)
_SHARES: Final = (0.25, 0.5, 0.75)
_FEWEST: Final = 100


class Outcome(NamedTuple):
    """What happened.

    Parameters
    ----------
    said
        The servers' answers to misbehaving clients.
    settled
        The number of clients that both servers have.
    sent
        The number of bytes that a client sent to both servers together.
    unsaid, said_then
        Hashes of the answer that a server failed to send, and of its answer when it was asked
        again.
    counts, quantiles
        The answers to analysts.
    after, older, again
        The answers at the same thresholds after a server was killed, when the other server had an
        older file, and when it had its own file again.
    """

    said: dict[str, str]
    settled: int
    sent: int
    unsaid: str
    said_then: str
    counts: dict[str, Any]
    quantiles: dict[str, Any]
    after: dict[str, Any]
    older: dict[str, Any]
    again: dict[str, Any]

    @property
    def remembers(self) -> bool:
        """Whether the same questions had the same answers."""
        counts = self.counts["counts"]
        same = counts == self.after["counts"] == self.again["counts"]
        return same and self.unsaid == self.said_then


def main() -> None:
    """Run the whole rehearsal, and print what happened."""
    parser = argparse.ArgumentParser(
        description="Two servers that answer later, over loopback TCP."
    )
    parser.add_argument("--clients", type=int, default=3000, metavar="N", help="default: 3000")
    clients: int = parser.parse_args().clients
    if clients < _FEWEST:
        parser.error(f"--clients must be at least {_FEWEST}")
    ensure("figures")
    import numpy as np

    scores = np.random.default_rng(7).beta(2, 5, clients)
    cells = np.minimum((scores * _CELLS).astype(int), _CELLS - 1)
    with tempfile.TemporaryDirectory() as folder:
        outcome = take_round(Path(folder), cells.tolist(), processes=2)
    _print(outcome, cells)
    if not outcome.remembers:
        sys.exit("dpcore: the same question had two answers")


def take_round(folder: Path, cells: Sequence[int], processes: int) -> Outcome:
    """Run servers, clients and analysts, and return what happened.

    Parameters
    ----------
    folder
        Where the servers keep their files.
    cells
        The cells of the clients that behave.
    processes
        How many processes the clients are divided among, at a time.
    """
    import numpy as np
    from rehearsals.frames import ANSWER, LENGTH, REPORT, ask, checked
    from rehearsals.processes import misbehave, protocol_of, settle

    from dpcore.trust import Client, Enrolment

    settings = {
        "model": "function sharing",
        "trust": {"epsilon": _EPSILON},
        "size": _CELLS,
        "round": secrets.token_hex(16),
    }
    protocol, enrolment = protocol_of(settings), Enrolment(secrets.token_bytes(32))
    tickets = [
        enrolment.ticket(protocol, f"client {i}").to_bytes().hex() for i in range(len(cells))
    ]
    reports = Client(protocol, ticket=enrolment.ticket(protocol, "as an example")).report(0)
    first_question = ANSWER + np.arange(0, _CELLS, 100).astype("<u8").tobytes()
    files, half = [folder / "first", folder / "second"], len(cells) // 2
    with Servers(settings, enrolment.key.hex(), files) as servers:

        def asked(shares: Sequence[float] = ()) -> dict[str, Any]:
            question = {"ports": servers.ports, "thresholds": _THRESHOLDS, "shares": shares}
            return answers_to(settings, question)

        servers.start(0)
        servers.start(1, "falling server")
        let_clients_report(settings, servers.ports, cells[:half], tickets[:half], processes)
        said = misbehave(protocol, enrolment, servers.ports)
        settle(servers.ports)
        older = Path(shutil.copy(files[1], folder / "older"))
        let_clients_report(settings, servers.ports, cells[half:], tickets[half:], processes)
        settled = settle(servers.ports)  # all clients have ended, and are not needed any more

        with suppress(ConnectionError):  # the server saves, and fails
            ask(servers.ports[1], first_question)
        unsaid = servers.line(1)
        servers.restart(1)
        said_then = hashlib.sha256(checked(ask(servers.ports[1], first_question))).hexdigest()

        counts, quantiles = asked(), asked(_SHARES)
        servers.restart(0)
        after = asked()
        servers.restart(1, older)
        with_older = asked()
        servers.restart(1)
        again = asked()
    sent = sum(LENGTH.size + len(REPORT) + len(report) for report in reports)
    answers = unsaid, said_then, counts, quantiles, after, with_older, again
    return Outcome(said, settled, sent, *answers)


def _print(outcome: Outcome, cells: Any) -> None:
    import numpy as np

    print("\nWhat misbehaving clients were told:")
    for did, told in outcome.said.items():
        print(f"  {did:<40}{told}")
    counts, quantiles = outcome.counts, outcome.quantiles
    print(f"\nA client sent {outcome.sent} bytes and ended. Both servers have {outcome.settled:,}")
    print("clients. One of them misbehaved, and is not in the true counts below.")
    print(
        "\nThe second server failed before it sent its first answer. The hashes (SHA-256) of this"
    )
    print("answer, and of the answer when it was asked again, are")
    print(f"  {outcome.unsaid[:32]}...")
    print(f"  {outcome.said_then[:32]}...")
    true = np.searchsorted(np.sort(cells), np.array(_THRESHOLDS) * _CELLS)
    print(f"\n{'score':>8}{'true':>8}{'released':>10}{'noise':>8}{'after a restart':>17}")
    columns = (_THRESHOLDS, true, counts["counts"], counts["noise"], outcome.after["counts"])
    for at, exact, released, noise, after in zip(*columns, strict=True):
        print(f"{at:>8.3f}{exact:>8}{released:>10}{noise:>8.1f}{after:>17}")
    print("Before the last column, the first server was killed and continued from its file.")
    print(f"\n{'share':>8}{'true':>8}{'released':>10}")
    exact_quantiles = (np.quantile(cells, _SHARES, method="inverted_cdf") + 1) / _CELLS
    for share, exact, released in zip(
        _SHARES, exact_quantiles, quantiles["quantiles"], strict=True
    ):
        print(f"{share:>8.2f}{exact:>8.3f}{released:>10.3f}")
    for what, answers in (("counts", counts), ("counts and the quantiles", quantiles)):
        sent, received = answers["sent"], answers["received"]
        print(f"The {what}: {answers['questions']} questions to both servers,", end=" ")
        print(f"{sent:,} bytes sent, {received:,} received.")
    print(f"\nWith an older file: {outcome.older['refused']}.")
    print("With its own again:", ", ".join(map(str, outcome.again["counts"])))
    print(f"\n{counts['privacy']}, whatever is asked. The guarantee holds against anybody who sees")
    print("the answers and all that one of the two servers has. The true values are printed")
    print("because the records are made up.")


if __name__ == "__main__":
    main()
