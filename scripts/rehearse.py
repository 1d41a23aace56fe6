"""Two servers that nobody has to trust alone: ``python scripts/rehearse.py [--clients N]``.

Starts two servers and some client processes on this machine, which talk over TCP. Each client has
one score and a ticket. It adds its share of the noise to its counts, and splits them into two
reports, one for each server. Some clients misbehave. Halfway, a server is killed and continues from
its file. The release is printed beside the truth. The first start makes ``.venv`` in the clone.
"""

import argparse
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from _environment import ensure
from rehearsals.starts import Servers, let_clients_report

_DROPOUT: Final = 0.1
_CELLS: Final = 64
_EPSILON: Final = 1.0
_SHOWN: Final = 8
_FEWEST: Final = 500


class Outcome(NamedTuple):
    """What happened in a round."""

    curve: Any
    settled: int
    said: dict[str, str]
    counts: list[dict[str, int]]


def main() -> None:
    """Take a round from its beginning to the curve, and print what happened."""
    parser = argparse.ArgumentParser(description="A round with two servers, over loopback TCP.")
    parser.add_argument("--clients", type=int, default=3000, metavar="N", help="default: 3000")
    clients: int = parser.parse_args().clients
    if clients < _FEWEST:
        parser.error(f"--clients must be at least {_FEWEST}, so that some may get lost")
    ensure("figures")
    import numpy as np

    scores = np.random.default_rng(7).beta(2, 5, clients - 20)  # scores of the clients that behave
    cells = np.minimum((scores * _CELLS).astype(int), _CELLS - 1)
    with tempfile.TemporaryDirectory() as folder:
        outcome = take_round(Path(folder), cells.tolist(), clients, processes=2)
    _print(outcome, cells, clients)


def take_round(folder: Path, cells: Sequence[int], clients: int, processes: int) -> Outcome:
    """Run servers and clients, and return the released curve.

    Parameters
    ----------
    folder
        Where the servers keep their files.
    cells
        The cells of the clients that behave.
    clients
        The number of clients that are asked.
    processes
        How many processes the clients are divided among, at a time.
    """
    from rehearsals.processes import counts_of, misbehave, protocol_of, settle, sums_of

    import dpcore as dp
    from dpcore.trust import Enrolment, release

    settings = {
        "model": "distributed noise",
        "trust": {"epsilon": _EPSILON, "clients": clients, "dropout": _DROPOUT},
        "size": _CELLS,
        "round": secrets.token_hex(16),
    }
    protocol, enrolment = protocol_of(settings), Enrolment(secrets.token_bytes(32))
    secret = enrolment.key.hex()
    tickets = [
        enrolment.ticket(protocol, f"client {i}").to_bytes().hex() for i in range(len(cells))
    ]
    files = [folder / "first", folder / "second"]
    half = len(cells) // 2
    with Servers(settings, secret, files) as servers:
        servers.start(0)
        servers.start(1)
        let_clients_report(settings, servers.ports, cells[:half], tickets[:half], processes)
        said = misbehave(protocol, enrolment, servers.ports)
        servers.restart(1)
        let_clients_report(settings, servers.ports, cells[half:], tickets[half:], processes)
        settled, sums = settle(servers.ports), sums_of(protocol, servers.ports)
        counts = counts_of(servers.ports)
    curve = release(sums, dp.Grid.uniform(0, 1, _CELLS))
    return Outcome(curve, settled, said, counts)


def _print(outcome: Outcome, cells: Any, clients: int) -> None:
    import numpy as np

    print("\nWhat misbehaving clients were told:")
    for did, told in outcome.said.items():
        print(f"  {did:<40}{told}")
    for name, counts in zip(("first", "second"), outcome.counts, strict=True):
        refused = ", ".join(f"{why} {n}" for why, n in counts.items() if n and why != "accepted")
        print(f"The {name} server took {counts['accepted']:,} reports and refused: {refused or 0}")
    curve = outcome.curve
    print(f"{outcome.settled:,} of {clients:,} clients reached both servers and are in the sum.")
    print("Clients are missing if the killed server had not yet saved their reports.\n")
    true = np.cumsum(np.bincount(cells, minlength=_CELLS)) / len(cells)
    print(f"{'score':>8}{'released':>12}{'true':>10}{'noise':>10}")
    for i in range(_CELLS // _SHOWN - 1, _CELLS, _CELLS // _SHOWN):
        at = curve.thresholds[i]
        noise = curve.noise_deviation[i] / curve.n
        print(f"{at:>8.3f}{float(curve(at)):>12.4f}{true[i]:>10.4f}{noise:>10.4f}")
    print(
        f"\n{curve.privacy}, by {curve.mechanism['name']}. The guarantee holds against anybody who"
    )
    print("sees only the sum and at most one of the two servers. The true values are printed")
    print("because the records are made up.")


if __name__ == "__main__":
    main()
