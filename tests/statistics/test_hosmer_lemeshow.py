"""The Hosmer-Lemeshow test: the textbook's on exact curves, under noise, and the published way."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import replace
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import chi2

import dpcore as dp
from dpcore.mechanisms import Dyadic, Hierarchy, NoNoise
from dpcore.releases import hosmer_lemeshow as goodness_of_fit
from dpcore.releases.hosmer_lemeshow import arcsine_grid, hosmer_lemeshow
from dpcore.releases.hosmer_lemeshow_by_groups import (
    _UNIT,
    _Noise,
    _sums,
    hosmer_lemeshow_by_groups,
)
from dpcore.statistics.hosmer_lemeshow import HosmerLemeshow
from tests import reference

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


def calibrated(n, seed, base=-2.0):
    """Labels of a model that is right, and its probabilities."""
    rng = RNG(seed)
    probabilities = expit(base + rng.normal(0, 1.2, n))
    return rng.random(n) < probabilities, probabilities


# --- exact curves: the textbook


@settings(max_examples=100)
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


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=4, max_size=80),
    st.integers(3, 8),
    st.floats(0, 8),
)
def test_small_groups_are_merged_with_the_next(records, groups, minimum):
    labels, p = (np.array(column) for column in zip(*records, strict=True))
    groups = min(groups, p.size)
    plain = exact(labels, p, GRIDS["uniform"], groups, minimum_expected=0)
    test = exact(labels, p, GRIDS["uniform"], groups, minimum_expected=minimum)
    merged = reference.merged_groups(plain.expected.tolist(), minimum)
    assert test.observed == pytest.approx(
        np.array([plain.observed[own].sum(axis=0) for own in merged]), abs=1e-9
    )
    assert test.expected == pytest.approx(
        np.array([plain.expected[own].sum(axis=0) for own in merged]), abs=1e-9
    )
    assert test.merged.tolist() == [int(plain.merged[own].sum()) for own in merged]
    five = exact(labels, p, GRIDS["uniform"], groups, minimum_expected=5)
    default = exact(labels, p, GRIDS["uniform"], groups)
    assert default.merged.tolist() == five.merged.tolist()
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
    with pytest.raises(dp.ParameterError, match="size must be between 1 and"):
        arcsine_grid(0)


def test_the_pvalue_is_the_chi_squared_tail():
    labels, p = calibrated(20_000, 2)
    test = exact(labels, p, arcsine_grid())
    assert test.degrees_of_freedom == 8
    assert test.pvalue == pytest.approx(chi2.sf(test.statistic, 8), rel=1e-10)
    other = exact(labels, p, arcsine_grid(), fitted=False)
    assert other.degrees_of_freedom == 10
    assert other.pvalue == pytest.approx(chi2.sf(test.statistic, 10), rel=1e-10)
    assert not test.is_small.any()
    assert test.contributions.sum() == test.statistic
    table = test.table
    assert table["lower"].tolist()[1:] == table["upper"].tolist()[:-1]
    assert {column.shape for column in table.values()} == {(10,)}


# --- degenerate records: defined, and never an error


@settings(max_examples=60)
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
        assert test.pvalue == pytest.approx(chi2.sf(4 / 3, 1))


def test_a_probability_of_0_with_positives_and_without():
    grid = dp.Grid([0.0, 1.0])
    assert exact([0] * 9, [0.0] * 9, grid, 3).statistic == 0.0
    assert exact([0] * 8 + [1], [0.0] * 9, grid, 3).statistic == math.inf


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


# --- releases


def test_one_joint_release_and_what_it_costs():
    labels, p = calibrated(3000, 4)
    test = hosmer_lemeshow(labels, p, epsilon=0.5)
    assert test.privacy == dp.Privacy(0.5)
    assert test.n == 3000
    again = hosmer_lemeshow(labels, p, rho=0.1, grid=arcsine_grid(64), rng=RNG(1))
    curves = dp.score_curves(labels, p, arcsine_grid(64), rho=0.1, rng=RNG(1))
    assert again.statistic == HosmerLemeshow.from_curves(curves).statistic
    assert again.privacy == dp.Privacy(rho=0.1, simulated=True)
    raw = dp.score_curves(labels, p, arcsine_grid(64), rho=0.1, rng=RNG(1), isotonic=False)
    assert HosmerLemeshow.from_curves(raw).statistic == again.statistic


def test_groups_with_less_than_the_noise_are_merged():
    labels, p = calibrated(20_000, 5, base=-5.0)
    mechanism = Hierarchy(0.2)
    curves = dp.score_curves(labels, p, arcsine_grid(64), mechanism, rng=RNG(2))
    test = HosmerLemeshow.from_curves(curves)
    assert test.merged.size < 10
    assert np.all(test.expected >= np.maximum(5, test.deviations))
    assert not test.is_small.any()
    alone = HosmerLemeshow.from_curves(curves, minimum_expected=0)
    assert alone.is_small.any()
    deviations = np.append(0.0, curves.deviations[1])
    ends = np.searchsorted(np.append(0.0, curves.thresholds), test.edges)
    assert test.deviations[:, 1] == pytest.approx(deviations[ends[:-1]] + deviations[ends[1:]])


def test_labels_may_be_words_and_missing_ones_left_out():
    labels, p = calibrated(500, 6)
    words = np.where(labels, "yes", "no")
    options = {"mechanism": NoNoise(), "groups": 4}
    plain = hosmer_lemeshow(labels, p, **options)
    assert hosmer_lemeshow(words, p, pos_label="yes", **options).statistic == plain.statistic
    more = np.append(labels, [True]).astype(float), np.append(p, [np.nan])
    assert hosmer_lemeshow(*more, nan_policy="omit", **options).statistic == plain.statistic
    both = [
        hosmer_lemeshow_by_groups(*records, epsilon=1.0, groups=4, rng=RNG(1), **other).statistic
        for records, other in (
            ((labels, p), {}),
            ((words, p), {"pos_label": "yes"}),
            (more, {"nan_policy": "omit"}),
        )
    ]
    assert both[0] == both[1] == both[2]


# --- the published way: Algorithm 2 of the ECDF paper


@pytest.mark.parametrize("sensitivity", ["exact", "paper"])
def test_by_groups_is_the_textbook_where_noise_vanishes(sensitivity):
    labels, p = calibrated(1000, 11)
    test = hosmer_lemeshow_by_groups(
        labels, p, epsilon=1e9, sensitivity=sensitivity, grid=dp.Grid.uniform(0, 1, 4096)
    )
    of_record = np.searchsorted(test.edges[1:-1], p)
    plain = reference.hosmer_lemeshow(labels.tolist(), p.tolist(), of_record.tolist())
    assert test.statistic == pytest.approx(plain, rel=1e-4)
    assert np.abs(test.observed.sum(axis=1) - 100).max() <= 2
    assert test.expected.sum(axis=1) == pytest.approx(test.observed.sum(axis=1), abs=1e-9)


def test_groups_are_half_open():
    p = np.repeat([0.25, 0.75], 50)
    grid = dp.Grid.uniform(0, 1, 4)
    test = hosmer_lemeshow_by_groups(p > 0.5, p, epsilon=1e9, groups=4, grid=grid)
    assert test.edges.tolist() == [0, 0.25, 0.25, 0.75, 1]
    assert test.observed.tolist() == [[50, 0], [0, 0], [0, 50], [0, 0]]
    assert test.contributions[[1, 3]].tolist() == [0.0, 0.0]


def changes(closed=False):
    """How much replacing one of three records changes all sums, for every choice of quantiles."""
    values = [0.0, 0.25, 0.6, 1.0]

    def sums(records, quantiles):
        labels, p = (np.array(column) for column in zip(*records, strict=True))
        if not closed:
            observed, expected = _sums(labels, p, np.array(quantiles))
            return np.concatenate([observed, expected / _UNIT])
        ends = list(itertools.pairwise([0.0, *quantiles, 1.0]))
        inside = np.array([(low <= p) & (p <= high) for low, high in ends])
        return inside @ np.stack([~labels, labels, 1 - p, p], axis=1)

    others = [(True, 0.25), (False, 0.6)]
    for quantiles in itertools.combinations_with_replacement(values, 3):
        for first, second in itertools.combinations(itertools.product([True, False], values), 2):
            a, b = (sums([*others, record], quantiles) for record in (first, second))
            yield float(np.abs(a - b).sum())


def test_neighbours_change_all_sums_by_4_and_closed_groups_by_more_than_published():
    assert max(changes()) == pytest.approx(4, abs=1e-5)
    assert max(changes(closed=True)) >= 2 * 4 + 1


@pytest.mark.parametrize("size", [1, 2, 3, 64, 100, 128, 1024])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), 0.7, 5])
def test_by_groups_spends_epsilon(size, epsilon):
    noise = _Noise.of(epsilon, size, "exact")
    scale = noise.curve.noise_scale(size)
    curve = Dyadic(1).noise_scale(size) / scale if scale else 0
    sums = 4 / noise.counts.scale
    assert noise.sums.scale / _UNIT == pytest.approx(float(noise.counts.scale), rel=1e-9)
    assert 4 * _UNIT / noise.sums.scale <= sums * (1 + Fraction(1, 2**29))
    assert (1 - Fraction(1, 2**28)) * Fraction(epsilon) < curve + sums <= Fraction(epsilon)
    assert noise.privacy == dp.Privacy(noise.privacy.epsilon)


def test_published_constants():
    for size, levels in ((128, 7), (1024, 10), (1000, 10)):
        noise = _Noise.of(1, size, "paper")
        for scale in (noise.curve.noise_scale(size), noise.counts.scale, noise.sums.scale / _UNIT):
            assert scale == levels + 9


@pytest.mark.needs_jit
def test_by_groups_has_the_noise_that_it_says():
    labels, p = [False, True] * 3, [0.1, 0.2, 0.3, 0.6, 0.7, 0.8]
    releases = [
        hosmer_lemeshow_by_groups(labels, p, epsilon=1.0, groups=3, rng=RNG(seed))
        for seed in range(500)
    ]
    noise = np.stack([each.observed for each in releases])
    assert noise.std(axis=0) == pytest.approx(releases[0].deviations, rel=0.25)
    noise = np.stack([each.expected for each in releases])
    assert noise.std(axis=0) == pytest.approx(releases[0].deviations, rel=0.25)
    assert noise.sum(axis=(1, 2)).mean() == pytest.approx(6, abs=8)
    assert releases[0].privacy == dp.Privacy(1.0, simulated=True)


# --- errors: before anything is spent


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"groups": 2}, dp.ParameterError, "groups must be between 3 and"),
        ({"groups": 51}, dp.ParameterError, "groups must be at most the number of records, 50"),
        ({"groups": 3.5}, dp.DtypeError, "groups must be an integer"),
        ({"fitted": 1}, dp.DtypeError, "fitted must be a bool"),
        ({"grid": [0.5, 1.0]}, dp.DtypeError, "grid must be a Grid; got list"),
        ({"grid": dp.Grid([0.5])}, dp.ParameterError, "grid must have thresholds within"),
        ({"grid": dp.Grid([-0.5, 1])}, dp.ParameterError, "grid must have thresholds within"),
        ({"epsilon": 0}, dp.ParameterError, "epsilon must be positive"),
        ({"epsilon": 1e-13}, dp.ParameterError, "epsilon is too small.*got 1e-13"),
        ({"rng": 7}, dp.DtypeError, "no integer seeds"),
        ({"nan_policy": "keep"}, dp.ParameterError, "nan_policy must be one of"),
        ({"y_prob": [0.5] * 49}, dp.ParameterError, r"y_prob must have the shape of y_true, \(50,"),
        ({"y_prob": ["a"] * 50}, dp.DtypeError, "y_prob must hold real numbers"),
        ({"y_prob": [np.nan] * 50}, dp.MissingValueError, "y_prob has missing values"),
        ({"y_true": ["a"] * 50}, dp.ParameterError, "pos_label must be given"),
        ({"y_true": [np.nan] * 50}, dp.MissingValueError, "y_true has missing values"),
    ],
)
@pytest.mark.parametrize("function", [hosmer_lemeshow, hosmer_lemeshow_by_groups])
def test_bad_arguments_of_both(monkeypatch, function, wrong, error, message):
    forbid_releases(monkeypatch)
    good = {"y_true": [0, 1] * 25, "y_prob": [0.25, 0.5] * 25, "epsilon": 1.0}
    with pytest.raises(error, match=message):
        function(**{**good, **wrong})


def forbid_releases(monkeypatch):
    def release(*arguments, **options):
        raise AssertionError("something was spent")

    for mechanism in (Hierarchy, Dyadic, NoNoise):
        monkeypatch.setattr(mechanism, "release", release)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"minimum_expected": -1}, dp.ParameterError, "minimum_expected must be 0 or more; got -1"),
        ({"minimum_expected": np.inf}, dp.ParameterError, "minimum_expected must be finite"),
        ({"minimum_expected": "5"}, dp.DtypeError, "minimum_expected must be a real number"),
        ({"mechanism": NoNoise(), "epsilon": 1.0}, dp.ParameterError, "beside a mechanism"),
        ({"mechanism": "dyadic"}, dp.DtypeError, "mechanism must be a mechanism"),
        ({}, dp.ParameterError, "epsilon or rho must be given"),
    ],
)
def test_bad_arguments(monkeypatch, wrong, error, message):
    forbid_releases(monkeypatch)
    budget = {} if "mechanism" in wrong or not wrong else {"epsilon": 1.0}
    with pytest.raises(error, match=message):
        hosmer_lemeshow([0, 1] * 25, [0.25, 0.5] * 25, **{**budget, **wrong})


# --- the picture


@pytest.fixture
def _no_windows():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.mark.usefixtures("_no_windows")
def test_draws_observed_and_expected_positives(tmp_path):
    labels, p = calibrated(5000, 13)
    test = hosmer_lemeshow(labels, p, epsilon=1.0)
    ax = test.plot()
    assert [bar.get_height() for bar in ax.patches] == test.observed[:, 1].tolist()
    assert np.array_equal(ax.lines[0].get_ydata(), test.expected[:, 1])
    assert len(ax.collections) == 1
    assert test.plot(ax, color="red", label="mine") is ax
    assert ax.patches[-1].get_facecolor() == (1, 0, 0, 1)
    ax.figure.savefig(tmp_path / "groups.png")
    unknown = replace(test, deviations=np.full(test.observed.shape, np.inf))
    assert len(unknown.plot().collections) == 0


@pytest.mark.usefixtures("_no_windows")
def test_a_missing_extra_is_named(monkeypatch):
    test = exact(*calibrated(100, 14), arcsine_grid(16))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(dp.MissingExtraError, match=r'pip install "dpcore\[plot\]"'):
        test.plot()


def test_the_release_is_made_from_counts_once(monkeypatch):
    calls = []
    real = goodness_of_fit.score_curves_from_counts

    def counted(*arguments, **options):
        calls.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(goodness_of_fit, "score_curves_from_counts", counted)
    hosmer_lemeshow(*calibrated(100, 15), epsilon=1.0)
    assert len(calls) == 1


def test_positives_where_none_can_be_are_as_far_out_as_can_be():
    grid = dp.Grid([0.0, 0.3, 0.6, 1.0])
    options = {"groups": 3, "grid": grid, "mechanism": dp.mechanisms.NoNoise(), "fitted": False}
    some = goodness_of_fit.hosmer_lemeshow([0, 0, 0, 0, 1], [0.0] * 5, **options)
    assert some.statistic == math.inf
    assert some.under_noise(99).pvalue == 0.01
    assert goodness_of_fit.hosmer_lemeshow([0] * 5, [0.0] * 5, **options).statistic == 0.0
