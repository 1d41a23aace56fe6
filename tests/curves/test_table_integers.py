"""Tables know which of their columns hold whole numbers, as curves do."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

import dpcore as dp
from dpcore.mechanisms import NoNoise

RNG = np.random.default_rng
UNIT = dp.TableGrid.uniform((-8, 8), (-8, 8), 16)  # cells that end at whole numbers
WIDE = dp.TableGrid.uniform((0, 40), (0, 40), (2, 4))
REALS = RNG(1).uniform(-8, 8, (2, 4_000))
WHOLE = RNG(2).integers(1, 41, (2, 4_000))
QUARTERS = [0.25, 0.5, 0.75]


def are_whole(numbers):
    return np.all(numbers == np.rint(numbers))


# --- what is read off


@pytest.mark.parametrize("axis", ["x", "y"])
def test_quantiles_of_reals_in_cells_that_are_one_whole_number_wide(axis):
    column, other = REALS if axis == "x" else REALS[::-1]
    of_cells = dp.table(*REALS, UNIT, NoNoise()).conditional_quantiles(axis, QUARTERS)
    expected = [
        np.quantile(column[(other > start) & (other <= start + 1)], QUARTERS)
        for start in range(-8, 8)
    ]
    assert np.abs(of_cells - expected).mean() < 0.1
    assert np.abs((of_cells - expected).mean()) < 0.03  # whole ones are a half too high


def test_each_column_has_its_own():
    table = dp.table(WHOLE[0], REALS[1] + 20, WIDE, NoNoise())
    assert table.integers == (True, None)
    shares = np.linspace(0.01, 0.99, 9)
    assert are_whole(table.marginal("x").quantile(shares))
    assert not are_whole(table.marginal("y").quantile(shares))
    curves = table.marginal("x"), table.conditional("y", 0, 20)
    assert [curve.integers for curve in curves] == [True, None]
    assert are_whole(table.conditional_quantiles("x", [0.1, 0.33, 0.7])[1:3])
    raw = dp.table(WHOLE[0], REALS[1], WIDE, epsilon=1.0, isotonic=False, rng=RNG(1))
    assert raw.isotonic().integers == raw.integers == (True, None)


@pytest.mark.parametrize("integers", [True, False])
def test_samples_stay_in_their_cells(integers):
    grid = dp.TableGrid.uniform((0, 1), (0, 1), 4)  # most cells have no whole number
    table = dp.table([0.1, 0.4, 0.9] * 9, [0.3, 0.6, 0.7] * 9, grid, NoNoise(), integers=integers)
    assert np.array_equal(grid.count(*table.sample(rng=RNG(1)).T), table.counts)


# --- who says so


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (True, (True, True)),
        (False, (False, False)),
        ((None, True), (True, True)),
        ((False, None), (False, None)),
        ((None, None), (True, None)),
    ],
)
def test_what_is_said_counts_and_schemas_tell_the_rest(said, known):
    table = dp.table(WHOLE[0], REALS[1], WIDE, epsilon=1.0, integers=said, rng=RNG(1))
    assert table.integers == known
    assert dp.table(WHOLE[0].tolist(), REALS[1], WIDE, NoNoise()).integers == (None, None)


@pytest.mark.parametrize(
    ("said", "known"), [(None, (None, None)), ((None, False), (None, False)), (True, (True, True))]
)
def test_of_counts_nobody_knows_but_the_caller(said, known):
    table = dp.table_from_counts(UNIT.count(*REALS), UNIT, NoNoise(), integers=said)
    assert table.integers == known
    assert are_whole(table.marginal("y").quantile(QUARTERS)) == bool(known[1])


@pytest.mark.parametrize("wrong", ["xy", 1, (True,), (True, True, False), [True, True], (0, 1)])
def test_anything_else_is_refused_before_anything_is_drawn(wrong):
    rng, untouched = RNG(1), RNG(1)
    columns = {"grid": WIDE, "epsilon": 1.0, "integers": wrong, "rng": rng}
    with pytest.raises(dp.DtypeError, match="integers"):
        dp.table(*WHOLE, **columns)
    with pytest.raises(dp.DtypeError, match="integers"):
        dp.table_from_counts(WIDE.count(*WHOLE), **columns)
    assert rng.bit_generator.state == untouched.bit_generator.state
    row = dp.table(*WHOLE, WIDE, NoNoise()).row
    with pytest.raises(dp.DtypeError, match="integers"):
        dp.Table(WIDE, row, wrong)


# --- what is stored


@pytest.mark.parametrize("integers", [None, True, (True, False), (None, False)])
def test_is_stored_if_it_is_said(integers):
    counts = WIDE.count(*WHOLE)
    table = dp.table_from_counts(counts, WIDE, epsilon=1.0, integers=integers, rng=RNG(1))
    again = dp.Table.from_json(table.to_json())
    assert again.integers == table.integers
    assert again.to_json() == table.to_json()
    assert ("integers" in json.loads(table.to_json())) == (integers is not None)


@pytest.mark.parametrize("wrong", [True, None, "xy", [True], [1, 0], [True, False, None]])
def test_what_is_not_two_answers_is_refused(wrong):
    stored = dp.table(*WHOLE, WIDE, epsilon=1.0, rng=RNG(1)).to_json()
    data = {**json.loads(stored), "integers": wrong}
    with pytest.raises(dp.FormatError, match="integers"):
        dp.Table.from_json(json.dumps(data))


def test_tables_of_whole_numbers_on_grids_of_them():
    x, y = RNG(1).integers(0, 5, 500), RNG(2).integers(-2, 3, 500)
    grid = dp.TableGrid(dp.Grid.integers(0, 4), dp.Grid.integers(-2, 2))
    released = dp.table(x, y, grid, epsilon=1.0, integers=True)
    again = dp.Table.from_json(released.to_json())
    assert again == released
    assert again.grid.x.of_integers
    assert again.grid.y.of_integers
    table = dp.table(x, y, grid, NoNoise(), integers=True)
    pairs = set(zip(x.tolist(), y.tolist(), strict=True))
    assert set(map(tuple, table.sample(300, RNG(3)).tolist())) <= pairs
    assert table.marginal("x")(0) == np.mean(x == 0)
    between = table.conditional("y", 0.5, 2.5)
    assert between.n == np.sum((x >= 1) & (x <= 2))
    assert between.mean() == pytest.approx(y[(x >= 1) & (x <= 2)].mean())
    assert table.conditional("y", -1, 0).n == np.sum(x == 0)
    quadrangles = table.plot(Figure().add_subplot()).collections[0]
    assert quadrangles.get_coordinates()[0, :, 0].tolist() == [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_first_cell_of_one_value_is_drawn_as_wide_as_the_next():
    grid = dp.TableGrid(dp.Grid([0, 2, 4], lower=0), dp.Grid([1.0, 2.0], lower=1))
    table = dp.table([0, 0, 3.0], [1.0, 1.5, 2.0], grid, NoNoise())
    assert table.plot(Figure().add_subplot()).collections[0].get_coordinates()[
        0, :, 0
    ].tolist() == [-2, 0, 2, 4]
    drawn = table.sample(50, RNG(1))
    assert set(drawn[drawn[:, 0] <= 2, 0]) == {0.0}


# --- ranges and samples of a table read its records as its marginal curves do


RNG = np.random.default_rng
GRIDS = {
    "wide cells": dp.Grid.uniform(0, 12, 4),
    "cells of one whole number": dp.Grid.uniform(0, 12, 12),
    "narrow cells": dp.Grid.uniform(0, 12, 48),
    "whole numbers": dp.Grid.integers(0, 12),
    "an end that is not known": dp.Grid([3.0, 6.0, 12.0]),
}
COLUMN = RNG(1).integers(0, 13, 500)


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("said", [None, True, False])
@pytest.mark.parametrize("name", GRIDS)
def test_a_range_holds_what_the_marginal_curve_says(name, said, axis):
    other = dp.Grid.uniform(0, 1, 2)
    grids, columns = [GRIDS[name], other], [COLUMN.tolist(), RNG(2).random(500)]
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
    columns = COLUMN.tolist(), RNG(2).random(500)
    table = dp.table(*columns, grid, NoNoise(), integers=(said, None))
    drawn = table.sample(rng=RNG(3))
    is_whole = bool((drawn[:, 0] == np.rint(drawn[:, 0])).all())
    assert is_whole == (said is not False)
    of_marginal = table.marginal("x").sample(50, RNG(3))
    assert is_whole == bool((of_marginal == np.rint(of_marginal)).all())
    assert np.array_equal(grid.count(*drawn.T), table.counts)
