"""Searches that start from a guide, and tables that overflow: exact on any grid."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.kernels.counting import counts as kernels
from dpcore.kernels.counting import score_counts as kernels_by_class
from dpcore.summaries import totals
from dpcore.summaries.guides import best_guide, no_guide
from tests import reference

HUGE = np.finfo(float).max
TINY = np.nextafter(0.0, 1.0)
FIRST = np.random.default_rng(1)


def ulps(start, count):
    """Consecutive doubles."""
    return (np.array(start).view(np.int64) + np.arange(count)).view(np.float64)


THRESHOLDS = {
    "one": [3.0],
    "two": [-0.0, TINY],
    "all of the doubles": np.r_[-HUGE, -1.0, -TINY, 0.0, TINY, 1.0, HUGE],
    "widest": np.linspace(-HUGE / 2, HUGE / 2, 50) * 2,
    "every exponent": 2.0 ** np.arange(-1074, 1024),
    "every exponent, negative": -(2.0 ** np.arange(1023, -1075, -1)),
    "subnormal": ulps(0.0, 500),
    "one ulp apart": ulps(1.0 - 300 * 2.0**-53, 600),
    "one ulp apart, far from zero": 1e300 + 1e284 * np.arange(0, 1e4, 1.5),
    "a cluster and two far": np.r_[-1e200, ulps(7.0, 400), 1e200],
    "clusters": np.unique(np.concatenate([ulps(10.0**e, 40) for e in range(-9, 9)])),
    "doubly exponential": np.exp(-np.exp(np.linspace(5, -5, 1000))),
    "linear": np.arange(-500, 501) / 8,
    "logarithmic": np.geomspace(1e-6, 1, 1000),
    "logarithmic on both sides": np.r_[-np.geomspace(1, 1e-9, 400), 0, np.geomspace(1e-9, 1, 400)],
    "integers": np.arange(1.0, 101.0),
    "random": np.unique(FIRST.normal(size=1000)),
    "powers of two": 2.0 ** np.arange(20),
}


def values_around(thresholds):
    with np.errstate(over="ignore"):
        neighbours = np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf)
    extremes = [-np.inf, -HUGE, -1.0, -TINY, -0.0, 0.0, TINY, 1.0, HUGE, np.inf]
    middles = thresholds[1:] / 2 + thresholds[:-1] / 2
    return np.concatenate([thresholds, *neighbours, middles, extremes])


def counts_of(values, thresholds, guide):
    table, counts = np.zeros(thresholds.size, np.uint16), np.zeros(thresholds.size, np.int64)
    assert kernels.count_search(values, thresholds, *guide, table, counts) == 0
    return counts + table


@pytest.mark.sample(21)
@pytest.mark.parametrize("thresholds", THRESHOLDS.values(), ids=THRESHOLDS)
@pytest.mark.parametrize("make", [no_guide, best_guide])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cells_are_exact_wherever_the_search_starts(thresholds, make, dtype):
    thresholds = np.array(thresholds)
    with np.errstate(over="ignore"):
        values = values_around(thresholds).astype(dtype)
    found = counts_of(values, thresholds, make(thresholds))
    assert np.array_equal(found, reference.count(values.astype(float), thresholds))


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=150)
@given(st.lists(finite, min_size=1, max_size=40), st.lists(st.floats(allow_nan=False), max_size=40))
def test_any_values_on_any_grid(thresholds, others):
    thresholds = np.unique(np.array(thresholds) + 0.0)
    values = np.concatenate([values_around(thresholds), others])
    found = counts_of(values, thresholds, best_guide(thresholds))
    assert np.array_equal(found, reference.count(values, thresholds))


@pytest.mark.parametrize("thresholds", THRESHOLDS.values(), ids=THRESHOLDS)
def test_a_guide_stays_on_the_grid(thresholds):
    """Or the kernel would read behind its arrays."""
    thresholds = np.array(thresholds)
    guide = best_guide(thresholds)
    assert 1 <= guide.length <= thresholds.size
    assert 0 <= guide.starts.min() <= guide.starts.max() <= thresholds.size - guide.length
    assert 0.0 <= guide.bottom <= guide.top < np.inf
    distance = np.float64(guide.top).view(np.uint64) - np.float64(guide.bottom).view(np.uint64)
    assert int(distance) >> guide.shift == guide.starts.size - 1
    assert guide.starts.size <= max(1, 8 * thresholds.size)


@pytest.mark.parametrize(
    ("name", "most"), [("linear", 2), ("integers", 2), ("logarithmic", 2), ("powers of two", 2)]
)
def test_little_is_left_to_search_on_regular_grids(name, most):
    assert best_guide(np.array(THRESHOLDS[name])).length <= most


@pytest.mark.parametrize("copied", [copy.copy, lambda grid: pickle.loads(pickle.dumps(grid))])
@pytest.mark.parametrize("grid", [dp.Grid.log(1, 9, 1000), dp.Grid.uniform(1, 9, 1000)], ids=repr)
def test_copies_of_a_grid_leave_the_guide_behind(grid, copied):
    fresh = len(pickle.dumps(grid))
    grid.count(np.linspace(0, 10, 5000))
    assert len(pickle.dumps(grid)) == fresh
    twin = copied(grid)
    assert (twin, repr(twin), twin.describe()) == (grid, repr(grid), grid.describe())
    values = np.geomspace(0.5, 20, 3000)
    assert np.array_equal(twin.count(values), grid.count(values))


# --- cells equally wide


@pytest.mark.parametrize(
    "grid",
    [
        dp.Grid.uniform(1.0, 1.0 + 2.0**-42, 1024),  # cells one ulp wide
        dp.Grid.uniform(-1.0 - 2.0**-42, -1.0, 1024),
        dp.Grid.uniform(0.0, 1000 * TINY, 1000),
        dp.Grid.uniform(-3 * TINY, 4 * TINY, 7),
        dp.Grid.uniform(1e300, 1e300 + 2.0**960, 50),
        dp.Grid.uniform(-HUGE / 8, HUGE / 8, 3),
        dp.Grid.uniform(0.0, 1.0, 3 * 2**10),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_uniform_cells_are_exact(grid, dtype):
    with np.errstate(over="ignore"):
        values = values_around(grid.thresholds).astype(dtype)
    values = np.random.default_rng(2).permutation(values)
    expected = reference.count(values.astype(float), grid.thresholds)
    assert np.array_equal(grid.count(values), expected)
    assert np.array_equal(dp.Grid(grid.thresholds).count(values), expected)


# --- tables of 16 bits


OVERFLOWING = np.repeat([0.2, 0.5, np.nan, 0.9], [2**16 - 1, 2**16, 70_000, 3 * 2**16 + 5])
GRIDS = [dp.Grid.uniform(0, 1, 10), dp.Grid(np.arange(1, 11) / 10)]


@pytest.mark.needs_jit
@pytest.mark.parametrize("grid", GRIDS, ids=["uniform", "any"])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("processors", [1, 3])
def test_counts_beyond_sixteen_bits(grid, shuffled, processors, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    values = np.random.default_rng(3).permutation(OVERFLOWING) if shuffled else OVERFLOWING
    expected = np.zeros(10, np.int64)
    expected[[1, 4, 8]] = 2**16 - 1, 2**16, 3 * 2**16 + 5
    assert np.array_equal(grid.count(values, nan_policy="omit"), expected)
    labels = values > 0.3
    expected = np.r_[expected, np.zeros(10, np.int64)]
    expected[[4, 8, -5, -9]] = 0, 0, 2**16, 3 * 2**16 + 5
    assert np.array_equal(dp.score_counts(labels, values, grid, nan_policy="omit"), expected)


@pytest.mark.parametrize("kernel", [kernels, kernels_by_class])
@pytest.mark.parametrize("has_table", [True, False])
def test_counts_are_added_to_what_is_there(kernel, has_table):
    grid = dp.Grid.uniform(0, 1, 1000)
    places = np.array([0.2505, 0.2505, np.nan, 0.2505])
    classes = (np.ones(4, bool),) if kernel is kernels_by_class else ()
    size = grid.size * (1 + len(classes))
    for count, start in (
        (kernel.count_uniform, grid._uniform_line()),
        (kernel.count_search, best_guide(grid.thresholds)),
    ):
        for keep, missing in ((slice(None), 1), ([0, 1, 3], 0)):
            table, counts = np.full(size * has_table, 2**16 - 2, np.uint16), np.full(size, 7)
            records = [part[keep] for part in (places, *classes)]
            assert count(*records, grid.thresholds, *start, table, counts) == missing
            counts[: table.size] += table
            assert counts.sum() == size * 7 + (2**16 - 2) * table.size + 3
            assert counts[1999 - 250 if classes else 250] == 10 + (2**16 - 2) * has_table


@pytest.mark.parametrize("processors", [2, 3, 7])
def test_threads_have_a_table_each_and_lose_nothing(processors, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    given: list[int] = []

    def add(start, stop, out):
        given.append(id(out))
        out[start % 5] += stop - start
        return int(start <= 77 < stop)

    out = np.array([1, 0, 0, 0, 0])
    assert totals.add_on_threads(add, 10_000, 10, out) == 1
    assert out.sum() == 10_001
    assert len(given) == 4 * processors
    assert len(set(given)) <= processors
