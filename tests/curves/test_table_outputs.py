"""Released tables: samples, what is stored and read back, copies and pictures."""

from __future__ import annotations

import copy
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import LogNorm

import dpcore as dp
from dpcore.mechanisms import Dawa, Histogram
from dpcore.releases.cdf import taken
from dpcore.releases.table import raw_table
from tests.curves.small_tables import COUNTS, EXACT, GRID, NO_LOWER, RAW, RNG, exact

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
    assert ax.get_title() == f"{RAW.privacy}"
    # where the first cell begins is not known: it is as wide as the next one
    assert exact([[3, 1], [0, 0], [5, 0]], NO_LOWER).plot().get_xlim() == (0, 4)
    assert exact([[3]], dp.TableGrid(dp.Grid([1]), dp.Grid([2]))).plot().get_ylim() == (1, 2)
    own = plt.subplots()[1]
    assert RAW.plot(own, cmap="Reds", norm=LogNorm(1, 100)) is own
