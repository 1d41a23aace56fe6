"""Intervals of shares of released counts: precision, recall, and rates of positives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..curves.confidence import may_move
from ..curves.own_mechanism import Releases
from ..curves.scores import ScoreCurves
from ..curves.simulated_releases import Simulation, blocks

__all__ = ["Neighbours", "Spread", "neighbours_of", "released_classes", "share_interval"]

Reals = NDArray[np.float64]
Places = NDArray[np.intp]

_REPLICATES: Final = 1000  # with so many, a deviation has an error of 2 %


class Spread(NamedTuple):
    """What is known of the noise in part - s whole: its variance, a + 2 b s + c s^2.

    Parameters
    ----------
    of_part, of_both, of_whole
        a, b and c, arrays of one shape: the variance of the noise in the part, minus its covariance
        with that in the whole, and the variance of the latter. Infinite if they are not known.
    """

    of_part: Reals
    of_both: Reals
    of_whole: Reals

    @classmethod
    def bounded(cls, noise: Reals, slope: Reals) -> Spread:
        """Return a bound: the standard deviation is at most noise + s slope."""
        with np.errstate(invalid="ignore", over="ignore"):  # infinity minus infinity
            return cls(noise**2, noise * slope, slope**2)

    @classmethod
    def simulated(
        cls,
        curves: ScoreCurves,
        mechanism: Releases,
        read: Callable[[Reals, Reals], tuple[Reals, Reals]],
    ) -> Spread:
        """Return the mean squares of errors in 1,000 simulated releases by the curves' mechanism.

        Parameters
        ----------
        curves
            Raw curves.
        mechanism
            Their own mechanism.
        read
            A function that returns the parts and the wholes, (R, ...) each, of the numbers of
            negatives and of positives before each threshold and in all, (R, N + 1) each.
        """
        simulation = Simulation(curves.joint, mechanism)
        rng, size, sums = simulation.generator(), curves.joint.grid.size, np.zeros(3)
        for some in blocks(_REPLICATES, size):
            errors = simulation.of_counts(some.stop - some.start, rng) - simulation.truth
            classes = (np.pad(each, ((0, 0), (1, 0))) for each in curves.classes(errors))
            part, whole = read(*classes)
            squares = (np.sum(each, axis=0) for each in (part**2, -part * whole, whole**2))
            sums = sums + np.stack(list(squares), axis=-1).reshape(*part.shape[1:], 3)
        means: Reals = np.moveaxis(sums / _REPLICATES, -1, 0)
        return cls(*means)


class Neighbours(NamedTuple):
    """The nearest places whose counts have a known error: (...) numbers of thresholds each."""

    before: Places
    after: Places


def neighbours_of(known: NDArray[np.bool_], at: Places) -> Neighbours:
    """Return the nearest known places up to and from ``at``: place k is after k thresholds."""
    places = np.append(0, np.flatnonzero(np.append(known[:-1], True)) + 1)
    before = places[np.searchsorted(places, at, side="right") - 1]
    return Neighbours(before, places[np.searchsorted(places, at)])


def released_classes(curves: ScoreCurves) -> tuple[ScoreCurves, Reals, Reals]:
    """Return curves as they were released, if known, and their classes at all places, (N + 1,)."""
    joint = curves.joint
    if joint.raw is not None:
        curves = replace(curves, joint=joint.as_released())
    negatives, positives = curves.classes(curves.joint.counts)
    return curves, np.append(0.0, negatives), np.append(0.0, positives)


def share_interval(
    part: Reals, whole: Reals, spread: Spread, width: float, drawn: float = 0.0
) -> tuple[Reals, Reals]:
    """Return the ends of intervals of a share s = part / whole, of the shape of all arrays.

    Parameters
    ----------
    part, whole
        Released counts of records.
    spread
        The noise in part - s whole.
    width
        How many standard deviations of noise the interval reaches.
    drawn
        How many of sampling, if records are also a sample of a population: part is then binomial,
        with whole trials and the probability s. 0: they are not.

    Notes
    -----
    This is Fieller's interval; with sampling and without noise, it is Wilson's. It consists of all
    s in [0, 1] with

        (part - s whole)^2 <= width^2 (a + 2 b s + c s^2) + drawn^2 s (1 - s) whole.

    It is [0, 1] if the whole may be noise (docs/guides/roc.md). As in ``band_of``, it
    reaches a whole count of the part, the whole or both at least, unless noise is nearly always 0.
    """
    normal = _fieller(part, whole, Spread(*(width**2 * each for each in spread)), drawn)
    one = np.ones_like(whole)
    wider = _fieller(part, whole, Spread(one, -one, 2.0 * one), drawn)  # (1 - s)^2 + s^2
    is_felt = may_move(spread.of_part + spread.of_whole, width)
    low = np.where(is_felt, np.minimum(normal[0], wider[0]), normal[0])
    return low, np.where(is_felt, np.maximum(normal[1], wider[1]), normal[1])


def _fieller(part: Reals, whole: Reals, reach: Spread, drawn: float) -> tuple[Reals, Reals]:
    """Return the ends for noise that reaches as far as the root of a + 2 b s + c s^2."""
    known = np.isfinite(reach.of_part) & np.isfinite(reach.of_whole) & (whole > 0.0)
    part, whole, of_part, of_both, of_whole = (
        np.where(known, values, 0.0) for values in (part, whole, *reach)
    )
    sampled = drawn**2 * whole
    own = whole**2 - of_whole
    square = own + sampled
    half = part * whole + of_both + sampled / 2  # half of the negated linear term
    constant = part**2 - of_part
    bounded = known & (own > 0.0)
    root = np.sqrt(np.maximum(half**2 - square * constant, 0.0))
    low, high = np.zeros_like(whole), np.ones_like(whole)
    np.divide(half - root, square, out=low, where=bounded)
    np.divide(half + root, square, out=high, where=bounded)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
