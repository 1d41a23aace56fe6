"""How much better one classifier is than another on the same records: intervals of the areas."""

from __future__ import annotations

import math

import numpy as np

from .. import _check
from ..curves.confidence import Interval, deviations, reach
from ..curves.provenance import Noises
from ..errors import ParameterError
from .roc import ROC

__all__ = ["auc_difference_interval", "population_auc_difference_interval"]


def auc_difference_interval(first: ROC, second: ROC, level: float = 0.95) -> Interval[float]:
    """Return an interval for the area of one ROC curve minus that of another: noise only.

    It is for two classifiers on the same records, for example with half of a budget each, and for
    the areas over the cells of both grids. The curves may also be of different records, such as
    two groups of ``dpcore.roc_curve``.

    Parameters
    ----------
    first, second
        The ROC curves, of two releases.
    level
        The confidence level, between 0 and 1.

    Returns
    -------
    Interval
        It is within [-1, 1], and it is [-1, 1] if a whole released class may be noise.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    The noise of two releases is independent, so the errors of both areas are added in squares
    (docs/guides/roc.md, section 3). What is not known of pairs between thresholds is added as it
    is. The cost is that of ``ROC.auc_interval`` for each curve.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import auc_difference_interval
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(5000)
    >>> labels, other = rng.random(5000) < scores, (scores + rng.random(5000)) / 2
    >>> models = (dp.roc_curve(labels, own, epsilon=1.0, rng=rng) for own in (scores, other))
    >>> low, high = auc_difference_interval(*models)
    >>> round(low, 2), round(high, 2)
    (0.08, 0.1)
    """
    return _interval(first, second, level, sampling=False)


def population_auc_difference_interval(
    first: ROC, second: ROC, level: float = 0.95
) -> Interval[float]:
    """Return an interval for the difference of two areas in the population: noise and sampling.

    Parameters, result, errors and cost are as in ``auc_difference_interval``. The records are
    assumed to be independent draws from the population.

    Notes
    -----
    The sampling errors of two classifiers on the same records depend on each other, and releases
    do not show how. So their deviations, those of ``ROC.population_auc_interval``, are added: this
    holds for any correlation, and is too wide if the classifiers mostly err on the same records, or
    if the records are not the same.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import population_auc_difference_interval
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(5000)
    >>> labels, other = rng.random(5000) < scores, (scores + rng.random(5000)) / 2
    >>> models = (dp.roc_curve(labels, own, epsilon=1.0, rng=rng) for own in (scores, other))
    >>> low, high = population_auc_difference_interval(*models)
    >>> round(low, 2), round(high, 2)
    (0.06, 0.12)
    """
    return _interval(first, second, level, sampling=True)


def _interval(first: ROC, second: ROC, level: float, *, sampling: bool) -> Interval[float]:
    for name, roc in (("first", first), ("second", second)):
        _check.instance(name, roc, ROC, "must be a ROC curve")
    width = deviations(level)
    one, other = first.curves.joint, second.curves.joint
    if Noises(one.releases).meet(other.releases):
        raise ParameterError("second", second, "must be another release than first")
    (ours, our_ties), (theirs, their_ties) = first._buckets(), second._buckets()
    if ours.may_be_noise(width) or theirs.may_be_noise(width):
        return Interval(-1.0, 1.0)
    their_ties = their_ties[::-1]  # the most of the second area is in the least difference
    noises = zip(ours.deviations(*our_ties), theirs.deviations(*their_ties), strict=True)
    ends = []
    for sign, ties, of_other, noise in zip((-1.0, 1.0), our_ties, their_ties, noises, strict=True):
        drawn = 0.0
        if sampling:
            drawn = ours.sampling_deviation(ties) + theirs.sampling_deviation(of_other)
        hidden = np.append(ours.hidden(ties, sign), theirs.hidden(of_other, -sign))
        off = reach(width, math.hypot(*noise, drawn), hidden)
        ends.append(ours.area(ties) - theirs.area(of_other) + sign * off)
    return Interval(*(min(max(end, -1.0), 1.0) for end in ends))
