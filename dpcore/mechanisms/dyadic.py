"""Noise on a tree: O(log N) terms in every cumulative count, however many thresholds there are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _check, noise
from ..errors import DtypeError, ParameterError
from ..grid import MOST_CELLS
from ..kernels import dyadic as kernels
from ..privacy import Privacy
from ..randomness import Source, on_threads, source

__all__ = ["Dyadic"]

Sensitivity = Literal["exact", "paper"]

_BLOCK_DRAWS: Final = 2**16  # replicates are dealt to threads in blocks of about so many draws
_MOST_SCALE: Final = 2**40  # sums of dozens of terms stay far inside 64 bits


@dataclass(frozen=True, slots=True)
class Dyadic:
    """Every cumulative count gets the noise of the tree nodes that cover its threshold.

    Barczewski, Mawass & Ramon, *Differentially private empirical cumulative distribution
    functions*, Eq. 2 and Theorem 1, with discrete Laplace noise, for any number of cells and any
    base.

    Parameters
    ----------
    epsilon
        The privacy parameter, a positive number (a Fraction is taken exactly). Neighbours: one
        record replaced; the number of records is public.
    base
        Children per tree node, 2 or more.
    sensitivity
        "exact": how much noise a replaced record can use up, computed for this size and base as a
        distance in the dyadic graph (docs/dyadic.md). "paper": the bound L + 1 of Theorem 1, to
        reproduce its figures; base 2 only, because for larger bases it is *below* the truth.

    Raises
    ------
    DtypeError, ParameterError
        epsilon is not positive and finite, base < 2, or sensitivity="paper" with another base.

    Examples
    --------
    >>> from dpcore.mechanisms import Dyadic
    >>> Dyadic(epsilon=1.0).noise_scale(2**15)
    Fraction(15, 1)
    >>> Dyadic(epsilon=1.0, sensitivity="paper").noise_scale(2**15)
    Fraction(16, 1)
    """

    epsilon: float | Fraction
    base: int = 2
    sensitivity: Sensitivity = "exact"

    def __post_init__(self) -> None:
        _check.fraction("epsilon", self.epsilon)
        _check.integer("base", self.base, 2, MOST_CELLS)
        _check.choice("sensitivity", self.sensitivity, Sensitivity)
        if self.sensitivity == "paper" and self.base != 2:
            raise ParameterError("base", self.base, 'must be 2 with sensitivity="paper"')

    @property
    def privacy(self) -> Privacy:
        """The guarantee of one release with cryptographic noise."""
        exact = _check.fraction("epsilon", self.epsilon)
        epsilon = float(self.epsilon)
        return Privacy(epsilon if epsilon >= exact else math.nextafter(epsilon, math.inf))

    def noise_scale(self, size: int) -> Fraction:
        """Return the scale of each node's discrete Laplace noise, in counts; 0 for one cell.

        The sensitivity over epsilon, rounded up to 31 significant bits, so that draws need
        32-bit words only; epsilon is never exceeded. The sensitivity takes O(base log size) once.

        Raises
        ------
        DtypeError, ParameterError
            size is not within [1, 2^24], or the scale would pass 2^40.
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        if size == 1:
            return Fraction(0)
        if self.sensitivity == "paper":
            changed = (size - 1).bit_length() + 1
        else:
            changed = _graph_diameter(size - 1, min(self.base, size))
        exact = changed / _check.fraction("epsilon", self.epsilon)
        if exact > _MOST_SCALE:
            raise ParameterError(
                "epsilon", self.epsilon, f"is too small: its noise scale passes {_MOST_SCALE}"
            )
        return _rounded_up(exact)

    def levels(self, size: int) -> int:
        """Return how many noise terms each cumulative count gets but the last, which has none."""
        thresholds = _check.integer("size", size, 1, MOST_CELLS) - 1
        count = 0
        while thresholds > 0:
            count += 1
            thresholds = -(-thresholds // self.base) if thresholds > 1 else 0
        return count

    def variance(self, size: int) -> float:
        """Return the variance of every noisy cumulative count (all but the last), in counts^2."""
        scale = self.noise_scale(size)
        return self.levels(size) * noise.laplace_variance(scale) if scale else 0.0

    def mean_squared_error(self, size: int) -> float:
        """Return the mean squared error of a cumulative count over the N thresholds, in counts^2.

        In closed form. The last threshold counts, with error 0: its cumulative count is n.
        """
        return self.variance(size) * (size - 1) / size

    def standard_error(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,)."""
        errors = np.full(size, self.variance(size) ** 0.5)
        errors[-1] = 0.0
        return errors

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them."""
        return {
            "name": "dyadic",
            "epsilon": float(self.epsilon),
            "base": self.base,
            "sensitivity": self.sensitivity,
        }

    def release(
        self,
        counts: NDArray[np.integer[Any]],
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
        workers: int | None = None,
    ) -> NDArray[np.int64]:
        """Return cumulative counts with noise.

        Parameters
        ----------
        counts
            (N,) integers, the exact counts of the cells, from ``Grid.count``.
        rng
            None for a release: a cryptographic source. A generator is for studies; its children
            are used, so that results do not depend on the number of threads.
        replicates
            None for one release, or the number of independent ones. Each of them spends epsilon.
        workers
            Threads to use for replicates; None for all processors.

        Returns
        -------
        numpy.ndarray
            int64, (N,) or (replicates, N). The last entry is n in all of them.

        Raises
        ------
        DtypeError, ParameterError
            counts is not a non-empty array of integers, or another argument is not as above.

        Notes
        -----
        O(N) draws, additions and memory a replicate. epsilon-differentially private for a
        replaced record: docs/dyadic.md, section 3.
        """
        counts = _cell_counts(counts)
        repeat = 1 if replicates is None else _check.integer("replicates", replicates, 1, 2**40)
        cumulative = np.empty((repeat, counts.size), np.int64)
        cumulative[:] = np.cumsum(counts)
        self._add_noise(cumulative[:, :-1], self.noise_scale(counts.size), source(rng), workers)
        return cumulative if replicates is not None else cumulative[0]

    def _add_noise(
        self, out: NDArray[np.int64], scale: Fraction, stream: Source, workers: int | None
    ) -> None:
        """Add tree noise to each row of ``out``, (R, M); rows are independent."""
        if out.shape[1] == 0:
            return
        nodes = kernels.node_count(out.shape[1], self.base)
        rows = max(1, _BLOCK_DRAWS // nodes)
        starts = range(0, out.shape[0], rows)

        def add(block: tuple[int, Source]) -> None:
            start, own = block
            part = out[start : start + rows]
            draws = np.empty((part.shape[0], nodes), np.int64)
            noise.fill_discrete_laplace(draws.reshape(-1), scale, own)
            kernels.add_ancestors(draws, self.base, part)

        on_threads(add, list(zip(starts, stream.spawn(len(starts)), strict=True)), workers)


@lru_cache(maxsize=256)
def _graph_diameter(thresholds: int, base: int) -> int:
    return int(kernels.diameter(thresholds, base))  # a NumPy integer when interpreted


def _rounded_up(exact: Fraction) -> Fraction:
    """Return the least fraction >= exact with 31 significant bits (or an integer, if larger)."""
    bits = exact.numerator.bit_length() - exact.denominator.bit_length()
    shift = min(max(0, 30 - bits), 62)
    return Fraction(-(-(exact.numerator << shift) // exact.denominator), 1 << shift)


def _cell_counts(counts: object) -> NDArray[np.int64]:
    array = np.asarray(counts)
    if array.dtype.kind not in "iu":
        raise DtypeError("counts", f"dtype {array.dtype}", "must hold integers")
    if array.ndim != 1 or not 1 <= array.size <= MOST_CELLS:
        raise ParameterError(
            "counts", array.shape, f"must be one-dimensional, with 1 to {MOST_CELLS} cells"
        )
    return array.astype(np.int64)
