"""Metrics of a classifier at given thresholds, from the released scores of both classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..curves.confidence import Interval, deviations, deviations_of_noise
from ..curves.own_mechanism import Releases, check_released
from ..curves.scores import ScoreCurves
from ..curves.shapes import float_or_array
from .binning import share
from .share_intervals import Spread, neighbours_of, released_classes, share_interval

__all__ = [
    "Confusion",
    "accuracy",
    "confusion",
    "f1",
    "population_precision_interval",
    "population_recall_interval",
    "precision",
    "precision_interval",
    "recall",
    "recall_interval",
]

Reals = NDArray[np.float64]
Places = NDArray[np.intp]
Counted = tuple[Reals, Reals]  # parts and wholes


class Confusion(NamedTuple):
    """Released counts of records by label and prediction, in the order of scikit-learn.

    Each is a float if t is a number, and otherwise an array of the shape of t.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import classifier
    >>> exact = dp.mechanisms.NoNoise()
    >>> curves = dp.score_curves([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], mechanism=exact)
    >>> classifier.confusion(curves, 0.3)
    Confusion(true_negatives=1.0, false_positives=1.0, false_negatives=0.0, true_positives=2.0)
    """

    true_negatives: Any
    false_positives: Any
    false_negatives: Any
    true_positives: Any


def confusion(curves: ScoreCurves, t: ArrayLike) -> Confusion:
    """Count labels and predictions, if scores above ``t`` are predicted positive.

    Parameters
    ----------
    curves
        The released scores. They are made monotone first if they are not.
    t
        Thresholds, any shape; infinities are allowed, NaN is not.

    Returns
    -------
    Confusion
        Four arrays of the shape of ``t``, or floats if ``t`` is a number. They are at least 0 and
        in general not integers. Curves are known only at the thresholds of the grid, so the last
        threshold <= t stands for t, and -inf stands for any t before the first threshold. From the
        last threshold on, nothing is predicted positive. If many scores are exactly 0, a grid with
        this threshold tells them apart: ``Grid(np.linspace(0, 1, 101), lower=0)``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    All metrics of this module are functions of these counts. The cost is O(log N) for each
    threshold, and O(N) for the curves.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics.classifier import confusion
    >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> grid = dp.Grid.uniform(0, 1, 10)
    >>> curves = dp.score_curves(labels, scores, grid, dp.mechanisms.NoNoise())
    >>> confusion(curves, 0.3).true_positives
    2.0
    >>> tuple(confusion(curves, 0.3))
    (1.0, 1.0, 0.0, 2.0)
    """
    return Confusion(*map(float_or_array, _counted(*_checked(curves, t))))


def precision(curves: ScoreCurves, t: ArrayLike) -> Any:
    """Return the share of positives among the scores above ``t``; NaN if no score is above.

    Parameters, errors and cost are as in ``confusion``. The result is within [0, 1] and has the
    shape of ``t``; it is a float if ``t`` is a number.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import classifier
    >>> exact = dp.mechanisms.NoNoise()
    >>> curves = dp.score_curves([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], mechanism=exact)
    >>> classifier.precision(curves, 0.5)
    1.0
    >>> classifier.precision(curves, [0.3, 0.5, 1.0])
    array([0.66666667, 1.        ,        nan])
    """
    counts = _counted(*_checked(curves, t))
    return _share(counts.true_positives, counts.true_positives + counts.false_positives)


def recall(curves: ScoreCurves, t: ArrayLike) -> Any:
    """Return the share of the positives with scores above ``t``; NaN if there are no positives.

    Parameters, errors and cost are as in ``confusion``. The result is within [0, 1] and has the
    shape of ``t``; it is a float if ``t`` is a number.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import classifier
    >>> exact = dp.mechanisms.NoNoise()
    >>> curves = dp.score_curves([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], mechanism=exact)
    >>> classifier.recall(curves, [0.3, 0.5])
    array([1. , 0.5])
    """
    counts = _counted(*_checked(curves, t))
    return _share(counts.true_positives, counts.true_positives + counts.false_negatives)


def accuracy(curves: ScoreCurves, t: ArrayLike) -> Any:
    """Return the share of records whose label "score above ``t``" predicts; NaN without records.

    Parameters, errors and cost are as in ``confusion``. The result is within [0, 1] and has the
    shape of ``t``; it is a float if ``t`` is a number.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import classifier
    >>> exact = dp.mechanisms.NoNoise()
    >>> curves = dp.score_curves([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], mechanism=exact)
    >>> classifier.accuracy(curves, 0.3)
    0.75
    """
    counts = _counted(*_checked(curves, t))
    right = counts.true_positives + counts.true_negatives
    return _share(right, right + counts.false_positives + counts.false_negatives)


def f1(curves: ScoreCurves, t: ArrayLike) -> Any:
    """Return the harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN).

    NaN if there is neither a positive nor a score above ``t``. Parameters, errors and cost are as
    in ``confusion``. The result is within [0, 1] and has the shape of ``t``; it is a float if ``t``
    is a number.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics import classifier
    >>> exact = dp.mechanisms.NoNoise()
    >>> curves = dp.score_curves([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], mechanism=exact)
    >>> classifier.f1(curves, 0.3)
    0.8
    """
    counts = _counted(*_checked(curves, t))
    wrong = counts.false_positives + counts.false_negatives
    return _share(2 * counts.true_positives, 2 * counts.true_positives + wrong)


def precision_interval(
    curves: ScoreCurves,
    t: ArrayLike,
    level: float = 0.95,
    mechanism: Releases | None = None,
) -> Interval[Any]:
    """Return confidence intervals for the precision of the records themselves: noise only.

    Parameters
    ----------
    curves, t
        As in ``confusion``.
    level
        The confidence level of each interval alone, between 0 and 1.
    mechanism
        The mechanism that released the curves, raw or processed: ``ROC.mechanism``, or
        ``dpcore.mechanisms.from_curve(curves.joint)``. Its joint noise is then simulated. None: it
        is not known; the intervals are then safe for any correlation of the noise at three
        thresholds, and about twice as wide.

    Returns
    -------
    Interval
        Each end is within [0, 1] and has the shape of ``t``; it is a float if ``t`` is a number.
        The interval is [0, 1] if the noise of the mechanism is not known, or if all released
        records above the threshold may be noise.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism is not the one that the curves name.

    Notes
    -----
    docs/guides/roc.md, section 3, explains the method. With a mechanism, the interval is around the
    counts as released, and contains the precision of the processed ones. Where the counts are known
    only at other thresholds, as inside buckets of DAWA, it reaches to what these allow. Without
    one, the noise is assumed to be normal, and that of raw curves. The cost is that of 2,000
    releases, or O(log N) for each threshold without a mechanism.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import classifier
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(20_000)
    >>> labels = rng.random(20_000) < scores
    >>> curves = dp.score_curves(labels, scores, epsilon=1.0, rng=rng)
    >>> low, high = classifier.precision_interval(curves, 0.5)
    >>> round(low, 3), round(high, 3)
    (0.75, 0.76)
    """
    return _precision_interval(curves, t, level, mechanism, sampling=False)


def recall_interval(
    curves: ScoreCurves,
    t: ArrayLike,
    level: float = 0.95,
    mechanism: Releases | None = None,
) -> Interval[Any]:
    """Return confidence intervals for the recall of the records themselves: noise only.

    Parameters, result, errors and notes are as in ``precision_interval``. The interval is [0, 1] if
    all released positives may be noise.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import classifier
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(20_000)
    >>> labels = rng.random(20_000) < scores
    >>> curves = dp.score_curves(labels, scores, epsilon=1.0, rng=rng)
    >>> low, high = classifier.recall_interval(curves, 0.5)
    >>> round(low, 3), round(high, 3)
    (0.749, 0.754)
    """
    return _recall_interval(curves, t, level, mechanism, sampling=False)


def population_precision_interval(
    curves: ScoreCurves,
    t: ArrayLike,
    level: float = 0.95,
    mechanism: Releases | None = None,
) -> Interval[Any]:
    """Return confidence intervals for the precision in the population: noise and sampling.

    Parameters, result and errors are as in ``precision_interval``. The records are assumed to be
    independent draws from the population.

    Notes
    -----
    This is Wilson's interval, with the noise included (docs/guides/roc.md, section 3).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import classifier
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(2000)
    >>> labels = rng.random(2000) < scores
    >>> curves = dp.score_curves(labels, scores, epsilon=5.0, rng=rng)
    >>> low, high = classifier.population_precision_interval(curves, 0.5)
    >>> round(low, 2), round(high, 2)
    (0.73, 0.79)
    """
    return _precision_interval(curves, t, level, mechanism, sampling=True)


def population_recall_interval(
    curves: ScoreCurves,
    t: ArrayLike,
    level: float = 0.95,
    mechanism: Releases | None = None,
) -> Interval[Any]:
    """Return confidence intervals for the recall in the population: noise and sampling.

    Parameters, result, errors and notes are as in ``population_precision_interval``.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import classifier
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(2000)
    >>> labels = rng.random(2000) < scores
    >>> curves = dp.score_curves(labels, scores, epsilon=5.0, rng=rng)
    >>> low, high = classifier.population_recall_interval(curves, 0.5)
    >>> round(low, 2), round(high, 2)
    (0.71, 0.76)
    """
    return _recall_interval(curves, t, level, mechanism, sampling=True)


def _precision_interval(
    curves: ScoreCurves,
    t: ArrayLike,
    level: float,
    mechanism: Releases | None,
    *,
    sampling: bool,
) -> Interval[Any]:
    """TP - s (TP + FP) is a sum of joint counts, two with the factor 1 - s and two with s."""

    def counted(negatives: Reals, positives: Reals, first: Places, last: Places) -> Counted:
        part = positives[..., -1:] - positives[..., first]
        return part, part + negatives[..., -1:] - negatives[..., last]

    if mechanism is not None and _is_known(curves, mechanism):
        return _known_interval(curves, t, level, mechanism, counted, sampling=sampling)
    width, curves, at = deviations(level), *_checked(curves, t)
    of_positives = _noise_above(curves, 1, at)
    of_negatives = _noise_above(curves, 0, at)
    counts = _counted(curves, at)
    part, whole = counts.true_positives, counts.true_positives + counts.false_positives
    with np.errstate(invalid="ignore"):  # infinity minus infinity means unknown
        spread = Spread.bounded(of_positives, of_negatives - of_positives)
    ends = share_interval(part, whole, spread, width, width if sampling else 0.0)
    return Interval(*map(float_or_array, ends))


def _recall_interval(
    curves: ScoreCurves,
    t: ArrayLike,
    level: float,
    mechanism: Releases | None,
    *,
    sampling: bool,
) -> Interval[Any]:
    """TP - s P is a sum of two joint counts with the factors 1 and s - 1, because n is public."""

    def counted(negatives: Reals, positives: Reals, first: Places, last: Places) -> Counted:
        part = positives[..., -1:] - positives[..., first]
        return part, np.broadcast_to(positives[..., -1:], part.shape)

    if mechanism is not None and _is_known(curves, mechanism):
        return _known_interval(curves, t, level, mechanism, counted, sampling=sampling)
    width, curves, at = deviations(level), *_checked(curves, t)
    of_all = curves.deviations[1][-1]
    counts = _counted(curves, at)
    part, whole = counts.true_positives, counts.true_positives + counts.false_negatives
    spread = Spread.bounded(_noise_above(curves, 1, at), np.broadcast_to(-of_all, at.shape))
    ends = share_interval(part, whole, spread, width, width if sampling else 0.0)
    return Interval(*map(float_or_array, ends))


def _is_known(curves: ScoreCurves, mechanism: Releases) -> bool:
    """Check the mechanism, and return whether all counts have errors that it can simulate."""
    _check.instance("curves", curves, ScoreCurves, "must be ScoreCurves")
    check_released("curves", released_classes(curves)[0].joint, mechanism)
    return bool(np.isfinite(curves.joint.noise_deviation).all())


def _known_interval(
    curves: ScoreCurves,
    t: ArrayLike,
    level: float,
    mechanism: Releases,
    counted: Callable[[Reals, Reals, Places, Places], Counted],
    *,
    sampling: bool,
) -> Interval[Any]:
    """Return the interval of a share of counts whose joint noise is simulated.

    The share rises with the positives and falls with the negatives above the threshold. So where
    their numbers are known only at some thresholds, its lower end is that of the fewest positives
    and the most negatives that these allow.
    """
    normal, (monotone, at) = deviations(level), _checked(curves, t)
    released, of_negatives, of_positives = released_classes(curves)
    places = at.ravel()
    at_negatives, at_positives = (neighbours_of(known, places) for known in released.known)
    # Of the least shares, and of the greatest.
    first = np.concatenate([at_positives.after, at_positives.before])
    last = np.concatenate([at_negatives.before, at_negatives.after])

    def read(negatives: Reals, positives: Reals) -> Counted:
        return counted(negatives, positives, first, last)

    width, drawn = deviations_of_noise(level, released.privacy), normal if sampling else 0.0
    spread = Spread.simulated(released, mechanism, read)
    low, high = share_interval(*read(of_negatives, of_positives), spread, width, drawn)
    low, high = low[: places.size], high[places.size :]
    negatives, positives = (np.append(0.0, of) for of in (monotone.negatives, monotone.positives))
    own = share(*counted(negatives, positives, places, places))
    low, high = np.fmin(low, own), np.fmax(high, own)
    return Interval(*(float_or_array(end.reshape(at.shape)) for end in (low, high)))


def _noise_above(curves: ScoreCurves, label: int, at: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return bounds of the deviation of a class's number of records above thresholds."""
    noise = curves.deviations[label]
    return np.asarray(np.append(0.0, noise)[at] + noise[-1])


def _checked(curves: ScoreCurves, t: ArrayLike) -> tuple[ScoreCurves, NDArray[np.intp]]:
    """Return monotone curves and, for each t, the number of their thresholds that are <= t."""
    _check.instance("curves", curves, ScoreCurves, "must be ScoreCurves")
    points = _check.points("t", t)
    if not curves.joint.is_monotone:
        curves = curves.isotonic()
    return curves, np.asarray(np.searchsorted(curves.grid.positions, points, side="right"))


def _counted(curves: ScoreCurves, at: NDArray[np.intp]) -> Confusion:
    """Return the counts as arrays."""
    negatives, positives = (
        np.append(0.0, counts) for counts in (curves.negatives, curves.positives)
    )
    return Confusion(
        np.asarray(negatives[at]),
        np.asarray(negatives[-1] - negatives[at]),
        np.asarray(positives[at]),
        np.asarray(positives[-1] - positives[at]),
    )


def _share(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> Any:
    return float_or_array(share(parts, wholes))
