"""What a site decides for itself, and no run can change.

The run config comes with the run. So whatever protects a site against a run is in its node config,
which the site sets when it starts its SuperNode:

- ``num-partitions``: the number of sites. A run that claims to ask more is refused, because each
  site's share of the noise would be too small.
- ``budget``: the file of a ``dpcore.Budget`` (optional). Each answer is charged to it, also over
  several runs, and refused if too little remains. Such a site takes part in no studies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flwr.app import ConfigRecord, Context

if TYPE_CHECKING:
    from .rounds import Round

__all__ = ["admit", "is_for_studies"]

_ANSWERED: Final = "answered"
_BUDGET: Final = "budget"
_PROTECTED: Final = {"seed": -1, "masks": "full-seed"}  # noise and masks that nobody knows


def is_for_studies(context: Context) -> bool:
    """Return whether the site takes part in studies, with known noise and measured times."""
    return _BUDGET not in context.node_config


def admit(asked: Round, clients: int, context: Context) -> None:
    """Let a round pass, and charge it to the site's budget if it keeps one.

    Raises
    ------
    ParameterError
        The round claims to ask too many clients, or its noise would be known.
    RoundError
        The site has answered this round of the run before: a second answer would spend twice.
    BudgetError
        Too little remains.
    """
    from dpcore import Budget
    from dpcore.errors import ParameterError
    from dpcore.trust import RoundError

    if clients > (most := int(context.node_config["num-partitions"])):
        raise ParameterError("clients", clients, f"must be {most} or fewer")
    answered = context.state.config_records.setdefault(_ANSWERED, ConfigRecord())
    if asked.name in answered:
        raise RoundError(f"this site has already answered the round {asked.name!r} of this run")
    if not is_for_studies(context):
        for name, needed in _PROTECTED.items():
            if (found := context.run_config[name]) != needed:
                what = f"must be {needed!r}: this site takes part in no studies"
                raise ParameterError(name, found, what)
        what = f"round {asked.name} of Flower's run {context.run_id}"
        Budget.open(str(context.node_config[_BUDGET])).charge(asked.protocol.trust.privacy, what)
    answered[asked.name] = True
