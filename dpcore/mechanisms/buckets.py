"""How finely DAWA looks at its records: lengths of buckets, by rules in public numbers."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.trees import partition

__all__ = ["Scales", "deviation_costs", "scales"]

_FEWEST_CELLS: Final = 32  # which are told apart however little the records say
_CLEAR: Final = 256.0  # of the signal, from which on spikes may be worth cells of their own
_BRANCHING: Final = 8  # how many times longer the longer buckets are


class Scales(NamedTuple):
    """What may be a bucket.

    Parameters
    ----------
    unit
        How many cells are taken together, as one, before anything else.
    lengths
        (K,) of buckets that are not one such cell, rising; each a multiple of the one before.
    """

    unit: int
    lengths: NDArray[np.int64]

    def costs(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what each bucket costs, (nodes,), from the cells' counts, (N,)."""
        return deviation_costs(self.joined(counts), self.lengths.tolist())

    def joined(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts of cells that are taken together."""
        if self.unit == 1:
            return counts
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
    There are about ``signal`` cells, and no fewer than 32: more could not be told apart; four times
    as many where there is enough of it for values that many records have. About sqrt(signal)
    buckets make up the row, or 8 sqrt(signal) short ones. With more lengths each would have more
    noise (docs/dawa.md, section 2).
    """
    told_apart = signal if signal < _CLEAR else 4.0 * signal
    cells = max(_FEWEST_CELLS, 2 ** math.ceil(math.log2(max(1.0, told_apart))))
    unit = max(1, size // cells)
    units = -(-size // unit)
    few = 2 ** max(1, round(math.log2(max(1.0, signal)) / 2 - 0.25))
    many = _BRANCHING * few
    if 2 * many <= units:
        shortest = -(-units // many)
        return Scales(unit, np.array([shortest, _BRANCHING * shortest]))
    return Scales(unit, np.array([-(-units // few)] if 2 * few <= units else [], np.int64))


def deviation_costs(counts: NDArray[np.int64], lengths: list[int]) -> NDArray[np.int64]:
    """Return every bucket's deviation from its median, sum |x_i - median|, an integer.

    Parameters
    ----------
    counts
        (N,) cells; sums of them must stay within 64 bits.
    lengths
        Of the buckets, each a multiple of the one before.

    Returns
    -------
    numpy.ndarray
        int64, (nodes,): length after length, from the shortest, and from left to right.

    Notes
    -----
    Each node's cells are parted at their median, which is selected, in place: longer nodes hold
    the same cells. O(N) time a length, and one copy of the counts.
    """
    cells = counts.copy()
    costs = np.empty(sum(-(-counts.size // length) for length in lengths), np.int64)
    first = 0
    for length in lengths:
        whole = cells.size - cells.size % length
        for nodes in (cells[:whole].reshape(-1, length), cells[np.newaxis, whole:]):
            if nodes.size:
                nodes.partition(nodes.shape[1] // 2, axis=1)
        partition.half_differences(cells, length, costs[first:])
        first += -(-cells.size // length)
    return costs
