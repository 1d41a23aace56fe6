"""Weighted log-rank statistics of groups whose events and numbers at risk are counted on a grid.

All functions take arrays with any leading axes, so that many simulated releases are one call. The
counts may be noisy: they need not be whole, and noisy events may be below 0.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["LogRank", "Weights", "before_ends", "quadratic_form", "weights_of"]

Reals = NDArray[np.float64]
Weights = Literal["log-rank", "wilcoxon", "tarone-ware", "peto"] | tuple[float, float]


class LogRank(NamedTuple):
    """The differences of observed and expected events of k groups, and their covariances.

    Strata add up: ``first + second`` has the sums of both.

    Parameters
    ----------
    differences
        (..., k) for each group, the weighted sum over cells of its events less those that would be
        expected if all groups had the hazard of all records together. Their sum over groups is 0.
    covariances
        (..., k, k) their covariances given the events of all groups and the numbers at risk: the
        hypergeometric ones.
    """

    differences: Reals
    covariances: Reals

    @classmethod
    def of(cls, events: Reals, at_risk: Reals, weights: Weights = "log-rank") -> Self:
        """Return the statistics of k groups over N cells.

        Parameters
        ----------
        events
            (..., k, N) the events in each cell.
        at_risk
            (..., k, N) how many records count as at risk in each cell, 0 or more.
        weights
            As in ``weights_of``.
        """
        observed, total = events.sum(axis=-2), at_risk.sum(axis=-2)
        own = _ratio(at_risk, total[..., np.newaxis, :])
        weight = weights_of(observed, total, weights)[..., np.newaxis, :]
        terms = events - own * observed[..., np.newaxis, :]
        differences = (weight * terms).sum(axis=-1)
        happened = np.clip(observed, 0.0, total)
        # With one record at risk there is nothing to choose from: the variance is 0.
        spread = happened * _ratio(total - happened, np.where(total > 1.0, total - 1.0, 0.0))
        scaled = own * (weight**2 * spread[..., np.newaxis, :])
        covariances = -scaled @ np.swapaxes(own, -1, -2)
        at = np.arange(own.shape[-2])
        covariances[..., at, at] += scaled.sum(axis=-1)
        return cls(differences, covariances)

    def __add__(self, other: object) -> Self:
        if not isinstance(other, LogRank):
            return NotImplemented
        differences = self.differences + other.differences
        return type(self)(differences, self.covariances + other.covariances)


def weights_of(events: Reals, at_risk: Reals, weights: Weights) -> Reals:
    """Return the weight of each cell, (..., N), from the counts of all groups, (..., N) each.

    Parameters
    ----------
    events, at_risk
        As in ``LogRank.of``, summed over groups.
    weights
        "log-rank": 1. "wilcoxon": the number at risk (Gehan 1965, Breslow 1970). "tarone-ware": its
        square root. "peto": the survival just after the cell, by Peto and Peto's estimate with one
        more record at risk. (p, q): S^p (1 - S)^q, of Fleming and Harrington, where S is the
        Kaplan-Meier estimate just before the cell.
    """
    if weights == "log-rank":
        return np.ones(at_risk.shape)
    if weights == "wilcoxon":
        return at_risk
    if weights == "tarone-ware":
        return np.asarray(at_risk**0.5)
    dead = np.maximum(events, 0.0)
    if weights == "peto":
        return np.asarray(np.cumprod(1.0 - np.minimum(_ratio(dead, at_risk + 1.0), 1.0), axis=-1))
    p, q = weights
    after = np.cumprod(1.0 - np.minimum(_ratio(dead, at_risk), 1.0), axis=-1)
    before = np.concatenate([np.ones((*after.shape[:-1], 1)), after[..., :-1]], axis=-1)
    return np.asarray(before**p * (1.0 - before) ** q)


def before_ends(at_risk: Reals, least: Reals) -> NDArray[np.bool_]:
    """Return which cells are before the end of each group, (..., k, N).

    A group ends before the first cell with fewer records at risk than ``least``. The sum of a test
    ends with the last but one of them, because a single group has nothing to be compared with.

    Parameters
    ----------
    at_risk
        (..., k, N) the records at risk at the start of each cell.
    least
        (k, N) or a shape that it broadcasts with.
    """
    return np.asarray(np.logical_and.accumulate(at_risk >= least, axis=-1))


def quadratic_form(differences: Reals, covariances: Reals) -> Reals:
    """Return Z' V^- Z for k numbers with a sum of 0, (..., k), and their covariances, (...).

    The last number follows from the others, and is left out. A direction without variance counts 0.
    """
    z = differences[..., :-1]
    if z.shape[-1] == 1:
        return np.asarray(_ratio(z[..., 0] ** 2, covariances[..., 0, 0]))
    inverse = np.linalg.pinv(covariances[..., :-1, :-1], hermitian=True)
    return np.asarray(np.einsum("...i,...ij,...j->...", z, inverse, z), np.float64)


def _ratio(numerator: Reals, denominator: Reals) -> Reals:
    """Return ratios, and 0 where the denominator is not above 0."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0.0)
