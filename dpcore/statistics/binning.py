"""Bins of scores: counts of both classes and mean scores, from released curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from ..curves import forms
from ..curves.scores import ScoreCurves
from ..curves.stored import Stored
from ..errors import ParameterError, amount
from ..kernels.counting.depths import equal_depths
from ..summaries.grid import MOST_CELLS

__all__ = [
    "Bins",
    "Cells",
    "check_edges",
    "counted_bins",
    "equi_depth_bins",
    "equi_depth_ends",
    "uniform_bins",
]

_LIKE: Final = forms.counted(forms.like("negatives"))


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Bins(Stored):
    """The released counts and mean scores of B bins of scores.

    Made by ``uniform_bins`` or ``equi_depth_bins``. Bin b holds edges[b] < score <= edges[b + 1];
    the first bin also holds its lower edge. Bins may be empty; bins whose edges coincide are empty.

    Parameters
    ----------
    edges
        (B + 1,) the edges of the bins within [0, 1], never decreasing; the first one is 0 and the
        last one is 1.
    negatives, positives
        (B,) released counts of records. They are at least 0, and in general not integers.
    mean_score
        (B,) the released mean score of the bin's records, within its edges; NaN if the bin is
        empty. Every record is assumed to be in the middle of its cell, so the error is at most half
        of the width of the widest cell in the bin.
    negatives_deviation, positives_deviation
        (B,) bounds of the standard deviations of the noise in the counts, for raw curves. A count
        is a difference of two cumulative counts, whose deviations are added.

    Examples
    --------
    >>> import dpcore as dp
    >>> labels, scores = [0, 0, 1, 1], [0.1, 0.3, 0.6, 0.9]
    >>> curves = dp.score_curves(labels, scores, mechanism=dp.mechanisms.NoNoise())
    >>> bins = dp.statistics.uniform_bins(curves, 2)
    >>> bins.edges, bins.counts, bins.mean_score.round(2)
    (array([0. , 0.5, 1. ]), array([2., 2.]), array([0.2 , 0.75]))
    """

    edges: NDArray[np.float64] = field(metadata=forms.like("negatives", 1))
    negatives: NDArray[np.float64] = field(metadata=forms.counted(forms.ROW))
    positives: NDArray[np.float64] = field(metadata=_LIKE)
    mean_score: NDArray[np.float64] = field(metadata=_LIKE)
    negatives_deviation: NDArray[np.float64] = field(metadata=_LIKE)
    positives_deviation: NDArray[np.float64] = field(metadata=_LIKE)

    def __post_init__(self) -> None:
        _check.held("negatives", self.negatives, (None,))
        size = self.negatives.size
        check_edges(self.edges, size)
        for name in ("positives", "mean_score", "negatives_deviation", "positives_deviation"):
            _check.held(name, getattr(self, name), (size,))
        for name in ("negatives", "positives"):
            counts = _check.cumulative_counts(name, getattr(self, name))  # with a finite square
            if (least := float(counts.min())) < 0.0:
                raise ParameterError(name, least, "must not be negative")

    def __repr__(self) -> str:
        size, n = self.counts.size, round(float(self.counts.sum()))
        return f"<Bins: n = {n}, {amount(size, 'bin')}>"

    def _columns(self) -> Mapping[str, Any]:
        names = ("negatives", "positives", "mean_score", "negatives_deviation")
        own = {name: getattr(self, name) for name in (*names, "positives_deviation")}
        return {"lower": self.edges[:-1], "upper": self.edges[1:], **own}

    @property
    def counts(self) -> NDArray[np.float64]:
        """(B,) the counts of both classes together; those of curves add up to n."""
        return self.negatives + self.positives

    @property
    def positive_rate(self) -> NDArray[np.float64]:
        """(B,) the share of positives, within [0, 1]; NaN if the bin is empty."""
        return share(self.positives, self.counts)


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Monotone cumulative counts, from 0 on, over cells that cover [0, 1].

    Parameters
    ----------
    edges
        (N + 1,) 0 and the thresholds.
    negatives, positives
        (N + 1,) the number of records of the class in the first k cells, k = 0, ..., N.
    deviations
        The standard deviations of the noise in these counts, each (N + 1,).
    whole
        Whether the grid states that scores are whole numbers, 0 and 1, with a cell for each.
    """

    edges: NDArray[np.float64]
    negatives: NDArray[np.float64]
    positives: NDArray[np.float64]
    deviations: tuple[NDArray[np.float64], NDArray[np.float64]]
    whole: bool

    @classmethod
    def of(cls, curves: ScoreCurves) -> Cells:
        """Return the cells of curves whose scores are probabilities, made monotone if necessary."""
        _check.instance("curves", curves, ScoreCurves, "must be ScoreCurves")
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
            whole=curves.grid.of_integers,
        )

    @property
    def starts(self) -> NDArray[np.float64]:
        """(N,) the least score of each cell: its lower edge, or the only score of a whole cell."""
        return self.edges[1:] if self.whole else self.edges[:-1]

    @property
    def middles(self) -> NDArray[np.float64]:
        """(N,) the middle of each cell, where its records are assumed to be."""
        return (self.starts + self.edges[1:]) / 2

    @property
    def totals(self) -> NDArray[np.float64]:
        """(N + 1,) the number of records of both classes in the first k cells."""
        return self.negatives + self.positives

    def bins(self, ends: NDArray[np.int64]) -> Bins:
        """Return the bins that end after these numbers of cells: (B + 1,), from 0 to N."""
        lengths = np.diff(ends)
        weights = np.diff(self.negatives) + np.diff(self.positives)
        which = np.repeat(np.arange(lengths.size), lengths)
        counts = np.bincount(which, weights, lengths.size).astype(np.float64)
        sums = np.bincount(which, weights * self.middles, lengths.size).astype(np.float64)
        bounds = (
            np.where(lengths > 0, deviation[ends[:-1]] + deviation[ends[1:]], 0.0)
            for deviation in self.deviations
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

        The first bin always has the first cell, so scores of 0 are in the bin of their records.
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
        """Return bins of about equally many records each."""
        return self.bins(equi_depth_ends(self.totals[np.newaxis, 1:], size)[0])


def equi_depth_ends(totals: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return after how many cells bins of about equally many records end.

    Parameters
    ----------
    totals
        (R, N) the number of records up to the end of each cell.
    size
        The number of bins, B.

    Returns
    -------
    numpy.ndarray
        (R, B + 1), from 0 to N. The last bin is not empty, unless all are.
    """
    ends = np.empty((len(totals), size + 1), np.int64)
    equal_depths(totals, ends)
    return ends


def check_edges(edges: NDArray[np.float64], bins: int) -> None:
    """Check the edges of bins, or of groups, of probabilities."""
    _check.held("edges", edges, (bins + 1,))
    if not (np.all((edges >= 0.0) & (edges <= 1.0)) and np.all(edges[:-1] <= edges[1:])):
        raise ParameterError("edges", edges, "must be within [0, 1], and never decrease")


def uniform_bins(curves: ScoreCurves, bins: int = 10) -> Bins:
    """Return bins of one width.

    Parameters
    ----------
    curves
        Curves of scores that are probabilities: thresholds within [0, 1], the last one 1.
    bins
        The number of bins, B, from 1 to 2^24.

    Returns
    -------
    Bins
        The inner edges are the thresholds nearest to b / B.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    The cost is O(N + B log N). The edges do not depend on the records.

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
        Bin b ends at the first threshold where the released count of both classes reaches b n / B.
        If a cell has more than n / B records, several edges may coincide. The bins between them
        have no cell and are empty. All other bins hold records.

    Raises
    ------
    DtypeError, ParameterError
        As in ``uniform_bins``.

    Notes
    -----
    The cost is O(N + B log N). The edges come from the release, so they depend on the noise.

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
    """Return new bins, or bins with the edges of others, with the counts of these curves."""
    return (
        Cells.of(curves).nearest_bins(bins.edges) if isinstance(bins, Bins) else make(curves, bins)
    )


def share(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return parts / wholes, or NaN where the whole is 0."""
    out = np.full(wholes.shape, np.nan)
    with np.errstate(over="ignore"):  # of a whole near 0
        np.divide(parts, wholes, out=out, where=wholes > 0.0)
    return out


def _size(bins: int) -> int:
    return _check.integer("bins", bins, 1, MOST_CELLS)
