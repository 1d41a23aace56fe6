"""Released distribution curves. All functions here are post-processing and cost no privacy."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from .._sealed import sealed
from ..errors import DtypeError, ParameterError
from ..kernels.smoothing.isotonic import isotonic
from ..noise.sources import public_generator
from ..privacy.guarantees import Privacy
from ..summaries.grid import Grid, check_grid, edges_of
from . import forms
from .confidence import (
    Interval,
    around,
    at_knots,
    band_of,
    deviations,
    deviations_of_noise,
    reach,
    reached_in,
    rising,
)
from .drawing import drawing
from .field_tables import Rows
from .frames import frame_of, thresholds_in_frame
from .inversion import (
    Method,
    QuantileMethod,
    are_whole,
    cell_ends,
    cell_span,
    crossings,
    rises,
    within,
    within_cubic,
)
from .own_mechanism import REPLICATES, Releases, check_released
from .provenance import check_provenance, effective_n, fresh_identifier
from .readings import Reading, readable, with_intervals
from .shapes import float_or_array
from .shown import axis, cost, line, picture, several, short
from .smoothing import Norm, Solver, smooth
from .stored import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["CDF", "tree_base"]

Several = NDArray[Any] | Sequence[Any]

_COUNTS: Final = (np.dtype(np.int64), np.dtype(np.float64))
_MOST_BINS: Final = 2**24
_BLOCK: Final = 2**20  # counts whose noise is simulated at once
_DEVIATIONS: Final = (np.dtype(np.float64),)
_FAR: Final = 2.0**1000
_READ: Final = (0.05, 0.25, 0.5, 0.75, 0.95)  # the quantiles of a report


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class CDF(Stored):
    """A released empirical distribution function, as cumulative counts over a grid.

    ``dpcore.cdf`` makes it. The parameters are the parts of a release.

    Parameters
    ----------
    grid
        The public thresholds, N of them.
    counts
        (N,) released cumulative counts, int64 or float64. The last is n. Raw counts may decrease
        and may leave [0, n]. All arrays are read-only; arrays of the caller are copied.
    n
        The number of records. It is public, or released like the counts (under add-or-remove-one,
        and if clients have any number of records).
    privacy
        What the release cost.
    mechanism
        Name and parameters of the mechanism.
    noise_deviation
        (N,) standard deviation of the mechanism's error in each count. It is that of the noise, in
        closed form. Where the error depends on the records, it is estimated from the release (for
        DAWA, the default where n epsilon is small, and for local reports). Where it is not known,
        it is infinite.
    processing
        The processing steps since the release, oldest first.
    integers
        Whether the records are whole numbers (on a grid of times: whole days). If so, quantiles
        between thresholds are whole numbers, too. None: not stated. Then records may lie anywhere
        in their cells, unless the grid states that they are whole, as ``Grid.integers`` does.
    raw
        (N,) the counts as they were released, before any processing, for ``combine`` and
        ``smooth``. None for a raw curve, or if they are not known.
    name
        The name of the column in pandas, polars or Dask, which pictures show. None: not known.
    releases
        Identifiers of the releases whose noise is in the counts. Copies have them, too, so that
        ``combine``, ``average``, ``compare`` and ``interval`` do not take a copy for another
        release. Curves that differ in them alone are equal. Empty: a new random one is drawn,
        unless the release is simulated.
    knots
        (K,) indices of the thresholds at which the error is noise alone, ascending, with the last
        one, N - 1. Between two of them the release was a straight line, as in a bucket of DAWA, and
        ``noise_deviation`` is an estimate. There bands reach from the lower end at the knot before
        to the upper end at the knot after. None: all thresholds.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> dp.cdf(rng.normal(40, 12, 5000), dp.Grid.uniform(0, 120, 120), epsilon=1.0, rng=rng)
    <CDF: n = 5000, epsilon = 1, SIMULATED, quartiles 31.69, 39.64, 47.89, hierarchy>
    """

    _kind = "dpcore.cdf"
    _first = ("grid", "n")

    grid: Grid = field(metadata=forms.CELLS)
    counts: NDArray[np.int64] | NDArray[np.float64] = field(metadata=forms.COUNTS)
    n: int
    privacy: Privacy = field(metadata=forms.PRIVACY)
    mechanism: Mapping[str, str | int | float] = field(metadata=forms.DESCRIPTION)
    noise_deviation: NDArray[np.float64] = field(metadata=forms.DEVIATIONS)
    processing: tuple[str, ...] = field(default=(), metadata=forms.tuple_of(forms.TEXT))
    integers: bool | None = field(default=None, metadata=forms.optional(forms.FLAG))
    raw: NDArray[np.int64] | NDArray[np.float64] | None = field(
        default=None, metadata=forms.optional(forms.COUNTS)
    )
    name: str | None = field(default=None, metadata=forms.optional(forms.PLAIN))
    releases: tuple[str, ...] = field(
        default=(), metadata=forms.optional(forms.tuple_of(forms.TEXT)), compare=False
    )
    knots: NDArray[np.int64] | None = field(default=None, metadata=forms.optional(forms.KNOTS))

    def __post_init__(self) -> None:
        check_grid("grid", self.grid)
        deviation = self.noise_deviation
        _check_array("noise_deviation", deviation, _DEVIATIONS, self.grid.size)
        if type(self.n) is not int or not 0 < self.n < 2**63:
            object.__setattr__(self, "n", _check.integer("n", self.n, 1, 2**63 - 1))
        _check_counts("counts", self.counts, self.grid.size, self.n)
        if not (deviation >= 0.0).all():
            raise ParameterError("noise_deviation", deviation.min(), "must be 0 or more")
        check_provenance(self.privacy, self.mechanism)
        effective_n(self.mechanism, self.n)  # a number
        steps = self.processing
        if not isinstance(steps, tuple) or not all(isinstance(step, str) for step in steps):
            raise DtypeError("processing", type(steps).__name__, "must be a tuple of strings")
        if self.integers is not None and not isinstance(self.integers, bool):
            raise DtypeError("integers", type(self.integers).__name__, "must be None or a bool")
        if self.name is not None and not isinstance(self.name, str):
            raise DtypeError("name", type(self.name).__name__, "must be None or a string")
        if self.raw is not None:
            _check_counts("raw", self.raw, self.grid.size, self.n)
            if not steps:
                raise ParameterError("raw", "given", "must be None: the counts themselves are raw")
        if self.knots is not None:
            check_knots(self.knots, self.grid.size)
        known = self.releases
        if not isinstance(known, tuple) or not all(isinstance(one, str) for one in known):
            raise DtypeError("releases", type(known).__name__, "must be a tuple of strings")
        # Equal generators give equal files, so simulated releases have none.
        if not known and not self.privacy.simulated:
            object.__setattr__(self, "releases", (fresh_identifier(),))

    def __repr__(self) -> str:
        quartiles = self.quantile([0.25, 0.5, 0.75])
        name = str(self.mechanism["name"])
        return line(
            "CDF",
            f"n = {self.n}, {cost(self.privacy)}, quartiles {several(quartiles)}, {name}",
            f"n = {self.n}, {cost(self.privacy)}, median {short(quartiles[1])}, {name}",
            f"n = {self.n}, {cost(self.privacy)}, median {short(quartiles[1])}",
        )

    def _repr_html_(self) -> str:
        known = bool(np.any(np.isfinite(self.noise_deviation[:-1])))
        at, shares, low, high = self._drawn(self.band())
        ends = self.grid.shown(at[[0, -1]])
        return picture(
            repr(self)[1:-1],
            at,
            shares,
            (low, high) if known else None,
            (short(ends[0]), short(ends[1])),
        )

    @property
    def thresholds(self) -> NDArray[Any]:
        """(N,) the thresholds, read-only."""
        return self.grid.thresholds

    @property
    def is_monotone(self) -> bool:
        """Whether the counts never decrease and stay within [0, n]."""
        return bool(
            self.counts[0] >= 0 and np.all(np.diff(self.counts) >= 0) and self.counts[-1] <= self.n
        )

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
        steps, counts = rises(self.grid, self.counts, self._are_whole)
        at = np.searchsorted(steps, points, side="right")
        padded = np.concatenate([np.zeros(1, counts.dtype), counts])
        return float_or_array(np.asarray(padded[at] / self.n))

    @overload
    def quantile(
        self, p: float, *, method: QuantileMethod = "linear", level: None = None
    ) -> float: ...
    @overload
    def quantile(
        self, p: Several, *, method: QuantileMethod = "linear", level: None = None
    ) -> NDArray[np.float64]: ...
    @overload
    def quantile(
        self, p: ArrayLike, *, method: QuantileMethod = "linear", level: float
    ) -> Interval[Any]: ...
    def quantile(
        self, p: Any, *, method: QuantileMethod = "linear", level: float | None = None
    ) -> Any:
        """Return where the curve reaches ``p``.

        Parameters
        ----------
        p
            Probabilities within [0, 1], any shape.
        method
            "linear": a place within the cell, as if the records of the cell lay evenly in it. If
            the records are ``integers``, the place is a whole number, as if they lay evenly on the
            whole numbers of the cell. "cubic": a place within the same cell, as if F were a
            monotone cubic between thresholds (Fritsch & Carlson 1980), whose slopes follow the
            cells beside it. "inverted_cdf": the generalised inverse, the least threshold tau with
            F(tau) >= p but for rounding, which is the upper end of the cell.
        level
            None, or the level of a confidence interval. With a level, the method returns this
            interval instead, as ``quantile_interval`` does; that of "cubic" is that of "linear".

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
        _check.choice("method", method, QuantileMethod)
        if level is not None:
            of_cells = "linear" if method == "cubic" else method
            return self.quantile_interval(p, level, method=of_cells)
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
        as the level says if the noise is known in closed form, as it is at the ``knots`` of DAWA's
        curves. If the noise is estimated (for local reports), they cover so on average over p.

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
        ``noise_deviation`` is. Between ``knots``, it is an estimate, and 1.96 of them cover less
        often than ``band`` beside values that many records share. The standard error includes
        neither sampling error, nor the noise in an n that is released, which ``band`` includes.
        Isotonic regression can only lower the total squared error. So for ``isotonic`` the standard
        error is on the safe side on average. At single thresholds, and for ``smooth``, it is a
        guide.

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

        The ends are within [0, 1]. Gaussian noise is taken as normal. For sums of Laplace terms,
        the interval is wide enough for a single term, which has the longest tails. It reaches a
        whole count at least, unless noise is nearly always 0. If n is released, too, its noise is
        taken at its worst. The interval is around the count as released, if ``raw`` is known, and
        reaches to the processed one if that is outside: isotonic regression moves the ends of flat
        parts of F alike in all releases. At a threshold where the error is not known, or is more
        than noise (between ``knots``), F lies between its values at the nearest thresholds where
        the error is known. There the interval reaches from the lower end of the interval before it
        to the upper end of the interval after it. From ``grid.lower`` to the first threshold, F is
        between 0 and the first upper end.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> mechanism = dp.mechanisms.Histogram(epsilon=1.0)
        >>> curve = dp.cdf(range(1000), dp.Grid.uniform(0, 1000, 4), mechanism)
        >>> low, high = curve.band()
        >>> (high - low).round(3)
        array([0.01 , 0.012, 0.01 , 0.   ])
        """
        return self.band_of_deviations(deviations_of_noise(level, self.privacy))

    def share(self, *, lower: Any = None, upper: Any = None) -> Any:
        """Return the share of records with lower < value <= upper.

        Parameters
        ----------
        lower, upper
            Real numbers, or arrays that broadcast; on a grid of times, times. None: no such end.
            The share up to t is that of ``upper=t``, and the share above it that of ``lower=t``.

        Returns
        -------
        float or numpy.ndarray
            If an end is inside a cell, the records of the cell are taken to lie evenly in it, or
            on its whole numbers if they are ``integers``. O(log N) each.

        Raises
        ------
        DtypeError, ParameterError
            An end is not as above, or ``lower`` is above ``upper``.

        Examples
        --------
        >>> import dpcore as dp
        >>> curve = dp.cdf(range(1, 101), dp.Grid.uniform(0, 100, 4), dp.mechanisms.NoNoise())
        >>> curve.share(lower=25, upper=75), curve.share(lower=[50, 60, 90])
        (0.5, array([0.5, 0.4, 0.1]))
        """
        first, last = self._points_between(lower, upper)
        return float_or_array((self._up_to(last) - self._up_to(first)) / self.n)

    def share_interval(
        self, level: float = 0.95, *, lower: Any = None, upper: Any = None
    ) -> Interval[Any]:
        """Return a confidence interval for the share of the records with lower < value <= upper.

        It accounts for noise alone, and for records anywhere in the cells that the ends divide.

        Parameters
        ----------
        level
            Of confidence, between 0 and 1.
        lower, upper
            As in ``share``.

        Returns
        -------
        Interval
            ``low`` and ``high`` within [0, 1], of the shape of the ends. ``share`` lies between
            them, unless the curve is raw.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        Up to one threshold, this is ``band``. Between two, a curve does not know how their noise is
        correlated, so the reaches of both are added, which is the worst case. If the mechanism can
        be simulated, ``dpcore.interval`` of ``share`` between thresholds is narrower.

        Examples
        --------
        >>> import dpcore as dp
        >>> mechanism = dp.mechanisms.Histogram(epsilon=1.0)
        >>> curve = dp.cdf(range(1000), dp.Grid.uniform(0, 1000, 4), mechanism)
        >>> low, high = curve.share_interval(upper=500)
        >>> round(high - low, 3)
        0.012
        """
        return self._share_interval(level, lower, upper, 0.0)

    def population_share_interval(
        self, level: float = 0.95, *, lower: Any = None, upper: Any = None
    ) -> Interval[Any]:
        """Return a confidence interval for the share of the population with lower < value <= upper.

        It accounts for noise and sampling. The records are taken as independent draws from the
        population: the interval is as in ``share_interval``, with share (1 - share) / n added to
        the variance. There should be 10 records or more on either side.

        Parameters
        ----------
        level, lower, upper
            As in ``share_interval``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Examples
        --------
        >>> import dpcore as dp
        >>> curve = dp.cdf(range(1000), dp.Grid.uniform(0, 1000, 4), dp.mechanisms.NoNoise())
        >>> low, high = curve.population_share_interval(upper=499.75)
        >>> round(low, 2), round(high, 2)
        (0.22, 0.53)
        """
        return self._share_interval(level, lower, upper, 1.0)

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
        low, high, unit = cell_ends(self.grid, self._are_whole)
        with np.errstate(over="ignore"):  # raw counts may have any size
            mean = np.sum(self._masses() * (low / 2 + high / 2)) * unit
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

    def mean_interval(
        self, level: float = 0.95, mechanism: Releases | None = None
    ) -> Interval[Any]:
        """Return a confidence interval for the mean of the records themselves.

        It accounts for noise alone. Records may lie anywhere in their cells, so it is on average at
        least one cell wide (docs/measured/intervals.md has its coverage).

        Parameters
        ----------
        level
            Of confidence, between 0 and 1.
        mechanism
            The mechanism that released the curve, if its errors are noise alone, at least at the
            curve's ``knots``: this noise is simulated, in the time of 200 releases.
            ``dpcore.mechanisms.from_curve`` makes it again. None: a curve does not know how the
            noise of different counts is correlated. So the interval uses the largest possible
            standard deviation, that of full correlation, and covers more often than the level says.

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
        return self._mean_interval(level, 0.0, mechanism)

    def population_mean_interval(
        self, level: float = 0.95, mechanism: Releases | None = None
    ) -> Interval[Any]:
        """Return a confidence interval for the mean of the population that records come from.

        It accounts for noise and sampling. The records are taken as independent draws from the
        population. The interval is as in ``mean_interval``, with the variance of the records' mean,
        ``std()``^2 / n, added to that of the noise: of a few records, it is too narrow.

        Parameters
        ----------
        level
            Of confidence, between 0 and 1.
        mechanism
            As in ``mean_interval``.

        Raises
        ------
        DtypeError, ParameterError
            level is not as above, or the mechanism is not the one that the curve names.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> values, grid = np.linspace(0, 100, 1001), dp.Grid.uniform(0, 100, 50)
        >>> low, high = dp.cdf(values, grid, dp.mechanisms.NoNoise()).population_mean_interval()
        >>> round(low, 2), round(high, 2)
        (47.16, 52.74)
        """
        return self._mean_interval(
            level, self._deviation() / math.sqrt(self._effective_n), mechanism
        )

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
        own = edges_of(grid)
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
        columns = {
            "threshold": thresholds_in_frame(self.grid, self.grid.thresholds),
            "count": self.counts,
            "share": self.counts / self.n,
            "low": low,
            "high": high,
        }
        return frame_of(columns)

    def _choices(self) -> Mapping[str, Any]:
        return {"grid": self.grid, "n": self.n, "mechanism": self.mechanism}

    def _readings(self, level: float) -> list[Rows]:
        def mean() -> Reading:
            return "mean", self.mean(), self.mean_interval(level)

        reads: list[Callable[[], Reading]] = [
            *(partial(self._quantile_read, p, level) for p in _READ),
            mean,
        ]
        return [with_intervals(level, readable(reads))]

    def _quantile_read(self, p: float, level: float) -> Reading:
        return f"quantile {p:g}", self.quantile(p), self.quantile_interval(p, level=level)

    def smooth(self, norm: Norm = 2, *, solver: Solver = "graph", tolerance: float = 1e-6) -> CDF:
        """Return the monotone curve that the least noise on the mechanism's tree explains.

        It needs the raw counts, and a mechanism with a noise tree. The parameters are those of
        ``dpcore.smooth``. The result is biased where F is near 0 or 1 over many thresholds
        (docs/proofs/dyadic.md, section 7): prefer ``isotonic`` there.

        Raises
        ------
        ParameterError
            The raw counts are not known, or the curve's mechanism has no tree.
        ConvergenceError
            The solver did not reach the tolerance.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, dyadic = np.random.default_rng(1), dp.mechanisms.Dyadic(0.5)
        >>> curve = dp.cdf([2, 4] * 400, dp.Grid.uniform(0, 4, 4), dyadic, rng=rng)
        >>> curve.as_released().counts, curve.smooth().counts.round(1)
        (array([-11, 394, 396, 800]), array([  0. , 400.7, 400.7, 800. ]))
        """
        curve = self.as_released()
        base = tree_base(self.mechanism)
        counts = np.full(self.grid.size, float(self.n))
        if self.grid.size > 1:  # the last count is n exactly
            counts[:-1] = smooth(
                curve.counts[:-1], self.n, norm=norm, solver=solver, base=base, tolerance=tolerance
            ).cumulative
        return curve._processed(counts, f"smooth(norm={norm})")

    def as_released(self) -> CDF:
        """Return the curve before it was processed, with ``raw`` as its counts.

        Raises
        ------
        ParameterError
            The raw counts are not known.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> curve = dp.cdf([2, 4] * 40, dp.Grid.uniform(0, 4, 4), epsilon=0.5, rng=rng)
        >>> curve.counts, curve.as_released().counts
        (array([ 0., 35., 39., 80.]), array([-5., 35., 39., 80.]))
        """
        if not self.processing:
            return self
        if self.raw is None:
            raise ParameterError("curve", self.processing, "must be raw, or keep its raw counts")
        return replace(self, counts=self.raw, raw=None, processing=())

    def isotonic(self) -> CDF:
        """Return the non-decreasing curve within [0, 1] that is nearest in least squares.

        This is isotonic regression (pool adjacent violators), clipped: the projection onto bounded
        monotone curves. It never increases the total squared error. O(N).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 4, 4)
        >>> raw = dp.cdf([2, 4] * 40, grid, epsilon=0.5, isotonic=False, rng=rng)
        >>> raw.counts, raw.isotonic().counts
        (array([-5., 35., 39., 80.]), array([ 0., 35., 39., 80.]))
        """
        if self.processing[-1:] == ("isotonic()",) and self.is_monotone:
            return self
        counts = self.counts.astype(np.float64)
        counts[-1] = self.n
        isotonic(counts[np.newaxis, :-1], 0.0, float(self.n))
        return self._processed(counts, "isotonic()")

    def without_negative_counts(self) -> CDF:
        """Return the curve with the negative counts of cells set to 0, scaled to end at n.

        This is the usual post-processing of noisy histograms. The scale is at most 1: the other
        cells make up for the counts that were set to 0. ``isotonic`` uses least squares instead,
        and is mostly nearer to the truth (docs/proofs/projection.md, section 6). O(N).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 4, 4)
        >>> raw = dp.cdf([2, 4] * 40, grid, epsilon=0.5, isotonic=False, rng=rng)
        >>> raw.counts, raw.without_negative_counts().counts.round(1)
        (array([-5., 35., 39., 80.]), array([ 0. , 37.6, 41.4, 80. ]))
        """
        cumulative = self.counts.astype(np.float64)
        cumulative[-1] = self.n
        cumulative = np.cumsum(np.maximum(np.diff(cumulative, prepend=0.0), 0.0))
        scaled = np.minimum(cumulative * (self.n / cumulative[-1]), float(self.n))
        scaled[-1] = self.n  # up to rounding, it is n already
        return self._processed(scaled, "without_negative_counts()")

    def sample(
        self, size: int, rng: np.random.Generator | None = None, *, method: Method = "linear"
    ) -> NDArray[np.float64]:
        """Draw synthetic values with this distribution.

        Parameters
        ----------
        size
            The number of values.
        rng
            A generator, or None for fresh entropy. The curve is public already, so draws need not
            be secret.
        method
            As in ``quantile``. "linear" draws evenly within each cell, and draws whole numbers if
            the records are ``integers``. "inverted_cdf" draws thresholds.

        Returns
        -------
        numpy.ndarray
            (size,) independent draws: quantiles at uniform probabilities. If the curve is not
            monotone, they are quantiles of ``isotonic()``.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> curve = dp.cdf([2, 4] * 40, dp.Grid.integers(1, 4), dp.mechanisms.NoNoise())
        >>> curve.sample(6, np.random.default_rng(1))
        array([2., 2., 4., 2., 4., 4.])
        """
        size = _check.integer("size", size, 0, 2**40)
        _check.choice("method", method, Method)
        rng = public_generator(rng)
        curve = self._monotone()
        shares = 1.0 - rng.random(size)
        at = np.searchsorted(curve.counts / self.n, shares, side="left")
        return curve._inverse(at, shares, method)

    @drawing
    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        band: Interval[Any] | None = None,
        **line: Any,
    ) -> Axes:
        """Draw the curve as steps, with its confidence band and a legend; needs the extra ``plot``.

        The picture begins at ``grid.lower`` if it is known. Within the first cell, the band begins
        at 0, because it is not known where records of this cell lie.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones. Lines on new axes differ in colour and in style.
        level
            Confidence level of the band.
        band
            The ends of another band to draw, each (N,), from ``dpcore.simultaneous_band`` with this
            level. None: ``band(level)``, which holds at each threshold alone.
        **line
            Passed on to ``Axes.step``. ``label`` is the text in the legend.

        Returns
        -------
        matplotlib.axes.Axes
            The axes. The axis of values is named after the column if ``name`` is known.

        Examples
        --------
        >>> import dpcore as dp
        >>> curve = dp.cdf([21, 34, 55], dp.Grid([20, 40, 60]), epsilon=50.0)
        >>> ax = curve.plot()
        >>> _ = ax.set_xlabel("age in years")  # a list has no name
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['private, epsilon = 50', '95% band for the noise']
        """
        from .plots import covered, drawable, plot_steps, shortly

        told = covered(level, at_once=band is not None)
        ends = self.band(level)
        if band is not None:
            _check.instance("band", band, Interval, "must be None or an Interval")
            for end in band:
                _check_array("band", end, _DEVIATIONS, self.grid.size)
            ends = band.low, band.high
        at, shares, low, high = self._drawn(ends)
        x, unit = axis(self.grid, at)
        if at.size > self.grid.size and shares[0] == 0.0:
            shares[0] = np.nan  # a step at 0 would say that no record is at the lower end
        # Otherwise a band has no meaning.
        known = bool(np.any(np.isfinite(self.noise_deviation[:-1])))
        drawn = (low, high) if known else None
        ax = plot_steps(x, shares, drawn, shortly(self.privacy), ax=ax, covered=told, style=line)
        if self.name is not None or unit:
            words = (self.name, unit and "in", unit) if self.name else (unit,)
            # Matplotlib must not read a dollar sign in a name as mathematics.
            ax.set_xlabel(drawable(" ".join(filter(None, words))), parse_math=False)
        return ax

    def _monotone(self) -> CDF:
        return self if self.is_monotone else self.isotonic()

    @property
    def _are_whole(self) -> bool:
        return are_whole(self.grid, self.integers)

    @property
    def _effective_n(self) -> float:
        return effective_n(self.mechanism, self.n)

    def _inverse(
        self, cells: NDArray[np.int64], p: NDArray[np.float64], method: QuantileMethod
    ) -> NDArray[np.float64]:
        if method == "inverted_cdf":
            return self.grid.shown(np.asarray(self.grid.positions[cells]))
        integers, place = self._are_whole, within_cubic if method == "cubic" else within
        quantiles = place(cells, p, self.counts, self.n, self.grid, integers)
        return self.grid.shown(quantiles, whole=integers)

    def _quantile_interval(
        self, p: Any, level: float, method: Method, sampling: float
    ) -> Interval[Any]:
        """Return intervals for noise and this multiple of the sampling variance."""
        _check.choice("method", method, Method)
        shares = _check.probabilities("p", p)
        width = deviations_of_noise(level, self.privacy)
        cells = np.empty((2, shares.size), np.int64)
        # The sampling of p and 1 - p has the same band, and without sampling there is only one.
        sampling *= self.n * (self.n / self._effective_n)
        sampled = sampling * shares.ravel() * (1.0 - shares.ravel())
        for variance in np.unique(sampled).tolist():
            ends = self.band_of_deviations(width, math.sqrt(variance))
            for i in np.flatnonzero(sampled == variance).tolist():
                cells[:, i] = reached_in(*ends, shares.flat[i])
        if sampling:  # a population may have larger values than all records of a sample
            cells[1, shares.ravel() == 1.0] = self.grid.size - 1
        first, last = cells.reshape(2, *shares.shape)
        if method == "inverted_cdf":
            low, high = self.grid.positions[first], self.grid.positions[last]
            if math.isfinite(self.grid.start):
                low = np.where(first == 0, self.grid.start, low)
            shown = self.grid.shown(np.asarray(low)), self.grid.shown(np.asarray(high))
        else:
            shown = cell_span(first, last, self.grid, self._are_whole)
        return Interval(*map(float_or_array, shown))

    def _points_between(
        self, lower: Any, upper: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return both ends of shares as positions on the grid, of one shape."""
        given = (lower, "lower", -np.inf), (upper, "upper", np.inf)
        ends = [
            np.asarray(none if end is None else _check.doubles(self.grid.points(name, end)))
            for end, name, none in given
        ]
        try:
            first, last = np.broadcast_arrays(*ends)
        except ValueError:
            shapes = tuple(end.shape for end in ends)
            raise ParameterError("upper", shapes, "must have a shape that fits lower") from None
        if not (first <= last).all():
            raise ParameterError("lower", lower, f"must not be above upper, {upper}")
        return first, last

    def _share_interval(
        self, level: float, lower: Any, upper: Any, sampling: float
    ) -> Interval[Any]:
        """Return intervals for noise and this multiple of the sampling variance."""
        first, last = self._points_between(lower, upper)
        share = np.asarray((self._up_to(last) - self._up_to(first)) / self.n)
        low, high = self.band_of_deviations(deviations_of_noise(level, self.privacy))
        least, most = self._known_up_to(first), self._known_up_to(last)
        shares, low, high = (
            np.append(0.0, own) for own in (np.clip(self.counts / self.n, 0.0, 1.0), low, high)
        )
        inside = np.clip(share, 0.0, 1.0)
        drawn = deviations(level) * np.sqrt(sampling * inside * (1.0 - inside) / self._effective_n)
        inner = shares[most.low] - shares[least.high]
        outer = shares[most.high] - shares[least.low]
        below = inner - np.hypot(inner - (low[most.low] - high[least.high]), drawn)
        above = outer + np.hypot(high[most.high] - low[least.low] - outer, drawn)
        has_records = first < last
        at_least = np.where(has_records, np.clip(below, 0.0, inside), 0.0)
        at_most = np.where(has_records, np.clip(above, inside, 1.0), 0.0)
        return Interval(float_or_array(at_least), float_or_array(at_most))

    def _known_up_to(self, points: NDArray[np.float64]) -> Interval[NDArray[np.int64]]:
        """Return how many cells end at or before each point, and how many begin before it."""
        ends, start = self.grid.positions, self.grid.start
        if self._are_whole:  # no record is between two whole numbers
            ends, points = (np.floor(some / self.grid.step) for some in (ends, points))
            start = math.ceil(start / self.grid.step) if math.isfinite(start) else start
        before = np.searchsorted(ends, points, side="right")
        behind = np.minimum(np.searchsorted(ends, points, side="left") + 1, ends.size)
        none = points < start
        return Interval(np.where(none, 0, before), np.where(none, 0, behind))

    def band_of_deviations(
        self, width: float, sampling: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of intervals that reach so many deviations, as in ``band``, each (N,).

        ``band`` and ``dpcore.simultaneous_band`` say how many. A deviation of ``sampling``, in
        counts, is added to that of the noise at all thresholds but the last.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not a finite number, 0 or more.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, mechanism = dp.Grid.uniform(0, 1000, 4), dp.mechanisms.Histogram(rho=0.5)
        >>> curve = dp.cdf(range(1000), grid, mechanism)
        >>> low, high = curve.band_of_deviations(3.0)
        >>> (high - low).round(3)
        array([0.007, 0.008, 0.007, 0.   ])
        """
        width = _check.finite("width", width)
        sampling = _check.finite("sampling", sampling)
        if min(width, sampling) < 0.0:
            raise ParameterError("width", (width, sampling), "must be 0 or more, and sampling, too")
        known = at_knots(self.knots, self.grid.size)
        released = self.counts if self.raw is None else self.raw
        low, high = band_of(released, self.n, self.noise_deviation, width, sampling, known)
        return around(low, high, self.counts / self.n)

    def _released_row(self) -> tuple[CDF, Releases | None]:
        """Return the curve itself, for ``dpcore.simultaneous_band``."""
        return self, None

    def _band_at_once(self, width: float, sampling: float) -> Interval[NDArray[np.float64]]:
        """Return the band if all counts are within so many deviations at once."""
        low, high = rising(*self.band_of_deviations(width, sampling))
        shares = np.clip(self.counts / self.n, 0.0, 1.0)
        shares = np.maximum.accumulate(shares)  # of a raw curve
        return Interval(np.minimum(low, shares), np.maximum(high, shares))

    def _masses(self) -> NDArray[np.float64]:
        """Return the share of records in each cell, (N,)."""
        return np.diff(self.counts, prepend=0) / self.n

    def _deviation(self) -> float:
        masses = self._monotone()._masses()
        low, high, unit = cell_ends(self.grid, self._are_whole)
        centres = low / 2 + high / 2
        inside = (high - low) ** 2  # for m whole numbers, it is (m^2 - 1) / 12 steps^2
        if self._are_whole:
            inside = inside + 2 * self.grid.step * (high - low) / unit
        around = (centres - np.sum(masses * centres)) ** 2
        return math.sqrt(float(np.sum(masses * (around + inside / 12)))) * unit

    def _mean_interval(
        self, level: float, sampling: float, mechanism: Releases | None
    ) -> Interval[Any]:
        """Return the ends of the interval, for the least and the largest places in cells."""
        curve = self._monotone()  # masses below 0 would exchange the ends of wide cells
        *places, unit = cell_ends(self.grid, self._are_whole)
        means = [float(np.sum(curve._masses() * place)) for place in places]
        sampling /= unit
        released = self.as_released() if self.raw is not None else self
        if mechanism is not None:
            check_released("curve", released, mechanism)
        if mechanism is None or not np.isfinite(self.noise_deviation).all():
            width = deviations(level)
            reaches = [width * math.hypot(self._noise_of_mean(each), sampling) for each in places]
            low, high = means[0] - reaches[0], means[1] + reaches[1]
        else:
            width = deviations_of_noise(level, self.privacy)
            errors = released._simulated_noise_of_mean(mechanism, places)
            low, high = (
                float(np.sum(released._masses() * place))
                + sign * reach(width, math.hypot(error, sampling), released._hidden(place, sign))
                for error, place, sign in zip(errors, places, (-1.0, 1.0), strict=True)
            )
            low, high = min(low, means[0]), max(high, means[1])
        first, last = float(places[0][0]), float(places[1][-1])
        with np.errstate(over="ignore"):
            ends = [np.asarray(np.clip(end, first, last) * unit) for end in (low, high)]
        if not math.isfinite(self.grid.start):
            ends[0] = np.asarray(-np.inf)
        return Interval(*(float_or_array(self.grid.shown(end)) for end in ends))

    def _noise_of_mean(self, place: NDArray[np.float64]) -> float:
        """Return the largest deviation of a mean. The noise of F_k has the width of a cell."""
        share, steps = self._monotone().counts / self.n, np.diff(place)
        of_n = np.zeros(share.size)  # where no record is, also if its error is not known
        np.multiply(np.abs(share), self.noise_deviation[-1], out=of_n, where=share != 0.0)
        of_share = (self.noise_deviation + of_n) / self.n
        return float(np.sum(np.where(steps > 0.0, of_share[:-1], 0.0) * steps))

    def _simulated_noise_of_mean(
        self, mechanism: Releases, places: Sequence[NDArray[np.float64]]
    ) -> list[float]:
        """Return the deviations of raw means, for two places in cells, by simulated noise."""
        at, knots = np.arange(self.grid.size), self.knots
        # One curve has one interval. Its counts are public.
        rng = np.random.default_rng(np.asarray(self.counts, np.float64).view(np.uint32))
        share, steps = self.counts / self.n, np.diff(np.stack(places), axis=1)
        squares, rows = np.zeros(2), max(1, _BLOCK // at.size)
        for start in range(0, REPLICATES, rows):
            drawn = min(rows, REPLICATES - start)
            noise = mechanism.simulated_noise(at.size, drawn, rng, knots=knots, n=self.n)
            if knots is not None:
                ends = np.append(-1, knots)
                noise = np.stack([np.interp(at, ends, np.append(0.0, row)) for row in noise])
            of_shares = (noise - share * noise[:, -1:])[:, :-1] / self.n
            squares += np.array([np.sum(np.sum(of_shares * own, axis=1) ** 2) for own in steps])
        deviations_of_means: list[float] = np.sqrt(squares / REPLICATES).tolist()
        return deviations_of_means

    def _hidden(self, place: NDArray[np.float64], sign: float) -> NDArray[np.float64]:
        """Return how far the records of each run between knots may move a mean of places, (K,)."""
        if self.knots is None:
            return np.empty(0)
        masses, starts = self._masses(), np.append(0, self.knots[:-1] + 1)
        farthest = place[self.knots] if sign > 0.0 else place[starts]
        own, seen = (np.add.reduceat(each, starts) for each in (masses, masses * place))
        return np.maximum(sign * (own * farthest - seen), 0.0)

    def _up_to(self, edges: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number of records up to each edge, with parts of cells."""
        at = np.searchsorted(self.grid.positions, edges, side="right")
        cell = np.minimum(at, self.grid.size - 1)
        before = np.where(at > 0, self.counts[at - 1], 0.0)
        first = np.append(self.grid.start, self.grid.positions)
        lower, upper = first[cell], self.grid.positions[cell]
        if self._are_whole:
            steps = (np.floor(positions / self.grid.step) for positions in (edges, lower, upper))
            whole_edges, least, most = steps
            # The first cell includes its lower end.
            least = np.where(cell == 0, np.ceil(lower / self.grid.step) - 1.0, least)
            has = (most > least) & np.isfinite(least)
            edges = np.where(has, whole_edges, edges)
            lower, upper = np.where(has, least, lower), np.where(has, most, upper)
        inside = (at < self.grid.size) & np.isfinite(lower) & (edges > lower)
        part = np.zeros(edges.shape)
        half = np.where(np.maximum(np.abs(lower), np.abs(upper)) > _FAR, 0.5, 1.0)
        with np.errstate(invalid="ignore"):  # infinity minus infinity, where no part is inside
            of_cell = upper * half - lower * half  # would overflow for ends far apart
            np.divide(edges * half - lower * half, of_cell, out=part, where=inside)
        return np.asarray(before + part * (self.counts[cell] - before))

    def _drawn(
        self, band: tuple[NDArray[np.float64], NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], ...]:
        """Return places to draw, and there the shares and the ends of a band, each (N,) or more.

        If the first cell has a width, it is drawn from its lower end, with a band from 0.
        """
        at, shares, (low, high) = self.grid.positions, self.counts / self.n, band
        start = self.grid.start
        if not -np.inf < start < at[0]:
            return at, shares, low, high
        return (
            np.append(start, at),
            np.append(self(self.grid.lower), shares),
            np.append(0.0, low),
            np.append(high[0], high),
        )

    def _processed(self, counts: NDArray[np.float64], step: str) -> CDF:
        raw = self.raw if self.processing else self.counts
        return replace(self, counts=counts, raw=raw, processing=(*self.processing, step))


def tree_base(mechanism: Mapping[str, str | int | float]) -> int:
    """Return the children of a node of the tree of a description; refuse one without a tree."""
    base = mechanism.get("base")
    if not isinstance(base, int):
        what = "must have a noise tree, as Dyadic has"
        raise ParameterError("mechanism", mechanism["name"], what)
    return base


def _check_counts(argument: str, counts: Any, size: int, n: int) -> None:
    _check_array(argument, counts, _COUNTS, size)
    if counts.dtype == np.float64 and not np.abs(counts).max() <= forms.MOST:
        wrong = counts[~(np.abs(counts) <= forms.MOST)][0]
        raise ParameterError(argument, wrong, f"must be finite, and within +-{forms.MOST:g}")
    if counts[-1] != n:
        raise ParameterError(argument, counts[-1], f"must end with n, {n}")


def check_knots(knots: Any, size: int) -> None:
    """Refuse what are no knots of a curve of N counts."""
    _check.held("knots", knots, (None,), "i")
    rises = knots.size > 0 and knots[0] >= 0 and np.all(np.diff(knots) > 0)
    if not rises or knots[-1] != size - 1:
        what = f"must be ascending indices of thresholds, with the last one, {size - 1}"
        raise ParameterError("knots", knots, what)


def _check_array(argument: str, array: Any, dtypes: tuple[np.dtype[Any], ...], size: int) -> None:
    is_plain = isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray)
    if not is_plain or array.dtype not in dtypes:
        description = f"dtype {array.dtype}" if is_plain else type(array).__name__
        names = " or ".join(map(str, dtypes))
        raise DtypeError(argument, description, f"must be an unmasked NumPy array of {names}")
    if array.shape != (size,):
        raise ParameterError(argument, array.shape, f"must have shape ({size},)")
