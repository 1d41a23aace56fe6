"""Histogram binning and isotonic regression: maps from scores to probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from ..curves.scores import ScoreCurves
from ..curves.shapes import float_or_array
from ..errors import amount
from ..records.column import Column
from .binning import Bins, Cells, counted_bins, equi_depth_bins

__all__ = ["HistogramBinning", "IsotonicCalibration", "steps"]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class HistogramBinning:
    """A map from a score to the share of positives in its bin (Zadrozny & Elkan 2001).

    Made by ``HistogramBinning.fit``.

    Parameters
    ----------
    edges
        (B + 1,) the edges of the bins, as in ``Bins``.
    values
        (B,) the shares of positives in the bins; NaN if a bin is empty.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import HistogramBinning
    >>> labels, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9]
    >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
    >>> fitted = HistogramBinning.fit(curves, 2)
    >>> fitted.edges.round(2), fitted.values.round(3)
    (array([0. , 0.3, 1. ]), array([0.333, 0.667]))
    """

    edges: NDArray[np.float64]
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        _check.held("values", self.values, (None,))
        _check.held("edges", self.edges, (self.values.size + 1,))

    def __repr__(self) -> str:
        return f"<HistogramBinning: {amount(self.values.size, 'bin')}>"

    @classmethod
    def fit(cls, curves: ScoreCurves, bins: int | Bins = 10) -> Self:
        """Compute the shares from released curves, at no further cost in privacy.

        Parameters
        ----------
        curves
            Curves of scores that are probabilities: thresholds within [0, 1], the last one 1.
        bins
            The number of bins, which then have about equally many records each; or ``Bins``, whose
            edges are used and whose counts are not.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Examples
        --------
        >>> import dpcore as dp
        >>> from dpcore.statistics.calibrators import HistogramBinning
        >>> labels, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9]
        >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
        >>> HistogramBinning.fit(curves, 2).predict([0.25, 0.75]).round(3)
        array([0.333, 0.667])
        """
        binned = counted_bins(curves, bins, equi_depth_bins)
        return cls(binned.edges, binned.positive_rate)

    def predict(self, y_score: Any) -> Any:
        """Return the share of positives in the bin of each score.

        Parameters
        ----------
        y_score
            Real numbers, any shape. Those beyond [0, 1] belong to the end bins.

        Returns
        -------
        numpy.ndarray
            An array of the shape of ``y_score``. It is NaN for NaN, and in bins that were empty.

        Examples
        --------
        >>> import dpcore as dp
        >>> from dpcore.statistics import HistogramBinning
        >>> labels, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9]
        >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
        >>> HistogramBinning.fit(curves, 2).predict([0.25, 0.75, float("nan")]).round(3)
        array([0.333, 0.667,   nan])
        """
        return steps(self.edges, self.values, y_score)


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class IsotonicCalibration:
    """The non-decreasing map from scores that is nearest to the labels (Zadrozny & Elkan 2002).

    Made by ``IsotonicCalibration.fit``.

    Parameters
    ----------
    scores
        (K,) increasing scores: the middles of the cells, or the mean scores of the bins, that have
        records.
    values
        (K,) the values of the map at these scores, never decreasing, within [0, 1]. The map is
        linear in between and constant beyond, as in scikit-learn.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import IsotonicCalibration
    >>> labels, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9]
    >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
    >>> fitted = IsotonicCalibration.fit(curves)
    >>> fitted.scores.round(1), fitted.values
    (array([0.1, 0.2, 0.3, 0.6, 0.8, 0.9]), array([0. , 0. , 0.5, 0.5, 1. , 1. ]))
    """

    scores: NDArray[np.float64]
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        _check.held("values", self.values, (None,))
        _check.held("scores", self.scores, self.values.shape)

    def __repr__(self) -> str:
        return f"<IsotonicCalibration: {amount(self.values.size, 'point')}>"

    @classmethod
    def fit(cls, curves: ScoreCurves, bins: int | Bins | None = None) -> Self:
        """Fit released curves by weighted least squares, at no further cost in privacy.

        Parameters
        ----------
        curves
            Curves of scores that are probabilities: thresholds within [0, 1], the last one 1.
        bins
            None: the fit uses one share of positives for each cell, weighted by its count.
            Otherwise bins as in ``HistogramBinning.fit``: it uses one share for each bin.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        The algorithm is pool adjacent violators. The values are the slopes of the greatest convex
        minorant of cumulative positives over cumulative records. So noise in cumulative counts does
        not add up over the cells of a block (docs/guides/calibration.md). The cost is O(N).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> from dpcore.statistics import IsotonicCalibration
        >>> rng = np.random.default_rng(1)
        >>> scores = rng.random(2000)
        >>> curves = dp.score_curves(rng.random(2000) < scores**2, scores, epsilon=5.0, rng=rng)
        >>> fitted = IsotonicCalibration.fit(curves, 20)
        >>> fitted.predict([0.25, 0.75]).round(2)  # the truth: 0.06, 0.56
        array([0.05, 0.56])
        """
        from scipy.optimize import isotonic_regression  # a quarter of a second, on first use

        if bins is None:
            cells = Cells.of(curves)
            binned = cells.bins(np.arange(cells.edges.size))
        else:
            binned = counted_bins(curves, bins, equi_depth_bins)
        some = binned.counts > 0.0
        values = isotonic_regression(binned.positive_rate[some], weights=binned.counts[some]).x
        # Apart from rounding, these are means of shares.
        return cls(binned.mean_score[some], np.clip(values, 0.0, 1.0))

    def predict(self, y_score: Any) -> Any:
        """Return the map's value at each score.

        Parameters
        ----------
        y_score
            Real numbers, any shape.

        Returns
        -------
        numpy.ndarray
            An array of the shape of ``y_score``, or a float if a number is given. NaN for NaN.

        Examples
        --------
        >>> import dpcore as dp
        >>> from dpcore.statistics import IsotonicCalibration
        >>> labels, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9]
        >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
        >>> IsotonicCalibration.fit(curves).predict([0.0, 0.4, 0.7]).round(2)
        array([0.  , 0.5 , 0.75])
        """
        scores = _real(y_score)
        predicted = np.interp(scores, self.scores, self.values)
        # A map of one point has a value for NaN.
        predicted = np.where(np.isnan(scores), np.nan, predicted)
        return float_or_array(predicted)


def steps(edges: NDArray[np.float64], values: NDArray[np.float64], y_score: Any) -> Any:
    """Return the value of the bin that each score is in."""
    scores = np.clip(_real(y_score), 0.0, 1.0)  # bins beyond coinciding edges may be empty
    predicted = values[np.searchsorted(edges[1:-1], scores)]
    return float_or_array(np.where(np.isnan(scores), np.nan, predicted))


def _real(y_score: Any) -> NDArray[np.float64]:
    Column.of(y_score, "y_score").check_in_memory()
    return _check.doubles(_check.array("y_score", y_score, "biuf"))
