"""The distribution behind reports of a square wave: maximum likelihood with smoothing (EMS)."""

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
    """Set running sums of shares, and of totals divided by the expected share of each output.

    Output j is near the cells from j - near + 1 to j. Running sums of numbers that are not negative
    do not fall. So no difference of two of them is negative, and the expected share of an output is
    above 0.
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
    """Take steps of expectation-maximisation, and smooth after each, until steps are small.

    Parameters
    ----------
    totals
        (D,) how many reports there are of each output; not all of them are 0.
    near
        L, the number of outputs near a cell, D = N + L - 1: the outputs from the cell's number on.
    p, q
        The probabilities, above 0, of a near output and of any other one.
    smoothing
        Between 0 and 1: how much of a share is replaced by the weighted mean of its neighbours and
        itself, with the weights 1, 2, 1.
    tolerance
        The steps end when the absolute changes of a step have at most this sum. The shares add up
        to 1.
    most
        The most steps.
    shares
        (N,) where to begin, above 0; overwritten by the result, which adds up to 1.

    Returns
    -------
    int
        The number of steps that were taken.

    Notes
    -----
    Li et al. 2020, section 5.2. The matrix of probabilities is q everywhere, plus p - q on a band.
    So a product with it, or with its transpose, is a difference of running sums: O(N + D) a step,
    and as much memory. Beyond the ends the neighbour is the end cell itself, so smoothing moves
    shares and does not create any. Invariant: shares are not negative, and add up to 1.
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
