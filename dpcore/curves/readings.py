"""What is read off a released curve: values, quantiles, and how far off they may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..summaries.grid import Grid
from .confidence import Interval, band_of, deviations, reached_in
from .inversion import Counts, Method, crossings, places, within
from .shapes import float_or_array

__all__ = ["Readings"]

Several = NDArray[Any] | Sequence[Any]


class Readings:
    """The half of ``CDF`` that makes no other curve: it has the attributes that are named here."""

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
            Real numbers, any shape; infinities are allowed, NaN is not. On a grid of times, times:
            strings in ISO 8601, or as Python, NumPy and pandas have them.

        Returns
        -------
        float or numpy.ndarray
            Of the shape of ``t``: the count at the last threshold <= t over n; 0 before the
            first threshold, 1 from the last one on. A raw curve may leave [0, 1] in between.

        Notes
        -----
        O(log N) each. Between thresholds the curve is not known: the value is a lower bound of
        what it stands for.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 100, 4)
        >>> curve = dp.cdf(range(1, 101), grid, dp.mechanisms.NoNoise())
        >>> curve(50), curve([0, 25, 99])
        (0.5, array([0.  , 0.25, 0.75]))
        """
        points = self.grid.points("t", t)
        at = np.searchsorted(self.grid.positions, points, side="right")
        padded = np.concatenate([np.zeros(1, self.counts.dtype), self.counts])
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
            "linear": the place within the cell, as if the cell's records lay evenly in it; where
            they are ``integers``, as if they lay evenly on its whole numbers, of which it is one.
            "inverted_cdf": the exact generalised inverse, the least threshold tau with
            F(tau) >= p, which is the cell's upper end.
        level
            None, or of a confidence interval, which is then returned: ``quantile_interval``.

        Returns
        -------
        float or numpy.ndarray, or Interval
            Of the shape of ``p``. On a raw curve a place where it crosses p from below: there may
            be several, and binary search finds one. On a grid of times, datetime64, in UTC, or
            timedelta64: whole days where the records are ``integers``.

        Raises
        ------
        DtypeError, ParameterError
            p is not real, or not within [0, 1]; the method or the level is another one.

        Notes
        -----
        Where the curve is flat at p, both methods give the least threshold with F = p. The first
        cell begins at ``grid.lower``, which is the answer for p = 0; if that is not known, the
        answer within the first cell is the first threshold. Records beyond the grid count as if
        they lay in its end cells.

        Where each threshold is a value that records have, and they have no other ones, take
        "inverted_cdf": of cells one whole number wide both methods give the same. Whether records
        are ``integers`` is told by their dtype, so that whole numbers in a column of floats have to
        be named: ``integers=True`` in ``dpcore.cdf``, or "inverted_cdf" here.

        The cell is found by Algorithm 1 of the ECDF paper on the grid's indices (the paper returns
        its middle). O(log N) each.

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
        found = self._inverse(crossings(self.counts, self.n, shares), shares, method)
        return float_or_array(found)

    def quantile_interval(
        self, p: ArrayLike, level: float = 0.95, *, method: Method = "linear"
    ) -> Interval[Any]:
        """Return confidence intervals for quantiles of the records themselves: noise alone.

        Parameters
        ----------
        p
            Probabilities within [0, 1], any shape.
        level
            Of confidence, between 0 and 1.
        method
            "linear": records may be anywhere in their cells. "inverted_cdf": they are at thresholds
            only, and so are the ends.

        Returns
        -------
        Interval
            ``low`` and ``high``, of the shape of ``p``; ``quantile(p)`` is between them, unless
            the curve is raw.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        From the first to the last cell in which F may reach p, if it is within ``band(level)``. So
        they are one cell wide at least, may end where the grid does, and begin at -infinity (of
        times: NaT) where ``grid.lower`` is not known. Records beyond the grid count as if they lay
        in its end cells. O(N) for each p.

        docs/intervals.md has how often they cover: at least as often as the level says, where the
        noise is known in closed form and as good as normal. Laplace noise is so for levels up to
        95 %; beyond them it fails more often. Where noise is estimated (DAWA, the default where n
        epsilon is small), on average over p only: much less often beside values that many have.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 1000, 100)
        >>> curve = dp.cdf(range(1, 1001), grid, dp.mechanisms.NoNoise())
        >>> curve.quantile_interval(0.495)  # of whole numbers in one cell
        Interval(low=491.0, high=500.0)
        """
        return self._quantile_interval(p, level, method, 0.0)

    def population_quantile_interval(
        self, p: ArrayLike, level: float = 0.95, *, method: Method = "linear"
    ) -> Interval[Any]:
        """Return confidence intervals for quantiles of the records' population: noise and sampling.

        The records are taken as independent draws from it.

        Parameters
        ----------
        p, level, method
            As in ``quantile_interval``.

        Returns
        -------
        Interval
            ``low`` and ``high``, of the shape of ``p``; ``quantile(p)`` is between them, unless
            the curve is raw.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        As ``quantile_interval``, with p (1 - p) / n added to the variance of F: so much it varies
        where it is p. That it varies as a normal is taken for true: n p and n (1 - p) should be 10
        at least.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 1000, 100)
        >>> curve = dp.cdf(range(1, 1001), grid, dp.mechanisms.NoNoise())
        >>> curve.population_quantile_interval(0.495)
        Interval(low=461.0, high=530.0)
        """
        return self._quantile_interval(p, level, method, 1.0)

    def standard_error(self) -> NDArray[np.float64]:
        """Return the standard deviation of the mechanism's error in F at each threshold, (N,).

        In closed form or estimated (``noise_deviation``), for the curve as the mechanism released
        it. Estimates cover on average over thresholds (docs/intervals.md). It does not count how
        far the records stray from the population that they come from, nor the noise of an n that
        is released, which ``band`` does. Isotonic regression can only lower the total squared
        error, so for ``isotonic`` it is on the safe side on average; at single thresholds, and for
        ``smooth``, it is a guide.

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

        The noise is a sum of many terms, and taken as normal: that of few Laplace terms is outside
        more often at levels above 95 %. Where n is released, too, its noise is taken at its worst.
        Within [0, 1]. Where the mechanism's error is not known, F is between its values at the
        nearest thresholds where it is, and the interval reaches from the lower end of the one
        before to the upper end of the one behind.

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
        return self.grid.is_of_integers() if self.integers is None else self.integers

    def _inverse(
        self, cells: NDArray[np.int64], p: NDArray[np.float64], method: Method
    ) -> NDArray[np.float64]:
        if method == "inverted_cdf":
            return self.grid.shown(np.asarray(self.grid.positions[cells]))
        integers = self._of_integers
        found = within(cells, p, self.counts, self.n, self.grid, integers)
        return self.grid.shown(found, whole=integers)

    def _quantile_interval(
        self, p: Any, level: float, method: Method, sampling: float
    ) -> Interval[Any]:
        """Return intervals that count noise, and so large a part of the sampling variance."""
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
        else:
            low = places(first, 0.0, self.grid, self._of_integers)
            low = np.where((first == 0) & np.isinf(self.grid.start), -np.inf, low)
            high = places(last, 1.0, self.grid, self._of_integers)
        whole = self._of_integers and method == "linear"
        ends = (self.grid.shown(np.asarray(end), whole=whole) for end in (low, high))
        return Interval(*map(float_or_array, ends))
