"""Grids of whole numbers and of days: one cell for each, and what they state of records."""

from __future__ import annotations

import copy
import datetime as dt
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError

GRIDS = {
    "Grid.integers(0, 60)": dp.Grid.integers(0, 60),
    "Grid.integers(-3, -3)": dp.Grid.integers(-3, -3),
    "Grid.integers(-9007199254740992, -9007199254740900)": dp.Grid.integers(-(2**53), 92 - 2**53),
    "Grid.days('2024-01-01', '2024-12-31')": dp.Grid.days("2024-01-01", "2024-12-31"),
    "Grid.days(datetime.timedelta(0), datetime.timedelta(days=30))": dp.Grid.days(
        dt.timedelta(0), dt.timedelta(days=30)
    ),
}


@pytest.mark.parametrize("text", GRIDS)
def test_a_grid_is_kept_by_pickles_copies_and_descriptions(text):
    grid = GRIDS[text]
    assert repr(grid) == text
    for again in (
        pickle.loads(pickle.dumps(grid)),
        copy.deepcopy(grid),
        dp.Grid.from_description(json.loads(json.dumps(grid.describe()))),
    ):
        assert again == grid
        assert hash(again) == hash(grid)
        assert (repr(again), again.lower) == (text, grid.lower)
        assert again.of_integers is True
        assert again.describe() == grid.describe()


@given(st.integers(-(2**53), 2**53 - 100), st.integers(1, 100), st.integers(0, 99))
def test_each_whole_number_has_its_cell(first, cells, seed):
    grid = dp.Grid.integers(first, first + cells - 1)
    assert grid.size == cells
    assert grid.thresholds.tolist() == [float(first + i) for i in range(cells)]
    values = first + np.random.default_rng(seed).integers(-3, cells + 3, 50)
    near = np.clip(values, first, first + cells - 1) - first
    expected = np.bincount(near, minlength=cells)
    np.testing.assert_array_equal(grid.count(values), expected)
    np.testing.assert_array_equal(grid.count(values.tolist()), expected)


@pytest.mark.parametrize("dtype", ["M8[D]", "M8[s]", "M8[ns]"])
def test_each_date_has_its_cell(dtype):
    grid = GRIDS["Grid.days('2024-01-01', '2024-12-31')"]
    dates = np.arange("2023-12-30", "2025-01-03", dtype="M8[D]").astype(dtype)
    expected = [3, *[1] * 364, 3]
    assert grid.count(dates).tolist() == expected
    assert grid.count(pd.Series(dates)).tolist() == expected
    assert grid.count(dates.astype("M8[D]").tolist()).tolist() == expected
    assert (grid.size, grid.unit) == (366, "time")
    assert grid.thresholds[59] == np.datetime64("2024-02-29")


def test_durations_of_days_have_cells():
    grid = dp.Grid.days(np.timedelta64(1, "D"), pd.Timedelta(days=3))
    assert grid.unit == "duration"
    assert grid.count(np.array([0, 1, 2, 3, 9], "m8[D]")).tolist() == [2, 1, 2]


def test_only_such_grids_state_it():
    for grid in (dp.Grid(range(9)), dp.Grid.uniform(0, 9, 9), dp.Grid([1.0, 2.0], lower=1)):
        assert grid.of_integers is False
        assert dp.Grid.from_description(grid.describe()).of_integers is False
    assert dp.Grid.integers(1, 9) == dp.Grid.uniform(0, 9, 9)  # they count alike


def test_curves_over_equal_grids_differ_if_the_grids_state_other_things():
    curves = [
        dp.cdf_from_counts([2, 3], grid, dp.mechanisms.NoNoise())
        for grid in (dp.Grid.integers(1, 2), dp.Grid([1, 2], lower=1), dp.Grid([1, 2], lower=0))
    ]
    assert curves[0].quantile([0.2, 0.9]).tolist() == [1.0, 2.0]
    assert curves[1].quantile([0.2, 0.7]).tolist() == [1.0, 1.5]
    assert curves[2].quantile([0.2, 0.7]).tolist() == [0.5, 1.5]
    assert len(set(curves)) == 3


def test_sums_of_curves_are_of_whole_numbers_if_all_are():
    whole, silent = dp.Grid.integers(0, 2), dp.Grid(range(3), lower=0)

    def curve(grid, integers=None):
        how = {"mechanism": dp.mechanisms.Dyadic(1.0), "isotonic": False, "integers": integers}
        return dp.cdf_from_counts([5, 9, 3], grid, rng=np.random.default_rng(1), **how)

    for pair, said in (
        ([curve(whole), curve(whole)], None),
        ([curve(silent), curve(silent)], None),
        ([curve(whole), curve(silent)], None),
        ([curve(silent), curve(whole)], None),
        ([curve(silent, True), curve(whole)], True),
        ([curve(whole), curve(silent, True)], True),
        ([curve(whole, False), curve(whole)], False),
    ):
        both = dp.combine(pair)
        assert both.integers is said
        all_whole = all(c.grid.of_integers if c.integers is None else c.integers for c in pair)
        assert both.quantile(0.5).is_integer() is all_whole


def test_a_release_on_a_whole_grid_is_stored():
    for grid in GRIDS.values():
        counts = np.arange(1, grid.size + 1)
        curve = dp.cdf_from_counts(counts, grid, epsilon=1.0)
        again = dp.CDF.from_json(curve.to_json())
        assert again == curve
        assert again.grid.of_integers
        assert np.array_equal(again.quantile([0.1, 0.5]), curve.quantile([0.1, 0.5]))


@pytest.mark.parametrize(
    ("make", "kind", "name"),
    [
        (lambda: dp.Grid.integers(0.5, 3), ParameterError, "first"),
        (lambda: dp.Grid.integers(3, 2), ParameterError, "last"),
        (lambda: dp.Grid.integers(0, 2**24), ParameterError, "last"),
        (lambda: dp.Grid.integers(0, "3"), DtypeError, "last"),
        (lambda: dp.Grid.integers(True, 3), DtypeError, "first"),
        (lambda: dp.Grid.integers(2**54, 2**54 + 2), ParameterError, "first"),
        (lambda: dp.Grid.integers(0, float("nan")), ParameterError, "last"),
        (lambda: dp.Grid.days("2024-01-01", "2024-01-01T12"), ParameterError, "last"),
        (lambda: dp.Grid.days("2024-01-01Z", "2024-01-02"), DtypeError, "first"),
        (lambda: dp.Grid.days("2024-01-01T00:00Z", "2024-01-02T00:00Z"), DtypeError, "first"),
        (lambda: dp.Grid.days(1, 2), DtypeError, "first"),
        (lambda: dp.Grid.days("2024-01-03", "2024-01-01"), ParameterError, "last"),
        (lambda: dp.Grid.days("2024-01-03", dt.timedelta(3)), DtypeError, "last"),
        (lambda: dp.Grid.days(dt.timedelta(0), dt.timedelta(hours=3)), ParameterError, "last"),
        (lambda: dp.Grid.days(pd.NaT, "2024-01-01"), ParameterError, "first"),
    ],
)
def test_what_they_refuse(make, kind, name):
    with pytest.raises(kind) as caught:
        make()
    assert caught.value.argument == name


@pytest.mark.parametrize(
    "grid",
    [
        {"kind": "integers", "first": 0},
        {"kind": "integers", "first": 0, "last": 2.0},
        {"kind": "integers", "first": 0, "last": True},
        {"kind": "integers", "first": 0, "last": "2"},
        {"kind": "integers", "first": 2, "last": 0},
        {"kind": "integers", "first": 0, "last": 2, "size": 3},
        {"kind": "integers", "first": 0, "last": 2, "unit": "time"},
        {"kind": "integers", "first": 0, "last": 172_800_000_000, "unit": "instant"},
        {"kind": "integers", "first": 0, "last": 172_800_000_000, "unit": "week"},
        {"kind": "integers", "first": 0, "last": 10**400},
    ],
)
def test_other_descriptions_are_refused(grid):
    text = dp.cdf_from_counts([1, 2, 3], dp.Grid.integers(0, 2), epsilon=1.0).to_json()
    data = json.loads(text)
    assert data["grid"] == {"kind": "integers", "first": 0, "last": 2}
    with pytest.raises(dp.errors.FormatError):
        dp.CDF.from_json(json.dumps({**data, "grid": grid}))
