"""Histogram queries: the definition, the predicted error, and negative counts set to 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.mechanisms import Histogram
from dpcore.mechanisms.queries import HistogramQueries
from dpcore.noise.sources import source
from tests import reference

BETWEEN = ["step", "linear"]
BUDGETS = [{"epsilon": 0.5}, {"rho": 0.1}, {"epsilon": 1.0, "delta": 1e-6}]
COUNTS = st.lists(st.integers(0, 20), min_size=1, max_size=40)


def first_noise(law, bits, size, seed):
    """The noise of the first of some releases with a generator of that seed, in counts."""
    draws = np.zeros(size, np.int64)
    if law:
        law.fill(draws, source(np.random.default_rng(seed)).spawn(1)[0])
    return draws * 2.0**-bits


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("budget", BUDGETS)
@settings(max_examples=25)
@given(counts=COUNTS, bins=st.integers(1, 50), seed=st.integers(0, 2**32))
def test_releases_are_those_of_the_definition(counts, bins, seed, between, budget):
    mechanism = HistogramQueries(bins=bins, between=between, **budget)
    asked = min(bins, len(counts))
    noise = first_noise(*mechanism.noise(len(counts)), asked, seed)
    expected = reference.histogram_queries(counts, bins, noise, between)
    found = mechanism.release(np.array(counts), rng=np.random.default_rng(seed))
    assert found == pytest.approx(expected, abs=1e-6)
    assert found[-1] == sum(counts)


@pytest.mark.parametrize("size", [1, 2, 30, 31, 100])
@pytest.mark.parametrize("bins", [1, 7, 30])
def test_without_noise_to_speak_of_the_ends_of_bins_are_exact(size, bins):
    counts = np.random.default_rng(1).integers(0, 50, size)
    true = np.cumsum(counts)
    for budget in ({"epsilon": 1e7}, {"rho": 1e9}):
        for between in BETWEEN:
            mechanism = HistogramQueries(bins=bins, between=between, **budget)
            found = mechanism.release(counts)
            at = mechanism.ends(size) - 1
            assert at.size == min(bins, size)
            assert at[-1] == size - 1
            assert found[at].tolist() == true[at].tolist()
            if bins >= size:
                assert found.tolist() == true.tolist()
            if between == "step":  # nothing between the ends, and 0 before the first
                assert set(found) <= {0.0, *found[at]}


def test_lines_run_straight_between_the_ends():
    counts = np.array([0, 4, 0, 2, 0, 0, 8, 0])
    found = HistogramQueries(1e7, 2, between="linear").release(counts)
    assert found.tolist() == [1.5, 3, 4.5, 6, 8, 10, 12, 14]
    found = HistogramQueries(1e7, 2, between="step").release(counts)
    assert found.tolist() == [0, 0, 0, 6, 6, 6, 6, 14]


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize(("size", "bins"), [(1, 3), (5, 5), (6, 2), (23, 7), (64, 30)])
def test_errors_are_those_of_each_noise_added_up(size, bins, between):
    asked = min(bins, size)
    empty = [0] * size
    columns = [reference.histogram_queries(empty, bins, z, between) for z in np.eye(asked)]
    for budget in BUDGETS:
        mechanism = HistogramQueries(bins=bins, between=between, **budget)
        law, bits = mechanism.noise(size)
        variance = law.variance * 4.0**-bits if law else 0.0
        expected = np.sqrt(variance * np.sum(np.square(columns), axis=0))
        at = mechanism.ends(size) - 1
        assert mechanism.noise_deviation(size)[at] == pytest.approx(expected[at], abs=1e-6)
        assert np.all(np.isinf(np.delete(mechanism.noise_deviation(size), at)))
        assert mechanism.noise_deviation(size)[-1] == 0.0


@pytest.mark.needs_jit
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("budget", BUDGETS)
def test_predicted_and_simulated_errors_agree(between, budget):
    mechanism = HistogramQueries(bins=9, between=between, **budget)
    counts = np.random.default_rng(1).poisson(3, 50)
    quiet = HistogramQueries(1e7, bins=9, between=between).release(counts)
    found = mechanism.release(counts, rng=np.random.default_rng(2), replicates=20_000)
    at = mechanism.ends(50) - 1
    each, errors = mechanism.noise_deviation(50)[at], (found - quiet)[:, at]
    assert errors.std(axis=0) == pytest.approx(each, rel=0.05, abs=1e-9)
    assert np.abs(errors.mean(axis=0)).max() < 5.5 * each.max() / 20_000**0.5
    assert np.all(found[:, -1] == counts.sum())


def test_the_public_n_takes_three_quarters_of_the_largest_variance():
    bins = 30
    mechanism = HistogramQueries(1.0, bins)
    of_a_count = mechanism.noise(300)[0].variance
    at_ends = mechanism.noise_deviation(300)[mechanism.ends(300) - 1]
    assert at_ends.max() ** 2 == pytest.approx(bins / 4 * of_a_count)


def test_with_a_bin_for_each_cell_it_is_a_histogram():
    for budget in BUDGETS[:2]:
        found = HistogramQueries(bins=40, **budget).noise_deviation(40)
        assert found == pytest.approx(Histogram(**budget).noise_deviation(40), abs=1e-6)


def test_curves_of_disjoint_records_add_up():
    rng = np.random.default_rng(1)
    parts = rng.integers(0, 9, (4, 100))
    for between in BETWEEN:
        mechanism = HistogramQueries(1e7, 12, between=between)
        summed = sum(mechanism.release(part) for part in parts)
        assert summed == pytest.approx(mechanism.release(parts.sum(axis=0)), abs=1e-9)


def test_a_lattice_that_is_coarser_than_a_count():
    mechanism = HistogramQueries(1e-9, 2, delta=1.45e-8)
    _, bits = mechanism.noise(8)
    assert bits < 0
    counts = np.random.default_rng(1).integers(0, 2**42, 8)
    found = mechanism.release(counts)
    at = mechanism.ends(8) - 1
    errors = (found - np.cumsum(counts))[at]
    assert np.all(np.abs(errors) <= 12 * mechanism.noise_deviation(8)[at] + 2.0**-bits)
    assert mechanism.noise_deviation(8)[at[0]] > 2.0**24
    assert found[-1] == counts.sum()


# --- negative counts set to 0


def curve_of(cumulative):
    counts = np.array(cumulative)
    return dp.CDF(
        grid=dp.Grid(np.arange(1.0, counts.size + 1)),
        counts=counts,
        n=int(counts[-1]),
        privacy=dp.Privacy(1.0),
        mechanism=HistogramQueries(1.0).describe(),
        noise_deviation=np.zeros(counts.size),
    )


@settings(max_examples=80)
@given(st.lists(st.floats(-1e6, 1e6), max_size=40), st.integers(1, 10**6))
def test_without_negative_counts(noisy, n):
    curve = curve_of([*noisy, n])
    found = curve.without_negative_counts()
    assert found.counts == pytest.approx(
        reference.without_negative_counts(curve.counts.tolist()), rel=1e-6, abs=1e-6
    )
    assert found.is_monotone
    assert found.counts[-1] == found.n == n
    assert found.processing == ("without_negative_counts()",)
    assert found.privacy == curve.privacy


def test_without_negative_counts_by_hand():
    found = curve_of([-2, 4, 2, 10]).without_negative_counts()
    assert found.counts == pytest.approx([0, 6 / 1.4, 6 / 1.4, 10])
    assert curve_of([0, 3, 3, 7, 10]).without_negative_counts().counts.tolist() == [0, 3, 3, 7, 10]
    assert curve_of([5]).without_negative_counts().counts.tolist() == [5]


@pytest.mark.needs_jit
def test_isotonic_is_nearer_where_bins_are_empty():
    values = np.random.default_rng(1).exponential(0.1, 5000)
    grid = dp.Grid.uniform(0, 1, 600)
    true = np.cumsum(grid.count(values))
    errors = []
    for child in np.random.default_rng(2).spawn(200):
        mechanism = HistogramQueries(0.05, between="linear")
        raw = dp.cdf(values, grid, mechanism, isotonic=False, rng=child)
        curves = raw, raw.isotonic(), raw.without_negative_counts()
        errors.append([np.mean((curve.counts - true) ** 2) for curve in curves])
    raw, isotonic, clipped = np.mean(errors, axis=0)
    assert isotonic < 0.7 * raw
    assert isotonic < 0.3 * clipped
