"""What all curves of durations share: one released row of events and censorings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Literal, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DpcoreWarning, ParameterError
from ..privacy.guarantees import Privacy
from ..summaries.grid import MOST_CELLS, Grid
from ..summaries.survival_counts import check_grid_of_durations
from . import forms, groups
from .cdf import CDF
from .hazards import Reals, at_risk, classes_of_row, survival_of
from .own_mechanism import Releases, SumOfReleases, check_released
from .shapes import float_or_array
from .simulated_releases import Simulation, blocks, root_mean_square_errors
from .stored import Stored

__all__ = [
    "EventRow",
    "Target",
    "added_up",
    "check_alike",
    "check_event_grid",
    "deviation_of_at_risk",
    "errors_of",
    "of_group",
    "start_of",
]

Target = Literal["records", "population"]
_Row = TypeVar("_Row", bound="EventRow")

_SURE: Final = 3.0  # deviations of the noise that a number at risk has to exceed
_REPLICATES: Final = 100  # of the noise of numbers at risk: their deviations are off by 7 %
_FEW: Final = 2**14  # cells up to which deviations are kept, so that they take some MB at most


def check_event_grid(grid: object, kinds: int) -> None:
    """Refuse what is no grid of durations, or too large for all classes in one row."""
    check_grid_of_durations("grid", grid)
    assert isinstance(grid, Grid)
    most = MOST_CELLS // (kinds + 1)
    if grid.size > most:
        what = f"must have at most {most} cells with {kinds} kinds of events"
        raise ParameterError("grid", grid.size, what)


class EventRow(Stored):
    """A released row of cells: those of each kind of event by rising durations, then censorings.

    A base of frozen dataclasses with the fields ``grid``, ``row``, ``at_risk_deviation`` and
    ``mechanism``.
    """

    __slots__ = ()

    grid: Grid
    row: CDF
    at_risk_deviation: NDArray[np.float64] | None
    mechanism: Releases | None

    def _check_row(self, kinds: int) -> None:
        """Refuse fields that do not fit; make the row monotone, and fill in bounds of its noise."""
        check_event_grid(self.grid, kinds)
        _check.instance("row", self.row, CDF, "must be a CDF")
        cells = (kinds + 1) * self.grid.size
        if self.row.grid.size != cells:
            raise ParameterError("row", self.row.grid.size, f"must have {cells} cells")
        if self.mechanism is not None:
            check_released("row", self.row, self.mechanism)
        if not self.row.is_monotone:
            if self.row.processing:
                raise ParameterError("row", self.row.processing, "must be raw, or must not fall")
            object.__setattr__(self, "row", self.row.isotonic())
        if self.at_risk_deviation is None:
            bound = deviation_of_at_risk(self.row, self.grid.size, None)
            object.__setattr__(self, "at_risk_deviation", bound)
        deviation: Any = self.at_risk_deviation
        _check.held("at_risk_deviation", deviation, (self.grid.size,))
        is_known = (deviation >= 0.0) & ((deviation <= forms.MOST) | (deviation == np.inf))
        if not is_known.all():
            first = float(deviation[np.argmin(is_known)])
            what = f"must be from 0 to {forms.MOST:g}, or infinite"
            raise ParameterError("at_risk_deviation", first, what)

    @property
    def n(self) -> int:
        """The number of records: public, or, of a group, released under add-or-remove-one."""
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
    def censored(self) -> Reals:
        """(N,) how many records were censored up to each threshold."""
        return classes_of_row(self.row.counts, self.grid.size)[1]

    @property
    def at_risk(self) -> Reals:
        """(N,) how many records are at risk at the beginning of each cell, n at first."""
        return at_risk(self._kinds.sum(axis=0), self.censored, self.n)

    @property
    def least_at_risk(self) -> Reals:
        """(N,) the fewest records at risk with which a cell counts: see ``end``."""
        deviation: Any = self.at_risk_deviation
        return np.asarray(np.maximum(1.0, _SURE * deviation))

    @property
    def survival(self) -> Reals:
        """(N,) the share without any event up to each threshold; NaN beyond ``end``."""
        return self._given(self._survival_of(self.row.counts))

    @property
    def end(self) -> Any:
        """The last threshold at which the curve is given; NaN, or NaT, if there is none.

        It is before the first cell where those at risk are fewer than 3 standard deviations of
        their noise, or than 1. The rule uses the release alone.
        """
        known = self._known
        position = self.grid.positions[known - 1] if known else np.nan
        return float_or_array(self.grid.shown(np.asarray(position)))

    def _shape(self) -> tuple[Any, ...]:
        """Return what curves that can be added up have in common."""
        return type(self), self.grid, self.grid.start, self.grid.of_integers

    def _choices(self) -> Mapping[str, Any]:
        return {"grid": self.grid, "n": self.n, "mechanism": self.row.mechanism}

    @property
    def _kinds(self) -> Reals:
        """(K, N) how many records had an event of each kind up to each threshold."""
        return classes_of_row(self.row.counts, self.grid.size)[0]

    @property
    def _is_linear(self) -> bool:
        """Whether records lie anywhere in their cells."""
        return not self.grid.of_integers

    @property
    def _start(self) -> float:
        """Where durations begin: the end of the grid that is stated, or 0."""
        return start_of(self.grid)

    @property
    def _known(self) -> int:
        """How many thresholds, from the first one, have enough records at risk."""
        few = self.at_risk < self.least_at_risk
        return int(np.argmax(few)) if few.any() else self.grid.size

    def _given(self, shares: Reals) -> Reals:
        """Return shares, (..., N), up to the end; if all had an event before, they stay."""
        known = self._known
        if known and self._survival_of(self.row.counts)[known - 1] == 0.0:
            return shares
        return np.where(np.arange(self.grid.size) < known, shares, np.nan)

    def _survival_of(self, row: NDArray[Any]) -> Reals:
        """Return survival at thresholds, (..., N), from monotone counts of the row."""
        return survival_of(row, self.grid.size, whole=self.grid.of_integers)

    def _points(self, t: Any) -> Reals:
        """Return durations of a user as positions."""
        return _check.doubles(self.grid.points("t", t))

    def _simulation(self) -> Simulation:
        """Return the simulation of the row."""
        if self.mechanism is None:
            what = f"must be given, as its noise is simulated: {type(self).__name__} takes it"
            raise ParameterError("mechanism", None, what)
        return Simulation(self.row, self.mechanism)

    def _root_mean_squares(
        self, of: Target, read: Callable[[Reals], Reals], simulation: Simulation | None = None
    ) -> Reals:
        """Return the errors of what is read from simulated rows, bias and spread in one."""
        return errors_of(self._simulation() if simulation is None else simulation, of, read)


def start_of(grid: Grid) -> float:
    """Return where durations begin: the end of the grid that is stated, or 0."""
    return grid.start if np.isfinite(grid.start) else min(0.0, float(grid.positions[0]))


def errors_of(simulation: Simulation, of: Target, read: Callable[[Reals], Reals]) -> Reals:
    """Return the root mean square errors of what is read from simulated rows.

    Bias, spread and what the release has lost are in one.
    """
    _check.choice("of", of, Target)
    draws = [Simulation.of_records if of == "records" else Simulation.of_population]
    draws += [Simulation.of_losses] if simulation.loses_records else []
    errors = [root_mean_square_errors([simulation], read, draw=draw) for draw in draws]
    return np.asarray(np.sqrt(np.sum(np.square(errors), axis=0)))


def of_group(curve: _Row) -> _Row:
    """Return the curve of a group, for which a replaced record stays in its group."""
    row = groups.of_group(curve.row)
    if row is curve.row:
        return curve
    found: _Row = replace(curve, row=row)  # type: ignore[type-var]  # its subclasses are dataclasses
    return found


def check_alike(curves: Sequence[EventRow]) -> None:
    """Refuse curves that cannot be added up."""
    first = curves[0]
    for curve in curves:
        _check.instance("curves", curve, EventRow, "must all be curves of durations")
        if curve._shape() != first._shape():
            what = f"must all be a {type(first).__name__} over one grid, of the same kinds"
            raise ParameterError("curves", curve, what)


def added_up(curves: Sequence[_Row], row: CDF) -> _Row:
    """Return the curve of a row that is the sum of those of curves of disjoint records.

    Its mechanism is known if those of all curves are.
    """
    first = curves[0]
    used: SumOfReleases | None = None
    parts = tuple(curve.mechanism for curve in curves if curve.mechanism is not None)
    if len(parts) == len(curves):
        used = SumOfReleases(parts, tuple(curve.n for curve in curves), row.mechanism)
    deviation = deviation_of_at_risk(row, first.grid.size, used)
    given: Any = {"row": row, "at_risk_deviation": deviation, "mechanism": used}
    found: _Row = replace(first, **given)  # type: ignore[type-var]  # its subclasses are dataclasses
    return found


def deviation_of_at_risk(row: CDF, cells: int, mechanism: Releases | None) -> Reals:
    """Return the standard deviations of the noise in numbers at risk, (N,).

    They are simulated by the mechanism if it is known, and its errors are noise alone: from public
    numbers, so that they are kept for other releases of it. Otherwise, or if that fails, they are
    bounds, for any correlation of the noise in events and censorings.

    Parameters
    ----------
    row
        The released curve over (K + 1) N cells.
    cells
        N.
    mechanism
        The mechanism that released it, or None.
    """
    if mechanism is None or row.knots is not None:
        return _bounds_of_at_risk(row.noise_deviation, cells)
    size = row.grid.size
    try:
        if mechanism.is_additive:
            if size <= _FEW and _is_key(mechanism):
                return _kept_deviation(mechanism, size, cells, row.n)
            return _simulated_deviation(mechanism, size, cells, row.n)
    except Exception as error:  # a mechanism of one's own, and the release is already paid for
        what = f"{type(mechanism).__name__} could not simulate its noise ({error!r}): numbers at"
        warnings.warn(f"{what} risk have bounds of their noise", DpcoreWarning, stacklevel=2)
    return _bounds_of_at_risk(row.noise_deviation, cells)


def _is_key(mechanism: Releases) -> TypeGuard[Hashable]:
    """Return whether a mechanism can be looked up: all of its fields, too."""
    try:
        hash(mechanism)
    except TypeError:
        return False
    return True


def _simulated_deviation(mechanism: Releases, size: int, cells: int, n: int) -> Reals:
    """Return deviations of the noise in numbers at risk, (N,), of rows of a size."""
    squares = np.zeros(cells)
    rng = np.random.default_rng(0)  # the noise is that of no release, so its seed may be known
    for some in blocks(_REPLICATES, size):
        noise = mechanism.simulated_noise(size, some.stop - some.start, rng, n=n)
        kinds, censored = classes_of_row(noise, cells)
        risk = at_risk(kinds.sum(axis=-2), censored, noise[:, -1:])
        squares += np.sum(risk**2, axis=0)
    deviation = np.asarray(np.sqrt(squares / _REPLICATES))
    deviation.flags.writeable = False
    return deviation


_kept_deviation = lru_cache(maxsize=64)(_simulated_deviation)


def _bounds_of_at_risk(deviation: Reals, cells: int) -> Reals:
    """Return sums of the deviations of all counts that a number at risk is made of, (N,)."""
    before = np.arange(1, cells)  # cells before each one but the first
    padded = np.append(0.0, deviation)
    bounds = np.zeros(cells)
    bounds[0] = padded[-1]  # of n: 0 where it is public
    for first in range(0, deviation.size - cells, cells):
        bounds[1:] += padded[first + before] + padded[first]
    bounds[1:] += padded[deviation.size - before] + padded[-1]
    return bounds
