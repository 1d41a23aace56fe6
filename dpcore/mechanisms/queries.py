"""Histogram queries: noise on the counts of a few wide bins, and a curve through their ends."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..kernels.selection import adaptive as kernels
from ..noise.sources import Source
from ..privacy.allowance import Allowance, Law, rho_of
from ..privacy.lattice import lattice_noise
from ..privacy.losses import ShiftedNoise
from ..summaries.grid import MOST_CELLS
from .base import Mechanism, Work

__all__ = ["Between", "HistogramQueries"]

Between = Literal["step", "linear"]

THROUGH: Final = {"step": kernels.steps_through, "linear": kernels.lines_through}
CELLS_PER_DRAW: Final = 32  # writing 32 cells of a curve takes about as long as a draw
_MOST_BITS: Final = 16  # 2^46 records in units of 2^-16 stay inside 64 bits


@documented
@dataclass(frozen=True, slots=True)
class HistogramQueries(Mechanism):
    """Noisy counts of the records in a few bins, added up to cumulative counts.

    Tao & Sarwate, *Differentially Private Distribution Estimation Using Functional Approximation*
    (the projection paper), compare polynomial projection with this classic mechanism. There is one
    change: n is public here, and the difference between n and the sum of the noisy counts is spread
    evenly over the bins, which is least squares. Neighbours: one record is replaced.

    Parameters
    ----------
    epsilon
        {epsilon}
    bins
        The number of runs into which the N cells are cut. The i-th run ends after floor(i N / bins)
        cells. With fewer cells than bins each cell is a bin.
    rho
        {rho}
    delta
        Beside epsilon: for (epsilon, delta)-differential privacy, by the analytic Gaussian
        mechanism (Balle & Wang 2018) on a fine lattice.
    between
        The curve between the ends of bins. "step": it is constant, as in the projection paper.
        "linear": it is a straight line, as if the records of a bin were evenly spread.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    docs/proofs/projection.md, section 5, has the proofs. A release takes O(bins) draws and O(N)
    additions. It is linear in the counts except for the public n, so curves of disjoint records add
    up.

    Examples
    --------
    >>> from dpcore.mechanisms.queries import HistogramQueries
    >>> HistogramQueries(epsilon=1.0, bins=4).ends(10)
    array([ 2,  5,  7, 10])
    """

    name: ClassVar[str] = "histogram-queries"

    epsilon: float | Fraction | None = None
    bins: int = 30
    _: KW_ONLY
    rho: float | Fraction | None = None
    delta: float | None = None
    between: Between = "step"

    def __post_init__(self) -> None:
        self._budget()
        bins = _check.integer("bins", self.bins, 1, MOST_CELLS)
        object.__setattr__(self, "bins", bins)
        _check.choice("between", self.between, Between)

    def ends(self, size: int) -> NDArray[np.int64]:
        """Return the number of cells before the end of each bin, (bins,), for ``size`` cells.

        Examples
        --------
        >>> from dpcore.mechanisms import HistogramQueries
        >>> HistogramQueries(epsilon=1.0, bins=3).ends(1024)
        array([ 341,  682, 1024])
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        bins = min(self.bins, size)
        return np.arange(1, bins + 1) * size // bins

    def noise(self, size: int) -> tuple[Law | None, int]:
        """Return the noise of each bin's count, and bits: its unit is 2^-bits counts. Cached.

        If there is one bin, it holds all records and has no noise.

        Raises
        ------
        DtypeError, ParameterError
            size is not within [1, 2^24], or the budget is too small.

        Examples
        --------
        >>> from dpcore.mechanisms import HistogramQueries
        >>> HistogramQueries(epsilon=1.0).noise(1024)
        (DiscreteLaplace(scale=Fraction(2, 1)), 0)
        """
        return _noise(self, _check.integer("size", size, 1, MOST_CELLS))

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,).

        It is infinite inside the bins, because the places of the records in a bin are not known. At
        the ends of bins noise is the only error.

        Examples
        --------
        >>> from dpcore.mechanisms import HistogramQueries
        >>> HistogramQueries(epsilon=1.0, bins=3).noise_deviation(6).round(2)
        array([ inf, 2.29,  inf, 2.29,  inf, 0.  ])
        """
        ends = self.ends(size)
        before = np.arange(1, ends.size + 1)  # bins
        deviations = np.full(size, np.inf)
        variances = before * (ends.size - before) / ends.size * variance_of(*self.noise(size))
        deviations[ends - 1] = np.sqrt(variances)
        return deviations

    def _noisy_counts(
        self, exact: NDArray[np.int64], rows: int, stream: Source
    ) -> NDArray[np.int64]:
        """Return noisy counts of the bins, (rows, bins), from the cells' counts, in its unit."""
        law, bits = self.noise(exact.size)
        starts = np.append(0, self.ends(exact.size)[:-1])
        noisy = np.zeros((rows, starts.size), np.int64)
        if law:
            law.fill(noisy.reshape(-1), stream)
        noisy += in_units(np.add.reduceat(exact, starts), bits)
        return noisy

    def _rho(self, size: int) -> Fraction:
        bins = min(self.bins, size)
        return rho_of_counts(self._budget(), 2, bins) if bins > 1 else Fraction(0)

    def _noise_shifts(self, size: int) -> tuple[ShiftedNoise, ...]:
        return shifts_of(*self.noise(size), 2)

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        n, ends = int(exact.sum()), np.append(0, self.ends(exact.size))
        unit = 2.0 ** -self.noise(exact.size)[1]
        shares = np.arange(ends.size) / (ends.size - 1)

        def fill(out: NDArray[np.float64], stream: Source) -> None:
            known = np.zeros((out.shape[0], ends.size))
            noisy = self._noisy_counts(exact, out.shape[0], stream)
            known[:, 1:] = np.cumsum(noisy, axis=1) * unit
            known += shares * (n - known[:, -1:])
            known[:, -1] = n  # up to rounding, it is n already
            THROUGH[self.between](np.tile(ends, (out.shape[0], 1)), known, out)

        return Work(fill, ends.size + exact.size // CELLS_PER_DRAW, np.float64)


@lru_cache(maxsize=64)
def _noise(mechanism: HistogramQueries, size: int) -> tuple[Law | None, int]:
    bins = min(mechanism.bins, size)
    return noise_of(mechanism._budget(), 2, bins) if bins > 1 else (None, 0)


def noise_of(budget: Allowance, changes: int, questions: int) -> tuple[Law, int]:
    """Return the noise of counts, which may be chosen adaptively, and the bits of its unit.

    At most ``changes`` of the counts differ between neighbours, by one each. For rho the counts
    need no finer lattice than the integers.
    """
    if budget.stated is None:
        return budget.law(changes), 0
    noise = lattice_noise(budget, math.sqrt(changes), questions, _MOST_BITS, are_whole=True)
    return noise.law, noise.bits


def rho_of_counts(budget: Allowance, changes: int, questions: int) -> Fraction:
    """Return the rho of the noise of ``noise_of``."""
    if budget.stated is None:
        return rho_of(budget.law(changes), changes)
    return lattice_noise(budget, math.sqrt(changes), questions, _MOST_BITS, are_whole=True).rho


def shifts_of(law: Law | None, bits: int, changes: int) -> tuple[ShiftedNoise, ...]:
    """Return the noise of so many counts that change by one each, in units of 2^-bits counts.

    Where the unit is larger than a count, rounding down changes by one unit or by none.
    """
    return (ShiftedNoise(law, 1 << max(bits, 0), changes),) if law and changes else ()


def variance_of(law: Law | None, bits: int) -> float:
    """Return the variance of noise in units of 2^-bits counts, in counts^2."""
    return law.variance * 4.0**-bits if law else 0.0


def in_units(counts: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return counts in units of 2^-bits, rounded down if ``bits`` is negative."""
    if bits == 0:
        return counts
    return counts << bits if bits > 0 else counts >> -bits
