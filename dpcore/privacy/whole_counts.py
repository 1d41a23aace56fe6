"""What the noise of whole counts may spend for (epsilon, delta), if neighbours change few of them.

The proof is in docs/privacy.md, section 8.
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

_EXCESS: Final = 2.0**-6  # by which whole noise may pass the delta of continuous noise, relatively
_BOUND: Final = 0.515  # 8 (1 + 2 / e) / 27, and what rounding may take
_LEAST_VARIANCE: Final = 64.0  # units^2
_MARGIN: Final = 1.0 - 1e-12
_MOST_CHANGED: Final = 50
_MOST_BITS: Final = 16  # 2^46 records in units of 2^-16 stay inside 64 bits


class Spread(NamedTuple):
    """What Gaussian noise on whole counts may spend.

    Parameters
    ----------
    budget
        Whose ``law`` the noise is: its rho, for integers in units of 2^-bits.
    bits
        0 or more.
    """

    budget: Allowance
    bits: int


@lru_cache(maxsize=256)
def spread_over_counts(budget: Allowance, changed: int, largest: Fraction) -> Spread:
    """Return the budget that counts may share between them, and how fine their units are.

    Parameters
    ----------
    budget
        Any. Only where it states epsilon and delta there is something to gain.
    changed
        How many counts differ between two neighbours, at most: by one each. Up to 50 gain.
    largest
        The largest share of the budget that is spent on disjoint counts, of which
        ``budget.moved`` change.

    Returns
    -------
    Spread
        Its budget states what the given one does. Noise with sigma^2 = moved / (2 share rho), for
        shares that add up to 1, is at least as exact as with the given budget.
    """
    if budget.stated is None or budget.stated[1] < LEAST_DELTA or changed > _MOST_CHANGED:
        return Spread(budget, 0)
    assert budget.rho is not None
    epsilon, delta = float(budget.stated[0]), budget.stated[1]
    own = delta / (1.0 + _EXCESS) * _MARGIN
    # What continuous noise may spend; up to sqrt(1 + epsilon^2) - 1, so that neighbours which are
    # not as far apart as others do not cost more.
    sigma = kept_sigma(math.nextafter(epsilon, 0.0), own)
    rho = min(0.5 / sigma**2, epsilon * (epsilon / (1.0 + math.hypot(1.0, epsilon)))) * _MARGIN
    if not 0.0 < rho < math.inf or rho <= budget.rho:
        return Spread(budget, 0)
    mu = math.sqrt(2.0 * rho)
    density = math.exp(-(((epsilon - rho) / mu) ** 2) / 2.0) / mu / math.sqrt(2.0 * math.pi)
    variance = budget.moved / (2.0 * float(largest) * rho) * _MARGIN  # the least, in counts^2
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
    if bits > _MOST_BITS or units * 4.0**-bits > whole:  # small integers are nearly all 0
        return Spread(budget, 0)
    return Spread(finer, bits)
