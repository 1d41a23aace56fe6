"""Released scores and durations: how well a survival model ranks records, and fits their risks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from ..curves import forms
from ..curves.confidence import Interval, deviations
from ..curves.drawing import drawing
from ..curves.event_row import Target, check_event_grid, errors_of, start_of
from ..curves.field_tables import Rows, text
from ..curves.frames import frame_of
from ..curves.own_mechanism import Releases, check_released
from ..curves.readings import Reading, readable, with_intervals
from ..curves.shown import cost, line, picture, short
from ..curves.simulated_releases import Simulation
from ..curves.stored import Stored, one_of
from ..curves.table import Table
from ..errors import ParameterError
from ..privacy.guarantees import Privacy
from ..summaries.grid import Grid, edges_of
from ..summaries.table_grid import in_a_row
from .binning import share
from .scored_durations import area_of, cases_and_controls, concordance_of, survival_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["RatesAtTime", "RiskCalibration", "SurvivalScores"]

Reals = NDArray[np.float64]

_MOST_BINS: Final = 256


class RatesAtTime(NamedTuple):
    """A ROC curve at a time, (S + 1,) each, as scikit-learn's ``roc_curve`` has them.

    Records with scores above a threshold are predicted to have the event up to the time. Thresholds
    descend to -infinity.

    Examples
    --------
    >>> from dpcore.statistics import RatesAtTime
    >>> fpr, tpr, thresholds = RatesAtTime([0.0, 0.2], [0.0, 0.7], [1.0, 0.5])
    >>> tpr[1], thresholds[1]
    (0.7, 0.5)
    """

    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    thresholds: NDArray[np.float64]


class RiskCalibration(NamedTuple):
    """Predicted and observed risks up to a time, (B,) each, in bins of scores.

    Parameters
    ----------
    predicted
        The mean scores.
    observed
        The shares with the event up to the time, by Kaplan-Meier estimates in each bin.
    low, high
        The ends of confidence intervals for them; NaN where the mechanism is not known.
    counts
        The released numbers of records.

    Examples
    --------
    >>> from dpcore.statistics import RiskCalibration
    >>> found = RiskCalibration([0.1, 0.3], [0.2, 0.25], [0.1, 0.2], [0.3, 0.3], [200, 210])
    >>> found.observed
    [0.2, 0.25]
    """

    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counts: NDArray[np.float64]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class SurvivalScores(Stored):
    """Released scores of a survival model, with the durations and events of the same records.

    ``dpcore.survival_scores`` makes it. It counts each record in one of 2 S N cells: those of its
    score, its duration, and whether it ended with the event. So one release answers all below.

    Parameters
    ----------
    grid
        The public thresholds of the durations, N of them.
    table
        The released table: S cells of scores, times 2 N numbered cells, of events by rising
        durations, then of censorings by falling ones. It is made isotonic if it is raw.
    mechanism
        The mechanism that released the table; intervals simulate it. None: it is not known.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above, or the mechanism is not the one that the table names.

    Notes
    -----
    Higher scores mean earlier events. A time, ``until``, is within the grid. On ``Grid.integers``
    and ``Grid.days``, records lie at thresholds, and on others evenly in their cells, as in
    ``Survival``. Scores of one cell are ties, which pull areas and concordance towards 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.random(20_000)
    >>> until_event, censoring = rng.exponential(-1 / np.log1p(-risk)), rng.uniform(0, 2, 20_000)
    >>> durations, event = np.minimum(until_event, censoring), until_event <= censoring
    >>> found = dp.survival_scores(durations, event, risk, (0, 1), epsilon=1.0, rng=rng)
    >>> found
    <SurvivalScores: concordance 0.7528, n = 20000, epsilon = 1, SIMULATED, 32 x 8 cells>
    >>> round(found.auc(1.0), 2), found.calibration(1.0, bins=3).observed.round(2)
    (0.84, array([0.17, 0.49, 0.83]))
    """

    _kind = "dpcore.survival-scores"

    grid: Grid = field(metadata=forms.GRID)
    table: Table = field(metadata=one_of(Table))
    mechanism: Releases | None = field(default=None, metadata=forms.REMADE)

    def __post_init__(self) -> None:
        check_event_grid(self.grid, kinds=1)
        _check.instance("table", self.table, Table, "must be a Table")
        numbered = Grid.integers(1, 2 * self.grid.size)
        if self.table.grid.y != numbered or self.table.row.grid.size != self.table.grid.size:
            what = f"must have {numbered.size} numbered cells along y, and no records outside"
            raise ParameterError("table", self.table.grid.y.size, what)
        if self.mechanism is not None:
            check_released("table", self.table.row, self.mechanism)
        if not self.table.row.is_monotone:
            if self.table.row.processing:
                raise ParameterError("table", self.table.row.processing, "must be raw or isotonic")
            object.__setattr__(self, "table", self.table.isotonic())

    def __repr__(self) -> str:
        cells = f"{self.score_grid.size} x {self.grid.size} cells"
        told = f"concordance {self.concordance:.4g}, n = {self.n}, {cost(self.privacy)}, {cells}"
        return line("SurvivalScores", told)

    def _repr_html_(self) -> str:
        fpr, tpr, _ = self.roc()
        if np.isnan(fpr + tpr).any():
            return escape(repr(self))
        below = f"false positive rate at {short(self._last)}, to 1"
        return picture(repr(self)[1:-1], fpr, tpr, None, ("0", below))

    @property
    def n(self) -> int:
        """The number of records, which is public."""
        return self.table.n

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the release."""
        return self.table.privacy

    @property
    def score_grid(self) -> Grid:
        """The public thresholds of the scores, S of them."""
        return self.table.grid.x

    @property
    def events(self) -> Reals:
        """(S, N) how many records with each score had the event in each cell of durations."""
        return self._cells[0]

    @property
    def censored(self) -> Reals:
        """(S, N) how many records with each score were censored in each cell of durations."""
        return self._cells[1]

    @property
    def concordance(self) -> float:
        """The share of comparable pairs in which the higher score had the event first.

        This is the index of Harrell et al. (1982), with ties counted by half, of events within the
        grid: ``concordance_index`` of lifelines, with negative scores, and
        ``concordance_index_censored`` of scikit-survival.
        """
        return float(self._concordance_of(*self._cells))

    def concordance_interval(
        self, level: float = 0.95, *, of: Target = "records"
    ) -> Interval[float]:
        """Return a confidence interval for the concordance.

        Parameters
        ----------
        level
            The level of confidence, between 0 and 1.
        of
            "records": of the records themselves over the same cells, so that only the noise is
            random. "population": of the population from which they were drawn independently, so
            that both are random.

        Returns
        -------
        Interval
            ``low`` and ``high``: 0 and 1 where noise leaves no comparable pair. NaN if there is
            none without noise.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the mechanism is not known.

        Notes
        -----
        200 releases of the released counts are simulated, for a population each time of a new
        sample. The log odds are taken as normal, with the root mean square error of these releases.
        If noise is the only error, they are those of raw counts, as isotonic regression moves them
        towards 0 in all releases; the interval reaches to the released value. What ties in cells
        cost is not in it. With a few tens of records, or a large epsilon, at which most noise is
        0, it covers somewhat too seldom.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> scores, event = rng.random(5000), np.ones(5000)
        >>> durations = rng.exponential(np.exp(-scores))
        >>> found = dp.survival_scores(durations, event, scores, (0, 2), epsilon=1.0, rng=rng)
        >>> round(found.concordance, 3), found.concordance_interval(of="population")
        (0.59, Interval(low=0.5786006, high=0.6055295))
        """
        return self._interval(level, of, self._concordance_of)

    def roc(self, until: Any = None) -> RatesAtTime:
        """Return the ROC curve of scores for the event up to a time, allowing for censoring.

        Parameters
        ----------
        until
            A duration within the grid. None: the last threshold; on grids of whole numbers or days
            the one before, as nobody is known to be a control at the last one.

        Returns
        -------
        RatesAtTime
            ``fpr``, ``tpr`` and ``thresholds``, (S + 1,) each; NaN for a class without records.

        Raises
        ------
        DtypeError, ParameterError
            ``until`` is not as above.

        Notes
        -----
        Cumulative cases and dynamic controls (Heagerty, Lumley & Pepe 2000): records with the event
        up to the time against those still at risk. Cases have inverse weights of the Kaplan-Meier
        estimate of censoring (Uno et al. 2007), from the same release.

        Examples
        --------
        >>> import dpcore as dp
        >>> grids, exact = (dp.Grid.integers(1, 4), dp.Grid([0.5, 1.0])), dp.mechanisms.NoNoise()
        >>> records = [1, 2, 3, 4], [1, 1, 1, 0], [0.9, 0.2, 0.7, 0.1]
        >>> found = dp.survival_scores(*records, *grids, exact)
        >>> fpr, tpr, thresholds = found.roc(2)
        >>> fpr.tolist(), tpr.tolist(), thresholds.tolist()
        ([0.0, 0.5, 1.0], [0.0, 0.5, 1.0], [1.0, 0.5, -inf])
        """
        classes = self._cases_and_controls(*self._cells, self._cells_up_to(until))
        rates = []
        for each in classes:
            above = np.append(0.0, np.cumsum(each[::-1]))
            rates.append(above / above[-1] if above[-1] > 0.0 else np.full_like(above, np.nan))
        thresholds = np.append(self.score_grid.positions[::-1], -np.inf)
        return RatesAtTime(rates[1], rates[0], thresholds)

    def auc(self, until: Any = None) -> float:
        """Return the area under ``roc``: ``cumulative_dynamic_auc`` of scikit-survival.

        Parameters
        ----------
        until
            As in ``roc``.

        Returns
        -------
        float
            NaN if a class has no records.

        Raises
        ------
        DtypeError, ParameterError
            ``until`` is not as in ``roc``.

        Examples
        --------
        >>> import dpcore as dp
        >>> grids, exact = (dp.Grid.integers(1, 4), dp.Grid([0.5, 1.0])), dp.mechanisms.NoNoise()
        >>> records = [1, 2, 3, 4], [1, 1, 1, 0], [0.9, 0.2, 0.7, 0.1]
        >>> found = dp.survival_scores(*records, *grids, exact)
        >>> found.auc(1), found.auc(2), found.auc()
        (0.8333333333333334, 0.5, 0.8333333333333334)
        """
        return float(self._auc_of(*self._cells, self._cells_up_to(until)))

    def auc_interval(
        self, until: Any = None, level: float = 0.95, *, of: Target = "records"
    ) -> Interval[float]:
        """Return a confidence interval for the area, as ``concordance_interval`` does.

        Parameters
        ----------
        until
            As in ``roc``.
        level, of
            As in ``concordance_interval``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the mechanism is not known.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> scores, event = rng.random(5000), np.ones(5000)
        >>> durations = rng.exponential(np.exp(-scores))
        >>> found = dp.survival_scores(durations, event, scores, (0, 2), epsilon=1.0, rng=rng)
        >>> round(found.auc(1), 3), found.auc_interval(1, of="population")
        (0.702, Interval(low=0.6629133, high=0.7326143))
        """
        cells = self._cells_up_to(until)
        return self._interval(level, of, partial(self._auc_of, cells=cells))

    def calibration(
        self, until: Any = None, bins: int = 5, level: float = 0.95, *, of: Target = "population"
    ) -> RiskCalibration:
        """Return predicted risks beside observed ones, in bins with about as many records each.

        Parameters
        ----------
        until
            As in ``roc``: the time up to which the scores predict the risk.
        bins
            The number of bins, which are made of whole cells of scores; there may be fewer.
        level, of
            Of the intervals, as in ``concordance_interval``.

        Returns
        -------
        RiskCalibration
            Bins in which less than one record is at risk at the time have NaN.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or scores are no probabilities: ``score_grid`` is not
            within [0, 1].

        Notes
        -----
        Observed risks are 1 - S of Kaplan-Meier in each bin, as in D'Agostino & Nam (2003), which
        needs no weights if censoring is independent within bins. Every score is taken as the middle
        of its cell, or, on ``Grid.integers``, as its threshold.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> risk, event = rng.random(5000), np.ones(5000)
        >>> durations = rng.exponential(-1 / np.log1p(-risk))
        >>> found = dp.survival_scores(durations, event, risk, (0, 1), epsilon=1.0, rng=rng)
        >>> predicted, observed, *_ = found.calibration(1, bins=2)
        >>> predicted.round(2), observed.round(2)
        (array([0.25, 0.75]), array([0.26, 0.76]))
        """
        cells, bins = self._cells_up_to(until), _check.integer("bins", bins, 1, _MOST_BINS)
        width = deviations(level)
        _check.choice("of", of, Target)
        edges = edges_of(self.score_grid)
        least = edges[1:] if self.score_grid.of_integers else edges[:-1]
        lowest, largest = least[0] if np.isfinite(least[0]) else edges[1], edges[-1]
        if not 0.0 <= lowest <= largest <= 1.0:
            given = float(lowest), float(largest)
            raise ParameterError("score_grid", given, "must be within [0, 1]")
        middles = (np.maximum(least, 0.0) + edges[1:]) / 2
        counts = self.table.counts.sum(axis=1)
        starts = _starts_of_bins(counts, bins)

        def read(events: Reals, censored: Reals) -> Reals:
            joined = [np.add.reduceat(each, starts, axis=-2) for each in (events, censored)]
            return 1.0 - survival_at(joined[0], joined[1], cells, whole=self.grid.of_integers)

        observed, in_bins = read(*self._cells), np.add.reduceat(counts, starts)
        low = high = np.full(observed.size, np.nan)
        if self.mechanism is not None:
            guessed = self._of_rows(lambda *both: _guessed(read(*both)))
            simulation = self._simulation()
            reach = width * errors_of(simulation, of, guessed)
            middle = guessed(simulation.curve.counts.astype(np.float64))
            low = np.clip(np.minimum(middle - reach, observed), 0.0, 1.0)
            high = np.clip(np.maximum(middle + reach, observed), 0.0, 1.0)
        predicted = share(np.add.reduceat(counts * middles, starts), in_bins)
        return RiskCalibration(predicted, observed, low, high, in_bins)

    def to_frame(self, until: Any = None) -> DataFrame:
        """Return a pandas DataFrame with a row for each cell of scores.

        Parameters
        ----------
        until
            As in ``roc``.

        Returns
        -------
        pandas.DataFrame
            (S, 5), with the columns ``threshold``, ``events`` and ``censored`` of the cell, and
            ``fpr`` and ``tpr`` of the scores above the threshold.

        Raises
        ------
        DtypeError, ParameterError
            ``until`` is not as in ``roc``.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> grids, exact = (dp.Grid.integers(1, 4), dp.Grid([0.5, 1.0])), dp.mechanisms.NoNoise()
        >>> records = [1, 2, 3, 4], [1, 1, 1, 0], [0.9, 0.2, 0.7, 0.1]
        >>> print(dp.survival_scores(*records, *grids, exact).to_frame(2))
           threshold  events  censored  fpr  tpr
        0        0.5     1.0       1.0  0.5  0.5
        1        1.0     2.0       0.0  0.0  0.0
        """
        return frame_of(self._columns(until))

    def _columns(self, until: Any = None) -> Mapping[str, Any]:
        fpr, tpr, thresholds = self.roc(until)
        return {
            "threshold": thresholds[-2::-1],
            "events": self.events.sum(axis=1),
            "censored": self.censored.sum(axis=1),
            "fpr": fpr[-2::-1],
            "tpr": tpr[-2::-1],
        }

    def _choices(self) -> Mapping[str, Any]:
        return {"grid": self.grid, "n": self.n, "mechanism": self.table.row.mechanism}

    def _readings(self, level: float) -> list[Rows]:
        def concordance() -> Reading:
            ends = self.concordance_interval(level, of="population")
            return "concordance, of the population", self.concordance, ends

        def area() -> Reading:
            ends = self.auc_interval(level=level, of="population")
            return f"area at {text(self._last)}, of the population", self.auc(), ends

        return [with_intervals(level, readable([concordance, area]))]

    @drawing
    def plot(self, ax: Axes | None = None, *, until: Any = None, **line: Any) -> Axes:
        """Draw ``roc`` with its area and the diagonal. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones.
        until
            As in ``roc``.
        **line
            Passed on to ``Axes.plot``; ``label`` is the text in the legend.

        Examples
        --------
        >>> import dpcore as dp
        >>> grids, exact = (dp.Grid.integers(1, 4), dp.Grid([0.5, 1.0])), dp.mechanisms.NoNoise()
        >>> records = [1, 2, 3, 4], [1, 1, 1, 0], [0.9, 0.2, 0.7, 0.1]
        >>> found = dp.survival_scores(*records, *grids, exact)
        >>> print(found.plot(until=2).get_legend().get_texts()[1].get_text())
        not private,
        AUC at 2 = 0.500
        """
        from ..curves.plots import plot_path, shortly

        fpr, tpr, _ = self.roc(until)
        at = short(self._last if until is None else until)
        name = f"{shortly(self.privacy)},\nAUC at {at} = {self.auc(until):.3f}"
        nothing = (fpr, tpr), (fpr, tpr)
        return plot_path(fpr, tpr, nothing, name, ax=ax, covered="", style=line)

    @property
    def _cells(self) -> tuple[Reals, Reals]:
        """(S, N) events and censorings, by ascending scores and durations."""
        return _by_durations(self.table.counts)

    @property
    def _last(self) -> Any:
        """The time that is meant if none is given."""
        whole = self.grid.of_integers and self.grid.size > 1
        return self.grid.thresholds[-2 if whole else -1]

    def _cells_up_to(self, until: Any) -> float:
        """Return how many cells of durations there are up to a time, with a part of the last."""
        if until is None:
            until = self._last
        point, positions = self.grid.points("until", until), self.grid.positions
        start = start_of(self.grid)
        if point.ndim or not start <= point <= positions[-1]:
            raise ParameterError("until", until, "must be one duration within the grid")
        position = float(point)
        if self.grid.of_integers:
            return float(np.searchsorted(positions, position, side="right"))
        edges = np.append(start, positions)
        if start == positions[0]:  # the first cell has no width
            edges = np.append(-np.inf, positions)
        return float(np.interp(position, edges, np.arange(edges.size, dtype=np.float64)))

    def _concordance_of(self, events: Reals, censored: Reals) -> Reals:
        return concordance_of(events, censored, whole=self.grid.of_integers)

    def _cases_and_controls(
        self, events: Reals, censored: Reals, cells: float
    ) -> tuple[Reals, Reals]:
        return cases_and_controls(events, censored, cells, whole=self.grid.of_integers)

    def _auc_of(self, events: Reals, censored: Reals, cells: float) -> Reals:
        return area_of(*self._cases_and_controls(events, censored, cells))

    def _simulation(self) -> Simulation:
        """Return the simulation of the table's row: of the raw one, if noise is its only error."""
        row, mechanism = self.table.row, self.mechanism
        if mechanism is None:
            what = "must be given, as its noise is simulated: SurvivalScores takes it"
            raise ParameterError("mechanism", None, what)
        if row.raw is not None and mechanism.is_additive and row.knots is None:
            row = replace(row, counts=row.raw, processing=(), raw=None)
        return Simulation(row, mechanism)

    def _of_rows(self, read: Callable[[Reals, Reals], Reals]) -> Callable[[Reals], Reals]:
        """Return what is read from cumulative counts of the table's row, (..., 2 S N)."""
        order, shape = in_a_row(self.table.grid.shape), self.table.grid.shape

        def of_rows(rows: Reals) -> Reals:
            cells = np.empty_like(rows)
            cells[..., order] = np.diff(rows, axis=-1, prepend=0.0)
            return read(*_by_durations(cells.reshape(*rows.shape[:-1], *shape)))

        return of_rows

    def _interval(
        self, level: float, of: Target, read: Callable[[Reals, Reals], Reals]
    ) -> Interval[float]:
        """Return an interval of a share whose log odds are taken as normal."""
        width, least = deviations(level), 0.25 / self.n

        def log_odds(events: Reals, censored: Reals) -> Reals:
            share = np.clip(_guessed(read(events, censored)), least, 1.0 - least)
            return np.asarray(np.log(share / (1.0 - share)))[..., np.newaxis]

        simulation, read_rows = self._simulation(), self._of_rows(log_odds)
        found, error = float(read(*self._cells)), float(errors_of(simulation, of, read_rows)[0])
        if np.isnan(found) and simulation.curve.noise_deviation.any():
            return Interval(0.0, 1.0)
        if error == 0.0 or np.isnan(found):  # without any, a share near 0 or 1 is exact
            return Interval(found, found)
        middle = read_rows(simulation.curve.counts.astype(np.float64))[0]
        ends = [float(1.0 / (1.0 + np.exp(-middle - sign * width * error))) for sign in (-1, 1)]
        return Interval(min(ends[0], found), max(ends[1], found))


def _guessed(shares: Reals) -> Reals:
    """Return shares of simulated releases; where one is unknown, it is as wrong as a guess."""
    return np.nan_to_num(shares, nan=0.5)


def _by_durations(counts: Reals) -> tuple[Reals, Reals]:
    """Return events and censorings, (..., S, N), by ascending durations, from those of a table."""
    events, falling = np.split(counts, 2, axis=-1)
    return events, falling[..., ::-1]


def _starts_of_bins(counts: Reals, bins: int) -> NDArray[np.intp]:
    """Return the first cells of bins that hold about as many records each."""
    total = np.cumsum(counts)
    targets = total[-1] * np.arange(1, bins) / bins
    middles = total - counts / 2  # a cell is in the bin that has its middle
    return np.unique(np.append(0, np.searchsorted(middles, targets)).clip(max=counts.size - 1))
