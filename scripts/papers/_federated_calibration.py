"""Calibration: what Figure 5 and Table 1 of the federated paper measure."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

import dpcore as dp
from dpcore.curves.scores import numbered
from dpcore.privacy.guarantees import Privacy
from dpcore.statistics import BayesianBinning, HistogramBinning

from ._federated import SHIFT, Published, Reals, distance


class Population(NamedTuple):
    """Where records come from, in many small parts."""

    scores: Reals
    probabilities: Reals  # of being positive, given the score
    shares: Reals  # of all records

    @classmethod
    @cache
    def of(cls, area: float) -> Self:
        """Return the law from which ``Records.drawn`` draws."""
        edges, apart = np.linspace(-7, 7, 20_001), distance(area)
        middles = (edges[1:] + edges[:-1]) / 2
        below = (ndtr(edges - apart / 2) + ndtr(edges + apart / 2)) / 2
        return cls(ndtr(middles - SHIFT), expit(apart * middles), np.diff(below))

    def distance(self, calibrated: Reals) -> float:
        """Return the mean distance of calibrated scores to the probabilities."""
        excess, _ = self._excess(calibrated)
        return float(np.abs(excess).sum())

    def error(self, calibrated: Reals, bins: int) -> float:
        """Return the expected calibration error in so many bins of one width."""
        excess, values = self._excess(calibrated)
        where = np.minimum((values * bins).astype(np.int64), bins - 1)
        return float(np.abs(np.bincount(where, excess)).sum())

    def _excess(self, calibrated: Reals) -> tuple[Reals, Reals]:
        known = ~np.isnan(calibrated)  # not so in buckets that are empty
        values, shares = calibrated[known], self.shares[known] / self.shares[known].sum()
        return shares * (values - self.probabilities[known]), values


def published_binning(paper: Published, buckets: int, below: Reals) -> HistogramBinning:
    """Return the share of positives in each bucket of about as many records.

    ``below`` is one of the paper's two readings: its sums of leaves, or its prefixes.
    """
    edges = paper.quantiles(buckets)
    return HistogramBinning(edges / paper.leaves.shape[1], rates(below[:, edges]))


def rates(below: Reals) -> Reals:
    """Return the share of positives between edges, within [0, 1], and NaN where nobody is."""
    negatives, positives = np.diff(below, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip(positives / (negatives + positives), 0.0, 1.0))


def published_bayesian(paper: Published, clients: int, sizes: Iterable[int]) -> BayesianBinning:
    """Return the average over binnings of the paper's leaves, made monotone."""
    return BayesianBinning.fit(_curves(paper, clients).isotonic(), sizes)


def _curves(paper: Published, clients: int) -> dp.ScoreCurves:
    """Return the leaves as curves of both classes; how many clients there are is known."""
    joint = np.cumsum(np.append(paper.leaves[0], paper.leaves[1, ::-1]))
    joint[-1] = clients
    cells: NDArray[np.float64] = np.zeros(joint.size)
    whole = dp.CDF(
        grid=numbered(joint.size),
        counts=joint,
        n=clients,
        privacy=Privacy(1.0),
        mechanism={"name": "published"},
        noise_deviation=cells,
    )
    return dp.ScoreCurves(dp.Grid.uniform(0, 1, paper.leaves.shape[1]), whole)
