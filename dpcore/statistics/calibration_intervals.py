"""Intervals for the expected calibration error, of the records and of their population.

A released curve knows of a score only its cell, so the counts allow a range of errors. The
intervals contain this range, with margins for the noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..curves.confidence import Interval, deviations
from ..curves.own_mechanism import REPLICATES, Releases
from ..curves.scores import ScoreCurves
from ..curves.simulated_releases import Simulation, blocks
from .binning import Bins, Cells
from .calibration import expected_calibration_error
from .calibration_gaps import Gaps

__all__ = [
    "expected_calibration_error_interval",
    "population_expected_calibration_error_interval",
]

Reals = NDArray[np.float64]

# The part of the loss in buckets that counts, as a share of a loss with one sign everywhere. It is
# the effect of nine similar buckets with independent signs.
_UNSEEN: Final = 1.0 / 3.0


def expected_calibration_error_interval(
    curves: ScoreCurves,
    bins: int | Bins = 10,
    level: float = 0.95,
    mechanism: Releases | None = None,
) -> Interval[float]:
    """Return a confidence interval for the records' own calibration error: noise only.

    It holds wherever in their cells the scores are.

    Parameters
    ----------
    curves, bins
        As in ``expected_calibration_error`` with norm 1. If a mechanism is given, the curves must
        be raw or ``isotonic``. The bins end at thresholds: ``uniform_bins(curves, bins).edges``.
    level
        The confidence level, between 0 and 1.
    mechanism
        The mechanism that released the curves, so that its noise can be simulated:
        ``ROC.mechanism``, or ``dpcore.mechanisms.from_curve(curves.joint)``. None: it is not known;
        the interval is then a bound for any correlation of the noise, and much wider.

    Returns
    -------
    Interval
        The interval is within [0, 1], and it is [0, 1] if the error of the mechanism is not known.
        It contains ``expected_calibration_error`` with the same arguments. Scores may be anywhere
        in their cells, so even without noise the interval is up to one mean cell wide. On
        ``Grid.integers(0, 1)``, scores are known.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism is not the one that the curves name.

    Notes
    -----
    docs/guides/calibration.md, section 2, explains the method, and docs/measured/intervals.md has
    its coverage. The cost is that of 200 simulated releases.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import expected_calibration_error_interval
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 64)
    >>> scores = rng.random(20_000)
    >>> labels = rng.random(20_000) < scores**2  # the scores are too high, by 1/6 on average
    >>> roc = dp.roc_curve(labels, scores, grid=grid, epsilon=1.0, rng=rng)
    >>> low, high = expected_calibration_error_interval(roc.curves, mechanism=roc.mechanism)
    >>> round(low, 2), round(high, 2)
    (0.16, 0.17)
    """
    return _interval(curves, bins, level, mechanism, sampling=False)


def population_expected_calibration_error_interval(
    curves: ScoreCurves,
    bins: int | Bins = 10,
    level: float = 0.95,
    mechanism: Releases | None = None,
) -> Interval[float]:
    """Return a confidence interval for the calibration error in the population.

    This is ``expected_calibration_error_interval`` for noise and sampling together: the records are
    assumed to be independent draws from the population. It, too, holds wherever in their cells the
    scores are. Parameters, errors and cost are as there.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics import population_expected_calibration_error_interval
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 64)
    >>> scores = rng.random(2000)
    >>> labels = rng.random(2000) < scores**2  # the scores are too high, by 1/6 on average
    >>> roc = dp.roc_curve(labels, scores, grid=grid, epsilon=10.0, rng=rng)
    >>> found = population_expected_calibration_error_interval(roc.curves, mechanism=roc.mechanism)
    >>> round(found.low, 2), round(found.high, 2)
    (0.13, 0.18)
    """
    return _interval(curves, bins, level, mechanism, sampling=True)


def _interval(
    curves: ScoreCurves,
    bins: int | Bins,
    level: float,
    mechanism: Releases | None,
    *,
    sampling: bool,
) -> Interval[float]:
    """Return an interval around the least and the greatest error that released counts allow.

    Both are convex functions of the counts. On average, noise never lowers such a function
    (Jensen), so the upper reach needs only the deviation of the greatest error. Noise raises the
    least error by at most what it adds to the least gaps that the counts allow.
    """
    width = deviations(level)
    gaps = Gaps.of(curves, bins)
    error = expected_calibration_error(curves, bins, mechanism=mechanism)
    if not (np.isfinite(curves.joint.noise_deviation).all() and np.isfinite(error)):
        return Interval(0.0, 1.0)
    below = above = width * gaps.bound(*curves.deviations) if mechanism is None else 0.0
    if mechanism is not None or sampling:
        reaches = _reaches(curves, mechanism, gaps, width, sampling)
        below, above = below + reaches[0], above + reaches[1]
    cells = Cells.of(curves)
    counts = cells.negatives[1:], cells.positives[1:]
    n = float(cells.totals[-1])
    low, high = (gaps.least(*counts).sum() - below) / n, (gaps.most(*counts).sum() + above) / n
    return Interval(max(min(float(low), error), 0.0), min(max(float(high), error), 1.0))


def _reaches(
    curves: ScoreCurves, mechanism: Releases | None, gaps: Gaps, width: float, sampling: bool
) -> tuple[float, float]:
    """Return how far the true range may reach below and above the released one, times n.

    The released counts, made monotone and rounded, are the truth of the simulation. With
    ``sampling``, records are drawn from it; if the mechanism is known, it is released again. The
    changes of the counts by both are added up.
    """
    joint, size = curves.joint, curves.joint.grid.size
    simulation = Simulation(joint, mechanism)
    truth, rng = simulation.truth, simulation.generator()
    own, squares = np.empty(REPLICATES), np.zeros(size)
    moved = np.empty((2, REPLICATES, gaps.ends.size - 1))  # the gaps, and the sums of half cells
    for some in blocks(REPLICATES, size):
        rows = some.stop - some.start
        change = simulation.of_records(rows, rng) - truth
        squares += np.sum(change**2, axis=0)
        if sampling:
            change += np.cumsum(simulation.samples(rows, rng), axis=-1) - truth
        own[some] = gaps.most(*curves.classes(truth + change)).sum(axis=-1)
        moved[:, some] = gaps.of_bins(*curves.classes(change))
    lost = 0.0
    if simulation.loses_records:
        unseen = replace(curves, joint=simulation.lost(np.sqrt(squares / REPLICATES)))
        lost = _UNSEEN * gaps.bound(*unseen.deviations)
    nearest = np.inf if simulation.loses_records else width  # lost records may be a whole gap
    mean, spread = _rises_of_least(gaps, curves.classes(truth), moved, nearest)
    return mean + width * (spread + lost), float(width * (own.std() + lost))


def _rises_of_least(
    gaps: Gaps, classes: tuple[Reals, Reals], moved: Reals, width: float
) -> tuple[float, float]:
    """Return the mean and the deviation of what changes add to the least error, at their worst.

    The smaller the true least gaps are, the greater is the mean. So they are taken to be ``width``
    deviations nearer to 0 than those of the counts. Isotonic regression gives changes a mean, of
    either sign.

    Parameters
    ----------
    gaps, classes
        The gaps, and the counts of both classes that are the truth of the simulation.
    moved
        (2, R, B) the changes of the gaps, and of the sums of half cells.
    width
        How many deviations the interval reaches.
    """
    least, signs = gaps.least(*classes), np.where(gaps.of_bins(*classes)[0] < 0.0, -1, 1)
    deviation = np.sqrt(np.mean(moved[0] ** 2, axis=0))
    with np.errstate(invalid="ignore"):  # infinity times 0
        nearer = np.fmax(least - width * deviation, 0.0)
    rises = [
        (np.maximum(np.abs(at + sign * signs * moved[0]) - moved[1], 0.0) - at).sum(axis=-1)
        for at in (nearer, least)
        for sign in (1, -1)
    ]
    return float(max(rise.mean() for rise in rises)), float(max(rise.std() for rise in rises))
