"""A site: it makes its vector or its reports from its own records, and gives nothing else away.

Flower starts a new process for each message if it is not a simulation. Most messages are about keys
only, so the packages that read records are not imported before they are needed.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.client.mod import secaggplus_mod
from flwr.clientapp import ClientApp
from flwr.clientapp.typing import ClientAppCallable
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_STATE
from flwr.compat.common.recorddict_compat import fitres_to_recorddict, recorddict_to_fitins

from .consent import RefusalError, admit, discreet
from .costs import REPORTS, measured
from .masks import install

if TYPE_CHECKING:
    from .data import Records
    from .rounds import Round

__all__ = ["app"]


def masked(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Choose the masks of the run before secure aggregation draws any."""
    install(str(context.run_config["masks"]))
    return call_next(message, context)


app = ClientApp(mods=[discreet, measured, masked, secaggplus_mod])


@app.train()
def vector(message: Message, context: Context) -> Message:
    """Return the counts or sums of a site with its share of the noise, for secure aggregation."""
    from dpcore.trust import Client

    from .data import MOST_RECORDS
    from .exact_sums import ExactSums
    from .rounds import generator, taken

    asked = _asked(recorddict_to_fitins(message.content, keep_input=True).config, context)
    if not asked.protocol.is_additive:
        raise RefusalError("trust-model: the vector of a site is for distributed-noise only")
    told = context.state.config_records[RECORD_KEY_STATE]
    for name, value in ExactSums.of(asked.protocol, MOST_RECORDS).settings.items():
        if told[name] != value:  # a sum would not be exact, or too few clients could open it
            raise RefusalError(f"{name} = {told[name]} of secure aggregation: must be {value}")
    admit(asked, asked.protocol.trust.clients, context)
    records = _records(context)
    if len(records.values) > MOST_RECORDS:
        raise ValueError(f"MOST_RECORDS = {MOST_RECORDS}: must be a bound for this site")
    rng = generator(context.run_config, asked.name, _partition(context))
    numbers = Client(asked.protocol, rng).vector(taken(asked, records)).astype(np.float64)
    # All weights are 1, so they do not tell how many records a site has.
    result = FitRes(Status(Code.OK, ""), ndarrays_to_parameters([numbers]), 1, {})
    return Message(fitres_to_recorddict(result, keep_input=False), reply_to=message)


@app.query()
def reports(message: Message, context: Context) -> Message:
    """Return one report for each record, which is private before it leaves the site."""
    from dpcore.trust import Client

    from .rounds import generator, taken

    asked = _asked(message.content.config_records["round"], context)
    if asked.protocol.is_additive:  # its reports are shares, and one server must not have them all
        raise RefusalError(
            "trust-model: reports without secure aggregation are for local privacy only"
        )
    admit(asked, 1, context)  # the noise of a report does not depend on others
    cells = taken(asked, _records(context))
    rng = generator(context.run_config, asked.name, _partition(context))
    made = [report for cell in cells for report in Client(asked.protocol, rng).report(int(cell))]
    # The order of the records could tell something that the reports do not.
    secrets.SystemRandom().shuffle(made)
    return Message(RecordDict({REPORTS: ConfigRecord({REPORTS: made})}), reply_to=message)


def _asked(instructions: Mapping[str, Any], context: Context) -> Round:
    """Return the round that the server asks for, if it has the parameters of this run."""
    from .rounds import planned

    name, clients = str(instructions["round"]), int(instructions["clients"])
    found = planned(context.run_config, clients, name, bytes(instructions["round_id"]))
    if found.protocol.digest != instructions["digest"]:
        raise RefusalError(f"the server has other parameters for the round {name!r}")
    return found


def _records(context: Context) -> Records:
    """Return the records of this site."""
    from . import data

    return data.site(_partition(context), int(context.node_config["num-partitions"]))


def _partition(context: Context) -> int:
    return int(context.node_config.get("partition-id", -1))
