"""Noise on the nodes of a tree that is drawn on request, and is the same on every request."""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError
from ...mechanisms.tree import Tree
from ...noise.polya import PolyaShares
from ...noise.sources import KeyedSource, checked_key
from .prefixes import Array, Level, levels_of, prefix_sums

__all__ = ["RememberedNoise", "prefix_deviation"]

_LABEL: Final = b"dpcore remembered noise 1"
_BLOCK: Final = 2**10  # the number of nodes that are drawn together
_MOST_COUNT: Final = 2**40
_PLACE: Final = struct.Struct("<QQ")  # level and block


class RememberedNoise:
    """The noise on the nodes of a tree, as a function of a key.

    With the same key, the same node has the same noise, whatever is asked for, in any order and in
    any process. So noisy cumulative counts are a function of one vector of noisy node counts, and
    all of them together cost what this vector costs (docs/proofs/function-sharing.md).

    Parameters
    ----------
    tree
        A tree over N cells. Its root is n, which is public.
    shares
        The noise of a node on each level, root first; None: no noise. A level below the root
        without noise is not counted.
    key
        32 secret bytes, which are used for no other data and no other set of clients
        (docs/proofs/function-sharing.md, section 10).
    simulated
        Whether a seeded generator has made the key.
    count
        How many shares are summed on a node.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above; or the noise is in units other than one count.

    Notes
    -----
    The nodes of a level are drawn in blocks of 2^10. Each block has a ``KeyedSource`` of its own.
    The key of this source is HMAC-SHA256 of the level and the block, under a key that is derived
    from ``key``, the tree and the laws. So other trees and other scales have independent noise.
    Memory is 8 bytes for each drawn node.

    A later version of dpcore has to draw the same noise, or take another label.
    """

    __slots__ = ("_blocks", "_count", "_key", "_levels", "_shares", "_starts", "simulated")

    def __init__(
        self,
        tree: Tree,
        shares: Sequence[PolyaShares | None],
        key: bytes,
        *,
        simulated: bool = False,
        count: int = 1,
    ) -> None:
        secret = checked_key(key)
        if tree.bits:
            raise ParameterError("tree", tree.bits, "must have noise in whole counts")
        self._count = _check.integer("count", count, 0, _MOST_COUNT)
        self._levels = levels_of(tree, tuple(shares))
        self._shares = tuple(shares)
        self._starts: list[int] = tree.starts.tolist()
        self._key = hmac.digest(secret, _LABEL + self.digest, hashlib.sha256)
        self._blocks: dict[tuple[int, int], NDArray[np.int64]] = {}
        self.simulated = simulated

    def __repr__(self) -> str:
        return f"<RememberedNoise of {self._starts[-1]} nodes>"

    @property
    def digest(self) -> bytes:
        """32 bytes, a hash of the tree and the laws: only shares with the same one may be added."""
        laws = [share and (str(share.scale), share.shares) for share in self._shares]
        children = [level.children for level in self._levels]
        content = [self._starts, children, laws, self._count]
        return hashlib.sha256(json.dumps(content).encode("ascii")).digest()

    def of_nodes(self) -> NDArray[np.int64]:
        """Return the noise of all nodes, (nodes,), root first; 0 where a level has none."""
        noise = np.zeros(self._starts[-1], np.int64)
        for depth, share in enumerate(self._shares):
            start, stop = self._starts[depth : depth + 2]
            if share is not None:
                blocks = range(-(-(stop - start) // _BLOCK))
                noise[start:stop] = np.concatenate([self._block(depth, block) for block in blocks])
        return noise

    def of_prefixes(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the noise in the count of all cells up to and including each given cell.

        Parameters
        ----------
        cells
            (k,) int64, 0 to N - 1. The count at the last cell is n, and has no noise.

        Notes
        -----
        It is the signed sum of nodes with the least variance (docs/proofs/function-sharing.md,
        section 8). O(k) for each level, and the time to draw nodes that were not drawn before.
        """
        return prefix_sums(self._levels, cells, self._sums)[0]

    def _sums(
        self, level: Level, first: Array, child: Array, stop: Array
    ) -> tuple[Array, Array, Array]:
        """Return the summed noise of siblings before a child, of the child, and behind it."""
        begin, end = first // _BLOCK, (stop - 1) // _BLOCK
        changes = np.zeros(-(-level.size // _BLOCK) + 1, np.int64)
        np.add.at(changes, begin, 1)
        np.add.at(changes, end + 1, -1)
        needed = np.flatnonzero(np.cumsum(changes))  # siblings have no gaps
        drawn = [
            np.zeros(1, np.int64),
            *(self._of_level(level, block) for block in needed.tolist()),
        ]
        summed = np.cumsum(np.concatenate(drawn))
        skipped = np.zeros(changes.size, np.int64)
        skipped[needed] = _BLOCK * (needed - np.arange(needed.size))
        shift = skipped[begin]
        to_child, to_next = summed[child - shift], summed[child + 1 - shift]
        return (
            to_child - summed[first - shift],
            to_next - to_child,
            summed[stop - shift] - to_next,
        )

    def _of_level(self, level: Level, block: int) -> Array:
        """Return the noise of a block's nodes; children may stand for the last node."""
        drawn = self._block(level.depth, block)
        if level.by_children and (block + 1) * _BLOCK >= level.size:
            below = self._levels[self._levels.index(level) + 1]
            first = np.array([(level.size - 1) * below.children])
            drawn = drawn.copy()
            drawn[-1] = np.sum(self._sums(below, first, first, np.array([below.size])))
        return drawn

    def _block(self, depth: int, block: int) -> Array:
        """Return the noise of the nodes of a block, drawn now or remembered."""
        noise = self._blocks.get((depth, block))
        if noise is None:
            share = self._shares[depth]
            assert share is not None
            size = min(_BLOCK, self._starts[depth + 1] - self._starts[depth] - block * _BLOCK)
            key = hmac.digest(self._key, _PLACE.pack(depth, block), hashlib.sha256)
            stream = KeyedSource(key, simulated=self.simulated)
            noise = self._blocks[depth, block] = share.sum_of(self._count, size, stream)
        return noise


def prefix_deviation(
    tree: Tree,
    shares: Sequence[PolyaShares | None],
    count: int = 1,
    cells: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return the standard deviation of the noise in the counts up to some cells, without draws.

    Parameters
    ----------
    tree, shares, count
        As in ``RememberedNoise``.
    cells
        (k,) 0 to N - 1; None: all cells.

    Returns
    -------
    numpy.ndarray
        (k,), or (N,). O(k) for each level.
    """
    levels = levels_of(tree, tuple(shares))
    if cells is None:
        cells = np.arange(tree.starts[-1] - tree.starts[-2])
    weights = prefix_sums(levels, cells, _no_sums)[1]
    heaviest = max(levels, key=lambda level: level.weight, default=None)
    if heaviest is None:
        return np.zeros(cells.size)
    share = shares[heaviest.depth]
    assert share is not None
    return np.asarray(np.sqrt(count * share.variance / heaviest.weight * weights))


def _no_sums(level: Level, first: Array, child: Array, stop: Array) -> tuple[Array, Array, Array]:
    nothing = np.zeros_like(child)
    return nothing, nothing, nothing
