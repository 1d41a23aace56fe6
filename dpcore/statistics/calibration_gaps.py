"""Gaps between positives and scores in bins, as linear functions of the counts of many curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..curves.scores import ScoreCurves
from .binning import Bins, Cells, counted_bins, uniform_bins

__all__ = ["ErrorNorm", "Gaps"]

Reals = NDArray[np.float64]
ErrorNorm = Literal[1, 2]


@dataclass(frozen=True, eq=False, slots=True)
class Gaps:
    """Positives minus the sum of scores in each bin, as linear functions of cumulative counts.

    Scores may be anywhere in their cells. So the gap of a bin may be anywhere from its middle value
    minus the sum of the records' half cells to this value plus this sum.

    Parameters
    ----------
    middles, halves
        (N,) the middles of the cells, and half of their widths.
    ends
        (B + 1,) the numbers of cells after which bins begin and end.
    """

    middles: Reals
    halves: Reals
    ends: NDArray[np.intp]

    @classmethod
    def of(cls, curves: ScoreCurves, bins: int | Bins) -> Gaps:
        """Return the gaps of the bins of curves whose scores are probabilities."""
        cells, counted = Cells.of(curves), counted_bins(curves, bins, uniform_bins)
        ends = np.searchsorted(cells.edges, counted.edges, side="right") - 1
        ends[0] = 0  # even if the first cell has no width
        return cls(cells.middles, (cells.edges[1:] - cells.starts) / 2, ends)

    def error(self, negatives: Reals, positives: Reals, norm: ErrorNorm) -> Reals:
        """Return the calibration error of each row of counts, (..., N): (...)."""
        gaps, totals = self.of_bins(negatives, positives)[0], negatives + positives
        if norm == 1:
            return np.asarray(np.abs(gaps).sum(axis=-1) / totals[..., -1])
        of_bins = self._by_bins(np.diff(totals, prepend=0.0))
        squares = np.divide(gaps**2, of_bins, out=np.zeros(gaps.shape), where=of_bins > 0.0)
        return np.asarray(np.sqrt(squares.sum(axis=-1) / totals[..., -1]))

    def least(self, negatives: Reals, positives: Reals) -> Reals:
        """Return the least absolute gaps that counts allow, (..., N): (..., B)."""
        gaps, places = self.of_bins(negatives, positives)
        return np.asarray(np.maximum(np.abs(gaps) - places, 0.0))

    def most(self, negatives: Reals, positives: Reals) -> Reals:
        """Return the greatest absolute gaps that counts allow, (..., N): (..., B)."""
        gaps, places = self.of_bins(negatives, positives)
        return np.asarray(np.abs(gaps) + places)

    def of_bins(self, negatives: Reals, positives: Reals) -> tuple[Reals, Reals]:
        """Return the gaps for the middles, and the sums of half cells, both (..., B)."""
        below, above = (np.diff(counts, prepend=0.0) for counts in (negatives, positives))
        gaps = self._by_bins(above * (1.0 - self.middles) - below * self.middles)
        return gaps, self._by_bins((above + below) * self.halves)

    def _by_bins(self, of_cells: Reals) -> Reals:
        sums = np.cumsum(of_cells, axis=-1)
        sums = np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)
        return np.asarray(np.diff(sums[..., self.ends], axis=-1))

    def bound(self, of_negatives: Reals, of_positives: Reals) -> float:
        """Return a bound of the deviation of these sums, for any correlation of the noise."""
        is_end = np.zeros(self.middles.size, bool)
        is_end[self.ends[1:] - 1] = True
        after, half_after = np.append(self.middles[1:], 0.0), np.append(self.halves[1:], 0.0)
        both, within = self.middles + after, after - self.middles
        two = np.append(np.full(self.middles.size - 1, 2.0), 1.0)  # bins that meet at a threshold
        places = np.where(is_end, self.halves + half_after, np.abs(half_after - self.halves))
        at_negatives = np.where(is_end, both, within) + places
        at_positives = np.where(is_end, two - both, within) + places
        return float(np.sum(at_negatives * of_negatives + at_positives * of_positives))
