"""What a run costs: bytes of all messages, and seconds of the clients' work."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from flwr.app import ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp.typing import ClientAppCallable
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS
from flwr.common.secure_aggregation.secaggplus_constants import Key as SecAggKey
from flwr.common.serde import recorddict_to_proto
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.run import Run

from .consent import is_for_studies

__all__ = ["REPORTS", "MeasuredGrid", "measured", "table"]

REPORTS: Final = "reports"  # the record, and its entry, with the reports of local privacy
_COSTS: Final = "costs"
_SECONDS: Final = "seconds"
_DOWN, _UP, _WORK, _WAITED = "bytes down", "bytes up", "CPU seconds", "elapsed"
_FORMATS: Final = {_DOWN: "15,.0f", _UP: "15,.0f", _WORK: "15.3f", _WAITED: "15.1f"}
_WHOLE: Final = "all of the round"
_REPORT: Final = "its report alone"


def measured(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Measure how long a client works on a message, and add this to its reply.

    These are seconds of processor time, so they do not depend on how many clients share a machine.
    They depend on the records, though, and nothing hides them. So only a run with ``measure`` asks
    for them, and only sites that take part in studies tell them.
    """
    if not (context.run_config["measure"] and is_for_studies(context)):
        return call_next(message, context)
    start = time.process_time()
    reply = call_next(message, context)
    if reply.has_content():
        seconds = time.process_time() - start
        reply.content.metric_records[_COSTS] = MetricRecord({_SECONDS: seconds})
    return reply


class MeasuredGrid(Grid):
    """Flower's Grid, which also counts what is sent in one round.

    Parameters
    ----------
    grid
        The Grid that Flower gives to a ServerApp.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._clients: set[int] = set()
        self._down: dict[str, float] = defaultdict(float)
        self._up: dict[str, float] = defaultdict(float)
        self._seconds: dict[str, float] = defaultdict(float)
        self._waited: dict[str, float] = defaultdict(float)
        self._reports = 0
        self._start = time.perf_counter()

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        """Send messages and return the replies, as the Grid does."""
        asked = list(messages)
        if not asked:
            return []
        stage = _stage(asked[0])
        for message in asked:  # before they are sent, as a Grid may change them
            self._clients.add(message.metadata.dst_node_id)
            self._down[stage] += _size(message.content)
        sent = time.perf_counter()
        replies = list(self._grid.send_and_receive(asked, timeout=timeout))
        self._waited[stage] += time.perf_counter() - sent
        for reply in replies:
            if reply.has_content():
                self._up[stage] += _size(reply.content)
                self._reports += _report_size(reply.content)
                costs = reply.content.metric_records.get(_COSTS)
                self._seconds[stage] += float(costs[_SECONDS]) if costs else 0.0  # type: ignore[arg-type]
        return replies

    def costs(self) -> dict[str, dict[str, float]]:
        """Return what a client costs on average, and how long the server waits, for each stage.

        A further stage, "all of the round", also has the bytes of a client's masked vector or
        reports alone. Its seconds include the server's own work. Seconds of clients are there only
        if clients have told them.
        """
        count = max(len(self._clients), 1)
        columns = {_DOWN: self._down, _UP: self._up}
        if any(self._seconds.values()):
            columns[_WORK] = self._seconds
        found: dict[str, dict[str, float]] = {}
        for stage in self._down:
            found[stage] = {name: column[stage] / count for name, column in columns.items()}
            found[stage][_WAITED] = self._waited[stage]
        found[_WHOLE] = {name: sum(column.values()) / count for name, column in columns.items()}
        found[_WHOLE][_WAITED] = time.perf_counter() - self._start
        found[_WHOLE][_REPORT] = self._reports / count
        return found

    def set_run(self, run: Run) -> None:
        """Set the run."""
        self._grid.set_run(run)

    @property
    def run(self) -> Run:
        """The run."""
        return self._grid.run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Return a message."""
        return self._grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def get_node_ids(self) -> Iterable[int]:
        """Return the nodes that are connected."""
        return self._grid.get_node_ids()

    def get_nodes(self) -> Iterable[NodeInfo]:
        """Return the nodes that are connected."""
        return self._grid.get_nodes()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages, uncounted."""
        return self._grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return replies, uncounted."""
        return self._grid.pull_messages(message_ids)


def table(costs: Mapping[str, Mapping[str, float]]) -> str:
    """Return the costs of a round as lines of text."""
    columns = {name: form for name, form in _FORMATS.items() if name in costs[_WHOLE]}
    rows = [f"{'mean of a client':<24}" + "".join(f"{name:>15}" for name in columns)]
    for stage, of_stage in costs.items():
        numbers = (format(of_stage[name], form) for name, form in columns.items())
        rows.append(f"{stage:<24}" + "".join(numbers))
    rows.append(f"{_REPORT:<24}{costs[_WHOLE][_REPORT]:>30,.0f}")
    return "\n".join(rows)


def _size(content: RecordDict) -> int:
    """Return the length of the content in bytes, as it is sent."""
    return int(recorddict_to_proto(content).ByteSize())


def _stage(message: Message) -> str:
    configs = message.content.config_records.get(RECORD_KEY_CONFIGS, ConfigRecord())
    return str(configs.get(SecAggKey.STAGE, REPORTS)).replace("_", " ")


def _report_size(content: RecordDict) -> int:
    """Return the bytes of a client's masked vector, or of its reports."""
    records = content.config_records
    masked = records.get(RECORD_KEY_CONFIGS, ConfigRecord()).get(SecAggKey.MASKED_PARAMETERS, [])
    reports = records.get(REPORTS, ConfigRecord()).get(REPORTS, [])
    return sum(len(part) for part in (*masked, *reports))  # type: ignore[misc]
