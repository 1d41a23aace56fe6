"""Released cumulative incidences: how many had each of several kinds of events up to a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from ..errors import ParameterError, amount
from ..records.labels import Label
from ..summaries.grid import Grid
from ..summaries.group_counts import labels_of
from . import forms
from .by_groups import LABEL
from .cdf import CDF
from .confidence import Interval, deviations
from .drawing import drawing
from .event_row import EventRow, Target
from .field_tables import Rows, text
from .frames import frame_of, labels_in_frame
from .hazards import Reals, incidence_of, read_at
from .own_mechanism import Releases
from .readings import Reading, readable, with_intervals
from .shown import axis, cost, line
from .simulated_releases import Simulation, blocks
from .stored import one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["CumulativeIncidence", "kinds_of"]


def kinds_of(kinds: Sequence[Label]) -> tuple[Label, ...]:
    """Return the public labels of kinds of events; refuse those that no JSON can hold."""
    labels = labels_of(kinds, "kinds")
    for label in labels:
        if isinstance(label, bytes) or label in (math.inf, -math.inf):
            raise ParameterError("kinds", label, "must hold strings or finite numbers")
    return labels


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class CumulativeIncidence(EventRow):
    """Released shares of records that had an event of each kind up to a time.

    ``dpcore.cumulative_incidence`` makes it. It counts the records in (K + 1) N cells, and releases
    them as one curve: the cells of each kind of event by rising durations, then those of censorings
    by falling durations. Neighbours move one record from one of these cells to another. So the
    sensitivity is that of one curve, for any number of kinds.

    Parameters
    ----------
    grid
        The public thresholds of the durations, N of them.
    kinds
        (K,) the public labels of the kinds of events.
    row
        The released curve over the (K + 1) N cells, raw or isotonic.
    at_risk_deviation
        (N,) standard deviations of the noise in the numbers at risk. None: bounds of them, from the
        deviations of the row.
    mechanism
        The mechanism or trust model that released the row; bands simulate it. None: it is not
        known.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above, or the mechanism is not the one that the row names.

    Notes
    -----
    The estimate is that of Aalen & Johansen (1978). Kaplan-Meier estimates of one kind that take
    other events as censored are too large where kinds compete. Where records lie in cells, and
    where the curves end, is as in ``Survival``.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> durations, event = rng.exponential(10, 5000), rng.choice(["cured", "dead", "lost"], 5000)
    >>> grid, kinds = dp.Grid.uniform(0, 24, 24), ["cured", "dead"]
    >>> found = dp.cumulative_incidence(durations, event, grid, kinds, epsilon=1.0, rng=rng)
    >>> found
    <CumulativeIncidence: cured, dead, n = 5000, epsilon = 1, SIMULATED, 24 cells>
    >>> found(12).round(2), round(float(found.survival[11]), 2)
    (array([0.26, 0.29]), 0.45)
    """

    _kind = "dpcore.cumulative-incidence"

    grid: Grid = field(metadata=forms.GRID)
    kinds: tuple[Any, ...] = field(metadata=forms.tuple_of(LABEL))
    row: CDF = field(metadata=one_of(CDF))
    at_risk_deviation: NDArray[np.float64] | None = field(
        default=None, metadata=forms.optional(forms.NUMBERS)
    )
    mechanism: Releases | None = field(default=None, metadata=forms.REMADE)

    def __post_init__(self) -> None:
        _check.instance("kinds", self.kinds, tuple, "must be a tuple")
        object.__setattr__(self, "kinds", kinds_of(self.kinds))
        self._check_row(kinds=len(self.kinds))

    def __repr__(self) -> str:
        known = f"n = {self.n}, {cost(self.privacy)}, {amount(self.grid.size, 'cell')}"
        return line(
            "CumulativeIncidence",
            f"{', '.join(map(str, self.kinds))}, {known}",
            f"{len(self.kinds)} kinds, {known}",
        )

    def _shape(self) -> tuple[Any, ...]:
        return *EventRow._shape(self), self.kinds

    @property
    def events(self) -> Reals:
        """(K, N) how many records had an event of each kind up to each threshold."""
        return self._kinds

    @property
    def incidence(self) -> Reals:
        """(K, N) the share with an event of each kind up to each threshold; NaN beyond ``end``."""
        return self._given(self._incidence_of(self.row.counts))

    def __call__(self, t: Any) -> Reals:
        """Return the share of records with an event of each kind up to ``t``.

        Parameters
        ----------
        t
            Durations, any shape: numbers, or durations on a grid of durations.

        Returns
        -------
        numpy.ndarray
            (K, ...) for ``t`` of the shape (...). Between thresholds, a straight line; on grids of
            whole numbers or days, the value at the threshold before. 0 before the first cell, and
            NaN beyond ``end``.

        Raises
        ------
        DtypeError, ParameterError
            ``t`` is not as above.
        """
        points, line = self._points(t), self.grid.positions
        read = [
            read_at(line, 1.0 - own, self._start, points, linear=self._is_linear)
            for own in self.incidence
        ]
        return np.asarray(1.0 - np.stack(read))

    def band(self, level: float = 0.95, *, of: Target = "records") -> Interval[Reals]:
        """Return the ends of a confidence interval for each incidence at each threshold alone.

        ``dpcore.simultaneous_band`` returns those that hold for all kinds and thresholds at once.

        Parameters
        ----------
        level
            The level of confidence, between 0 and 1.
        of
            "records": incidences of the records themselves over the same cells, so that only the
            noise is random. "population": of the population from which they were drawn
            independently, so that both are random.

        Returns
        -------
        Interval
            ``low`` and ``high``, (K, N) each, within [0, 1]; NaN beyond ``end``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the mechanism is not known.

        Notes
        -----
        200 releases of the released counts are simulated, for a population each time of a new
        sample, and processed as this one was. log(-log(1 - F)) is taken as normal, with the root
        mean square error of these releases. What a mechanism such as DAWA may have lost is added.
        Where noise in empty cells looks like more events of a kind than there are, the band is too
        high, and misses often.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 8, 2)
        >>> durations, event = rng.exponential(5, 900), rng.integers(0, 3, 900)
        >>> found = dp.cumulative_incidence(durations, event, grid, [1, 2], epsilon=1.0, rng=rng)
        >>> low, high = found.band(of="population")
        >>> found.incidence.round(2).tolist(), low.round(2).tolist(), high.round(2).tolist()
        ([[0.22, 0.35], [0.19, 0.3]], [[0.2, 0.31], [0.16, 0.27]], [[0.25, 0.38], [0.22, 0.34]])
        """
        return self._band_of(deviations(level), self._root_mean_squares(of, self._scaled))

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with a row for each kind and threshold.

        Returns
        -------
        pandas.DataFrame
            (K N, 5), with the columns ``kind``, ``time``, ``incidence``, ``survival`` and
            ``at_risk``.

        Raises
        ------
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.integers(1, 2), dp.mechanisms.NoNoise()
        >>> found = dp.cumulative_incidence([1, 1, 2, 2], [1, 0, 2, 1], grid, [1, 2], exact)
        >>> print(found.to_frame())
           kind  time  incidence  survival  at_risk
        0     1   1.0      0.250      0.75      4.0
        1     1   2.0      0.625      0.00      2.0
        2     2   1.0      0.000      0.75      4.0
        3     2   2.0      0.375      0.00      2.0
        """
        kinds = len(self.kinds)
        return frame_of(
            {
                "kind": labels_in_frame([kind for kind in self.kinds for _ in self.times]),
                "time": np.tile(self.times, kinds),
                "incidence": self.incidence.ravel(),
                "survival": np.tile(self.survival, kinds),
                "at_risk": np.tile(self.at_risk, kinds),
            }
        )

    def _readings(self, level: float) -> list[Rows]:
        def at_end(place: int) -> Reading:
            last = max(self._known - 1, 0)
            low, high = (end[place, last] for end in self.band(level, of="population"))
            name = f"incidence of {self.kinds[place]} up to {text(self.end)}, of the population"
            return name, self.incidence[place, last], (low, high)

        reads = (partial(at_end, place) for place in range(len(self.kinds)))
        return [with_intervals(level, readable(reads))]

    @drawing
    def plot(self, ax: Axes | None = None, *, stacked: bool = False, **style: Any) -> Axes:
        """Draw the incidence of each kind. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes. None: new ones.
        stacked
            Whether the incidences are drawn on top of each other, so that what is left up to 1 is
            survival. Otherwise each is a line.
        **style
            Passed on to ``Axes.plot``, or to ``Axes.stackplot``.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        DtypeError, MissingExtraError
            An argument is not as above, or Matplotlib is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.integers(1, 3), dp.mechanisms.NoNoise()
        >>> found = dp.cumulative_incidence([1, 1, 2, 3], [1, 0, 2, 1], grid, [1, 2], exact)
        >>> ax = found.plot()
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['1', '2']
        """
        from .legible import legend, named
        from .plots import axes, corner, drawable, shortly

        _check.flag("stacked", stacked)
        ax = axes(ax)
        known = self._known
        x, unit = axis(self.grid, np.append(self._start, self.grid.positions[:known]))
        shares = np.pad(self.incidence[:, :known], ((0, 0), (1, 0)))
        names = [drawable(str(kind)) for kind in self.kinds]
        if stacked:
            steps: Any = {"step": "post"} if self.grid.of_integers else {}
            ax.stackplot(x, shares, labels=names, **{**steps, **style})
        else:
            for at, name in enumerate(names):
                self._draw(ax, at, **{"label": name, **style})
        named(ax, f"duration ({unit})" if unit else "duration", "share with the event up to then")
        ax.set_ylim(0.0, 1.02)
        place = "upper left" if stacked else corner(x, shares.max(axis=0))
        for entry in legend(ax, place, title=shortly(self.privacy)).get_texts():
            entry.set_parse_math(False)  # a dollar sign in a label is no mathematics
        return ax

    def _draw(self, ax: Axes, at: int, **style: Any) -> str:
        """Draw the incidence of the kind at a place up to ``end``; return the unit of the axis."""
        known = self._known
        x, unit = axis(self.grid, np.append(self._start, self.grid.positions[:known]))
        where: Any = {"drawstyle": "steps-post"} if self.grid.of_integers else {}
        ax.plot(x, np.append(0.0, self.incidence[at, :known]), **{**where, **style})
        return unit

    def _band_of(self, width: float, errors: Reals) -> Interval[Reals]:
        """Return the ends of intervals that reach so many errors on either side, (K, N) each."""
        reach, shares = width * errors, self._incidence_of(self.row.counts)
        middle = _transformed(shares, self.n)
        ends = (-np.expm1(-np.exp(middle + sign * reach)) for sign in (-1, 1))
        # Without any error, a share near 0 or 1 is exact.
        low, high = (np.where(errors > 0.0, end, shares) for end in ends)
        return Interval(*map(self._given, (np.minimum(low, shares), np.maximum(high, shares))))

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
        """Return the ends of a band for all kinds and thresholds at once, (K, N) each."""
        of: Target = "population" if sampling else "records"
        draw = Simulation.of_population if sampling else Simulation.of_records
        errors = self._root_mean_squares(of, self._scaled, simulation)
        inner = (np.arange(self.grid.size) < self._known) & (errors > 0.0)
        true, worst = self._scaled(simulation.truth), np.zeros(replicates)
        if inner.any():
            for some in blocks(replicates, simulation.truth.size):
                drawn = self._scaled(draw(simulation, some.stop - some.start, rng))
                worst[some] = np.max(np.abs(drawn - true)[:, inner] / errors[inner], axis=1)
        return self._band_of(float(np.quantile(worst, level, method="higher")), errors)

    def _scaled(self, row: NDArray[Any]) -> Reals:
        """Return what is taken as normal, (..., K, N), from monotone counts of the row."""
        return _transformed(self._incidence_of(row), self.n)

    def _incidence_of(self, row: NDArray[Any]) -> Reals:
        """Return incidences at thresholds, (..., K, N), from monotone counts of the row."""
        return incidence_of(row, self.grid.size, whole=self.grid.of_integers)


def _transformed(shares: Reals, n: int) -> Reals:
    """Return log(-log(1 - F)), for F at least a quarter of a record from 0 and from 1."""
    least = 0.25 / n
    return np.asarray(np.log(-np.log1p(-np.clip(shares, least, 1.0 - least))))
