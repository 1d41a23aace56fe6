"""Which shares of clients explain the reports of a square wave: likelihood, and how smooth."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.clients import smoothed_likelihood

__all__ = ["Wave"]

_FULLY_SMOOTHED: Final = 2**10  # cells, for which the paper smooths
_SMOOTHINGS: Final = (1.0, 2.0**-4, 2.0**-8, 0.0)  # of the paper's: a width of 1, 1/4, 1/16, 0
_MOST_STEPS: Final = 10_000
_LEAST: Final = 2.0**-53


class Wave(NamedTuple):
    """The law of a report: L outputs have probability p each, and all others q.

    Parameters
    ----------
    size
        N, how many cells there are.
    near
        L: of cell i the outputs i to i + L - 1 are near.
    p, q
        The probabilities, p > q > 0.
    """

    size: int
    near: int
    p: float
    q: float

    def best_fit(self, totals: NDArray[np.int64], tolerance: float) -> NDArray[np.float64]:
        """Return the shares that Akaike's criterion takes, among several smoothings.

        From the smoothest on, for as long as twice the gain in log-likelihood exceeds twice the
        parameters that it takes. Each fit starts from the one before.
        """
        found = np.full(self.size, 1.0 / self.size)
        best, least = found, np.inf
        for smoothing in _SMOOTHINGS:
            found = self.fit(totals, smoothing, tolerance, found)
            criterion = 2.0 * (self.parameters(smoothing) - self.log_likelihood(totals, found))
            if criterion >= least:
                break
            best, least = found, criterion
        return best

    def fit(
        self,
        totals: NDArray[np.int64],
        smoothing: float,
        tolerance: float,
        start: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Return the shares of maximum likelihood, smoothed after each step, (N,)."""
        shares = np.full(self.size, 1.0 / self.size) if start is None else start.copy()
        smoothed_likelihood.reconstruct(
            totals.astype(np.float64),
            self.near,
            self.p,
            self.q,
            self._weight(smoothing),
            tolerance,
            _MOST_STEPS,
            shares,
        )
        return shares

    def log_likelihood(self, totals: NDArray[np.int64], shares: NDArray[np.float64]) -> float:
        """Return that of shares, but for a constant."""
        below, ends = np.append(0.0, np.cumsum(shares)), np.arange(1, totals.size + 1)
        near = below[np.minimum(ends, self.size)] - below[np.maximum(ends - self.near, 0)]
        return float(np.sum(totals * np.log(self.q * below[-1] + (self.p - self.q) * near)))

    def parameters(self, smoothing: float) -> float:
        """Return about how many parameters a smoothed fit has in effect, for a uniform column.

        Near it, a step takes the share j of what is left in a cosine of k half-waves, and smoothing
        leaves the share s: the fit has the share h of what would fit best. The sum of all h, but
        for the ends of the grid (docs/square-wave.md, section 3).
        """
        half = np.pi * np.arange(1, self.size) / (2 * self.size)
        together = np.sin(self.near * half) / np.sin(half)
        step = (self.p - self.q) ** 2 * together**2 / (1.0 - self.q * (self.near - 1))
        left = 1.0 - self._weight(smoothing) * np.sin(half) ** 2
        gone = np.clip(1.0 - left + left * step, _LEAST, 1.0 - _LEAST)
        taken = -np.expm1(_MOST_STEPS * np.log1p(-gone)) / gone  # of step, by all steps together
        return float(np.sum(left * step * taken))

    def _weight(self, smoothing: float) -> float:
        """Return the weight of a step's smoothing: over all cells it is as wide for any N."""
        return smoothing * min(1.0, (self.size / _FULLY_SMOOTHED) ** 2)
