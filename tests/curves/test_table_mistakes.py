"""Warnings of likely mistakes in tables and residual plots, and what does not warn."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.table_mistakes import warn_of_residual_plot
from dpcore.mechanisms import Dawa, Dyadic, Hierarchy, Histogram, NoNoise
from dpcore.releases.cdf import taken
from dpcore.releases.table import raw_table
from tests.curves.told_mistakes import told

RNG = np.random.default_rng
N = 20_000
X, Y = RNG(1).random(N), RNG(2).beta(2, 5, N)
GRID = dp.TableGrid.uniform((0, 1), (0, 1), 32)
MECHANISMS = [Histogram(1.0), Hierarchy(1.0), Dawa(1.0), Dyadic(3.0), NoNoise(), Histogram(rho=0.1)]


# --- tables


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_column_in_another_unit_is_told(mechanism):
    options = {"grid": GRID, "mechanism": mechanism, "rng": RNG(3)}
    text = told(dp.table, X, 100 * Y, **options)
    assert "in its last: is it the grid for these values of y?" in text
    assert repr(GRID.y) in text
    text = told(dp.table, X / 100, Y, **options)
    assert re.match(r"(9\d|100) % of the records are in the first cell", text)
    assert "values of x" in text


def test_records_that_were_counted_before_are_looked_at_too():
    counts = GRID.count(X, 100 * Y)
    assert "values of y" in told(dp.table_from_counts, counts, GRID, epsilon=1.0, rng=RNG(4))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("y", [Y, np.where(X < 0.9, 0.4, Y), X])
def test_good_columns_are_not_told_of(mechanism, y):
    assert told(dp.table, X, y, GRID, mechanism, rng=RNG(5)) is None


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("axis", ["x", "y"])
def test_many_records_at_the_lower_end_of_a_column_are_told(mechanism, axis):
    zeros = np.where(X < 0.4, 0.0, Y)
    columns = (zeros, X) if axis == "x" else (X, zeros)
    text = told(dp.table, *columns, GRID, mechanism, rng=RNG(5))
    assert text.startswith(f"values of {axis}: ")
    assert "which also holds those at its lower end and below" in text


def test_a_column_with_a_cell_for_its_lower_end_is_not_told_of():
    visits = RNG(2).geometric(0.31, N) - 1
    other = dp.Grid.uniform(0, 1, 4)
    for own, is_told in ((dp.Grid.uniform(0, 60, 60), True), (dp.Grid.integers(0, 60), False)):
        text = told(dp.table, visits, X, dp.TableGrid(own, other), epsilon=1.0, rng=RNG(5))
        assert (text is not None) == is_told


def test_few_cells_are_kinds_of_records():
    grid = dp.TableGrid.uniform((0, 1), (0, 1), (32, 2))
    assert told(dp.table, X, np.ones(N), grid, epsilon=1.0, rng=RNG(6)) is None


@pytest.mark.parametrize("mechanism", [Histogram(0.002), Hierarchy(0.002), Histogram(rho=1e-6)])
def test_far_too_much_noise_is_told(mechanism):
    text = told(dp.table, X, Y, GRID, mechanism, rng=RNG(7))
    assert "the standard error of sums of cells is up to" in text


@pytest.mark.needs_jit
def test_noise_alone_does_not_look_like_a_mistake():
    rng, counts = RNG(8), GRID.count(X, Y)
    for epsilon in (0.01, 0.03, 0.1, 1.0):
        for _ in range(40):
            text = told(dp.table_from_counts, counts, GRID, epsilon=epsilon, rng=rng)
            assert text is None or "standard error" in text


# --- residual plots


def plot(x, y, outside=0, *, mechanism=None, shape=(20, 20)):
    """A residual plot over [-1, 1] x [-1, 1], and so many records beyond it."""
    grid = dp.TableGrid.uniform((-1, 1), (-1, 1), shape)
    mechanism = taken(Histogram(1.0) if mechanism is None else mechanism)
    table = raw_table(grid.count(x, y), outside, grid, mechanism, RNG(9)).isotonic()
    return dp.ResidualPlot(table, table.sample(rng=RNG(1)), table.privacy)


GOOD = 2 * X - 1, RNG(10).normal(0, 0.3, N)


@pytest.mark.parametrize("mechanism", [Histogram(1.0), Dawa(1.0)])
def test_bounds_that_most_are_beyond_are_told(mechanism):
    text = told(warn_of_residual_plot, plot(*GOOD, 30_000, mechanism=mechanism))
    assert text.startswith("60 % of the records are outside of the plot")


@pytest.mark.parametrize("mechanism", [Histogram(1.0), Dawa(1.0)])
@pytest.mark.parametrize(("column", "name"), [(0, "predicted"), (1, "residual")])
def test_bounds_far_too_wide_are_told(mechanism, column, name):
    columns = list(GOOD)
    columns[column] = columns[column] / 50 + 0.03
    text = told(warn_of_residual_plot, plot(*columns, 100, mechanism=mechanism))
    assert f"of the records are in 1/8 of the axis of {name} values" in text
    assert f"`{name}_range`" in text


@pytest.mark.parametrize("outside", [0, 1_000, 19_000])
@pytest.mark.parametrize("mechanism", [Histogram(1.0), Dawa(1.0), Histogram(0.01)])
def test_good_plots_are_not_told_of(outside, mechanism):
    assert told(warn_of_residual_plot, plot(*GOOD, outside, mechanism=mechanism)) is None


def test_plots_of_few_cells_have_no_narrow_parts():
    still = GOOD[0], np.full(N, 0.01)
    assert told(warn_of_residual_plot, plot(*still, shape=(4, 4))) is None
    assert told(warn_of_residual_plot, plot(*still)) is not None


# --- what noise may have made of a residual plot is not told of as a mistake


COARSE = dp.TableGrid.uniform((-1, 1), (-1, 1), 16)
SPREAD = np.linspace(-0.99, 0.99, 10_000)


def tells(columns, outside, deviation):
    """Whether a plot is told of, whose counts are exact, and stated as if they had noise."""
    table = raw_table(COARSE.count(*columns), outside, COARSE, taken(Histogram(1e6)), None)
    stated = np.append(np.full(COARSE.size, deviation), 0.0)  # n is public
    noisy = replace(table, row=replace(table.row, noise_deviation=stated))
    shown = dp.ResidualPlot(noisy, noisy.sample(), noisy.privacy)
    return told(warn_of_residual_plot, shown) is not None


@pytest.mark.parametrize(("deviation", "is_told"), [(0.0, True), (60.0, True), (70.0, False)])
def test_a_majority_outside_has_to_be_sure(deviation, is_told):
    assert tells([SPREAD, SPREAD], 10_400, deviation) == is_told  # 200 more than one half


@pytest.mark.parametrize(("deviation", "is_told"), [(0.0, True), (60.0, True), (70.0, False)])
@pytest.mark.parametrize("column", [0, 1])
def test_a_narrow_part_has_to_be_sure(column, deviation, is_told):
    columns = [SPREAD, SPREAD]
    columns[column] = np.full(10_000, 0.1)
    outside = 108  # 400 more than 95 % are in one part, whose ends both have noise
    assert tells(columns, outside, deviation) == is_told
