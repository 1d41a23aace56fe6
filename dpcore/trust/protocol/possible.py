"""Checks of a whole sum, before anything is released from it."""

from __future__ import annotations

from ...errors import ParameterError, amount
from .parameters import Protocol
from .rounds import VectorsRound
from .trust_models import WithVectors, names_of
from .wire import RoundError

__all__ = ["check_reports", "with_vectors"]


def with_vectors(argument: str, protocol: Protocol) -> VectorsRound:
    """Return the round of a protocol whose clients have vectors that somebody else may add up."""
    if not isinstance(protocol.round, VectorsRound):
        what = f"must be of {names_of(WithVectors)}, whose clients have vectors"
        raise ParameterError(argument, type(protocol.trust).__name__, what)
    if protocol.enrolled:
        what = "must not have it: a vector has no ticket, so whoever adds up must know the clients"
        raise ParameterError(argument, "enrolled=True", what)
    return protocol.round


def check_reports(protocol: Protocol, reports: int) -> None:
    """Check that neither too few nor too many clients have reported."""
    least, most = protocol.least_reports, protocol.most_reports
    if reports < least or (most is not None and reports > most):
        wanted = f"at least {least}" if most is None else f"{least} to {most}"
        raise RoundError(f"the sums are of {amount(reports, 'report')}, but {wanted} are needed")
