"""Cumulative counts as sums and differences of a tree's nodes, with as little noise as can be."""

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
_BITS: Final = 36  # of a weight: 2^24 cells have weights that add up to 2^60 at most

Array = NDArray[np.int64]
Sums = Callable[["Level", Array, Array, Array], tuple[Array, Array, Array]]


class Level(NamedTuple):
    """A level whose nodes prefixes are made of.

    Parameters
    ----------
    depth
        Which level of the tree it is, the root's being 0.
    size
        How many nodes it has.
    children
        How many of them a node of the last such level above has, or the root.
    weight
        The variance of a node's noise, in units that all levels share.
    last
        That of the last node, or of the nodes that stand for it; they may be fewer.
    by_children
        Whether the nodes below stand for the last node, as they have less noise together.
    """

    depth: int
    size: int
    children: int
    weight: int
    last: int
    by_children: bool


@lru_cache(maxsize=64)
def levels_of(tree: Tree, shares: tuple[PolyaShares | None, ...]) -> tuple[Level, ...]:
    """Return the levels that prefixes are made of, from below the root down to the cells. Cached.

    A level without noise is not counted; one whose nodes have at least the noise of all their
    children together is of no use. Neither is among them.
    """
    weights = _weights(shares)
    sizes, levels = np.diff(tree.starts).tolist(), list[Level]()
    branching: list[int] = tree.branching.tolist()
    children = 1  # of a node of this level, on the next one that is of use
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
    """Return, for all up to each of some cells, what nodes have in sum, and the least variance.

    Parameters
    ----------
    levels
        Of ``levels_of``.
    cells
        (k,) 0 to N - 1.
    sums
        What siblings first, ..., stop - 1 of a level have in sum, for arrays of these and of one
        child of each: before the child, it, and behind it. All together, at the root, have 0.

    Returns
    -------
    sums, weights
        (k,) each: the signed sum, and its variance in the units of the levels.

    Notes
    -----
    docs/pointwise.md, section 2. Invariant: ``low`` and ``high`` are for the prefixes up to where a
    node begins and where it ends, the node that has the cell on the level. The prefix up to a child
    is low and the siblings before it, or high less the child and the siblings behind it. O(k) for
    each level, and integers throughout: of equal sums the first is taken, on any machine.
    """
    nothing = np.zeros(cells.size, np.int64)
    low, low_weight, high, high_weight = nothing, nothing, nothing, nothing
    for place, level in enumerate(levels):
        child = cells // math.prod(below.children for below in levels[place + 1 :])
        first = child - child % level.children
        stop = np.minimum(first + level.children, level.size)
        heavier = level.weight - level.last  # than the last node
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
    """Return the variances of levels as whole numbers: which way is best has no rounding.

    In decimals: doubles may differ between machines, and the noise of clients that go different
    ways does not add up to that of nodes.
    """
    found = [None if share is None else _variance(share) for share in shares]
    most = max((each for each in found if each is not None), default=Decimal(0))
    unit = _DIGITS.divide(most or Decimal(1), Decimal(1 << _BITS))
    return [
        None if each is None else max(1, int(_DIGITS.divide(each, unit).to_integral_value()))
        for each in found
    ]


def _variance(share: PolyaShares) -> Decimal:
    """Return 2 a / (1 - a)^2 / shares, a = exp(-1 / scale)."""
    numerator, denominator = share.scale.numerator, share.scale.denominator
    a = _DIGITS.exp(_DIGITS.divide(Decimal(-denominator), Decimal(numerator)))
    square = _DIGITS.power(_DIGITS.subtract(Decimal(1), a), 2)
    return _DIGITS.divide(_DIGITS.add(a, a), _DIGITS.multiply(square, Decimal(share.shares)))
