"""Counts of two columns: exact for every dtype and container, in chunks, and on threads."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.kernels.counting import pairs as kernels
from dpcore.records.column import Column
from dpcore.summaries.guides import best_guide
from dpcore.summaries.table_grid import complete_pairs, in_a_row
from tests import reference

RNG = np.random.default_rng
VALUES = st.sampled_from([-np.inf, -1, 0, 0.2, 0.25, 1 / 3, 0.5, 0.8, 1, 7, np.inf])
UNIT = dp.TableGrid.uniform((0, 1), (0, 1), (4, 2))


def searched(grid):
    """The same cells, found by binary search."""
    return dp.TableGrid(*(dp.Grid(each.thresholds) for each in (grid.x, grid.y)))


def expected(x, y, grid):
    return reference.count_pairs(x, y, grid.x.thresholds, grid.y.thresholds)


# --- what is counted


@settings(max_examples=80)
@given(
    st.lists(st.tuples(VALUES, VALUES), max_size=40),
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from([(np.float64, np.float32), (np.float32, np.float16), (np.float64,) * 2]),
    st.booleans(),
)
def test_counts_are_exact(records, width, height, dtypes, uniform):
    x, y = (np.array([r[i] for r in records], dtypes[i]) for i in (0, 1))
    grid = dp.TableGrid.uniform((0, 1), (0, 1), (width, height))
    found = (grid if uniform else searched(grid)).count(x, y)
    assert found.tolist() == expected(x, y, grid)
    assert (found.dtype, found.shape) == (np.int64, (width, height))


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("uniform", [True, False])
def test_threads_count_as_one_does(monkeypatch, uniform):
    rng = RNG(4)
    grid = dp.TableGrid.uniform((0.1, 0.9), (0, 1), (50, 30))
    near = rng.choice(grid.x.thresholds, 12_000)  # more than a block
    x = np.concatenate([near, np.nextafter(near, 1), np.nextafter(near, 0), rng.random(1_999)])
    y = rng.random(x.size)
    whole = expected(x, y, grid)
    grid = grid if uniform else searched(grid)
    assert grid.count(x, y).tolist() == whole
    monkeypatch.setattr("dpcore.summaries.table_grid._PART", 1_000)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert grid.count(x, y).tolist() == whole
    y[-7] = np.nan
    with pytest.raises(dp.MissingValueError, match=r"^y "):
        grid.count(x, y)
    assert grid.count(x, y, nan_policy="omit").sum() == x.size - 1


@pytest.mark.needs_jit
def test_more_than_65535_records_in_a_cell():
    x = np.full(70_000, 0.9)
    assert UNIT.count(x, x).ravel().tolist() == [0] * 7 + [70_000]


@pytest.mark.needs_jit
def test_as_many_cells_as_there_may_be():
    grid = dp.TableGrid.uniform((0, 1), (0, 1), 2**12)
    x, y = RNG(6).random((2, 50))
    x[0] = y[0] = 1.0
    counts = grid.count(np.append(x, np.nan), np.append(y, 0.5), nan_policy="omit")
    assert (counts.sum(), counts[-1, -1]) == (50, 1)
    with pytest.raises(dp.ParameterError, match="16777216"):
        dp.TableGrid.uniform((0, 1), (0, 1), (2**12, 2**12 + 1))


@pytest.mark.sample(1)
@pytest.mark.parametrize("kernel", [kernels.place_uniform, kernels.place_search])
def test_kernels_number_what_is_missing_behind_the_last_cell(kernel):
    thresholds = np.array([1.0, 2.0, 3.0])
    start = (0.0, 1.0, 1e-9) if kernel is kernels.place_uniform else best_guide(thresholds)
    out = np.full(5, 9, np.uint32)
    assert kernel(np.array([0.5, np.nan, 2.5, 9.0]), thresholds, *start, out) == 1
    assert out.tolist() == [0, 3, 2, 2, 9]


def test_the_kernel_of_pairs_adds_and_leaves_out():
    counts = np.full(6, 10)
    x, y = np.array([[0, 2, 1, 1, 1], [2, 0, 2, 3, 2]], np.uint32)
    kernels.count_pairs(x, y, 4, 2, 3, np.zeros(0, np.uint16), counts)
    assert counts.tolist() == [10, 10, 11, 10, 10, 11]


# --- containers and dtypes


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i8", "u8", "?", "f2", ">f8", ">i4"])
def test_dtypes(dtype):
    x, y = RNG(7).integers(0, 2, (2, 60)).astype(dtype)
    grid = dp.TableGrid(dp.Grid([0, 1]), dp.Grid([0.5, 1]))
    assert grid.count(x, y[::-1]).tolist() == expected(x, y[::-1], grid)


def test_integers_of_any_size_are_compared_exactly():
    big = 2**63
    grid = dp.TableGrid(dp.Grid([2.0**53, 2.0**54]), dp.Grid([float(big), 2.0**80]))
    x = np.array([2**53, 2**53 + 1], np.int64)
    assert grid.count(x, np.array([big, big + 1], np.uint64)).tolist() == [[1, 0], [0, 1]]
    assert grid.count(x, [10**400, Fraction(2 * big + 1, 2)]).tolist() == [[0, 1], [0, 1]]


CONTAINERS = {
    "a list": list,
    "pandas, nullable": lambda values: pd.Series(values, dtype="Float64"),
    "polars": pl.Series,
    "Arrow, in chunks": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "a masked array": lambda values: np.ma.masked_invalid(np.array(values, float)),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("other", ["a list", "polars"])
def test_containers_and_what_is_missing_in_them(container, other):
    first, second = CONTAINERS[container], CONTAINERS[other]
    x, y = [0.1, None, 0.6, 0.9], [0.2, 0.3, 0.8, None]
    for one, two, wrong in ((x, y, "x"), ([0.1] * 4, y, "y")):
        with pytest.raises(dp.MissingValueError, match=f"^{wrong} "):
            UNIT.count(first(one), second(two))
    counts = UNIT.count(first(x), second(y), nan_policy="omit")
    assert counts.tolist() == [[1, 0], [0, 0], [0, 1], [0, 0]]


def test_no_records_are_none():
    assert UNIT.count([], []).tolist() == [[0, 0]] * 4
    assert UNIT.count([np.nan], [1.0], nan_policy="omit").sum() == 0


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([1, 2], [1], "y must have the shape of x"),
        ([[1], [2]], [1, 2], "x must"),
        ([1, 2], ["a", "b"], "y must"),
        (pd.DataFrame({"a": [1]}), [1], "x must"),
    ],
)
def test_columns_that_are_none_are_refused_by_name(x, y, words):
    with pytest.raises(dp.DpcoreError, match=f"^{words}"):
        UNIT.count(x, y)


def test_complete_pairs_are_the_records_with_both_values():
    x, y = np.array([1.0, np.nan, 3.0, 4.0]), np.array([1.0, 2.0, np.nan, 4.0])
    found = complete_pairs(Column.of(x, "a"), Column.of(y, "b"), "omit")
    assert [each.tolist() for each in found] == [[1.0, 4.0]] * 2
    with pytest.raises(dp.MissingValueError, match=r"^b "):
        complete_pairs(Column.of(x[[0, 3, 3]], "a"), Column.of(y[:3], "b"), "raise")


# --- the grid itself


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (((0, 1), (0, 1), (2, 3, 4)), "shape"),
        (((0, 1), (0, 1), 2.0), "shape"),
        (((0, 1), (0, 1), (2, 0)), "shape"),
        (((0, 1, 2), (0, 1), 2), "x_bounds"),
        (((0, 1), 3, 2), "y_bounds"),
        (((0, 1), (1, 0), 2), "y_bounds"),
        (((0, np.inf), (0, 1), 2), "x_bounds"),
        (((0, 1), (-1e308, 1e308), 2), "y_bounds"),
        (((0, 1), (1, 1 + 1e-15), 99), "y_bounds"),
    ],
)
def test_bounds_shapes_and_grids_are_refused_by_name(arguments, name):
    with pytest.raises(dp.DpcoreError, match=f"^{name} "):
        dp.TableGrid.uniform(*arguments)
    with pytest.raises(dp.DtypeError, match="y must be a Grid"):
        dp.TableGrid(UNIT.x, [1, 2])


def test_shapes_may_be_arrays_and_numpys_integers():
    assert dp.TableGrid.uniform((0, 1), (0, 1), np.array([4, 2])) == UNIT
    assert dp.TableGrid.uniform(np.array([0, 1]), (0, 1), (np.int8(4), np.uint64(2))) == UNIT
    assert dp.TableGrid.uniform((0, 1), (0, 1), 3).shape == (3, 3)


def test_equality_hash_copies_and_repr():
    same, other = dp.TableGrid.uniform((0, 1), (0, 1), (4, 2)), searched(UNIT)
    assert UNIT == same == other
    assert hash(UNIT) == hash(same) == hash(other)
    assert dp.TableGrid(UNIT.y, UNIT.x) != UNIT
    assert UNIT != 3
    for again in (copy.copy(UNIT), copy.deepcopy(UNIT), pickle.loads(pickle.dumps(other))):
        assert again == UNIT
        assert again.count([0.1], [0.9]).tolist() == UNIT.count([0.1], [0.9]).tolist()
    assert repr(UNIT) == "TableGrid(x=Grid.uniform(0.0, 1.0, 4), y=Grid.uniform(0.0, 1.0, 2))"
    assert (UNIT.shape, UNIT.size) == ((4, 2), 8)


@settings(max_examples=40)
@given(st.integers(1, 12), st.integers(1, 12))
def test_the_row_has_every_cell_once_along_hilberts_curve(width, height):
    row = in_a_row((width, height))
    order = (max(width, height) - 1).bit_length()
    path = [(i, j) for i, j in reference.hilbert(order) if i < width and j < height]
    assert row.tolist() == [i * height + j for i, j in path]
    assert not row.flags.writeable
