"""What a site decides for itself, and no run can change.

The run config comes with the run. So whatever protects a site against a run is in its node config,
which the site sets when it starts its SuperNode:

- ``num-partitions``: the number of sites. A run that claims to ask more is refused, because each
  site's share of the noise would be too small.
- ``budget``: the file of a ``dpcore.Budget`` (optional). Each answer is charged to it, also over
  several runs, and refused if too little remains. Such a site takes part in no studies.

Flower sends the text of an exception to the server, and the text may quote a record. So a site says
why it refuses only if the reason is public, and otherwise keeps it in its own log.
"""

from __future__ import annotations

from logging import ERROR
from typing import TYPE_CHECKING, Final

from flwr.app import ConfigRecord, Context, Message
from flwr.clientapp.typing import ClientAppCallable
from flwr.common import log

if TYPE_CHECKING:
    from .rounds import Round

__all__ = ["RefusalError", "admit", "discreet", "is_for_studies"]

_ANSWERED: Final = "answered"
_BUDGET: Final = "budget"
_SITES: Final = "num-partitions"
_PROTECTED: Final = {"seed": -1, "masks": "full-seed"}  # noise and masks that nobody knows


class RefusalError(Exception):
    """A site takes no part. The message is for everybody, so it says nothing about records."""


def discreet(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Keep the reasons of all other exceptions at the site."""
    try:
        return call_next(message, context)
    except RefusalError:
        raise
    except Exception:
        log(ERROR, "This site takes no part in a round", exc_info=True)
        raise RefusalError("this site takes no part; its own log says why") from None


def is_for_studies(context: Context) -> bool:
    """Return whether the site takes part in studies, with known noise and measured times."""
    return _BUDGET not in context.node_config


def admit(asked: Round, clients: int, context: Context) -> None:
    """Let a round pass, and charge it to the site's budget if it keeps one.

    It looks at no record, so that a refusal tells nothing about them.

    Parameters
    ----------
    asked
        The round that the site is to answer.
    clients
        Among how many clients the noise is shared.
    context
        What Flower gives to a ClientApp.

    Raises
    ------
    RefusalError
        The round claims to ask too many clients; or the site has answered it before, which would
        spend twice; or its noise would be known. The site's node config lacks the number of sites.
    BudgetError
        Too little remains.
    """
    if not isinstance(most := context.node_config.get(_SITES), int):
        raise RefusalError(f"the node config of a site needs {_SITES}, the number of all sites")
    if clients > most:
        raise RefusalError(f"clients: {clients} are asked, but this site knows of {most}")
    answered = context.state.config_records.setdefault(_ANSWERED, ConfigRecord())
    if asked.name in answered:
        raise RefusalError(f"this site has already answered the round {asked.name!r}")
    if not is_for_studies(context):
        for name, needed in _PROTECTED.items():
            if (found := context.run_config[name]) != needed:
                raise RefusalError(
                    f"{name} = {found!r}: must be {needed!r}, as this site takes part in no studies"
                )
        from dpcore import Budget

        what = f"round {asked.name} of Flower's run {context.run_id}"
        Budget.open(str(context.node_config[_BUDGET])).charge(asked.protocol.trust.privacy, what)
    answered[asked.name] = True
