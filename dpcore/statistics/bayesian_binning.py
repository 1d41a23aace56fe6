"""Bayesian binning into quantiles: an average over numbers of bins."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from ..curves.scores import ScoreCurves
from ..errors import ParameterError, amount
from ..summaries.grid import MOST_CELLS
from .binning import Bins, Cells
from .calibrators import steps

__all__ = ["BayesianBinning"]

_PRIOR_RECORDS: Final = 2.0  # the weight of the prior in each bin, in records
_LEAST_PRIOR_MEAN: Final = 0.005  # the largest one is 1 - 0.005
_BINS_PER_ROOT: Final = 10.0  # there are at most 10 n^(1/3) bins, and at least n^(1/3) / 10
_LEAST_RECORDS: Final = 5  # records in a bin


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class BayesianBinning:
    """An average of equi-depth binnings, weighted by how well each explains the labels.

    This is Bayesian binning into quantiles, BBQ (Naeini, Cooper & Hauskrecht 2015). Made by
    ``BayesianBinning.fit``.

    Parameters
    ----------
    edges
        (N + 1,) the edges of the curves' cells.
    values
        (N,) the probability in each cell.
    sizes
        (K,) the numbers of bins.
    weights
        (K,) their posterior probabilities; they add up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import BayesianBinning
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(2000)
    >>> curves = dp.score_curves(rng.random(2000) < scores**2, scores, epsilon=5.0, rng=rng)
    >>> BayesianBinning.fit(curves).predict([0.25, 0.75]).round(2)  # the truth: 0.06, 0.56
    array([0.04, 0.54])
    """

    edges: NDArray[np.float64]
    values: NDArray[np.float64]
    sizes: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        _check.held("values", self.values, (None,))
        _check.held("edges", self.edges, (self.values.size + 1,))
        _check.held("sizes", self.sizes, (None,))
        _check.held("weights", self.weights, self.sizes.shape)

    def __repr__(self) -> str:
        binnings, cells = amount(self.sizes.size, "binning"), amount(self.values.size, "cell")
        return f"<BayesianBinning: {binnings} over {cells}>"

    @classmethod
    def fit(cls, curves: ScoreCurves, sizes: Iterable[int] | None = None) -> Self:
        """Average over binnings of released curves, at no further cost in privacy.

        Parameters
        ----------
        curves
            Curves of scores that are probabilities: thresholds within [0, 1], the last one 1.
        sizes
            The numbers of bins. None: from n^(1/3) / 10 to 10 n^(1/3) or n / 5, as published. They
            are also at most the number of cells, and at most sqrt(n / d), where d is the largest
            deviation of the noise.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        The prior gives all numbers of bins the same weight. The prior of the share of positives in
        a bin is Beta(2 m, 2 (1 - m)), where m is the middle of the bin, clipped to [0.005, 0.995].
        It counts as much as two records that agree with the scores, as in the authors' own code.
        With p positives and q negatives, the marginal likelihood of the bin is
        B(2 m + p, 2 (1 - m) + q) / B(2 m, 2 (1 - m)), where p and q need not be integers, and its
        posterior mean is (p + 2 m) / (p + q + 2).

        The likelihood treats the released counts as the records' counts, so it explains noise by
        more and more bins. The limit sqrt(n / d) prevents this: with it, noise changes a share by
        at most 2 d B / n <= 2 / B (docs/guides/calibration.md).

        The cost is O(N) for each of the sizes.

        Examples
        --------
        >>> import dpcore as dp
        >>> from dpcore.statistics import BayesianBinning
        >>> labels, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9]
        >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
        >>> fitted = BayesianBinning.fit(curves, [1, 2, 3])
        >>> fitted.sizes, fitted.weights.round(2)
        (array([1, 2, 3]), array([0.07, 0.05, 0.88]))
        """
        cells = Cells.of(curves)
        tried = _sizes(cells, curves.n) if sizes is None else _checked(sizes)
        binnings = [cells.equi_depth_bins(int(size)) for size in tried]
        scores = np.array([_log_likelihood(bins) for bins in binnings])
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        values = np.zeros(cells.middles.size)
        # the omitted weights add up to less than a rounding error
        for k in np.flatnonzero(weights > np.finfo(np.float64).eps / tried.size):
            edges, prior = binnings[k].edges, _prior(binnings[k])
            means = (binnings[k].positives + prior) / (binnings[k].counts + _PRIOR_RECORDS)
            values += weights[k] * steps(edges, means, cells.edges[1:])
        return cls(cells.edges, np.clip(values, 0.0, 1.0), tried, weights)

    def predict(self, y_score: Any) -> Any:
        """Return the averaged probability at each score.

        Parameters
        ----------
        y_score
            Real numbers, any shape. Those beyond [0, 1] belong to the end cells.

        Returns
        -------
        numpy.ndarray
            An array of the shape of ``y_score``; NaN for NaN.

        Examples
        --------
        >>> import dpcore as dp
        >>> from dpcore.statistics import BayesianBinning
        >>> labels, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9]
        >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
        >>> BayesianBinning.fit(curves, [1, 2, 3]).predict([0.25, 0.75]).round(3)
        array([0.444, 0.861])
        """
        return steps(self.edges, self.values, y_score)


def _sizes(cells: Cells, n: int) -> NDArray[np.int64]:
    """Return the default numbers of bins."""
    root, noise = float(np.cbrt(n)), max(float(deviation.max()) for deviation in cells.deviations)
    most = min(math.ceil(n / _LEAST_RECORDS), math.ceil(root * _BINS_PER_ROOT), cells.middles.size)
    if noise > 0.0:
        most = max(1, min(most, math.floor(math.sqrt(n / noise))))
    return np.arange(min(max(1, math.floor(root / _BINS_PER_ROOT)), most), most + 1)


def _checked(sizes: Iterable[int]) -> NDArray[np.int64]:
    listed = _check.items("sizes", sizes, "must be integers")
    checked = [_check.integer("sizes", size, 1, MOST_CELLS) for size in listed]
    if not checked:
        raise ParameterError("sizes", checked, "must have at least one entry")
    return np.array(checked)


def _prior(bins: Bins) -> NDArray[np.float64]:
    """Return how many positives the prior counts in each bin."""
    middles = (bins.edges[:-1] + bins.edges[1:]) / 2
    return _PRIOR_RECORDS * np.clip(middles, _LEAST_PRIOR_MEAN, 1.0 - _LEAST_PRIOR_MEAN)


def _log_likelihood(bins: Bins) -> float:
    """Return the logarithm of the marginal likelihood of the labels in order, given the bins."""
    from scipy.special import betaln  # a tenth of a second, on first use

    positives = _prior(bins)
    negatives = _PRIOR_RECORDS - positives
    after = betaln(positives + bins.positives, negatives + bins.negatives)
    return float(np.sum(after - betaln(positives, negatives)))
