"""Calibration of released scores: how far the scores are from the shares of positives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves import forms
from ..curves.cdf import CDF
from ..curves.confidence import Interval, deviations, in_percent
from ..curves.drawing import drawing
from ..curves.field_tables import Rows, cut, text
from ..curves.frames import frame_of
from ..curves.own_mechanism import Releases, check_released
from ..curves.scores import ScoreCurves
from ..curves.shown import cost, line
from ..curves.simulated_releases import Simulation
from ..curves.stored import Stored, one_of
from ..errors import ParameterError, amount
from ..privacy.guarantees import Privacy
from .binning import Bins, counted_bins, share, uniform_bins
from .calibration_gaps import ErrorNorm, Gaps
from .rates_at_once import band_of_rates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame
    from sklearn.calibration import CalibrationDisplay

__all__ = ["Reliability", "expected_calibration_error", "maximum_calibration_error", "reliability"]

_CURVES: Final = forms.optional(forms.or_null(one_of(ScoreCurves)))
_RELEASES: Final = 50  # their mean is then known to a seventh of the deviation of one


def expected_calibration_error(
    curves: ScoreCurves,
    bins: int | Bins = 10,
    norm: ErrorNorm = 1,
    mechanism: Releases | None = None,
) -> float:
    """Return the distance between mean score and share of positives, averaged over the records.

    Parameters
    ----------
    curves
        Curves of scores that are probabilities: thresholds within [0, 1], the last one 1.
    bins
        The number of bins of equal width; or ``Bins``, whose edges are used and whose counts are
        not.
    norm
        1: the mean of the distances, which is the textbook's; 2: the root of their mean square.
    mechanism
        The mechanism that released the curves, raw or ``isotonic``: ``ROC.mechanism``, or
        ``dpcore.mechanisms.from_curve(curves.joint)``. What its noise adds to the error on average
        is then subtracted. Nothing is subtracted for None, or if the error of the counts is not
        known.

    Returns
    -------
    float
        A number within [0, 1].

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism is not the one that the curves name.

    Notes
    -----
    The definition is that of Naeini, Cooper & Hauskrecht (2015): the sum over the bins of
    n_b / n times |o_b - e_b|, with the share of positives o_b and the mean score e_b. Empty bins
    contribute nothing. Every score is taken as the middle of its cell, so without noise the error
    with norm 1 is off by at most half the mean cell of the records. Noise changes it by at most
    2 (B + 1) / n times the largest noise in a cumulative count (docs/guides/calibration.md). Noise,
    and a small number of records, usually raise it rather than lower it. With a mechanism, the
    released curve is released 50 times again, and the mean rise is subtracted (a bootstrap estimate
    of the bias, Efron & Tibshirani 1993). ``expected_calibration_error_interval`` allows for places
    in cells and for noise. The cost is O(N + B log N), or that of 50 releases.

    Examples
    --------
    All scores are 0.9, and half of the records are positive:

    >>> import dpcore as dp
    >>> from dpcore.statistics.calibration import expected_calibration_error
    >>> grid = dp.Grid.uniform(0, 1, 5)  # 0.9 is in the middle of the last cell
    >>> curves = dp.score_curves([0, 1], [0.9, 0.9], grid, dp.mechanisms.NoNoise())
    >>> round(expected_calibration_error(curves, 5), 12)
    0.4
    """
    _check.choice("norm", norm, ErrorNorm)
    counted = counted_bins(curves, bins, uniform_bins)
    error = _mean_gap(counted, norm)
    if mechanism is None:
        return error
    check_released("curves", curves.joint, mechanism)
    if not np.isfinite(curves.joint.noise_deviation).all():
        return error
    # Noise lowers an error that is near 1.
    return min(max(error - _rise(curves, counted, norm, mechanism), 0.0), 1.0)


def _rise(curves: ScoreCurves, bins: Bins, norm: ErrorNorm, mechanism: Releases) -> float:
    """Return by how much releasing the released curves again raises their error, on average."""
    simulation = Simulation(curves.joint.isotonic(), mechanism)  # as the error sees them
    released = simulation.of_records(_RELEASES, simulation.generator())
    rows = np.concatenate([simulation.truth[np.newaxis], released])
    errors = Gaps.of(curves, bins).error(*curves.classes(rows), norm)
    return float(errors[1:].mean() - errors[0])


def _mean_gap(counted: Bins, norm: ErrorNorm) -> float:
    """Return the norm of the distances, weighted by the records; NaN without records."""
    total = float(counted.counts.sum())
    if not total > 0.0:
        return float("nan")
    shares = counted.counts / total
    gaps = _gaps(counted)
    if norm == 1:
        return float(np.sum(shares * gaps))
    return float(np.sqrt(np.sum(shares * gaps**2)))


def maximum_calibration_error(curves: ScoreCurves, bins: int | Bins = 10) -> float:
    """Return the largest distance between mean score and share of positives in a bin.

    Parameters
    ----------
    curves, bins
        As in ``expected_calibration_error``.

    Returns
    -------
    float
        A number within [0, 1]. Empty bins do not count.

    Raises
    ------
    DtypeError, ParameterError
        As in ``expected_calibration_error``.

    Notes
    -----
    The definition is that of Naeini, Cooper & Hauskrecht (2015). Bins with few records are mostly
    noise, and the largest distance is likely to come from such a bin. So prefer the edges of
    ``equi_depth_bins``.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import maximum_calibration_error
    >>> labels, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9]
    >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
    >>> round(maximum_calibration_error(curves, 2), 2)
    0.13
    """
    return float(np.max(_gaps(counted_bins(curves, bins, uniform_bins))))


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Reliability(Stored):
    """A reliability table: mean scores, shares of positives and their errors, by bins.

    Made by ``reliability``, or ``trust.reliability``.

    Parameters
    ----------
    bins
        The bins, with released counts.
    privacy
        The cost of the release.
    curves
        The released scores, for ``dpcore.simultaneous_band``, which contains the shares of all bins
        at once. None: the table is of other sums, and has no such band.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(2000)
    >>> curves = dp.score_curves(rng.random(2000) < scores**2, scores, epsilon=5.0, rng=rng)
    >>> table = dp.statistics.reliability(curves, 4)
    >>> table.positive_rate.round(2), table.standard_error.round(2)
    (array([0.02, 0.17, 0.42, 0.77]), array([0.01, 0.02, 0.02, 0.02]))
    >>> band = dp.simultaneous_band(table, of="population")
    >>> band.low.round(2), band.high.round(2)
    (array([0.01, 0.13, 0.37, 0.72]), array([0.04, 0.21, 0.48, 0.81]))
    """

    _kind = "dpcore.reliability"

    bins: Bins = field(metadata=one_of(Bins))
    privacy: Privacy = field(metadata=forms.PRIVACY)
    curves: ScoreCurves | None = field(default=None, metadata=_CURVES)

    def __post_init__(self) -> None:
        _check.instance("bins", self.bins, Bins, "must be Bins")
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        _check.instance("curves", self.curves, ScoreCurves | None, "must be None or ScoreCurves")

    def __repr__(self) -> str:
        size, n = self.counts.size, round(float(self.counts.sum()))
        return line("Reliability", f"n = {n}, {cost(self.privacy)}, {amount(size, 'bin')}")

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return a pandas DataFrame with a row for each bin: ``table``, and low and high.

        These are the ends of intervals for the shares of positives, from ``standard_error``.

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
        >>> from dpcore.statistics import reliability
        >>> grid = dp.Grid.uniform(0, 1, 4)
        >>> curves = dp.score_curves([0, 0, 1, 1], [0.1, 0.7, 0.6, 0.8], grid, epsilon=80.0)
        >>> reliability(curves, 2).to_frame()["positive_rate"].round(2).tolist()
        [0.0, 0.67]
        """
        low, high = self._ends(level)
        return frame_of({**self.table, "low": low, "high": high})

    def _ends(self, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of intervals for the shares of positives, within [0, 1]; (B,) each."""
        rate, reach = self.positive_rate, deviations(level) * self.standard_error
        return np.maximum(rate - reach, 0.0), np.minimum(rate + reach, 1.0)

    def _choices(self) -> Mapping[str, Any]:
        return {"bins": self.counts.size}

    def _readings(self, level: float) -> list[Rows]:
        edges = self.bins.edges
        rates = (self.counts, self.mean_score, self.positive_rate, *self._ends(level))
        of_bins = [column[self.counts > 0.0] for column in (edges[:-1], edges[1:], *rates)]
        names = ("from", "to", "records", "mean score", "share of positives", "low", "high")
        rows = [tuple(map(text, row)) for row in zip(*of_bins, strict=True)]
        return [cut(f"Bins, with {in_percent(level)} intervals of noise and sampling", names, rows)]

    @property
    def mean_score(self) -> NDArray[np.float64]:
        """(B,) the mean score of each bin; NaN if it is empty."""
        return self.bins.mean_score

    @property
    def positive_rate(self) -> NDArray[np.float64]:
        """(B,) the share of positives in each bin; NaN if it is empty."""
        return self.bins.positive_rate

    @property
    def counts(self) -> NDArray[np.float64]:
        """(B,) the released number of records in each bin."""
        return self.bins.counts

    @property
    def noise_deviation(self) -> NDArray[np.float64]:
        """(B,) a bound of the standard deviation of the privacy noise in ``positive_rate``.

        The bound holds to first order, for raw curves and edges that do not depend on the noise.
        For curves that were made monotone, and for equi-depth bins, it is a guide. NaN if the bin
        is empty.
        """
        rate, positives = self.positive_rate, self.bins.positives_deviation
        with np.errstate(invalid="ignore"):  # 0 times infinity occurs if the noise is not known
            noise = (1.0 - rate) * positives + rate * self.bins.negatives_deviation
        is_unknown = np.isinf(positives) | np.isinf(self.bins.negatives_deviation)
        return share(np.where(is_unknown, np.inf, noise), self.counts)

    @property
    def sampling_deviation(self) -> NDArray[np.float64]:
        """(B,) the binomial standard deviation of ``positive_rate``, by sampling from a population.

        NaN if the bin is empty.
        """
        rate = self.positive_rate
        return np.sqrt(share(rate * (1.0 - rate), self.counts))

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """(B,) noise and sampling together: the root of the sum of both squared deviations."""
        return np.hypot(self.noise_deviation, self.sampling_deviation)

    @property
    def table(self) -> Mapping[str, NDArray[np.float64]]:
        """The columns by name, each (B,); ``pandas.DataFrame(found.table)`` shows them."""
        return {
            "lower": self.bins.edges[:-1],
            "upper": self.bins.edges[1:],
            "negatives": self.bins.negatives,
            "positives": self.bins.positives,
            "mean_score": self.mean_score,
            "positive_rate": self.positive_rate,
            "noise_deviation": self.noise_deviation,
            "standard_error": self.standard_error,
        }

    def _released_row(self) -> tuple[CDF, Releases | None]:
        """Return the counts of both classes, for ``dpcore.simultaneous_band``."""
        return self._scores.joint, None

    def _band_of_simulations(
        self,
        simulation: Simulation,
        level: float,
        replicates: int,
        rng: np.random.Generator,
        *,
        sampling: bool,
    ) -> Interval[NDArray[np.float64]]:
        """Return intervals of the shares of positives in all bins at once."""
        ends, rate = Gaps.of(self._scores, self.bins).ends, self.positive_rate
        asked = self._scores, ends, simulation, level, replicates, rng
        low, high = band_of_rates(*asked, sampling=sampling)
        return Interval(np.fmin(low, rate), np.fmax(high, rate))

    @property
    def _scores(self) -> ScoreCurves:
        if self.curves is None:
            what = "must know its curves, as from statistics.reliability, to have a band at once"
            raise ParameterError("curve", repr(self), what)
        return self.curves

    def display(self, **options: Any) -> CalibrationDisplay:
        """Return scikit-learn's display of the diagram. This needs the extra ``models``.

        Parameters
        ----------
        **options
            Passed on to ``sklearn.calibration.CalibrationDisplay``.

        Returns
        -------
        sklearn.calibration.CalibrationDisplay
            The display of the bins that are not empty. It is not drawn yet: call its ``plot()``,
            which needs the extra ``plot``. Its ``y_prob``, the scores of the records, is None,
            because they are not released.

        Raises
        ------
        MissingExtraError
            scikit-learn is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> from dpcore.statistics.calibration import reliability
        >>> exact = dp.mechanisms.NoNoise()
        >>> curves = dp.score_curves([0, 1, 1], [0.2, 0.7, 0.7], dp.Grid.uniform(0, 1, 4), exact)
        >>> reliability(curves, 2).display().prob_true
        array([0., 1.])
        """
        module = _check.extra("sklearn.calibration", "CalibrationDisplay", "models")
        filled = self.counts > 0.0
        rates, scores = self.positive_rate[filled], self.mean_score[filled]
        display: CalibrationDisplay = module.CalibrationDisplay(rates, scores, None, **options)
        return display

    @drawing
    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        band: Interval[NDArray[np.float64]] | None = None,
        **style: Any,
    ) -> Axes:
        """Draw the reliability diagram with a legend and the counts. This needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones. The counts are drawn below the axes; figures with
            ``layout="constrained"`` leave room for them.
        level
            The confidence level of the bars, for each bin alone. Thick bars are for the noise
            alone, thin bars for noise and sampling.
        band
            A band to draw in place of the bars, from ``dpcore.simultaneous_band`` with this level.
        **style
            Passed on to ``Axes.plot``, for the line through the bins; ``label`` is its text in the
            legend.

        Returns
        -------
        matplotlib.axes.Axes
            The axes of the diagram.

        Examples
        --------
        >>> import dpcore as dp
        >>> from dpcore.statistics import reliability
        >>> labels, scores = [0, 0, 1, 1], [0.1, 0.7, 0.6, 0.8]
        >>> curves = dp.score_curves(labels, scores, dp.Grid.uniform(0, 1, 4), epsilon=50.0)
        >>> ax = reliability(curves, 2).plot(level=0.9)
        >>> for text in ax.get_legend().get_texts():
        ...     print(text.get_text())
        calibrated
        private, epsilon = 50
        90%, noise alone
        90%, noise and sampling
        """
        from ..curves.plots import plot_rates, shortly

        if band is not None:
            _check.instance("band", band, Interval, "must be None or an Interval")
            for end in band:
                _check.held("band", end, self.counts.shape)
        return plot_rates(
            self.mean_score,
            self.positive_rate,
            (self.noise_deviation, self.standard_error),
            self.counts,
            self.bins.edges,
            shortly(self.privacy),
            ax=ax,
            level=level,
            band=band,
            style=style,
        )


def reliability(curves: ScoreCurves, bins: int | Bins = 10) -> Reliability:
    """Return mean scores and shares of positives by bins: the table behind a reliability diagram.

    Parameters
    ----------
    curves, bins
        As in ``expected_calibration_error``.

    Returns
    -------
    Reliability

    Raises
    ------
    DtypeError, ParameterError
        As in ``expected_calibration_error``.

    Notes
    -----
    On exact curves, the non-empty bins are those of ``sklearn.calibration.calibration_curve``.
    Mean scores may differ by at most half of the width of a cell, which ``noise_deviation`` and
    ``standard_error`` do not include: these are errors of the shares of positives.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(2000)
    >>> labels = rng.random(2000) < scores**2  # the scores are too high
    >>> table = dp.statistics.reliability(dp.score_curves(labels, scores, epsilon=5.0, rng=rng), 4)
    >>> table.mean_score.round(2), table.positive_rate.round(2)
    (array([0.13, 0.38, 0.62, 0.87]), array([0.02, 0.17, 0.42, 0.77]))
    """
    return Reliability(counted_bins(curves, bins, uniform_bins), curves.privacy, curves)


def _gaps(bins: Bins) -> NDArray[np.float64]:
    """Return |o_b - e_b|, or 0 for empty bins."""
    return np.where(bins.counts > 0.0, np.abs(bins.positive_rate - bins.mean_score), 0.0)
