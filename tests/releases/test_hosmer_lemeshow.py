"""The Hosmer-Lemeshow test of records: one joint release, and what is refused before it."""

from __future__ import annotations

import itertools
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dyadic, Hierarchy, NoNoise
from dpcore.papers.hosmer_lemeshow_by_groups import (
    _UNIT,
    _Noise,
    _sums,
    hosmer_lemeshow_by_groups,
)
from dpcore.releases.hosmer_lemeshow import arcsine_grid, hosmer_lemeshow
from dpcore.statistics.hosmer_lemeshow import HosmerLemeshow
from tests import reference
from tests.statistics.right_models import calibrated

RNG = np.random.default_rng


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


# --- errors: before anything is spent


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"groups": 2}, dp.ParameterError, "groups"),
        ({"groups": 51}, dp.ParameterError, r"groups.*50"),
        ({"groups": 3.5}, dp.DtypeError, "groups"),
        ({"fitted": 1}, dp.DtypeError, "fitted"),
        ({"grid": [0.5, 1.0]}, dp.DtypeError, "grid"),
        ({"grid": dp.Grid([0.5])}, dp.ParameterError, "grid"),
        ({"grid": dp.Grid([-0.5, 1])}, dp.ParameterError, "grid"),
        ({"epsilon": 0}, dp.ParameterError, "epsilon"),
        ({"epsilon": 1e-13}, dp.ParameterError, "epsilon is too small.*got 1e-13"),
        ({"rng": 7}, dp.DtypeError, "no integer seeds"),
        ({"nan_policy": "keep"}, dp.ParameterError, "nan_policy"),
        ({"y_prob": [0.5] * 49}, dp.ParameterError, r"y_prob must have the shape of y_true, \(50,"),
        ({"y_prob": ["a"] * 50}, dp.DtypeError, "y_prob"),
        ({"y_prob": [np.nan] * 50}, dp.MissingValueError, "y_prob"),
        ({"y_true": ["a"] * 50}, dp.ParameterError, "pos_label"),
        ({"y_true": [np.nan] * 50}, dp.MissingValueError, "y_true"),
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
        ({"minimum_expected": np.inf}, dp.ParameterError, "minimum_expected"),
        ({"minimum_expected": "5"}, dp.DtypeError, "minimum_expected"),
        ({"mechanism": NoNoise(), "epsilon": 1.0}, dp.ParameterError, "with a mechanism"),
        ({"mechanism": "dyadic"}, dp.DtypeError, "mechanism"),
        ({"grid": dp.Grid.uniform(0, 1, 2**23 + 1)}, dp.ParameterError, r"grid.*8388609"),
        ({}, dp.ParameterError, "epsilon or rho must be given"),
    ],
)
def test_bad_arguments(monkeypatch, wrong, error, message):
    forbid_releases(monkeypatch)
    budget = {} if "mechanism" in wrong or not wrong else {"epsilon": 1.0}
    with pytest.raises(error, match=message):
        hosmer_lemeshow([0, 1] * 25, [0.25, 0.5] * 25, **{**budget, **wrong})


# --- the Hosmer-Lemeshow test the published way: Algorithm 2 of the ECDF paper


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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grid": dp.Grid([0.5, 1.0])}, "grid must have at least 3 cells"),
        ({"minimum_expected": 84}, r"minimum_expected must be at most 83\.3"),
    ],
)
def test_a_test_without_a_degree_of_freedom_is_refused_before_it_is_paid(options, words):
    scores = np.linspace(0.01, 0.99, 500)
    with dp.Budget(2.0) as budget, pytest.raises(dp.ParameterError, match=words):
        dp.hosmer_lemeshow(scores > 0.5, scores, epsilon=1.0, **options)
    assert budget.log == ()


@pytest.mark.parametrize(
    ("fitted", "minimum", "words"),
    [
        (True, 380.0, "2 groups of 10 are left, as groups with few .* no degree of freedom"),
        (True, 600.0, "1 group of 10 is left, as groups with few .* no degree of freedom"),
        (False, 600.0, "1 group of 10 is left, .* compares totals alone: more records"),
        (False, 380.0, None),
        (True, None, None),
    ],
)
def test_few_groups_that_are_left_are_told(fitted, minimum, words):
    rng = np.random.default_rng(1)
    scores = rng.random(4000)
    labels = rng.random(4000) < scores
    how = {"minimum_expected": minimum, "fitted": fitted, "epsilon": 5.0, "rng": rng}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dp.hosmer_lemeshow(labels, scores, **how)
    assert [re.search(words or "none", str(one.message)) is not None for one in caught] == (
        [] if words is None else [True]
    )
