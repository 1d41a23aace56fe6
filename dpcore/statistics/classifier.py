"""Metrics of a classifier at given thresholds, read off the released scores of two classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..curves.scores import ScoreCurves
from ..errors import DtypeError
from .binning import share

__all__ = ["Confusion", "accuracy", "confusion", "f1", "precision", "recall"]


class Confusion(NamedTuple):
    """Released counts of records by label and prediction, in the order of scikit-learn's."""

    true_negatives: NDArray[np.float64]
    false_positives: NDArray[np.float64]
    false_negatives: NDArray[np.float64]
    true_positives: NDArray[np.float64]


def confusion(curves: ScoreCurves, t: ArrayLike) -> Confusion:
    """Count labels and predictions, if scores above ``t`` are predicted positive.

    Parameters
    ----------
    curves
        The released scores; made monotone first if they are not.
    t
        Thresholds, any shape; infinities are allowed, NaN is not.

    Returns
    -------
    Confusion
        Four arrays of the shape of ``t``, at least 0, and not integers in general. Curves are known
        at the grid's thresholds: the last one that is <= t stands for t, and -inf for one before
        the first. From the last threshold on nothing is predicted positive.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    All metrics here are functions of these. O(log N) each, and O(N) for the curves.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics.classifier import confusion, precision
    >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> grid = dp.Grid.uniform(0, 1, 10)
    >>> curves = dp.score_curves(labels, scores, grid, dp.mechanisms.NoNoise())
    >>> [float(count) for count in confusion(curves, 0.3)]
    [1.0, 1.0, 0.0, 2.0]
    >>> precision(curves, [0.3, 0.5, 1.0])
    array([0.66666667, 1.        ,        nan])
    """
    if not isinstance(curves, ScoreCurves):
        raise DtypeError("curves", type(curves).__name__, "must be ScoreCurves")
    points = _check.points("t", t)
    if not curves.joint.is_monotone:
        curves = curves.isotonic()
    at = np.searchsorted(curves.thresholds, points, side="right")
    negatives, positives = (np.append(0.0, each) for each in (curves.negatives, curves.positives))
    return Confusion(
        np.asarray(negatives[at]),
        np.asarray(negatives[-1] - negatives[at]),
        np.asarray(positives[at]),
        np.asarray(positives[-1] - positives[at]),
    )


def precision(curves: ScoreCurves, t: ArrayLike) -> NDArray[np.float64]:
    """Return the share of positives among the scores above ``t``; NaN where there are none.

    Parameters, errors and cost as in ``confusion``. Within [0, 1], of the shape of ``t``.
    """
    found = confusion(curves, t)
    return share(found.true_positives, found.true_positives + found.false_positives)


def recall(curves: ScoreCurves, t: ArrayLike) -> NDArray[np.float64]:
    """Return the share of the positives with scores above ``t``; NaN if there are no positives.

    Parameters, errors and cost as in ``confusion``. Within [0, 1], of the shape of ``t``.
    """
    found = confusion(curves, t)
    return share(found.true_positives, found.true_positives + found.false_negatives)


def accuracy(curves: ScoreCurves, t: ArrayLike) -> NDArray[np.float64]:
    """Return the share of records whose label is what "score above ``t``" predicts; NaN of none.

    Parameters, errors and cost as in ``confusion``. Within [0, 1], of the shape of ``t``.
    """
    found = confusion(curves, t)
    right = found.true_positives + found.true_negatives
    return share(right, right + found.false_positives + found.false_negatives)


def f1(curves: ScoreCurves, t: ArrayLike) -> NDArray[np.float64]:
    """Return the harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN).

    NaN where there is neither a positive nor a score above ``t``. Parameters, errors and cost as in
    ``confusion``. Within [0, 1], of the shape of ``t``.
    """
    found = confusion(curves, t)
    wrong = found.false_positives + found.false_negatives
    return share(2 * found.true_positives, 2 * found.true_positives + wrong)
