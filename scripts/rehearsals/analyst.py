"""The process of an analyst, who asks servers of shared functions over TCP and has no secret.

A deployment writes its own ``NetworkServers``: a secure sum that ``PointwiseCDF`` can ask.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dpcore as dp
from dpcore.errors import DpcoreError
from dpcore.trust import Answer, PointwiseCDF, Protocol, RoundError, opened

from .frames import ANSWER, LENGTH, ask, checked
from .processes import protocol_of

_NO_CELLS: Final = np.array([], np.int64)


class NetworkServers:
    """An ``Aggregator``: a secure sum over clients, by servers that listen at some ports.

    Parameters
    ----------
    protocol
        The protocol of the round. This class ends the round.
    ports
        The ports of all servers.

    Raises
    ------
    RoundError
        A server refuses, or they do not agree about the clients.
    OSError
        A server cannot be reached.
    """

    def __init__(self, protocol: Protocol, ports: Sequence[int]) -> None:
        assert protocol.shares_functions
        self._protocol, self._ports = protocol, ports
        self.trust: Any = protocol.trust  # of a kind that ``PointwiseCDF`` checks
        self.size = protocol.size
        self.questions = self.sent = self.received = 0  # the latter in bytes, of all servers
        first = opened(self._asked(_NO_CELLS))
        self.clients, self.simulated, self._members = first.n, first.simulated, first.clients

    def sum(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts up to cells, with noise, from the answers of all servers."""
        found = opened(self._asked(cells))
        if found.clients != self._members:
            raise RoundError("the servers answer about other clients than before")
        return found.counts

    def _asked(self, cells: NDArray[np.int64]) -> list[Answer]:
        self.questions += 1
        question = ANSWER + cells.astype("<u8").tobytes()
        said = [ask(port, question) for port in self._ports]
        self.sent += sum(LENGTH.size + len(question) for _ in said)
        self.received += sum(LENGTH.size + len(each) for each in said)
        return [Answer.from_bytes(checked(each), self._protocol) for each in said]


def told(
    protocol: Protocol, ports: Sequence[int], thresholds: Sequence[float], shares: Sequence[float]
) -> dict[str, Any]:
    """Return noisy counts at thresholds, quantiles and their cost, or the reason for a refusal."""
    try:
        servers = NetworkServers(protocol, ports)
        curve = PointwiseCDF(servers, dp.Grid.uniform(0, 1, protocol.size))
        counts = np.asarray(curve.counts_at(thresholds))
        quantiles = np.asarray(curve.quantile(shares))
    except (DpcoreError, OSError) as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    places = np.searchsorted(curve.asked, thresholds, side="right") - 1
    return {
        "n": curve.n,
        "privacy": str(curve.privacy),
        "counts": counts.tolist(),
        "noise": curve.noise_deviation[places].tolist(),
        "quantiles": quantiles.tolist(),
        "opened": curve.asked.size,
        "questions": servers.questions,
        "sent": servers.sent,
        "received": servers.received,
    }


def main() -> None:
    """Ask servers once, with ``SETTINGS``, in JSON, and a question from the standard input."""
    protocol = protocol_of(json.loads(sys.argv[1]))
    print(json.dumps(told(protocol, **json.loads(sys.stdin.read()))))


if __name__ == "__main__":
    main()
