"""Noise on a tree: every cumulative count has O(log N) noise terms, for N thresholds."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..errors import ParameterError
from ..kernels.trees import dyadic as kernels
from ..kernels.trees.resistance import largest_resistance
from ..noise.laws import DiscreteGaussian
from ..noise.sources import Source
from ..privacy.allowance import Law, rho_of
from ..privacy.lattice import integer_noise, least_deviation
from ..privacy.losses import ShiftedNoise
from ..summaries.grid import MOST_CELLS
from .base import Mechanism, Work

__all__ = ["Dyadic"]

Sensitivity = Literal["exact", "paper"]

# A factor that covers the rounding of the largest resistance.
_MARGIN: Final = Fraction(2**30 + 1, 2**30)
_LESS: Final = 1.0 - 2.0**-29  # a factor below 1, because laws are rounded up


@documented
@dataclass(frozen=True, slots=True)
class Dyadic(Mechanism):
    """Every cumulative count gets the noise of the tree nodes that cover its threshold.

    Barczewski, Mawass & Ramon, *Differentially private empirical cumulative distribution
    functions*, Eq. 2 and Theorem 1, with discrete noise, for any number of cells and any base.

    Parameters
    ----------
    epsilon
        For pure differential privacy, by discrete Laplace noise: a positive number (a Fraction is
        taken exactly). Neighbours: one record is replaced, and the number of records is public.
    base
        The number of children of a tree node, 2 or more.
    sensitivity
        "exact": computed for this size and base, as a distance in the dyadic graph, which is the
        exact sensitivity. For Gaussian noise it is a bound from an effective resistance
        (docs/proofs/dyadic.md). "paper": the bound L + 1 of Theorem 1, to reproduce the figures of
        the paper. It is for epsilon and base 2 only, because for larger bases it is *below* the
        true sensitivity.
    rho
        {rho}
    delta
        {delta}

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> from dpcore.mechanisms import Dyadic
    >>> Dyadic(epsilon=1.0).noise_scale(2**15)
    Fraction(15, 1)
    >>> Dyadic(epsilon=1.0, sensitivity="paper").noise_scale(2**15)
    Fraction(16, 1)
    """

    name: ClassVar[str] = "dyadic"
    is_additive: ClassVar[bool] = True

    epsilon: float | Fraction | None = None
    base: int = 2
    sensitivity: Sensitivity = "exact"
    _: KW_ONLY
    rho: float | Fraction | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        self._budget()
        object.__setattr__(self, "base", _check.integer("base", self.base, 2, MOST_CELLS))
        _check.choice("sensitivity", self.sensitivity, Sensitivity)
        if self.sensitivity == "paper" and self.base != 2:
            raise ParameterError("base", self.base, 'must be 2 with sensitivity="paper"')
        if self.sensitivity == "paper" and self._is_gaussian:
            raise ParameterError("sensitivity", "paper", "must be 'exact' for Gaussian noise")

    @property
    def _is_gaussian(self) -> bool:
        return self._budget().rho is not None

    def noise_scale(self, size: int) -> Fraction:
        """Return the scale of each node's discrete Laplace noise, in counts; 0 for one cell.

        It is the sensitivity divided by epsilon, rounded up to 31 significant bits, so the cost
        never exceeds epsilon. The sensitivity takes O(base log size) once.

        Raises
        ------
        DtypeError, ParameterError
            size is not within [1, 2^24], the scale would exceed 2^40, or the noise is Gaussian.

        Examples
        --------
        >>> from dpcore.mechanisms import Dyadic
        >>> Dyadic(epsilon=0.5).noise_scale(1024)
        Fraction(20, 1)
        >>> Dyadic(epsilon=0.5, base=4).noise_scale(1024)
        Fraction(28, 1)
        """
        law, _ = self.noise(size)
        if isinstance(law, DiscreteGaussian):
            raise ParameterError("mechanism", self, "must have Laplace noise to have a scale")
        return law.scale if law else Fraction(0)

    def noise(self, size: int) -> tuple[Law | None, int]:
        """Return each node's noise and the number of its units in a count; None for one cell.

        The unit is 1 count for Laplace noise. For Gaussian noise it is a small fraction of a
        count, so that integers can follow the electrical flow (docs/proofs/dyadic.md, section 6).

        Examples
        --------
        >>> from dpcore.mechanisms import Dyadic
        >>> Dyadic(epsilon=1.0).noise(1024)
        (DiscreteLaplace(scale=Fraction(10, 1)), 1)
        >>> law, unit = Dyadic(rho=0.5).noise(1024)
        >>> round(law.variance**0.5 / unit, 2)  # in counts
        1.75
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        if size == 1:
            return None, 1
        base = min(self.base, size)
        if self._is_gaussian:
            unit, squares = _gaussian_change(size - 1, base)
            nodes = int(kernels.node_count(size - 1, base))
            return integer_noise(self._budget(), squares, nodes), unit
        if self.sensitivity == "paper":
            return self._budget().law((size - 1).bit_length() + 1), 1
        return self._budget().law(_graph_diameter(size - 1, base)), 1

    def levels(self, size: int) -> int:
        """Return the number of noise terms in each cumulative count except the last.

        Examples
        --------
        >>> from dpcore.mechanisms import Dyadic
        >>> Dyadic(epsilon=1.0).levels(1024), Dyadic(epsilon=1.0, base=4).levels(1024)
        (11, 6)
        """
        thresholds = _check.integer("size", size, 1, MOST_CELLS) - 1
        count = 0
        while thresholds > 0:
            count += 1
            thresholds = -(-thresholds // self.base) if thresholds > 1 else 0
        return count

    def variance(self, size: int) -> float:
        """Return the variance of every noisy cumulative count (all but the last), in counts^2.

        Examples
        --------
        >>> from dpcore.mechanisms import Dyadic
        >>> [round(Dyadic(epsilon=1.0, base=base).variance(1024)) for base in (2, 4, 16)]
        [2198, 2351, 8191]
        """
        law, unit = self.noise(size)
        return self.levels(size) * law.variance / unit**2 if law else 0.0

    def least_variance(self, size: int) -> float:
        """Return a lower bound of ``variance``, in counts^2, without a walk through the tree.

        For base 2 it uses a lower bound of the sensitivity (docs/proofs/dyadic.md, section 5). For
        other bases it is 0.

        Examples
        --------
        >>> from dpcore.mechanisms import Dyadic
        >>> mechanism = Dyadic(epsilon=1.0)
        >>> round(mechanism.least_variance(1024)), round(mechanism.variance(1024))
        (1780, 2198)
        """
        thresholds = _check.integer("size", size, 1, MOST_CELLS) - 1
        if self.base != 2 or thresholds < 4:
            return 0.0
        # The height of the largest node that is certainly full.
        height = thresholds.bit_length() - 1
        levels, budget = self.levels(size), self._budget()
        if self._is_gaussian:
            least = least_deviation(budget)  # its product may be infinite, and a power may not
            return levels * (1.0 + 0.4 * ((height - 2) // 2)) * _LESS * least * least
        return levels * budget.law(height).variance * _LESS

    def least_mean_squared_error(self, size: int) -> float:
        """Return a lower bound of ``mean_squared_error``, in counts^2, from ``least_variance``.

        Examples
        --------
        >>> from dpcore.mechanisms import Dyadic
        >>> tree = Dyadic(rho=0.5)
        >>> round(tree.least_mean_squared_error(1024)), round(tree.mean_squared_error(1024))
        (24, 34)
        """
        return self.least_variance(size) * (size - 1) / size

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,).

        Examples
        --------
        >>> from dpcore.mechanisms import Dyadic
        >>> Dyadic(epsilon=1.0).noise_deviation(5).round(2)
        array([4.85, 4.85, 4.85, 4.85, 0.  ])
        """
        errors = np.full(size, self.variance(size) ** 0.5)
        errors[-1] = 0.0
        return errors

    def _rho(self, size: int) -> Fraction:
        """Return the rho of a shortest path's flow, or of an electrical one."""
        law, _ = self.noise(size)
        if law is None:
            return Fraction(0)
        base = min(self.base, size)
        if self._is_gaussian:
            return rho_of(law, _gaussian_change(size - 1, base)[1])
        return rho_of(law, _graph_diameter(size - 1, base))

    def _noise_shifts(self, size: int) -> tuple[ShiftedNoise, ...] | None:
        """Return the noise on a shortest path; an electrical flow has no whole shifts."""
        law, _ = self.noise(size)
        if law is None or self._is_gaussian:
            return None if law else ()
        return (ShiftedNoise(law, 1, _graph_diameter(size - 1, min(self.base, size))),)

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        law, unit = self.noise(exact.size)
        nodes = kernels.node_count(exact.size - 1, self.base) if law else 1

        def add_noise(counts: NDArray[np.int64], out: NDArray[np.int64], stream: Source) -> None:
            out[:] = unit * np.cumsum(counts, axis=-1)
            if law:
                draws = np.empty((out.shape[0], nodes), np.int64)
                law.fill(draws.reshape(-1), stream)
                kernels.add_ancestors(draws, self.base, out[:, :-1])

        def fill(counts: NDArray[np.int64], out: NDArray[np.float64], stream: Source) -> None:
            units = np.empty(out.shape, np.int64)
            add_noise(counts, units, stream)
            np.divide(units, unit, out=out)

        if self._is_gaussian:
            return Work(partial(fill, exact), nodes, np.float64, fill)
        return Work(partial(add_noise, exact), nodes, np.int64, add_noise)


@lru_cache(maxsize=256)
def _graph_diameter(thresholds: int, base: int) -> int:
    return int(kernels.diameter(thresholds, base))  # the interpreted kernel returns a NumPy integer


@lru_cache(maxsize=256)
def _gaussian_change(thresholds: int, base: int) -> tuple[int, Fraction]:
    """Return the units in a count, and the largest sum of squares by which a record shifts noise.

    With K units in a count, an integral flow of value K costs at most K^2 times the effective
    resistance plus a quarter for each node (docs/proofs/dyadic.md, section 6). K is chosen so that
    the quarters are less than 2^-12 of the first term.
    """
    resistance = Fraction(largest_resistance(thresholds, base)) * _MARGIN
    nodes = int(kernels.node_count(thresholds, base))
    unit = 1 << math.ceil(math.log2(2**10 * nodes / resistance) / 2)
    return unit, unit**2 * resistance + Fraction(nodes, 4)
