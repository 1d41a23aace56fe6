"""Grids and counts, exact for every dtype and container."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.records import doubles
from tests import reference


def test_uniform_thresholds():
    grid = dp.Grid.uniform(-1, 3, 8)
    assert np.array_equal(grid.thresholds, -1 + 4 * np.arange(1, 9) / 8)
    assert dp.Grid.uniform(0.1, 0.7, 7).thresholds[-1] == 0.7


def test_log_thresholds():
    thresholds = dp.Grid.log(1, 1000, 3).thresholds
    assert thresholds == pytest.approx([10, 100, 1000], rel=1e-14)
    assert thresholds[-1] == 1000


def test_largest_grid():
    grid = dp.Grid.uniform(0, 1, 2**24)
    counts = grid.count(np.array([0.0, 0.5, 1.0, 2**-24 * 1.5]))
    assert np.flatnonzero(counts).tolist() == [0, 1, 2**23 - 1, 2**24 - 1]


def test_equality_and_description():
    grids = [dp.Grid.uniform(0, 1, 4), dp.Grid([0.25, 0.5, 0.75, 1.0]), dp.Grid.log(1, 9, 4)]
    assert grids[0] == grids[1] != grids[2]
    assert hash(grids[0]) == hash(grids[1])
    for grid in grids:
        assert dp.Grid.from_description(grid.describe()) == grid
    assert repr(grids[0]) == "Grid.uniform(0.0, 1.0, 4)"


GRIDS = [
    dp.Grid.uniform(0, 1, 1),
    dp.Grid.uniform(-3, 7, 10),
    dp.Grid.uniform(0.1, 0.3, 97),
    dp.Grid.uniform(1e9, 1e9 + 1, 1000),
    dp.Grid.uniform(-1e-300, 1e-300, 5),
    dp.Grid.uniform(-1e300, 1e300, 11),
    dp.Grid.uniform(0, 2**53, 2**10),
    dp.Grid.log(1e-3, 1e6, 333),
    dp.Grid([-5.5, 0.0, 0.1, 1e10]),
    dp.Grid([3.0]),
]


def around(thresholds):
    """Every threshold, its two neighbours, and what is far outside."""
    return np.r_[
        thresholds,
        np.nextafter(thresholds, np.inf),
        np.nextafter(thresholds, -np.inf),
        [-np.inf, np.inf, -1e308, 1e308, 0.0, -0.0, 5e-324],
    ]


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
def test_counts_are_exact_at_and_around_thresholds(grid):
    values = around(grid.thresholds)
    assert np.array_equal(grid.count(values), reference.count(values, grid.thresholds))
    low = values[np.abs(values) < 1e38].astype(np.float32)
    assert np.array_equal(grid.count(low), reference.count(low, grid.thresholds))


@settings(max_examples=80)
@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.integers(1, 300),
    st.lists(st.floats(-1.2, 2.2), max_size=600),
    st.booleans(),
)
def test_counts_equal_the_reference(lower, width, size, places, regular):
    grid = dp.Grid.uniform(lower, lower + width, size)
    if not regular:
        grid = dp.Grid(grid.thresholds)
    values = lower + width * np.array(places)
    values[::3] = np.round(values[::3] * size) / size
    assert np.array_equal(grid.count(values), reference.count(values, grid.thresholds))


@pytest.mark.parametrize("code", list("?bBhHiIlLqQefdg"))
def test_every_real_dtype(code):
    rng = np.random.default_rng(3)
    values = np.r_[rng.integers(0, 100, 1000), rng.normal(50, 9, 1000)].astype(code)
    grid = dp.Grid.uniform(0, 100, 37)
    assert np.array_equal(
        grid.count(values), reference.count(values.astype(float), grid.thresholds)
    )


def test_integers_beyond_doubles_are_compared_exactly():
    tau = 2.0**60
    near = np.arange(-5, 6)
    grid = dp.Grid([tau - 2**9, tau, tau + 2**9])
    for dtype in (np.int64, np.uint64):
        values = (2**60 + near).astype(dtype)
        assert grid.count(values).tolist() == [0, 6, 5]
    assert grid.count(np.array([2**63 + 1, 2**64 - 1], np.uint64)).tolist() == [0, 0, 2]
    assert grid.count(np.array([-(2**63), -1])).tolist() == [2, 0, 0]
    exact = dp.Grid([-(2.0**63), -(2.0**63) + 2048])
    assert exact.count(np.array([-(2**63), -(2**63) + 1])).tolist() == [1, 1]


def test_long_doubles_are_compared_exactly():
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("long doubles are doubles on this platform")
    above = np.longdouble(1) + np.finfo(np.longdouble).eps
    values = np.array([1, above, -above, -1, np.inf, -np.inf], np.longdouble)
    assert dp.Grid([-1.0, 1.0, 2.0]).count(values).tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda v: pa.array(np.r_[[5], v])[1:],
        lambda v: v[::-1],
        lambda v: np.repeat(v, 2)[::2],
        lambda v: v.astype(v.dtype.newbyteorder()),
    ],
)
def test_slices_strides_and_swapped_bytes(wrap):
    grid = dp.Grid.uniform(0, 100, 64)
    rng = np.random.default_rng(5)
    for values in (rng.uniform(-5, 105, 300), rng.integers(0, 100, 300)):
        assert np.array_equal(grid.count(wrap(values)), reference.count(values, grid.thresholds))


@pytest.mark.parametrize("grid", [dp.Grid.uniform(0, 1, 13), dp.Grid([0.1, 0.5, 0.7])])
def test_long_input_is_counted_in_parts_on_threads(grid, monkeypatch):
    monkeypatch.setattr("dpcore.summaries.grid._PART", 500)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    values = np.random.default_rng(1).normal(size=10_007)
    assert np.array_equal(grid.count(values), reference.count(values, grid.thresholds))
    values[[3, 5000, 10_006]] = np.nan
    with pytest.raises(dp.MissingValueError):
        grid.count(values)
    kept = values[~np.isnan(values)]
    counts = grid.count(values, nan_policy="omit")
    assert np.array_equal(counts, reference.count(kept, grid.thresholds))


def test_empty_input_counts_nothing():
    assert dp.Grid.uniform(0, 1, 3).count([]).tolist() == [0, 0, 0]
    assert dp.Grid([0.0, 1.0]).count(np.empty(0, np.int8)).tolist() == [0, 0]
    assert dp.Grid([0.0, 1.0]).count(pa.array([], pa.float64())).tolist() == [0, 0]


@pytest.mark.needs_jit
def test_counting_takes_no_memory_that_grows_with_the_input():
    import tracemalloc

    values = np.zeros(1_000_000, np.int16)  # a dtype that has to be converted
    grid = dp.Grid.uniform(0, 1, 10)
    grid.count(values[:10])
    tracemalloc.start()
    grid.count(values[: 2**17])
    small = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    grid.count(values)
    large = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert large < 2 * small
    assert doubles.CHUNK * 8 < large < values.size * 8 / 2


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: dp.Grid([]), dp.ParameterError, "thresholds"),
        (lambda: dp.Grid([[1.0]]), dp.ParameterError, "thresholds"),
        (lambda: dp.Grid([1.0, 1.0]), dp.ParameterError, "thresholds .*entries 0 and 1"),
        (lambda: dp.Grid([1.0, 3.0, 2.0]), dp.ParameterError, r"thresholds .*got \(3.0, 2.0\)"),
        (lambda: dp.Grid([1.0, np.nan]), dp.ParameterError, "thresholds must be finite"),
        (lambda: dp.Grid([1.0, np.inf]), dp.ParameterError, "thresholds must be finite"),
        (lambda: dp.Grid(["a"]), dp.DtypeError, "thresholds"),
        (lambda: dp.Grid([1 + 2j]), dp.DtypeError, "thresholds"),
        (lambda: dp.Grid(np.zeros(2**24 + 1)), dp.ParameterError, "thresholds .*16777216"),
        (lambda: dp.Grid.uniform(0, 1, 0), dp.ParameterError, "size"),
        (lambda: dp.Grid.uniform(0, 1, 2**24 + 1), dp.ParameterError, "size"),
        (lambda: dp.Grid.uniform(0, 1, 2.5), dp.DtypeError, "size"),
        (lambda: dp.Grid.uniform(1, 1, 3), dp.ParameterError, "upper"),
        (lambda: dp.Grid.uniform(0, np.inf, 3), dp.ParameterError, "upper"),
        (lambda: dp.Grid.uniform(np.nan, 1, 3), dp.ParameterError, "lower"),
        (lambda: dp.Grid.uniform("0", 1, 3), dp.DtypeError, "lower"),
        (lambda: dp.Grid.uniform(-1e308, 1e308, 3), dp.ParameterError, "upper is too far"),
        (lambda: dp.Grid.uniform(1e16, 1e16 + 4, 9), dp.ParameterError, "size is more than"),
        (lambda: dp.Grid.log(0, 1, 3), dp.ParameterError, "lower"),
    ],
)
def test_grids_that_are_none(make, kind, words):
    with pytest.raises(kind, match=f"^{words}"):
        make()


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ([[1.0]], dp.ParameterError, "one-dimensional"),
        (3.0, dp.ParameterError, "one-dimensional"),
        ([[1], [2, 3]], dp.DtypeError, "list"),
        ([1j], dp.DtypeError, "complex"),
        (np.array([1j]), dp.DtypeError, "complex128"),
        (np.array(["2020"], "M8[D]"), dp.DtypeError, "datetime64"),
        (pd.DataFrame({"a": [1.0]}), dp.DtypeError, "a pandas DataFrame"),
        (pl.DataFrame({"a": [1.0]}), dp.DtypeError, "a polars DataFrame"),
        (pa.table({"a": [1.0]}), dp.DtypeError, "a pyarrow Table"),
        ((x for x in [1.0]), dp.DtypeError, "a generator"),
    ],
)
def test_what_is_no_column_is_refused(values, kind, words):
    grid = dp.Grid.uniform(0, 1, 3)
    with pytest.raises(kind, match=f"^values must .*{words}"):
        grid.count(values)
    with pytest.raises(dp.ParameterError, match="nan_policy"):
        grid.count([1.0], nan_policy="propagate")
