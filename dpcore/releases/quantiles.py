"""Private quantiles: drawn one between two others, or read off a private curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from .._documentation import documented
from .._sealed import sealed
from ..curves import forms
from ..curves.cdf import CDF
from ..curves.confidence import Interval, deviations, reached_in
from ..curves.field_tables import Rows
from ..curves.frames import frame_of
from ..curves.inversion import cell_span, crossings
from ..curves.likely_mistakes import warn_of_quantiles
from ..curves.readings import with_intervals
from ..curves.shapes import float_or_array
from ..curves.shown import cost, line, short
from ..curves.stored import Stored, one_of
from ..errors import DtypeError, ParameterError
from ..mechanisms.base import cell_counts, checked_size
from ..mechanisms.cuts import (
    MOST_COUNTED,
    Cut,
    check_scales,
    drawn_cells,
    planned,
    reaches,
    rho_of_cuts,
)
from ..noise.sources import source
from ..planning.drawn import few_drawn
from ..planning.most_accurate import most_accurate
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Neighbours, Privacy, with_rho
from ..privacy.spending import releasing
from ..summaries.grid import Grid, check_grid
from ..summaries.totals import NanPolicy
from .cdf import raw_release, taken

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Quantiles", "check_quantiles", "quantiles", "quantiles_from_counts"]

Method = Literal["recursion", "curve"]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Quantiles(Stored):
    """Released quantiles. Made by ``quantiles``.

    Parameters
    ----------
    probabilities
        (m,) the probabilities as given; a float if one number was given.
    values
        (m,) thresholds of the grid, one for each probability. They never cross: a larger
        probability never has a smaller value. A float, or a time, if one number was given.
    n
        The public number of records; None if it is not public.
    privacy
        The cost of all quantiles together.
    method
        How they were found: "recursion" or "curve"; None in files of versions that divided epsilon.
    epsilon_each
        The cost of each quantile in such files; otherwise None.
    grid
        The thresholds from which the values were chosen. None in earlier files: then no interval
        is known.
    curve
        The curve off which they were read, which cost nothing more; None for "recursion".

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> ages, grid = rng.normal(40, 12, 5000), dp.Grid.uniform(0, 120, 120)
    >>> dp.quantiles(ages, [0.25, 0.75], grid, epsilon=1.0, rng=rng)
    <Quantiles: 0.25: 32, 0.75: 49, n = 5000, epsilon = 1, SIMULATED>
    """

    _kind = "dpcore.quantiles"

    probabilities: NDArray[np.float64] | float = field(metadata=forms.NUMBERS)
    values: Any = field(metadata=forms.like("probabilities"))
    n: int | None = field(metadata=forms.or_null(forms.WHOLE))
    privacy: Privacy = field(metadata=forms.PRIVACY)
    method: str | None = field(default=None, metadata=forms.optional(forms.TEXT))
    epsilon_each: float | None = field(default=None, metadata=forms.optional(forms.NUMBER))
    grid: Grid | None = field(default=None, metadata=forms.optional(forms.GRID))
    curve: CDF | None = field(default=None, metadata=forms.optional(one_of(CDF)))

    def __post_init__(self) -> None:
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        if self.n is not None:
            _check.integer("n", self.n, 0, 2**63 - 1)
        if self.method is not None:
            _check.choice("method", self.method, Method)
        each = self.epsilon_each
        if each is not None:
            _check.held("epsilon_each", each)
        shape = np.shape(_check.array("probabilities", self.probabilities, "iuf"))
        _check.held("probabilities", self.probabilities, shape)
        _check.held("values", self.values, shape, "iufmM")
        if each is not None and not 0.0 < each <= (self.privacy.epsilon or 0.0):
            what = "must be positive, and at most that of all quantiles"
            raise ParameterError("epsilon_each", each, what)
        shares, values = np.ravel(self.probabilities), np.ravel(self.values)
        if not np.all((shares >= 0.0) & (shares <= 1.0)):
            raise ParameterError("probabilities", self.probabilities, "must be within [0, 1]")
        ascending = values[np.lexsort((values, shares))]
        if not (np.isfinite(values).all() and np.all(ascending[:-1] <= ascending[1:])):
            raise ParameterError("values", self.values, "must be finite, and must not cross")
        if self.grid is not None:
            check_grid("grid", self.grid)
            self.grid.points("values", self.values)
        _check.instance("curve", self.curve, CDF | None, "must be a CDF, or None")
        if self.curve is not None and (self.method, self.grid) != ("curve", self.curve.grid):
            raise ParameterError("curve", self.curve, "must fit the grid and the method")

    def interval(self, level: float = 0.95, *, n: int | None = None) -> Interval[Any]:
        """Return confidence intervals for the quantiles of the records themselves.

        They account for noise alone, wherever the records are.

        Parameters
        ----------
        level
            Of each interval alone, between 0 and 1.
        n
            Where the number of records is not public, and quantiles were drawn: a public number
            that it is not below.

        Returns
        -------
        Interval
            ``low`` and ``high``, of the shape of the probabilities. ``low`` is -infinity (for
            times: NaT) where it is the lower end of the grid, and this is not known.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the file has no grid.

        Notes
        -----
        For "curve", that of ``CDF.quantile_interval``. By "recursion", nothing is known of records
        between two drawn values: an interval reaches from the last value that is surely below the
        quantile to the first that is surely not below it. So it mostly ends at other quantiles that
        were asked for, or with the grid. "curve" has intervals that are narrower, and
        ``probability_interval`` says more of a value that was drawn. docs/proofs/selection.md,
        section 4, has the proof, and docs/measured/intervals.md what they cover.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 120, 120)
        >>> ages = rng.normal(40, 12, 5000)
        >>> dp.quantiles(ages, 0.5, grid, epsilon=1.0, method="curve", rng=rng).interval()
        Interval(low=39.0, high=40.0)
        >>> found = dp.quantiles(ages, [0.4, 0.5, 0.6], grid, epsilon=1.0, rng=rng)
        >>> [float(end[1]) for end in found.interval()]
        [36.0, 43.0]
        """
        return self._interval(level, n, 0.0)

    def population_interval(self, level: float = 0.95, *, n: int | None = None) -> Interval[Any]:
        """Return confidence intervals for the quantiles of the population of the records.

        They account for noise and sampling. The records are taken as independent draws from the
        population. With p (1 - p) / n added to the variance of F, as in
        ``CDF.population_quantile_interval``.

        Parameters
        ----------
        level, n
            As in ``interval``.

        Raises
        ------
        DtypeError, ParameterError
            As in ``interval``.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 120, 120)
        >>> ages = rng.normal(40, 12, 5000)
        >>> found = dp.quantiles(ages, 0.5, grid, epsilon=1.0, method="curve", rng=rng)
        >>> found.population_interval()
        Interval(low=39.0, high=41.0)
        """
        return self._interval(level, n, 1.0)

    def probability_interval(self, level: float = 0.95, *, n: int | None = None) -> Interval[Any]:
        """Return of which quantiles of the records the values may be the exact ones.

        Parameters
        ----------
        level, n
            As in ``interval``.

        Returns
        -------
        Interval
            ``low`` and ``high`` within [0, 1], of the shape of the probabilities, which lie
            between them. At some probability between them, the quantile of the records lies in
            the cell that ends with the value.

        Raises
        ------
        DtypeError, ParameterError
            As in ``interval``.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 120, 2**16)
        >>> found = dp.quantiles(rng.normal(40, 12, 5000), 0.5, grid, epsilon=1.0, rng=rng)
        >>> [round(end, 3) for end in found.probability_interval()]
        [0.49, 0.51]
        """
        p = np.asarray(self.probabilities, np.float64)
        if self.curve is not None:
            self._records(n)
            shares = np.clip(self.curve.counts / self.curve.n, 0.0, 1.0)
            low, high = self.curve.band(level)
            cells = self._cells().reshape(p.shape)
            # The noise chose the cell. So its reach at the cell's end, and beginning, is around p:
            # F is then missed only if the band misses it at the last threshold where F is below
            # the interval, or at the first where it is above, which do not depend on the noise.
            low, high = p - (shares - low)[cells], p + np.append(0.0, high - shares)[cells]
        else:
            at = np.searchsorted(np.unique(p), p)
            low, high = (end[at] for end in self._drawn(level, n, 0.0))
        ends = np.minimum(p, np.maximum(low, 0.0)), np.maximum(p, np.minimum(high, 1.0))
        return Interval(*map(float_or_array, ends))

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return a pandas DataFrame with a row for each probability.

        Parameters
        ----------
        level
            Of the confidence intervals, between 0 and 1.

        Returns
        -------
        pandas.DataFrame
            (m, 4), with the columns ``probability``, ``value``, and ``low`` and ``high`` of
            ``interval(level)``; without these two where they are not known.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 10, 10)
        >>> found = dp.quantiles([1, 2, 3, 4, 5] * 20, [0.25, 0.75], grid, epsilon=50.0)
        >>> print(found.to_frame())
           probability  value  low  high
        0         0.25    2.0  1.0   2.0
        1         0.75    4.0  3.0   4.0
        """
        columns = {"probability": np.ravel(self.probabilities), "value": np.ravel(self.values)}
        _check.proportion("level", level)
        if self._has_intervals:
            ends = self.interval(level)
            columns |= {"low": np.ravel(ends.low), "high": np.ravel(ends.high)}
        return frame_of(columns)

    def _choices(self) -> Mapping[str, Any]:
        known = {} if self.grid is None else {"grid": self.grid}
        return {**known, "n": self.n}

    def _readings(self, level: float) -> list[Rows]:
        if not self._has_intervals:
            return Stored._readings(self, level)
        ends = map(np.ravel, self.interval(level))
        read = zip(np.ravel(self.probabilities), np.ravel(self.values), *ends, strict=True)
        rows = [(f"quantile {p:g}", value, (low, high)) for p, value, low, high in read]
        return [with_intervals(level, rows)]

    @property
    def _has_intervals(self) -> bool:
        """Whether all that intervals need is kept: not in earlier files, or if n is not public."""
        drawn = self.method == "recursion" and self.grid is not None and self.n is not None
        return drawn or self.curve is not None

    def _interval(self, level: float, n: int | None, sampling: float) -> Interval[Any]:
        """Return intervals for noise and this multiple of the sampling variance."""
        if self.curve is not None:
            self._records(n)
            curve, p = self.curve, self.probabilities
            of = curve.population_quantile_interval if sampling else curve.quantile_interval
            return of(p, level)
        low, high = self._drawn(level, n, sampling)
        assert self.grid is not None  # otherwise _drawn has refused
        p, cells = np.asarray(self.probabilities, np.float64), self._cells()
        known = cells[np.unique(np.ravel(p), return_index=True)[1]]
        low, high = np.append(low, 1.0), np.append(high, 1.0)
        between = [reached_in(low, high, share) for share in p.ravel().tolist()]
        first, last = np.transpose(between).reshape(2, *p.shape)
        whole = self.grid.of_integers
        starts, stops = np.append(0, known), np.append(known, self.grid.size - 1)
        ends = cell_span(starts[first], stops[last], self.grid, whole)
        return Interval(*map(float_or_array, ends))

    def _drawn(
        self, level: float, n: int | None, sampling: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of intervals for F at the distinct quantiles that were drawn."""
        level, records = _check.proportion("level", level), self._records(n)
        if self.grid is None or self.method != "recursion":
            lacking = "curve" if self.method == "curve" else "grid"
            raise ParameterError(lacking, None, "must be known: earlier files lack it")
        shares, first = np.unique(np.ravel(self.probabilities), return_index=True)
        cells, privacy = self._cells()[first], self.privacy
        relation: Any = privacy.neighbours
        rho = privacy.rho if privacy.epsilon is None else None  # beside epsilon, it follows
        budget = Allowance.checked(privacy.epsilon, rho, relation)
        cuts = planned(shares.tolist(), budget)
        targets, off = reaches(cuts, cells, self.grid.size, records, (1.0 - level) / 2)
        exact = targets / records
        sampled = deviations(level) * np.sqrt(sampling * exact * (1.0 - exact) / records)
        reach = np.hypot(off / records, sampled)
        return exact - reach, exact + reach

    def _records(self, n: int | None) -> int:
        """Return the number of records, which the caller may have to state."""
        if self.n is None and self.curve is None:
            if n is None:
                raise ParameterError("n", n, "must be given: it is not public")
            return _check.integer("n", n, 1, MOST_COUNTED)
        if n is not None:
            raise ParameterError("n", n, "must be None: it is known")
        known = self.curve.n if self.n is None and self.curve is not None else self.n
        return _check.integer("n", known, 1, 2**63 - 1)

    def _cells(self) -> NDArray[np.int64]:
        """Return the cells of which the values are the ends, (m,)."""
        assert self.grid is not None
        ends, values = self.grid.positions, np.ravel(self.grid.points("values", self.values))
        nearest: NDArray[np.int64] = np.searchsorted(ends[:-1] / 2 + ends[1:] / 2, values)
        return nearest

    def __repr__(self) -> str:
        pairs = zip(np.ravel(self.probabilities), np.ravel(self.values), strict=True)
        texts = [f"{p:g}: {short(value)}" for p, value in pairs]
        known = cost(self.privacy) if self.n is None else f"n = {self.n}, {cost(self.privacy)}"
        return line(
            "Quantiles",
            f"{', '.join(texts)}, {known}",
            f"{', '.join(texts[:2])}, ..., {known}",
            f"{len(texts)} of them, {known}",
        )


@documented
def quantiles(
    values: Any,
    probabilities: ArrayLike,
    grid: Grid,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours | None = None,
    method: Method | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
    weights: None = None,
) -> Quantiles:
    """Release quantiles of some records with differential privacy.

    Parameters
    ----------
    values
        {values}
    probabilities
        (m,) numbers within [0, 1], m >= 1, in any order; or one number.
    grid
        The thresholds from which the quantiles are chosen. They are public, so they must not come
        from the data. The grid may be fine: 2^16 cells hardly cost accuracy.
    epsilon, rho
        The budget of all quantiles together: one of them, a positive number (a Fraction is taken
        exactly).
    neighbours
        "replace-one" or "add-or-remove-one"; None: "replace-one".
    method
        "recursion": draw a middle quantile first, and then those below it and those above it.
        "curve": read them off the curve of ``dpcore.cdf``. None: the one that is usually more
        accurate, by public numbers alone.
    rng
        {rng}
    nan_policy
        {nan_policy}
    weights
        {weights}

    Warns
    -----
    DpcoreWarning
        A quantile is in a wide first cell, with values at its lower end, or shows most values at
        an end of the grid (docs/guides/roc.md, section 4).

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid, or there are no records, or more than 2^35. Errors are raised before
        anything is drawn. Under add-or-remove-one there may be no records.

    Notes
    -----
    The recursion is that of Kaplan, Schnapp & Stemmer, *Differentially private approximate
    quantiles* (2022), by an exact draw. A quantile between two known ones is drawn by the
    exponential mechanism: a place that is d records off has exp(-d rate) times the weight. A
    record matters only to the quantiles on its way, about log2(m) + 1 of m. Records are taken as
    spread evenly over their cell, so that many equal ones can be divided. Thresholds of equal rank,
    for example in gaps of the data, are equally likely. docs/proofs/selection.md, section 4, has
    the proof. The cost is O(n + N log m) for uniform grids.

    Results are thresholds. So a record that equals ``grid.lower`` counts as the first threshold,
    and whole numbers need ``Grid.integers``, whose first threshold is ``lower``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Grid
    >>> ages = np.random.default_rng(1).normal(40, 12, 5000)
    >>> found = quantiles(ages, [0.25, 0.5, 0.75], Grid.uniform(0, 120, 120), epsilon=1.0)
    >>> found.values.round(-1), found.method
    (array([30., 40., 50.]), 'recursion')
    >>> round(quantiles(ages, 0.5, Grid.uniform(0, 120, 120), rho=0.1).values, -1)
    40.0
    """
    _check.unweighted("weights", weights)
    asked = check_quantiles(probabilities, grid, epsilon, rho, neighbours, method, rng)
    return _release(grid.count(values, nan_policy=nan_policy), asked, grid, rng)


def quantiles_from_counts(
    counts: NDArray[np.integer[Any]],
    probabilities: ArrayLike,
    grid: Grid,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours | None = None,
    method: Method | None = None,
    rng: np.random.Generator | None = None,
) -> Quantiles:
    """Release quantiles of records that are already counted.

    Parameters
    ----------
    counts
        (N,) integers, 0 or more: how many records are in each cell of the grid. Every record must
        be counted exactly once.
    probabilities, grid, epsilon, rho, neighbours, method, rng
        As in ``quantiles``.

    Raises
    ------
    DtypeError, ParameterError
        As in ``quantiles``; also if ``counts`` are not N integers that are 0 or more.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Grid
    >>> rng, grid = np.random.default_rng(1), Grid.uniform(0, 120, 120)
    >>> counts = sum(grid.count(rng.normal(40, 12, 1000)) for chunk in range(5))
    >>> quantiles_from_counts(counts, [0.5], grid, epsilon=1.0, rng=rng).values
    array([40.])
    """
    asked = check_quantiles(probabilities, grid, epsilon, rho, neighbours, method, rng)
    exact = cell_counts(counts)
    if exact.size != grid.size:
        raise ParameterError("counts", exact.shape, f"must have shape ({grid.size},)")
    return _release(exact, asked, grid, rng)


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """What is asked of the records, checked: probabilities, the budget, and how it is spent."""

    probabilities: NDArray[np.float64]
    budget: Allowance
    method: Method | None
    cuts: tuple[Cut, ...]

    @property
    def distinct(self) -> NDArray[np.float64]:
        """The probabilities in ascending order, each once."""
        return np.unique(self.probabilities)

    @property
    def privacy_of_draws(self) -> Privacy:
        """The guarantee of quantiles that are drawn, with the rho of all draws."""
        if self.budget.epsilon is None:
            return self.budget.privacy
        return with_rho(self.budget.privacy, rho_of_cuts(self.cuts, self.budget.epsilon))


def check_quantiles(
    probabilities: ArrayLike,
    grid: Grid,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours | None = None,
    method: Method | None = None,
    rng: np.random.Generator | None = None,
) -> Asked:
    """Check all that does not depend on the records."""
    if isinstance(probabilities, Grid):
        what = "must be numbers within [0, 1], given before the grid"
        raise DtypeError("probabilities", "Grid", what)
    check_grid("grid", grid)
    shares = _check.probabilities("probabilities", probabilities)
    if shares.ndim > 1 or shares.size < 1:
        what = "must be a number, or one-dimensional and not empty"
        raise ParameterError("probabilities", shares.shape, what)
    relation: Neighbours = "replace-one" if neighbours is None else neighbours
    budget = Allowance.checked(epsilon, rho, relation)
    if method is not None:
        _check.choice("method", method, Method)
    cuts = planned(np.unique(shares).tolist(), budget)
    if method == "curve":
        most_accurate(grid.size, budget)  # refuses a budget that is too small for this grid
    else:
        check_scales(cuts, budget, grid.size)
    source(rng)
    return Asked(shares, budget, method, tuple(cuts))


def _release(
    counts: NDArray[np.int64], asked: Asked, grid: Grid, rng: np.random.Generator | None
) -> Quantiles:
    budget, total = asked.budget, int(counts.sum())
    n = checked_size("values", total) if budget.total_is_public else None
    method = asked.method
    if method is None:
        few = few_drawn(grid.size, budget, n)
        method = "recursion" if asked.distinct.size <= few else "curve"
    if method == "recursion" and total > MOST_COUNTED:
        given = total if budget.total_is_public else "more"
        raise ParameterError("values", given, f"must hold at most {MOST_COUNTED} records")
    curve, used = None, most_accurate(grid.size, budget, n) if method == "curve" else None
    spent = asked.privacy_of_draws if used is None else used.privacy_for(grid.size)
    with releasing(spent, "quantiles", rng) as privacy:
        if used is None:
            cells = drawn_cells(counts, asked.cuts, source(rng))
        else:
            curve = raw_release(counts, grid, taken(used), rng).isotonic()
            cells = crossings(curve.counts, curve.n, asked.distinct)
    warn_of_quantiles(grid, asked.distinct, cells)
    places = grid.positions[cells[np.searchsorted(asked.distinct, asked.probabilities)]]
    values = float_or_array(grid.shown(places))
    shares: Any = float_or_array(asked.probabilities)
    return Quantiles(shares, values, n, privacy, method, grid=grid, curve=curve)
