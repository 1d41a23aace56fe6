"""Means, standard deviations and histograms of a curve, and the curve as a data frame."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..errors import ParameterError
from .confidence import Interval, deviations
from .inversion import places
from .readings import Readings
from .shapes import float_or_array

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Moments"]

_MOST_BINS = 2**24


class Moments(Readings):
    """The methods of ``CDF`` that use all cells at once, as if records lay evenly in each."""

    __slots__ = ()

    def mean(self) -> Any:
        """Return the mean of the records, a float; on a grid of times, a time.

        The records of each cell are taken as evenly spread over it, or over its whole numbers if
        they are ``integers``. So, apart from noise, the mean is off by at most half a cell. Records
        beyond the grid count in its end cells. If ``grid.lower`` is not known, records of the first
        cell are taken to lie at its threshold. O(N).

        Examples
        --------
        >>> import dpcore as dp
        >>> curve = dp.cdf(range(1, 101), dp.Grid.integers(1, 100), dp.mechanisms.NoNoise())
        >>> curve.mean()
        50.5
        """
        low, high = self._cells()
        mean = np.sum(self._masses() * (low / 2 + high / 2))
        return float_or_array(self.grid.shown(np.asarray(mean)))

    def std(self) -> Any:
        """Return the standard deviation of the records, a float; on a grid of times, a duration.

        It is that of the distribution from which ``sample`` draws. A curve that is not monotone is
        made monotone by ``isotonic`` first. As in NumPy's ``std``, the sum of squares is divided by
        n. O(N).

        Examples
        --------
        >>> import dpcore as dp
        >>> curve = dp.cdf(range(1, 101), dp.Grid.integers(1, 100), dp.mechanisms.NoNoise())
        >>> round(curve.std(), 3)
        28.866
        """
        return float_or_array(self.grid.shown_differences(np.asarray(self._deviation())))

    def mean_interval(self, level: float = 0.95) -> Interval[Any]:
        """Return a confidence interval for the mean of the records themselves.

        It accounts for noise alone. Records may lie anywhere in their cells, so it is on average at
        least one cell wide. A curve does not know how the noise of different counts is correlated.
        So the interval uses the largest possible standard deviation, that of full correlation, and
        covers more often than the level says (docs/measured/intervals.md).

        Parameters
        ----------
        level
            Of confidence, between 0 and 1.

        Returns
        -------
        Interval
            ``low`` and ``high``, within the ends of the grid. ``low`` is -infinity if
            ``grid.lower`` is not known. ``mean()`` lies between them, for a raw curve that of
            ``isotonic()``.

        Raises
        ------
        DtypeError, ParameterError
            level is not as above.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> values, grid = np.linspace(0, 100, 1001), dp.Grid.uniform(0, 100, 50)
        >>> low, high = dp.cdf(values, grid, dp.mechanisms.NoNoise()).mean_interval()
        >>> round(low, 2), round(high, 2)
        (48.95, 50.95)
        """
        return self._mean_interval(level, 0.0)

    def population_mean_interval(self, level: float = 0.95) -> Interval[Any]:
        """Return a confidence interval for the mean of the population that records come from.

        It accounts for noise and sampling. The records are taken as independent draws from the
        population. The interval is as in ``mean_interval``, with the variance of the records' mean,
        ``std()``^2 / n, added to that of the noise.

        Parameters
        ----------
        level
            Of confidence, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            level is not as above.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> values, grid = np.linspace(0, 100, 1001), dp.Grid.uniform(0, 100, 50)
        >>> low, high = dp.cdf(values, grid, dp.mechanisms.NoNoise()).population_mean_interval()
        >>> round(low, 2), round(high, 2)
        (47.16, 52.74)
        """
        return self._mean_interval(level, self._deviation() / math.sqrt(self.n))

    def histogram(self, bins: int | ArrayLike | None = None) -> tuple[NDArray[np.float64], Any]:
        """Return the numbers of records in bins, and the edges of the bins, as numpy.histogram.

        Parameters
        ----------
        bins
            None: the cells. A number: this many bins of equal width, between ``grid.lower`` and the
            last threshold. An array: m + 1 ascending edges, which are values, or times on a grid of
            times. On ``Grid.integers`` and ``Grid.days``, the cells and bins of equal width begin a
            step before ``grid.lower``, so that each value has the same width.

        Returns
        -------
        tuple
            (m,) counts and (m + 1,) edges. Counts are not rounded, and may be below 0 if the curve
            is raw. A record on an edge is in the bin below it, as in cells. Only the first bin also
            has records at its lower edge, if this is ``grid.lower``. If a bin contains a part of a
            cell, it counts this part, as if the records of the cell lay evenly in it. Records
            beyond the edges are not counted. Records beyond the grid count as if they lay in its
            end cells.

        Raises
        ------
        DtypeError, ParameterError
            ``bins`` is not as above, or is a number while ``grid.lower`` is not known.

        Examples
        --------
        >>> import dpcore as dp
        >>> curve = dp.cdf(range(1, 101), dp.Grid.integers(1, 100), dp.mechanisms.NoNoise())
        >>> curve.histogram(4)
        (array([25., 25., 25., 25.]), array([  0.,  25.,  50.,  75., 100.]))
        """
        grid = self.grid
        own = grid._edges()
        if bins is None:
            return np.diff(self.counts, prepend=0).astype(np.float64), grid.shown(own)
        if isinstance(bins, numbers.Integral):
            number = _check.integer("bins", bins, 1, _MOST_BINS)
            if not math.isfinite(grid.start):
                what = "must be edges: the grid's lower end is not known"
                raise ParameterError("bins", number, what)
            if not own[0] < own[-1]:
                what = "must be edges: the grid has one value"
                raise ParameterError("bins", number, what)
            edges = np.linspace(own[0], own[-1], number + 1)
        else:
            edges = _check.doubles(grid.points("bins", bins))
            if edges.ndim != 1 or edges.size < 2 or not (edges[1:] > edges[:-1]).all():
                what = "must be a number of bins, or at least two ascending edges"
                raise ParameterError("bins", bins, what)
        up_to = self._up_to(edges)
        if edges[0] <= grid.start:
            up_to[0] = 0.0  # no record is below, and those at the edge count
        return np.diff(up_to), grid.shown(edges)

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return the curve as a pandas DataFrame with a row for each threshold.

        Parameters
        ----------
        level
            Of the confidence intervals, between 0 and 1.

        Returns
        -------
        pandas.DataFrame
            (N, 5), with the columns ``threshold`` (in UTC if times have a time zone), ``count`` and
            ``share`` of the records up to it, and ``low`` and ``high``, the ends of
            ``band(level)``.

        Raises
        ------
        DtypeError, ParameterError
            level is not as above.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> curve = dp.cdf(range(1, 101), dp.Grid.uniform(0, 100, 2), dp.mechanisms.NoNoise())
        >>> print(curve.to_frame())
           threshold  count  share  low  high
        0       50.0   50.0    0.5  0.5   0.5
        1      100.0  100.0    1.0  1.0   1.0
        """
        low, high = self.band(level)
        pandas = _check.extra("pandas", "to_frame", "dask")
        of = pandas.Series(self.grid.thresholds)
        columns = {
            "threshold": of.dt.tz_localize("UTC") if self.grid.unit == "instant" else of,
            "count": self.counts,
            "share": self.counts / self.n,
            "low": low,
            "high": high,
        }
        frame: DataFrame = pandas.DataFrame(columns)
        return frame

    def _masses(self) -> NDArray[np.float64]:
        """Return the share of records in each cell, (N,)."""
        return np.diff(self.counts, prepend=0) / self.n

    @property
    def _monotone(self) -> Moments:
        curve: Any = self
        monotone: Moments = curve if curve.is_monotone else curve.isotonic()
        return monotone

    def _cells(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the largest place of records in each cell, each (N,)."""
        cells = np.arange(self.grid.size)
        low, high = (places(cells, share, self.grid, self._of_integers) for share in (0.0, 1.0))
        return low, high

    def _deviation(self) -> float:
        masses = self._monotone._masses()
        low, high = self._cells()
        with np.errstate(over="ignore"):
            centres = low / 2 + high / 2
            inside = (high - low) ** 2  # for m whole numbers, it is (m^2 - 1) / 12 steps^2
            if self._of_integers:
                inside = inside + 2 * self.grid.step * (high - low)
            around = (centres - np.sum(masses * centres)) ** 2
            return math.sqrt(float(np.sum(masses * (around + inside / 12))))

    def _mean_interval(self, level: float, sampling: float) -> Interval[Any]:
        """Return the ends of the interval. The noise of F_k has the width of a cell as weight."""
        curve = self._monotone  # masses below 0 would exchange the ends of wide cells
        width, masses, share = deviations(level), curve._masses(), curve.counts / self.n
        of_share = (self.noise_deviation + np.abs(share) * self.noise_deviation[-1]) / self.n
        ends = []
        for sign, place in zip((-1.0, 1.0), self._cells(), strict=True):
            steps = np.diff(place)
            noise = np.sum(np.where(steps > 0.0, of_share[:-1], 0.0) * steps)
            mean = np.sum(masses * place) + sign * width * math.hypot(noise, sampling)
            ends.append(np.asarray(np.clip(mean, *self._reach())))
        if not math.isfinite(self.grid.start):
            ends[0] = np.asarray(-np.inf)
        return Interval(*(float_or_array(self.grid.shown(end)) for end in ends))

    def _reach(self) -> tuple[float, float]:
        low, high = self._cells()
        return float(low[0]), float(high[-1])

    def _up_to(self, edges: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number of records up to each edge, with parts of cells."""
        at = np.searchsorted(self.grid.positions, edges, side="right")
        cell = np.minimum(at, self.grid.size - 1)
        before = np.where(at > 0, self.counts[at - 1], 0.0)
        first = np.append(self.grid.start, self.grid.positions)
        lower, upper = first[cell], self.grid.positions[cell]
        if self._of_integers:
            steps = (np.floor(positions / self.grid.step) for positions in (edges, lower, upper))
            whole_edges, least, most = steps
            # The first cell includes its lower end.
            least = np.where(cell == 0, np.ceil(lower / self.grid.step) - 1.0, least)
            has = (most > least) & np.isfinite(least)
            edges = np.where(has, whole_edges, edges)
            lower, upper = np.where(has, least, lower), np.where(has, most, upper)
        inside = (at < self.grid.size) & np.isfinite(lower) & (edges > lower)
        part = np.zeros(edges.size)
        np.divide(edges - lower, upper - lower, out=part, where=inside)
        return np.asarray(before + part * (self.counts[cell] - before))
