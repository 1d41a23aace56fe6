"""Bands that contain the shares of positives in all bins of scores at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..curves.confidence import Interval, at_knots
from ..curves.scores import ScoreCurves
from ..curves.simulated_releases import Simulation, blocks
from .binning import share
from .share_intervals import Spread, neighbours_of, share_interval

__all__ = ["band_of_rates"]

Reals = NDArray[np.float64]
Places = NDArray[np.intp]


class _Numbers(NamedTuple):
    """Numbers of records between two places of the joint row, each (B,): place k is after k cells.

    Where the error of a count at the end of a bin is not known, they are bounds: all counts are
    between places where it is.
    """

    first: Places
    last: Places

    @classmethod
    def of(cls, known: NDArray[np.bool_], first: Places, last: Places, *, most: bool) -> _Numbers:
        """Return the numbers between the nearest known places outside, or inside."""
        begin, end = neighbours_of(known, first), neighbours_of(known, last)
        if most:
            return cls(begin.before, end.after)
        return cls(begin.after, np.maximum(begin.after, end.before))

    def read(self, cumulative: Reals) -> Reals:
        """Return the numbers by cumulative counts at all places, (..., M + 1)."""
        return np.asarray(cumulative[..., self.last] - cumulative[..., self.first])


def band_of_rates(
    curves: ScoreCurves,
    ends: Places,
    simulation: Simulation,
    level: float,
    replicates: int,
    rng: np.random.Generator,
    *,
    sampling: bool,
) -> Interval[Reals]:
    """Return Fieller's intervals of all bins, as wide as they have to be to hold at once.

    Parameters
    ----------
    curves
        The released scores.
    ends
        (B + 1,) the numbers of cells after which bins begin and end.
    simulation
        That of ``curves.joint``.
    level
        The probability that no bin is missed.
    replicates, rng
        How many errors are simulated, and with which generator.
    sampling
        Whether the records are a sample of the population that is asked about.

    Returns
    -------
    Interval
        Both ends, (B,). They are 0 and 1 where a bin may be noise alone.

    Notes
    -----
    The error in positives minus rate times records is linear in the counts. The width is the
    quantile of its largest absolute value, in standard deviations, over the bins. A bin that would
    be [0, 1] at this width cannot be missed, so its errors count only up to the width where it
    would be.
    """
    joint, size = curves.joint, curves.joint.grid.size
    known = at_knots(joint.knots, size) & np.isfinite(joint.noise_deviation)
    first, last, both = ends[:-1], ends[1:], (False, True)
    negatives = [_Numbers.of(known, first, last, most=most) for most in both]
    positives = [_Numbers.of(known, size - last, size - first, most=most) for most in both]
    # The least rate has the fewest positives and the most negatives; the greatest, the opposite.
    bounds = list(zip(positives, reversed(negatives), strict=True))
    low, high = np.zeros(first.size), np.ones(first.size)
    if not known[:-1].any():
        return Interval(low, high)
    counts = joint.counts if joint.raw is None else joint.raw
    own, truth = np.append(0.0, counts), np.append(0.0, simulation.truth)
    noise, drawn = _errors(simulation, known, bounds, replicates, rng, sampling=sampling)
    spreads, worst = [], np.zeros(replicates)
    for at, bound in enumerate(bounds):
        part, whole = noise[at]
        spread = Spread(*(np.mean(x, axis=0) for x in (part**2, -part * whole, whole**2)))
        exact = _share_of(bound, truth)
        worst = np.maximum(worst, _largest(exact, noise[at], drawn[at], spread, sampling=sampling))
        spreads.append(spread)
    width = float(np.quantile(worst, level, method="higher"))
    low, high = (
        share_interval(*_share_of(bound, own), spread, width, width if sampling else 0.0)[end]
        for end, (bound, spread) in enumerate(zip(bounds, spreads, strict=True))
    )
    return Interval(low, high)


def _share_of(bound: tuple[_Numbers, _Numbers], cumulative: Reals) -> tuple[Reals, Reals]:
    """Return the positives, and the records of both classes, each (..., B)."""
    positives, negatives = (numbers.read(cumulative) for numbers in bound)
    return positives, positives + negatives


def _errors(
    simulation: Simulation,
    known: NDArray[np.bool_],
    bounds: list[tuple[_Numbers, _Numbers]],
    replicates: int,
    rng: np.random.Generator,
    *,
    sampling: bool,
) -> tuple[Reals, Reals]:
    """Return the errors of positives and of records by noise, and by sampling.

    Each has the shape (2, 2, R, B): for both bounds, the positives and the records.
    """
    curve, size = simulation.curve, simulation.curve.grid.size
    at = np.arange(size) if curve.knots is None else curve.knots
    some_known = np.isfinite(curve.noise_deviation[at])
    bins = bounds[0][0].first.size
    noise, drawn = np.zeros((2, 2, 2, replicates, bins))
    shares = simulation.truth * (curve.n / simulation.truth[-1])
    for some in blocks(replicates, size):
        rows = some.stop - some.start
        errors = np.zeros((rows, size + 1))
        errors[:, at[some_known] + 1] = simulation.of_noise(rows, rng)[:, some_known]
        noise[:, :, some] = [_share_of(bound, errors) for bound in bounds]
        if sampling:
            errors[:, 1:] = np.cumsum(simulation.samples(rows, rng), axis=1) - shares
            drawn[:, :, some] = [_share_of(bound, errors) for bound in bounds]
    return noise, drawn


def _largest(
    exact: tuple[Reals, Reals], noise: Reals, drawn: Reals, spread: Spread, *, sampling: bool
) -> Reals:
    """Return the largest error of each draw over the bins, in standard deviations, (R,)."""
    rate = np.nan_to_num(share(*exact))
    errors = noise + drawn
    records = np.maximum(exact[1] + errors[1], 0.0)
    variance = spread.of_part + 2.0 * rate * spread.of_both + rate**2 * spread.of_whole
    spreads = np.sqrt(np.maximum(variance, 0.0) + sampling * rate * (1.0 - rate) * records)
    found = _ratio(np.abs(errors[0] - rate * errors[1]), spreads)
    of_whole = np.broadcast_to(np.sqrt(spread.of_whole), records.shape)
    until = np.where(of_whole > 0.0, _ratio(records, of_whole), np.where(records > 0.0, np.inf, 0))
    return np.asarray(np.minimum(found, until).max(axis=1))


def _ratio(errors: Reals, deviations: Reals) -> Reals:
    """Return errors in deviations; 0 where there is no deviation, and so no error."""
    return np.divide(errors, deviations, out=np.zeros(errors.shape), where=deviations > 0.0)
