"""The error of local reports for a given distribution of records.

worst_records.py defines the sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from .hierarchy import weights
from .prefix_weights import coefficients, level_sums, noise_variance, path


@kernel
def record_variances(
    branching: NDArray[np.int64],
    starts: NDArray[np.int64],
    variances: NDArray[np.float64],
    reports: NDArray[np.float64],
    factor: float,
    below: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Set the variance of each cumulative count for given records, over M.

    Parameters
    ----------
    branching, starts, variances, reports, factor
        As in ``worst_records.worst_variances``.
    below
        (N + 1,) the share of the records below each cell, from 0 to 1, not falling.
    out
        (N,) the result; 0 for the last count, which is known.

    Notes
    -----
    Cells that leave the path to the threshold's cell on one level, on one side, have the same y,
    except those in the last nodes of their levels, which may have fewer children. A threshold takes
    O(levels). Invariant: ``square`` is |y|_o^2 + k |y|^2 of the path above the level. ``full``
    is the mean weight below full nodes that have left the path. ``last`` is the weight of the last
    node, with the share ``apart`` of the records, if it has left the path. ``length`` is |E y|^2 so
    far.
    """
    own, under, sums = weights(branching, starts, variances)
    levels = starts.size - 1
    widths, squares = np.empty(levels, np.int64), np.empty(levels + 1)
    shares, own_bits = reports[:, 0], reports[:, 2]
    counted = (own_bits + factor) / shares
    sums_of, squares_of, means = np.zeros(levels), np.zeros(levels), np.zeros(levels)
    widths[levels - 1], squares[levels] = 1, 0.0
    for level in range(levels - 2, -1, -1):
        widths[level] = widths[level + 1] * branching[level]
    for level in range(levels - 1, 0, -1):
        rest = (1.0 - own[level, 0]) ** 2 * squares[level + 1]
        squares[level] = own[level, 0] ** 2 * counted[level] + rest
    kinds, sides = np.empty(levels, np.int64), np.empty(levels, np.int64)
    passed, on_path, beside = np.empty(levels), np.empty(levels), np.empty(levels)
    for k in range(out.size - 1):
        path(k, branching, starts, under, sums, kinds, sides, passed)
        coefficients(own, kinds, passed, on_path, beside)
        level_sums(k, branching, starts, own, kinds, on_path, beside, sums_of, squares_of)
        noise = noise_variance(starts, reports, sums_of, squares_of, means)
        square = length = full = total = last = apart = 0.0
        low, high = below[0], below[out.size]
        for level in range(1, levels):
            first = (k // widths[level]) * widths[level]
            next_low, next_high = below[first], below[min(first + widths[level], out.size)]
            before, after = next_low - low, high - next_high
            total += (before + after) * square
            now = 1.0 - below[(starts[level + 1] - starts[level] - 1) * widths[level]]
            if kinds[level - 1] == 1 and kinds[level] == 0:
                after, last, apart = after - now, beside[level], now
            ahead, parted = beside[level] + 1.0, apart - now if last != 0.0 else 0.0
            total += (before * ahead**2 + after * beside[level] ** 2) * squares[level]
            total += parted * last**2 * squares[level]
            full += before * ahead + after * beside[level] + parted * last
            mine = own[level, 0] * full + own[level, 1] * last * now
            total += (own[level, 1] * last) ** 2 * counted[level] * now
            full *= 1.0 - own[level, 0]
            last *= 1.0 - own[level, 1]
            apart = now
            along = own[level, kinds[level]] * on_path[level]
            mine += along * (next_high - next_low)
            length += mine * mine / shares[level]
            square += along * along * counted[level]
            total += own_bits[level] * means[level] * (shares[level] * means[level] - 2.0 * mine)
            low, high = next_low, next_high
        total += (high - low) * square
        reached, outside = below[k + 1], passed[0]
        squared = reached * (1.0 - outside) ** 2 + (1.0 - reached) * outside**2
        mean = reached - outside
        total -= factor * (squared + length - mean * mean)
        out[k] = noise + max(total, 0.0)
    out[out.size - 1] = 0.0
