"""The statistics of tests: how far distribution functions are apart at the thresholds of a grid."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..summaries.grid import Grid, check_grid_of_numbers

__all__ = ["Distance", "Statistic", "largest_gaps", "share_beyond"]

Statistic = Literal["kolmogorov-smirnov", "kuiper", "cramer-von-mises", "wasserstein"]

# Numbers with a smaller relative difference count as equal, because rounding may cause it.
_TIE: Final = 1e-9


class Distance(NamedTuple):
    """One of the four statistics, of differences of distribution functions on one grid.

    Parameters
    ----------
    statistic
        Which one.
    weights
        (N,) the share of the null hypothesis's population in each cell.
    widths
        (N,) how far the next threshold is from each; 0 for the last one.
    size
        The factor of the Cramer-von Mises statistic: n, or n m / (n + m) of two samples.
    """

    statistic: Statistic
    weights: NDArray[np.float64]
    widths: NDArray[np.float64]
    size: float

    @classmethod
    def on(
        cls, argument: str, grid: Grid, statistic: Statistic, weights: NDArray[np.float64], *n: int
    ) -> Distance:
        """Return the statistic of curves, given as ``argument``, of so many records each."""
        widths = np.zeros(grid.size)
        if statistic == "wasserstein":
            check_grid_of_numbers(argument, grid)
            with np.errstate(over="ignore"):
                gaps = np.diff(grid.thresholds.astype(np.float64))
            widths[:-1] = np.minimum(gaps, np.finfo(np.float64).max)
        return cls(statistic, weights, widths, 1.0 / sum(1.0 / each for each in n))

    def __call__(self, differences: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the statistic of each row of differences, (R, N) to (R,)."""
        if self.statistic == "kolmogorov-smirnov":
            return np.asarray(np.abs(differences).max(axis=1))
        if self.statistic == "kuiper":  # before the first threshold, both functions are 0
            highest, lowest = (
                differences.max(axis=1, initial=0.0),
                differences.min(axis=1, initial=0.0),
            )
            return np.asarray(highest - lowest)
        if self.statistic == "cramer-von-mises":
            return np.asarray(self.size * (differences**2 @ self.weights))
        with np.errstate(
            over="ignore"
        ):  # raw counts may have any size, so an area may be too large
            return np.asarray(np.abs(differences) @ self.widths)


def largest_gaps(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Kolmogorov-Smirnov statistics of curves of these counts, (R, N) each, (R,)."""
    return np.asarray(np.abs(shares(first) - shares(second)).max(axis=1))


def shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distribution functions of cumulative counts, (R, N)."""
    return np.asarray(counts / counts[:, -1:])


def share_beyond(
    simulated: NDArray[np.float64], observed: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Return the share of values, of R simulated ones and the observed one, that reach the latter.

    ``simulated`` is (R, ...).
    """
    as_large = simulated >= np.asarray(observed) * (1.0 - _TIE)
    return np.asarray((1.0 + np.count_nonzero(as_large, axis=0)) / (1.0 + len(simulated)))
