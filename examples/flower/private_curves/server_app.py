"""The server: it asks the sites for rounds, and releases what their sum or reports allow."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from logging import INFO, WARNING
from pathlib import Path
from typing import Any, cast

from flwr.app import ConfigRecord, Context, Message, MessageType, RecordDict
from flwr.common import log
from flwr.serverapp import Grid, ServerApp

from dpcore.errors import ParameterError
from dpcore.trust import PartialSum, ReportError, RoundError, Server, VectorSum

from . import picture, rounds
from .costs import REPORTS, MeasuredGrid, table
from .data import MOST_RECORDS
from .exact_sums import ExactSums
from .masks import install
from .secure_sum import secure_sum

__all__ = ["app"]

app = ServerApp()

_SETTLED = 2.0  # seconds without a new node, after which nobody else is waited for


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run all rounds, store what they release and what they cost, and draw a picture."""
    config = context.run_config
    folder = output(config, context.run_id)
    install(str(config["masks"]))
    nodes = connected(grid, int(config["clients"]), float(config["timeout"]))
    released = []
    for asked in rounds.plan(config, len(nodes)):
        log(INFO, "Round %r: %s clients, %s numbers", asked.name, len(nodes), asked.protocol.words)
        measured = MeasuredGrid(grid)
        released.append(rounds.released(asked, summed(asked, measured, context, nodes)))
        # At once: this has cost privacy, and the next round may fail.
        (folder / f"{asked.name}.json").write_text(released[-1].to_json() + "\n", "utf-8")
        costs = measured.costs()
        (folder / f"{asked.name}-costs.json").write_text(json.dumps(costs, indent=1), "utf-8")
        for line in (*rounds.said(asked, released[-1]), *table(costs).splitlines()):
            log(INFO, "%s", line)
    log(INFO, "Releases and their costs are in %s", folder)
    log(INFO, "The picture is %s", picture.draw(released, config, len(nodes), folder))


def output(config: rounds.Settings, run_id: int) -> Path:
    """Return the folder of this run, which is made. It holds no results of other runs.

    Raises
    ------
    ParameterError
        It does.
    """
    given = str(config["output"])
    folder = Path(given or f"dpcore-flower-output/{run_id}").absolute()
    if folder.exists() and any(folder.iterdir()):
        raise ParameterError("output", given, "must be an empty folder, or a new one")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def connected(grid: Grid, clients: int, timeout: float) -> list[int]:
    """Return the nodes to ask, after the expected number of clients has connected.

    Raises
    ------
    RoundError
        Too few are connected after ``timeout`` seconds.
    """
    end = time.monotonic() + timeout
    settled, found = time.monotonic() + _SETTLED, list[int]()
    while True:
        now, nodes = time.monotonic(), sorted(grid.get_node_ids())
        if nodes != found:
            found, settled = nodes, now + _SETTLED
        if clients and len(found) >= clients:
            return secrets.SystemRandom().sample(found, clients)
        if not clients and found and now > settled:
            return found
        if now > end:
            wanted = clients or "some"
            raise RoundError(f"{len(found)} clients are connected; {wanted} are expected")
        time.sleep(0.5)


def summed(
    asked: rounds.Round, grid: Grid, context: Context, nodes: Sequence[int]
) -> VectorSum | PartialSum:
    """Return the sum of the vectors of the clients, or of their reports."""
    config = context.run_config
    timeout, protocol = float(config["timeout"]), asked.protocol
    instructions: dict[str, Any] = {
        "round": asked.name,
        "round_id": protocol.round_id,
        "digest": protocol.digest,
        "clients": len(nodes),
    }
    if protocol.is_additive:
        sums = ExactSums.of(protocol, MOST_RECORDS)
        found = secure_sum(grid, context, nodes, sums, instructions, timeout)
        log(INFO, "The vectors of %s of %s clients are in the sum", found.reports, len(nodes))
        return VectorSum(protocol, found.total, found.reports, simulated=int(config["seed"]) >= 0)
    content = RecordDict({"round": ConfigRecord(instructions)})
    messages = [Message(content, node, MessageType.QUERY) for node in nodes]
    server, answers = Server(protocol), 0
    for reply in grid.send_and_receive(messages, timeout=timeout):
        if reply.has_error():
            log(WARNING, "A client failed: %s", reply.error.reason)
            continue
        answers += 1
        for report in cast(list[bytes], reply.content.config_records[REPORTS][REPORTS]):
            try:
                server.add(report)
            except ReportError as error:
                log(WARNING, "%s", error)
    log(INFO, "%s of %s clients have reported", answers, len(nodes))
    return server.close()
