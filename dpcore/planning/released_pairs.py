"""Two released curves of disjoint records, to be released again for tests and intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.cdf import CDF
from ..curves.combination import are_one_release
from ..curves.inversion import are_whole, crossings, is_below, places
from ..curves.own_mechanism import Releases
from ..curves.simulated_releases import Simulation, blocks
from ..errors import ParameterError
from ..mechanisms.simulated_deviation import simulation_of

__all__ = [
    "Released",
    "as_released",
    "pair_of",
    "populations",
    "released_pair",
    "simulated_pairs",
]

# The variance of the indicator that a uniform value is below a threshold, averaged over thresholds
_MEAN_VARIANCE: Final = 1 / 6


@dataclass(frozen=True, slots=True)
class Released:
    """A curve of records that can be released again.

    Parameters
    ----------
    curve
        A raw or isotonic curve.
    simulation
        Its simulated releases.
    whole
        Whether the records are read as whole numbers.
    """

    curve: CDF
    simulation: Simulation
    whole: bool

    @classmethod
    def of(cls, argument: str, curve: CDF, mechanism: Releases | None = None) -> Released:
        """Return a curve, given as ``argument``, with its mechanism, by default as it names it."""
        simulation = simulation_of(argument, curve, mechanism)
        return cls(curve, simulation, are_whole(curve.grid, curve.integers))

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
            cells = [np.count_nonzero(is_below(shares, probability), axis=1) for probability in p]
            return shares, np.stack(cells, axis=1)
        return shares, np.stack([crossings(own, own[-1], p) for own in counts])


def populations(first: Released, second: Released) -> list[NDArray[np.float64]]:
    """Return shares of cells, (N,) each, of populations from which both curves may come.

    The first population is the pooled one. If a release loses more than noise, the second one has
    all records in the cell of the median: values that pooled curves spread over a bucket may be a
    few values in truth, and releases of these lose more.
    """
    pooled = _pooled(first, second)
    if first.simulation.is_additive and second.simulation.is_additive:
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


def pair_of(
    first: CDF, second: CDF, mechanism: Releases | Sequence[Releases | None] | None
) -> tuple[Released, Released]:
    """Check both curves and their mechanism, one or two, and return the curves with them."""
    for argument, curve in (("first", first), ("second", second)):
        _check.instance(argument, curve, CDF, "must be a CDF")
    if first.grid != second.grid:
        raise ParameterError("second", second.grid, "must be over the grid of the first curve")
    if are_one_release(first, second):
        what = "must be another release than first, of other records"
        raise ParameterError("second", second, what)
    own = tuple(mechanism) if isinstance(mechanism, tuple | list) else (mechanism, mechanism)
    if len(own) != 2:
        raise ParameterError("mechanism", len(own), "must be one, or one for each of two curves")
    ours, theirs = Released.of("first", first, own[0]), Released.of("second", second, own[1])
    both = ours.whole and theirs.whole  # otherwise the readings would differ by half a cell
    return replace(ours, whole=both), replace(theirs, whole=both)


def released_pair(
    first: CDF, second: CDF, mechanism: Releases | Sequence[Releases | None] | None
) -> tuple[Released, Released]:
    """Check both curves and their mechanism, one or two; return them as they were released."""
    ours, theirs = pair_of(first, second, mechanism)
    return as_released(ours), as_released(theirs)


def as_released(given: Released) -> Released:
    """Return a curve as it was released, if it keeps its raw counts."""
    if given.curve.raw is None:
        return given
    raw = given.curve.as_released()
    return replace(given, curve=raw, simulation=replace(given.simulation, curve=raw))


def simulated_pairs(
    pair: tuple[Released, Released],
    shares: tuple[NDArray[np.float64], NDArray[np.float64]],
    simulations: int,
    rng: np.random.Generator,
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield counts of releases of samples of two populations, (rows, N) each, R rows in all.

    The shares of the cells in both populations are (N,) each.
    """
    for some in blocks(simulations, pair[0].curve.grid.size):
        first, second = (
            released.simulation.of_population(some.stop - some.start, rng, own)
            for released, own in zip(pair, shares, strict=True)
        )
        yield first, second
