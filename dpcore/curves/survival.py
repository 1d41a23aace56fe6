"""Released survival curves: Kaplan-Meier and Nelson-Aalen estimates, and who is at risk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError, amount
from ..privacy.guarantees import Privacy
from ..summaries.grid import Grid
from ..summaries.survival_counts import check_grid_of_durations
from . import forms
from .cdf import CDF
from .hazards import (
    Reals,
    area_up_to,
    at_risk,
    classes_of_row,
    first_at_or_below,
    hazards,
    read_at,
    survival_of,
)
from .own_mechanism import Releases, check_released
from .scores import MOST_SCORE_CELLS
from .shapes import float_or_array
from .shown import cost, line, short
from .stored import Stored, one_of

__all__ = ["Survival", "check_survival_grid", "deviation_of_at_risk"]

_SURE: Final = 3.0  # deviations of the noise that a number at risk has to exceed
_REPLICATES: Final = 100  # of the noise of numbers at risk: their deviations are off by 7 %


def check_survival_grid(grid: object) -> None:
    """Refuse what is no grid of durations, or too large for both classes in one row."""
    check_grid_of_durations("grid", grid)
    assert isinstance(grid, Grid)
    if grid.size > MOST_SCORE_CELLS:
        raise ParameterError("grid", grid.size, f"must have at most {MOST_SCORE_CELLS} cells")


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Survival(Stored):
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
    The estimates are those of Kaplan & Meier (1958) and of Nelson and Aalen (1978) for durations
    that are rounded up to thresholds; censorings in a cell come after its events. In between, the
    events of a cell are taken to lie evenly in it; on ``Grid.integers`` and ``Grid.days``, they lie
    at the thresholds, as in lifelines.

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
    <Survival: n = 5000, median 7.149, epsilon = 1, SIMULATED, 24 cells>
    >>> round(curve(5), 2), round(curve.restricted_mean(12), 1), curve.at_risk[:3].round()
    (0.61, 7.1, array([5000., 4343., 3802.]))
    """

    _kind = "dpcore.survival"

    grid: Grid = field(metadata=forms.GRID)
    row: CDF = field(metadata=one_of(CDF))
    at_risk_deviation: NDArray[np.float64] | None = field(
        default=None, metadata=forms.optional(forms.NUMBERS)
    )
    mechanism: Releases | None = field(default=None, metadata=forms.REMADE)

    def __post_init__(self) -> None:
        check_survival_grid(self.grid)
        _check.instance("row", self.row, CDF, "must be a CDF")
        if self.row.grid.size != 2 * self.grid.size:
            what = f"must have {2 * self.grid.size} cells"
            raise ParameterError("row", self.row.grid.size, what)
        if self.mechanism is not None:
            check_released("row", self.row, self.mechanism)
        if not self.row.is_monotone:
            object.__setattr__(self, "row", self.row.isotonic())
        if self.at_risk_deviation is None:
            bound = deviation_of_at_risk(self.row, self.grid.size, None)
            object.__setattr__(self, "at_risk_deviation", bound)
        _check.held("at_risk_deviation", self.at_risk_deviation, (self.grid.size,))

    def __repr__(self) -> str:
        cells = amount(self.grid.size, "cell")
        given = f"{cost(self.privacy)}, {cells}"
        return line(
            "Survival",
            f"n = {self.n}, median {short(self.median)}, {given}",
            f"n = {self.n}, {given}",
        )

    @property
    def n(self) -> int:
        """The number of records, which is public."""
        return self.row.n

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the release."""
        return self.row.privacy

    @property
    def times(self) -> NDArray[Any]:
        """(N,) the thresholds, read-only: floats, or timedelta64."""
        return self.grid.thresholds

    @property
    def events(self) -> Reals:
        """(N,) how many records had the event up to each threshold."""
        return self._classes()[0]

    @property
    def censored(self) -> Reals:
        """(N,) how many records were censored up to each threshold."""
        return self._classes()[1]

    @property
    def at_risk(self) -> Reals:
        """(N,) how many records are at risk at the beginning of each cell, n at first."""
        return at_risk(*self._classes(), self.n)

    @property
    def survival(self) -> Reals:
        """(N,) the Kaplan-Meier estimate at each threshold; NaN beyond ``end``."""
        survival = survival_of(self.row.counts, self.grid.size)
        known = self._known
        if known and survival[known - 1] == 0.0:
            return survival
        return np.where(np.arange(self.grid.size) < known, survival, np.nan)

    @property
    def cumulative_hazard(self) -> Reals:
        """(N,) the Nelson-Aalen estimate at each threshold; NaN beyond ``end``.

        If events of a cell lie at one time, it is the sum of events / at risk up to the cell.
        """
        events, censored = self._classes()
        hazard = np.cumsum(hazards(events, at_risk(events, censored, self.n)))
        return np.where(np.arange(self.grid.size) < self._known, hazard, np.nan)

    @property
    def end(self) -> Any:
        """The last threshold at which the curve is given; NaN, or NaT, if there is none.

        It is before the first cell where those at risk are fewer than 3 standard deviations of
        their noise, or than 1. The rule uses the release alone.
        """
        known = self._known
        position = self.grid.positions[known - 1] if known else np.nan
        return float_or_array(self.grid.shown(np.asarray(position)))

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
        return float_or_array(self._read(self.survival, self.grid.points("t", t)))

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
            The area under the curve up to ``until``; NaN, or NaT, if that is beyond ``end``.

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
        own = area_up_to(*self._line(), self._until(until), linear=self._is_linear)
        return float_or_array(self.grid.shown_differences(own))

    @property
    def _is_linear(self) -> bool:
        """Whether records lie anywhere in their cells."""
        return not self.grid.of_integers

    @property
    def _start(self) -> float:
        """Where durations begin: the end of the grid that is stated, or 0."""
        first = float(self.grid.positions[0])
        return self.grid.start if np.isfinite(self.grid.start) else min(0.0, first)

    @property
    def _known(self) -> int:
        """How many thresholds, from the first one, have enough records at risk."""
        deviation: Any = self.at_risk_deviation
        few = self.at_risk < np.maximum(1.0, _SURE * deviation)
        return int(np.argmax(few)) if few.any() else self.grid.size

    def _classes(self) -> tuple[Reals, Reals]:
        """Return cumulative events and censorings, (N,) each."""
        events, censored = classes_of_row(self.row.counts, self.grid.size)
        return events[0], censored

    def _line(self) -> tuple[Reals, Reals, float]:
        """Return thresholds, survival there, and where it is 1."""
        return self.grid.positions, self.survival, self._start

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


def deviation_of_at_risk(row: CDF, cells: int, mechanism: Releases | None) -> Reals:
    """Return the standard deviations of the noise in numbers at risk, (N,).

    They are simulated by the mechanism if it is known, and its errors are noise alone. Otherwise
    they are bounds, for any correlation of the noise in events and censorings.

    Parameters
    ----------
    row
        The released curve over (K + 1) N cells.
    cells
        N.
    mechanism
        The mechanism that released it, or None.
    """
    size = row.grid.size
    if mechanism is None or not mechanism.is_additive or row.knots is not None:
        return _bounds_of_at_risk(row.noise_deviation, cells)
    rng = np.random.default_rng(np.asarray(row.counts, np.float64).view(np.uint32))
    noise = mechanism.simulated_noise(size, _REPLICATES, rng, n=row.n)
    kinds, censored = classes_of_row(noise, cells)
    risk = at_risk(kinds.sum(axis=-2), censored, noise[:, -1:])
    return np.asarray(np.sqrt(np.mean(risk**2, axis=0)))


def _bounds_of_at_risk(deviation: Reals, cells: int) -> Reals:
    """Return sums of the deviations of all counts that a number at risk is made of, (N,)."""
    before = np.arange(1, cells)  # cells before each one but the first
    padded = np.append(0.0, deviation)
    bounds = np.zeros(cells)
    for first in range(0, deviation.size - cells, cells):
        bounds[1:] += padded[first + before] + padded[first]
    bounds[1:] += padded[deviation.size - before] + padded[-1]
    return bounds
