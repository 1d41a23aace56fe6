"""The Gaussian noise of whole counts for (epsilon, delta), if neighbours differ in few of them.

The proof is in docs/proofs/privacy.md, section 8.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from .allowance import Allowance
from .lattice import LEAST_DELTA, kept_sigma

__all__ = ["Spread", "spread_over_counts"]

_EXCESS: Final = 2.0**-6  # the relative excess of whole noise's delta over continuous noise's
_BOUND: Final = 0.515  # 8 (1 + 2 / e) / 27, with a margin for rounding
_LEAST_VARIANCE: Final = 64.0  # units^2
_MARGIN: Final = 1.0 - 1e-12
_MOST_CHANGED: Final = 50
_MOST_BITS: Final = 16  # 2^46 records in units of 2^-16 fit 64 bits


class Spread(NamedTuple):
    """What Gaussian noise on whole counts may spend.

    Parameters
    ----------
    budget
        The allowance whose ``law`` is the noise. Its rho is for integers in units of 2^-bits.
    bits
        The number of bits of these units, 0 or more.
    """

    budget: Allowance
    bits: int


@lru_cache(maxsize=256)
def spread_over_counts(budget: Allowance, changed: int, largest: Fraction) -> Spread:
    """Return the allowance that the counts may share, and how fine their units are.

    Parameters
    ----------
    budget
        Any allowance. Only one that states epsilon and delta gains something.
    changed
        In how many counts two neighbours differ at most, by one in each. Only up to 50 gain.
    largest
        The largest share of the allowance that is spent on disjoint counts, of which
        ``budget.moved`` change.

    Returns
    -------
    Spread
        Its budget states the same guarantee as the given one. Noise with
        sigma^2 = moved / (2 share rho), for shares that add up to 1, is at least as exact as with
        the given budget.
    """
    if budget.stated is None or budget.stated[1] < LEAST_DELTA or changed > _MOST_CHANGED:
        return Spread(budget, 0)
    assert budget.rho is not None
    epsilon, delta = float(budget.stated[0]), budget.stated[1]
    own = delta / (1.0 + _EXCESS) * _MARGIN
    # The budget for continuous noise. The limit sqrt(1 + epsilon^2) - 1 ensures that neighbours
    # that are closer to each other do not cost more.
    sigma = kept_sigma(math.nextafter(epsilon, 0.0), own)
    rho = min(0.5 / sigma**2, epsilon * (epsilon / (1.0 + math.hypot(1.0, epsilon)))) * _MARGIN
    if not 0.0 < rho < math.inf or rho <= budget.rho:
        return Spread(budget, 0)
    mu = math.sqrt(2.0 * rho)
    density = math.exp(-(((epsilon - rho) / mu) ** 2) / 2.0) / mu / math.sqrt(2.0 * math.pi)
    # The least variance, in counts^2.
    variance = budget.moved / (2.0 * float(largest) * rho) * _MARGIN
    if variance < _LEAST_VARIANCE * 4.0**-_MOST_BITS:
        return Spread(budget, 0)
    enough = _BOUND * density / variance**2 / (own * _EXCESS)
    enough = max(enough, _LEAST_VARIANCE / variance, 2.0 * changed / variance)
    bits = max(0, math.ceil(math.log2(enough) / 2.0)) if enough > 0.0 else 0
    finer = replace(budget, rho=Fraction(rho))
    if bits == 0:
        return Spread(finer, 0)
    whole = budget.law(budget.moved, largest).variance
    units = finer.law(budget.moved * 4**bits, largest).variance
    if bits > _MOST_BITS or units * 4.0**-bits > whole:  # such small noise is nearly always 0
        return Spread(budget, 0)
    return Spread(finer, bits)
