"""The Hosmer-Lemeshow test: the textbook's on exact curves, merged groups, and its picture."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import dpcore as dp
from dpcore.mechanisms import NoNoise
from dpcore.papers.hosmer_lemeshow_by_groups import (
    hosmer_lemeshow_by_groups,
)
from dpcore.releases.hosmer_lemeshow import arcsine_grid, hosmer_lemeshow
from dpcore.statistics.hosmer_lemeshow import HosmerLemeshow
from tests import reference
from tests.statistics.right_models import calibrated

RNG = np.random.default_rng
GRIDS = {
    "uniform": dp.Grid.uniform(0, 1, 12),
    "arcsine": arcsine_grid(9),
    "any": dp.Grid([0.05, 0.06, 0.5, 0.8, 1.0]),
    "one": dp.Grid([1.0]),
}


def middles(grid):
    edges = np.append(0.0, grid.thresholds)
    return (edges[:-1] + edges[1:]) / 2


def exact(labels, probabilities, grid, groups=10, **options):
    curves = dp.score_curves(labels, probabilities, grid, NoNoise())
    return HosmerLemeshow.from_curves(curves, groups, **options)


# --- exact curves: the textbook


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 11)), min_size=6, max_size=60),
    st.sampled_from(list(GRIDS)),
    st.integers(3, 6),
)
def test_the_textbook_where_scores_are_in_the_middles_of_cells(records, name, groups):
    grid = GRIDS[name]
    labels = np.array([label for label, _ in records])
    p = middles(grid)[[cell % grid.size for _, cell in records]]
    test = exact(labels, p, grid, groups, minimum_expected=0)
    of_record = reference.risk_groups(p.tolist(), groups)
    expected = reference.hosmer_lemeshow(labels.tolist(), p.tolist(), of_record)
    assert test.statistic == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert test.merged.size == len(set(of_record))
    assert test.merged.sum() == groups
    assert test.degrees_of_freedom == test.merged.size - 2
    inside = (test.edges[:-1, None] < p) & (p <= test.edges[1:, None])
    assert np.array_equal(test.observed[:, 1], (inside & labels).sum(axis=1))
    assert np.array_equal(test.observed[:, 0], (inside & ~labels).sum(axis=1))
    assert test.expected[:, 1] == pytest.approx((inside * p).sum(axis=1), rel=1e-12)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=4, max_size=80),
    st.integers(3, 8),
    st.floats(0, 8),
)
def test_small_groups_are_merged_with_the_next(records, groups, minimum):
    labels, p = (np.array(column) for column in zip(*records, strict=True))
    tested = labels, p, GRIDS["uniform"], min(groups, p.size)
    plain = exact(*tested, minimum_expected=0)
    test = exact(*tested, minimum_expected=minimum)
    merged = reference.merged_groups(plain.expected.tolist(), minimum)
    for numbers, summed in ((plain.observed, test.observed), (plain.expected, test.expected)):
        expected = np.array([numbers[own].sum(axis=0) for own in merged])
        assert summed == pytest.approx(expected, abs=1e-9)
    assert test.merged.tolist() == [int(plain.merged[own].sum()) for own in merged]
    five = exact(*tested, minimum_expected=5)
    assert exact(*tested).merged.tolist() == five.merged.tolist()
    assert plain.is_small.tolist() == (plain.expected.min(axis=1) < 5).tolist()


def test_expected_numbers_are_off_by_half_a_cell_for_a_record_at_most():
    labels, p = calibrated(5000, 1)
    for grid in (dp.Grid.uniform(0, 1, 40), arcsine_grid(40)):
        test = exact(labels, p, grid)
        edges = np.append(0.0, grid.thresholds)
        half = np.diff(edges)[np.searchsorted(grid.thresholds, p)] / 2
        inside = (test.edges[:-1, None] < p) & (p <= test.edges[1:, None])
        off = np.abs(test.expected[:, 1] - inside @ p)
        assert np.all(off <= inside @ half)
        assert off.max() > 0.001 * (inside @ half).max()  # else there would be nothing to bound


def test_the_arcsine_grid_is_as_fine_everywhere_as_labels_vary():
    grid = arcsine_grid(128)
    assert grid.thresholds[-1] == 1.0
    cells = np.diff(np.append(0.0, grid.thresholds))
    deviation = np.sqrt(middles(grid) * (1 - middles(grid)))
    inner = slice(3, -3)
    assert (cells / deviation)[inner] == pytest.approx(np.pi / 128, rel=0.02)
    with pytest.raises(dp.ParameterError, match="size"):
        arcsine_grid(0)


def test_the_pvalue_is_the_chi_squared_tail():
    labels, p = calibrated(20_000, 2)
    test = exact(labels, p, arcsine_grid())
    assert test.degrees_of_freedom == 8
    assert test.pvalue_ignoring_noise == pytest.approx(chi2.sf(test.statistic, 8), rel=1e-10)
    other = exact(labels, p, arcsine_grid(), fitted=False)
    assert other.degrees_of_freedom == 10
    assert other.pvalue_ignoring_noise == pytest.approx(chi2.sf(test.statistic, 10), rel=1e-10)
    assert not test.is_small.any()
    assert test.contributions.sum() == test.statistic
    table = test.table
    assert table["lower"].tolist()[1:] == table["upper"].tolist()[:-1]
    assert {column.shape for column in table.values()} == {(10,)}


# --- degenerate records: defined, and never an error


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.booleans(), st.floats(allow_nan=False) | st.sampled_from([0.0, 1.0])),
        min_size=3,
        max_size=12,
    ),
    st.sampled_from([1e-3, 1.0]),
)
def test_no_records_are_an_error(records, epsilon):
    labels, p = (np.array(column) for column in zip(*records, strict=True))
    test = hosmer_lemeshow(labels, p, epsilon=epsilon, groups=3)
    assert 1 <= test.merged.size <= 3
    assert test.observed.sum() == pytest.approx(test.n)
    assert test.expected.sum() == pytest.approx(test.n)
    assert not test.statistic < 0
    groups = hosmer_lemeshow_by_groups(labels, p, epsilon=epsilon, groups=3)
    assert groups.observed.shape == (3, 2)


@pytest.mark.parametrize("fitted", [True, False])
def test_constant_scores_are_one_group(fitted):
    test = exact([0] * 70 + [1] * 30, [0.25] * 100, dp.Grid([0.2, 0.3, 1.0]), fitted=fitted)
    assert test.merged.tolist() == [10]
    assert test.statistic == pytest.approx(5**2 / 25 + 5**2 / 75)
    if fitted:
        assert math.isnan(test.pvalue)
    else:
        assert test.pvalue_ignoring_noise == pytest.approx(chi2.sf(4 / 3, 1))


def test_a_probability_of_0_with_positives_and_without():
    options = {"groups": 3, "grid": dp.Grid([0.0, 1.0]), "mechanism": NoNoise(), "fitted": False}
    assert hosmer_lemeshow([0] * 9, [0.0] * 9, **options).statistic == 0.0
    some = hosmer_lemeshow([0] * 8 + [1], [0.0] * 9, **options)
    assert some.statistic == math.inf
    assert some.under_noise(99).pvalue == 0.01


def test_all_of_one_class():
    p = np.linspace(0.2, 0.8, 300)
    test = exact(np.ones(300, bool), p, dp.Grid.uniform(0, 1, 100))
    assert test.observed[:, 0].tolist() == [0.0] * 10
    assert test.pvalue < 1e-20


def test_ties_are_not_torn_apart():
    p = np.repeat([0.125, 0.375, 0.625, 0.875], [5, 70, 15, 10])
    test = exact(RNG(3).random(100) < p, p, dp.Grid.uniform(0, 1, 4), minimum_expected=0)
    assert test.edges.tolist() == [0, 0.5, 0.75, 1]  # the first ends where 10 of 100 are reached
    assert test.observed.sum(axis=1).tolist() == [75, 15, 10]
    assert test.merged.tolist() == [1, 7, 2]


# --- the picture


@pytest.mark.usefixtures("_no_windows")
def test_draws_observed_and_expected_positives(tmp_path):
    labels, p = calibrated(5000, 13)
    test = hosmer_lemeshow(labels, p, epsilon=1.0)
    ax = test.plot()
    assert [bar.get_height() for bar in ax.patches] == test.observed[:, 1].tolist()
    assert np.array_equal(ax.lines[0].get_ydata(), test.expected[:, 1])
    highest = max(test.observed[:, 1].max(), test.expected[:, 1].max())
    assert test.observed.sum(axis=1).max() > 1.5 * highest  # a line there would squeeze the bars
    assert len(ax.collections) == 1  # intervals
    assert test.plot(ax, color="red", label="mine") is ax
    assert ax.patches[-1].get_facecolor() == (1, 0, 0, 1)
    ax.figure.savefig(tmp_path / "groups.png")
    unknown = replace(test, deviations=np.full(test.observed.shape, np.inf))
    assert len(unknown.plot().collections) == 0


@pytest.mark.usefixtures("_no_windows")
def test_a_missing_extra_is_named(monkeypatch):
    test = exact(*calibrated(100, 14), arcsine_grid(16))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(dp.MissingExtraError, match="plot"):
        test.plot()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_stored_test_may_expect_nearly_nothing():
    """The statistic is then beyond doubles."""
    rng = np.random.default_rng(1)
    scores = rng.random(2000)
    grid = dp.Grid.uniform(0, 1, 16)
    test = dp.hosmer_lemeshow(rng.random(2000) < scores, scores, epsilon=1.0, grid=grid, rng=rng)
    data = json.loads(test.to_json())
    data["expected"][0][0] = 5e-324
    assert dp.load(json.dumps(data)).statistic == math.inf
