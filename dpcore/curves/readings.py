"""Values and quantiles of a released curve, and how far off they may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..summaries.grid import Grid
from .confidence import Interval, band_of, deviations, reached_in
from .inversion import Counts, Method, crossings, least_whole, places, within
from .shapes import float_or_array

__all__ = ["Readings"]

Several = NDArray[Any] | Sequence[Any]


class Readings:
    """The methods of ``CDF`` that return values. They use the attributes that are named here."""

    __slots__ = ()

    grid: Grid
    counts: Counts
    n: int
    noise_deviation: NDArray[np.float64]
    integers: bool | None

    @overload
    def __call__(self, t: float) -> float: ...
    @overload
    def __call__(self, t: Several) -> NDArray[np.float64]: ...
    def __call__(self, t: Any) -> Any:
        """Evaluate the curve: the share of records with a value of at most ``t``.

        Parameters
        ----------
        t
            Real numbers, any shape. Infinities are allowed, NaN is not. On a grid of times, times:
            strings in ISO 8601, or times of Python, NumPy or pandas.

        Returns
        -------
        float or numpy.ndarray
            Of the shape of ``t``: the count at the last threshold <= t, divided by n. It is 0
            before the first threshold, and 1 from the last threshold on. A raw curve may leave
            [0, 1] in between.

        Notes
        -----
        O(log N) each. Between thresholds the curve is not known. There the value is a lower bound
        of the share, apart from noise.

        Nor is it known how many records equal ``grid.lower``, which are in the first cell together
        with all others up to the first threshold. So ``curve(grid.lower)`` is a reading, as
        quantiles are. If records are ``integers``, they are taken to lie evenly on the whole
        numbers of the first cell, and the curve rises at the least of these by its part. Otherwise
        they are taken to lie evenly in the cell, and the value is 0. On ``Grid.integers`` and
        ``Grid.days``, ``lower`` is the first threshold, and its count was released.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 100, 4)
        >>> curve = dp.cdf(range(1, 101), grid, dp.mechanisms.NoNoise())
        >>> curve(50), curve([25, 60, 99])
        (0.5, array([0.25, 0.5 , 0.75]))
        """
        points = self.grid.points("t", t)
        rises, counts = self._rises()
        at = np.searchsorted(rises, points, side="right")
        padded = np.concatenate([np.zeros(1, counts.dtype), counts])
        return float_or_array(np.asarray(padded[at] / self.n))

    @overload
    def quantile(self, p: float, *, method: Method = "linear", level: None = None) -> float: ...
    @overload
    def quantile(
        self, p: Several, *, method: Method = "linear", level: None = None
    ) -> NDArray[np.float64]: ...
    @overload
    def quantile(
        self, p: ArrayLike, *, method: Method = "linear", level: float
    ) -> Interval[Any]: ...
    def quantile(self, p: Any, *, method: Method = "linear", level: float | None = None) -> Any:
        """Return where the curve reaches ``p``.

        Parameters
        ----------
        p
            Probabilities within [0, 1], any shape.
        method
            "linear": a place within the cell, as if the records of the cell lay evenly in it. If
            the records are ``integers``, the place is a whole number, as if they lay evenly on the
            whole numbers of the cell. "inverted_cdf": the exact generalised inverse, the least
            threshold tau with F(tau) >= p, which is the upper end of the cell.
        level
            None, or the level of a confidence interval. With a level, the method returns this
            interval instead, as ``quantile_interval`` does.

        Returns
        -------
        float or numpy.ndarray, or Interval
            Of the shape of ``p``. A raw curve may cross p from below several times. Binary search
            then finds one of these places. On a grid of times: datetime64, in UTC, or timedelta64,
            and whole days if the records are ``integers``.

        Raises
        ------
        DtypeError, ParameterError
            p is not real, or not within [0, 1], or the method or the level is not as above.

        Notes
        -----
        Where the curve is flat at p, both methods return the least threshold with F = p. The first
        cell begins at ``grid.lower``, which is the result for p = 0. If ``lower`` is not known, the
        result within the first cell is the first threshold. Records beyond the grid count as if
        they lay in its end cells.

        Use "inverted_cdf" if each threshold is a value that records have, and records have no other
        values, nor ``grid.lower`` if it is below the first threshold. If cells are one whole number
        wide, both methods give the same for ``integers``. Whether records are whole numbers is
        stated with the release, by ``integers=True``, by the grid or by a typed schema
        (docs/guides/quantiles.md). It is never read from the records.

        Algorithm 1 of the ECDF paper finds the cell by the indices of the grid (the paper returns
        the middle of the cell). O(log N) each. The ECDF paper is Barczewski, Mawass & Ramon,
        *Differentially Private Empirical Cumulative Distribution Functions*.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 100, 4)
        >>> curve = dp.cdf(range(1, 101), grid, dp.mechanisms.NoNoise())
        >>> curve.quantile(0.5), curve.quantile([0.25, 0.99])
        (50.0, array([25., 99.]))
        """
        if level is not None:
            return self.quantile_interval(p, level, method=method)
        _check.choice("method", method, Method)
        shares = _check.probabilities("p", p)
        quantiles = self._inverse(crossings(self.counts, self.n, shares), shares, method)
        return float_or_array(quantiles)

    def quantile_interval(
        self, p: ArrayLike, level: float = 0.95, *, method: Method = "linear"
    ) -> Interval[Any]:
        """Return confidence intervals for quantiles of the records themselves.

        They account for noise alone.

        Parameters
        ----------
        p
            Probabilities within [0, 1], any shape.
        level
            Of confidence, between 0 and 1.
        method
            "linear": records may lie anywhere in their cells. "inverted_cdf": records lie at
            thresholds only, or at ``grid.lower``, and so do the ends of intervals.

        Returns
        -------
        Interval
            ``low`` and ``high``, of the shape of ``p``. ``quantile(p)`` lies between them, unless
            the curve is raw.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        An interval reaches from the first to the last cell in which F may reach p, if F is within
        ``band(level)``. So it is at least one cell wide, and may end where the grid does. It begins
        at -infinity (for times: NaT) where ``grid.lower`` is not known. Records beyond the grid
        count as if they lay in its end cells. O(N) for each p.

        docs/measured/intervals.md measures how often intervals cover. They cover at least as often
        as the level says if the noise is known in closed form and practically normal. Laplace noise
        is practically normal for levels up to 95 %. Beyond 95 %, intervals fail more often. If the
        noise is estimated (DAWA, the default where n epsilon is small), intervals cover as often as
        the level says only on average over p, and much less often beside values that many records
        share.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 1000, 100)
        >>> curve = dp.cdf(range(1, 1001), grid, dp.mechanisms.NoNoise(), integers=True)
        >>> curve.quantile_interval(0.495)  # of whole numbers in one cell
        Interval(low=491.0, high=500.0)
        """
        return self._quantile_interval(p, level, method, 0.0)

    def population_quantile_interval(
        self, p: ArrayLike, level: float = 0.95, *, method: Method = "linear"
    ) -> Interval[Any]:
        """Return confidence intervals for quantiles of the population that records come from.

        They account for noise and sampling. The records are taken as independent draws from the
        population.

        Parameters
        ----------
        p, level, method
            As in ``quantile_interval``.

        Returns
        -------
        Interval
            ``low`` and ``high``, of the shape of ``p``. ``quantile(p)`` lies between them, unless
            the curve is raw.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        As ``quantile_interval``, with p (1 - p) / n added to the variance of F. That is the
        sampling variance of F where F is p. The distribution of F is taken as normal: n p and
        n (1 - p) should be at least 10.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 1000, 100)
        >>> curve = dp.cdf(range(1, 1001), grid, dp.mechanisms.NoNoise(), integers=True)
        >>> curve.population_quantile_interval(0.495)
        Interval(low=461.0, high=530.0)
        """
        return self._quantile_interval(p, level, method, 1.0)

    def standard_error(self) -> NDArray[np.float64]:
        """Return the standard deviation of the mechanism's error in F at each threshold, (N,).

        It is for the curve as the mechanism released it, in closed form or estimated, as
        ``noise_deviation`` is. Bands by estimates cover on average over thresholds
        (docs/measured/intervals.md). The standard error includes neither sampling error, nor the
        noise in an n that is released, which ``band`` includes. Isotonic regression can only lower
        the total squared error. So for ``isotonic`` the standard error is on the safe side on
        average. At single thresholds, and for ``smooth``, it is a guide.

        Examples
        --------
        >>> import dpcore as dp
        >>> mechanism = dp.mechanisms.Histogram(epsilon=1.0)
        >>> curve = dp.cdf(range(100), dp.Grid.uniform(0, 100, 4), mechanism)
        >>> curve.standard_error().round(3)
        array([0.024, 0.028, 0.024, 0.   ])
        """
        return self.noise_deviation / self.n

    def band(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of pointwise confidence intervals for the records' own F, each (N,).

        The ends are within [0, 1]. The noise is a sum of many terms, and is taken as normal. If it
        is a sum of few Laplace terms, intervals at levels above 95 % fail more often. If n is
        released, too, its noise is taken at its worst. At a threshold where the mechanism's error
        is not known, F lies between its values at the nearest thresholds where the error is known.
        There the interval reaches from the lower end of the interval before it to the upper end of
        the interval after it. From ``grid.lower`` to the first threshold, F is between 0 and the
        first upper end.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> mechanism = dp.mechanisms.Histogram(epsilon=1.0)
        >>> curve = dp.cdf(range(1000), dp.Grid.uniform(0, 1000, 4), mechanism)
        >>> low, high = curve.band()
        >>> (high - low).round(3)
        array([0.01 , 0.011, 0.01 , 0.   ])
        """
        return band_of(self.counts, self.n, self.noise_deviation, deviations(level))

    @property
    def _of_integers(self) -> bool:
        return self.grid.of_integers if self.integers is None else self.integers

    def _rises(self) -> tuple[NDArray[np.float64], Counts]:
        """Return the points at which the curve rises, and the counts up to each, (N,) or more."""
        place, share = least_whole(self.grid) if self._of_integers else (math.inf, 0.0)
        if place == math.inf:
            return self.grid.positions, self.counts
        counts = np.append(share * self.counts[0], self.counts)
        return np.append(place, self.grid.positions), counts

    def _inverse(
        self, cells: NDArray[np.int64], p: NDArray[np.float64], method: Method
    ) -> NDArray[np.float64]:
        if method == "inverted_cdf":
            return self.grid.shown(np.asarray(self.grid.positions[cells]))
        integers = self._of_integers
        quantiles = within(cells, p, self.counts, self.n, self.grid, integers)
        return self.grid.shown(quantiles, whole=integers)

    def _quantile_interval(
        self, p: Any, level: float, method: Method, sampling: float
    ) -> Interval[Any]:
        """Return intervals for noise and this multiple of the sampling variance."""
        _check.choice("method", method, Method)
        shares, width = _check.probabilities("p", p), deviations(level)
        cells = np.empty((2, shares.size), np.int64)
        for i, share in enumerate(shares.ravel().tolist()):
            deviation = math.sqrt(sampling * self.n * share * (1.0 - share))
            band = band_of(self.counts, self.n, self.noise_deviation, width, deviation)
            cells[:, i] = reached_in(*band, share)
        first, last = cells.reshape(2, *shares.shape)
        if method == "inverted_cdf":
            low, high = self.grid.positions[first], self.grid.positions[last]
            if math.isfinite(self.grid.start):
                low = np.where(first == 0, self.grid.start, low)
        else:
            low = places(first, 0.0, self.grid, self._of_integers)
            low = np.where((first == 0) & np.isinf(self.grid.start), -np.inf, low)
            high = places(last, 1.0, self.grid, self._of_integers)
        whole = self._of_integers and method == "linear"
        ends = (self.grid.shown(np.asarray(end), whole=whole) for end in (low, high))
        return Interval(*map(float_or_array, ends))
