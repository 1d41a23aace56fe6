"""Whether the area under a ROC curve has changed since the first window of a stream.

All of it is computed from released numbers (docs/proofs/running-cdf.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DpcoreWarning
from ..kernels.smoothing.isotonic import isotonic
from ..mechanisms.running import Questions
from ..statistics.areas import Slopes, slopes_of
from .base import StreamNoise

__all__ = ["AreaChange", "Monitoring", "may_be_empty", "warn_of_few"]

Reals = NDArray[np.float64]

_REPLICATES: Final = 2**14  # of simulated monitorings: a rate of 5 % has an error of 0.17 %
_ROWS_AT_ONCE: Final = 2**10
_SHARES: Final = 16  # critical values are computed for so many ratios of noise and sampling
_SEED: Final = 20250901  # public, so that the same numbers always have the same result
_FEW: Final = 30.0  # records of a class; fewer have no nearly normal area
_NOISE_ALONE: Final = 2.0  # deviations that the number of a class without records may reach
_TOO_NOISY: Final = 0.2  # deviation of a class's number over it: squares of noise then count


class AreaChange(NamedTuple):
    """The change of the area under the ROC curve since the first window.

    ``RunningScores.change`` makes it.

    Parameters
    ----------
    step
        The last step of the window.
    area
        The area of the window: the probability that a positive is in a higher cell than a negative,
        with ties counting half.
    reference
        The area of the first window.
    deviation
        The standard deviation of ``area - reference`` by noise and sampling, if nothing changes.
    critical_value
        How many deviations a difference may reach.

    Examples
    --------
    >>> from dpcore.streams import AreaChange
    >>> change = AreaChange(40, area=0.74, reference=0.81, deviation=0.02, critical_value=3.1)
    >>> round(change.difference, 2), round(change.statistic, 1), change.is_alarm
    (-0.07, -3.5, True)
    """

    step: int
    area: float
    reference: float
    deviation: float
    critical_value: float

    @property
    def difference(self) -> float:
        """The area less that of the first window."""
        return self.area - self.reference

    @property
    def statistic(self) -> float:
        """The difference in standard deviations."""
        return self.difference / self.deviation

    @property
    def is_alarm(self) -> bool:
        """Whether the difference, upwards or downwards, is beyond the critical value."""
        return abs(self.statistic) > self.critical_value


class _Windows(NamedTuple):
    """Areas of windows, (...), and their variances."""

    area: Reals
    noise: Reals  # variance at the step of the first window
    sampling: Reals


@dataclass(frozen=True, eq=False)  # no slots, because covariances are cached
class Monitoring:
    """The joint law of the areas of all windows of a stream, if nothing changes.

    An area is linear, to first order, in noise and in records. So its noise has the covariances in
    time of one counter, and its sampling those of sums of independent steps over windows.

    Parameters
    ----------
    questions, noises
        Those of the stream. The noise of all parts has the same correlations in time.
    horizon, window
        Steps; the horizon is the longer one.
    """

    questions: Questions
    noises: Sequence[StreamNoise]
    horizon: int
    window: int
    _critical: dict[tuple[int, float], float] = field(init=False, default_factory=dict)

    def windows(self, joint: Reals) -> _Windows:
        """Return the areas of windows with raw joint counts, (..., 2 N), and their variances."""
        slopes = _slopes(_monotone(joint))  # noise in slopes would only add to their squares
        # of positives, cells are counted by falling scores
        both_ways = (slopes.of_negatives, slopes.of_positives[..., ::-1])
        noise = sum(
            np.einsum("...i,ij,...j->...", slope, self._of_cells, slope, optimize=True)
            for slope in both_ways
        )
        return _Windows(_slopes(joint).area, np.asarray(noise), slopes.sampling_variance)

    def deviation(self, steps: NDArray[np.int64], first: _Windows, now: _Windows) -> Reals:
        """Return the deviation of the change from the first window, (...), at steps, (...).

        If batches differ in size, the variance of each window counts.
        """
        noise, sampling = self._variances_of_changes(steps)
        mean_noise, mean_sampling = (
            (first.noise + now.noise) / 2,
            (first.sampling + now.sampling) / 2,
        )
        return np.asarray(np.sqrt(noise * mean_noise + sampling * mean_sampling))

    def critical_value(self, first: _Windows, rate: float) -> float:
        """Return the value that any standardised change of the monitoring exceeds at a rate."""
        share = float(first.noise / (first.noise + first.sampling)) * _SHARES
        if not np.isfinite(share):  # a class without records
            return np.nan
        low = min(int(share), _SHARES - 1)
        values = [self._critical_value(low, rate), self._critical_value(low + 1, rate)]
        return float(np.interp(share, [low, low + 1], values))

    def _critical_value(self, share: int, rate: float) -> float:
        """Return it for noise with a share of the variance, in parts of ``_SHARES``."""
        known = self._critical.get((share, rate))
        if known is None:
            known = self._critical[share, rate] = self._simulated(share / _SHARES, rate)
        return known

    def _simulated(self, share: float, rate: float) -> float:
        covariance = self._covariance(share)
        deviations = np.sqrt(np.diag(covariance))
        correlation = covariance / np.outer(deviations, deviations)
        correlation[np.diag_indices_from(correlation)] += 1e-9  # rounding must not make it negative
        factor = np.linalg.cholesky(correlation)
        rng, largest = np.random.default_rng(_SEED), np.empty(_REPLICATES)
        for start in range(0, _REPLICATES, _ROWS_AT_ONCE):
            normal = rng.standard_normal((_ROWS_AT_ONCE, len(factor)))
            largest[start : start + _ROWS_AT_ONCE] = np.abs(normal @ factor.T).max(axis=1)
        return float(np.quantile(largest, 1.0 - rate))

    def _covariance(self, share: float) -> Reals:
        """Return the covariances of the changes of all steps, for variances that add up to 1."""
        of_noise, of_sampling = self._in_time
        areas = share * of_noise + (1.0 - share) * of_sampling
        changes = areas - areas[:, :1] - areas[:1] + areas[0, 0]
        return np.asarray(changes[1:, 1:])

    @cached_property
    def _in_time(self) -> tuple[Reals, Reals]:
        """The covariances of noise and of sampling between all steps, from the first window on."""
        steps = np.arange(self.window, self.horizon + 1)
        early, late = np.triu_indices(steps.size)  # each pair once
        own = self.noises[0].deviation(steps) ** 2
        apart = np.empty((steps.size, steps.size))
        apart[early, late] = self.noises[0].difference_deviation(steps[early], steps[late]) ** 2
        apart[late, early] = apart[early, late]
        of_sampling = np.maximum(1.0 - np.abs(steps[:, None] - steps) / self.window, 0.0)
        return (own[:, None] + own - apart) / (2.0 * self._unit), of_sampling

    def _variances_of_changes(self, steps: NDArray[np.int64]) -> tuple[Reals, Reals]:
        """Return the variances of changes at steps, in those of the first window."""
        first = np.full_like(steps, self.window)
        noise = self.noises[0].difference_deviation(first.ravel(), steps.ravel()) ** 2 / self._unit
        sampling = 2.0 * np.minimum((steps - self.window) / self.window, 1.0)
        return noise.reshape(steps.shape), sampling

    @property
    def deviation_of_class(self) -> float:
        """The deviation of the noise in the number of records of a class, in the first window."""
        return float(np.sqrt(self._of_cells.sum()))

    @property
    def _unit(self) -> float:
        """The variance of one counter in the first window."""
        return float(self.noises[0].deviation(np.array([self.window]))[0]) ** 2

    @cached_property
    def _of_cells(self) -> Reals:
        """The covariances of the noise in the counts of a class's cells, in the first window."""
        deviations = [float(n.deviation(np.array([self.window]))[0]) for n in self.noises]
        covariances: Reals | None = None
        start = 0
        for part, deviation in zip(self.questions.parts, deviations, strict=True):
            half = part.width // 2  # the rest is of the other class, with the same covariances
            answers = np.zeros((half, sum(p.width for p in self.questions.parts)))
            answers[np.arange(half), start + np.arange(half)] = deviation
            counts = self.questions.curve(answers, deviations)
            cells = np.diff(counts[:, : counts.shape[1] // 2], axis=1, prepend=0.0)
            covariances = cells.T @ cells + (0.0 if covariances is None else covariances)
            start += part.width
        assert covariances is not None
        return covariances


def may_be_empty(joint: Reals, monitoring: Monitoring) -> bool:
    """Return whether the released number of a class of a window may be noise alone."""
    least = max(1.0, _NOISE_ALONE * monitoring.deviation_of_class)
    return min(_numbers(joint)) < least


def warn_of_few(joint: Reals, monitoring: Monitoring) -> None:
    """Warn if a class of a window is too small for the stated rate, from its released number."""
    noise = monitoring.deviation_of_class
    for name, total in zip(("negatives", "positives"), _numbers(joint), strict=True):
        if total < _FEW or noise > _TOO_NOISY * total:
            text = (
                f"a window has about {max(total, 0.0):.0f} {name} (noise: {noise:.0f}): too few "
                "for the false alarm rate to hold; take a longer window or larger batches"
            )
            warnings.warn(text, DpcoreWarning, stacklevel=3)


def _numbers(joint: Reals) -> tuple[float, float]:
    """Return the numbers of negatives and positives."""
    negatives = float(joint[joint.size // 2 - 1])
    return negatives, float(joint[-1]) - negatives


def _monotone(joint: Reals) -> Reals:
    """Return the nearest counts that never fall, between 0 and the last one, (..., 2 N)."""
    rows = np.array(joint, np.float64).reshape(-1, joint.shape[-1])
    for row in rows:
        isotonic(row[np.newaxis, :-1], 0.0, row[-1])
    return rows.reshape(joint.shape)


def _slopes(joint: Reals) -> Slopes:
    cells = np.diff(joint, axis=-1, prepend=0.0)
    size = cells.shape[-1] // 2
    return slopes_of(cells[..., :size], cells[..., : size - 1 : -1])
