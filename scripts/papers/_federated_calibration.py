"""Calibration: what Figure 5 and Table 1 of the federated paper measure."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from scipy.special import betaln, expit, ndtr

from dpcore.statistics import HistogramBinning

from ._federated import SHIFT, Published, Reals, distance

PRIOR, LEAST = 2.0, 0.005  # records of the prior in a bin, and its least mean


class Calibrated(NamedTuple):
    """Calibrated scores of leaves of one width."""

    values: Reals

    def predict(self, scores: Reals) -> Reals:
        """Return the value of the leaf of each score."""
        at = np.ceil(scores * self.values.size).astype(np.int64) - 1
        return np.asarray(self.values[np.clip(at, 0, self.values.size - 1)])


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


def published_bayesian(paper: Published, sizes: Iterable[int]) -> Calibrated:
    """Return Bayesian binning of the paper's leaves as they are: sums may fall, none is repaired.

    Each number of buckets has a binning at quantiles, weighted by how well it explains the labels
    (Naeini, Cooper & Hauskrecht 2015, with their prior of two records in a bin). A bucket whose
    noisy count is below 0 counts as empty, because no likelihood is defined for it.
    """
    tried = [_binned(paper, size) for size in sizes]
    scores = np.array([score for score, _ in tried])
    weights = np.exp(scores - scores.max())
    return Calibrated(np.average([values for _, values in tried], axis=0, weights=weights))


def _binned(paper: Published, buckets: int) -> tuple[float, Reals]:
    """Return the logarithm of the marginal likelihood of a binning, and its value in each leaf."""
    edges, leaves = paper.quantiles(buckets), paper.leaves.shape[1]
    edges = np.unique(edges)
    negatives, positives = np.maximum(np.diff(paper.sums[:, edges], axis=1), 0.0)
    middles = np.clip((edges[:-1] + edges[1:]) / (2 * leaves), LEAST, 1 - LEAST)
    prior, other = PRIOR * middles, PRIOR * (1 - middles)
    score = betaln(prior + positives, other + negatives) - betaln(prior, other)
    means = (positives + prior) / (positives + negatives + PRIOR)
    return float(score.sum()), np.repeat(means, np.diff(edges))
