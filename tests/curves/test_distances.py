"""Distances between distribution functions: against SciPy, exact fractions, and their axioms."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpcore as dp
from dpcore.curves.distances import earth_mover, energy, kolmogorov_smirnov
from tests import reference
from tests.curves.raw_releases import curve_of

DISTANCES = [kolmogorov_smirnov, earth_mover, energy]

integers = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)
reals = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=25)


@st.composite
def curves(draw, least=-9):
    """A curve over a grid of its own: raw, or monotone if ``least`` is 0."""
    thresholds = sorted(draw(st.sets(st.integers(-40, 40), min_size=1, max_size=9)))
    steps = draw(st.lists(st.integers(least, 9), min_size=len(thresholds), max_size=400))
    counts = np.cumsum(steps[: len(thresholds)])
    counts[-1] = max(1, counts[-1])
    return curve_of(counts, dp.Grid(np.array(thresholds) / 8))


either = st.one_of(curves(), integers)


# --- what they are


@given(reals, reals)
def test_samples_as_scipy_has_them(first, second):
    with np.errstate(divide="ignore"):  # of a p-value that nobody asked for
        ks = stats.ks_2samp(first, second, method="asymp").statistic
    assert kolmogorov_smirnov(first, second) == pytest.approx(ks, abs=1e-14)
    work = stats.wasserstein_distance(first, second)
    assert earth_mover(first, second) == pytest.approx(work, rel=1e-12)
    distance = stats.energy_distance(first, second)
    assert energy(first, second) == pytest.approx(distance, rel=1e-12)


@given(either, either)
def test_exact_for_raw_curves_and_samples(first, second):
    def steps(either):
        return (
            reference.curve_steps(either)
            if isinstance(either, dp.CDF)
            else reference.empirical(either)
        )

    apart, area, square = reference.step_distances(steps(first), steps(second))
    assert kolmogorov_smirnov(first, second) == pytest.approx(float(apart), rel=1e-13, abs=1e-15)
    assert earth_mover(first, second) == pytest.approx(float(area), rel=1e-13, abs=1e-13)
    assert energy(first, second) ** 2 == pytest.approx(float(square), rel=1e-13, abs=1e-13)


def test_a_curve_without_noise_is_its_records_rounded_up_to_thresholds():
    values = np.random.default_rng(1).normal(5, 2, 500)
    grid = dp.Grid.uniform(0, 10, 64)
    curve = curve_of(np.cumsum(grid.count(values)), grid)
    at = np.minimum(np.searchsorted(grid.thresholds, values), 63)
    rounded = grid.thresholds[at]
    assert [distance(curve, rounded) for distance in DISTANCES] == [0.0] * 3
    # docs/guides/quantiles.md: what the grid's coarseness makes
    assert earth_mover(curve, values) == pytest.approx(np.abs(values - rounded).mean())
    fullest = grid.count(values).max() / 500
    assert kolmogorov_smirnov(curve, values) == pytest.approx(fullest, rel=1e-14)


# --- axioms


@pytest.mark.parametrize("distance", DISTANCES)
@settings(max_examples=50)
@given(either, integers, integers)
def test_metric(distance, a, b, c):
    assert distance(a, a) == 0.0
    assert distance(a, b) == distance(b, a) >= 0.0
    assert distance(a, c) <= (distance(a, b) + distance(b, c)) * (1 + 1e-12) + 1e-15
    equal = all(b.count(x) * len(c) == c.count(x) * len(b) for x in [*b, *c])
    assert (distance(b, c) == 0.0) == equal
    assert distance(b, b * 3) == 0.0


# --- the ends of the doubles


def test_large_ranges():
    most = np.finfo(np.float64).max
    assert earth_mover([-most, most], [0.0, 0.0]) == most
    assert earth_mover([-most, *np.zeros(999)], [most, *np.zeros(999)]) == pytest.approx(most / 500)
    assert earth_mover([-most], [most]) == math.inf
    assert energy([-most], [most]) == pytest.approx(2 * math.sqrt(most), rel=1e-15)
    assert energy([-most], [most]) < math.inf


def test_small_ranges():
    least = math.nextafter(0.0, 1.0)
    assert earth_mover([0.0], [least]) == least
    assert energy([0.0], [least]) == pytest.approx(math.sqrt(2) * math.sqrt(least), rel=1e-15)
    assert energy([0.0] * 10**6, [0.0] * (10**6 - 1) + [least]) > 0.0
    assert kolmogorov_smirnov([1.0], [math.nextafter(1.0, 2.0)]) == 1.0


@pytest.mark.parametrize("distance", [earth_mover, energy])
def test_mass_at_infinity(distance):
    assert distance([np.inf], [np.inf]) == 0.0
    assert distance([-np.inf, 1.0], [-np.inf, 3.0]) == distance([0.0, 1.0], [0.0, 3.0])
    assert distance([np.inf, 1.0], [np.inf, 3.0, 1.0, np.inf]) > 0.0
    assert distance([np.inf], [1e300]) == distance([-np.inf], [0.0]) == math.inf
    assert distance([0.0, -np.inf], [0.0, np.inf]) == math.inf
    assert kolmogorov_smirnov([0.0, -np.inf], [0.0, np.inf]) == 0.5
    assert kolmogorov_smirnov([np.inf], [1e300]) == 1.0


# --- samples of all kinds


def test_any_column_which_is_left_as_it_is():
    values, other = np.array([3, 1, 2, 2], np.int16), [0.5, 2.5]
    expected = earth_mover([3, 1, 2, 2], other)
    columns = values, pd.Series(values), pl.Series(values), pa.chunked_array([[3, 1], [2, 2]])
    for column in columns:
        assert earth_mover(column, other) == expected
    assert values.tolist() == [3, 1, 2, 2]
    chunks = np.arange(200_001)  # converted in pieces
    assert earth_mover(chunks, chunks + 1) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        ([1.0, math.nan], dp.ParameterError, "must not hold NaN or nulls"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), dp.ParameterError, "must not hold NaN"),
        ([], dp.ParameterError, "must hold at least one value"),
        ([[1.0]], dp.ParameterError, "must be one-dimensional"),
        (["a"], dp.DtypeError, "must hold real numbers"),
        (None, dp.DtypeError, "must hold real numbers"),
    ],
)
def test_bad_samples(distance, bad, error, words):
    with pytest.raises(error, match=f"^first {words}"):
        distance(bad, [1.0])
    with pytest.raises(error, match=f"^second {words}"):
        distance([1.0], bad)
