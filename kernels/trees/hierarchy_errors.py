"""The errors of least-squares cumulative counts from a hierarchy, in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from .hierarchy import weights

_ROUNDS = 200  # the limit for rounds of reweighting; a few dozen are enough
_GAIN = 1e-9  # another round follows if the relative gain is larger
_LEAST = 1e-5  # levels with a smaller share are left out, because they would hardly be used


@kernel
def prefix_variances(
    branching: NDArray[np.int64], starts: NDArray[np.int64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the variance of every cumulative count of ``cumulative_estimates``, (N,). O(nodes).

    Invariant: ``before``, ``own`` and ``both`` are, for each node of a level, the variance of the
    count of all cells before the node, the variance of its own count, and their covariance. On the
    way down, the error of an estimate is a fixed share of the parent's error, plus a contrast
    between siblings that is uncorrelated with everything outside of the parent.
    """
    _, below, sums = weights(branching, starts, variances)
    levels = starts.size - 1
    before, both, own = np.empty(1), np.empty(1), np.empty(1)
    before[0], both[0], own[0] = 0.0, 0.0, below[0, 1]
    for level in range(levels - 1):
        nodes = starts[level + 1] - starts[level]
        size = starts[level + 2] - starts[level + 1]
        next_before, next_both, next_own = np.empty(size), np.empty(size), np.empty(size)
        child = 0
        for node in range(nodes):
            whole = sums[level, 1 if node == nodes - 1 else 0]
            passed = 0.0  # the sum of the variances of the previous children
            for _ in range(min(branching[level], size - child)):
                v = below[level + 1, 1 if child == size - 1 else 0]
                share, part = v / whole, passed / whole
                next_before[child] = (
                    before[node]
                    + 2.0 * part * both[node]
                    + part * part * own[node]
                    + passed * (1.0 - part)
                )
                next_both[child] = share * (both[node] + part * own[node]) - passed * share
                next_own[child] = share * share * own[node] + v * (1.0 - share)
                passed += v
                child += 1
        before, both, own = next_before, next_both, next_own
    for cell in range(before.size):  # adds the cell to the prefix that ends before it
        before[cell] += 2.0 * both[cell] + own[cell]
    return before


@kernel
def level_shares(
    branching: NDArray[np.int64], variances: NDArray[np.float64], out: NDArray[np.float64]
) -> float:
    """Split the mean squared error of a cumulative count by levels, and return it.

    The tree is full and has these branchings. ``out[l]`` is the factor of level l's variance, and
    the error is the sum of factor times variance.

    Notes
    -----
    This is the recursion of ``prefix_variances``, averaged over siblings, for the noise of one
    level at a time, with the weights that are best for all levels. ``mean`` and ``square`` are the
    averages of j / b and (j / b)^2 over the siblings j = 0, ..., b - 1.
    """
    levels = variances.size
    own = np.empty(levels)
    own[levels - 1] = 1.0
    below = variances[levels - 1]
    for level in range(levels - 2, -1, -1):
        below *= branching[level]
        own[level] = 0.0
        if variances[level] < np.inf:
            own[level] = below / (below + variances[level])
            below = own[level] * variances[level]
    error = 0.0
    spread = np.empty(levels)
    for source in range(levels):
        for level in range(levels - 1, -1, -1):  # the estimate from the nodes at or below a node
            spread[level] = own[level] ** 2 if level == source else 0.0
            if level < levels - 1:
                spread[level] += (1.0 - own[level]) ** 2 * branching[level] * spread[level + 1]
        before, both, alone = 0.0, 0.0, spread[0]
        for level in range(levels - 1):
            b = float(branching[level])
            mean, square = (b - 1.0) / (2.0 * b), (b - 1.0) * (2.0 * b - 1.0) / (6.0 * b * b)
            v = spread[level + 1]
            before += 2.0 * mean * both + square * alone + b * v * (mean - square)
            both = (both + mean * alone) / b - mean * v
            alone = alone / (b * b) + v * (1.0 - 1.0 / b)
        out[source] = before
        if before > 0.0:
            error += before * variances[source]
    return error


@kernel
def best_shares(
    branching: NDArray[np.int64],
    power: float,
    known_root: bool,
    units: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> float:
    """Split a budget of 1 over the levels with the least mean squared error; return that error.

    Parameters
    ----------
    branching
        (levels - 1,) the branchings of a full tree.
    power
        The variance of a level with the share s is its unit times s^-power.
    known_root
        Whether the root needs no share and has no noise.
    units
        (levels,) the variance of each level with the whole budget, above 0.
    shares
        (levels,) the result; 0 for a level that is better left out.

    Notes
    -----
    The least error is a concave function of the variances (a minimum of linear functions, over the
    weights), so it is below its tangent. The shares that minimise the tangent are proportional to
    slope^(1 / (power + 1)). Invariant: the error never increases, except by leaving out a level.
    """
    levels = shares.size
    first = 1 if known_root else 0
    variances, slopes = np.empty(levels), np.empty(levels)
    for level in range(levels):
        variances[level] = 0.0
        shares[level] = 1.0 / (levels - first) if level >= first else 0.0
    least = np.inf
    for _ in range(_ROUNDS):
        for level in range(first, levels):
            variances[level] = np.inf
            if shares[level] > 0.0:
                variances[level] = units[level] * shares[level] ** -power
        error = level_shares(branching, variances, slopes)
        if not error < least * (1.0 - _GAIN):
            return min(error, least)
        least = error
        total = 0.0
        for level in range(first, levels):
            shares[level] = (units[level] * slopes[level]) ** (1.0 / (power + 1.0))
            total += shares[level]
        kept = 0.0
        for level in range(first, levels):
            if shares[level] < _LEAST * total:
                shares[level] = 0.0
            kept += shares[level]
        for level in range(first, levels):
            shares[level] /= kept
    return least
