"""Ranges and samples of a table read its records as its marginal curves do."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import NoNoise

RNG = np.random.default_rng
GRIDS = {
    "wide cells": dp.Grid.uniform(0, 12, 4),
    "cells of one whole number": dp.Grid.uniform(0, 12, 12),
    "narrow cells": dp.Grid.uniform(0, 12, 48),
    "whole numbers": dp.Grid.integers(0, 12),
    "an end that is not known": dp.Grid([3.0, 6.0, 12.0]),
}
WHOLE = RNG(1).integers(0, 13, 500)


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("said", [None, True, False])
@pytest.mark.parametrize("name", GRIDS)
def test_a_range_holds_what_the_marginal_curve_says(name, said, axis):
    other = dp.Grid.uniform(0, 1, 2)
    grids, columns = [GRIDS[name], other], [WHOLE.tolist(), RNG(2).random(500)]
    statement = (said, None)
    if axis == "y":
        grids, columns, statement = grids[::-1], columns[::-1], (None, said)
    table = dp.table(*columns, dp.TableGrid(*grids), NoNoise(), integers=statement)
    marginal = table.marginal(axis)
    for low, high in [(0.5, 2.5), (1, 4), (2.2, 2.7), (-3, 1), (4, 20), (7.5, 11)]:
        held = table.conditional("y" if axis == "x" else "x", low, high).n
        expected = float(marginal.histogram([low, high])[0][0])
        assert held == pytest.approx(max(1.0, expected), abs=0.51), (low, high)


@pytest.mark.parametrize("said", [None, True, False])
def test_samples_of_whole_numbers_with_cells_of_their_own(said):
    grid = dp.TableGrid(dp.Grid.integers(0, 12), dp.Grid.uniform(0, 1, 2))
    columns = WHOLE.tolist(), RNG(2).random(500)
    table = dp.table(*columns, grid, NoNoise(), integers=(said, None))
    drawn = table.sample(rng=RNG(3))
    is_whole = bool((drawn[:, 0] == np.rint(drawn[:, 0])).all())
    assert is_whole == (said is not False)
    of_marginal = table.marginal("x").sample(50, RNG(3))
    assert is_whole == bool((of_marginal == np.rint(of_marginal)).all())
    assert np.array_equal(grid.count(*drawn.T), table.counts)
