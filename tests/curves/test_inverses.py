"""Quantiles and samples: places within cells, whole numbers, and thresholds by name."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

import dpcore as dp
from tests.curves.raw_releases import another, curve_of

RNG = np.random.default_rng
DECILES = np.arange(1, 10) / 10
EXACT = dp.mechanisms.NoNoise()


cells_of = st.lists(st.integers(0, 5), min_size=1, max_size=30).map(lambda c: [*c[:-1], c[-1] + 1])
probabilities = st.lists(st.integers(0, 1000).map(lambda i: i / 1000), max_size=9)


# --- places within cells


@settings(max_examples=200)
@given(cells_of, probabilities, st.integers(0, 99))
def test_quantiles_invert_the_curve_that_is_linear_between_thresholds(cells, p, seed):
    counts = np.cumsum(cells)
    ends = np.concatenate([[-3.0], np.cumsum(RNG(seed).uniform(0.1, 2, counts.size))])
    curve = curve_of(counts, dp.Grid(ends[1:], lower=-3.0))
    share = np.concatenate([[0.0], counts / counts[-1]])
    p = np.r_[p, 0.0, 1.0, counts / counts[-1]]
    found = curve.quantile(p)
    assert np.interp(found, ends, share) == pytest.approx(p, abs=1e-9)
    reached = ends[np.searchsorted(share, p, side="left")]  # and the curve may be flat from there
    assert np.all(found <= reached)
    assert np.all(np.diff(curve.quantile(np.sort(p))) >= 0.0)
    at_thresholds = np.isin(p, share) & (p > 0.0)
    assert np.array_equal(found[at_thresholds], reached[at_thresholds])


def test_shares_are_compared_as_they_are_rounded():
    curve = curve_of([7, 7, 100], dp.Grid([1.0, 2.0, 4.0]))
    assert 0.07 * 100 > 7
    for method in ("linear", "inverted_cdf"):
        assert curve.quantile(0.07, method=method) == 1.0
    assert curve(curve.quantile(0.07)) == 0.07


@settings(max_examples=200)
@given(st.lists(st.integers(-9, 9), min_size=0, max_size=40), st.floats(0.0, 1))
def test_a_quantile_of_a_raw_curve_is_where_it_crosses_from_below(noisy, p):
    counts = np.array([*noisy, 5])
    ends = 1.5 * np.arange(counts.size + 1)
    curve = curve_of(counts, dp.Grid.uniform(0, ends[-1], counts.size))
    at = float(curve.quantile(p))
    cell = np.searchsorted(ends, curve.quantile(p, method="inverted_cdf")) - 1
    assert ends[cell] <= at <= ends[cell + 1]
    before = 0 if cell == 0 else counts[cell - 1]
    assert counts[cell] / 5 >= p
    assert cell == 0 or before / 5 < p
    share = (at - ends[cell]) / 1.5
    assert before + share * (counts[cell] - before) == pytest.approx(5 * p) or p == 0.0


@pytest.mark.parametrize(
    ("grid", "least", "quarter"),
    [
        (dp.Grid.uniform(10, 20, 2), 10.0, 12.5),
        (dp.Grid.log(1, 16, 2), 1.0, 2.5),
        (dp.Grid([5.0, 6.0], lower=-5), -5.0, 0.0),
        (dp.Grid([5.5, 6.0]), 5.5, 5.5),
    ],
)
def test_the_first_cell_begins_where_the_grid_says(grid, least, quarter):
    described = json.loads(json.dumps(grid.describe()))
    for same in (grid, pickle.loads(pickle.dumps(grid)), dp.Grid.from_description(described)):
        curve = curve_of([4, 8], same, integers=False)
        expected = [least, quarter, grid.thresholds[0]]
        assert curve.quantile([0.0, 0.25, 0.5]) == pytest.approx(expected)


def test_cells_that_are_wider_than_doubles_and_narrower_than_their_halves():
    wide = curve_of([1, 3, 4], dp.Grid([-1.5e308, 1.5e308, 1.7e308]))
    assert wide.quantile([0.25, 0.5, 0.75, 1.0]).tolist() == [-1.5e308, 0.0, 1.5e308, 1.7e308]
    assert replace(wide, integers=True).quantile(0.5) == 0.0
    narrow = curve_of([0, 9], dp.Grid([5e-324, 1e-323]))
    assert np.all(np.isin(narrow.quantile(DECILES), [5e-324, 1e-323]))
    many = curve_of([2**62, 2**62 + 1, 2**63 - 1], dp.Grid([1.0, 2.5, 3.0], lower=0))
    assert np.all(np.diff(many.quantile(np.linspace(0, 1, 99))) > 0)


# --- whole numbers


WHOLE = RNG(3).poisson(9, 2001)
GRIDS = [
    dp.Grid.integers(0, 40),
    dp.Grid(np.arange(41), lower=0),
    dp.Grid.uniform(0, 40, 400),
    dp.Grid.uniform(-0.7, 40.1, 333),
]


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
def test_quantiles_of_whole_numbers_are_exact(grid):
    values = WHOLE - WHOLE.min()  # some are 0
    curve = dp.cdf(values, grid, EXACT, integers=True)
    p = np.arange(1, 2001) / 2001
    exact = np.quantile(values, p, method="inverted_cdf")
    # NumPy rounds p n, which may be above the number of values that are at most so large
    assert np.mean(curve.quantile(p) == exact) > 0.99
    exact = np.quantile(values, DECILES, method="inverted_cdf")
    assert curve.quantile(DECILES).tolist() == exact.tolist()
    assert set(curve.sample(500, RNG(1))) <= set(values)


@settings(max_examples=100)
@given(cells_of, probabilities, st.booleans())
def test_cells_of_one_whole_number_give_it_whatever_the_noise(cells, p, said):
    counts = np.cumsum(cells) - np.array(cells) // 2 * (RNG(1).random(len(cells)) < 0.5)
    counts[-1] = max(1, counts[-1])
    curve = curve_of(counts, dp.Grid.integers(-4, counts.size - 5))
    if said:
        curve = replace(curve, grid=dp.Grid(curve.thresholds, lower=-4), integers=True)
    steps = curve.quantile(p, method="inverted_cdf")
    assert curve.quantile(p).tolist() == steps.tolist()


@settings(max_examples=100)
@given(cells_of, probabilities, st.integers(0, 99))
def test_in_wide_cells_it_is_the_least_whole_number_to_reach_p(cells, p, seed):
    counts, rng = np.cumsum(cells), RNG(seed)
    ends = np.cumsum(rng.integers(1, 9, counts.size)).astype(float)
    curve = curve_of(counts, dp.Grid(ends, lower=1), integers=True)  # the first cell holds 1, too
    found = curve.quantile(p)
    assert np.all(found == np.rint(found))
    share = np.concatenate([[0.0], counts / counts[-1]])
    at = [np.interp(found - gap, [0.0, *ends], share) for gap in (0, 1)]
    assert np.all(at[0] >= np.array(p) - 1e-9)
    assert np.all((at[1] <= np.array(p) + 1e-9) | (found == 1.0))


def test_what_is_in_a_cell_without_whole_numbers_counts_for_the_nearest():
    curve = curve_of([2, 4, 6, 8, 10], dp.Grid([0.3, 1.0, 1.4, 1.9, 2.3]), integers=True)
    p = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9]
    assert curve.quantile(p).tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
    ends = curve_of([1, 2, 4], dp.Grid([-0.55, 3.5, 3.9], lower=-0.9), integers=True)
    assert ends.quantile([0.0, 0.2, 0.4, 0.9]).tolist() == [0.0, 0.0, 2.0, 3.0]
    assert not np.any(np.signbit(ends.quantile([0.0, 0.2])))


@settings(max_examples=100)
@given(cells_of, st.integers(0, 99), st.booleans())
def test_integers_have_whole_quantiles_and_samples_on_any_grid(cells, seed, known):
    counts, rng = np.cumsum(cells), RNG(seed)
    ends = np.cumsum(rng.exponential(0.7, counts.size)) - 3.3
    curve = curve_of(counts, dp.Grid(ends, lower=-3.3 if known else None), integers=True)
    p = np.linspace(0, 1, 101)
    found, reals = curve.quantile(p), replace(curve, integers=False).quantile(p)
    assert np.all(found == np.rint(found))
    assert np.all(np.diff(found) >= 0)
    assert np.all(np.abs(found - reals) < 1 + 1e-9)
    drawn = curve.sample(50, rng)
    assert np.all(drawn == np.rint(drawn))


def test_values_do_not_tell_what_they_are_and_types_do():
    def said(values):
        return dp.cdf(values, dp.Grid.uniform(0, 9, 9), EXACT, nan_policy="omit").integers

    silent = [1, 2.0], [1, 2], [True, False], pd.Series([1, None], dtype="Int8"), pl.Series([2.0])
    assert [said(values) for values in silent] == [None] * 5
    told = pl.Series([True]), pa.array([1, None]), np.array([1])
    assert [said(values) for values in told] == [True] * 3
    with pytest.raises(dp.DtypeError, match="integers"):
        dp.cdf([1], GRIDS[0], epsilon=1.0, integers="yes")


@pytest.mark.parametrize(
    ("grid", "said", "whole"),
    [(0, None, True), (0, False, False), (2, None, False), (2, True, True)],
)
def test_counts_are_of_whole_numbers_on_a_grid_of_them(grid, said, whole):
    counts = GRIDS[grid].count(WHOLE)
    curve = dp.cdf_from_counts(counts, GRIDS[grid], EXACT, integers=said)
    assert (curve.quantile(0.5) == np.median(WHOLE)) == whole


# --- samples


def test_samples_lie_evenly_within_cells():
    curve = curve_of([100, 500, 500, 1000], dp.Grid([1.0, 2.0, 4.0, 8.0], lower=0))
    drawn = curve.sample(20_000, RNG(1))
    linear = kstest(drawn, lambda t: np.interp(t, [0, 1, 2, 4, 8], [0, 0.1, 0.5, 0.5, 1]))
    assert linear.pvalue > 0.01
    assert np.unique(drawn).size > 19_000
    whole = replace(curve, integers=True).sample(20_000, RNG(1))
    drawn, frequency = np.unique(whole, return_counts=True)
    assert drawn.tolist() == [0, 1, 2, 5, 6, 7, 8]
    assert frequency == pytest.approx([1000, 1000, 8000, *[2500] * 4], abs=400)


# --- what is said travels


def test_what_the_records_are_is_kept():
    grid = dp.Grid.uniform(0, 40, 80)
    curves = {
        True: dp.cdf(WHOLE, grid, epsilon=1.0, isotonic=False),
        False: dp.cdf(WHOLE, grid, epsilon=1.0, isotonic=False, integers=False),
        None: dp.cdf_from_counts(grid.count(WHOLE), grid, epsilon=1.0, isotonic=False),
    }
    for said, curve in curves.items():
        assert curve.integers is said
        assert curve.isotonic().integers is said
        again = dp.CDF.from_json(curve.to_json())
        assert again.integers is said
        assert again.quantile(DECILES).tolist() == curve.quantile(DECILES).tolist()
        assert ("integers" in json.loads(curve.to_json())) == (said is not None)
    for first, second, both in (
        (True, True, True),
        (True, False, False),
        (True, None, None),
        (False, None, False),
        (None, None, None),
    ):
        pair = [another(curves[first]), another(curves[second])]
        assert dp.combine(pair).integers is dp.combine(pair[::-1]).integers is both
        assert dp.average(pair).integers is both


def test_a_file_that_does_not_say_is_of_whole_numbers_if_its_grid_says_so():
    for grid, whole in ((GRIDS[0], True), (dp.Grid.uniform(0, 40, 40), False)):
        data = json.loads(dp.cdf(WHOLE.tolist(), grid, epsilon=1.0).to_json())
        assert "integers" not in data
        curve = dp.CDF.from_json(json.dumps(data))
        steps = curve.quantile(DECILES, method="inverted_cdf")
        assert np.array_equal(curve.quantile(DECILES), steps) is whole


def test_clients_say_what_their_records_are():
    trust, grid = dp.trust.Central(epsilon=1.0, records=2), dp.Grid.uniform(0, 40, 80)
    for values, stated, said in (
        (WHOLE, None, True),
        (WHOLE, False, False),
        (WHOLE.tolist(), None, None),
        (WHOLE / 2, None, None),
        (WHOLE / 1.0, True, True),
    ):
        clients = np.arange(2001) % 1500
        curve = dp.trust.client_cdf(clients, values, grid, trust, clients=1500, integers=stated)
        assert curve.integers is said
