"""Checks of a whole sum, before anything is released from it."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...mechanisms.base import MOST_RECORDS
from ...noise.polya import PolyaShares
from ..models.central import SecureAggregation
from ..models.contribution import MOST_CLIENTS
from ..models.distributed import DistributedNoise
from .parameters import Protocol
from .wire import RoundError

__all__ = ["check_bits", "check_has_vectors", "check_reports", "check_totals", "records_in"]

_SECURITY: Final = 128  # a sum of honest clients is refused with a probability of 2^-128


def check_has_vectors(argument: str, protocol: Protocol) -> None:
    """Check that clients of a protocol have vectors which somebody else may add up."""
    if not isinstance(protocol.trust, DistributedNoise | SecureAggregation):
        what = "must be of DistributedNoise or SecureAggregation, whose clients have vectors"
        raise ParameterError(argument, type(protocol.trust).__name__, what)
    if protocol.enrolled:
        what = "must not have it: a vector has no ticket, so whoever adds up must know the clients"
        raise ParameterError(argument, "enrolled=True", what)


def check_reports(protocol: Protocol, reports: int) -> None:
    """Check that neither too few nor too many clients have reported."""
    least, most = protocol.least_reports, protocol.most_reports
    if reports < least or (most is not None and reports > most):
        wanted = f"at least {least}" if most is None else f"{least} to {most}"
        raise RoundError(f"the sums are of {reports} reports, but {wanted} are needed")


def records_in(protocol: Protocol, totals: NDArray[np.uint64], reports: int) -> int:
    """Return the number of records in an additive sum, which is public, empty ones included."""
    if protocol.records is not None:
        return reports * protocol.records
    return int(totals.view(np.int64)[0])  # the root, which has no noise


def check_totals(protocol: Protocol, totals: NDArray[np.uint64], reports: int) -> None:
    """Check that so many additive reports can make these totals."""
    signed, most = totals.view(np.int64), records_in(protocol, totals, reports)
    total = signed[0] if protocol.noise else signed.sum()  # the root has no noise
    if total != most:
        records = "one record" if protocol.records == 1 else f"{protocol.records} records"
        raise RoundError(
            f"the total is not the number of reports: some client did not send shares of {records}"
        )
    if not 1 <= most <= MOST_RECORDS:
        raise RoundError(f"the sum is of {most} records, but 1 to 2^46 are needed")
    if not protocol.noise and (signed.min() < 0 or signed.max() > most):
        raise RoundError("the count of a cell is below 0, or above the number of records")
    for level, share in enumerate(protocol.noise[1:], 1):
        part = slice(protocol.starts[level], protocol.starts[level + 1])
        if share is None and signed[part].any():
            raise RoundError(f"level {level} is not counted, and its totals are not 0")
        if share is not None and isinstance(protocol.trust, DistributedNoise):
            noise = _most_noise(share, reports, protocol.words)
            if signed[part].min() < -noise or signed[part].max() > most + noise:
                raise RoundError(
                    "a total is farther from possible counts than noise can be; if sums were made "
                    "modulo a number, subtract it from those of at least its half"
                )


def _most_noise(share: PolyaShares, reports: int, words: int) -> float:
    """Return what the noise in a total exceeds with a probability of 2^-128, or less, anywhere.

    The noise is the difference of two negative binomial variables. Each is stochastically at most
    the sum of ``whole`` geometric ones, each of which exceeds t with a probability of at most
    exp(-t / scale).
    """
    whole = math.ceil(reports / share.shares)
    tail = math.log(2 * whole * words) + _SECURITY * math.log(2)
    return whole * (float(share.scale) * tail + 1)


def check_bits(
    protocol: Protocol, totals: NDArray[np.uint64], reports: int, by_level: tuple[int, ...]
) -> None:
    """Check that no more bits are set at a node than there are reports of its level."""
    if reports > MOST_CLIENTS:
        raise RoundError(f"the sum is of {reports} reports; at most 2^40 clients report")
    if len(by_level) != len(protocol.asked) or sum(by_level) != reports:
        raise RoundError(
            f"the reports of the levels add up to {sum(by_level)}, but there are {reports}"
        )
    for level, count in enumerate((0, *by_level)):  # nobody reports the root
        part = totals[protocol.starts[level] : protocol.starts[level + 1]]
        if int(part.max()) > count:
            raise RoundError(f"a node of level {level} has more ones than the {count} reports")
