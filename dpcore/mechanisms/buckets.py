"""The lengths of DAWA's buckets, by rules in public numbers."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.trees import partition

__all__ = ["CLEAR", "Scales", "part_at_medians", "scales"]

CLEAR: Final = 128.0  # from this signal on, there are two lengths
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
    lengths
        (K,) the number of cells in a bucket that is not one cell, rising. Each is a multiple of
        the one before.
    """

    size: int
    lengths: NDArray[np.int64]

    @property
    def places(self) -> int:
        """The number of cells for which both halves have room."""
        longest = int(self.lengths[-1]) if self.lengths.size else 1
        middle = (self.size + 1) // 2
        return 2 * longest * -(-middle // longest)

    def starts(self) -> NDArray[np.int64]:
        """Return the number of cells before each place, and N at the end, (places + 1,)."""
        middle = (self.size + 1) // 2
        ends = np.arange(1, self.places // 2 + 1)
        halves = np.minimum(ends, middle), middle + np.minimum(ends, self.size - middle)
        return np.concatenate([[0], *halves])

    def costs(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cost of each bucket, (nodes,), from the cells' counts, (N,).

        The order is by length, from the shortest, and then from left to right. It takes O(N K).
        """
        middle = (self.size + 1) // 2
        halves = [counts[:middle].copy(), counts[middle:].copy()]
        costs = []
        for length in self.lengths.tolist():
            of_length = np.zeros((2, self.places // 2 // length), np.int64)
            for half, own in zip(halves, of_length, strict=True):
                part_at_medians(half, length, own)
            costs.append(of_length.reshape(-1))
        return np.concatenate(costs)


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
    About sqrt(signal) buckets make up the row, or 8 sqrt(signal) short ones. With more lengths each
    length would have more noise (docs/proofs/dawa.md, section 2).
    """
    few = 2 ** max(1, round(math.log2(max(1.0, signal)) / 2 - 0.25))
    many = _BRANCHING * few
    if signal >= CLEAR and 2 * many <= size:
        shortest = -(-size // many)
        return Scales(size, np.array([shortest, _BRANCHING * shortest]))
    return Scales(size, np.array([-(-size // few)] if 2 * few <= size else [], np.int64))


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
