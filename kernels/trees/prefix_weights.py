"""The weights of nodes in a cumulative count: of nodes that hold its last cell, and beside them.

Nodes that hold the cell are on the path from the root to it. Every other node is beside the path,
or below a node beside the path. Then it has a share of that node's weight (``hierarchy.weights``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner


@inner
def path(
    k: int,
    branching: NDArray[np.int64],
    starts: NDArray[np.int64],
    below: NDArray[np.float64],
    sums: NDArray[np.float64],
    kinds: NDArray[np.int64],
    sides: NDArray[np.int64],
    passed: NDArray[np.float64],
) -> None:
    """Follow cell k up to the root, for the count of all cells up to it.

    ``kinds`` become 1 where the node that holds k is the last of its level. ``sides`` get bit 0
    where that node has siblings before it, and bit 1 where it has full siblings after it.
    ``passed[l]`` is the weight, in the count, of the correction from above to its node on level l.
    """
    levels, node = starts.size - 1, k
    passed[levels - 1] = 1.0
    kinds[levels - 1] = 1 if node == starts[levels] - starts[levels - 1] - 1 else 0
    for level in range(levels - 1, 0, -1):
        size = starts[level + 1] - starts[level]
        parent = node // branching[level - 1]
        first = parent * branching[level - 1]
        kinds[level - 1] = 1 if parent == starts[level] - starts[level - 1] - 1 else 0
        whole = sums[level - 1, kinds[level - 1]]
        passed[level - 1] = (
            (node - first) * below[level, 0] + passed[level] * below[level, kinds[level]]
        ) / whole
        # The last node of a level may have fewer children.
        end = min(first + branching[level - 1], size - 1)
        sides[level] = (1 if node > first else 0) + (2 if node + 1 < end else 0)
        node = parent


@inner
def coefficients(
    own: NDArray[np.float64],
    kinds: NDArray[np.int64],
    passed: NDArray[np.float64],
    on_path: NDArray[np.float64],
    beside: NDArray[np.float64],
) -> None:
    """Set the weights, in the count, of the best estimates from nodes and the nodes below them.

    ``on_path`` are the weights of nodes that hold the cell, and ``beside`` those of siblings after
    them. The weight of siblings before them is ``beside`` plus 1.
    """
    rest = 0.0
    for level in range(1, kinds.size):
        on_path[level] = passed[level] - passed[level - 1] + rest
        beside[level] = rest - passed[level - 1]
        rest = (1.0 - own[level, kinds[level]]) * on_path[level]


@inner
def level_sums(
    k: int,
    branching: NDArray[np.int64],
    starts: NDArray[np.int64],
    own: NDArray[np.float64],
    kinds: NDArray[np.int64],
    on_path: NDArray[np.float64],
    beside: NDArray[np.float64],
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> None:
    """Set the sum of the weights of each level's nodes in the count, and the sum of their squares.

    Invariant: ``full`` and ``squared`` are the sums of the coefficients of the full nodes beside
    the path, and of their squares. ``last`` is the coefficient of the last node, if it is beside
    the path.
    """
    width = 1
    for level in range(branching.size):
        width *= branching[level]
    full = squared = last = 0.0
    parent = 0
    for level in range(1, kinds.size):
        children, size = branching[level - 1], starts[level + 1] - starts[level]
        width //= children
        full *= children
        squared *= children
        if kinds[level - 1] == 0:
            siblings = size - 1 - (starts[level] - starts[level - 1] - 1) * children
            full += siblings * last
            squared += siblings * last * last
        node = k // width
        before = node - parent * children
        after = min((parent + 1) * children, size) - 1 - node
        if kinds[level - 1] == 1 and kinds[level] == 0:
            after -= 1
            last = beside[level]
        ahead = beside[level] + 1.0
        full += before * ahead + after * beside[level]
        squared += before * ahead * ahead + after * beside[level] * beside[level]
        mine = own[level, kinds[level]] * on_path[level]
        sums[level] = own[level, 0] * full + mine
        squares[level] = own[level, 0] ** 2 * squared + mine * mine
        if kinds[level] == 0:
            sums[level] += own[level, 1] * last
            squares[level] += (own[level, 1] * last) ** 2
        full *= 1.0 - own[level, 0]
        squared *= (1.0 - own[level, 0]) ** 2
        last *= 1.0 - own[level, 1]
        parent = node


@inner
def noise_variance(
    starts: NDArray[np.int64],
    reports: NDArray[np.float64],
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    means: NDArray[np.float64],
) -> float:
    """Return the variance of a count without the records' part, over M; set the mean of each y_l.

    ``reports`` are as in ``worst_records.worst_variances``. The mean is over the nodes of a level,
    and 0 where the total is not fixed.
    """
    variance = 0.0
    for level in range(1, starts.size - 1):
        size = float(starts[level + 1] - starts[level])
        share, noise, _, fixed = reports[level]
        means[level] = fixed * sums[level] / (size * share)
        variance += noise * (squares[level] / share - means[level] * sums[level])
    return variance
