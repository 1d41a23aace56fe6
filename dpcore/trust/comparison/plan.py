"""Which nodes of the tree some thresholds need, level by level, in an order without gaps.

The children that are made on a level come as blocks of left ones and right ones; where each goes
is free. So the nodes of a level are ordered by which children they need themselves: left, both,
right. Those that need a left child are then a run, and so are those that need a right one: one
call of the cipher for each, without copying, whatever the thresholds are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from . import layout

__all__ = ["Leaves", "Level", "Plan", "plan"]

_LEFT, _BOTH, _RIGHT = 1, 3, 2  # which children are needed, as bits
_RANK: Final = np.array([-1, 0, 2, 1])  # of these


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The nodes of a level that need children.

    Parameters
    ----------
    nodes
        P, how many there are.
    lefts, rights
        Those below ``lefts`` need a left child, those from ``rights`` on a right one.
    places
        (K,) of each child, left ones first, where it is on the next level.
    """

    nodes: int
    lefts: int
    rights: int
    places: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """A run of leaves of which the same blocks of outputs are needed.

    Parameters
    ----------
    first, last
        The leaves ``first``, ..., ``last`` - 1.
    blocks
        Which blocks.
    entry
        Where the first block's outputs are among all; a leaf's blocks come one after the other.
    """

    first: int
    last: int
    blocks: tuple[int, ...]
    entry: int


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What to encrypt.

    Parameters
    ----------
    levels
        From the root to above the leaves.
    leaves
        Runs of leaves, in order.
    entries
        How many blocks of outputs there are.
    found
        (T,) of each threshold, where its output is among the 2 ``entries``.
    """

    levels: list[Level]
    leaves: list[Leaves]
    entries: int
    found: NDArray[np.int64]

    @property
    def widest(self) -> int:
        """How many nodes the widest level has, leaves among them."""
        return max([1, *(each.places.size for each in self.levels)])

    @property
    def blocks(self) -> int:
        """How many blocks are encrypted for one client."""
        inner = sum(each.nodes + each.places.size for each in self.levels)
        return inner + self.entries


def plan(thresholds: NDArray[np.int64], bits: int) -> Plan:
    """Return what some thresholds, (T,), in any order, need. O(T (log(T) + bits))."""
    if not thresholds.size:
        return Plan([], [], 0, thresholds)
    leaf_bits, depth = layout.leaf_bits(bits), layout.levels(bits)
    needed = [_needed(np.sort(thresholds) >> 1, leaf_bits - 1)]
    for _ in range(depth):
        needed.append(_needed(needed[-1][0], 1))
    needed.reverse()  # from the root on
    levels: list[Level] = []
    order = np.zeros(1, np.int64)  # the nodes of a level
    for (nodes, masks), below in pairwise(needed):
        kind = masks[np.searchsorted(nodes, order)]
        rights, lefts = np.searchsorted(_RANK[kind], [_RANK[_BOTH], _RANK[_RIGHT]]).tolist()
        children = np.concatenate([2 * order[:lefts], 2 * order[rights:] + 1])
        their_kind = below[1][np.searchsorted(below[0], children)]
        is_last = len(levels) == depth - 1
        by_kind = np.argsort(their_kind if is_last else _RANK[their_kind], kind="stable")
        places = np.empty_like(children)
        places[by_kind] = np.arange(children.size)
        levels.append(Level(order.size, lefts, rights, places))
        order = children[by_kind]
    return _with_leaves(levels, order, *needed[-1], thresholds, leaf_bits)


def _needed(children: NDArray[np.int64], bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sorted nodes' parents, in order, and which of 2^bits children are needed, as bits."""
    parents = children >> bits
    starts = np.flatnonzero(np.diff(parents, prepend=-1))
    masks = np.bitwise_or.reduceat(1 << (children & (2**bits - 1)), starts)
    return parents[starts], masks


def _with_leaves(
    levels: list[Level],
    order: NDArray[np.int64],
    nodes: NDArray[np.int64],
    masks: NDArray[np.int64],
    thresholds: NDArray[np.int64],
    leaf_bits: int,
) -> Plan:
    kinds = masks[np.searchsorted(nodes, order)]
    starts = [*np.flatnonzero(np.diff(kinds, prepend=-1)).tolist(), kinds.size]
    leaves: list[Leaves] = []
    entry = 0
    entries = np.empty((order.size, 4), np.int64)  # of each leaf's blocks
    for first, last in pairwise(starts):
        blocks = tuple(block for block in range(4) if kinds[first] >> block & 1)
        leaves.append(Leaves(first, last, blocks, entry))
        for rank, block in enumerate(blocks):
            entries[first:last, block] = entry + rank + len(blocks) * np.arange(last - first)
        entry += len(blocks) * (last - first)
    place = np.empty_like(order)
    place[np.searchsorted(nodes, order)] = np.arange(order.size)
    leaf = place[np.searchsorted(nodes, thresholds >> leaf_bits)]
    block = (thresholds & (2**leaf_bits - 1)) >> 1
    return Plan(levels, leaves, entry, 2 * entries[leaf, block] + (thresholds & 1))
