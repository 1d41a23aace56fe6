"""Residual plots of many records: the cells and the noise that n epsilon asks for."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp

N = 20_000
X, Y = np.random.default_rng(1).uniform(1, 50, N), np.random.default_rng(2).normal(0, 2, N)


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [0.4, 1.0])
def test_each_cell_has_noise_of_its_own_however_many_there_are(epsilon: float) -> None:
    plot = dp.residual_plot(X, Y, epsilon=epsilon, rng=np.random.default_rng(3))
    assert plot.table.row.mechanism["name"] == "histogram"
    # the same number of cells, asked for: then they may be told in buckets
    cells = plot.cells.shape
    asked = dp.residual_plot(X, Y, epsilon=epsilon, cells=cells, rng=np.random.default_rng(3))
    assert asked.table.row.mechanism["name"] == "dawa"
