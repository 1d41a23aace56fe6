"""How wide an interval has to be, for noise that is taken as normal."""

from __future__ import annotations

from statistics import NormalDist

from .. import _check

__all__ = ["deviations"]


def deviations(level: float) -> float:
    """Return how many standard deviations a two-sided interval of this level reaches.

    Raises
    ------
    DtypeError, ParameterError
        level is not a number between 0 and 1.
    """
    return -NormalDist().inv_cdf((1.0 - _check.proportion("level", level)) / 2)
