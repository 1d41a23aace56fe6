"""The lengths of DAWA's buckets, by rules in public numbers."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.trees import partition

__all__ = ["Scales", "part_at_medians", "scales"]

_FEWEST_CELLS: Final = 32  # the least number of groups, for any signal
_CLEAR: Final = 256.0  # from this signal on, spikes may be worth cells of their own
_BRANCHING: Final = 8  # long buckets have so many times the length of the next shorter ones


class Scales(NamedTuple):
    """The possible buckets of a row of cells.

    The row is cut into halves, and buckets start anew in the second half. So no bucket joins the
    two classes where both are in one row of scores. The length of both halves is a multiple of the
    longest bucket's, and the last bucket may lack cells.

    Parameters
    ----------
    size
        The number of cells N.
    unit
        The number of cells in a group, which are taken together as one before anything else.
    lengths
        (K,) the number of groups in a bucket that is not one group, rising. Each is a multiple of
        the one before.
    """

    size: int
    unit: int
    lengths: NDArray[np.int64]

    @property
    def groups(self) -> int:
        """The number of groups for which both halves have room."""
        longest = int(self.lengths[-1]) if self.lengths.size else 1
        middle = (self.size + 1) // 2
        return 2 * longest * -(-middle // (self.unit * longest))

    def starts(self) -> NDArray[np.int64]:
        """Return the number of cells before each group, and N at the end, (groups + 1,)."""
        middle = (self.size + 1) // 2
        ends = np.arange(1, self.groups // 2 + 1) * self.unit
        halves = np.minimum(ends, middle), middle + np.minimum(ends, self.size - middle)
        return np.concatenate([[0], *halves])

    def costs(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cost of each bucket, (nodes,), from the cells' counts, (N,).

        The order is by length, from the shortest, and then from left to right. It takes O(N K).
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
        """Return the counts of groups, as a copy."""
        if self.unit == 1 or not counts.size:
            return counts.copy()
        return np.add.reduceat(counts, np.arange(0, counts.size, self.unit))


def scales(size: int, signal: float) -> Scales:
    """Return the possible buckets of ``size`` cells, given a signal.

    Parameters
    ----------
    size
        The number of cells N.
    signal
        n epsilon; for Gaussian noise, with the epsilon whose noise has the same deviation.

    Notes
    -----
    There are about ``signal`` groups, and at least 32, because more groups could not be
    distinguished. For a large signal there are four times as many, for values that many records
    have. About sqrt(signal) buckets make up the row, or 8 sqrt(signal) short ones. With more
    lengths each length would have more noise (docs/proofs/dawa.md, section 2).
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
        (N,) counts, whose sums must stay within 64 bits. The counts of a bucket are reordered and
        divided at their median. Longer buckets still hold the same counts.
    length
        The length of the buckets. The last one may be shorter.
    costs
        One entry for each bucket, or more; the first entries are overwritten. It takes O(N).
    """
    whole = cells.size - cells.size % length
    for nodes in (cells[:whole].reshape(-1, length), cells[np.newaxis, whole:]):
        if nodes.size:
            nodes.partition(nodes.shape[1] // 2, axis=1)
    partition.half_differences(cells, length, costs)
