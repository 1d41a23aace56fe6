"""Histograms of scores by class: the area under the ROC curve, and how far it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import _check
from ..curves.confidence import Interval, deviations
from ..curves.scores import ScoreCurves
from ..curves.shapes import float_or_array
from ..curves.shown import cost, line
from ..curves.simulated_releases import Releases, check_released
from ..errors import DtypeError
from ..privacy.guarantees import Privacy
from ..summaries.grid import MOST_CELLS
from .areas import BucketedScores, area_of
from .binning import Bins, equi_depth_bins, uniform_bins

__all__ = ["IntervalKind", "ScoreHistogram"]

IntervalKind = Literal["worst-case", "well-behaved"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ScoreHistogram:
    """Counts of negatives and positives in B buckets of scores, and what they say of the area.

    Made by ``quantile`` or ``uniform``, from the curves of any mechanism or trust model, by
    post-processing. Precision, recall and accuracy at a threshold are those of
    ``statistics.classifier`` at ``nearest(t)``, and finer at the threshold itself.

    Parameters
    ----------
    curves
        The released scores, monotone: probabilities, with thresholds within [0, 1].
    bins
        The buckets. Their edges are thresholds of the curves, and 0.
    mechanism
        What released the curves, for the noise to be simulated: any mechanism or trust model.
        None: not known, and the noise is bounded.

    Raises
    ------
    DtypeError, ParameterError
        The mechanism is not the one that the curves name, or they were smoothed.

    Notes
    -----
    Federated paper, sections 4 and 5. docs/score-histograms.md has derivations and measurements.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(2000)
    >>> curves = dp.score_curves(rng.random(2000) < scores, scores, epsilon=5.0, rng=rng)
    >>> histogram = dp.statistics.ScoreHistogram.quantile(curves, 20)
    >>> round(histogram.auc, 3), round(histogram.auc_corrected, 3)
    (0.824, 0.825)
    """

    curves: ScoreCurves
    bins: Bins
    mechanism: Releases | None = None

    def __repr__(self) -> str:
        size, n = self.bins.counts.size, self.curves.n
        return line(
            "ScoreHistogram",
            f"area {self.auc:.4g}, n = {n}, {cost(self.privacy)}, {size} buckets",
            f"area {self.auc:.4g}, n = {n}, {cost(self.privacy)}",
        )

    def __post_init__(self) -> None:
        if self.mechanism is not None:
            check_released("curves", self.curves.joint, self.mechanism)

    @classmethod
    def quantile(
        cls, curves: ScoreCurves, buckets: int = 100, mechanism: Releases | None = None
    ) -> ScoreHistogram:
        """Return buckets of about as many released records each.

        Parameters
        ----------
        curves
            Of scores that are probabilities: thresholds within [0, 1], the last one 1. Made
            monotone first if they are not.
        buckets
            B, how many. Where a cell has more than n / B records, some are empty.
        mechanism
            What released the curves, if it is known: intervals are much shorter then.
            ``dpcore.mechanisms.from_curve(curves.joint)`` has it again from what the release says
            of itself.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        ``equi_depth_bins``: O(N + B log N).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> scores = rng.random(2000) ** 2
        >>> curves = dp.score_curves(rng.random(2000) < scores, scores, epsilon=5.0, rng=rng)
        >>> dp.statistics.ScoreHistogram.quantile(curves, 4).bins.edges.round(2)
        array([0.  , 0.06, 0.25, 0.57, 1.  ])
        """
        monotone = _monotone(curves)
        return cls(monotone, equi_depth_bins(monotone, _buckets(buckets)), mechanism)

    @classmethod
    def uniform(
        cls, curves: ScoreCurves, buckets: int = 100, mechanism: Releases | None = None
    ) -> ScoreHistogram:
        """Return buckets of one width, as near as the grid's thresholds allow.

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
        """What the release cost."""
        return self.curves.privacy

    @property
    def auc(self) -> float:
        """The share of pairs whose positive is in a higher bucket, those in one counting half.

        Eq. 5 of the federated paper. Within [0, 1]; NaN if a released class is empty.
        """
        return self._area(0.5)

    @property
    def auc_corrected(self) -> float:
        """The area by Eq. 5, and what the order of the scores within buckets adds to it.

        Within a bucket the rate of positives is taken as linear in the rank of the score, with the
        slope between the neighbouring buckets. Where the rate is smooth, what is left is of a
        higher order in 1 / B than what Eq. 5 lacks. Not for scores with many ties: the more records
        have one score, the less is there to correct (docs/score-histograms.md, section 3). Within
        the worst case of ``auc_interval`` without noise; NaN if a released class is empty.
        """
        filled = self.bins.counts > 0.0
        counts, positives = self.bins.counts[filled], self.bins.positives[filled]
        pairs = float(positives.sum()) * float(self.bins.negatives.sum())
        if not pairs > 0.0 or counts.size < 2:
            return self.auc
        slopes = np.gradient(positives / counts, np.cumsum(counts) - counts / 2, edge_order=1)
        within = slopes * counts * np.maximum(counts**2 - 1.0, 0.0) / 12.0
        most = positives * (counts - positives) / 3.0  # of a line whose rates are within [0, 1]
        return self.auc + float(np.clip(within, -most, most).sum()) / pairs

    @property
    def auc_noise_deviation(self) -> float:
        """How far the privacy noise moves ``auc``: a standard deviation, or a bound of it.

        If the mechanism is known, the root mean square of 200 simulated releases' errors, with the
        same edges. If not, the correlations of the noise are not known, and the deviations of
        single counts are added up, which is on the safe side for any, to first order: up to four
        times as much. NaN if a released class is empty, infinite if the mechanism's error is.
        """
        return float(self._scores.deviations(0.5)[0])

    def auc_discretisation(
        self, kind: IntervalKind = "worst-case", *, level: float = 0.95
    ) -> float:
        """Return how far the area of the records themselves may be from Eq. 5, without noise.

        Parameters
        ----------
        kind
            "worst-case": sum of p_b n_b / (2 P N), half of all pairs in one bucket. It takes no
            assumption, and is attained. "well-behaved": the least of that and

                V max(m_b)^2 / (8 P N) + z sqrt(sum of p_b n_b (m_b + 1) / 12) / (P N),

            for m_b records in bucket b, and V = 1: of order 1 / B^2.
        level
            Of the second term, which is for labels drawn independently; between 0 and 1.

        Returns
        -------
        float
            At least 0; NaN if a released class is empty.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        docs/score-histograms.md, sections 2 and 3. "well-behaved" assumes that labels are
        independent draws with a rate of positives that depends on the score, and whose total
        variation V within buckets is at most 1: any rate that never falls. Where that is wrong, so
        may it be.

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
        """Return an interval for the area of the records' own scores, ties counting half.

        Parameters
        ----------
        kind
            What is assumed of scores in one bucket, as in ``auc_discretisation``.
        level
            Confidence, between 0 and 1.

        Returns
        -------
        Interval
            Within [0, 1], and [0, 1] if the noise may be all that there is of a class. If the
            curves are exact, the worst case is what the buckets allow, and is certain.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        In the worst case all pairs in one bucket are counted, or none of them, and each of these
        two areas has its own noise, which is that of ``auc_noise_deviation``, taken as normal.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> scores = rng.random(2000)
        >>> curves = dp.score_curves(rng.random(2000) < scores, scores, epsilon=5.0, rng=rng)
        >>> low, high = dp.statistics.ScoreHistogram.quantile(curves, 100).auc_interval()
        >>> round(low, 2), round(high, 2)
        (0.8, 0.85)
        """
        width, scores = deviations(level), self._scores
        bias, sampling = self._discretisation(kind, width)
        if scores.may_be_noise(width):
            return Interval(0.0, 1.0)
        if kind == "worst-case":
            below, above = width * scores.deviations(0.0, 1.0)
            low, high = self._area(0.0) - below, self._area(1.0) + above
        else:
            reach = bias + math.hypot(sampling, width * self.auc_noise_deviation)
            low, high = self.auc - reach, self.auc + reach
        return Interval(max(float(low), 0.0), min(float(high), 1.0))

    def nearest(self, t: ArrayLike) -> Any:
        """Return the edge of a bucket that stands for a threshold of a classifier.

        Parameters
        ----------
        t
            Thresholds, any shape; infinities are allowed, NaN is not.

        Returns
        -------
        float or numpy.ndarray
            Of the shape of ``t``: the nearest edge, and of two the lower one.

        Raises
        ------
        DtypeError, ParameterError
            t is not as above.

        Notes
        -----
        Federated paper, section 4. ``classifier.precision(histogram.curves, histogram.nearest(t))``
        is that of the buckets. O(log B) each.

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
        """Return a bound, and ``width`` deviations of a normal error, in addition to it."""
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


def _monotone(curves: ScoreCurves) -> ScoreCurves:
    if not isinstance(curves, ScoreCurves):
        raise DtypeError("curves", type(curves).__name__, "must be ScoreCurves")
    return curves if curves.joint.is_monotone else curves.isotonic()


def _buckets(buckets: int) -> int:
    return _check.integer("buckets", buckets, 1, MOST_CELLS)
