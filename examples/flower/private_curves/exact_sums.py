"""Exact sums of integer vectors by Flower's SecAgg+, and errors where it would stop silently.

SecAgg+ averages floats. With the parameters of this file it adds integers and loses nothing: the
step of its quantization is 1, all weights are equal, and nothing is clipped or wraps around.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from flwr.common.secure_aggregation.secaggplus_constants import Key

from dpcore.errors import ParameterError
from dpcore.trust import Protocol

from .room import MODULUS, needed, room

__all__ = ["ExactSums"]

_FEWEST_NEIGHBOURS: Final = 31
_MAY_FAIL: Final = 1e-4  # how often neighbours may be too few, at the most dropouts allowed


@dataclass(frozen=True, slots=True)
class ExactSums:
    """The parameters of SecAgg+ for one round; all of them are public.

    Attributes
    ----------
    clients, required
        How many clients are asked, and how many have to report.
    neighbours, threshold
        Among how many clients, itself included, a client shares its keys, and how many of them can
        rebuild these keys.
    bound
        c: a number of a client is between -c and c, or its report is not sent.
    """

    clients: int
    required: int
    neighbours: int
    threshold: int
    bound: int

    @classmethod
    def of(cls, protocol: Protocol, most_records: int) -> ExactSums:
        """Return the parameters for a round in which no client has more than ``most_records``.

        Raises
        ------
        ParameterError
            There are too few clients, too many dropouts are allowed, or a client's vector might
            not fit.
        """
        clients, required = protocol.most_reports, protocol.least_reports
        if clients is None or not protocol.is_additive:
            name = protocol.trust.describe()["name"]
            raise ParameterError("trust", name, "must be distributed-noise")
        if clients < 2:
            raise ParameterError(
                "clients", clients, "must be 2 or more: a sum of one hides nothing"
            )
        if 2 * required <= clients:
            problem = "must be below 1/2: a minority must not be able to rebuild keys"
            raise ParameterError("dropout", 1 - required / clients, problem)
        bound, most = room(clients), needed(protocol, most_records)
        if most > bound:
            problem = f"must leave room for noise: {most} counts with it, but {bound} fit"
            raise ParameterError("most_records", most_records, problem)
        neighbours = enough_neighbours(clients, clients - required)
        # If everybody is everybody's neighbour, honest clients themselves refuse to unmask too few.
        threshold = required if neighbours == clients else majority(neighbours)
        return cls(clients, required, neighbours, threshold, bound)

    @property
    def range(self) -> int:
        """T = 2c, the range of quantization. So its step is 1."""
        return 2 * self.bound

    @property
    def modulus(self) -> int:
        """Masked numbers are modulo this, and larger than clients * T."""
        return MODULUS

    @property
    def settings(self) -> dict[str, int | float]:
        """What the server tells the clients at the beginning, by Flower's names."""
        return {
            Key.SAMPLE_NUMBER: self.clients,
            Key.SHARE_NUMBER: self.neighbours,
            Key.THRESHOLD: self.threshold,
            Key.CLIPPING_RANGE: float(self.bound),
            Key.TARGET_RANGE: self.range,
            Key.MOD_RANGE: self.modulus,
            Key.MAX_WEIGHT: 1.0,
        }


def majority(neighbours: int) -> int:
    """Return the least number that is more than half: two disjoint groups cannot both have it."""
    return neighbours // 2 + 1


def enough_neighbours(clients: int, dropped: int) -> int:
    """Return how many clients share keys: an odd number, or all clients.

    The work of a client grows with the square of this number, so it is the least one from 31
    with which a round of as many dropouts as allowed fails with a probability of 10^-4 or less.
    """
    for neighbours in range(_FEWEST_NEIGHBOURS, clients, 2):
        if failure(clients, dropped, neighbours) <= _MAY_FAIL:
            return neighbours
    return clients


def failure(clients: int, dropped: int, neighbours: int) -> float:
    """Bound the probability that some client's keys cannot be rebuilt.

    Neighbours are chosen at random, so the number of them that have dropped out is hypergeometric.
    The union bound is over all clients. A failure opens nothing, and the round must be repeated.
    """
    others, spare = neighbours - 1, neighbours - majority(neighbours)
    of_survivor = _tail(clients - 1, dropped, others, spare)
    of_dropped = _tail(clients - 1, dropped - 1, others, spare - 1)
    return (clients - dropped) * of_survivor + dropped * of_dropped


def _tail(total: int, marked: int, drawn: int, most: int) -> float:
    """Return the probability that more than ``most`` of the drawn ones are marked."""
    ways = sum(
        math.comb(marked, found) * math.comb(total - marked, drawn - found)
        for found in range(most + 1, min(marked, drawn) + 1)
    )
    return ways / math.comb(total, drawn)
