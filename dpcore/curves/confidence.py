"""How wide an interval has to be, for noise that is taken as normal, and where nothing is known."""

from __future__ import annotations

from statistics import NormalDist
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _check

__all__ = ["Interval", "deviations", "from_neighbours"]

Ends = TypeVar("Ends")


class Interval(NamedTuple, Generic[Ends]):
    """The ends of a confidence interval, or of several: what is asked for is between them.

    Parameters
    ----------
    low, high
        Each a float; or an array, if several numbers are asked for.

    Examples
    --------
    >>> import dpcore as dp
    >>> low, high = dp.Interval(0.25, 0.75)
    >>> high - low
    0.5
    """

    low: Ends
    high: Ends


def deviations(level: float) -> float:
    """Return how many standard deviations a two-sided interval of this level reaches.

    Raises
    ------
    DtypeError, ParameterError
        level is not a number between 0 and 1.
    """
    return -NormalDist().inv_cdf((1.0 - _check.proportion("level", level)) / 2)


def from_neighbours(
    low: NDArray[np.float64], high: NDArray[np.float64], known: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intervals, within [0, 1], of a share that never falls, each (N,).

    Parameters
    ----------
    low, high
        (N,) ends of intervals at each threshold.
    known
        (N,) where they are valid. Elsewhere the share is between those of the nearest thresholds
        where they are: it gets the lower end of the one before, and the upper end of the one
        behind. Either end fails as often as it does there, so both together no more often than
        the level says. (The largest of *all* lower ends before would fail more often.)
    """
    size = known.size
    at = np.arange(size)
    before = np.maximum.accumulate(np.where(known, at, -1))
    behind = np.minimum.accumulate(np.where(known, at, size)[::-1])[::-1]
    low, high = np.append(low, 0.0)[before], np.append(high, 1.0)[behind]
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
