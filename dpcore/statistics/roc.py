"""ROC curves, and precision against recall, from the released scores of both classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves import forms
from ..curves.cdf import CDF
from ..curves.confidence import (
    Interval,
    around,
    deviations,
    deviations_of_noise,
    from_neighbours,
    rising,
)
from ..curves.drawing import drawing
from ..curves.field_tables import Rows
from ..curves.frames import frame_of
from ..curves.own_mechanism import Releases, check_released
from ..curves.readings import Reading, readable, with_intervals
from ..curves.scores import ScoreCurves
from ..curves.shown import cost, line, picture
from ..curves.stored import Stored, one_of
from ..errors import ParameterError
from ..privacy.guarantees import Privacy
from .areas import BucketedScores, Ties
from .binning import share
from .classifier import precision_interval, recall_interval
from .share_intervals import neighbours_of, released_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame
    from sklearn.metrics import RocCurveDisplay

__all__ = ["ROC", "Band", "PrecisionRecall", "PrecisionRecallBand"]

_MOST_CELLS_IN_A_LEGEND: Final = 2**16  # of more, the interval of an area takes seconds


class Band(NamedTuple):
    """The ends of confidence intervals for both rates, each (N + 1,)."""

    fpr_low: NDArray[np.float64]
    fpr_high: NDArray[np.float64]
    tpr_low: NDArray[np.float64]
    tpr_high: NDArray[np.float64]


class PrecisionRecallBand(NamedTuple):
    """The ends of confidence intervals for precision and recall, each (N + 1,)."""

    precision_low: NDArray[np.float64]
    precision_high: NDArray[np.float64]
    recall_low: NDArray[np.float64]
    recall_high: NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ROC(Stored):
    """A receiver operating characteristic: the true positive rate against the false positive rate.

    Made by ``from_curves``. Everything is post-processing of the curves, and is computed when it is
    first used. If a released class has no records, its rate is 0/0, which is NaN, and so is the
    area.

    Parameters
    ----------
    curves
        The released scores, which are not changed: raw curves give rates that may leave [0, 1].
    mechanism
        The mechanism or trust model that released the curves; intervals simulate it. None: it is
        not known.

    Raises
    ------
    DtypeError, ParameterError
        The mechanism is not the one that the curves name, or the curves were smoothed.

    Notes
    -----
    The points are those of scikit-learn's ``roc_curve`` with ``drop_intermediate=False``: one for
    every threshold, in descending order, and one more. In scikit-learn, a score >= threshold is
    predicted positive, and the additional threshold is +inf. Here, a score > threshold is predicted
    positive, because cells are open on the left, and the additional threshold is -inf. So the
    points are the same, and a threshold here is the next lower one there.
    ``fpr, tpr, thresholds = roc`` unpacks the curve like scikit-learn's triple, with these
    thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(2000)
    >>> roc = dp.roc_curve(rng.random(2000) < scores, scores, epsilon=1.0, rng=rng)
    >>> round(roc.auc, 2)
    0.83
    >>> fpr, tpr, thresholds = roc
    >>> fpr.size, round(float(tpr[fpr <= 0.2].max()), 2)
    (27, 0.62)
    """

    _kind = "dpcore.roc"

    curves: ScoreCurves = field(metadata=one_of(ScoreCurves))
    mechanism: Releases | None = field(default=None, metadata=forms.REMADE)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        """Yield ``fpr``, ``tpr`` and ``thresholds``, the triple of scikit-learn's ``roc_curve``."""
        return iter((self.fpr, self.tpr, self.thresholds))

    def __repr__(self) -> str:
        return line("ROC", f"area {self.auc:.4g}, n = {self.n}, {cost(self.privacy)}")

    def _repr_html_(self) -> str:
        if np.isnan(self.auc):
            return escape(repr(self))
        return picture(
            repr(self)[1:-1], self.fpr, self.tpr, None, ("0", "false positive rate, to 1")
        )

    def __post_init__(self) -> None:
        _check.instance("curves", self.curves, ScoreCurves, "must be ScoreCurves")
        if self.mechanism is not None:
            check_released("curves", self.curves.joint, self.mechanism)

    @classmethod
    def from_curves(cls, curves: ScoreCurves, mechanism: Releases | None = None) -> ROC:
        """Return the ROC curve of released scores, which are made monotone first if they are not.

        Parameters
        ----------
        curves
            Raw or processed curves.
        mechanism
            The mechanism that released the curves, if it is known; the interval of the area is then
            much shorter. ``dpcore.mechanisms.from_curve(curves.joint)`` makes it again from the
            description in the release.

        Raises
        ------
        DtypeError, ParameterError
            ``curves`` are not ScoreCurves, or ``mechanism`` is not a mechanism, or not the one that
            the curves name.

        Examples
        --------
        >>> import dpcore as dp
        >>> from dpcore.statistics.roc import ROC
        >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> grid = dp.Grid.uniform(0, 1, 10)
        >>> roc = ROC.from_curves(dp.score_curves(labels, scores, grid, dp.mechanisms.NoNoise()))
        >>> roc.auc
        0.875
        >>> fpr, tpr, thresholds = roc
        >>> fpr[5:9], tpr[5:9]
        (array([0. , 0. , 0.5, 0.5]), array([0.5, 0.5, 1. , 1. ]))
        """
        _check.instance("curves", curves, ScoreCurves, "must be ScoreCurves")
        return cls(curves if curves.joint.is_monotone else curves.isotonic(), mechanism)

    @property
    def n(self) -> int:
        """The number of records: ``ScoreCurves.n``."""
        return self.curves.n

    @property
    def privacy(self) -> Privacy:
        """The cost of the release."""
        return self.curves.privacy

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """(N + 1,) the thresholds in descending order, from the last of the grid to -inf."""
        return np.append(self.curves.thresholds[::-1], -np.inf)

    @property
    def fpr(self) -> NDArray[np.float64]:
        """(N + 1,) the share of the negatives with scores above each threshold, from 0 to 1."""
        return _rate(_above(self.curves.negatives))

    @property
    def tpr(self) -> NDArray[np.float64]:
        """(N + 1,) the share of the positives with scores above each threshold, from 0 to 1."""
        return _rate(_above(self.curves.positives))

    @property
    def recall(self) -> NDArray[np.float64]:
        """(N + 1,) the same as ``tpr``: the name to use together with ``precision``."""
        return self.tpr

    @property
    def precision(self) -> NDArray[np.float64]:
        """(N + 1,) the share of positives among the scores above each threshold.

        It is 1 if no score is above, as at the end of scikit-learn's ``precision_recall_curve``.
        """
        positives = _above(self.curves.positives)
        precision = share(positives, positives + _above(self.curves.negatives))
        return np.where(np.isnan(precision), 1.0, precision)

    @property
    def auc(self) -> float:
        """The area under the curve, by trapezoids; guessing has the area 0.5.

        It is the probability that a random positive is in a higher cell than a random negative,
        with ties counting half: Eq. 5 of the federated paper. It differs from the area of the exact
        scores by at most half of the probability that both are in one cell.
        """
        return float(np.trapezoid(self.tpr, self.fpr))

    @property
    def average_precision(self) -> float:
        """The mean of ``precision``, weighted by the rises of recall, as in scikit-learn.

        Scores in one cell are taken as equal. ``dpcore.interval`` has an interval for it:

        >>> import numpy as np
        >>> import dpcore as dp
        >>> from dpcore.statistics import ROC
        >>> rng = np.random.default_rng(1)
        >>> scores = rng.random(2000)
        >>> roc = dp.roc_curve(rng.random(2000) < scores, scores, epsilon=2.0, rng=rng)
        >>> def average(curves):
        ...     return ROC.from_curves(curves).average_precision
        >>> found = dp.interval(roc.curves, average)
        >>> round(roc.average_precision, 2), round(found.low, 2), round(found.high, 2)
        (0.82, 0.81, 0.84)
        """
        rises = np.diff(self.recall, prepend=0.0)
        return float(np.sum(rises * self.precision))

    def auc_interval(self, level: float = 0.95) -> Interval[float]:
        """Return a confidence interval for the area of the records' own curve over the same cells.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.

        Returns
        -------
        Interval
            It is within [0, 1], and it is [0, 1] if a whole released class may be noise. If the
            mechanism is known, 200 of its releases are simulated, which takes the time of 200
            releases; one curve always has the same interval. If the mechanism is not known, the
            correlations of the noise are not known either, and the interval is a safe bound for any
            of them. It is up to four times as wide.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not such a number.

        Notes
        -----
        The error is assumed to be normal, with the root mean square of the simulated errors
        (docs/guides/roc.md, section 3; docs/measured/intervals.md has its coverage). If the error
        of a mechanism is not known between some thresholds, from none to all of the pairs there may
        count. Between the ends of DAWA's buckets, records may be anywhere. The area of the records'
        own scores differs by up to half of the pairs in one cell:
        ``ScoreHistogram.auc_interval``.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 64)
        >>> scores = rng.random(2000)
        >>> roc = dp.roc_curve(rng.random(2000) < scores, scores, grid=grid, epsilon=1.0, rng=rng)
        >>> low, high = roc.auc_interval()
        >>> round(low, 2), round(high, 2)
        (0.8, 0.83)
        """
        return self._area_interval(level, sampling=False)

    def population_auc_interval(self, level: float = 0.95) -> Interval[float]:
        """Return a confidence interval for the area of the population that the records come from.

        ``auc_interval`` is for the noise alone; this interval includes the noise and the sampling.
        The records are assumed to be independent draws from the population. The area is the one
        over the same cells.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.

        Returns
        -------
        Interval
            It is within [0, 1], and it is [0, 1] if a whole released class may be noise.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not such a number.

        Notes
        -----
        The variance of sampling is that of DeLong, DeLong & Clarke-Pearson (1988) for the released
        curves, plus a term for one more record of the rarer class (docs/guides/roc.md, section 3).
        Its coverage is in docs/measured/intervals.md.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 64)
        >>> scores = rng.random(2000)
        >>> roc = dp.roc_curve(rng.random(2000) < scores, scores, grid=grid, epsilon=1.0, rng=rng)
        >>> low, high = roc.population_auc_interval()
        >>> round(low, 2), round(high, 2)
        (0.8, 0.84)
        """
        return self._area_interval(level, sampling=True)

    def _area_interval(self, level: float, *, sampling: bool) -> Interval[float]:
        width, (scores, ties) = deviations(level), self._buckets()
        return scores.interval(ties, width, sampling=sampling)

    def _buckets(self) -> tuple[BucketedScores, tuple[Ties, Ties]]:
        """Return the scores between known thresholds, and the least and greatest ties."""
        of_negatives, of_positives = self.curves.deviations
        known = np.isfinite(of_negatives) & np.isfinite(of_positives)
        ends = np.flatnonzero(known)
        is_cell = np.diff(ends, prepend=-1) == 1
        ties = np.where(is_cell, 0.5, 0.0), np.where(is_cell, 0.5, 1.0)
        return BucketedScores(self.curves, ends, self.mechanism), ties

    def band(self, level: float = 0.95) -> Band:
        """Return pointwise, conservative confidence intervals for the records' own rates.

        Parameters
        ----------
        level
            The confidence level of each interval alone, between 0 and 1.

        Returns
        -------
        Band
            The intervals are within [0, 1]. An interval is [0, 1] if the error of the mechanism is
            not known there. If a whole released class may be noise, its rates may be as low as 0.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not such a number.

        Notes
        -----
        The number of records in a class is noisy, too, and correlated with the counts. The
        intervals hold for any correlation, and nothing is linearised (docs/guides/roc.md, section
        3). As in ``CDF.band``, they are around the counts as released, if these are known, and
        reach to the processed ones.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 64)
        >>> scores = rng.random(2000)
        >>> roc = dp.roc_curve(rng.random(2000) < scores, scores, grid, epsilon=5.0, rng=rng)
        >>> band, some = roc.band(), [16, 32, 48]  # where thresholds are 0.75, 0.5 and 0.25
        >>> roc.tpr[some].round(2)
        array([0.43, 0.74, 0.94])
        >>> band.tpr_low[some].round(2), band.tpr_high[some].round(2)
        (array([0.42, 0.73, 0.93]), array([0.44, 0.74, 0.94]))
        """
        return self.band_of_deviations(deviations_of_noise(level, self.privacy))

    def band_of_deviations(self, width: float, sampling: float = 0.0) -> Band:
        """Return the ends of intervals that reach so many deviations, as in ``band``.

        ``band`` and ``dpcore.simultaneous_band`` say how many. A deviation of ``sampling``, in
        counts, is added to that of the noise in each count but n.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not a finite number, 0 or more.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, noise = np.random.default_rng(1), dp.mechanisms.Histogram(rho=0.5)
        >>> labels, scores = [0, 0, 1, 1] * 100, [0.1, 0.7, 0.6, 0.8] * 100
        >>> roc = dp.roc_curve(labels, scores, dp.Grid.uniform(0, 1, 4), mechanism=noise, rng=rng)
        >>> band = roc.band_of_deviations(3.0)
        >>> (band.tpr_high - band.tpr_low).round(2)
        array([0.  , 0.09, 0.02, 0.02, 0.  ])
        """
        width = _check.finite("width", width)
        sampling = _check.finite("sampling", sampling)
        if min(width, sampling) < 0.0:
            raise ParameterError("width", (width, sampling), "must be 0 or more, and sampling, too")
        of_n = self.curves.joint.noise_deviation[-1]
        of_negatives, of_positives = self.curves.deviations
        with np.errstate(over="ignore", invalid="ignore"):  # what is not known: infinity or NaN
            reaches = (
                width * np.hypot(of_negatives, sampling),
                width * (np.hypot(of_positives - of_n, sampling) + of_n),
            )
        joint = self.curves.joint
        classes = self.curves.classes(joint.counts if joint.raw is None else joint.raw)
        processed = self.curves.negatives, self.curves.positives
        known = self.curves.known
        of_rates = map(_interval, classes, reaches, known, processed)
        return Band(*(end for ends in of_rates for end in ends))

    def precision_recall_band(self, level: float = 0.95) -> PrecisionRecallBand:
        """Return pointwise, conservative intervals for the records' own precision and recall.

        Parameters
        ----------
        level
            The confidence level of each interval alone, between 0 and 1.

        Returns
        -------
        PrecisionRecallBand
            They are ``classifier.precision_interval`` and ``recall_interval`` at ``thresholds``
            with ``mechanism``; if it is not known, those of the recall are of ``band``. All are
            within [0, 1]. The precision's is [0, 1]
            where all released records above the threshold may be noise.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not such a number.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 64)
        >>> scores = rng.random(2000)
        >>> roc = dp.roc_curve(rng.random(2000) < scores, scores, grid, epsilon=5.0, rng=rng)
        >>> band, some = roc.precision_recall_band(), [16, 32, 48]  # as in ``band``
        >>> band.precision_low[some].round(2), band.precision_high[some].round(2)
        (array([0.86, 0.76, 0.63]), array([0.88, 0.76, 0.64]))
        """
        asked = self.curves, self.thresholds, level, self.mechanism
        if self.mechanism is not None:
            return PrecisionRecallBand(*precision_interval(*asked), *recall_interval(*asked))
        *_, low, high = self.band(level)
        return PrecisionRecallBand(*precision_interval(*asked), low, high)

    @property
    def precision_recall(self) -> PrecisionRecall:
        """Precision against recall as a curve of its own, for ``dpcore.simultaneous_band``."""
        return PrecisionRecall(self)

    def _released_row(self) -> tuple[CDF, Releases | None]:
        """Return the counts of both classes, for ``dpcore.simultaneous_band``."""
        return self.curves.joint, self.mechanism

    def _band_at_once(self, width: float, sampling: float) -> Band:
        """Return the band if all counts are within so many deviations at once."""
        band = self.band_of_deviations(width, sampling)
        return Band(*rising(band.fpr_low, band.fpr_high), *rising(band.tpr_low, band.tpr_high))

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return a pandas DataFrame with a row for each point: threshold, fpr, tpr and ``band``.

        The columns of the band are fpr_low, fpr_high, tpr_low and tpr_high.

        Parameters
        ----------
        level
            The level of the intervals, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> roc = dp.roc_curve(labels, scores, dp.Grid([0.2, 0.5, 1.0]), epsilon=80.0)
        >>> print(roc.to_frame()[["threshold", "fpr", "tpr"]])
           threshold  fpr  tpr
        0        1.0  0.0  0.0
        1        0.5  0.0  0.5
        2        0.2  0.5  1.0
        3       -inf  1.0  1.0
        """
        points = {"threshold": self.thresholds, "fpr": self.fpr, "tpr": self.tpr}
        return frame_of({**points, **self.band(level)._asdict()})

    def _choices(self) -> Mapping[str, Any]:
        curves = self.curves
        return {"grid": curves.grid, "n": curves.n, "mechanism": curves.joint.mechanism}

    def _readings(self, level: float) -> list[Rows]:
        def of_records() -> Reading:
            return "area, of the records", self.auc, self.auc_interval(level)

        def of_population() -> Reading:
            return "area, of the population", self.auc, self.population_auc_interval(level)

        return [with_intervals(level, readable([of_records, of_population]))]

    def display(self, **options: Any) -> RocCurveDisplay:
        """Return scikit-learn's display of the curve. This needs the extra ``models``.

        Parameters
        ----------
        **options
            Passed on to ``sklearn.metrics.RocCurveDisplay``, for example ``name``, or
            ``estimator_name`` in versions that take this name instead.

        Returns
        -------
        sklearn.metrics.RocCurveDisplay
            It is not drawn yet: call its ``plot()``, which needs the extra ``plot``. It has no
            band; ``ROC.plot`` draws one.

        Raises
        ------
        MissingExtraError
            scikit-learn is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> roc = dp.roc_curve(labels, scores, mechanism=dp.mechanisms.NoNoise())
        >>> roc.display().roc_auc
        0.75
        """
        metrics = _check.extra("sklearn.metrics", "RocCurveDisplay", "models")
        parts = {"fpr": self.fpr, "tpr": self.tpr, "roc_auc": self.auc}
        display: RocCurveDisplay = metrics.RocCurveDisplay(**parts, **options)
        return display

    @drawing
    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        band: Band | None = None,
        **line: Any,
    ) -> Axes:
        """Draw the curve with its band, the diagonal and a legend. This needs the extra ``plot``.

        The legend has the area with ``auc_interval``, which takes most of the time; without it for
        more than 65,536 cells, where it would take seconds.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones, whose lines differ in colour and in style.
        level
            The confidence level of the interval of each rate, and of the area. The band is the
            union of the boxes that the intervals of both rates make.
        band
            Another band to draw, from ``dpcore.simultaneous_band`` with this level. None:
            ``band(level)``.
        **line
            Passed on to ``Axes.plot``; ``label`` is the text in the legend.

        Examples
        --------
        >>> import dpcore as dp
        >>> labels, scores = [0, 0, 1, 1], [0.1, 0.7, 0.6, 0.8]
        >>> grid, exact = dp.Grid.uniform(0, 1, 100), dp.mechanisms.NoNoise()
        >>> ax = dp.roc_curve(labels, scores, grid=grid, mechanism=exact).plot()
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['guessing', 'not private, AUC = 0.750', '95% band for the noise']
        """
        from ..curves.legible import in_two_lines
        from ..curves.plots import covered, plot_path, shortly

        if band is not None:
            _check.instance("band", band, Band, "must be None or a Band")
            for end in band:
                _check.held("band", end, (self.curves.grid.size + 1,))
        told = covered(level, at_once=band is not None)
        ends, outline = self.band(level) if band is None else band, None
        # Otherwise the deviations are unknown.
        if all(np.isfinite(deviation[-1]) for deviation in self.curves.deviations):
            outline = (ends.fpr_low, ends.tpr_high), (ends.fpr_high, ends.tpr_low)
        name = ""
        if "label" not in line:  # areas take time
            name = in_two_lines(shortly(self.privacy), self._area_told(level))
        return plot_path(self.fpr, self.tpr, outline, name, ax=ax, covered=told, style=line)

    def _area_told(self, level: float) -> str:
        """Return the area with its interval, for a legend."""
        area = f"AUC = {self.auc:.3f}"
        if self.curves.grid.size > _MOST_CELLS_IN_A_LEGEND:
            return area
        low, high = self.auc_interval(level)
        if not low < high:
            return area
        digits = min(max(3, -math.floor(math.log10(high - low))), 9)
        return f"AUC = {self.auc:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"

    @drawing
    def plot_precision_recall(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        band: PrecisionRecallBand | None = None,
        **line: Any,
    ) -> Axes:
        """Draw precision against recall with its band and a legend. This needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones, whose lines differ in colour and in style.
        level
            The confidence level of the interval of each number, of ``precision_recall_band``. The
            band is the union of the boxes that the intervals of both numbers make.
        band
            Another band to draw, from ``dpcore.simultaneous_band`` of ``precision_recall`` with
            this level. None: ``precision_recall_band(level)``.
        **line
            Passed on to ``Axes.step``; ``label`` is the text in the legend.

        Notes
        -----
        Steps are drawn, whose area is ``average_precision``, AP. The precision of guessing is the
        share of positives.

        Examples
        --------
        >>> import dpcore as dp
        >>> labels, scores = [0, 0, 1, 1], [0.1, 0.7, 0.6, 0.8]
        >>> grid, exact = dp.Grid.uniform(0, 1, 100), dp.mechanisms.NoNoise()
        >>> ax = dp.roc_curve(labels, scores, grid, exact).plot_precision_recall()
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['guessing', 'not private, AP = 0.833', '95% band for the noise']
        """
        from ..curves.plots import covered, plot_precision, shortly

        if band is not None:
            _check.instance("band", band, PrecisionRecallBand, "must be None or such a band")
            for end in band:
                _check.held("band", end, (self.curves.grid.size + 1,))
        told = covered(level, at_once=band is not None)
        totals = self.curves.negatives[-1], self.curves.positives[-1]
        is_known = all(np.isfinite(deviation[-1]) for deviation in self.curves.deviations)
        if not is_known or totals[1] <= 0.0:
            band = None
        elif band is None:
            band = self.precision_recall_band(level)
        name = f"{shortly(self.privacy)}, AP = {self.average_precision:.3f}"
        how: dict[str, Any] = {"ax": ax, "covered": told, "style": line}
        guessing = totals[1] / max(sum(totals), 1.0)
        return plot_precision(self.recall, self.precision, band, guessing, name, **how)


@dataclass(frozen=True, slots=True)
class PrecisionRecall:
    """Precision against recall, at the thresholds of a ROC curve: ``ROC.precision_recall``.

    Parameters
    ----------
    roc
        The ROC curve, which has both numbers, and their intervals for single thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 64)
    >>> scores = rng.random(20_000)
    >>> roc = dp.roc_curve(rng.random(20_000) < scores, scores, grid, epsilon=5.0, rng=rng)
    >>> band, some = dp.simultaneous_band(roc.precision_recall), [16, 32, 48]
    >>> band.precision_low[some].round(2), band.precision_high[some].round(2)
    (array([0.88, 0.75, 0.63]), array([0.89, 0.76, 0.63]))
    """

    roc: ROC

    def _released_row(self) -> tuple[CDF, Releases | None]:
        return self.roc._released_row()

    def _band_at_once(self, width: float, sampling: float) -> PrecisionRecallBand:
        """Return the band if all counts are within so many deviations at once."""
        curves, *classes = released_classes(self.roc.curves)
        positives, negatives = (
            _numbers_above(classes[label], curves, label, width, sampling) for label in (1, 0)
        )
        with np.errstate(invalid="ignore"):  # infinite numbers of both classes
            low = share(positives.low, positives.low + negatives.high)
            high = share(positives.high, positives.high + negatives.low)
        low, high = np.nan_to_num(low, nan=0.0)[::-1], np.nan_to_num(high, nan=1.0)[::-1]
        own, of_rates = self.roc.precision, self.roc._band_at_once(width, sampling)
        ends = np.minimum(low, own), np.maximum(high, own)
        return PrecisionRecallBand(*ends, of_rates.tpr_low, of_rates.tpr_high)


def _numbers_above(
    cumulative: NDArray[np.float64],
    curves: ScoreCurves,
    label: int,
    width: float,
    sampling: float,
) -> Interval[NDArray[np.float64]]:
    """Return bounds of the records of a class after 0 to N thresholds, at once, each (N + 1,).

    They are differences of two joint counts, of which the last has no sampling.
    """
    noise = curves.joint.noise_deviation
    own = curves.deviations[label] - (noise[-1] if label else 0.0)
    with np.errstate(invalid="ignore"):  # infinities, which are not known, times 0
        reach = width * np.hypot(own, sampling)
    first = width * float(noise[-1]) if label else 0.0
    reach = np.append(first, reach) + reach[-1]
    reach[-1] = 0.0  # no record is above the last threshold
    known = curves.known[label] & np.isfinite(own)
    at = neighbours_of(known, np.arange(cumulative.size))
    above = cumulative[-1] - cumulative
    # They never rise, so the reversed ones never fall.
    low, high = (above - reach)[at.after], (above + reach)[at.before]
    low, high = rising(np.maximum(low, 0.0)[::-1], np.maximum(high, 0.0)[::-1])
    return Interval(low[::-1], high[::-1])


def _above(cumulative: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many records of a class are above each threshold of a ROC curve: (N + 1,)."""
    return np.append(cumulative[-1] - cumulative[::-1], cumulative[-1])


def _rate(above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return counts as shares of the last one; NaN if the last one is 0."""
    return share(above, np.full_like(above, above[-1]))


def _interval(
    cumulative: NDArray[np.float64],
    reach: NDArray[np.float64],
    is_noise: NDArray[np.bool_],
    processed: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of a rate's intervals, if the errors of counts are at most ``reach``.

    Where ``reach`` is not known, or is not that of noise alone, the rate is between the rates at
    the nearest thresholds where it is. The intervals contain the rates of the processed counts.
    """
    total, of_total = cumulative[-1], reach[-1]
    # Bounds of the share up to the threshold.
    least, most = np.zeros_like(reach), np.ones_like(reach)
    known = is_noise & np.isfinite(reach) & np.isfinite(of_total)
    known[-1] = np.isfinite(of_total)
    np.divide(cumulative - reach, total + of_total, out=least, where=known & (total > 0.0))
    np.divide(cumulative + reach, total - of_total, out=most, where=known & (total > of_total))
    least, most = from_neighbours(least, most, known)
    if processed[-1] > 0.0:
        least, most = around(least, most, processed / processed[-1])
    low, high = 1.0 - most[::-1], 1.0 - least[::-1]
    low[0] = high[0] = 0.0  # no record is above the last threshold
    return np.append(low, 1.0), np.append(high, 1.0)
