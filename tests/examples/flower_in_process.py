"""Flower's workflow and the app's ClientApp in one process, with sites that can be lost.

Only the network is not Flower's: ``OneProcess`` stands in for the Grid. It makes bytes of every
message and reads them again, and answers with an error if a client raises one, as Flower does.
It is imported by the Python that has Flower.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "flower"))

from flwr.app import Context, Error, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.supercore.task_identity import TaskIdentity
from private_curves import client_app, rounds, server_app

CELLS = 64
SETTINGS = {
    "statistic": "curves",
    "trust-model": "distributed-noise",
    "epsilon": 1.0,
    "dropout": 0.2,
    "clients": 0,
    "cells": CELLS,
    "timeout": 5.0,
    "masks": "full-seed",
    "output": "",
    "measure": False,
    "seed": 5,
}
STAGES = ("setup", "share_keys", "collect_masked_vectors", "unmask")

_SERVER = 1
_FIRST = 100  # the node id of site 0

Change = Callable[[str, int, Message], None]


class OneProcess:
    """A Grid whose nodes are in this process.

    Parameters
    ----------
    sites
        How many there are.
    settings
        The run config.
    lost
        Which sites are lost when they are asked in which stage. They do not come back.
    node
        More of the node config of each site, or other values.
    request, reply
        Called with the stage, the site and a copy of the message, which it may change.
    """

    def __init__(
        self,
        sites: int,
        settings: Mapping[str, Any],
        lost: Mapping[str, Iterable[int]] | None = None,
        node: Mapping[str, Any] | None = None,
        request: Change | None = None,
        reply: Change | None = None,
    ) -> None:
        self.run = SimpleNamespace(run_id=1)
        self.settings = dict(settings)
        self.lost = {stage: set(those) for stage, those in (lost or {}).items()}
        self.gone: set[int] = set()
        self.sent: dict[str, int] = defaultdict(int)  # requests, by stage
        self.errors: dict[int, Exception] = {}  # the last one of each site
        self.replies: dict[str, dict[int, Message]] = defaultdict(dict)
        self._request, self._reply = request, reply
        self.contexts = [
            _context({"partition-id": site, "num-partitions": sites, **(node or {})}, settings)
            for site in range(sites)
        ]
        for name in ("run_id", "node_id", "task_id"):  # without these a process makes no message
            with contextlib.suppress(AttributeError, ValueError, RuntimeError):
                setattr(TaskIdentity, name, _SERVER)

    def get_node_ids(self) -> list[int]:
        """Return the ids of all sites."""
        return [_FIRST + site for site in range(len(self.contexts))]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        """Let the sites answer one after the other; those that are lost do not."""
        del timeout
        return [reply for message in messages for reply in self._answers(message)]

    def _answers(self, message: Message) -> list[Message]:
        site = message.metadata.dst_node_id - _FIRST
        configs = message.content.config_records.get(RECORD_KEY_CONFIGS, {})
        stage = str(configs.get("stage", "reports"))
        self.sent[stage] += 1
        if site in self.lost.get(stage, ()):
            self.gone.add(site)
        if site in self.gone:
            return []
        message.metadata.__dict__["_message_id"] = secrets.token_hex(8)
        message.metadata.__dict__["_src_node_id"] = _SERVER
        asked = _copy(message)
        if self._request:
            self._request(stage, site, asked)
        try:
            reply = client_app.app(asked, self.contexts[site])
        except Exception as error:
            self.errors[site] = error
            why = f"{type(error)}:<'{error}'>"
            reply = Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, why), reply_to=asked)
        reply.metadata.__dict__["_src_node_id"] = _FIRST + site
        reply = _copy(reply)
        if reply.has_content():
            if self._reply:
                self._reply(stage, site, reply)
            self.replies[stage][site] = _copy(reply)  # Flower changes what it is given
        return [reply]


def asked(grid: OneProcess, name: str = rounds.CURVE) -> rounds.Round:
    """Return a new round of this name, with all sites of the grid."""
    plan = rounds.plan(grid.settings, len(grid.contexts))
    return next(each for each in plan if each.name == name)


def answer(grid: OneProcess, this: rounds.Round) -> Any:
    """Run a round as the ServerApp does, and return the sum."""
    client_app.install(str(grid.settings["masks"]))
    context = _context({}, grid.settings)
    return server_app.summed(this, grid, context, grid.get_node_ids())


def _context(node: Mapping[str, Any], settings: Mapping[str, Any]) -> Context:
    return Context(
        run_id=1,
        node_id=_SERVER,
        node_config=dict(node),
        state=RecordDict(),
        run_config=dict(settings),
        series_id=0,
    )


def _copy(message: Message) -> Message:
    return message_from_proto(message_to_proto(message))
