"""Bins of scores: counts of both classes, and mean scores, read off released curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.scores import ScoreCurves
from ..errors import DtypeError, ParameterError
from ..summaries.grid import MOST_CELLS

__all__ = ["Bins", "Cells", "counted_bins", "equi_depth_bins", "uniform_bins"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Bins:
    """What a released pair of curves says of each of B bins of scores.

    Made by ``uniform_bins`` or ``equi_depth_bins``. Bin b holds edges[b] < score <= edges[b + 1],
    and the first one its lower edge too. Bins may be empty; where edges coincide they are.

    Parameters
    ----------
    edges
        (B + 1,) within [0, 1], never decreasing, the first 0 and the last 1.
    negatives, positives
        (B,) released counts of records, at least 0, and not integers in general.
    mean_score
        (B,) released mean score of the bin's records, within its edges. NaN where the bin is empty.
        Every record is taken to be in the middle of its cell: wrong by at most half of the width
        of the bin's widest cell.
    negatives_deviation, positives_deviation
        (B,) what the standard deviations of the noise in the counts are at most, for raw curves:
        a count is a difference of two cumulative ones, and their deviations are added.

    Examples
    --------
    >>> import dpcore as dp
    >>> labels, scores = [0, 0, 1, 1], [0.1, 0.3, 0.6, 0.9]
    >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
    >>> bins = dp.statistics.uniform_bins(curves, 2)
    >>> bins.edges, bins.counts, bins.mean_score.round(2)
    (array([0. , 0.5, 1. ]), array([2., 2.]), array([0.2 , 0.75]))
    """

    edges: NDArray[np.float64]
    negatives: NDArray[np.float64]
    positives: NDArray[np.float64]
    mean_score: NDArray[np.float64]
    negatives_deviation: NDArray[np.float64]
    positives_deviation: NDArray[np.float64]

    def __repr__(self) -> str:
        size, n = self.counts.size, round(float(self.counts.sum()))
        return f"<Bins: n = {n}, {size} bins>"

    @property
    def counts(self) -> NDArray[np.float64]:
        """(B,) the records of both classes; they add up to n."""
        return self.negatives + self.positives

    @property
    def positive_rate(self) -> NDArray[np.float64]:
        """(B,) the share of positives, within [0, 1]; NaN where the bin is empty."""
        return share(self.positives, self.counts)


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Monotone cumulative counts, from 0 on, over cells that cover [0, 1].

    Parameters
    ----------
    edges
        (N + 1,) 0 and the thresholds.
    negatives, positives
        (N + 1,) how many records of the class are in the first k cells, k = 0, ..., N.
    deviations
        Of the noise in them, each (N + 1,).
    """

    edges: NDArray[np.float64]
    negatives: NDArray[np.float64]
    positives: NDArray[np.float64]
    deviations: tuple[NDArray[np.float64], NDArray[np.float64]]

    @classmethod
    def of(cls, curves: ScoreCurves) -> Cells:
        """Return the cells of curves whose scores are probabilities, made monotone if need be."""
        if not isinstance(curves, ScoreCurves):
            raise DtypeError("curves", type(curves).__name__, "must be ScoreCurves")
        first, last = curves.thresholds[0], curves.thresholds[-1]
        if first < 0.0 or last != 1.0:
            raise ParameterError(
                "curves", curves.grid, "must have thresholds within [0, 1], the last one 1"
            )
        if not curves.joint.is_monotone:
            curves = curves.isotonic()
        zero = np.zeros(1)
        negatives, positives = curves.deviations
        return cls(
            edges=np.concatenate([zero, curves.thresholds]),
            negatives=np.concatenate([zero, curves.negatives]),
            positives=np.concatenate([zero, curves.positives]),
            deviations=(np.concatenate([zero, negatives]), np.concatenate([zero, positives])),
        )

    @property
    def middles(self) -> NDArray[np.float64]:
        """(N,) where the records of a cell are taken to be."""
        return (self.edges[:-1] + self.edges[1:]) / 2

    @property
    def totals(self) -> NDArray[np.float64]:
        """(N + 1,) how many records of both classes are in the first k cells."""
        return self.negatives + self.positives

    def bins(self, ends: NDArray[np.int64]) -> Bins:
        """Return the bins that end after so many cells: (B + 1,), from 0 to N."""
        lengths = np.diff(ends)
        weights = np.diff(self.negatives) + np.diff(self.positives)
        which = np.repeat(np.arange(lengths.size), lengths)
        counts = np.bincount(which, weights, lengths.size).astype(np.float64)
        sums = np.bincount(which, weights * self.middles, lengths.size).astype(np.float64)
        bounds = (
            np.where(lengths > 0, each[ends[:-1]] + each[ends[1:]], 0.0) for each in self.deviations
        )
        return Bins(
            self.edges[ends],
            np.diff(self.negatives[ends]),
            np.diff(self.positives[ends]),
            share(sums, counts),
            *bounds,
        )

    def nearest_bins(self, edges: NDArray[np.float64]) -> Bins:
        """Return the bins between the thresholds nearest to some inner edges, (B + 1,) with ends.

        The first one always has the first cell, so that scores of 0 are where their records are.
        """
        thresholds, inner = self.edges[1:], edges[1:-1]
        above = np.searchsorted(thresholds[:-1], inner)
        below = np.maximum(above - 1, 0)
        is_below = np.abs(inner - thresholds[below]) <= np.abs(thresholds[above] - inner)
        ends = np.where(is_below, below, above) + 1
        return self.bins(np.concatenate([[0], ends, [thresholds.size]]))

    def uniform_bins(self, size: int) -> Bins:
        """Return bins of one width."""
        return self.nearest_bins(np.arange(size + 1) / size)

    def equi_depth_bins(self, size: int) -> Bins:
        """Return bins of about as many records each."""
        totals = self.totals[1:]
        ends = np.searchsorted(totals, np.arange(1, size) * totals[-1] / size) + 1
        ends[totals[ends - 1] >= totals[-1]] = totals.size  # or a last bin would be empty, but wide
        return self.bins(np.concatenate([[0], ends, [totals.size]]))


def uniform_bins(curves: ScoreCurves, bins: int = 10) -> Bins:
    """Return bins of one width.

    Parameters
    ----------
    curves
        Of scores that are probabilities: thresholds within [0, 1], the last one 1.
    bins
        How many, B, from 1 to 2^24.

    Returns
    -------
    Bins
        With inner edges at the thresholds nearest to b / B: there, if the grid has these.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    O(N + B log N). Nothing about the edges depends on the records.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.statistics.binning import uniform_bins
    >>> labels, scores = [0, 0, 1, 1], [0.1, 0.3, 0.6, 0.9]
    >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
    >>> uniform_bins(curves, 2).positive_rate
    array([0., 1.])
    """
    return Cells.of(curves).uniform_bins(_size(bins))


def equi_depth_bins(curves: ScoreCurves, bins: int = 10) -> Bins:
    """Return bins of about n / B records each, by the released curves.

    Parameters
    ----------
    curves, bins
        As in ``uniform_bins``.

    Returns
    -------
    Bins
        The b-th one ends at the first threshold at which the released count of both classes
        reaches b n / B. A cell with more than n / B records may make several edges coincide:
        bins without a cell, which are empty. All others hold records.

    Raises
    ------
    DtypeError, ParameterError
        As in ``uniform_bins``.

    Notes
    -----
    O(N + B log N). The edges are read off the release, noise and all.

    Examples
    --------
    >>> import dpcore as dp
    >>> labels, scores = [0, 0, 1, 1], [0.05, 0.1, 0.15, 0.9]
    >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
    >>> bins = dp.statistics.equi_depth_bins(curves, 2)
    >>> bins.edges.round(2), bins.counts
    (array([0. , 0.1, 1. ]), array([2., 2.]))
    """
    return Cells.of(curves).equi_depth_bins(_size(bins))


def counted_bins(
    curves: ScoreCurves, bins: int | Bins, make: Callable[[ScoreCurves, int], Bins]
) -> Bins:
    """Return so many bins, or bins with the edges of others, with the counts of these curves."""
    return (
        Cells.of(curves).nearest_bins(bins.edges) if isinstance(bins, Bins) else make(curves, bins)
    )


def share(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return parts / wholes, and NaN where the whole is 0."""
    out = np.full(wholes.shape, np.nan)
    np.divide(parts, wholes, out=out, where=wholes > 0.0)
    return out


def _size(bins: int) -> int:
    return _check.integer("bins", bins, 1, MOST_CELLS)
