"""The mean squared error of a hierarchy's cumulative counts, without visiting its nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["mean_prefix_variance"]


class _Below(NamedTuple):
    """A node with all nodes below it.

    Parameters
    ----------
    variance
        The variance of the best estimate of its count, from its own noisy count and those below.
    cells
        The number of its cells.
    both, own, constant
        The sum of its cells' errors is ``cells`` times the variance of the count before the node,
        plus ``both`` times the covariance of that count with the node's count, plus ``own`` times
        the variance of the node's count, plus ``constant``.
    """

    variance: float
    cells: float
    both: float
    own: float
    constant: float


def mean_prefix_variance(
    branching: Sequence[int], starts: Sequence[int], variances: Sequence[float]
) -> float:
    """Return the mean of ``kernels.trees.hierarchy_errors.prefix_variances``. O(levels).

    The three numbers of a child are linear in those of its parent, and the nodes of a level are
    alike except the last one (docs/proofs/hierarchy.md, section 4). Invariant: ``full`` and
    ``last`` are the two kinds of nodes of the level below.
    """
    full = last = _Below(variances[-1], 1.0, 2.0, 1.0, 0.0)
    for level in range(len(branching) - 1, -1, -1):
        nodes = starts[level + 1] - starts[level]
        children = starts[level + 2] - starts[level + 1]
        ragged = children - (nodes - 1) * branching[level]
        last = _parent(variances[level], full, ragged - 1, last)
        full = _parent(variances[level], full, branching[level], None)
    return max(0.0, (last.own * last.variance + last.constant) / last.cells)


def _parent(noise: float, child: _Below, count: int, other: _Below | None) -> _Below:
    """Return the node with ``count`` equal children, and perhaps another one behind them."""
    behind = other.variance if other else 0.0
    total = count * child.variance + behind
    variance = total if math.isinf(noise) else total * noise / (total + noise)
    share = child.variance / total
    # Sums of p = j share and of p^2 over the equal children j = 0, 1, ...
    first = share * (count * (count - 1) / 2)
    second = share**2 * ((count - 1) * count * (2 * count - 1) / 6)
    cells = count * child.cells
    both = child.cells * 2.0 * first + count * child.both * share
    own = child.cells * second + child.both * share * first + count * child.own * share**2
    constant = total * (child.cells * (first - second) - child.both * share * first) + count * (
        child.own * child.variance * (1.0 - share) + child.constant
    )
    if other:
        p, part = count * share, behind / total
        cells += other.cells
        both += other.cells * 2.0 * p + other.both * part
        own += other.cells * p**2 + other.both * part * p + other.own * part**2
        constant += (
            total * (other.cells * p * (1.0 - p) - other.both * p * part)
            + other.own * behind * (1.0 - part)
            + other.constant
        )
    return _Below(variance, cells, both, own, constant)
