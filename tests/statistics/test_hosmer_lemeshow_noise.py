"""The p-value of the Hosmer-Lemeshow test: it knows of the noise, and is the same each time."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2, norm

import dpcore as dp
from dpcore.mechanisms import Dawa, Dyadic, Hierarchy, NoNoise, ToeplitzGaussian
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.releases.hosmer_lemeshow import arcsine_grid, hosmer_lemeshow
from dpcore.statistics.binning import Cells
from dpcore.statistics.hosmer_lemeshow import HosmerLemeshow, _normal_scores, statistics
from dpcore.statistics.right_labels import RightLabels
from dpcore.statistics.risk_groups import grouped_rows
from dpcore.trust import DistributedNoise
from tests.mechanisms.refusals import refusals
from tests.statistics.right_models import calibrated

RNG = np.random.default_rng


def fit(n, seed, features=5, penalty=0.0):
    """Labels of a logistic regression, and the probabilities of one that was fitted to them."""
    rng = RNG(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=(n, features))])
    truth = np.append(-2.0, np.full(features, 1.2 / features**0.5))
    labels, found = rng.random(n) < expit(x @ truth), np.zeros(features + 1)
    ridge = penalty * np.diag(np.append(0.0, np.ones(features)))
    for _ in range(12):
        p = expit(x @ found)
        information = (x.T * (p * (1 - p))) @ x + ridge
        found += np.linalg.solve(information, x.T @ (labels - p) - ridge @ found)
    return labels, expit(x @ found)


# --- the plain name is the one to trust


def shares(records, release, runs, **options):
    """How often the p-value, and the one that ignores the noise, is below 0.05."""
    found = []
    for seed in range(runs):
        test = release(*records(seed), epsilon=0.5, rng=RNG(seed), **options)
        found.append((test.pvalue, test.pvalue_ignoring_noise))
    return np.mean(np.array(found) < 0.05, axis=0)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("release", [hosmer_lemeshow, hosmer_lemeshow_by_groups])
@pytest.mark.parametrize(
    ("records", "fitted"),
    [(lambda seed: fit(4000, seed), True), (lambda seed: calibrated(4000, seed), False)],
)
def test_noise_is_not_taken_for_a_wrong_model(release, records, fitted):
    known, ignored = shares(records, release, 16, grid=arcsine_grid(64), fitted=fitted)
    assert known <= 0.25  # 4 of 16, where less than 1 is expected
    assert ignored >= 0.5


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("release", [hosmer_lemeshow, hosmer_lemeshow_by_groups])
def test_a_wrong_model_is_still_found(release):
    records = [calibrated(40_000, seed, slope=1.5) for seed in range(5)]
    tests = [release(*each, epsilon=1.0, fitted=False, rng=RNG(1)) for each in records]
    assert np.median([test.pvalue for test in tests]) <= 0.01


@pytest.mark.full
@pytest.mark.parametrize("release", [hosmer_lemeshow, hosmer_lemeshow_by_groups])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("fitted", [True, False])
def test_rejects_a_right_model_no_more_often_than_it_says(release, epsilon, fitted):
    pvalues = []
    for seed in range(400):
        labels, p = (fit if fitted else calibrated)(10_000, 100 + seed)
        test = release(labels, p, epsilon=epsilon, fitted=fitted, rng=RNG(seed))
        pvalues.append(test.under_noise(99, RNG(seed)).pvalue)
    for level in (0.05, 0.2, 0.5):
        share = np.mean(np.array(pvalues) <= level)
        chance = 4.5 * (level * (1 - level) / 400) ** 0.5
        # It allows for any place of the scores in their cells, so it rejects less often.
        assert 0.6 * level - chance <= share <= level + chance


@pytest.mark.parametrize("fitted", [True, False])
def test_without_noise_it_is_the_textbooks(fitted):
    test = hosmer_lemeshow(*calibrated(20_000, 2), mechanism=NoNoise(), fitted=fitted)
    textbook = chi2.sf(test.statistic, 8 if fitted else 10)
    assert test.pvalue_ignoring_noise == pytest.approx(textbook, rel=1e-10)
    assert textbook < test.pvalue < 1.01 * textbook  # it allows for the width of 4,096 cells


# --- the same number each time


@pytest.mark.needs_jit
def test_the_same_release_has_the_same_pvalue():
    mechanism = Hierarchy(0.5)
    curves = dp.score_curves(
        *calibrated(3000, 1), arcsine_grid(32), mechanism, isotonic=False, rng=RNG(1)
    )
    again = dp.ScoreCurves.from_json(curves.to_json())
    tests = [
        HosmerLemeshow.from_curves(each, 4, mechanism=dp.mechanisms.from_curve(each.joint))
        for each in (curves, again, curves.isotonic())
    ]
    first = tests[0].pvalue
    assert [test.pvalue for test in tests] == [first] * 3
    assert tests[0].under_noise().pvalue == first
    assert len({tests[0].under_noise(99, RNG(seed)).pvalue for seed in range(5)}) > 1


def test_it_is_kept():
    test = hosmer_lemeshow(*calibrated(1000, 2), epsilon=1.0, grid=arcsine_grid(16), groups=4)
    calls = []

    def counted(replicates, rng):
        calls.append(replicates)
        return test.simulation(replicates, rng)

    watched = replace(test, simulation=counted)
    assert not calls  # nothing is simulated before it is asked for
    assert watched.pvalue == watched.pvalue == test.pvalue
    assert calls == [999]
    assert pickle.loads(pickle.dumps(test)).pvalue == test.pvalue
    with pytest.raises(FrozenInstanceError):
        test.pvalue = 1.0
    assert replace(test, observed=test.observed + 300.0).pvalue != test.pvalue


# --- what released the curves


def test_it_must_be_known_what_released_the_curves():
    curves = dp.score_curves(*calibrated(500, 4), arcsine_grid(16), epsilon=1.0)
    test = HosmerLemeshow.from_curves(curves, 4)
    for ask in (lambda: test.pvalue, test.under_noise):
        with pytest.raises(dp.ParameterError, match="mechanism"):
            ask()
    assert 0 <= test.pvalue_ignoring_noise <= 1
    exact = dp.score_curves(*calibrated(500, 4), arcsine_grid(16), NoNoise())
    assert 0 <= HosmerLemeshow.from_curves(exact, 4).pvalue <= 1  # there is no noise to know of


@pytest.mark.parametrize(
    "mechanism",
    [
        Dawa(1.0),
        Dyadic(1.0),
        ToeplitzGaussian(rho=0.5),
        (Hierarchy(0.5), Dyadic(0.5)),
        DistributedNoise(1.0, clients=5000),
    ],
)
def test_any_mechanism_can_be_simulated(mechanism):
    test = hosmer_lemeshow(*calibrated(5000, 10), mechanism=mechanism, groups=5, rng=RNG(1))
    first, second = (test.under_noise(20, RNG(2)) for _ in range(2))
    assert np.array_equal(first.null, second.null)
    assert first.test is test
    assert first.null.shape == (20,)
    assert first.pvalue * 21 == pytest.approx(round(first.pvalue * 21))
    assert 1 / 21 <= first.pvalue <= 1


LABELS, P = calibrated(20_000, 12)
CURVES = dp.score_curves(LABELS, P, arcsine_grid(16), Dyadic(1.0), isotonic=False)
WIDE = dp.score_curves(LABELS, 2 * P, dp.Grid.uniform(0, 2, 4), Dyadic(1.0))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    refusals(
        {
            "curves": [CURVES.smooth(), WIDE],
            "mechanism": [Dyadic(2.0)],
            "groups": [2],
        },
        {"curves": [CURVES.joint], "mechanism": ["dyadic"]},
    ),
)
def test_bad_arguments_after_a_release(change, error, words):
    with pytest.raises(error, match=words):
        HosmerLemeshow.from_curves(**{"curves": CURVES, "mechanism": Dyadic(1.0), **change})


def test_bad_arguments_of_a_simulation():
    test = HosmerLemeshow.from_curves(CURVES, mechanism=Dyadic(1.0))
    with pytest.raises(dp.ParameterError, match="replicates"):
        test.under_noise(0)
    with pytest.raises(dp.DtypeError, match="rng"):
        test.under_noise(9, 7)


# --- the simulation


def test_simulated_labels_go_with_the_probabilities():
    cells = Cells.of(dp.score_curves(*calibrated(4000, 7), arcsine_grid(32), NoNoise()))
    records = np.diff(cells.totals).astype(np.int64)
    made = RightLabels.of(records, cells.middles, fitted=False)
    positives = made.draw(100_000, RNG(1))
    assert positives.min() >= 0
    assert np.all(positives <= records)
    deviations = np.sqrt(records * cells.middles * (1 - cells.middles))
    off = positives.mean(axis=0) - records * cells.middles
    assert np.all(np.abs(off) <= 5 * deviations / 100_000**0.5)
    assert positives.std(axis=0) == pytest.approx(deviations, rel=0.1)


def test_labels_of_a_fit_leave_residuals_without_trend():
    cells = Cells.of(dp.score_curves(*calibrated(4000, 7), arcsine_grid(32), NoNoise()))
    records = np.diff(cells.totals).astype(np.int64)
    trends = {}
    design = RightLabels.of(records, cells.middles, True).design
    for fitted in (True, False):
        made = RightLabels.of(records, cells.middles, fitted)
        drawn = made.draw(100, RNG(1))
        trends[fitted] = np.abs((drawn - records * cells.middles) @ design.T).mean(axis=0)
    assert np.all(trends[True] < 0.15 * trends[False])  # but for whole labels, it would be 0


@pytest.mark.parametrize("minimum", [None, 0.0, 40.0])
def test_rows_of_counts_are_grouped_as_each_alone(minimum):
    grid = arcsine_grid(32)  # of other noise, one of nine may have a group less
    raw = [
        dp.score_curves(*calibrated(900, seed), grid, Dyadic(1.0), rng=RNG(seed))
        for seed in range(9)
    ]
    each = [HosmerLemeshow.from_curves(one, 7, minimum_expected=minimum) for one in raw]
    rows = (np.array([getattr(one, of) for one in raw]) for of in ("negatives", "positives"))
    found = grouped_rows(Cells.of(raw[0]), *rows, 7, minimum)
    for i, test in enumerate(each):
        size = test.merged.size
        assert np.array_equal(found.merged[i, :size], test.merged)
        assert np.array_equal(found.observed[i, :size], test.observed)
        assert np.array_equal(found.expected[i, :size], test.expected)
        assert not found.expected[i, size:].any()
    sizes = {test.merged.size for test in each}
    assert (len(sizes) > 1) == (minimum != 0.0)  # groups of some rows are merged
    assert statistics(found.observed, found.expected) == pytest.approx(
        [test.statistic for test in each]
    )


@pytest.mark.parametrize(("fitted", "mean"), [(True, 8.0), (False, 10.0)])
def test_without_noise_the_null_is_chi_squared(fitted, mean):
    test = hosmer_lemeshow(*calibrated(20_000, 8), mechanism=NoNoise(), fitted=fitted)
    found = test.under_noise(400, RNG(1))
    assert found.null_degrees_of_freedom.tolist() == [int(mean)] * 400
    assert found.null.mean() == pytest.approx(mean, abs=4 * (2 * mean / 400) ** 0.5)
    assert found.null.var() == pytest.approx(2 * mean, rel=0.4)
    assert found.pvalue == pytest.approx(test.pvalue, abs=0.1)
    assert found.statistic == pytest.approx(test.statistic, abs=1)


def test_statistics_of_unlike_degrees_of_freedom_compare_by_their_probabilities():
    for degrees in (2, 5, 8, 14):
        scores = np.array([-1.5, 0.0, 1.0, 3.0])
        statistics = chi2.ppf(norm.cdf(scores), degrees)
        assert _normal_scores(statistics, degrees) == pytest.approx(scores, abs=0.1)
    assert np.isnan(_normal_scores([3.0, 4.0], [0, -1])).all()
    assert _normal_scores(1e6, 8) < _normal_scores(1e6 + 1, 8) < np.inf  # beyond all doubles


def test_what_has_no_degree_of_freedom_has_no_pvalue():
    test = hosmer_lemeshow([0, 1, 1, 0], [0.5] * 4, epsilon=1.0, groups=3)
    assert test.degrees_of_freedom == -1
    assert math.isnan(test.pvalue)
    assert math.isnan(test.pvalue_ignoring_noise)
    assert math.isnan(replace(test, simulation=None).pvalue)  # nothing is simulated for it


@pytest.mark.full
@pytest.mark.needs_jit
def test_by_groups_has_a_pvalue_whatever_comes_out():
    for seed in range(6):  # much noise: numbers below 0, and a statistic below 0
        labels, p = calibrated(60, seed)
        test = hosmer_lemeshow_by_groups(labels, p, epsilon=0.1, groups=3, rng=RNG(seed))
        assert 0.001 <= test.pvalue <= 1
        assert test.pvalue == test.under_noise().pvalue


# --- models that were fitted to the same records (docs/proofs/hosmer-lemeshow.md, section 5)


def test_the_residuals_of_any_fit_vary_at_most_as_much_as_is_simulated():
    rng = RNG(5)
    for features in (2, 5, 15):  # lopsided ones, so that they do not go along with the logit
        x = np.column_stack([np.ones(500), rng.exponential(size=(500, features)) ** 2])
        logits = x @ rng.normal(size=features + 1) / 4
        weights = expit(logits) * (1 - expit(logits))
        group = np.argsort(np.argsort(logits)) // 50
        sums = (group == np.arange(10)[:, None]) * np.sqrt(weights)

        def residuals(design, sums=sums, weights=weights):
            basis = np.linalg.qr(design * np.sqrt(weights)[:, None])[0]
            return sums @ sums.T - (sums @ basis) @ (sums @ basis).T

        real = residuals(x)
        simulated = residuals(np.column_stack([np.ones(500), logits]))
        assert np.linalg.eigvalsh(simulated - real).min() >= -1e-9 * np.trace(simulated)
        assert np.trace(real) < np.trace(simulated)
