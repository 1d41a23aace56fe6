"""Histograms of scores by class: the area under the ROC curve, and its error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import _check
from ..curves import forms
from ..curves.confidence import Interval, deviations, reach
from ..curves.own_mechanism import Releases, check_released
from ..curves.scores import ScoreCurves
from ..curves.shapes import float_or_array
from ..curves.shown import cost, line
from ..curves.stored import Stored, one_of
from ..errors import ParameterError, amount
from ..privacy.guarantees import Privacy
from ..summaries.grid import MOST_CELLS
from .areas import BucketedScores, area_of
from .binning import Bins, equi_depth_bins, uniform_bins

__all__ = ["IntervalKind", "ScoreHistogram"]

IntervalKind = Literal["worst-case", "well-behaved"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ScoreHistogram(Stored):
    """Counts of negatives and positives in B buckets of scores, and the area under the ROC curve.

    Made by ``quantile`` or ``uniform``, from the curves of any mechanism or trust model, by
    post-processing. For precision, recall and accuracy of the buckets, use
    ``statistics.classifier`` at ``nearest(t)``; at the threshold itself they are finer.

    Parameters
    ----------
    curves
        The released scores, monotone. They are probabilities, with thresholds within [0, 1].
    bins
        The buckets. Their edges are thresholds of the curves, and 0.
    mechanism
        The mechanism or trust model that released the curves, so that its noise can be simulated.
        None: it is not known; errors are then bounds.

    Raises
    ------
    DtypeError, ParameterError
        The bins end elsewhere than the curves, the mechanism is not the one that the curves name,
        or they were smoothed.

    Notes
    -----
    The source is the federated paper, sections 4 and 5. docs/guides/calibration.md has
    derivations and measurements.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 1024)
    >>> scores = rng.random(2000)
    >>> curves = dp.score_curves(rng.random(2000) < scores, scores, grid, epsilon=5.0, rng=rng)
    >>> histogram = dp.statistics.ScoreHistogram.quantile(curves, 20)
    >>> round(histogram.auc, 3), round(histogram.auc_corrected, 3)
    (0.823, 0.824)
    """

    _kind = "dpcore.score-histogram"

    curves: ScoreCurves = field(metadata=one_of(ScoreCurves))
    bins: Bins = field(metadata=one_of(Bins))
    mechanism: Releases | None = field(default=None, metadata=forms.REMADE)

    def __post_init__(self) -> None:
        _check.instance("curves", self.curves, ScoreCurves, "must be ScoreCurves")
        _check.instance("bins", self.bins, Bins, "must be Bins")
        _check_bins(self.curves, self.bins)
        if self.mechanism is not None:
            check_released("curves", self.curves.joint, self.mechanism)

    def __repr__(self) -> str:
        size, n = self.bins.counts.size, self.curves.n
        return line(
            "ScoreHistogram",
            f"area {self.auc:.4g}, n = {n}, {cost(self.privacy)}, {amount(size, 'bucket')}",
            f"area {self.auc:.4g}, n = {n}, {cost(self.privacy)}",
        )

    def _columns(self) -> Mapping[str, Any]:
        return self.bins._columns()

    def _choices(self) -> Mapping[str, Any]:
        curves, bins = self.curves, self.bins.counts.size
        own = {"grid": curves.grid, "n": curves.n, "bins": bins}
        return {**own, "mechanism": curves.joint.mechanism}

    @classmethod
    def quantile(
        cls, curves: ScoreCurves, buckets: int = 100, mechanism: Releases | None = None
    ) -> ScoreHistogram:
        """Return buckets of about equally many released records each.

        Parameters
        ----------
        curves
            Curves of scores that are probabilities: thresholds within [0, 1], the last one 1. They
            are made monotone first if they are not.
        buckets
            B, the number of buckets. If a cell has more than n / B records, some are empty.
        mechanism
            The mechanism that released the curves, if it is known; intervals are then much shorter.
            ``dpcore.mechanisms.from_curve(curves.joint)`` makes it again from the description in
            the release.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        The buckets are those of ``equi_depth_bins``. The cost is O(N + B log N).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 1024)
        >>> scores = rng.random(2000) ** 2
        >>> curves = dp.score_curves(rng.random(2000) < scores, scores, grid, epsilon=5.0, rng=rng)
        >>> dp.statistics.ScoreHistogram.quantile(curves, 4).bins.edges.round(2)
        array([0.  , 0.07, 0.25, 0.56, 1.  ])
        """
        monotone = _monotone(curves)
        return cls(monotone, equi_depth_bins(monotone, _buckets(buckets)), mechanism)

    @classmethod
    def uniform(
        cls, curves: ScoreCurves, buckets: int = 100, mechanism: Releases | None = None
    ) -> ScoreHistogram:
        """Return buckets of equal width, as nearly as the thresholds of the grid allow.

        Parameters
        ----------
        curves, buckets, mechanism
            As in ``quantile``.

        Raises
        ------
        DtypeError, ParameterError
            As in ``quantile``.

        Examples
        --------
        >>> import dpcore as dp
        >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
        >>> histogram = dp.statistics.ScoreHistogram.uniform(curves, 4)
        >>> histogram.bins.edges, histogram.bins.counts, histogram.auc
        (array([0.  , 0.25, 0.5 , 0.75, 1.  ]), array([1., 2., 0., 1.]), 0.875)
        """
        monotone = _monotone(curves)
        return cls(monotone, uniform_bins(monotone, _buckets(buckets)), mechanism)

    @property
    def privacy(self) -> Privacy:
        """The cost of the release."""
        return self.curves.privacy

    @property
    def auc(self) -> float:
        """The share of pairs whose positive is in a higher bucket; pairs in one bucket count half.

        This is Eq. 5 of the federated paper. It is within [0, 1], and NaN if a released class is
        empty.
        """
        return self._area(0.5)

    @property
    def auc_corrected(self) -> float:
        """The area by Eq. 5, corrected for the order of the scores within buckets.

        The rate of positives within a bucket is assumed to be linear in the rank of the score, with
        the slope between the neighbouring buckets. If the rate is smooth, the remaining error is of
        a higher order in 1 / B than the error of Eq. 5. Do not use it for scores with many ties:
        the more records have one score, the less there is to correct
        (docs/guides/calibration.md, section 6). The result is within the worst case of
        ``auc_interval`` without noise; it is NaN if a released class is empty.
        """
        filled = self.bins.counts > 0.0
        counts, positives = self.bins.counts[filled], self.bins.positives[filled]
        pairs = float(positives.sum()) * float(self.bins.negatives.sum())
        if not pairs > 0.0 or counts.size < 2:
            return self.auc
        with np.errstate(divide="ignore", invalid="ignore"):  # a bucket may hide its neighbours
            slopes = np.gradient(positives / counts, np.cumsum(counts) - counts / 2, edge_order=1)
            within = slopes * counts * np.maximum(counts**2 - 1.0, 0.0) / 12.0
        most = positives * (counts - positives) / 3.0  # for a line with rates within [0, 1]
        return self.auc + float(np.clip(within, -most, most).sum()) / pairs

    @property
    def auc_noise_deviation(self) -> float:
        """The standard deviation of the privacy noise in ``auc``, or a bound of it.

        If the mechanism is known, it is the root mean square error of 200 simulated releases, with
        the same edges. If not, the correlations of the noise are not known, and the deviations of
        single counts are added up. To first order, this is safe for any correlation; it is up to
        four times as large. NaN if a released class is empty; infinite if the error of the
        mechanism is infinite.
        """
        return float(self._scores.deviations(0.5)[0])

    def auc_discretisation(
        self, kind: IntervalKind = "worst-case", *, level: float = 0.95
    ) -> float:
        """Return how far the area of the records themselves may be from Eq. 5, without noise.

        Parameters
        ----------
        kind
            "worst-case": the sum of p_b n_b / (2 P N), half of all pairs in one bucket. It needs no
            assumption, and is attained. "well-behaved": the smaller one of this and

                V max(m_b)^2 / (8 P N) + z sqrt(sum of p_b n_b (m_b + 1) / 12) / (P N),

            for m_b records in bucket b, and V = 1. It is of order 1 / B^2.
        level
            The confidence level of the second term, which is for labels that are drawn
            independently; between 0 and 1.

        Returns
        -------
        float
            A number of at least 0, or NaN if a released class is empty.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        docs/guides/calibration.md, sections 5 and 6, has the proofs. "well-behaved" assumes
        that labels are independent draws, that the rate of positives depends on the score, and that
        the total variation V of this rate within buckets is at most 1. Any rate that never falls
        has V <= 1. If an assumption is wrong, the result may be wrong, too.

        Examples
        --------
        >>> import dpcore as dp
        >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
        >>> histogram = dp.statistics.ScoreHistogram.uniform(curves, 4)
        >>> histogram.auc, histogram.auc_discretisation()  # one pair of four is in one bucket
        (0.875, 0.125)
        """
        return sum(self._discretisation(kind, deviations(level)))

    def auc_interval(
        self, kind: IntervalKind = "worst-case", *, level: float = 0.95
    ) -> Interval[float]:
        """Return an interval for the area of the records' own scores, with ties counting half.

        Parameters
        ----------
        kind
            The assumption on scores in one bucket, as in ``auc_discretisation``.
        level
            The confidence level, between 0 and 1.

        Returns
        -------
        Interval
            The interval is within [0, 1], and it is [0, 1] if a whole released class may be noise.
            If the curves are exact, the worst case is what the buckets allow, and is certain.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        In the worst case, all pairs in one bucket are counted, or none of them. Each of these two
        areas has its own noise, as in ``auc_noise_deviation``, which is assumed to be normal.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 1024)
        >>> scores = rng.random(2000)
        >>> curves = dp.score_curves(rng.random(2000) < scores, scores, grid, epsilon=5.0, rng=rng)
        >>> low, high = dp.statistics.ScoreHistogram.quantile(curves, 100).auc_interval()
        >>> round(low, 2), round(high, 2)
        (0.8, 0.85)
        """
        width, scores = deviations(level), self._scores
        bias, sampling = self._discretisation(kind, width)
        if kind == "worst-case" or scores.may_be_noise(width):
            return scores.interval((0.0, 1.0), width)
        error = math.hypot(sampling / width, self.auc_noise_deviation)
        below, above = (bias + reach(width, error, scores.hidden(0.5, sign)) for sign in (-1, 1))
        return Interval(max(self.auc - below, 0.0), min(self.auc + above, 1.0))

    def nearest(self, t: ArrayLike) -> Any:
        """Return the edge of a bucket that stands for a threshold of a classifier.

        Parameters
        ----------
        t
            Thresholds, any shape; infinities are allowed, NaN is not.

        Returns
        -------
        float or numpy.ndarray
            The nearest edge for each ``t``, in the shape of ``t``; of two equally near edges, the
            lower one.

        Raises
        ------
        DtypeError, ParameterError
            ``t`` is not as above.

        Notes
        -----
        The source is the federated paper, section 4.
        ``classifier.precision(histogram.curves, histogram.nearest(t))`` is the precision of the
        buckets. The cost is O(log B) for each threshold.

        Examples
        --------
        >>> import dpcore as dp
        >>> from dpcore.statistics.score_histograms import ScoreHistogram
        >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
        >>> ScoreHistogram.uniform(curves, 4).nearest([0.3, 0.6, 2.0])
        array([0.25, 0.5 , 1.  ])
        """
        edges, inner = self.bins.edges, np.clip(_check.points("t", t), 0.0, 1.0)
        above = np.searchsorted(edges[1:-1], inner) + 1  # in 1, ..., B
        low, high = edges[above - 1], edges[above]
        return float_or_array(np.asarray(np.where(inner - low <= high - inner, low, high)))

    def _discretisation(self, kind: IntervalKind, width: float) -> tuple[float, float]:
        """Return a bound plus ``width`` deviations of a normal error."""
        _check.choice("kind", kind, IntervalKind)
        negatives, positives, counts = self.bins.negatives, self.bins.positives, self.bins.counts
        pairs = float(negatives.sum()) * float(positives.sum())
        if not pairs > 0.0:
            return math.nan, 0.0
        within = negatives * positives
        worst = float(within.sum()) / (2.0 * pairs)
        if kind == "worst-case":
            return worst, 0.0
        bias = float(counts.max()) ** 2 / (8.0 * pairs)
        sampling = width * math.sqrt(float(within @ (counts + 1.0)) / 12.0) / pairs
        return (bias, sampling) if bias + sampling < worst else (worst, 0.0)

    def _area(self, tie: float) -> float:
        return float(area_of(self.bins.negatives, self.bins.positives, tie))

    @property
    def _scores(self) -> BucketedScores:
        at = np.searchsorted(self.curves.thresholds, self.bins.edges[1:])
        return BucketedScores(self.curves, at, self.mechanism)


def _check_bins(curves: ScoreCurves, bins: Bins) -> None:
    """Check that the bins are of the scores of the curves."""
    edges, last = bins.edges, curves.thresholds[-1]
    if not (edges[0] == 0.0 and edges[-1] == last):
        what = f"must have edges that rise from 0 to the last threshold of the curves, {last}"
        raise ParameterError("bins", edges, what)


def _monotone(curves: ScoreCurves) -> ScoreCurves:
    _check.instance("curves", curves, ScoreCurves, "must be ScoreCurves")
    return curves if curves.joint.is_monotone else curves.isotonic()


def _buckets(buckets: int) -> int:
    return _check.integer("buckets", buckets, 1, MOST_CELLS)
