"""Cumulative counts as sums and differences of a tree's nodes, with the least noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.tree import Tree
from ...noise.polya import PolyaShares

__all__ = ["Array", "Level", "Sums", "levels_of", "prefix_sums"]

_DIGITS: Final = Context(prec=40, Emin=MIN_EMIN, Emax=MAX_EMAX)
_BITS: Final = 36  # the bits of a weight: the weights of 2^24 cells add up to 2^60 at most

Array = NDArray[np.int64]
Sums = Callable[["Level", Array, Array, Array], tuple[Array, Array, Array]]


class Level(NamedTuple):
    """A level of nodes that are used to make prefixes.

    Parameters
    ----------
    depth
        The number of the level in the tree; the root has 0.
    size
        How many nodes it has.
    children
        How many children on this level a node of the next used level above has, or the root.
    weight
        The variance of a node's noise, in units that all levels share.
    last
        The variance of the last node, or of the children that stand for it, which may be fewer.
    by_children
        Whether children stand for the last node, because they have less noise together.
    """

    depth: int
    size: int
    children: int
    weight: int
    last: int
    by_children: bool


@lru_cache(maxsize=64)
def levels_of(tree: Tree, shares: tuple[PolyaShares | None, ...]) -> tuple[Level, ...]:
    """Return the levels that are used to make prefixes, from below the root to the cells. Cached.

    A level without noise is not counted, and is left out. A level whose nodes have at least the
    noise of all their children together is of no use, and is left out, too.
    """
    weights = _weights(shares)
    sizes, levels = np.diff(tree.starts).tolist(), list[Level]()
    branching: list[int] = tree.branching.tolist()
    children = 1  # the children of a node of this level on the next level that is used
    for depth in range(len(sizes) - 1, 0, -1):
        own, below = weights[depth], levels[-1] if levels else None
        if below is not None and (own is None or own >= children * below.weight):
            children *= branching[depth - 1]
            continue
        assert own is not None  # the cells are counted
        last = own
        if below is not None:
            levels[-1] = below._replace(children=children)
            ragged = below.size - (sizes[depth] - 1) * children
            last = min(own, (ragged - 1) * below.weight + below.last)
        levels.append(Level(depth, sizes[depth], 1, own, last, last < own))
        children = branching[depth - 1]
    if levels:
        levels[-1] = levels[-1]._replace(children=children)
    return tuple(levels[::-1])


def prefix_sums(levels: Sequence[Level], cells: Array, sums: Sums) -> tuple[Array, Array]:
    """Return, for the prefix up to each given cell, the signed sum over nodes and its variance.

    Parameters
    ----------
    levels
        From ``levels_of``.
    cells
        (k,) 0 to N - 1.
    sums
        A function of a level, and of arrays of ``first``, ``child`` and ``stop``. It returns the
        sums over the siblings ``first``, ..., ``stop`` - 1: before the child, of the child, and
        behind it. At the root all together have the sum 0.

    Returns
    -------
    sums, weights
        (k,) each: the signed sum, and its variance in the units of the levels.

    Notes
    -----
    docs/proofs/function-sharing.md, section 8. Invariant: ``low`` and ``high`` are for the prefixes
    up to the beginning and up to the end of the level's node that contains the cell. The prefix up
    to a child is low plus the siblings before it, or high minus the child and the siblings behind
    it. O(k) for each level. All numbers are integers; if two variances are equal, the first is
    taken, on any machine.
    """
    nothing = np.zeros(cells.size, np.int64)
    low, low_weight, high, high_weight = nothing, nothing, nothing, nothing
    for place, level in enumerate(levels):
        child = cells // math.prod(below.children for below in levels[place + 1 :])
        first = child - child % level.children
        stop = np.minimum(first + level.children, level.size)
        heavier = level.weight - level.last  # how much heavier other nodes are than the last one
        before, own, behind = sums(level, first, child, stop)
        before_weight = (child - first) * level.weight
        own_weight = level.weight - heavier * (child + 1 == level.size)
        behind_weight = (stop - child - 1) * level.weight
        behind_weight -= heavier * ((stop == level.size) & (stop > child + 1))
        ends = []
        for up, up_weight, down, down_weight in (
            (before, before_weight, own + behind, own_weight + behind_weight),
            (before + own, before_weight + own_weight, behind, behind_weight),
        ):
            from_low, from_high = low_weight + up_weight, high_weight + down_weight
            is_low = from_low <= from_high
            ends.append(np.where(is_low, low + up, high - down))
            ends.append(np.where(is_low, from_low, from_high))
        low, low_weight, high, high_weight = ends
    return high, high_weight


def _weights(shares: Sequence[PolyaShares | None]) -> list[int | None]:
    """Return the variances of levels as whole numbers, so that comparing ways has no rounding.

    They are computed in decimals, because doubles may differ between machines. If clients took
    different ways, their noise would not add up to the noise of nodes.
    """
    variances = [None if share is None else _variance(share) for share in shares]
    most = max((variance for variance in variances if variance is not None), default=Decimal(0))
    unit = _DIGITS.divide(most or Decimal(1), Decimal(1 << _BITS))
    return [
        None
        if variance is None
        else max(1, int(_DIGITS.divide(variance, unit).to_integral_value()))
        for variance in variances
    ]


def _variance(share: PolyaShares) -> Decimal:
    """Return 2 a / (1 - a)^2 / shares, a = exp(-1 / scale)."""
    numerator, denominator = share.scale.numerator, share.scale.denominator
    a = _DIGITS.exp(_DIGITS.divide(Decimal(-denominator), Decimal(numerator)))
    square = _DIGITS.power(_DIGITS.subtract(Decimal(1), a), 2)
    return _DIGITS.divide(_DIGITS.add(a, a), _DIGITS.multiply(square, Decimal(share.shares)))
