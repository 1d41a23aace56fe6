"""What is read off one distribution: its spread, its inequality, and means of its parts.

Each is a function of a curve. ``dpcore.interval`` has confidence intervals for all of them. Those
of quantiles also have intervals here that hold wherever records are in their cells.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..curves.cdf import CDF
from ..curves.confidence import Interval
from ..curves.inversion import are_whole, cell_ends
from ..curves.shapes import float_or_array
from ..errors import ParameterError
from ..summaries.grid import check_grid_of_numbers

__all__ = [
    "conditional_mean",
    "gini",
    "interquartile_range",
    "interquartile_range_interval",
    "lorenz_curve",
    "quantile_ratio",
    "quantile_ratio_interval",
    "trimmed_mean",
]

Reals = NDArray[np.float64]


def interquartile_range(curve: CDF) -> Any:
    """Return the difference of the upper and the lower quartile; on a grid of times, a duration.

    Parameters
    ----------
    curve
        A released curve.

    Raises
    ------
    DtypeError
        The argument is no curve.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import interquartile_range
    >>> curve = dp.cdf(range(1, 101), dp.Grid.integers(1, 100), dp.mechanisms.NoNoise())
    >>> interquartile_range(curve)
    50.0
    """
    _check_curve(curve)
    low, high = curve.quantile([0.25, 0.75])
    with np.errstate(over="ignore"):
        return float_or_array(np.asarray(high - low))


def interquartile_range_interval(curve: CDF, level: float = 0.95) -> Interval[Any]:
    """Return a confidence interval for the interquartile range of the records: noise only.

    Each quartile has an interval of the level (1 + ``level``) / 2, so that both hold together.

    Parameters
    ----------
    curve
        A released curve.
    level
        Of confidence, between 0 and 1.

    Returns
    -------
    Interval
        ``low``, at least 0, and ``high``, which is infinite (for times: NaT) where ``grid.lower``
        is not known and matters. The interval is up to two cells wide even without noise.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import interquartile_range_interval
    >>> rng, grid = np.random.default_rng(1), dp.Grid.integers(1, 100)
    >>> curve = dp.cdf([*range(1, 101)] * 9, grid, epsilon=1.0, rng=rng)
    >>> interquartile_range_interval(curve)
    Interval(low=43.0, high=59.0)
    """
    low, high = _at_once(curve, (0.25, 0.75), level)
    none = curve.grid.shown_differences(np.zeros(()))
    with np.errstate(over="ignore"):
        ends = np.fmax(low[1] - high[0], none), np.asarray(high[1] - low[0])
    return Interval(*map(float_or_array, ends))


def quantile_ratio(curve: CDF, upper: float = 0.9, lower: float = 0.1) -> float:
    """Return the ratio of two quantiles, p90 / p10 by default.

    Parameters
    ----------
    curve
        A released curve of numbers that are 0 or more.
    upper, lower
        Probabilities within [0, 1]. ``lower`` is not above ``upper``.

    Returns
    -------
    float
        Infinite if the lower quantile alone is 0, and NaN if both are.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import quantile_ratio
    >>> curve = dp.cdf(range(1, 101), dp.Grid.integers(1, 100), dp.mechanisms.NoNoise())
    >>> quantile_ratio(curve)
    9.0
    """
    upper, lower = _check_ratio(curve, upper, lower)
    high, low = curve.quantile([upper, lower])
    return _divided(high, low)


def quantile_ratio_interval(
    curve: CDF, upper: float = 0.9, lower: float = 0.1, level: float = 0.95
) -> Interval[float]:
    """Return a confidence interval for the ratio of two quantiles of the records: noise only.

    Each quantile has an interval of the level (1 + ``level``) / 2, so that both hold together.

    Parameters
    ----------
    curve, upper, lower
        As in ``quantile_ratio``.
    level
        Of confidence, between 0 and 1.

    Returns
    -------
    Interval
        ``high`` is infinite if the lower quantile may be 0.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import quantile_ratio_interval
    >>> rng, grid = np.random.default_rng(1), dp.Grid.integers(1, 100)
    >>> curve = dp.cdf([*range(1, 101)] * 9, grid, epsilon=1.0, rng=rng)
    >>> low, high = quantile_ratio_interval(curve)
    >>> round(low, 1), round(high, 1)
    (7.2, 10.4)
    """
    upper, lower = _check_ratio(curve, upper, lower)
    low, high = _at_once(curve, (upper, lower), level)
    least, most = _divided(low[0], high[1]), _divided(high[0], low[1])
    return Interval(0.0 if math.isnan(least) else least, math.inf if math.isnan(most) else most)


def trimmed_mean(curve: CDF, lower: float = 0.1, upper: float = 0.9) -> Any:
    """Return the mean of the records between two quantiles; on a grid of times, a time.

    Parameters
    ----------
    curve
        A released curve. If it is not monotone, its ``isotonic()``.
    lower, upper
        Probabilities within [0, 1], ascending. 0 and 1 give the mean of all records.

    Returns
    -------
    float
        The mean of ``quantile`` over the probabilities between both. A record of which only a part
        is between them counts in part (``scipy.stats.trim_mean`` leaves out whole records). O(N).

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import trimmed_mean
    >>> grid = dp.Grid.integers(1, 100)
    >>> curve = dp.cdf([*range(1, 100), 100], grid, dp.mechanisms.NoNoise())
    >>> round(trimmed_mean(curve, 0.0, 0.5), 3)
    25.5
    """
    cells = _Cells.of(curve)
    lower, upper = _probability("lower", lower), _probability("upper", upper)
    if not lower < upper:
        raise ParameterError("lower", lower, f"must be below upper, {upper}")
    ends = curve.n * np.array([lower, upper])
    first, last = cells.sum_of_least(ends)
    mean = (last - first) / (ends[1] - ends[0]) * cells.unit
    return float_or_array(curve.grid.shown(np.asarray(mean)))


def conditional_mean(curve: CDF, *, lower: Any = None, upper: Any = None) -> Any:
    """Return the mean of the records with lower < value <= upper; on a grid of times, a time.

    Parameters
    ----------
    curve
        A released curve. If it is not monotone, its ``isotonic()``.
    lower, upper
        As in ``CDF.share``, scalars. If an end is inside a cell, the part of the cell's records
        that ``CDF.share`` counts is taken.

    Returns
    -------
    float
        NaN (for times: NaT) if the share of these records is 0. O(N).

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import conditional_mean
    >>> curve = dp.cdf(range(1, 101), dp.Grid.integers(1, 100), dp.mechanisms.NoNoise())
    >>> conditional_mean(curve, lower=90)
    95.5
    """
    cells = _Cells.of(curve)
    share = cells.curve.share(lower=lower, upper=upper)
    if not isinstance(share, float):
        name, given = ("lower", lower) if np.ndim(lower) else ("upper", upper)
        raise ParameterError(name, given, "must be a scalar")
    below = 0.0 if lower is None else cells.curve.share(upper=lower)
    ends = curve.n * np.array([below, below + share])
    first, last = cells.sum_of_least(ends)
    mean = (last - first) / (ends[1] - ends[0]) if share > 0.0 else math.nan
    return float_or_array(curve.grid.shown(np.asarray(mean * cells.unit)))


def lorenz_curve(curve: CDF, p: ArrayLike) -> Any:
    """Return the share of the total that the records with the least values have.

    Parameters
    ----------
    curve
        A released curve of numbers that are 0 or more. If it is not monotone, its ``isotonic()``.
    p
        Shares of the records within [0, 1], any shape.

    Returns
    -------
    float or numpy.ndarray
        Of the shape of ``p``; NaN if all values are 0. O(N).

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    Lorenz 1905, *Methods of measuring the concentration of wealth*: the integral of the quantile
    function up to p, divided by the mean.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import lorenz_curve
    >>> curve = dp.cdf([1] * 50 + [3] * 50, dp.Grid.integers(1, 4), dp.mechanisms.NoNoise())
    >>> lorenz_curve(curve, [0.5, 1.0])
    array([0.25, 1.  ])
    """
    cells = _Cells.of_amounts(curve)
    shares = _check.probabilities("p", p)
    total = cells.sum_of_least(np.array(float(curve.n)))
    sums = cells.sum_of_least(curve.n * shares)
    unknown = np.full(shares.shape, np.nan)
    return float_or_array(np.divide(sums, total, out=unknown, where=total > 0.0))


def gini(curve: CDF) -> float:
    """Return the Gini coefficient, half of the relative mean difference of two records.

    Parameters
    ----------
    curve
        A released curve of numbers that are 0 or more. If it is not monotone, its ``isotonic()``.

    Returns
    -------
    float
        Within [0, 1): 0 if all values are equal; NaN if all values are 0. Both records are drawn
        with replacement. O(N).

    Raises
    ------
    DtypeError, ParameterError
        The argument is not as above.

    Notes
    -----
    It is twice the area between ``lorenz_curve`` and its diagonal.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import gini
    >>> curve = dp.cdf([1] * 50 + [3] * 50, dp.Grid.integers(1, 4), dp.mechanisms.NoNoise())
    >>> gini(curve)
    0.25
    """
    cells = _Cells.of_amounts(curve)
    counts, n = np.diff(cells.behind, prepend=0.0), curve.n
    sums = counts * (cells.low + cells.high) / 2
    between = np.sum(sums * (2 * cells.behind - counts - n))
    inside = np.sum(counts**2 * cells.mean_differences())
    total = float(np.sum(sums))
    return float((between + inside / 2) / (total * n)) if total > 0.0 else math.nan


class _Cells(NamedTuple):
    """The cells of a monotone curve.

    Parameters
    ----------
    curve
        The curve, made monotone.
    behind
        (N,) how many records are up to the end of each cell.
    low, high
        (N,) the least and the largest place of records in each cell.
    step
        The distance of neighbouring places, if they are whole; 0 if they lie anywhere.
    unit
        That of ``low``, ``high`` and sums: 1, or more where sums would leave the doubles.
    """

    curve: CDF
    behind: Reals
    low: Reals
    high: Reals
    step: float
    unit: float

    @classmethod
    def of(cls, curve: CDF) -> Self:
        """Return the cells of a curve, checked."""
        _check_curve(curve)
        curve = curve if curve.is_monotone else curve.isotonic()
        grid, whole = curve.grid, are_whole(curve.grid, curve.integers)
        behind = curve.counts.astype(np.float64)
        low, high, unit = cell_ends(grid, whole)
        return cls(curve, behind, low, high, grid.step if whole else 0.0, unit)

    @classmethod
    def of_amounts(cls, curve: CDF) -> Self:
        """Return the cells of a curve of numbers, none below 0."""
        _check_amounts(curve)
        return cls.of(curve)

    def sum_of_least(self, number: Reals) -> Reals:
        """Return the sum of so many records with the least values, of the shape of ``number``."""
        counts = np.diff(self.behind, prepend=0.0)
        sums = np.append(0.0, np.cumsum(counts * (self.low + self.high) / 2))
        cell = np.minimum(np.searchsorted(self.behind, number, side="left"), counts.size - 1)
        before = self.behind[cell] - counts[cell]
        count, low, high = counts[cell], self.low[cell], self.high[cell]
        part = np.divide(number - before, count, out=np.zeros(number.shape), where=count > 0.0)
        if self.step:
            places = np.rint((high - low) / self.step) + 1.0
            full = np.floor(part * places)
            of_full = full * (low + self.step * (full - 1.0) / 2) / places
            inside = of_full + (part - full / places) * (low + self.step * full)
        else:
            inside = part * (low + part * (high - low) / 2)
        return np.asarray(sums[cell] + count * inside)

    def mean_differences(self) -> Reals:
        """Return the mean absolute difference of two records of the same cell, (N,)."""
        width = self.high - self.low
        if not self.step:
            return width / 3
        return (width + self.step) / 3 - self.step**2 / (3 * (width + self.step))


def _check_curve(curve: object) -> None:
    _check.instance("curve", curve, CDF, "must be a CDF")


def _check_amounts(curve: CDF) -> None:
    _check_curve(curve)
    check_grid_of_numbers("curve", curve.grid)
    if not curve.grid.start >= 0.0:
        lower = curve.grid.lower
        raise ParameterError("curve", lower, "must have a grid whose lower end is 0 or more")


def _check_ratio(curve: CDF, upper: float, lower: float) -> tuple[float, float]:
    _check_amounts(curve)
    least, most = _probability("lower", lower), _probability("upper", upper)
    if least > most:
        raise ParameterError("lower", lower, f"must not be above upper, {upper}")
    return most, least


def _probability(argument: str, value: object) -> float:
    """Return a probability, 0 and 1 included."""
    checked = _check.finite(argument, value)
    if not 0.0 <= checked <= 1.0:
        raise ParameterError(argument, value, "must be within [0, 1]")
    return checked


def _at_once(curve: CDF, p: tuple[float, float], level: float) -> Interval[NDArray[Any]]:
    """Return intervals of two quantiles that hold together with the probability ``level``."""
    _check_curve(curve)
    return curve.quantile_interval(list(p), (1.0 + _check.proportion("level", level)) / 2)


def _divided(above: float, below: float) -> float:
    if below == 0.0:
        return math.nan if above == 0.0 else math.inf
    return float(above) / float(below)  # doubles of NumPy warn of infinity
