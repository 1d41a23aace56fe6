"""Hilbert's curve: cells of a plane in a row, so that neighbours in the row are neighbours.

The curve of order k visits the 2^k x 2^k cells from the top left, (0, 0), to the top right,
(0, 2^k - 1). It goes through the four quadrants in the order top left, bottom left, bottom right,
top right. In each quadrant it is a curve of order k - 1. The first one is transposed, and the last
one is transposed along the other diagonal. So each two bits of a position, from the highest, choose
a quadrant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel


@inner
def _position(row: int, column: int, order: int) -> int:
    """Return a cell's position.

    Invariant: (row, column) is the cell within the quadrant that is chosen so far, as seen along
    that quadrant's curve. ``position`` holds the bits that chose the quadrant.
    """
    position = 0
    for level in range(order - 1, -1, -1):
        side = 1 << level
        right, lower = column >> level, row >> level
        position = 4 * position + ((3 * right) ^ lower)
        row, column = row & (side - 1), column & (side - 1)
        if lower == 0:
            row, column = column, row
            if right == 1:
                row, column = side - 1 - row, side - 1 - column
    return position


@inner
def _cell(position: int, order: int) -> tuple[int, int]:
    """Return the row and the column at a position.

    Invariant: (row, column) is the place of the position's last 2 x level bits on the curve of
    order ``level``.
    """
    row = column = 0
    for level in range(order):
        side = 1 << level
        quadrant = (position >> (2 * level)) & 3
        right = quadrant >> 1
        lower = (quadrant ^ right) & 1
        if lower == 0:
            row, column = column, row
            if right == 1:
                row, column = side - 1 - row, side - 1 - column
        row += lower << level
        column += right << level
    return row, column


@kernel
def positions(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    order: int,
    out: NDArray[np.int64],
) -> None:
    """Overwrite ``out``, (n,), with the positions of cells, (n,), on the curve of order <= 31."""
    for i in range(rows.size):
        out[i] = _position(rows[i], columns[i], order)


@kernel
def cells(
    at: NDArray[np.int64],
    order: int,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> None:
    """Overwrite ``rows`` and ``columns``, (n,), with the cells at positions, (n,)."""
    for i in range(at.size):
        rows[i], columns[i] = _cell(at[i], order)


@kernel
def rectangle(height: int, width: int) -> NDArray[np.int64]:
    """Return the cells of a height x width table, row * width + column, in the curve's order.

    The curve is the one of the least order that covers the table. Cells outside are skipped, and
    the order of the others is kept. So neighbours in the row are neighbours in the table, unless a
    cell was skipped between them.

    Notes
    -----
    4^j positions from a multiple of 4^j on fill an aligned square of side 2^j. A square that is
    wholly outside is skipped in one step, so long thin tables do not take the time of the whole
    square around them. Invariant: ``ordered[:done]`` are the cells at positions before
    ``position``.
    """
    order = 0
    while (1 << order) < max(height, width):
        order += 1
    ordered = np.empty(height * width, np.int64)
    done = 0
    position = 0
    while done < ordered.size:
        row, column = _cell(position, order)
        if row < height and column < width:
            ordered[done] = row * width + column
            done += 1
            position += 1
            continue
        j = 0
        while (position >> (2 * j)) & 3 == 0 and (
            (row >> (j + 1) << (j + 1)) >= height or (column >> (j + 1) << (j + 1)) >= width
        ):
            j += 1
        position += 1 << (2 * j)
    return ordered
