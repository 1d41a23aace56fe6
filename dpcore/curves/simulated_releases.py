"""One engine of errors by simulation: it takes a released curve for the truth, and releases it.

This is a parametric bootstrap. It costs no privacy, as it uses no records. It covers effects that
closed forms do not: correlations between thresholds, isotonic regression, clipping. It does not
cover what the mechanism has lost of the records already. So the caller has to know that noise is
the only error, or to add the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .._threads import on_threads
from ..errors import ParameterError
from ..kernels.smoothing.isotonic import isotonic
from ..noise.sources import source
from ..privacy.spending import unwatched
from .cdf import CDF
from .confidence import at_knots
from .own_mechanism import REPLICATES, Releases

__all__ = [
    "Simulation",
    "blocks",
    "root_mean_square_errors",
]

Reals = NDArray[np.float64]
Draw = Callable[["Simulation", int, np.random.Generator], Reals]

_BLOCK: Final = 2**20  # counts that are simulated at once
_OF_A_THREAD: Final = 32  # how many samples a thread releases one after the other


@dataclass(frozen=True, eq=False)  # no slots, because the truth is cached
class Simulation:
    """Simulated releases of a curve. Each is processed as the curve was.

    Parameters
    ----------
    curve
        A released curve, raw or made monotone by ``isotonic``.
    mechanism
        The mechanism that released it. None: it is not known, and no noise is simulated.
    """

    curve: CDF
    mechanism: Releases | None

    @cached_property
    def truth(self) -> Reals:
        """(N,) the counts of the curve, made monotone and rounded to whole records."""
        return np.rint((self.curve if self.curve.is_monotone else self.curve.isotonic()).counts)

    @cached_property
    def losses(self) -> Reals:
        """(N,) the deviations of what the release has lost of the records, or may have lost."""
        if not self.loses_records:
            return np.zeros(self.truth.size)
        if not np.isfinite(self.curve.noise_deviation).all():
            what = "must have a known, finite noise_deviation"
            raise ParameterError("curve", self.curve.mechanism.get("name"), what)
        return self.lost(root_mean_square_errors([self], lambda counts: counts)).noise_deviation

    @property
    def is_additive(self) -> bool:
        """Whether a release is the exact counts plus noise whose law does not depend on them."""
        return self.mechanism is None or self.mechanism.is_additive

    @property
    def loses_records(self) -> bool:
        """Whether a part of the error is not simulated, because the release has lost it."""
        return self.mechanism is not None and self.mechanism.loses_records

    def lost(self, seen: Reals) -> CDF:
        """Return the curve with the part of its deviations that simulated errors do not show.

        The errors, (N,), are the root mean squares of those of simulated counts.
        """
        unseen = np.sqrt(np.maximum(self.curve.noise_deviation**2 - seen**2, 0.0))
        return replace(self.curve, noise_deviation=unseen)

    def generator(self, rng: np.random.Generator | None = None) -> np.random.Generator:
        """Return a generator of the caller, checked, or one that the released counts seed.

        So one curve always has one result. The counts are public already, and the seed need not be
        secret.
        """
        if rng is None:
            rng = np.random.default_rng(self.truth.view(np.uint32))
        source(rng)  # refuses other types
        return rng

    def of_records(self, replicates: int, rng: np.random.Generator) -> Reals:
        """Return the counts of simulated releases of the truth, (replicates, N)."""
        if self.mechanism is None:
            return np.tile(self.truth, (replicates, 1))
        cells = np.diff(self.truth, prepend=0.0).astype(np.int64)
        with unwatched():  # no record contributes
            released = self.mechanism.release(cells, rng=rng, replicates=replicates)
        return self.processed(released.astype(np.float64))

    def of_counts(self, replicates: int, rng: np.random.Generator) -> Reals:
        """Return the counts of simulated releases whose knots are those of the curve.

        Where the error is noise alone, they are those of ``of_records``. Otherwise the truth is a
        straight line between knots, which are not found again: the errors of these releases,
        (replicates, N), are those of counting.

        Raises
        ------
        ParameterError
            The errors of the mechanism are not noise alone at any thresholds.
        """
        knots, size = self.curve.knots, self.truth.size
        if knots is None:
            return self.of_records(replicates, rng)
        places, at = np.arange(size), np.append(-1, knots)
        noise = np.pad(self.of_noise(replicates, rng), ((0, 0), (1, 0)))
        line = np.interp(places, at, np.append(0.0, self.truth[knots]))
        return self.processed(np.stack([line + np.interp(places, at, row) for row in noise]))

    def of_population(
        self, replicates: int, rng: np.random.Generator, shares: Reals | None = None
    ) -> Reals:
        """Return the counts of simulated releases, each of a new sample, (replicates, N).

        Parameters
        ----------
        replicates
            The number of samples.
        rng
            The generator for samples and noise.
        shares
            (N,) the share of the population in each cell. None: those of the truth.
        """
        return self.of_samples(self.samples(replicates, rng, shares), rng)

    def of_samples(self, cells: NDArray[np.int64], rng: np.random.Generator) -> Reals:
        """Return the counts of one simulated release of each row of counts of cells, (R, N)."""
        if self.mechanism is None:
            return np.cumsum(cells, axis=1, dtype=np.float64)
        with unwatched():
            return self.processed(self._of_each(self.mechanism, cells, rng))

    def of_noise(self, replicates: int, rng: np.random.Generator) -> Reals:
        """Return noise as in the curve's release, at its knots, (replicates, K); or of all counts.

        Raises
        ------
        ParameterError
            The errors of the mechanism are not noise alone.
        """
        curve, size = self.curve, self.truth.size
        known = size if curve.knots is None else curve.knots.size
        if self.mechanism is None:
            return np.zeros((replicates, known))
        return self.mechanism.simulated_noise(size, replicates, rng, knots=curve.knots, n=curve.n)

    def of_losses(self, replicates: int, rng: np.random.Generator) -> Reals:
        """Return counts of the truth that are off by what a release has lost, (replicates, N).

        A loss has a random sign. Signs are independent between runs of thresholds that begin at a
        knot. If a mechanism states none, all thresholds have one sign, which is the worst case.
        """
        known = at_knots(self.curve.knots, self.truth.size)
        runs = np.cumsum(known & (self.curve.knots is not None))
        signs = rng.choice([-1.0, 1.0], (replicates, runs[-1] + 1))
        return self.processed(self.truth + signs[:, runs] * self.losses)

    def samples(
        self, replicates: int, rng: np.random.Generator, shares: Reals | None = None
    ) -> NDArray[np.int64]:
        """Return how many of n records of a population are in each cell, (replicates, N)."""
        if shares is None:
            shares = np.diff(self.truth, prepend=0.0) / self.truth[-1]
        return rng.multinomial(self.curve.n, shares, replicates)

    def _of_each(
        self, mechanism: Releases, cells: NDArray[np.int64], rng: np.random.Generator
    ) -> Reals:
        """Return one release of each row of counts, (R, N)."""
        released: Reals = np.empty(cells.shape)
        if mechanism.is_additive:
            noise = mechanism.simulated_noise(cells.shape[1], len(cells), rng)
            return np.add(np.cumsum(cells, axis=1), noise, out=released)

        def release(block: tuple[int, np.random.Generator]) -> None:
            start, own = block
            for at in range(start, min(start + _OF_A_THREAD, len(cells))):
                released[at] = mechanism.release(cells[at], rng=own)

        starts = range(0, len(cells), _OF_A_THREAD)
        on_threads(release, list(zip(starts, rng.spawn(len(starts)), strict=True)), None)
        return released

    def processed(self, counts: Reals) -> Reals:
        """Return the counts of releases, (rows, N), processed as the curve was, in place."""
        if self.curve.privacy.neighbours == "add-or-remove-one":  # n is noisy, too
            counts[:, -1] = np.maximum(np.rint(counts[:, -1]), 1.0)
        else:
            counts[:, -1] = self.curve.n
        if self.curve.processing:
            for row in counts:
                isotonic(row[np.newaxis, :-1], 0.0, row[-1])
        return counts


def blocks(replicates: int, size: int) -> list[slice]:
    """Return which of R releases of N counts are simulated at once."""
    rows = max(1, _BLOCK // size)
    return [slice(start, min(start + rows, replicates)) for start in range(0, replicates, rows)]


def root_mean_square_errors(
    simulations: Sequence[Simulation],
    read: Callable[..., Reals],
    *,
    replicates: int = REPLICATES,
    rng: np.random.Generator | None = None,
    draw: Draw = Simulation.of_records,
) -> Reals:
    """Return the root mean square errors of numbers that are computed from releases of curves.

    Parameters
    ----------
    simulations
        Those of one curve, or of several whose releases are independent.
    read
        A function that computes the numbers from the counts of each curve, (rows, N) each, and
        returns (rows, ...).
    replicates
        R, the number of releases of each curve to simulate.
    rng
        A generator, or None for one that the counts of the first curve seed.
    draw
        ``Simulation.of_records`` for the error by noise, ``Simulation.of_population`` for that by
        noise and sampling.

    Returns
    -------
    numpy.ndarray
        Of the shape of the numbers: the root mean square of their differences from those of the
        truth, bias and spread in one.
    """
    rng = simulations[0].generator(rng)
    truths = [simulation.truth for simulation in simulations]
    true = read(*(truth[np.newaxis] for truth in truths))
    squares = np.zeros(true.shape[1:])
    for some in blocks(replicates, max(truth.size for truth in truths)):
        rows = some.stop - some.start
        drawn = [draw(simulation, rows, rng) for simulation in simulations]
        with np.errstate(over="ignore"):  # of numbers as far as doubles go
            squares += np.sum((read(*drawn) - true) ** 2, axis=0)
    return np.asarray(np.sqrt(squares / replicates))
