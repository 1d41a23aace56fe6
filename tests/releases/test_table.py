"""Releases of tables: what is spent on what, the default mechanism, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa, Dyadic, Hierarchy, Histogram, NoNoise
from dpcore.privacy.allowance import Allowance
from dpcore.releases.table import table_mechanism
from dpcore.summaries.table_grid import in_a_row

RNG = np.random.default_rng
GRID = dp.TableGrid.uniform((0, 1), (0, 1), (6, 5))
X, Y = RNG(1).random((2, 3_000))
COUNTS = GRID.count(X, Y)
MECHANISMS = {
    "Histogram": Histogram(1.0),
    "Hierarchy": Hierarchy(1.0),
    "Hierarchy, a quadtree": Hierarchy(1.0, 4),
    "Dawa": Dawa(1.0),
    "Dyadic": Dyadic(1.0),
    "ToeplitzGaussian": dp.mechanisms.ToeplitzGaussian(rho=0.5),
    "NoNoise": NoNoise(),
    "DistributedNoise": dp.trust.DistributedNoise(1.0, clients=3_000),
    "Local": dp.trust.Local(3.0, clients=3_000),
}


# --- what is released


@pytest.mark.parametrize("name", MECHANISMS)
def test_any_mechanism_releases_the_row(name):
    mechanism = MECHANISMS[name]
    raw = dp.table(X, Y, GRID, mechanism, isotonic=False, rng=RNG(2))
    row = COUNTS.ravel()[in_a_row(GRID.shape)]
    numbers = dp.Grid(np.arange(1, 31))
    curve = dp.cdf_from_counts(row, numbers, mechanism, isotonic=False, rng=RNG(2))
    assert np.array_equal(raw.row.counts, curve.counts)
    assert np.array_equal(raw.row.noise_deviation, curve.noise_deviation)
    assert raw.privacy == curve.privacy
    assert raw.n == 3_000
    table = dp.table(X, Y, GRID, mechanism, rng=RNG(2))
    assert np.array_equal(table.row.counts, raw.isotonic().row.counts)


@pytest.mark.parametrize(
    "budget", [{"epsilon": 1}, {"rho": Fraction(1, 9)}, {"epsilon": 0.5, "delta": 1e-6}]
)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_budgets(budget, neighbours):
    table = dp.table(X, Y, GRID, neighbours=neighbours, **budget, rng=RNG(3))
    curve = dp.cdf(X, GRID.x, neighbours=neighbours, **budget, rng=RNG(3))
    stated = [(each.epsilon, each.rho, each.neighbours) for each in (table.privacy, curve.privacy)]
    assert stated[0] == stated[1]
    assert table.privacy.delta <= budget.get("delta", 0.0)
    assert dp.table(X, Y, GRID, neighbours=neighbours, **budget).privacy.simulated is False
    assert table.privacy.simulated


def test_counts_release_as_records_do():
    for options in ({"epsilon": 1.0}, {"rho": 0.1, "isotonic": False}):
        first = dp.table(X, Y, GRID, **options, rng=RNG(4))
        second = dp.table_from_counts(COUNTS, GRID, **options, rng=RNG(4))
        assert first.to_json() == second.to_json()


def test_containers_give_the_same_release():
    expected = dp.table(X, Y, GRID, epsilon=1.0, rng=RNG(5))
    frame = pd.DataFrame({"x": X, "y": Y})
    for x, y in ((frame.x, frame.y), (list(X), pl.Series(Y)), (frame.to_numpy()[:, 0], Y)):
        found = dp.table(x, y, GRID, epsilon=1.0, rng=RNG(5))
        assert replace(found, names=(None, None)) == expected


def test_zero_records_where_their_number_is_private():
    options = {"epsilon": 1.0, "neighbours": "add-or-remove-one", "rng": RNG(6)}
    table = dp.table([], [], GRID, **options)
    assert table.n >= 1  # released
    assert table.counts.shape == (6, 5)
    with pytest.raises(dp.ParameterError, match=r"\bx\b"):
        dp.table([], [], GRID, epsilon=1.0)
    with pytest.raises(dp.ParameterError, match="counts"):
        dp.table_from_counts(np.zeros((6, 5), int), GRID, epsilon=1.0)


def test_records_without_a_value_are_left_out_whole():
    x = np.where(np.arange(3_000) % 7 == 0, np.nan, X)
    table = dp.table(x, Y, GRID, NoNoise(), nan_policy="omit")
    kept = np.isfinite(x)
    assert table.n == kept.sum()
    assert np.array_equal(table.counts, GRID.count(X[kept], Y[kept]))


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1)])
def test_tables_of_one_row_are_curves(shape):
    grid = dp.TableGrid.uniform((0, 1), (0, 1), shape)
    table = dp.table(X, Y, grid, Histogram(1.0), isotonic=False, rng=RNG(7))
    axis, values = ("x", X) if shape[0] > 1 else ("y", Y)
    own = grid.x if axis == "x" else grid.y
    marginal = table.marginal(axis)
    assert marginal.n == 3_000
    # Hilbert's curve of a line is the line, in one direction or the other
    curve = dp.cdf(values, own, Histogram(1.0), isotonic=False, rng=RNG(7))
    if np.array_equal(in_a_row(shape), np.arange(own.size)):
        np.testing.assert_allclose(marginal.counts, curve.counts)
    np.testing.assert_allclose(marginal.noise_deviation, curve.noise_deviation, atol=1e-5)


# --- the default


def taken(size, n, **budget):
    given = {"epsilon": None, "rho": None, "neighbours": "replace-one", "delta": None, **budget}
    return table_mechanism(size, Allowance.checked(**given), n)


def blocks_of(size, blocks, share, **budget):
    """The tree of so many blocks of cells, with their share of the budget."""
    return Hierarchy(branching=(blocks, size // blocks), budgets=(share, 1.0 - share), **budget)


COUNTED = {  # for epsilon and for rho, by the side of the table
    8: (Histogram(1.0), Histogram(rho=0.125)),
    16: (Histogram(1.0), blocks_of(256, 16, 0.25, rho=0.125)),
    64: (blocks_of(4_096, 64, 0.2, epsilon=1.0), blocks_of(4_096, 64, 0.25, rho=0.125)),
    128: (blocks_of(2**14, 64, 0.2, epsilon=1.0), blocks_of(2**14, 256, 0.25, rho=0.125)),
    256: (blocks_of(2**16, 256, 0.2, epsilon=1.0), blocks_of(2**16, 256, 0.25, rho=0.125)),
}


@pytest.mark.parametrize(
    "side", [8, 16, *(pytest.param(side, marks=pytest.mark.needs_jit) for side in (64, 128, 256))]
)
def test_few_records_for_so_many_cells_are_told_in_buckets_and_many_in_blocks(side):
    size = side**2
    most = size**1.5 / 16
    assert taken(size, int(most), epsilon=1.0) == Dawa(1.0)
    assert taken(size, int(most) + 1, epsilon=1.0) == COUNTED[side][0]
    assert taken(size, int(most * 10), epsilon=0.1) == Dawa(0.1)
    assert taken(size, int(4 * most), rho=0.125) == Dawa(rho=0.125)
    assert taken(size, int(4 * most) + 1, rho=0.125) == COUNTED[side][1]


@pytest.mark.parametrize("size", [1_023, 1_024, 1_025, 10_000, 2**14 + 1])
@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.125}], ids=str)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_blocks_cover_all_cells_of_any_table(size, budget, neighbours):
    found = taken(size, None, neighbours=neighbours, **budget)
    if size < 1_024 and "epsilon" in budget:
        assert found == Histogram(1.0, neighbours=neighbours)
        return
    blocks, block = found.branching
    assert (blocks - 1) * block < size <= blocks * block
    assert found.branching_for(size) == (blocks, block)
    assert found.privacy == Histogram(**budget, neighbours=neighbours).privacy
    shares = found.shares_for(size)
    assert sum(shares) == pytest.approx(1.0)
    assert shares[-1] == pytest.approx(0.8 if "epsilon" in budget else 0.75)
    assert (shares[0] == 0.0) == (neighbours == "replace-one")


@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.125}], ids=str)
def test_blocks_cost_single_cells_little_and_sums_gain(budget):
    """Of the raw noise on each cell, and on the sums of all columns of cells up to each."""
    grid, nothing = dp.TableGrid.uniform((0, 1), (0, 1), 64), np.full((64, 64), 10)
    counts = {}
    for name, mechanism in (
        ("flat", Histogram(**budget)),
        ("blocks", taken(64**2, None, **budget)),
    ):
        noise = dp.table_from_counts(nothing, grid, mechanism, isotonic=False, rng=RNG(3)).counts
        noise -= 10
        counts[name] = np.sqrt([np.mean(noise**2), np.mean(noise.sum(axis=0).cumsum() ** 2)])
        marginal = dp.table_from_counts(nothing, grid, mechanism, rng=RNG(3)).marginal("x")
        counts[name][1] = np.sqrt(np.mean(marginal.noise_deviation**2))
    cells, sums = counts["blocks"] / counts["flat"]
    assert cells < 1.3
    assert sums < 0.75


def test_the_default_of_a_large_table_knows_the_noise_of_its_marginals():
    grid = dp.TableGrid.uniform((0, 1), (0, 1), 32)
    raw = dp.table(X, Y, grid, epsilon=20.0, isotonic=False, rng=RNG(8))
    assert raw.row.mechanism["name"] == "hierarchy"
    some = Y[(X > 0.25) & (X <= 0.75)]
    for curve, values in ((raw.marginal("x"), X), (raw.conditional("y", 0.25, 0.75), some)):
        assert (curve.noise_deviation < 10).all()  # records; of 3,000
        low, high = curve.band(0.999)
        exact = grid.x.count(values).cumsum() / values.size
        assert ((low <= exact) & (exact <= high)).mean() > 0.9
    held = 0
    for low in np.arange(32) / 32:
        curve = raw.isotonic().conditional("y", low, low + 1 / 32)
        ends = curve.quantile_interval([0.25, 0.5])
        exact = np.quantile(Y[(low < X) & (low + 1 / 32 >= X)], [0.25, 0.5], method="inverted_cdf")
        held += ((ends.low <= exact) & (exact <= ends.high)).sum()
        assert (ends.high - ends.low).mean() < 0.5
    assert held >= 0.9 * 64


def test_a_private_number_of_records_plays_no_part():
    for n in (0, 10, 10**9):
        found = taken(4_096, n, epsilon=1.0, neighbours="add-or-remove-one")
        shares = pytest.approx((0.05, 0.15, 0.8))
        assert found.shares_for(4_096) == shares
        assert found.branching == (64, 64)


def test_a_delta_is_used_where_it_helps():
    found = taken(4_096, 10**8, epsilon=0.5, delta=1e-6)
    laplace = blocks_of(4_096, 64, 0.2, epsilon=0.5)
    assert found == laplace  # of one cell Laplace noise is less
    assert taken(4_096, 10**8, epsilon=20.0, delta=0.1).privacy.epsilon <= 20.0
    few = taken(4_096, 100, epsilon=0.5, delta=1e-6)
    assert isinstance(few, Dawa)
    assert few.privacy.delta <= 1e-6
    # the noise that there would be on each cell decides, whatever DAWA's is
    assert taken(4_096, 30_000, epsilon=0.5, delta=1e-3) == Dawa(0.5, delta=1e-3)
    assert taken(4_096, 33_000, epsilon=0.5, delta=1e-3) == laplace
    assert taken(4_096, 100_000, epsilon=0.5, delta=0.01) == Dawa(0.5, delta=0.01)
    gaussian = blocks_of(4_096, 64, 0.25, epsilon=0.5, delta=0.01)
    assert taken(4_096, 130_000, epsilon=0.5, delta=0.01) == gaussian


def test_the_default_says_what_it_was():
    for n, name in ((100, "dawa"), (3_000, "histogram")):
        table = dp.table(X[:n], Y[:n], GRID, epsilon=0.05 if n == 100 else 1.0, rng=RNG(8))
        assert table.row.mechanism["name"] == name


# --- what is refused, before anything is spent


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grid": GRID.x}, "grid"),
        ({"x": X[1:]}, r"y must have the shape of x, \(2999,\)"),
        ({"y": np.append(Y[1:], np.nan)}, r"\by\b"),
        ({"x": list("ab")}, r"\bx\b"),
        ({"epsilon": None}, "epsilon or rho must be given"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": 1e-300}, "epsilon"),
        ({"rho": 1.0}, "rho"),
        ({"isotonic": 1}, "isotonic"),
        ({"rng": 3}, "rng"),
        ({"nan_policy": "drop"}, "nan_policy"),
        ({"neighbours": "one"}, "neighbours"),
        ({"mechanism": Histogram(1.0)}, "epsilon"),
        ({"mechanism": 3, "epsilon": None}, "mechanism"),
        ({"mechanism": dp.trust.SquareWave(1.0, 3_000), "epsilon": None}, "mechanism"),
    ],
)
def test_bad_arguments_are_refused_by_name_before_noise_is_drawn(monkeypatch, changes, words):
    def spent(*_, **__):
        raise AssertionError("noise was drawn")

    for each in (Hierarchy, Histogram, Dawa):
        monkeypatch.setattr(each, "release", spent)
    monkeypatch.setattr(Dawa, "release_with_deviation", spent)
    arguments = {"x": X, "y": Y, "grid": GRID, "epsilon": 1.0, **changes}
    with pytest.raises(dp.DpcoreError, match=f"^{words}"):
        dp.table(**arguments)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (COUNTS.T, r"counts must have shape \(6, 5\)"),
        (COUNTS.ravel(), r"counts must have shape \(6, 5\)"),
        (COUNTS * 1.0, "counts"),
        (-COUNTS, "counts"),
    ],
)
def test_counts_that_are_none_are_refused(counts, words):
    with pytest.raises(dp.DpcoreError, match=f"^{words}"):
        dp.table_from_counts(counts, GRID, epsilon=1.0)


@pytest.mark.full
@pytest.mark.needs_jit
def test_as_many_cells_as_there_may_be():
    grid = dp.TableGrid.uniform((0, 1), (0, 1), 2**12)
    table = dp.table(X, Y, grid, Histogram(100.0), isotonic=False, rng=RNG(9))
    assert table.counts.shape == (4_096, 4_096)
    assert table.marginal("x").n == 3_000


@pytest.mark.parametrize(("x", "y"), [([], []), ([np.nan], [0.5])], ids=["none", "incomplete"])
def test_a_mechanism_for_records_that_come_and_go_releases_tables_of_nobody(x, y):
    mechanism = dp.mechanisms.Histogram(1.0, neighbours="add-or-remove-one")
    released = dp.table(x, y, GRID, mechanism, nan_policy="omit")
    assert released.privacy.neighbours == "add-or-remove-one"
