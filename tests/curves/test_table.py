"""Released tables: what is read off them, on exact tables and beside simulated noise."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import LogNorm

import dpcore as dp
from dpcore.curves.inversion import shares_within
from dpcore.curves.plots import shortly
from dpcore.curves.table_noise import deviations_in_blocks
from dpcore.mechanisms import Dawa, Hierarchy, Histogram, NoNoise
from dpcore.releases.cdf import taken
from dpcore.releases.table import raw_table
from dpcore.summaries.table_grid import in_a_row
from tests.curves.raw_releases import curve_of
from tests.curves.small_tables import COUNTS, EXACT, GRID, NO_LOWER, RAW, RNG, X, Y, exact

# --- counts


def test_the_row_has_the_cells_along_hilberts_curve_and_those_outside_last():
    assert (EXACT.n, EXACT.outside) == (400, 0.0)
    table = exact(COUNTS, outside=7)
    cells = np.diff(table.row.counts, prepend=0)
    assert cells.tolist() == [*COUNTS.ravel()[in_a_row((10, 5))], 7]
    assert (table.n, table.outside) == (407, 7.0)
    assert np.array_equal(table.counts, COUNTS)
    assert table.marginal("x").n == 400


@pytest.mark.parametrize("mechanism", [Histogram(0.1), Hierarchy(0.1), Dawa(0.1)])
@pytest.mark.parametrize("outside", [None, 40])
def test_whole_counts_are_0_or_more_and_sum_to_n(mechanism, outside):
    table = raw_table(COUNTS, outside, GRID, taken(mechanism), RNG(4))
    for each in (table, table.isotonic()):
        whole = each.whole_counts
        assert whole.min() >= 0
        assert whole.dtype == np.int64
        assert abs(whole.sum() + table.isotonic().outside - table.n) <= 1
    if outside is None:
        assert table.whole_counts.sum() == table.n


def test_isotonic_is_that_of_the_row():
    table = RAW.isotonic()
    assert np.array_equal(table.row.counts, RAW.row.isotonic().counts)
    assert table.counts.min() >= 0
    assert table.counts.sum() == pytest.approx(400)
    assert table.marginal("x").processing == ("isotonic()",)
    assert RAW.marginal("x").processing == ()


# --- one column


@pytest.mark.parametrize(("axis", "values"), [("x", X), ("y", Y)])
def test_marginals_of_an_exact_table_are_the_columns_curves(axis, values):
    grid = GRID.x if axis == "x" else GRID.y
    found, expected = EXACT.marginal(axis), dp.cdf(values, grid, NoNoise())
    assert np.array_equal(found.counts, expected.counts)
    assert (found.n, found.grid) == (400, grid)
    assert not found.noise_deviation.any()


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("ends", [(None, 3), (2, None), (1, 4), (-math.inf, math.inf), (0, 1)])
def test_conditional_curves_of_an_exact_table_are_those_of_some_records(axis, ends):
    own, other = (X, Y) if axis == "x" else (Y, X)
    low, high = (-math.inf if ends[0] is None else ends[0]), ends[1] or math.inf
    chosen = own[(other > low) & (other <= high)]
    found = EXACT.conditional(axis, *ends)
    assert found.n == chosen.size
    assert np.array_equal(found.counts, found.grid.count(chosen).cumsum())


def test_cells_within_in_part_count_in_part():
    table = exact([[4, 8], [2, 6]], dp.TableGrid.uniform((0, 2), (0, 2), 2))
    found = table.conditional("y", 0.5, 1.25)  # half of the first column, a quarter of the second
    assert found.n == 8
    assert found.counts.tolist() == [2.5 * 8 / 8, 8]
    less = table.conditional("y", 0.75, 1.0)
    assert less.counts.tolist() == [1, 3]


def test_what_is_missing_to_a_whole_n_is_not_in_the_last_cell():
    table = exact([[7], [0]], dp.TableGrid.uniform((0, 2), (0, 1), (2, 1)))
    found = table.conditional("x", 0.0, 0.1)  # 0.7 records, all in the first cell
    assert found.n == 1
    assert found.counts.tolist() == [1, 1]


def test_noise_is_scaled_as_counts_are():
    table = raw_table(COUNTS, None, GRID, taken(Histogram(1.0)), RNG(13))
    found, whole = table.conditional("x", 0.0, 0.3), table.conditional("x", 0.0, 1.0)
    total = 0.3 * table.counts[:, 0].sum()
    assert found.n == round(total)
    # the deviation of 0.3, 0.6, ... cells, between those of whole numbers of them
    known = np.append(0.0, table.row.noise_deviation**2)
    expected = np.sqrt(np.interp(0.3 * np.arange(1, 11), np.arange(51), known))
    np.testing.assert_allclose(found.noise_deviation, expected * found.n / total)
    np.testing.assert_allclose(found.counts / found.n, whole.counts / whole.counts[-1], atol=0.02)


def test_where_little_is_released_there_is_one_record_at_least():
    found = EXACT.conditional("x", 10, 20)
    assert (found.n, found.counts[:-1].max(), found.counts[-1]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((None, 1), [1, 0, 0]),
        ((1, None), [0, 1, 1]),
        ((None, 0.9), [0, 0, 0]),
        ((0.9, 1), [1, 0, 0]),
        ((1, 3), [0, 1, 0.5]),
        ((-math.inf, math.inf), [1, 1, 1]),
    ],
)
def test_where_the_lower_end_is_not_known_the_first_cell_is_its_upper_end(ends, expected):
    assert shares_within(NO_LOWER.x, *ends, integers=False).tolist() == expected


@pytest.mark.parametrize("ends", [(-1.7e308, 0.0), (-1e308, 1.7e308), (5e-324, 1e-323)])
def test_shares_of_huge_and_of_tiny_cells(ends):
    grid = dp.Grid([-1e308, 1e308, 1.7e308], lower=-1.7e308)
    assert np.isfinite(shares_within(grid, *ends, integers=False)).all()
    assert shares_within(grid, 0.0, 1e308, integers=False).tolist() == [0, 0.5, 0]
    tiny = dp.Grid([5e-324, 1.5e-323], lower=0.0)
    assert shares_within(tiny, 5e-324, 1e-323, integers=False).tolist() == [0, 0.5]


@given(
    st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=6, unique=True),
    st.lists(st.floats(allow_nan=False), min_size=2, max_size=4, unique=True),
    st.booleans(),
)
def test_shares_of_ranges_in_a_row_add_up(thresholds, ends, known):
    first, *others = sorted(thresholds)
    grid = dp.Grid(others, lower=first if known else None)
    cuts = [-math.inf, *sorted(set(ends) - {math.inf, -math.inf}), math.inf]
    parts = [shares_within(grid, *each, integers=False) for each in itertools.pairwise(cuts)]
    assert all(((part >= 0) & (part <= 1)).all() for part in parts)
    np.testing.assert_allclose(np.sum(parts, axis=0), 1.0, rtol=1e-12)


def test_conditional_quantiles_of_an_exact_table_are_numpys():
    shares = [[0.1, 0.5], [0.9, 1.0]]
    whole = dp.TableGrid(dp.Grid.integers(1, 10), dp.Grid.integers(1, 5))
    table = replace(EXACT, grid=whole)
    found = table.conditional_quantiles("y", shares)
    assert found.shape == (10, 2, 2)
    for i in range(10):
        values = Y[i + 1 == X]
        expected = np.quantile(values, shares, method="inverted_cdf")
        np.testing.assert_array_equal(found[i], expected)
        curve = table.conditional("y", i, i + 1)
        np.testing.assert_array_equal(found[i], curve.quantile(shares))
    assert EXACT.conditional_quantiles("x", 0.5).shape == (5,)


def test_conditional_quantiles_of_a_column_whose_lower_end_is_not_known():
    """Its first cell counts, too; nothing is known where nothing is released."""
    table = exact([[3, 1], [0, 4], [5, 0], [0, 0]], dp.TableGrid(dp.Grid([1, 2, 4, 5]), NO_LOWER.y))
    known = table.conditional_quantiles("y", [0.9, 0.9])
    np.testing.assert_array_equal(known, [[16.0] * 2, [19.0] * 2, [10.0] * 2, [np.nan] * 2])


def test_less_than_half_a_record_has_no_quantiles():
    row = curve_of([0.4, 1.0], dp.Grid([1, 2]))
    table = dp.Table(dp.TableGrid.uniform((0, 2), (0, 1), (2, 1)), row)
    assert np.isnan(table.conditional_quantiles("y", 0.5)).tolist() == [True, False]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RAW.marginal("z"), "axis"),
        (lambda: RAW.conditional("x", 2, 2), r"upper.*2"),
        (lambda: RAW.conditional("x", [1, 2], 3), "lower"),
        (lambda: RAW.conditional("x", None, math.nan), "upper"),
        (lambda: RAW.conditional("x", "a"), "lower"),
        (lambda: RAW.conditional_quantiles("x", 1.1), r"p must lie within \[0, 1\]"),
        (lambda: RAW.sample(-1), "size"),
        (lambda: RAW.sample(rng=1), "rng"),
        (lambda: dp.Table(GRID.x, RAW.row), "grid"),
        (lambda: dp.Table(GRID, COUNTS), "row"),
        (lambda: dp.Table(NO_LOWER, RAW.row), "row must have 6 cells, or 7; got 50"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(dp.DpcoreError, match=f"^{words}"):
        call()


# --- noise


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "mechanism",
    [
        Histogram(0.5),
        Histogram(rho=0.02),
        Histogram(0.5, neighbours="add-or-remove-one"),
        Hierarchy(0.5, (6, 10), (1, 4)),
        Hierarchy(0.5, (8, 7), "equal"),  # the last block has fewer cells
        Hierarchy(0.5, (8, 7), (1, 9, 3), neighbours="add-or-remove-one"),
        Hierarchy(0.5, (4, 14), (9, 1, 3), neighbours="add-or-remove-one"),
        Hierarchy(rho=0.02, branching=(4, 16), budgets=(1, 9)),
    ],
    ids=str,
)
@pytest.mark.parametrize("outside", [None, 300])
def test_the_noise_of_marginals_and_conditional_curves_is_known(mechanism, outside):
    rng, counts = RNG(5), 100 + COUNTS
    tables = [raw_table(counts, outside, GRID, taken(mechanism), rng) for _ in range(400)]
    for pick in (
        lambda table: table.marginal("x"),
        lambda table: table.conditional("y", 2, 5),
        lambda table: table.conditional("x", 1, None),
    ):
        curves = [pick(table) for table in tables]
        stated = curves[0].noise_deviation
        found = np.std([each.counts for each in curves], axis=0)
        # of 400 draws, four deviations away
        np.testing.assert_allclose(found, stated, rtol=4 / math.sqrt(800), atol=0.4)


def test_cells_in_part_have_no_more_noise_than_is_stated():
    rng = RNG(6)
    tables = [raw_table(100 + COUNTS, None, GRID, taken(Histogram(0.5)), rng) for _ in range(300)]
    curves = [table.conditional("x", 0.5, 3.4) for table in tables]
    found = np.std([each.counts for each in curves], axis=0)
    assert np.all(found <= 1.2 * curves[0].noise_deviation + 0.4)


@pytest.mark.parametrize(
    ("branching", "budgets", "neighbours"),
    [
        ((6, 2), (1, 3), "replace-one"),
        ((4, 3), (1, 1), "replace-one"),
        ((3, 5), (2, 1, 3), "add-or-remove-one"),
        ((3, 4), (1, 9, 2), "add-or-remove-one"),
    ],
)
@pytest.mark.parametrize("cells", [11, 12])
def test_the_noise_in_blocks_is_that_of_least_squares(cells, branching, budgets, neighbours):
    """Beside the covariances of weighted least squares, with any weights of the cells."""
    mechanism = Hierarchy(0.7, branching, budgets, neighbours=neighbours)
    tree, rng = mechanism.tree(cells), RNG(15)
    at = np.arange(cells) // branching[1]
    asked = np.vstack([np.ones(cells), at == np.arange(at[-1] + 1)[:, np.newaxis], np.eye(cells)])
    known = np.maximum(np.repeat(tree.variances, np.diff(tree.starts)), 1e-6)
    covariance = np.linalg.inv(asked.T @ (asked / known[:, np.newaxis]))
    places, shares = rng.integers(0, 3, cells), rng.random(cells)
    found = deviations_in_blocks(mechanism.noise_deviation(cells), branching[1], places, shares, 3)
    weights = shares * (places <= np.arange(3)[:, np.newaxis])
    expected = np.sqrt(np.diag(weights @ covariance @ weights.T))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_noise_of_blocks_that_are_too_few_is_not_known():
    table = raw_table(COUNTS, None, GRID, taken(Hierarchy(1.0, (2, 30))), RNG(7))
    assert np.isinf(table.marginal("x").noise_deviation).all()


@pytest.mark.parametrize("branching", ["4,1", "4,0", "4,-3", "4,x", "4,", "4,4,4", "auto", 4])
@pytest.mark.parametrize("deviation", [1.0, 1e-170])
def test_the_noise_of_a_stored_table_that_no_tree_explains_is_not_known(branching, deviation):
    table = raw_table(COUNTS, None, GRID, taken(Hierarchy(1.0, (5, 10))), RNG(7))
    row = replace(table.row, mechanism={**table.row.mechanism, "branching": branching})
    assert np.isinf(replace(table, row=row).marginal("x").noise_deviation).all()
    none = replace(table.row, noise_deviation=np.append(np.full(49, deviation), 0.0))
    stated = replace(table, row=none).marginal("x").noise_deviation
    assert not np.isnan(stated).any()


@pytest.mark.parametrize("unit", [1e-300, 1e-100, 1e100, 1e137])
def test_the_noise_of_a_stored_table_has_any_unit(unit):
    table = raw_table(COUNTS, None, GRID, taken(Hierarchy(1.0, (5, 10))), RNG(7))
    row = replace(table.row, noise_deviation=unit * table.row.noise_deviation)
    expected = unit * table.marginal("x").noise_deviation[:-1]
    assert replace(table, row=row).marginal("x").noise_deviation[:-1] == pytest.approx(expected)
    for other in ([unit], [1.0, unit], [unit, 1.0]):
        deviation = np.append(np.resize(other, 49), 0.0)
        stated = replace(table, row=replace(row, noise_deviation=deviation)).marginal("x")
        assert not np.isnan(stated.noise_deviation).any()


@pytest.mark.parametrize("mechanism", [Hierarchy(1.0), Hierarchy(1.0, (4, 4, 4)), Dawa(1.0)])
def test_the_noise_of_marginals_is_not_known_for_others(mechanism):
    table = raw_table(COUNTS, None, GRID, taken(mechanism), RNG(7))
    assert np.isinf(table.marginal("x").noise_deviation).all()


@settings(max_examples=30)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32))
def test_marginals_and_whole_counts_of_any_table_agree(width, height, seed):
    counts = RNG(seed).integers(0, 4, (width, height))
    counts[0, 0] += 1
    table = exact(counts, dp.TableGrid.uniform((0, 1), (0, 1), (width, height)))
    assert np.array_equal(table.whole_counts, counts)
    assert table.marginal("x").counts.tolist() == counts.sum(axis=1).cumsum().tolist()
    assert table.marginal("y").counts.tolist() == counts.sum(axis=0).cumsum().tolist()


# --- samples


@pytest.mark.parametrize("grid", [GRID, dp.TableGrid(dp.Grid(range(1, 11)), GRID.y)])
def test_samples_have_the_tables_counts(grid):
    table = exact(COUNTS, grid)
    assert np.array_equal(grid.count(*table.sample(rng=RNG(8)).T), COUNTS)


def test_samples_stay_in_their_cells_at_the_ends_of_random_numbers_and_of_doubles():
    class Ends(np.random.Generator):
        def random(self, size):
            return np.resize([0.0, 1 - 2**-53], size)

    thresholds = [-1e308, -1.0, np.nextafter(-1.0, 0), 1e308, 1.7e308]
    grid = dp.TableGrid(dp.Grid(thresholds, lower=-1.7e308), dp.Grid([1.0, 2.0]))
    counts = np.full((5, 2), 2)
    found = exact(counts, grid).sample(rng=Ends(np.random.PCG64(1)))
    assert np.isfinite(found).all()
    assert np.array_equal(grid.count(*found.T), counts)


def test_samples_of_any_size_follow_the_counts():
    found = EXACT.sample(20_000, RNG(9))
    assert found.shape == (20_000, 2)
    shares = GRID.count(*found.T) / 20_000
    np.testing.assert_allclose(shares, COUNTS / 400, atol=0.005)
    assert EXACT.sample(0).shape == (0, 2)
    assert np.array_equal(EXACT.sample(5, RNG(1)), EXACT.sample(5, RNG(1)))


def test_samples_of_any_size_leave_empty_cells_empty():
    table = exact([[0], [2], [0], [1]], dp.TableGrid.uniform((0, 4), (0, 1), (4, 1)))
    cells = table.grid.count(*table.sample(3_000, RNG(14)).T).ravel()
    assert cells[0] == cells[2] == 0
    assert abs(cells[1] - 2_000) < 150


def test_a_table_without_records_gives_no_sample():
    table = exact(np.zeros_like(COUNTS), outside=5)
    assert table.sample().shape == (0, 2)
    with pytest.raises(dp.ParameterError, match="size"):
        table.sample(3)


# --- what is kept, and how it looks


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (3, 5)])
@pytest.mark.parametrize("outside", [None, 3])
def test_json_gives_every_bit_back(shape, outside):
    uniform = dp.TableGrid.uniform((0, 1), (-3, 1), shape)
    searched = dp.TableGrid(dp.Grid(uniform.x.thresholds), dp.Grid(uniform.y.thresholds, lower=-4))
    for grid, mechanism in ((uniform, Histogram(0.5)), (searched, Dawa(rho=0.1))):
        raw = raw_table(np.full(shape, 7), outside, grid, taken(mechanism), RNG(10))
        for table in (raw, raw.isotonic()):
            again = dp.Table.from_json(table.to_json())
            assert again.to_json() == table.to_json()
            assert (again.grid, again.row.grid) == (table.grid, table.row.grid)
            assert again.grid.y.lower == grid.y.lower
            for name in ("counts", "noise_deviation"):
                np.testing.assert_array_equal(getattr(again.row, name), getattr(table.row, name))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"dpcore.table"', '"dpcore.cdf"', 'has to be "dpcore.table"'),
        ('"x": {', '"z": {', "a grid without the field 'x'"),
        ('"size": 10', '"size": 9', r"counts.*45"),
        ('"size": 10', '"size": 16777216', "size"),
        ('"size": 10', '"size": true', "size"),
        ('"lower": 0.0', '"lower": 11.0', "upper"),
        ('"n": 400', '"n": 401', "counts"),
        ('"simulated": true', '"simulated": 1', "simulated"),
    ],
)
def test_damaged_json_is_refused(old, new, words):
    text = RAW.to_json()
    assert old in text
    with pytest.raises(dp.FormatError, match=words):
        dp.Table.from_json(text.replace(old, new, 1))


def test_a_row_is_not_a_grid_and_exact_tables_are_not_stored():
    text = RAW.to_json()
    start, stop = text.index('{"x"'), text.index(', "n"')
    for grid in ("[1, 2]", "{}", '{"x": 3, "y": 4}', "null"):
        with pytest.raises(dp.FormatError):
            dp.Table.from_json(text[:start] + grid + text[stop:])
    with pytest.raises(dp.ParameterError, match="an exact curve is not a release"):
        EXACT.to_json()


def test_copies_and_repr():
    for again in (copy.copy(RAW), copy.deepcopy(RAW), pickle.loads(pickle.dumps(RAW))):
        assert np.array_equal(again.counts, RAW.counts)
        assert again.privacy == RAW.privacy
    assert repr(RAW) == "<Table: 10 x 5 cells, n = 400, epsilon = 1, SIMULATED>"


def test_pictures():
    ax = RAW.plot()
    mesh = ax.collections[0]
    assert mesh.get_clim()[0] == 0.0
    assert mesh.get_array().shape == (5, 10)  # y from bottom to top, x from left to right
    np.testing.assert_allclose(mesh.get_array(), RAW.isotonic().counts.T)
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 10), (0, 5))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    assert ax.get_title() == shortly(RAW.privacy)
    # where the first cell begins is not known: it is as wide as the next one
    assert exact([[3, 1], [0, 0], [5, 0]], NO_LOWER).plot().get_xlim() == (0, 4)
    assert exact([[3]], dp.TableGrid(dp.Grid([1]), dp.Grid([2]))).plot().get_ylim() == (1, 2)
    own = plt.subplots()[1]
    assert RAW.plot(own, cmap="Reds", norm=LogNorm(1, 100)) is own


def test_a_range_without_records_tells_nothing():
    """Its one record lay in the last cell, for sure."""
    grid = dp.TableGrid(dp.Grid.integers(1, 9), dp.Grid([0.5, 1.0], lower=0.0))
    curve = dp.table([2, 3, 3], [0.1, 0.1, 0.1], grid, NoNoise()).conditional("x", 0.5, 1.0)
    assert curve.n == 1
    assert curve.quantile_interval(0.5) == (1.0, 9.0)
    assert curve.mean_interval() == (1.0, 9.0)


def test_means_of_marginals_with_unknown_noise_have_intervals():
    """They were not a number where the first cells are empty."""
    grid = dp.TableGrid(dp.Grid.integers(1, 9), dp.Grid([0.5, 1.0], lower=0.0))
    table = dp.table(np.arange(4, 10), np.full(6, 0.3), grid, Hierarchy(20.0), rng=RNG(1))
    curve = table.marginal("x")
    assert curve.counts[0] == 0.0
    assert np.isinf(curve.noise_deviation).all()
    assert curve.mean_interval() == curve.population_mean_interval() == (1.0, 9.0)
