"""Groups are made of cells: coarse ones make them unequal, fine ones nearly equal."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.releases.hosmer_lemeshow import arcsine_grid


@pytest.mark.parametrize("mechanism", [dp.mechanisms.NoNoise(), dp.mechanisms.Hierarchy(1.0)])
def test_finer_cells_make_more_equal_groups(mechanism):
    rng = np.random.default_rng(1)
    y_prob = rng.normal(0.7, 0.05, 10_000).clip(0, 1)
    y_true = rng.random(10_000) < y_prob
    spread = []
    for cells in (2**7, 2**10):
        test = dp.hosmer_lemeshow(
            y_true, y_prob, grid=arcsine_grid(cells), mechanism=mechanism, rng=rng, fitted=False
        )
        assert test.merged.size == 10
        sizes = test.observed.sum(axis=1)
        spread.append(np.abs(sizes / 1000 - 1).max())
    assert spread[0] > 0.3
    assert spread[1] < 0.2
