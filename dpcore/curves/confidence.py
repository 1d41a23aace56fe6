"""Confidence intervals of curves, for noise that is taken as normal, and for unknown errors."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..privacy.guarantees import Privacy
from .inversion import is_below
from .shown import short

__all__ = [
    "Interval",
    "around",
    "at_knots",
    "band_of",
    "deviations",
    "deviations_at_once",
    "deviations_of_noise",
    "from_neighbours",
    "in_percent",
    "may_move",
    "reach",
    "reached_in",
    "rising",
]

Ends = TypeVar("Ends")


class Interval(NamedTuple, Generic[Ends]):
    """The ends of a confidence interval, or of several intervals.

    Parameters
    ----------
    low, high
        The ends. Each is a float, or an array for several intervals.

    Examples
    --------
    >>> import dpcore as dp
    >>> low, high = dp.Interval(0.25, 0.75)
    >>> high - low
    0.5
    """

    low: Ends
    high: Ends

    def __repr__(self) -> str:
        return f"Interval(low={_shown(self.low)}, high={_shown(self.high)})"


def _shown(end: object) -> str:
    """Return an end of an interval as a text: numbers and durations to seven digits, or a time."""
    if isinstance(end, np.timedelta64) and not np.isnat(end):
        return short(end, 7)
    if isinstance(end, np.datetime64 | np.timedelta64):
        return str(end)
    return repr(float(f"{end:.7g}")) if isinstance(end, float) else repr(end)


def deviations(level: float) -> float:
    """Return the number of standard deviations that a two-sided interval of this level reaches.

    Raises
    ------
    DtypeError, ParameterError
        level is not a number between 0 and 1.
    """
    return -NormalDist().inv_cdf((1.0 - _check.proportion("level", level)) / 2)


def in_percent(level: float) -> str:
    """Return a level of confidence as legends and tables show it; raise as ``deviations``."""
    return f"{100 * _check.proportion('level', level):g}%"


def deviations_of_noise(level: float, privacy: Privacy) -> float:
    """Return how many standard deviations an interval for one noisy count reaches.

    Gaussian noise is taken as normal. A sum of Laplace terms has longer tails, and the longest ones
    if it is one term. So the interval is wide enough for that, too: 2.12 deviations at 95 %.

    Parameters
    ----------
    level
        The level of confidence.
    privacy
        The guarantee of the release, which tells the kind of noise.

    Raises
    ------
    DtypeError, ParameterError
        level is not a number between 0 and 1.
    """
    normal = deviations(level)
    if privacy.epsilon is None or privacy.delta > 0.0:
        return normal
    return max(normal, -math.log(1.0 - level) / math.sqrt(2.0))


def deviations_at_once(level: float, count: int, length: float) -> float:
    """Return the number of standard deviations that intervals reach if all of them are to cover.

    Parameters
    ----------
    level
        The probability that all cover, at least.
    count
        The number of intervals.
    length
        They are for points of a curve of normal variables of mean 0, X(t) = s(t) <u(t), z>, with
        unit vectors u(t) and standard normal z. It is the length of the curve u.

    Raises
    ------
    DtypeError, ParameterError
        level is not a number between 0 and 1.

    Notes
    -----
    The smaller of two bounds. Variables of any covariance are all within c with a probability of at
    least that of independent ones (Sidak 1967). And by Rice's formula |<u(t), z>| is above c at the
    start, or crosses c upwards, at most 2 (1 - Phi(c)) + (length / pi) exp(-c^2 / 2) times in
    expectation (Naiman 1986).
    """
    fails = 1.0 - _check.proportion("level", level)
    if fails == 1.0:  # the level is 0 up to rounding
        return 0.0
    alone = -math.expm1(math.log1p(-fails) / max(count, 1))
    independent = -NormalDist().inv_cdf(alone / 2)
    least, most = 0.0, max(independent, 0.0)

    def crossed(c: float) -> float:
        return math.erfc(c / math.sqrt(2.0)) + length / math.pi * math.exp(-(c**2) / 2)

    if crossed(most) >= fails:
        return most
    while most - least > 1e-12 * most:
        middle = (least + most) / 2
        least, most = (middle, most) if crossed(middle) > fails else (least, middle)
    return most


def band_of(
    counts: NDArray[Any],
    n: int | NDArray[np.int64],
    noise_deviation: NDArray[np.float64],
    width: float | NDArray[np.float64],
    sampling_deviation: float = 0.0,
    known: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of intervals for F at each threshold, each (..., N): ``CDF.band``.

    Parameters
    ----------
    counts, n, noise_deviation
        As in ``CDF``: (..., N), (...) and (..., N). The last deviation is that of n, whose noise is
        taken at its worst.
    width
        The number of standard deviations that the intervals reach, or (..., 1) of them.
    sampling_deviation
        The standard deviation of each count but the last because the records are a random sample.
    known
        (..., N) where the error is noise alone, as ``at_knots`` returns it. None: wherever the
        deviation is finite.
    """
    total = np.asarray(n, np.float64)[..., np.newaxis]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        of_noise = width * noise_deviation  # NaN for no deviations of an infinite one
        is_felt = may_move(noise_deviation**2, width)
        of_noise = np.where(is_felt, np.maximum(of_noise, 1.0), of_noise)
        of_n = of_noise[..., -1:]
        reach = np.where(
            np.isfinite(noise_deviation), np.hypot(of_noise, width * sampling_deviation), np.inf
        )
        low = np.where(np.isfinite(of_n), (counts - reach) / (total + of_n), 0.0)
        high = np.where(total > of_n, (counts + reach) / (total - of_n), 1.0)
    low[..., -1] = high[..., -1] = 1.0
    known = np.isfinite(reach) if known is None else known & np.isfinite(reach)
    known[..., -1] = True
    return from_neighbours(low, high, known)


def may_move(variance: NDArray[np.float64], width: Any) -> NDArray[np.bool_]:
    """Return whether noise moves a count more often than intervals of this width may miss it.

    Noise is of whole counts, and mechanisms that know n may spread it over all of them. So it is
    hardly felt, or moves a count by 1/2 at least: that in at most 4 variances of the releases.
    """
    return np.asarray(4.0 * variance > np.exp(-math.sqrt(2.0) * width))


def around(
    low: NDArray[np.float64], high: NDArray[np.float64], shares: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a band of the released counts that also contains the processed ones, (..., N) each.

    Isotonic regression moves counts up where a flat part of F ends, and down where it begins, and
    it moves them alike in all releases. So intervals that have a processed count in their middle
    miss F there too often. Intervals of the released counts do not.
    """
    shares = np.clip(shares, 0.0, 1.0)
    return np.minimum(low, shares), np.maximum(high, shares)


def at_knots(knots: NDArray[np.int64] | None, size: int) -> NDArray[np.bool_]:
    """Return at which of N thresholds the error of a count is noise alone, (N,): ``CDF.knots``."""
    if knots is None:
        return np.ones(size, np.bool_)
    known = np.zeros(size, np.bool_)
    known[knots] = True
    return known


def reach(width: float, deviation: float, hidden: NDArray[np.float64]) -> float:
    """Return how far a number may be off, by a normal error and by what is hidden between knots.

    Parameters
    ----------
    width
        How many deviations of errors count.
    deviation
        That of the normal error.
    hidden
        (G,) the farthest that the records in each run between knots may move the number. Runs are
        independent, so each counts as an error with this deviation, but all together as no more
        than their sum.
    """
    at_most = width * deviation + float(hidden.sum())
    return min(width * math.hypot(deviation, *hidden.tolist()), at_most)


def reached_in(low: NDArray[np.float64], high: NDArray[np.float64], p: float) -> tuple[int, int]:
    """Return the first and the last cell in which F may reach p, if F is within a band.

    Parameters
    ----------
    low, high
        (N,) ends of intervals for F at each threshold. The last ones are 1.
    p
        A probability within [0, 1].

    Notes
    -----
    F reaches p in the cell k with F_(k-1) < p <= F_k. This cell is not before the first cell with
    high_k >= p, unless the interval at the end of cell k fails. It is not after the cell that
    follows the last one with low_k < p, unless the interval at the beginning of cell k fails. Both
    failures together are no more frequent than the level says: only two thresholds matter, however
    many there are.
    """
    lacking = np.flatnonzero(is_below(low, p))
    return int(np.argmax(~is_below(high, p))), int(lacking[-1]) + 1 if lacking.size else 0


def reached_in_rows(
    low: NDArray[np.float64], high: NDArray[np.float64], p: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what ``reached_in`` does for each row of (B, N) ends, (B,) each."""
    lacking = is_below(low, p)[:, ::-1]
    last = np.where(lacking.any(axis=1), low.shape[1] - np.argmax(lacking, axis=1), 0)
    return np.argmax(~is_below(high, p), axis=1), last


def from_neighbours(
    low: NDArray[np.float64], high: NDArray[np.float64], known: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intervals, within [0, 1], for a share that never falls, each (..., N).

    Parameters
    ----------
    low, high
        (..., N) ends of intervals at each threshold.
    known
        (..., N) whether the interval at a threshold is valid. At other thresholds, the share is
        between its values at the nearest thresholds with valid intervals. There the interval gets
        the lower end of the one before, and the upper end of the one after. Each end fails as
        often as it does at its own threshold, so both together fail no more often than the level
        says. (The largest of *all* lower ends before would fail more often.)
    """
    size = known.shape[-1]
    at = np.arange(size)
    before = np.maximum.accumulate(np.where(known, at, -1), axis=-1)
    behind = np.minimum.accumulate(np.where(known, at, size)[..., ::-1], axis=-1)[..., ::-1]
    ends = np.zeros((*known.shape[:-1], 1))
    low = np.take_along_axis(np.concatenate([low, ends], axis=-1), before, axis=-1)
    high = np.take_along_axis(np.concatenate([high, ends + 1.0], axis=-1), behind, axis=-1)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def rising(
    low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of a band at once of what never falls, (N,), made narrower by that."""
    return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
