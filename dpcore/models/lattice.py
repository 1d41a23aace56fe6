"""From a vector that is near to an ideal private one to a release: discrete noise covers the rest.

Every method for which noise is made or used in floating point ends here.
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

SHARE: Final = Fraction(1, 64)  # of the budget, for what floating point may tell


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
        Of the whole release, for epsilon. This takes ``SHARE`` of it.
    stream
        Where the noise is drawn from.

    Returns
    -------
    numpy.ndarray
        (D,) multiples of a power of two, as doubles.

    Raises
    ------
    ParameterError
        epsilon is so small that the noise would pass 2^40 units.

    Notes
    -----
    Given the ideal vector, the vectors of all inputs are within a ball of radius ``distance``. So
    two of them, rounded, are at most 2 distance sqrt(D) / pitch + D units apart in the sum of
    absolute differences, which is what the noise is for (docs/models.md, section 4).
    """
    pitch = math.ldexp(1.0, math.frexp(distance)[1] - 4)  # at least distance / 16, at most / 8
    apart = Fraction(math.ceil(2.0 * distance / pitch * math.sqrt(vector.size)) + 1 + vector.size)
    noise = np.empty(vector.size, np.int64)
    budget.law(apart, SHARE).fill(noise, stream)
    units = np.rint(vector / pitch)
    return np.array([(int(k) + int(z)) * pitch for k, z in zip(units, noise, strict=True)])
