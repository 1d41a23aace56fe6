"""The area under a ROC curve that is known only at the ends of buckets: its noise and its range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..curves.confidence import Interval, reach
from ..curves.own_mechanism import Releases
from ..curves.scores import ScoreCurves
from ..curves.simulated_releases import Simulation, root_mean_square_errors
from .binning import share

__all__ = ["BucketedScores", "Slopes", "Ties", "area_of", "slopes_of"]

Reals = NDArray[np.float64]
Ties = float | NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class BucketedScores:
    """The numbers of negatives and positives with scores in each of B buckets.

    Parameters
    ----------
    curves
        The released scores.
    ends
        (B,) the indices of the thresholds at which buckets end, never decreasing. The last one is
        that of the last threshold.
    mechanism
        The mechanism that released the curves, or None if it is not known.
    """

    curves: ScoreCurves
    ends: NDArray[np.int64]
    mechanism: Releases | None

    def area(self, ties: Ties) -> float:
        """Return the share of pairs whose positive is in a higher bucket: ``area_of``."""
        return float(area_of(*self._records(self.curves.joint.counts), ties))

    def deviations(self, *ties: Ties) -> Reals:
        """Return the errors of the areas by noise: root mean squares, or bounds of deviations.

        If the mechanism is known, the errors are simulated, with the knots of the release:
        ``hidden`` has what it does not know between them. A simulated class without records counts
        with the largest possible error. If the mechanism is not known, the result is a bound of the
        standard deviation, to first order, whatever the correlations of the noise. It is infinite
        if the error of a count is not known.
        """
        of_negatives, of_positives = (deviation[self.ends] for deviation in self.curves.deviations)
        areas = np.array([self.area(tie) for tie in ties])
        if not (np.isfinite(of_negatives).all() and np.isfinite(of_positives).all()):
            return np.full(areas.size, np.inf)
        if np.isnan(areas).any() or not self.curves.joint.noise_deviation.any():
            return np.where(np.isnan(areas), np.nan, 0.0)
        if self.mechanism is None:
            return np.array([self._bound(tie, of_negatives, of_positives) for tie in ties])
        farthest = np.where(areas < 0.5, 1.0, 0.0)

        def read(joint: Reals) -> Reals:
            records = self._records(joint)
            drawn = np.stack([area_of(*records, tie) for tie in ties], axis=-1)
            return np.where(np.isnan(drawn), farthest, drawn)

        simulation = Simulation(self.curves.joint, self.mechanism)
        return root_mean_square_errors([simulation], read, draw=Simulation.of_counts)

    def hidden(self, ties: Ties, sign: float) -> Reals:
        """Return how much greater (sign 1) or less (-1) an area may be between knots, (G,).

        A release knows how many records of a class are between two of its knots, and not where. The
        places of both classes depend on each other only between knots of both: these are the G runs
        of thresholds. Empty if a mechanism without knots released the curves. So it is if the
        mechanism is not known, as the bound of ``deviations`` includes errors between knots.
        """
        if self.curves.joint.knots is None or self.mechanism is None:
            return np.empty(0)
        cells = np.arange(self.curves.grid.size)
        known = [np.append(at[:-1], True) for at in self.curves.known]
        knots = [np.append(0, np.flatnonzero(at) + 1) for at in known]  # cells before each
        negatives, positives = (
            np.append(0.0, of) for of in self.curves.classes(self.curves.joint.counts)
        )
        edges, bucket = np.append(0, self.ends + 1), np.searchsorted(self.ends, cells)
        tie = np.broadcast_to(np.asarray(ties), self.ends.shape)

        def beaten(before: Reals) -> Reals:
            """Return how many negatives a positive in each bucket beats."""
            return np.asarray((1.0 - tie) * before[:-1] + tie * before[1:])

        if sign > 0.0:  # negatives between knots lie low, and positives high
            before = knots[0][np.searchsorted(knots[0], edges)]
            place = bucket[knots[1][1:] - 1]
        else:
            before = knots[0][np.searchsorted(knots[0], edges, side="right") - 1]
            place = bucket[knots[1][:-1]]
        extreme = np.diff(positives[knots[1]]) * beaten(negatives[before])[place]
        seen = np.diff(positives) * beaten(negatives[edges])[bucket]
        runs = np.searchsorted(np.flatnonzero(known[0] & known[1]), cells)
        moved = np.bincount(runs[knots[1][1:] - 1], extreme) - np.bincount(runs, seen)
        return np.asarray(np.maximum(sign * moved, 0.0) / (negatives[-1] * positives[-1]))

    def sampling_deviation(self, ties: Ties) -> float:
        """Return the deviation of the area by sampling from a population.

        The formula is that of DeLong, DeLong & Clarke-Pearson (1988): a mean over the positives
        plus a mean over the negatives. It is 0 for classes that do not overlap, so a term for one
        more record of the rarer class, which might lie anywhere, is added.
        """
        negatives, positives = self._records(self.curves.joint.counts)
        # Not the sums of the records: of large counts that fall again, they may have no digit left.
        own, other = float(self.curves.positives[-1]), float(self.curves.negatives[-1])
        below = np.cumsum(negatives) - (1.0 - np.asarray(ties)) * negatives
        above = own - np.cumsum(positives) + np.asarray(ties) * positives
        variance = _variance(below / other, positives / own) / own
        variance += _variance(above / own, negatives / other) / other
        return math.hypot(math.sqrt(variance), 1.0 / (min(own, other) + 1.0))

    def interval(
        self, ties: tuple[Ties, Ties], width: float, *, sampling: bool = False
    ) -> Interval[float]:
        """Return the interval from the least to the greatest area, and some deviations beyond.

        Parameters
        ----------
        ties
            The weights of pairs in one bucket, in the least area and in the greatest.
        width
            How many deviations the interval reaches beyond them.
        sampling
            Whether it is for the population, and the records are random, too.

        Returns
        -------
        Interval
            It is within [0, 1], and it is [0, 1] if a whole class may be noise.
        """
        if self.may_be_noise(width):
            return Interval(0.0, 1.0)
        drawn = [self.sampling_deviation(tie) if sampling else 0.0 for tie in ties]
        errors = np.hypot(self.deviations(*ties), drawn).tolist()
        low = self.area(ties[0]) - reach(width, errors[0], self.hidden(ties[0], -1.0))
        high = self.area(ties[1]) + reach(width, errors[1], self.hidden(ties[1], 1.0))
        # Areas of raw counts may be outside.
        return Interval(min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0))

    def may_be_noise(self, width: float) -> bool:
        """Return whether the size of a class is within ``width`` deviations of its noise."""
        totals = self.curves.negatives[-1], self.curves.positives[-1]
        noise = (width * float(deviation[-1]) for deviation in self.curves.deviations)
        return any(total <= reach for total, reach in zip(totals, noise, strict=True))

    def _records(self, joint: NDArray[Any]) -> tuple[Reals, Reals]:
        """Return the negatives and the positives in each bucket, (..., B), from joint curves."""
        negatives, positives = (counts[..., self.ends] for counts in self.curves.classes(joint))
        return np.diff(negatives, prepend=0.0), np.diff(positives, prepend=0.0)

    def _bound(self, ties: Ties, of_negatives: Reals, of_positives: Reals) -> float:
        """Return the sum of the absolute terms (docs/guides/calibration.md, section 7)."""
        negatives, positives = self._records(self.curves.joint.counts)
        total_negatives, total_positives = float(negatives.sum()), float(positives.sum())
        area, tie = self.area(ties), np.broadcast_to(np.asarray(ties), negatives.shape)
        rest = 1.0 - tie
        sums: Any = np.sum(
            of_positives[:-1] * (tie[1:] * negatives[1:] + rest[:-1] * negatives[:-1])
            + of_negatives[:-1] * (tie[:-1] * positives[:-1] + rest[1:] * positives[1:])
        )
        sums += of_negatives[-1] * abs(area * total_positives - tie[-1] * positives[-1])
        sums += of_positives[-1] * abs((1.0 - area) * total_negatives - rest[-1] * negatives[-1])
        return float(sums) / (total_negatives * total_positives)


def _variance(values: Reals, weights: Reals) -> float:
    """Return the variance of values, weighted by shares of records, of which noise may be < 0."""
    return max(float(np.sum(weights * (values - np.sum(weights * values)) ** 2)), 0.0)


def area_of(negatives: Reals, positives: Reals, ties: Ties) -> Reals:
    """Return the share of pairs whose positive is in a higher bucket, (...); NaN without pairs.

    Parameters
    ----------
    negatives, positives
        (..., B) records in each bucket, by rising scores.
    ties
        The weight of a pair in one bucket: 1/2, or any number within [0, 1], or one for each
        bucket.
    """
    pairs = negatives.sum(axis=-1) * positives.sum(axis=-1)
    below = np.cumsum(negatives, axis=-1) - (1.0 - np.asarray(ties)) * negatives
    ordered = np.sum(positives * below, axis=-1)  # a product of vectors would start threads
    return share(np.asarray(ordered), np.asarray(pairs))


class Slopes(NamedTuple):
    """An area, and its derivatives by the numbers of records.

    The derivative times the number of records of the class is also how far a record of the cell
    moves the mean over its class. So the squares, times the records, add up to the variance of
    DeLong, DeLong & Clarke-Pearson (1988).

    Parameters
    ----------
    area
        (...) as of ``area_of`` with ties of 1/2.
    of_negatives, of_positives
        (..., B) by the records in each bucket.
    sampling_variance
        (...) the variance if records are drawn from a population; not below 0.
    """

    area: Reals
    of_negatives: Reals
    of_positives: Reals
    sampling_variance: Reals


def slopes_of(negatives: Reals, positives: Reals) -> Slopes:
    """Return the area of (..., B) records in each bucket, by rising scores, and its slopes.

    All are NaN or infinite where a class has no records.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        own, other = positives.sum(axis=-1), negatives.sum(axis=-1)
        below = (np.cumsum(negatives, axis=-1) - 0.5 * negatives) / other[..., None]
        above = 1.0 - (np.cumsum(positives, axis=-1) - 0.5 * positives) / own[..., None]
        area = np.asarray(np.sum(positives * below, axis=-1) / own)
        of_negatives = (above - area[..., None]) / other[..., None]
        of_positives = (below - area[..., None]) / own[..., None]
        squares = np.sum(negatives * of_negatives**2 + positives * of_positives**2, axis=-1)
    return Slopes(area, of_negatives, of_positives, np.maximum(squares, 0.0))
