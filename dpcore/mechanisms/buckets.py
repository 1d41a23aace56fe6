"""How finely DAWA looks at its records: lengths of buckets, by rules in public numbers."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.trees import partition

__all__ = ["Scales", "part_at_medians", "scales"]

_FEWEST_CELLS: Final = 32  # which are told apart however little the records say
_CLEAR: Final = 256.0  # of the signal, from which on spikes may be worth cells of their own
_BRANCHING: Final = 8  # how many times longer the longer buckets are


class Scales(NamedTuple):
    """What may be a bucket of a row of cells.

    The row is cut into halves, and buckets start anew in the second one: where both classes of
    scores are in one row, none joins them. Both halves are as long as so many of the longest
    buckets, the last of which may lack cells.

    Parameters
    ----------
    size
        N.
    unit
        How many cells are taken together, as one, before anything else: a group.
    lengths
        (K,) groups of a bucket that is not one group, rising; each a multiple of the one before.
    """

    size: int
    unit: int
    lengths: NDArray[np.int64]

    @property
    def groups(self) -> int:
        """How many groups there are room for, in both halves."""
        longest = int(self.lengths[-1]) if self.lengths.size else 1
        middle = (self.size + 1) // 2
        return 2 * longest * -(-middle // (self.unit * longest))

    def starts(self) -> NDArray[np.int64]:
        """Return how many cells lie before each group, and N, (groups + 1,)."""
        middle = (self.size + 1) // 2
        ends = np.arange(1, self.groups // 2 + 1) * self.unit
        halves = np.minimum(ends, middle), middle + np.minimum(ends, self.size - middle)
        return np.concatenate([[0], *halves])

    def costs(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what each bucket costs, (nodes,), from the cells' counts, (N,).

        Length after length, from the shortest, and from left to right. O(N K).
        """
        middle = (self.size + 1) // 2
        halves = [self._joined(counts[:middle]), self._joined(counts[middle:])]
        costs = []
        for length in self.lengths.tolist():
            of_length = np.zeros((2, self.groups // 2 // length), np.int64)
            for half, own in zip(halves, of_length, strict=True):
                part_at_medians(half, length, own)
            costs.append(of_length.reshape(-1))
        return np.concatenate(costs)

    def _joined(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a copy of the counts, of cells that are taken together."""
        if self.unit == 1 or not counts.size:
            return counts.copy()
        return np.add.reduceat(counts, np.arange(0, counts.size, self.unit))


def scales(size: int, signal: float) -> Scales:
    """Return what may be a bucket of ``size`` cells, where records say so much.

    Parameters
    ----------
    size
        N.
    signal
        n epsilon, or what it would have to be for noise of one count with this deviation.

    Notes
    -----
    There are about ``signal`` groups, and no fewer than 32: more could not be told apart; four
    times as many where there is enough of it for values that many records have. About
    sqrt(signal) buckets make up the row, or 8 sqrt(signal) short ones. With more lengths each
    would have more noise (docs/dawa.md, section 2).
    """
    told_apart = signal if signal < _CLEAR else 4.0 * signal
    groups = max(_FEWEST_CELLS, 2 ** math.ceil(math.log2(max(1.0, told_apart))))
    unit = max(1, size // groups)
    units = -(-size // unit)
    few = 2 ** max(1, round(math.log2(max(1.0, signal)) / 2 - 0.25))
    many = _BRANCHING * few
    if 2 * many <= units:
        shortest = -(-units // many)
        return Scales(size, unit, np.array([shortest, _BRANCHING * shortest]))
    return Scales(size, unit, np.array([-(-units // few)] if 2 * few <= units else [], np.int64))


def part_at_medians(cells: NDArray[np.int64], length: int, costs: NDArray[np.int64]) -> None:
    """Set every bucket's deviation from its median, sum |x_i - median|, an integer.

    Parameters
    ----------
    cells
        (N,) counts, whose sums must stay within 64 bits. Those of a bucket are put in another
        order, parted at their median: longer buckets hold the same ones.
    length
        Of the buckets; the last one may be shorter.
    costs
        (K,) with K buckets or more; the first entries are overwritten. O(N).
    """
    whole = cells.size - cells.size % length
    for nodes in (cells[:whole].reshape(-1, length), cells[np.newaxis, whole:]):
        if nodes.size:
            nodes.partition(nodes.shape[1] // 2, axis=1)
    partition.half_differences(cells, length, costs)
