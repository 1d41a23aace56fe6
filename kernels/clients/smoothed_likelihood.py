"""Where reports of a square wave came from: maximum likelihood with smoothing (EMS)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel


@inner
def _explain(
    totals: NDArray[np.float64],
    near: int,
    p: float,
    q: float,
    shares: NDArray[np.float64],
    below: NDArray[np.float64],
    ratios: NDArray[np.float64],
) -> None:
    """Set running sums of shares, and of totals over what the shares explain of them.

    Output j is near the cells from j - near + 1 to j. Sums of what is not negative do not fall,
    so no difference of two of them is negative, and what an output is expected to have is above 0.
    """
    for i in range(shares.size):
        below[i + 1] = below[i] + shares[i]
    everywhere = q * below[shares.size]
    for j in range(totals.size):
        first, last = max(0, j + 1 - near), min(shares.size, j + 1)
        expected = everywhere + (p - q) * (below[last] - below[first])
        ratios[j + 1] = ratios[j] + totals[j] / expected


@kernel
def reconstruct(
    totals: NDArray[np.float64],
    near: int,
    p: float,
    q: float,
    smoothing: float,
    tolerance: float,
    most: int,
    shares: NDArray[np.float64],
) -> int:
    """Take steps of expectation-maximisation, and smooth after each, until they are small.

    Parameters
    ----------
    totals
        (D,) how many reports there are of each output, some of them not 0.
    near
        L, how many outputs are near a cell, D = N + L - 1: those from its own number on.
    p, q
        The probability of an output that is near, and of one that is not, above 0.
    smoothing
        Between 0 and 1: how much of a share is replaced by the mean of its neighbours and itself,
        in the proportions 1, 2, 1.
    tolerance
        The sum of absolute changes of a step, of shares that add up to 1, that ends the steps.
    most
        How many steps there may be.
    shares
        (N,) where to begin, above 0; the result, which adds up to 1.

    Returns
    -------
    int
        How many steps were taken.

    Notes
    -----
    Li et al. 2020, section 5.2. The matrix of probabilities is q, and p - q more on a band of
    ones, so a product with it, or with its transpose, is a difference of running sums: O(N + D) a
    step, and as much memory. Beyond the ends the neighbour is the end cell itself, so smoothing
    moves shares and makes none. Invariant: shares are not negative, and add up to 1.
    """
    size = shares.size
    below, ratios, fitted = np.empty(size + 1), np.empty(totals.size + 1), np.empty(size)
    below[0] = ratios[0] = 0.0
    for step in range(1, most + 1):
        _explain(totals, near, p, q, shares, below, ratios)
        whole, everywhere = 0.0, q * ratios[totals.size]
        for i in range(size):
            fitted[i] = shares[i] * (everywhere + (p - q) * (ratios[i + near] - ratios[i]))
            whole += fitted[i]
        change = 0.0
        for i in range(size):
            around = fitted[max(0, i - 1)] + fitted[min(size - 1, i + 1)]
            smooth = (fitted[i] + smoothing * (0.25 * around - 0.5 * fitted[i])) / whole
            change += abs(smooth - shares[i])
            shares[i] = smooth
        if change <= tolerance:
            return step
    return most
