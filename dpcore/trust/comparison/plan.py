"""The nodes of the tree that some thresholds need, level by level, in an order without gaps.

The children that are made on a level come as a run of left ones and a run of right ones, and may
then be put in any order. So the nodes of a level are ordered by the children that they need
themselves: left, both, right. Then the nodes that need a left child are a run, and so are those
that need a right child. Each run takes one call of the cipher, without copying, whatever the
thresholds are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import layout

__all__ = ["Leaves", "Level", "Plan", "plan"]

_LEFT, _BOTH, _RIGHT = 1, 3, 2  # the needed children, as bits
_RANK: Final = np.array([0, 0, 2, 1], np.uint8)  # the ranks of these bits; index 0 means no child
_MOST_BLOCKS: Final = 4  # the largest number of blocks in a leaf's outputs


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The nodes of a level that need children.

    Parameters
    ----------
    nodes
        P, the number of these nodes.
    lefts, rights
        Nodes below ``lefts`` need a left child, and nodes from ``rights`` on a right child.
    places
        (K,) the place of each child on the next level, left children first.
    """

    nodes: int
    lefts: int
    rights: int
    places: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """A run of leaves that need the same blocks of outputs.

    Parameters
    ----------
    first, last
        The leaves ``first``, ..., ``last`` - 1.
    blocks
        The blocks that they need.
    entry
        The place of the first block's outputs among all outputs. A leaf's blocks follow each other.
    """

    first: int
    last: int
    blocks: tuple[int, ...]
    entry: int


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The blocks to encrypt.

    Parameters
    ----------
    levels
        The levels from the root to above the leaves.
    leaves
        Runs of leaves, in order.
    entries
        How many blocks of outputs there are.
    found
        (T,) the place of each threshold's output among the 2 ``entries`` outputs.
    """

    levels: list[Level]
    leaves: list[Leaves]
    entries: int
    found: NDArray[np.int64]

    @property
    def widest(self) -> int:
        """How many nodes the widest level has, where the leaves are a level, too."""
        return max([1, *(level.places.size for level in self.levels)])

    @property
    def blocks(self) -> int:
        """How many blocks are encrypted for one client."""
        inner = sum(level.nodes + level.places.size for level in self.levels)
        return inner + self.entries


class _Parents(NamedTuple):
    """Nodes of a level, in order: the children that they need, as bits, and where these begin."""

    nodes: NDArray[np.int64]
    masks: NDArray[np.uint8]
    first: NDArray[np.int64]


def plan(thresholds: NDArray[np.int64], bits: int) -> Plan:
    """Return the plan for thresholds, (T,), T >= 1, in ascending order. O(T bits)."""
    leaf_bits = layout.leaf_bits(bits)
    needed = [_parents(thresholds >> 1, leaf_bits - 1)]
    for _ in range(layout.levels(bits)):
        needed.append(_parents(needed[-1].nodes, 1))
    needed.reverse()  # from the root to the leaves
    levels: list[Level] = []
    at = np.zeros(1, np.int64)  # the new place of each node of a level
    for above, below in pairwise(needed):
        kinds, first = above.masks[at], above.first[at]
        rights, lefts = np.searchsorted(_RANK[kinds], [_RANK[_BOTH], _RANK[_RIGHT]]).tolist()
        children = np.concatenate([first[:lefts], first[rights:] + (kinds[rights:] & 1)])
        is_last = below is needed[-1]
        ranks = below.masks[children] if is_last else _RANK[below.masks[children]]
        by_rank = np.argsort(ranks, kind="stable")
        levels.append(Level(at.size, lefts, rights, _inverse(by_rank)))
        at = children[by_rank]
    return _with_leaves(levels, at, needed[-1], thresholds)


def _parents(nodes: NDArray[np.int64], bits: int) -> _Parents:
    """Return the parents of sorted nodes; a parent has 2^bits children."""
    parents = nodes >> bits
    first = np.flatnonzero(np.diff(parents, prepend=-1))
    which = np.left_shift(1, nodes & (2**bits - 1), dtype=np.uint8, casting="unsafe")
    return _Parents(parents[first], np.bitwise_or.reduceat(which, first), first)


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(order.size)
    return inverse


def _with_leaves(
    levels: list[Level],
    at: NDArray[np.int64],
    needed: _Parents,
    thresholds: NDArray[np.int64],
) -> Plan:
    """Return the plan, given the order of the leaves."""
    kinds = needed.masks[at]
    counts = np.bitwise_count(kinds).astype(np.int64)
    entries = np.cumsum(counts) - counts
    starts = [*np.flatnonzero(np.diff(kinds.astype(int), prepend=-1)).tolist(), kinds.size]
    leaves = [
        Leaves(first, last, _blocks(int(kinds[first])), int(entries[first]))
        for first, last in pairwise(starts)
    ]
    repeats = np.diff(needed.first, append=thresholds.size)
    leaf = np.repeat(_inverse(at), repeats)  # the leaf of each threshold
    block = (thresholds >> 1) % _MOST_BLOCKS
    before = np.bitwise_count(kinds[leaf] & ((1 << block) - 1))
    places = 2 * (entries[leaf] + before) + (thresholds & 1)
    return Plan(levels, leaves, int(counts.sum()), places)


def _blocks(kind: int) -> tuple[int, ...]:
    return tuple(block for block in range(_MOST_BLOCKS) if kind >> block & 1)
