"""The largest error of local reports, for any records.

A cumulative count is a sum over clients. A client in cell i is asked for level l with the
probability w_l. It then adds y_l = a / w_l, where a is the weight of its node. Its own bit has a
variance that is larger by o_l. v is the vector of the v_l, |v|^2 = sum_l w_l v_l^2, and |v|_o^2 =
sum_l w_l o_l v_l^2. s = sum_l w_l y_l is the same for all cells on one side of the threshold. Let
f_i be the shares of the clients in the cells. The clients' own bits and the choice of levels
together have the variance M (E |y - m|_o^2 + k (E |y - s|^2 - |E (y - s)|^2)), where E is the mean
over f, k = M / (M - 1), and m_l is the mean of y_l over the nodes of a level whose reports have as
many ones each, otherwise 0 (docs/proofs/local.md, section 3). For any t of the length of y with
sum_l w_l t_l = 0 this is at most M times the largest |y - m|_o^2 + k |y - s - t|^2 of a cell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from .hierarchy import weights
from .prefix_weights import coefficients, level_sums, noise_variance, path

_ROUNDS = 4  # the number of times t moves; more rounds would gain a few per cent
_LITTLE = 0.25  # a search ends below this share of the noise of other bits


@inner
def _farthest(
    own: NDArray[np.float64],
    counted: NDArray[np.float64],
    squares: NDArray[np.float64],
    factor: float,
    pull: NDArray[np.float64],
    along: NDArray[np.float64],
    kinds: NDArray[np.int64],
    sides: NDArray[np.int64],
    forks: NDArray[np.bool_],
    outside: float,
    on_path: NDArray[np.float64],
    beside: NDArray[np.float64],
) -> tuple[float, int, float, int]:
    """Return the largest |y - m|_o^2 + k |y - s - t|^2, and the cells that have it.

    What no cell changes, |m|_o^2 + k |t|^2, is left out. ``counted`` are (o_l + k) / w_l, and
    ``pull`` is k t_l + o_l m_l.

    These cells leave the path at a level with a coefficient, and the last nodes of their levels at
    another level, which ``forks`` (or is a cell). For a full node with the coefficient 1,
    ``squares`` and ``along`` are |y|_o^2 + k |y|^2 and the product with ``pull``. Invariant:
    ``square`` and ``product`` are those of the path above the level.
    """
    levels = kinds.size
    square = product = 0.0
    best, best_level, best_weight, best_last = -np.inf, levels, 0.0, 0
    for level in range(1, levels):
        for side in range(2):
            if sides[level] >> side & 1:
                weight = beside[level] + (1.0 - side)
                s = 1.0 - side - outside
                distance = square + weight * weight * squares[level]
                distance -= factor * s * s + 2.0 * (product + weight * along[level])
                if distance > best:
                    best, best_level, best_weight, best_last = distance, level, weight, level - 1
        if kinds[level - 1] == 1 and kinds[level] == 0:  # the last nodes are beside the path
            part, length, way = 1.0, 0.0, 0.0
            for last in range(level, levels):
                mine = part * own[last, 1]
                length += mine * mine * counted[last]
                way += mine * pull[last]
                part *= 1.0 - own[last, 1]
                if not forks[last]:
                    continue
                rest = part * part * squares[last + 1]
                distance = square + beside[level] ** 2 * (length + rest)
                way_on = way + part * along[last + 1]
                distance -= factor * outside**2 + 2.0 * (product + beside[level] * way_on)
                if distance > best:
                    best, best_level, best_weight, best_last = distance, level, beside[level], last
        mine = own[level, kinds[level]] * on_path[level]
        square += mine * mine * counted[level]
        product += mine * pull[level]
    distance = square - factor * (1.0 - outside) ** 2 - 2.0 * product
    if distance > best:  # the cell itself is the farthest
        best, best_level, best_weight, best_last = distance, levels, 0.0, 0
    return best, best_level, best_weight, best_last


@kernel
def worst_variances(
    branching: NDArray[np.int64],
    starts: NDArray[np.int64],
    variances: NDArray[np.float64],
    reports: NDArray[np.float64],
    factor: float,
    out: NDArray[np.float64],
) -> None:
    """Set a bound on the variance of each cumulative count for any records, over M.

    Parameters
    ----------
    branching, starts, variances
        As in ``hierarchy.weights``; they determine the weights of the estimates, with 0 for the
        root.
    reports
        (levels, 4) for each level: the share w_l of the clients that are asked for it, above 0; the
        variance of a node's estimate from one report of a client in another node; o_l, by which it
        is larger for a client in the node; and 1 if all reports have as many ones, so that the
        total of the estimates is fixed, otherwise 0. The root's are not read.
    factor
        k = M / (M - 1); 0 for one client.
    out
        (N,) the result; 0 for the last count, which is known.

    Notes
    -----
    t starts at 0 and moves towards the farthest cell, as for the least ball around points (Badoiu &
    Clarkson 2003). The bound holds for each t, and the function takes the least one. A threshold
    takes O(levels). Invariant: sum_l w_l t_l = 0.
    """
    own, below, sums = weights(branching, starts, variances)
    levels = starts.size - 1
    shares, own_bits = reports[:, 0], reports[:, 2]
    counted = (own_bits + factor) / shares
    sums_of, squares_of, means = np.zeros(levels), np.zeros(levels), np.zeros(levels)
    squares, along, pull = np.empty(levels + 1), np.empty(levels + 1), np.zeros(levels)
    squares[levels] = along[levels] = 0.0
    for level in range(levels - 1, 0, -1):
        rest = (1.0 - own[level, 0]) ** 2 * squares[level + 1]
        squares[level] = own[level, 0] ** 2 * counted[level] + rest
    forks = np.empty(levels, np.bool_)
    forks[levels - 1] = True
    for level in range(levels - 1):  # whether the last node has more than one child
        nodes, size = starts[level + 1] - starts[level], starts[level + 2] - starts[level + 1]
        forks[level] = size - (nodes - 1) * branching[level] > 1
    kinds, sides = np.empty(levels, np.int64), np.empty(levels, np.int64)
    passed, on_path, beside = np.empty(levels), np.empty(levels), np.empty(levels)
    target = np.empty(levels)
    for k in range(out.size - 1):
        path(k, branching, starts, below, sums, kinds, sides, passed)
        coefficients(own, kinds, passed, on_path, beside)
        level_sums(k, branching, starts, own, kinds, on_path, beside, sums_of, squares_of)
        noise = noise_variance(starts, reports, sums_of, squares_of, means)
        centre = 0.0
        for level in range(1, levels):
            centre += shares[level] * own_bits[level] * means[level] ** 2
        least = np.inf
        for level in range(levels):
            target[level] = 0.0
        for turn in range(_ROUNDS):
            length = 0.0
            for level in range(levels - 1, 0, -1):
                rest = (1.0 - own[level, 0]) * along[level + 1]
                pull[level] = factor * target[level] + own_bits[level] * means[level]
                along[level] = own[level, 0] * pull[level] + rest
                length += shares[level] * target[level] ** 2
            distance, at, weight, last = _farthest(
                own,
                counted,
                squares,
                factor,
                pull,
                along,
                kinds,
                sides,
                forks,
                passed[0],
                on_path,
                beside,
            )
            least = min(least, distance + factor * length + centre)
            if least < _LITTLE * noise:
                break
            s, part = 0.0, weight
            for level in range(1, levels):  # t moves to y of the farthest record minus s
                kind = kinds[level] if level < at else (1 if level <= last else 0)
                mine = own[level, kind] * (on_path[level] if level < at else part)
                part *= 1.0 - own[level, kind] if level >= at else 1.0
                s += mine
                target[level] += (mine / shares[level] - target[level]) / (turn + 2.0)
            for level in range(1, levels):
                target[level] -= s / (turn + 2.0)
        out[k] = noise + least
    out[out.size - 1] = 0.0
