"""The noise in sums of cells of a table whose row is counted in blocks and cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["block_of", "deviations_in_blocks"]

_TREE: Final = "hierarchy"  # the mechanism whose branchings are below
_LEAST: Final = 2.0**-100  # of variances, relative to the largest; in a tree, none is so small


def block_of(mechanism: Mapping[str, str | int | float]) -> int | None:
    """Return how many cells of a row are in a block; None unless these are the only two levels.

    Parameters
    ----------
    mechanism
        The description of the mechanism of the row.
    """
    branching = str(mechanism.get("branching", "")).split(",")
    if mechanism["name"] != _TREE or len(branching) != 2 or not branching[1].isdecimal():
        return None
    return int(branching[1]) if int(branching[1]) > 1 else None


def deviations_in_blocks(
    of_row: NDArray[np.float64],
    block: int,
    places: NDArray[np.int64],
    shares: NDArray[np.float64],
    size: int,
) -> NDArray[np.float64]:
    """Return the deviations of the noise in weighted sums of cells, (size,).

    Sum k is over the cells with a place of at most k, each times its share. The tree's noise
    follows from its cumulative counts (docs/guides/table.md, section 4). O(N log N).

    Parameters
    ----------
    of_row
        (N,) the deviations of the cumulative counts of the row.
    block
        The number of cells in a block; the last block may have fewer.
    places, shares
        (N,) for each cell of the row.
    size
        The number of sums.
    """
    cells, unit = of_row.size, float(of_row.max())
    if cells < 2 * block or unit == np.inf:
        return np.full(size, np.inf)
    first, one, two = ((of_row[[0, block - 1, 2 * block - 1]] / unit) ** 2).tolist()
    of_cell = (first - one / block**2) * block / (block - 1)
    of_block = (4 * one - two) / 2  # j blocks have j of_block - common (j of_block)^2
    if min(of_cell, of_block) < _LEAST:  # a file may state anything
        return np.full(size, np.inf)
    common = (of_block - one) / of_block**2
    own = np.arange(cells) // block
    lengths = np.bincount(own).astype(np.float64)
    # The noisy count of a block and the sum of its cells each add precision.
    of_count = max(1 / of_block - 1 / (block * of_cell), 0.0)
    in_blocks = 1 / (of_count + 1 / (lengths * of_cell))
    # A block with the sum S of shares has the variance ``of_cell`` times their squares, plus
    # ``slope`` S^2. Cells come in by their places, and change S from ``before`` to ``after``.
    slope = (in_blocks / lengths - of_cell) / lengths
    order = np.lexsort((places, own))
    part, at = shares[order], places[order]
    after = np.cumsum(part)
    after -= np.append(0.0, after)[own * block]
    before = after - part
    gained = slope[own] * (after**2 - before**2) + of_cell * part**2
    moved = (in_blocks / lengths)[own] * part
    among, all_moved = (np.cumsum(np.bincount(at, each, size)) for each in (gained, moved))
    return np.asarray(unit * np.sqrt(np.maximum(among - common * all_moved**2, 0.0)))
