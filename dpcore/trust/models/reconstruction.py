"""The shares of clients that explain the reports of a square wave: likelihood and smoothing."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.clients import smoothed_likelihood

__all__ = ["Wave"]

_FULLY_SMOOTHED: Final = 2**10  # the number of cells for which the paper smooths
# Parts of the paper's smoothing: widths 1, 1/4, 1/16, 0.
_SMOOTHINGS: Final = (1.0, 2.0**-4, 2.0**-8, 0.0)
_MOST_STEPS: Final = 10_000
_LEAST: Final = 2.0**-53


class Wave(NamedTuple):
    """The distribution of a report: L outputs have probability p each, and all others q each.

    Parameters
    ----------
    size
        N, the number of cells.
    near
        L: the outputs i to i + L - 1 are near cell i.
    p, q
        The probabilities, p > q > 0.
    """

    size: int
    near: int
    p: float
    q: float

    def best_fit(self, totals: NDArray[np.int64], tolerance: float) -> NDArray[np.float64]:
        """Return the shares for which Akaike's criterion is least, among several smoothings.

        The search goes from the smoothest on, as long as the gain in log-likelihood exceeds the
        number of further parameters. Each fit starts from the one before.
        """
        shares = np.full(self.size, 1.0 / self.size)
        best, least = shares, np.inf
        for smoothing in _SMOOTHINGS:
            shares = self.fit(totals, smoothing, tolerance, shares)
            criterion = 2.0 * (self.parameters(smoothing) - self.log_likelihood(totals, shares))
            if criterion >= least:
                break
            best, least = shares, criterion
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
        """Return the log-likelihood of shares, up to a constant."""
        below, ends = np.append(0.0, np.cumsum(shares)), np.arange(1, totals.size + 1)
        near = below[np.minimum(ends, self.size)] - below[np.maximum(ends - self.near, 0)]
        return float(np.sum(totals * np.log(self.q * below[-1] + (self.p - self.q) * near)))

    def parameters(self, smoothing: float) -> float:
        """Return the approximate effective number of parameters of a fit, for a uniform column.

        Consider a deviation from the uniform column that is a cosine of k half-waves. A step takes
        the share j of the remaining deviation, and smoothing leaves the share s. So the fit has a
        share h of the best fit. The result is the sum of all h, without the contribution of the
        ends of the grid (docs/proofs/local.md, section 5).
        """
        half = np.pi * np.arange(1, self.size) / (2 * self.size)
        together = np.sin(self.near * half) / np.sin(half)
        step = (self.p - self.q) ** 2 * together**2 / (1.0 - self.q * (self.near - 1))
        left = 1.0 - self._weight(smoothing) * np.sin(half) ** 2
        gone = np.clip(1.0 - left + left * step, _LEAST, 1.0 - _LEAST)
        # The part of ``step`` that all steps take together.
        taken = -np.expm1(_MOST_STEPS * np.log1p(-gone)) / gone
        return float(np.sum(left * step * taken))

    def _weight(self, smoothing: float) -> float:
        """Return the weight of a step's smoothing, so that its width on the grid is the same."""
        return smoothing * min(1.0, (self.size / _FULLY_SMOOTHED) ** 2)
