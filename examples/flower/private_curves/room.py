"""How large the numbers of a site may be, so that secure aggregation adds them exactly.

This needs no Flower: the rounds ask it how fine their sums can be.
"""

from __future__ import annotations

import math
from typing import Final

from dpcore.errors import ParameterError
from dpcore.trust import DistributedNoise, Protocol
from dpcore.trust.functions import Coarse, Function

__all__ = ["LARGEST_RANGE", "MODULUS", "finest", "most_noise", "needed", "room"]

MODULUS: Final = 2**32  # the largest that Flower's masks allow
LARGEST_RANGE: Final = 2**30  # Flower rounds to 32-bit integers with a sign
_SECURITY: Final = 128  # a share is out of range with probability 2^-128 or less


def room(clients: int) -> int:
    """Return c: numbers of so many clients add up exactly if they are between -c and c.

    The weights add up to clients * 2c, and must stay below the modulus; so must the values.
    """
    most = min(LARGEST_RANGE, (MODULUS - 1) // clients)
    return 1 << (most.bit_length() - 2)


def needed(protocol: Protocol, most_records: int) -> int:
    """Return what no number of a site exceeds, except with probability 2^-128."""
    of, largest = protocol.function, 1
    if of is not None:
        largest = protocol.trust.sum_noise(of).lattice.largest
    return most_records * largest + most_noise(protocol)


def most_noise(protocol: Protocol) -> int:
    """Return t, which no share of noise of a round exceeds, except with probability 2^-128.

    A share is the difference of two negative binomial variables. Each is stochastically below a
    geometric variable of the same ratio a = exp(-1 / scale), so P(|share| > t) <= 2 a^t. The union
    bound is over all nodes of all clients.
    """
    of, noise = protocol.function, protocol.noise
    if of is not None:
        noise = (protocol.trust.sum_noise(of).share,)
    scale = max((float(share.scale) for share in noise if share), default=0.0)
    shares = protocol.words * (protocol.most_reports or 1)
    return math.ceil(scale * (_SECURITY * math.log(2) + math.log(2 * shares))) + 1


def finest(
    trust: DistributedNoise, function: Function, most_records: int, round_id: bytes
) -> Protocol:
    """Return a round about a function, with the most steps of a value for which there is room.

    Raises
    ------
    ParameterError
        There is none, however coarse the values are.
    """
    for bits in range(trust.sum_noise(function).bits, -1, -1):
        protocol = Protocol.of_function(trust, Coarse(function, bits), round_id)
        if needed(protocol, most_records) <= room(trust.clients):
            return protocol
    raise ParameterError("clients", trust.clients, f"must be fewer for {function.name}")
