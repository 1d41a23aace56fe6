"""Bands for all thresholds at once: they cover as often as they say, and are no wider than that."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import dpcore as dp
from dpcore.mechanisms import (
    Dawa,
    Hierarchy,
    Histogram,
    HistogramQueries,
    NoNoise,
    ToeplitzGaussian,
)
from dpcore.statistics.roc import Band

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 128)
N = 2000


def clumped(rng, n=N):
    return np.where(rng.random(n) < 0.3, 0.307, rng.normal(0.6, 0.15, n))


def covers(band, truth):
    return np.all((band.low <= truth + 1e-12) & (truth - 1e-12 <= band.high))


MECHANISMS = [
    Hierarchy(0.5),
    Hierarchy(0.5, neighbours="add-or-remove-one"),
    Histogram(2.0),
    ToeplitzGaussian(rho=0.1),
    Dawa(0.2),
    Dawa(rho=0.01),
]


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("of", ["records", "population"])
def test_they_cover_all_thresholds_as_often_as_the_level_says(of, mechanism):
    rng, hits, rounds = RNG(1), 0, 200
    values = clumped(rng)
    truth = np.cumsum(GRID.count(values)) / N
    if of == "population":
        truth = np.cumsum(GRID.count(clumped(RNG(2), 1_000_000))) / 1_000_000
    for _ in range(rounds):
        records = values if of == "records" else clumped(rng)
        curve = dp.cdf(records, GRID, mechanism, rng=rng)
        hits += covers(dp.simultaneous_band(curve, 0.9, of=of, replicates=400), truth)
    spread = math.sqrt(rounds * 0.9 * 0.1)
    most = 0.9 if mechanism.neighbours == "replace-one" else 1.0  # the noise of n: at its worst
    assert 0.9 * rounds - 4 * spread <= hits <= most * rounds + 4 * spread


def test_pointwise_bands_miss_somewhere_in_most_releases():
    rng = RNG(1)
    values = clumped(rng)
    truth = np.cumsum(GRID.count(values)) / N
    released = [dp.cdf(values, GRID, Hierarchy(0.5), rng=rng) for _ in range(60)]
    assert sum(covers(dp.Interval(*curve.band()), truth) for curve in released) < 30


@pytest.mark.parametrize("isotonic", [False, True])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_they_never_fall_and_contain_the_curve_and_most_of_the_pointwise_band(mechanism, isotonic):
    curve = dp.cdf(clumped(RNG(1)), GRID, mechanism, isotonic=isotonic, rng=RNG(2))
    low, high = dp.simultaneous_band(curve, replicates=300)
    assert np.all(np.diff(low) >= 0.0)
    assert np.all(np.diff(high) >= 0.0)
    assert low.min() >= 0.0
    assert low[-1] == high[-1] == 1.0
    assert high.max() <= 1.0
    if isotonic:
        shares = curve.counts / curve.n
        assert np.all((low <= shares) & (shares <= high))
    alone = curve.band()
    assert np.mean(high - low) > 1.1 * np.mean(alone[1] - alone[0])


def test_without_noise_it_is_the_band_of_kolmogorovs_test():
    grid = dp.Grid.uniform(0, 1, 400)
    curve = dp.cdf(RNG(1).random(5000), grid, NoNoise())
    low, high = dp.simultaneous_band(curve, of="population", replicates=4000)
    middle = slice(150, 250)
    wide = stats.kstwobign.ppf(0.95) / math.sqrt(5000)
    assert np.median((high - low)[middle]) / 2 == pytest.approx(wide, rel=0.08)
    low, high = dp.simultaneous_band(curve)
    assert np.array_equal(low, high)


def test_the_same_curve_has_the_same_band_and_no_budget_is_charged():
    curve = dp.cdf(clumped(RNG(1)), GRID, epsilon=0.5)
    with dp.Budget(epsilon=0.001) as budget:
        first, second = (dp.simultaneous_band(curve, replicates=100) for _ in range(2))
        other = dp.simultaneous_band(curve, replicates=100, rng=RNG(1))
    assert budget.log == ()
    assert np.array_equal(first.low, second.low)
    assert not np.array_equal(first.low, other.low)


def test_what_has_no_known_noise_is_refused():
    values = clumped(RNG(1))
    with pytest.raises(dp.ParameterError, match="must add noise whose law does not depend"):
        dp.simultaneous_band(dp.cdf(values, GRID, HistogramQueries(1.0)))
    curve = dp.cdf(values, GRID, Hierarchy(1.0))
    with pytest.raises(dp.ParameterError, match="mechanism must be the curves' own"):
        dp.simultaneous_band(curve, mechanism=Hierarchy(2.0))
    for wrong, error in (
        ({"level": 1.0}, dp.ParameterError),
        ({"of": "sample"}, dp.ParameterError),
        ({"replicates": 0}, dp.ParameterError),
        ({"mechanism": "hierarchy"}, dp.DtypeError),
        ({"rng": 7}, dp.DtypeError),
    ):
        with pytest.raises(error, match=next(iter(wrong))):
            dp.simultaneous_band(curve, **wrong)
    with pytest.raises(dp.DtypeError, match="curve must be a CDF, a ROC, its precision_recall, a"):
        dp.simultaneous_band(curve.counts)


def test_deviations_that_are_not_known_give_no_band_and_no_warning_of_numpy():
    curve = dp.cdf(clumped(RNG(1)), GRID, Dawa(0.5, neighbours="add-or-remove-one"), rng=RNG(2))
    unknown = replace(curve, noise_deviation=np.full(GRID.size, np.inf))
    low, high = dp.simultaneous_band(unknown, replicates=10)
    np.testing.assert_array_equal(high, 1.0)
    assert low[0] == 0.0


def test_noise_is_drawn_as_in_releases():
    knots = np.array([15, 40, 41, 127])
    noise = Dawa(0.5).simulated_noise(128, 4000, RNG(1), knots=knots, n=300)
    assert noise.shape == (4000, 4)
    assert not noise[:, -1].any()
    with pytest.raises(dp.ParameterError, match="knots"):
        Dawa(0.5).simulated_noise(128, 10, RNG(1), n=300)
    with pytest.raises(dp.ParameterError, match="mechanism must add noise"):
        HistogramQueries(1.0).simulated_noise(128, 10, RNG(1))
    tree = Hierarchy(0.5)
    drawn = tree.simulated_noise(128, 3000, RNG(1), knots=knots)
    assert drawn.std(axis=0)[:3] == pytest.approx(tree.noise_deviation(128)[knots[:3]], rel=0.08)


# --- of ROC curves


SCORES = dp.Grid.uniform(0, 1, 40)


def classified(rng, n=N):
    """Labels, and scores of which many are equal."""
    labels = rng.random(n) < 0.2
    scores = np.clip(rng.normal(0.4 + 0.2 * labels, 0.15), 0, 1)
    return labels, np.where(rng.random(n) < 0.2, 0.52, scores)


def rates(labels, scores):
    roc = dp.roc_curve(labels, scores, SCORES, mechanism=NoNoise())
    return roc.fpr, roc.tpr


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", [Hierarchy(0.5), Dawa(0.2), Histogram(2.0)], ids=repr)
@pytest.mark.parametrize("of", ["records", "population"])
def test_bands_of_roc_curves_cover_both_rates_at_all_thresholds(of, mechanism):
    rng, hits, alone, rounds = RNG(1), 0, 0, 120
    records = classified(rng)
    fpr, tpr = rates(*records if of == "records" else classified(RNG(2), 500_000))
    for _ in range(rounds):
        labels, scores = records if of == "records" else classified(rng)
        roc = dp.roc_curve(labels, scores, SCORES, mechanism=mechanism, rng=rng)
        found = [dp.simultaneous_band(roc, 0.9, of=of, replicates=300), roc.band(0.9)]
        held = [
            np.all((band.fpr_low <= fpr + 1e-12) & (fpr <= band.fpr_high + 1e-12))
            and np.all((band.tpr_low <= tpr + 1e-12) & (tpr <= band.tpr_high + 1e-12))
            for band in found
        ]
        hits, alone = hits + held[0], alone + held[1]
        for end in found[0]:
            assert np.all(np.diff(end) >= 0.0)
            assert end[0] >= 0.0
            assert end[-1] == 1.0
    assert hits >= 0.9 * rounds - 4 * math.sqrt(rounds * 0.09)
    assert alone < hits


def test_without_noise_the_band_of_a_roc_curve_is_the_curve():
    roc = dp.roc_curve(*classified(RNG(1)), SCORES, mechanism=NoNoise())
    band = dp.simultaneous_band(roc)
    assert band.fpr_low == pytest.approx(roc.fpr, abs=1e-12)
    assert band.tpr_high == pytest.approx(roc.tpr, abs=1e-12)


@pytest.mark.needs_jit
@pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")
@pytest.mark.parametrize("mechanism", [Hierarchy(1.0), Dawa(0.5)], ids=repr)
@pytest.mark.parametrize("of", ["records", "population"])
def test_bands_of_precision_and_recall_cover_both_at_all_thresholds(of, mechanism):
    rng, hits, alone, rounds = RNG(1), 0, 0, 60
    records = classified(rng)
    exact = records if of == "records" else classified(RNG(2), 500_000)
    exact = dp.roc_curve(*exact, SCORES, mechanism=NoNoise())
    for _ in range(rounds):
        labels, scores = records if of == "records" else classified(rng)
        roc = dp.roc_curve(labels, scores, SCORES, mechanism=mechanism, rng=rng)
        at_once = dp.simultaneous_band(roc.precision_recall, 0.9, of=of, replicates=300)
        held = [
            np.all((low <= true + 1e-12) & (true - 1e-12 <= high))
            for band in (at_once, roc.precision_recall_band(0.9))
            for low, high, true in ((*band[:2], exact.precision), (*band[2:], exact.recall))
        ]
        hits, alone = hits + all(held[:2]), alone + all(held[2:])
        assert np.all(at_once.precision_low <= roc.precision)
        assert np.all(roc.precision <= at_once.precision_high)
    assert hits >= 0.9 * rounds - 4 * math.sqrt(rounds * 0.09)
    assert alone < hits
    assert np.mean(at_once.precision_high - at_once.precision_low) < 0.9


def test_without_noise_the_band_of_precision_is_the_precision():
    roc = dp.roc_curve(*classified(RNG(1)), SCORES, mechanism=NoNoise())
    band = dp.simultaneous_band(roc.precision_recall)
    some = roc.recall > 0.0
    for end in band[:2]:
        assert end[some] == pytest.approx(roc.precision[some], abs=1e-12)
    assert band.recall_low == pytest.approx(roc.recall, abs=1e-12)


def test_any_curve_that_knows_its_row_and_its_band_has_one_at_once():
    curve = dp.cdf(clumped(RNG(1)), GRID, epsilon=1.0)

    class Doubled:
        def _released_row(self):
            return curve, None

        def _band_at_once(self, width, sampling):
            return 2.0 * width, sampling

    width, sampling = dp.simultaneous_band(Doubled(), of="population")
    assert 4.0 < width < 12.0
    assert sampling == pytest.approx(math.sqrt(curve.n) / 2)


def test_pictures_say_that_a_band_is_for_the_whole_curve():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    roc = dp.roc_curve(*classified(RNG(1)), SCORES, epsilon=1.0)
    curve = dp.cdf(clumped(RNG(1)), GRID, epsilon=1.0)
    for released, plot in (
        (roc, roc.plot),
        (roc.precision_recall, roc.plot_precision_recall),
        (curve, curve.plot),
    ):
        band = dp.simultaneous_band(released, 0.9, replicates=100)
        ax = plot(level=0.9, band=band)
        assert "90% band for the whole curve" in [
            text.get_text() for text in ax.get_legend().get_texts()
        ]
        with pytest.raises(dp.DtypeError, match="band"):
            plot(band=(0.0, 1.0))
        pyplot.close("all")
    with pytest.raises(dp.ParameterError, match="band"):
        curve.plot(band=dp.Interval(np.zeros(3), np.ones(3)))
    with pytest.raises(dp.ParameterError, match=r"band must have shape"):
        roc.plot(band=Band(*4 * [np.ones(3)]))
    with pytest.raises(dp.DtypeError, match="band must be an array"):
        roc.plot(band=Band(0.0, 1.0, 0.0, 1.0))


def test_a_curve_whose_deviations_are_not_those_of_its_noise_is_refused():
    curve = dp.cdf(clumped(RNG(1)), GRID, Hierarchy(0.5), rng=RNG(1))
    wrong = replace(curve, noise_deviation=np.full(GRID.size, 5e-324))
    with pytest.raises(dp.ParameterError, match="curve must have the noise_deviation of its"):
        dp.simultaneous_band(wrong, replicates=3)
