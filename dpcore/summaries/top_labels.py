"""Several classes as two: whether the likeliest class of a record is right. This is private."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..records.labels import Label
from .class_probabilities import class_probabilities, classes_of

__all__ = ["TopLabels", "top_label"]


class TopLabels(NamedTuple):
    """Private records of a classifier with several classes, in the form of two classes.

    Parameters
    ----------
    is_right
        (n,) booleans: whether the likeliest class is the record's label.
    confidence
        (n,) the probability of that class; NaN if it or the label is missing.
    """

    is_right: NDArray[np.bool_]
    confidence: NDArray[np.float64]


def top_label(y_true: Any, y_prob: Any, classes: Sequence[Label]) -> TopLabels:
    """Return whether each record's likeliest class is right, and how likely the classifier says.

    Use this before ``score_curves`` for the top-label calibration of a classifier with K classes,
    or for the ROC curve of its confidence. The results are records, and are as private as those
    given. Each depends on one record alone, so neighbours stay neighbours, and the release costs
    what it states.

    Parameters
    ----------
    y_true
        (n,) labels, in the containers of ``score_curves``, in memory. A label that is not among
        ``classes`` is never right.
    y_prob
        (n, K) array, or what NumPy makes one of, such as a data frame: the probability of each
        class. Of several largest ones, the first counts.
    classes
        (K,) public labels of the columns, all different, K at least 2: ``classes_`` of
        scikit-learn's estimators.

    Returns
    -------
    TopLabels
        Where a label or a probability is missing, the confidence is NaN, so ``nan_policy`` of the
        release decides.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above. Errors depend on types and shapes alone.

    Notes
    -----
    The calibration of the result is the confidence calibration of Guo et al. 2017. With
    ``by=``, the likeliest classes, it is the top-label calibration of Gupta & Ramdas 2022. The cost
    is O(n K).

    Examples
    --------
    >>> import dpcore as dp
    >>> y_prob = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.8, 0.1]]
    >>> is_right, confidence = dp.top_label(["a", "b", "b"], y_prob, ["a", "b", "c"])
    >>> is_right, confidence
    (array([ True, False,  True]), array([0.7, 0.4, 0.8]))

    >>> import numpy as np
    >>> from dpcore.statistics import expected_calibration_error
    >>> rng = np.random.default_rng(1)
    >>> y_prob = rng.dirichlet([1, 1, 1], 20_000)
    >>> y_true = (rng.random(20_000)[:, np.newaxis] > y_prob.cumsum(axis=1)).sum(axis=1)
    >>> curves = dp.score_curves(*dp.top_label(y_true, y_prob, [0, 1, 2]), epsilon=1.0, rng=rng)
    >>> expected_calibration_error(curves, 5) < 0.02
    True
    """
    place, is_missing, probabilities = class_probabilities(y_true, y_prob, classes_of(classes))
    likeliest = probabilities.argmax(axis=1)  # of a row with NaN, the place of the NaN
    confidence = _check.doubles(probabilities[np.arange(place.size), likeliest])
    if is_missing is not None:
        confidence[is_missing] = np.nan
    return TopLabels(likeliest == place, confidence)
