"""Simulated pairs of releases: samples of a population, with noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .._threads import on_threads
from ..curves.cdf import CDF
from ..curves.inversion import crossings, places
from ..curves.simulated_releases import check_released, processed
from ..errors import ParameterError
from ..mechanisms import Mechanism, from_curve
from ..privacy.guarantees import of_clients
from ..privacy.spending import unwatched

__all__ = ["Released", "largest_gaps", "populations"]

_BLOCK: Final = 32  # how many releases a thread makes one after the other
# The variance of the indicator that a uniform value is below a threshold, averaged over thresholds
_MEAN_VARIANCE: Final = 1 / 6


@dataclass(frozen=True, slots=True)
class Released:
    """A curve, and the mechanism that released it.

    Parameters
    ----------
    curve
        A raw or isotonic curve of records.
    mechanism
        The mechanism, made again from the description in the curve.
    whole
        Whether the records are read as whole numbers.
    """

    curve: CDF
    mechanism: Mechanism
    whole: bool

    @classmethod
    def of(cls, argument: str, curve: CDF) -> Released:
        """Return a curve, given as ``argument``, with its mechanism."""
        if of_clients(curve.privacy.neighbours):
            what = "must protect records: a curve does not tell which clients lack some"
            raise ParameterError(argument, "replace-client", what)
        try:
            mechanism = from_curve(curve)
        except ParameterError as error:
            name, what = curve.mechanism["name"], "must be a release by a mechanism"
            raise ParameterError(argument, name, f"{what} of dpcore.mechanisms") from error
        check_released(argument, curve, mechanism)
        return cls(curve, mechanism, curve._of_integers)

    @property
    def shares(self) -> NDArray[np.float64]:
        """(N,) the share of records in each cell, at least 0."""
        curve = self.curve if self.curve.is_monotone else self.curve.isotonic()
        return np.diff(curve.counts.astype(np.float64), prepend=0.0) / curve.n

    @property
    def mean_variance(self) -> float:
        """The variance of F over the thresholds, by sampling and noise; infinite if unknown."""
        noise = np.mean(np.square(self.curve.noise_deviation / self.curve.n))
        return float(_MEAN_VARIANCE / self.curve.n + noise)

    def draws(
        self, shares: NDArray[np.float64], simulations: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return (simulations, N) counts of simulated curves, of samples of a population.

        Parameters
        ----------
        shares
            (N,) the share of the population in each cell.
        simulations
            How many curves. Each is of a new sample of n records, has new noise, and is processed
            as the curve was.
        rng
            The generator for samples and noise.
        """
        with unwatched():  # no record contributes
            return self._drawn(shares, simulations, rng)

    def _drawn(
        self, shares: NDArray[np.float64], simulations: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        cells = rng.multinomial(self.curve.n, shares, simulations)
        released: NDArray[np.float64] = np.empty(cells.shape)
        if self.mechanism.is_additive:
            nothing = np.zeros(shares.size, np.int64)
            noise = self.mechanism.release(nothing, rng=rng, replicates=simulations)
            np.add(np.cumsum(cells, axis=1), noise, out=released)
            return processed(self.curve, released)

        def release(block: tuple[int, np.random.Generator]) -> None:
            start, own = block
            for at in range(start, min(start + _BLOCK, simulations)):
                released[at] = self.mechanism.release(cells[at], rng=own, workers=1)

        starts = range(0, simulations, _BLOCK)
        on_threads(release, list(zip(starts, rng.spawn(len(starts)), strict=True)), None)
        return processed(self.curve, released)

    def quantiles(self, counts: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles of curves of these counts, (R, m), as ``CDF.quantile`` does."""
        shares, cells = self._crossed(counts, p)
        start = np.take_along_axis(np.insert(shares, 0, 0.0, axis=1), cells, axis=1)
        rise = np.take_along_axis(shares, cells, axis=1) - start
        share = np.divide(p - start, rise, out=np.zeros(cells.shape), where=rise > 0.0)
        return places(cells, share, self.curve.grid, self.whole)

    def ends(
        self, counts: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the largest quantile of records with these counts, (R, m) each.

        A quantile may be anywhere in its cell, or at any whole number there. The least one is
        -infinity in a first cell whose beginning is not known.
        """
        _, cells = self._crossed(counts, p)
        low, high = (places(cells, share, self.curve.grid, self.whole) for share in (0.0, 1.0))
        return np.where((cells == 0) & np.isinf(self.curve.grid.start), -np.inf, low), high

    def _crossed(
        self, counts: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the shares up to each threshold, (R, N), and the cells that reach p, (R, m)."""
        shares = counts / counts[:, -1:]
        if self.curve.processing:  # a monotone curve: take the first cell that reaches p
            cells = [np.count_nonzero(shares < probability, axis=1) for probability in p]
            return shares, np.stack(cells, axis=1)
        return shares, np.stack([crossings(own, own[-1], p) for own in counts])


def largest_gaps(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Kolmogorov-Smirnov statistics of curves of these counts, (R, N) each, (R,)."""
    gaps = first / first[:, -1:] - second / second[:, -1:]
    return np.asarray(np.abs(gaps).max(axis=1))


def populations(first: Released, second: Released) -> list[NDArray[np.float64]]:
    """Return shares of cells, (N,) each, of populations from which both curves may come.

    The first population is the pooled one. If a release loses more than noise, the second one has
    all records in the cell of the median: values that pooled curves spread over a bucket may be a
    few values in truth, and releases of these lose more.
    """
    pooled = _pooled(first, second)
    if first.mechanism.is_additive and second.mechanism.is_additive:
        return [pooled]
    one_value = np.zeros(pooled.size)
    one_value[np.searchsorted(np.cumsum(pooled), 0.5)] = 1.0
    return [pooled, one_value]


def _pooled(first: Released, second: Released) -> NDArray[np.float64]:
    """Return the mean of the shares in both curves, (N,), weighted by how well each is known."""
    variances = np.array([released.mean_variance for released in (first, second)])
    if not np.isfinite(variances).all():
        variances = np.array([1.0 / released.curve.n for released in (first, second)])
    shares = first.shares / variances[0] + second.shares / variances[1]
    return np.asarray(shares / shares.sum())
