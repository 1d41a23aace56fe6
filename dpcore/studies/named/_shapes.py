"""Shapes of data for several studies: the share of records in each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...summaries.grid import MOST_CELLS

__all__ = ["MOST_CELLS", "MOST_RECORDS", "SHAPES", "Shape"]

MOST_RECORDS: Final = 2**53  # all numbers of records up to it are doubles
Shape = Callable[[int], NDArray[np.float64]]


def uniform(cells: int) -> NDArray[np.float64]:
    """The same share in all cells."""
    return np.full(cells, 1 / cells)


def normal(cells: int) -> NDArray[np.float64]:
    """A normal distribution. The grid spans seven standard deviations."""
    at = (np.arange(cells) + 0.5) / cells
    density = np.exp(-(((at - 0.4) * 7) ** 2) / 2)
    return np.asarray(density / density.sum())


def spike(cells: int) -> NDArray[np.float64]:
    """Half of the records in one cell, and the others spread evenly."""
    shares = np.full(cells, 0.5 / cells)
    shares[cells // 3] += 0.5
    return shares


SHAPES: Final[Mapping[str, Shape]] = {"uniform": uniform, "normal": normal, "spike": spike}
