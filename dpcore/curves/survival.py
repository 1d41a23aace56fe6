"""Released survival curves: Kaplan-Meier and Nelson-Aalen estimates, and who is at risk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from ..errors import ParameterError, amount
from ..summaries.grid import Grid
from . import forms
from .cdf import CDF
from .confidence import Interval, deviations, in_percent
from .drawing import drawing
from .event_row import EventRow, Target
from .field_tables import Rows, text
from .frames import frame_of
from .hazards import Reals, area_up_to, first_at_or_below, hazards, log_survival, read_at
from .own_mechanism import REPLICATES, Releases
from .readings import Reading, readable, with_intervals
from .shapes import float_or_array
from .shown import axis, cost, line, picture, short
from .simulated_releases import Simulation, blocks
from .stored import one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["Survival"]


class _Scale(NamedTuple):
    """What bands are computed with, at each threshold.

    Parameters
    ----------
    middle
        (N,) the transformed curve.
    errors
        (N,) root mean squares of its errors.
    draw
        Takes a number of rows and a generator, and simulates so many errors, (rows, N).
    back
        From the transformed scale to survival.
    """

    middle: Reals
    errors: Reals
    draw: Callable[[int, np.random.Generator], Reals]
    back: Callable[[Reals], Reals]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Survival(EventRow):
    """A released survival curve: of durations that end with an event or are censored.

    ``dpcore.survival`` makes it. It counts the records in 2 N cells, and releases them as one
    curve: first the cells of events, by rising durations, then those of censorings, by falling
    durations. Neighbours move one record from one of the 2 N cells to another, whatever happens to
    its duration and its event. So the sensitivity is that of one curve. Events are the beginning of
    the row, censorings its end, and those at risk what lies between: three counts that never
    decrease, or never increase, if the row is monotone, as it is made by least squares.

    Parameters
    ----------
    grid
        The public thresholds of the durations, N of them.
    row
        The released curve over the 2 N cells, raw or isotonic.
    at_risk_deviation
        (N,) standard deviations of the noise in the numbers at risk. None: bounds of them, from the
        deviations of the row.
    mechanism
        The mechanism or trust model that released the row; intervals simulate it. None: it is not
        known.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above, or the mechanism is not the one that the row names.

    Notes
    -----
    On ``Grid.integers`` and ``Grid.days``, records lie at thresholds, and the estimates are those
    of Kaplan & Meier (1958) and of Nelson and Aalen (1978): censorings come after the events of
    their cell. On other grids, records lie evenly in their cells. Then half of the censorings of a
    cell count as at risk in it, as in life tables (Cutler & Ederer 1958), but for the last cell,
    whose censorings lie at its end; and survival is a straight line within cells.

    The curve ends where those at risk cannot be told from noise: before the first cell with fewer
    than 3 standard deviations of their noise, or with fewer than 1. Hazards are not divided by
    such numbers. ``end`` is that threshold, and estimates beyond it are NaN. If all had the event
    before, survival stays 0.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> until_event, censoring = rng.exponential(10, 5000), rng.uniform(0, 30, 5000)
    >>> durations, event = np.minimum(until_event, censoring), until_event <= censoring
    >>> curve = dp.survival(durations, event, dp.Grid.uniform(0, 24, 24), epsilon=1.0, rng=rng)
    >>> curve
    <Survival: n = 5000, median 7.03, epsilon = 1, SIMULATED, 24 cells>
    >>> round(curve(5), 2), round(curve.restricted_mean(12), 1), curve.at_risk[:3].round()
    (0.61, 7.0, array([5000., 4343., 3802.]))
    """

    _kind = "dpcore.survival"

    grid: Grid = field(metadata=forms.GRID)
    row: CDF = field(metadata=one_of(CDF))
    at_risk_deviation: NDArray[np.float64] | None = field(
        default=None, metadata=forms.optional(forms.NUMBERS)
    )
    mechanism: Releases | None = field(default=None, metadata=forms.REMADE)

    def __post_init__(self) -> None:
        self._check_row(kinds=1)

    def __repr__(self) -> str:
        cells = amount(self.grid.size, "cell")
        given = f"{cost(self.privacy)}, {cells}"
        median = self.median
        told = short(median) if median == median else "not reached"  # NaN and NaT
        return line(
            "Survival",
            f"n = {self.n}, median {told}, {given}",
            f"n = {self.n}, {given}",
        )

    @property
    def events(self) -> Reals:
        """(N,) how many records had the event up to each threshold."""
        return np.asarray(self._kinds[0])

    @property
    def cumulative_hazard(self) -> Reals:
        """(N,) the Nelson-Aalen estimate at each threshold; NaN beyond ``end``.

        If events of a cell lie at one time, it is the sum of events / at risk up to the cell.
        """
        own = hazards(self.events, self.censored, self.n, whole=self.grid.of_integers)
        hazard = np.cumsum(np.clip(own, 0.0, 1.0))
        return np.where(np.arange(self.grid.size) < self._known, hazard, np.nan)

    def __call__(self, t: Any) -> Any:
        """Return the share of records without the event up to ``t``, of the shape of ``t``.

        Parameters
        ----------
        t
            Durations, any shape: numbers, or durations on a grid of durations.

        Returns
        -------
        float or numpy.ndarray
            Between thresholds, a straight line; on grids of whole numbers or days, the value at
            the threshold before. 1 before the first cell, and NaN beyond ``end``.

        Raises
        ------
        DtypeError, ParameterError
            ``t`` is not as above.
        """
        return float_or_array(self._read(self.survival, self._points(t)))

    def quantile(self, p: Any) -> Any:
        """Return the times up to which a share ``p`` of the records had the event.

        Parameters
        ----------
        p
            Probabilities within [0, 1], any shape: survival is 1 - p at the time.

        Returns
        -------
        float or numpy.ndarray
            Of the shape of ``p``: the first time with survival at most 1 - p, within a cell as in
            ``__call__``. NaN, or NaT, if survival does not fall so far up to ``end``.

        Raises
        ------
        DtypeError, ParameterError
            ``p`` is not within [0, 1].

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 8, 4), dp.mechanisms.NoNoise()
        >>> curve = dp.survival([1, 3, 5, 7], [1, 1, 1, 0], grid, exact)
        >>> curve.quantile([0.25, 0.5, 0.9])
        array([ 2.,  4., nan])
        """
        shares = _check.probabilities("p", p)
        survival = self.survival
        places = [self._reached(survival, 1.0 - share) for share in shares.ravel().tolist()]
        return float_or_array(self.grid.shown(np.reshape(places, shares.shape)))

    @property
    def median(self) -> Any:
        """The time up to which half of the records had the event: ``quantile(0.5)``."""
        return self.quantile(0.5)

    def restricted_mean(self, until: Any) -> Any:
        """Return the mean duration until the event or ``until``, whichever is first.

        Parameters
        ----------
        until
            A duration within the grid.

        Returns
        -------
        float or numpy.timedelta64
            The area under the curve from 0 to ``until``; NaN, or NaT, if that is beyond ``end``.

        Raises
        ------
        DtypeError, ParameterError
            ``until`` is not one duration within the grid.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 8, 4), dp.mechanisms.NoNoise()
        >>> curve = dp.survival([1, 3, 5, 7], [1, 1, 1, 1], grid, exact)
        >>> curve.restricted_mean(4), curve.restricted_mean(8)
        (3.0, 4.0)
        """
        own = self._start + self._area(self.survival, self._until(until))
        return float_or_array(self.grid.shown_differences(own))

    def band(self, level: float = 0.95, *, of: Target = "records") -> Interval[Reals]:
        """Return the ends of a confidence interval for survival at each threshold alone.

        ``dpcore.simultaneous_band`` returns those that hold at all thresholds at once.

        Parameters
        ----------
        level
            The level of confidence, between 0 and 1.
        of
            "records": survival of the records themselves over the same cells, so that only the
            noise is random. "population": of the population from which they were drawn
            independently, so that both are random.

        Returns
        -------
        Interval
            ``low`` and ``high``, (N,) each, within [0, 1]; NaN beyond ``end``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the mechanism is not known.

        Notes
        -----
        200 releases of the released counts are simulated; half-widths are root mean square errors
        times those of a normal law. For records, they are around the raw log S, whose error is
        noise alone, and reach to the curve: isotonic regression moves curves alike in all releases.
        For a population, each release is of a new sample and processed as this one was, and
        log(-log S) is taken as normal, as in Kalbfleisch & Prentice (1980). So its errors contain
        the variance of Greenwood, and that of the noise. The band of the records is inside. What a
        mechanism such as DAWA may have lost is added (``dpcore.interval``).
        docs/measured/survival.md has the coverage. One curve always has one band. For a population,
        there should be 10 events or more, and as many records at risk. At a large epsilon, where
        most noise is 0, a band may miss by a single record.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(3), dp.Grid.uniform(0, 8, 4)
        >>> curve = dp.survival(rng.exponential(5, 900), np.ones(900), grid, epsilon=1.0, rng=rng)
        >>> low, high = curve.band()
        >>> wide = curve.band(of="population")
        >>> curve.survival.round(2), (high - low).round(2)
        (array([0.67, 0.46, 0.32, 0.2 ]), array([0.01, 0.02, 0.02, 0.01]))
        >>> (wide.high - wide.low).round(2)
        array([0.06, 0.07, 0.07, 0.06])
        """
        _check.choice("of", of, Target)
        simulation, width = self._simulation(), deviations(level)

        def band(sampling: bool) -> Interval[Reals]:
            return self._band_of(width, self._scale(simulation, sampling=sampling))

        return _around_records(band, sampling=of == "population")

    def interval(self, t: Any, level: float = 0.95, *, of: Target = "records") -> Interval[Any]:
        """Return confidence intervals for survival at times: those of ``band``, read as the curve.

        Parameters
        ----------
        t
            As in ``__call__``.
        level, of
            As in ``band``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the mechanism is not known.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 8, 4)
        >>> curve = dp.survival(rng.exponential(5, 900), np.ones(900), grid, epsilon=1.0, rng=rng)
        >>> round(curve(3), 2), [round(end, 2) for end in curve.interval(3, of="population")]
        (0.56, [0.53, 0.6])
        """
        points = self._points(t)
        band = self.band(level, of=of)
        return Interval(*(float_or_array(self._read(end, points)) for end in band))

    def quantile_interval(
        self, p: Any, level: float = 0.95, *, of: Target = "records"
    ) -> Interval[Any]:
        """Return confidence intervals for the times up to which a share ``p`` had the event.

        Parameters
        ----------
        p
            As in ``quantile``.
        level, of
            As in ``band``.

        Returns
        -------
        Interval
            Where the ends of ``band`` fall to 1 - p (Brookmeyer & Crowley 1982). An upper end that
            is not reached up to ``end`` is NaN, or NaT; so is that of a population's last event.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the mechanism is not known.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 8, 8)
        >>> curve = dp.survival(rng.exponential(5, 900), np.ones(900), grid, epsilon=1.0, rng=rng)
        >>> curve.quantile_interval(0.5, of="population")
        Interval(low=3.128053, high=3.815303)
        """
        shares = _check.probabilities("p", p)
        band = self.band(level, of=of)
        ends = [
            np.reshape([self._reached(end, 1.0 - share) for share in shares.ravel()], shares.shape)
            for end in band
        ]
        if of == "population":  # it may have later events than all records of a sample
            ends[1][shares == 1.0] = np.nan
        return Interval(*(float_or_array(self.grid.shown(end)) for end in ends))

    def restricted_mean_interval(
        self, until: Any, level: float = 0.95, *, of: Target = "records"
    ) -> Interval[Any]:
        """Return a confidence interval for the restricted mean.

        Parameters
        ----------
        until
            As in ``restricted_mean``.
        level, of
            As in ``band``.

        Returns
        -------
        Interval
            The log odds of the mean's share of ``until`` are taken as normal, with the root mean
            square error of simulated releases. NaN, or NaT, beyond ``end``. Where noise in empty
            cells looks like more events than there are, it is too low, and misses often.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the mechanism is not known.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 8, 8)
        >>> curve = dp.survival(rng.exponential(5, 900), np.ones(900), grid, epsilon=1.0, rng=rng)
        >>> curve.restricted_mean_interval(6, of="population")
        Interval(low=3.364761, high=3.655744)
        """
        width, position = deviations(level), self._until(until)
        area, length = self._area(self.survival, position), position - self._start

        def read(row: Reals) -> Reals:
            return self._log_odds(self._area(self._survival_of(row), position), length)

        error = self._root_mean_squares(of, lambda row: read(row)[:, np.newaxis])[0]
        middle = self._log_odds(area, length)
        ends = [area]
        if error > 0.0:  # without any, a share near 0 or 1 is exact
            ends += [length / (1.0 + np.exp(-middle - sign * width * error)) for sign in (-1, 1)]
        found = (np.asarray(self._start + end(ends)) for end in (np.min, np.max))
        return Interval(*(float_or_array(self.grid.shown_differences(end)) for end in found))

    def to_frame(self, level: float = 0.95, *, of: Target = "records") -> DataFrame:
        """Return the curve as a pandas DataFrame with a row for each threshold.

        Parameters
        ----------
        level, of
            As in ``band``.

        Returns
        -------
        pandas.DataFrame
            (N, 8), with the columns ``time``, ``at_risk``, ``events`` and ``censored`` up to it,
            ``survival``, ``low`` and ``high``, and ``cumulative_hazard``. Where the mechanism is
            not known, ``low`` and ``high`` are left out.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.integers(1, 3), dp.mechanisms.NoNoise()
        >>> curve = dp.survival([1, 2, 2, 3], [1, 1, 0, 0], grid, exact)
        >>> print(curve.to_frame()[["time", "at_risk", "events", "survival"]])
           time  at_risk  events  survival
        0   1.0      4.0     1.0      0.75
        1   2.0      3.0     2.0      0.50
        2   3.0      1.0     2.0      0.50
        """
        band = self._known_band(level, of)
        columns = {
            "time": self.times,
            "at_risk": self.at_risk,
            "events": self.events,
            "censored": self.censored,
            "survival": self.survival,
            **({} if band is None else band._asdict()),
            "cumulative_hazard": self.cumulative_hazard,
        }
        return frame_of(columns)

    def _readings(self, level: float) -> list[Rows]:
        def median() -> Reading:
            ends = self.quantile_interval(0.5, level, of="population")
            return "median, of the population", self.median, ends

        def at_end() -> Reading:
            ends = self.interval(self.end, level, of="population")
            return f"survival at {text(self.end)}, of the population", self(self.end), ends

        return [with_intervals(level, readable([median, at_end]))]

    @drawing
    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        of: Target = "population",
        band: Interval[Any] | None = None,
        **line: Any,
    ) -> Axes:
        """Draw survival with its band, and numbers at risk below it; needs the extra ``plot``.

        Several curves on the same axes get a row of numbers each, in the colours of their lines.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones.
        level, of
            Of the band, as in ``band``. None is drawn where the mechanism is not known.
        band
            The ends of another band, each (N,), from ``dpcore.simultaneous_band`` with this level.
            None: that of ``band``.
        **line
            Passed on to ``Axes.plot``. ``label`` is the text in the legend.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 8, 8)
        >>> curve = dp.survival(rng.exponential(5, 900), np.ones(900), grid, epsilon=1.0, rng=rng)
        >>> ax = curve.plot()
        >>> [text.get_text() for text in ax.texts if text.get_text()]
        ['at risk', '900', '738', '609', '491', '402', '329', '271', '218']
        """
        from .plots import plot_survival, shortly

        ends = self._known_band(level, of)
        if band is not None:
            _check.instance("band", band, Interval, "must be None or an Interval")
            for end in band:
                _check.held("band", end, (self.grid.size,))
            ends = band
        at = np.append(self._start, self.grid.positions)
        x, unit = axis(self.grid, at)
        around = None if ends is None else (np.append(1.0, ends.low), np.append(1.0, ends.high))
        known = self._known  # numbers at risk are of starts of cells, or of their only values
        places, risk = (x if self._is_linear else x[1:])[:known], self.at_risk[:known]

        def number(place: float) -> str:
            if not known or place > places[-1]:
                return ""
            if self._is_linear:
                return f"{np.interp(place, places, risk):.0f}"
            rounded = np.nextafter(place, -np.inf)  # as ticks are
            return f"{risk[np.searchsorted(places, rounded)]:.0f}"

        covered = "whole curve" if band is not None else of
        ax = plot_survival(
            x,
            np.append(1.0, self.survival),
            around,
            number,
            shortly(self.privacy),
            linear=self._is_linear,
            ax=ax,
            covered=f"{in_percent(level)} band, {covered}",
            style=line,
        )
        if unit:
            ax.set_xlabel(f"duration in {unit}")
        return ax

    def _known_band(self, level: float, of: Target) -> Interval[Reals] | None:
        """Return the band, or None where the mechanism is not known, as of sums of other curves."""
        deviations(level)
        _check.choice("of", of, Target)
        return None if self.mechanism is None else self.band(level, of=of)

    def _repr_html_(self) -> str:
        at, survival = np.append(self._start, self.grid.positions), np.append(1.0, self.survival)
        known = np.isfinite(survival)
        ends = self.grid.shown(at[[0, -1]])
        shown = np.where(known, survival, survival[known][-1])
        return picture(repr(self)[1:-1], at, shown, None, (short(ends[0]), short(ends[1])))

    def _restricted_mean(self, until: Any, of: Target) -> tuple[float, float]:
        """Return the restricted mean and its root mean square error, as positions."""
        position = self._until(until)

        def read(row: Reals) -> Reals:
            return self._area(self._survival_of(row), position)[:, np.newaxis]

        error = self._root_mean_squares(of, read)[0]
        return self._start + float(self._area(self.survival, position)), float(error)

    def _scale(self, simulation: Simulation, *, sampling: bool) -> _Scale:
        """Return the scale on which bands have the same reach on both sides.

        For records, where noise alone is the error, it is that of raw log S: isotonic regression
        moves curves alike in all releases, so that those around a processed one would miss the
        truth too often. Otherwise it is that of log(-log S).
        """
        is_raw = not sampling and simulation.is_additive and self.row.knots is None
        if is_raw:
            raw = self.row.counts if self.row.raw is None else self.row.raw
            middle, true = self._log_survival(raw), self._log_survival(simulation.truth)

            def draw(rows: int, rng: np.random.Generator) -> Reals:
                noise = simulation.of_noise(rows, rng)
                return self._log_survival(simulation.truth + noise) - true

        else:
            middle = self._transformed(self.row.counts)
            true = self._transformed(simulation.truth)
            release = Simulation.of_population if sampling else Simulation.of_records

            def draw(rows: int, rng: np.random.Generator) -> Reals:
                return self._transformed(release(simulation, rows, rng)) - true

        rng, squares = simulation.generator(), np.zeros(self.grid.size)
        for some in blocks(REPLICATES, simulation.truth.size):
            squares += np.sum(draw(some.stop - some.start, rng) ** 2, axis=0)
        if simulation.loses_records:
            lost = simulation.of_losses(REPLICATES, rng)
            squares += np.sum((self._transformed(lost) - true) ** 2, axis=0)
        back = _of_log if is_raw else _of_log_log
        return _Scale(middle, np.sqrt(squares / REPLICATES), draw, back)

    def _band_of(self, width: float, scale: _Scale) -> Interval[Reals]:
        """Return the ends of intervals that reach so many errors on either side, (N,) each."""
        survival, reach = self._survival_of(self.row.counts), width * scale.errors
        ends = [survival]
        for sign in (-1, 1):  # without any error, survival near 0 or 1 is exact
            end = scale.back(scale.middle + sign * reach)
            ends.append(np.where(scale.errors > 0.0, end, survival))
        low, high = np.min(ends, axis=0), np.max(ends, axis=0)
        known = np.isfinite(self._given(survival))
        return Interval(np.where(known, low, np.nan), np.where(known, high, np.nan))

    def _released_row(self) -> tuple[CDF, Releases | None]:
        return self.row, self.mechanism

    def _band_of_simulations(
        self,
        simulation: Simulation,
        level: float,
        replicates: int,
        rng: np.random.Generator,
        *,
        sampling: bool,
    ) -> Interval[Reals]:
        """Return the ends of a band that holds at all thresholds at once, (N,) each."""

        def band(sampling: bool) -> Interval[Reals]:
            scale = self._scale(simulation, sampling=sampling)
            inner = (np.arange(self.grid.size) < self._known) & (scale.errors > 0.0)
            worst = np.zeros(replicates)
            if inner.any():
                for some in blocks(replicates, simulation.truth.size):
                    moved = np.abs(scale.draw(some.stop - some.start, rng)[:, inner])
                    worst[some] = np.max(moved / scale.errors[inner], axis=1)
            return self._band_of(float(np.quantile(worst, level, method="higher")), scale)

        return _around_records(band, sampling=sampling)

    def _log_survival(self, row: NDArray[Any]) -> Reals:
        """Return log S at thresholds, (..., N), from counts of the row that may be raw."""
        return log_survival(row, self.grid.size, whole=self.grid.of_integers)

    def _transformed(self, row: NDArray[Any]) -> Reals:
        """Return log(-log S) from monotone counts, for S a quarter of a record within (0, 1)."""
        least = 0.25 / self.n
        survival = np.clip(self._survival_of(row), least, 1.0 - least)
        return np.asarray(np.log(-np.log(survival)))

    def _log_odds(self, area: Reals, length: float) -> Reals:
        """Return log odds of areas' shares of a length, a quarter of a record within (0, 1)."""
        least = 0.25 / self.n
        share = np.clip(area / length if length > 0.0 else np.zeros_like(area), least, 1.0 - least)
        return np.asarray(np.log(share / (1.0 - share)))

    def _area(self, survival: Reals, until: float) -> Reals:
        """Return areas under curves that are given at thresholds, (..., N) to (...)."""
        given = self.grid.positions, survival, self._start, until
        return area_up_to(*given, linear=self._is_linear)

    def _read(self, survival: Reals, points: Reals) -> Reals:
        """Return a curve that is given at thresholds, (N,), at points of any shape."""
        given = self.grid.positions, survival, self._start, points
        return read_at(*given, linear=self._is_linear)

    def _reached(self, survival: Reals, level: float) -> float:
        """Return where a curve that is given at thresholds, (N,), first falls to a level."""
        given = self.grid.positions, survival, level, self._start
        return first_at_or_below(*given, linear=self._is_linear)

    def _until(self, until: Any) -> float:
        """Return a duration within the grid as a position."""
        point = self.grid.points("until", until)
        first, last = self._start, float(self.grid.positions[-1])
        if point.ndim or not first <= point <= last:
            raise ParameterError("until", until, "must be one duration within the grid")
        return float(point)


def _around_records(band: Callable[[bool], Interval[Reals]], *, sampling: bool) -> Interval[Reals]:
    """Return a band with or without sampling; with it, the band of the records is inside.

    Isotonic regression sees events where there are none, and moves the band of a population away.
    """
    wide = band(sampling)
    if not sampling:
        return wide
    own = band(False)
    return Interval(np.minimum(own.low, wide.low), np.maximum(own.high, wide.high))


def _of_log(log: Reals) -> Reals:
    return np.exp(np.minimum(log, 0.0))


def _of_log_log(transformed: Reals) -> Reals:
    return np.exp(-np.exp(transformed))
