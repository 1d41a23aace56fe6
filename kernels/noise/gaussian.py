"""The exact discrete Gaussian sampler: integers from words of uniform random bits.

What samplers.py says of windows and of words past the end holds here, too.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from .exponential import Divisor, bernoulli_exp_square, divisor
from .samplers import ONE, ZERO, bernoulli_exp_fraction, bernoulli_exp_one, uniform, word_at

_MOST_PERIODS = np.uint64(63)
_QUICK_PERIODS = 8
_QUICK_BITS = 28


class Plan(NamedTuple):
    """What ``discrete_gaussian`` has to know of sigma^2 = n / d.

    With t = floor(sigma) + 1 and D = d t^2, a proposal y is accepted with probability exp(-gamma),
    gamma = (|y| - sigma^2 / t)^2 / (2 sigma^2) = a^2 / (2 n D), a = ||y| d t - n|.
    """

    numerator: np.uint64  # n
    period: np.uint64  # t
    step: np.uint64  # d t
    divisor: Divisor  # 2 n D


def plan(numerator: int, denominator: int) -> Plan:
    """Return the plan for sigma^2 = numerator / denominator, both within [1, 2^53).

    Sizes: if sigma >= 1, then d <= n, t <= 2 sigma and D <= 4 n < 2^55; else t = 1 and D = d <
    2^53. In both cases n < D, t < 2^28, 2 n D < 2^109, D / n <= 2^53. Small fractions are expanded
    until D has 28 bits, which changes nothing but the precision of the quick bounds.
    """
    period = isqrt(numerator // denominator) + 1
    lift = max(0, _QUICK_BITS - (denominator * period**2).bit_length())
    n, d = numerator << lift, denominator << lift
    square = d * period**2
    return Plan(
        np.uint64(n),
        np.uint64(period),
        np.uint64(d * period),
        divisor(2 * n * square, _QUICK_PERIODS * square),
    )


@kernel
def discrete_gaussian(
    words: NDArray[np.uint32], out: NDArray[np.int64], law: Plan
) -> tuple[int, int]:
    """Fill ``out`` with discrete Gaussian draws, P(y) proportional to exp(-y^2 / (2 sigma^2)).

    Canonne, Kamath & Steinke, *The discrete Gaussian for differential privacy* (2020),
    Algorithm 3, integer arithmetic only.

    Parameters
    ----------
    words
        Uniform 32-bit words.
    out
        Draws, (size,).
    law
        ``plan(numerator, denominator)`` of sigma^2.

    Returns
    -------
    drawn, used
        How many leading entries of ``out`` are final, and how many words made them. The words
        from ``used`` on are to be shown again, in front of new ones.

    Notes
    -----
    Invariant: ``out[:i]`` is a function of ``words[:start]`` and of nothing after it.
    A proposal of 64 periods or more is refused outright: it comes with probability exp(-64), and
    would be accepted with less than exp(-63^2 / 2). So |y| < 64 t, a < 64 D < 2^61, and
    gamma = (a / D)^2 D / (2 n) < 2^11 2^53.
    """
    at = 0
    for i in range(out.size):
        start = at
        drawn = False
        value = np.int64(0)
        while not drawn and at <= words.size:
            part, at = uniform(words, at, law.period)
            accepted, at = bernoulli_exp_fraction(words, at, part, law.period)
            if not accepted:
                continue
            periods = ZERO
            more, at = bernoulli_exp_one(words, at)
            while more and at <= words.size:
                periods += ONE
                more, at = bernoulli_exp_one(words, at)
            magnitude = part + law.period * periods
            negative = (word_at(words, at) & ONE) == ONE
            at += 1
            if periods > _MOST_PERIODS or (negative and magnitude == ZERO):
                continue
            reached = law.step * magnitude
            a = max(reached, law.numerator) - min(reached, law.numerator)
            drawn, at = bernoulli_exp_square(words, at, a, law.divisor)
            value = -np.int64(magnitude) if negative else np.int64(magnitude)
        if at > words.size:
            return i, start
        out[i] = value
    return out.size, at
