"""Discrete noise that makes a release of a vector near an ideal private one.

Every method that draws or uses noise in floating point ends here.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..noise.sources import Source
from ..privacy.allowance import Allowance

__all__ = ["SHARE", "covered"]

SHARE: Final = Fraction(1, 64)  # the share of the budget for what floating point may reveal


def covered(
    vector: NDArray[np.float64], distance: float, budget: Allowance, stream: Source
) -> NDArray[np.float64]:
    """Round a vector to a lattice, and add discrete Laplace noise there.

    Parameters
    ----------
    vector
        (D,) finite numbers, within ``distance`` of the ideal vector in the Euclidean norm.
    distance
        A public bound, above 0.
    budget
        The budget of the whole release, for epsilon. This function spends ``SHARE`` of it.
    stream
        The source of the noise.

    Returns
    -------
    numpy.ndarray
        (D,) multiples of a power of two, as doubles.

    Raises
    ------
    ParameterError
        epsilon is so small that the noise would exceed 2^40 units.

    Notes
    -----
    Given the ideal vector, the vectors of all inputs lie within a ball of radius ``distance``. So
    two of them, rounded, are at most 2 distance sqrt(D) / pitch + D units apart in the sum of
    absolute differences. The noise covers this distance (docs/proofs/models.md, section 4).
    """
    pitch = math.ldexp(1.0, math.frexp(distance)[1] - 4)  # between distance / 16 and distance / 8
    apart = Fraction(math.ceil(2.0 * distance / pitch * math.sqrt(vector.size)) + 1 + vector.size)
    noise = np.empty(vector.size, np.int64)
    budget.law(apart, SHARE).fill(noise, stream)
    units = np.rint(vector / pitch)
    return np.array([(int(k) + int(z)) * pitch for k, z in zip(units, noise, strict=True)])
