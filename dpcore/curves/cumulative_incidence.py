"""Released cumulative incidences: how many had each of several kinds of events up to a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError, amount
from ..privacy.guarantees import Privacy
from ..summaries.grid import MOST_CELLS, Grid
from ..summaries.group_counts import labels_of
from ..summaries.survival_counts import check_grid_of_durations
from . import forms
from .by_groups import LABEL
from .cdf import CDF
from .confidence import Interval, deviations
from .hazards import Reals, at_risk, classes_of_row, read_at
from .incidence import incidence_of
from .own_mechanism import Releases, check_released
from .shapes import float_or_array
from .shown import axis, cost, line
from .simulated_releases import Simulation, root_mean_square_errors
from .stored import Stored, one_of
from .survival import deviation_of_at_risk

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["CumulativeIncidence", "check_incidence_grid"]

_SURE: Final = 3.0  # deviations of the noise that a number at risk has to exceed


def check_incidence_grid(grid: object, kinds: int) -> None:
    """Refuse what is no grid of durations, or too large for all kinds and censorings in one row."""
    check_grid_of_durations("grid", grid)
    assert isinstance(grid, Grid)
    if (kinds + 1) * grid.size > MOST_CELLS:
        most = MOST_CELLS // (kinds + 1)
        raise ParameterError("grid", grid.size, f"must have at most {most} cells for {kinds} kinds")


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class CumulativeIncidence(Stored):
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
        object.__setattr__(self, "kinds", labels_of(self.kinds, "kinds"))
        check_incidence_grid(self.grid, len(self.kinds))
        _check.instance("row", self.row, CDF, "must be a CDF")
        cells = (len(self.kinds) + 1) * self.grid.size
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
        _check.held("at_risk_deviation", self.at_risk_deviation, (self.grid.size,))

    def __repr__(self) -> str:
        known = f"n = {self.n}, {cost(self.privacy)}, {amount(self.grid.size, 'cell')}"
        return line(
            "CumulativeIncidence",
            f"{', '.join(map(str, self.kinds))}, {known}",
            f"{len(self.kinds)} kinds, {known}",
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
        """(K, N) how many records had an event of each kind up to each threshold."""
        return classes_of_row(self.row.counts, self.grid.size)[0]

    @property
    def censored(self) -> Reals:
        """(N,) how many records were censored up to each threshold."""
        return classes_of_row(self.row.counts, self.grid.size)[1]

    @property
    def at_risk(self) -> Reals:
        """(N,) how many records are at risk at the beginning of each cell, n at first."""
        return at_risk(self.events.sum(axis=0), self.censored, self.n)

    @property
    def incidence(self) -> Reals:
        """(K, N) the share with an event of each kind up to each threshold; NaN beyond ``end``."""
        return self._given(self._estimates(self.row.counts)[..., :-1, :])

    @property
    def survival(self) -> Reals:
        """(N,) the share without any event up to each threshold; NaN beyond ``end``."""
        return self._given(self._estimates(self.row.counts)[..., -1, :])

    @property
    def end(self) -> Any:
        """The last threshold at which the curves are given, as in ``Survival``: NaN if none."""
        known = self._known
        position = self.grid.positions[known - 1] if known else np.nan
        return float_or_array(self.grid.shown(np.asarray(position)))

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
        points = _check.doubles(self.grid.points("t", t))
        first = float(self.grid.positions[0])
        start = self.grid.start if np.isfinite(self.grid.start) else min(0.0, first)
        linear = not self.grid.of_integers
        read = [
            read_at(self.grid.positions, 1.0 - own, start, points, linear=linear)
            for own in self.incidence
        ]
        return np.asarray(1.0 - np.stack(read))

    def band(
        self, level: float = 0.95, *, of: Literal["records", "population"] = "records"
    ) -> Interval[Reals]:
        """Return the ends of a confidence interval for each incidence at each threshold alone.

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
        width = deviations(level)
        _check.choice("of", of, Literal["records", "population"])
        if self.mechanism is None:
            what = "must be given, as its noise is simulated: CumulativeIncidence takes it"
            raise ParameterError("mechanism", None, what)
        simulation = Simulation(self.row, self.mechanism)
        draws = [Simulation.of_records if of == "records" else Simulation.of_population]
        draws += [Simulation.of_losses] if simulation.loses_records else []

        def read(row: Reals) -> Reals:
            return _transformed(self._estimates(row)[..., :-1, :], self.n)

        errors = [root_mean_square_errors([simulation], read, draw=draw) for draw in draws]
        reach = width * np.sqrt(np.sum(np.square(errors), axis=0))
        shares = self._estimates(self.row.counts)[:-1]
        middle = _transformed(shares, self.n)
        low = np.minimum(-np.expm1(-np.exp(middle - reach)), shares)
        high = np.maximum(-np.expm1(-np.exp(middle + reach)), shares)
        return Interval(self._given(low), self._given(high))

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with a row for each threshold.

        Returns
        -------
        pandas.DataFrame
            (N, K + 3), with the columns ``time``, one of each kind with its incidence, ``survival``
            and ``at_risk``.

        Raises
        ------
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.integers(1, 3), dp.mechanisms.NoNoise()
        >>> found = dp.cumulative_incidence([1, 1, 2, 3], [1, 0, 2, 1], grid, [1, 2], exact)
        >>> print(found.to_frame())
           time      1      2  survival  at_risk
        0   1.0  0.250  0.000     0.750      4.0
        1   2.0  0.250  0.375     0.375      2.0
        2   3.0  0.625  0.375     0.000      1.0
        """
        pandas = _check.extra("pandas", "to_frame", "dask")
        own = {str(kind): row for kind, row in zip(self.kinds, self.incidence, strict=True)}
        ends = {"survival": self.survival, "at_risk": self.at_risk}
        frame: DataFrame = pandas.DataFrame({"time": self.times, **own, **ends})
        return frame

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
            Passed on to ``Axes.step``, or to ``Axes.stackplot``.

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
        from .plots import axes, drawable, shortly

        _check.flag("stacked", stacked)
        ax = axes(ax)
        known = self._known
        given, unit = axis(self.grid, self.grid.positions)
        shares = np.pad(self.incidence[:, :known], ((0, 0), (1, 0)))
        first = (
            min(0.0, float(given[0]))
            if np.isinf(self.grid.start)
            else axis(self.grid, np.array([self.grid.start]))[0][0]
        )
        x = np.append(first, given[:known])
        names = [drawable(str(kind)) for kind in self.kinds]
        if stacked:
            steps: Any = {"step": "post"} if self.grid.of_integers else {}
            ax.stackplot(x, shares, labels=names, **{**steps, **style})
        else:
            for name, own in zip(names, shares, strict=True):
                if self.grid.of_integers:
                    ax.step(x, own, where="post", **{"label": name, **style})
                else:
                    ax.plot(x, own, **{"label": name, **style})
        ax.set_xlabel(f"duration ({unit})" if unit else "duration")
        ax.set_ylabel("share with the event up to then")
        ax.set_ylim(0.0, 1.02)
        legend = ax.legend(loc="upper left", title=shortly(self.privacy), framealpha=0.9)
        for text in legend.get_texts():
            text.set_parse_math(False)  # a dollar sign in a label is no mathematics
        return ax

    @property
    def _known(self) -> int:
        """How many thresholds, from the first one, have enough records at risk."""
        deviation: Any = self.at_risk_deviation
        few = self.at_risk < np.maximum(1.0, _SURE * deviation)
        return int(np.argmax(few)) if few.any() else self.grid.size

    def _estimates(self, row: NDArray[Any]) -> Reals:
        """Return incidences, and survival in the last line, (..., K + 1, N), from counts."""
        incidence, survival = incidence_of(row, self.grid.size, whole=self.grid.of_integers)
        return np.concatenate([incidence, survival[..., np.newaxis, :]], axis=-2)

    def _given(self, shares: Reals) -> Reals:
        """Return shares, (..., N), up to the end; if all had an event before, they stay."""
        known = self._known
        left = self._estimates(self.row.counts)[-1]
        if known and left[known - 1] == 0.0:
            return shares
        return np.where(np.arange(self.grid.size) < known, shares, np.nan)


def _transformed(shares: Reals, n: int) -> Reals:
    """Return log(-log(1 - F)), for F at least a quarter of a record from 0 and from 1."""
    least = 0.25 / n
    return np.asarray(np.log(-np.log1p(-np.clip(shares, least, 1.0 - least))))
