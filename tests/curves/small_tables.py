"""Small tables, exact and released, that several tests read."""

from __future__ import annotations

import numpy as np

import dpcore as dp
from dpcore.mechanisms import Histogram, NoNoise
from dpcore.releases.cdf import taken
from dpcore.releases.table import raw_table

RNG = np.random.default_rng
GRID = dp.TableGrid.uniform((0, 10), (0, 5), (10, 5))
X, Y = RNG(1).integers(1, 11, 400), RNG(2).integers(1, 6, 400)
COUNTS = GRID.count(X, Y)
EXACT = dp.table(X, Y, GRID, NoNoise())
RAW = dp.table_from_counts(COUNTS, GRID, Histogram(1.0), isotonic=False, rng=RNG(3))
NO_LOWER = dp.TableGrid(dp.Grid([1, 2, 4]), dp.Grid([10.0, 20.0]))


def exact(counts, grid=GRID, outside=None):
    """A table without noise."""
    return raw_table(np.asarray(counts), outside, grid, taken(NoNoise()), None)
