"""ROC and precision-recall curves from a few quantiles of each class."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.scores import MOST_SCORE_CELLS, ScoreCurves
from ..errors import ParameterError
from ..mechanisms import Hierarchy, Mechanism
from ..privacy.guarantees import Privacy
from ..privacy.spending import called
from ..releases.score_curves import score_curves
from ..statistics.binning import share
from ..summaries.grid import Grid
from ..summaries.score_counts import Label
from ..summaries.totals import NanPolicy

__all__ = ["QuantileROC", "quantile_branching", "quantile_roc"]

Values = NDArray[np.float64]

_BELOW: Final = 2  # levels below the first one with a cell for each quantile, as published
_POINTS: Final = 32  # of the curve from one quantile to the next


@dataclass(frozen=True, eq=False, slots=True)
class QuantileROC:
    """The curves of a classifier from Q quantiles of the scores of each class.

    The quantiles are those for 0, 1 / (Q - 1), ..., 1. The distribution function of each class is a
    monotone cubic between them (Fritsch & Carlson 1980, with the slopes of Fritsch & Butland 1984).
    All is post-processing of released curves. Made by ``quantile_roc``.

    Parameters
    ----------
    curves
        Released scores, by any mechanism or trust model, on a grid whose ``lower`` is known. They
        are made monotone if they are not.
    quantiles
        Q, 2 or more.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    At a quantile the function has the value of the released one, and both are monotone. So the
    rates are off by at most 1 / (Q - 1) from those of the released curves at every score, and the
    area between the ROC curves is at most 2 / (Q - 1). This is the O(1 / Q) of the paper. O(N + Q).

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.papers.quantile_roc import QuantileROC
    >>> labels, scores = [0, 1] * 2000, [(i + i % 2) / 4001 for i in range(4000)]
    >>> grid, exact = dp.Grid.uniform(0, 1, 16), dp.mechanisms.NoNoise()
    >>> roc = QuantileROC(dp.score_curves(labels, scores, grid, exact), quantiles=5)
    >>> roc.of_classes()[0].round(2)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> round(roc.auc, 2)
    0.5
    """

    curves: ScoreCurves
    quantiles: int = 8

    def __post_init__(self) -> None:
        _check.instance("curves", self.curves, ScoreCurves, "must be ScoreCurves")
        number = _check.integer("quantiles", self.quantiles, 2, MOST_SCORE_CELLS)
        object.__setattr__(self, "quantiles", number)
        if not np.isfinite(self.curves.grid.start):
            given = self.curves.grid.lower
            raise ParameterError("curves", given, "must be on a grid whose lower end is known")
        if not self.curves.joint.is_monotone:
            object.__setattr__(self, "curves", self.curves.isotonic())

    @property
    def privacy(self) -> Privacy:
        """The cost of the release."""
        return self.curves.privacy

    def of_classes(self) -> tuple[Values, Values]:
        """Return the quantiles of negatives and positives, each (Q,); NaN for an empty class.

        They rise strictly. Within its cell, a quantile is where records lie if they lie evenly.
        """
        grid, levels = self.curves.grid, np.linspace(0.0, 1.0, self.quantiles)
        ends = np.append(grid.start, grid.positions)
        return (
            _inverse(ends, self.curves.negatives, levels),
            _inverse(ends, self.curves.positives, levels),
        )

    @property
    def thresholds(self) -> Values:
        """(T,) scores in descending order, from the largest quantile to the least.

        All quantiles are among them, and points between these. A score above a threshold is
        predicted positive.
        """
        knots = np.unique(np.concatenate(self.of_classes()))
        knots = knots[np.isfinite(knots)]
        parts = np.linspace(knots[:-1], knots[1:], _POINTS, endpoint=False)
        return np.append(parts.T.reshape(-1), knots[-1])[::-1]

    @property
    def fpr(self) -> Values:
        """(T,) the share of the negatives above each threshold, from 0 to 1."""
        return self._above()[0]

    @property
    def tpr(self) -> Values:
        """(T,) the share of the positives above each threshold, from 0 to 1."""
        return self._above()[1]

    @property
    def recall(self) -> Values:
        """(T,) the same as ``tpr``."""
        return self.tpr

    @property
    def precision(self) -> Values:
        """(T,) the share of positives above each threshold; 1 where nothing is above it."""
        false, true = self._above()
        positives = true * self.curves.positives[-1]
        found = share(positives, positives + false * self.curves.negatives[-1])
        return np.where(np.isnan(found), 1.0, found)

    @property
    def auc(self) -> float:
        """The area under the ROC curve; NaN if a released class is empty."""
        false, true = self._above()
        return float(np.trapezoid(true, false))

    def _above(self) -> tuple[Values, Values]:
        at = self.thresholds
        negatives, positives = (1.0 - _monotone_cubic(each, at) for each in self.of_classes())
        return negatives, positives


@documented
def quantile_roc(
    y_true: Any,
    y_score: Any,
    mechanism: Mechanism | None = None,
    *,
    epsilon: float | Fraction | None = None,
    quantiles: int = 8,
    branching: int = 2,
    pos_label: Label | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> QuantileROC:
    """Release the ROC curve through a few quantiles of each class, as Xu & Cormode do.

    The source is Xu & Cormode, *Federated Computation of ROC and PR Curves* (arXiv 2510.04979,
    2025), and the program of its authors (github.com/xuefeng-xu/fedcurve). The scores of each class
    are counted in a tree over [0, 1]. Its height is 2 more than that of the first level with Q
    cells, and its levels have equal parts of epsilon. The noise is discrete Laplace, which clients
    may add in shares.

    Parameters
    ----------
    y_true
        {labels}
    y_score
        {scores}
    mechanism
        The mechanism or trust model that counts the 2 b^h cells, in the place of epsilon:
        ``trust.DistributedNoise`` with ``quantile_branching`` and equal budgets is the paper's
        distributed noise, and ``trust.SecureAggregation`` its exact sums. None: the tree of the
        paper, by one curator.
    epsilon
        The budget of the whole curve, a positive number (a Fraction is taken exactly).
    quantiles, branching
        Q and the branching b of the tree. The program of the authors has 8 and 2.
    pos_label
        {pos_label}
    rng
        {rng}
    nan_policy
        {nan_policy}

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before anything is drawn.

    Notes
    -----
    Neighbours: one record is replaced, with its label and score, and n is public. The guarantee is
    that of ``mechanisms.Hierarchy``: the trees of both classes are one tree, whose first level has
    the 2 b cells of the first levels of both. A replaced record moves two cells on each level.

    Ours are: this relation (the paper adds or removes a record, with half of the noise); the joint
    tree, with least squares over both classes at once and the public n; isotonic regression, where
    negative counts are clipped as published; quantiles within their cell, where the program returns
    its lower end; and 32 points of the curve between two quantiles. O(n + N).

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.papers.quantile_roc import quantile_roc
    >>> rng = np.random.default_rng(1)
    >>> y_true = rng.random(5000) < 0.3
    >>> y_score = rng.normal(np.where(y_true, 0.6, 0.4), 0.15)
    >>> roc = quantile_roc(y_true, y_score, epsilon=1.0, rng=rng)
    >>> round(roc.auc, 1), roc.curves.grid.size
    (0.8, 32)
    """
    widths = quantile_branching(quantiles, branching)
    if mechanism is None:
        tree: dict[str, Any] = {"branching": widths, "budgets": "equal"}
        mechanism, epsilon = Hierarchy(epsilon, **tree), None
    grid = Grid.uniform(0, 1, int(np.prod(widths)) // 2)
    with called("quantile_roc"):
        curves = score_curves(
            y_true,
            y_score,
            grid,
            mechanism,
            epsilon=epsilon,
            pos_label=pos_label,
            rng=rng,
            nan_policy=nan_policy,
        )
    return QuantileROC(curves, quantiles)


def quantile_branching(quantiles: int = 8, branching: int = 2) -> tuple[int, ...]:
    """Return the branching of the joint tree of both classes, from the top down.

    Raises
    ------
    DtypeError, ParameterError
        ``quantiles`` or ``branching`` is not an integer from 2 on, or there are too many cells.

    Examples
    --------
    >>> from dpcore.papers.quantile_roc import quantile_branching
    >>> quantile_branching(8, 2), quantile_branching(100, 4)
    ((4, 2, 2, 2, 2), (8, 4, 4, 4, 4, 4))
    """
    quantiles = _check.integer("quantiles", quantiles, 2, MOST_SCORE_CELLS)
    branching = _check.integer("branching", branching, 2, MOST_SCORE_CELLS)
    height, cells = 0, 1
    while cells < quantiles:
        height, cells = height + 1, cells * branching
    if cells * branching**_BELOW > MOST_SCORE_CELLS:
        most = f"must give at most {MOST_SCORE_CELLS} cells, with branching {branching}"
        raise ParameterError("quantiles", quantiles, most)
    return (2 * branching, *[branching] * (height + _BELOW - 1))


def _inverse(ends: Values, cumulative: Values, levels: Values) -> Values:
    """Return where a class reaches shares of its records, (Q,), straight within cells.

    The share 0 is reached where the first cell with records begins.
    """
    if not cumulative[-1] > 0.0:
        return np.full(levels.size, np.nan)
    reached = np.append(0.0, cumulative / cumulative[-1])
    at = np.searchsorted(reached, levels, side="left")
    at[0] = np.searchsorted(reached, 0.0, side="right")  # the last end with nothing below it
    at[-1] = np.searchsorted(reached, 1.0, side="left")
    start, rise = reached[at - 1], reached[at] - reached[at - 1]
    found = ends[at - 1] + (levels - start) / rise * (ends[at] - ends[at - 1])
    return np.asarray(np.maximum.accumulate(found))


def _monotone_cubic(knots: Values, at: Values) -> Values:
    """Return the distribution function through the quantiles at some points; NaN without any."""
    from scipy.interpolate import PchipInterpolator  # a tenth of a second, on first use

    if np.isnan(knots[0]):
        return np.full(at.size, np.nan)
    levels = np.linspace(0.0, 1.0, knots.size)
    apart = np.append(np.diff(knots) > 0.0, True)  # quantiles that doubles cannot tell apart
    below, above = at < knots[0], at >= knots[-1]
    found = PchipInterpolator(knots[apart], levels[apart], extrapolate=False)(at)
    found = np.where(below, 0.0, np.where(above, 1.0, found))
    falling = np.minimum.accumulate(np.clip(found, 0.0, 1.0))  # ``at`` falls, up to rounding
    return np.asarray(falling)
