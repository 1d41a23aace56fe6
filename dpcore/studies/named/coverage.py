"""How often bands of distribution functions cover, and their widths.

Bands are for the records' own curve, so only the noise is random (docs/measured/intervals.md). The
default mechanism may be DAWA. Its error is estimated, so its bands cover on average.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ... import _check
from ...releases.cdf import cdf_from_counts
from ...summaries.grid import Grid
from .. import study
from ._shapes import MOST_CELLS, MOST_RECORDS, SHAPES, Shape

__all__ = ["coverage"]


@study(
    {
        "n": [1_000, 100_000],
        "epsilon": [0.1, 1.0],
        "cells": [256],
        "shape": SHAPES,
        "level": [0.95],
    }
)
def coverage(
    n: int,
    epsilon: float,
    cells: int,
    shape: Shape,
    level: float,
    rng: np.random.Generator,
) -> Mapping[str, float]:
    """How often bands of distribution functions cover, and their widths.

    ``covered`` is the share of the thresholds, but for the last, at which the band has the
    records' own curve within; ``width`` is the mean width, as a share of n.
    """
    n = _check.integer("n", n, 1, MOST_RECORDS)
    counts = rng.multinomial(n, shape(_check.integer("cells", cells, 1, MOST_CELLS)))
    truth = np.cumsum(counts) / n
    grid = Grid.uniform(0, 1, cells)
    curve = cdf_from_counts(counts, grid, epsilon=epsilon, rng=rng)
    low, high = curve.band(level)
    rounding = 1e-12
    inside = (low <= truth + rounding) & (truth - rounding <= high)
    return {"covered": inside[:-1].mean(), "width": (high - low)[:-1].mean()}
