"""What noise may have made of a residual plot is not told of as a mistake."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcore as dp
from dpcore.curves.table_mistakes import warn_of_residual_plot
from dpcore.mechanisms import Histogram
from dpcore.releases.cdf import taken
from dpcore.releases.table import raw_table

GRID = dp.TableGrid.uniform((-1, 1), (-1, 1), 16)
SPREAD = np.linspace(-0.99, 0.99, 10_000)


def tells(columns: list[NDArray[np.float64]], outside: int, deviation: float) -> bool:
    """Whether a plot is told of, whose counts are exact, and stated as if they had noise."""
    table = raw_table(GRID.count(*columns), outside, GRID, taken(Histogram(1e6)), None)
    stated = np.append(np.full(GRID.size, deviation), 0.0)  # n is public
    noisy = replace(table, row=replace(table.row, noise_deviation=stated))
    plot = dp.ResidualPlot(noisy, noisy.sample(), noisy.privacy)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_of_residual_plot(plot)
    return bool(found)


@pytest.mark.parametrize(("deviation", "told"), [(0.0, True), (60.0, True), (70.0, False)])
def test_a_majority_outside_has_to_be_sure(deviation: float, told: bool) -> None:
    assert tells([SPREAD, SPREAD], 10_400, deviation) == told  # 200 more than one half


@pytest.mark.parametrize(("deviation", "told"), [(0.0, True), (60.0, True), (70.0, False)])
@pytest.mark.parametrize("column", [0, 1])
def test_a_narrow_part_has_to_be_sure(column: int, deviation: float, told: bool) -> None:
    columns = [SPREAD, SPREAD]
    columns[column] = np.full(10_000, 0.1)
    outside = 108  # 400 more than 95 % are in one part, whose ends both have noise
    assert tells(columns, outside, deviation) == told
