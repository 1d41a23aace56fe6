"""Intervals of rates and areas: of the records, for the noise, and of their population."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, Histogram, HistogramQueries, NoNoise
from dpcore.statistics import ROC, classifier

RNG = np.random.default_rng
GRID = dp.Grid.uniform(-3, 4, 70)
AT = np.array([-1.0, 0.0, 1.0, 2.0])  # thresholds of the grid
RATE, APART = 0.4, 1.2
RUNS, LEVEL = 200, 0.9
FEWEST = RUNS * LEVEL - 5 * np.sqrt(RUNS * LEVEL * (1 - LEVEL))
POPULATION = {
    "recall": norm.sf(AT - APART),
    "precision": RATE * norm.sf(AT - APART) / (RATE * norm.sf(AT - APART) + 0.6 * norm.sf(AT)),
}


def drawn(n, rng):
    labels = rng.random(n) < RATE
    return labels, rng.normal(np.where(labels, APART, 0.0))


def exact(labels, scores):
    return dp.score_curves(labels, scores, GRID, NoNoise())


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", [Hierarchy(0.5), Histogram(2.0), NoNoise()], ids=str)
@pytest.mark.parametrize("name", ["precision", "recall"])
def test_intervals_of_rates_cover(name, mechanism):
    rng, inside = RNG(1), np.zeros((2, AT.size))
    metric = getattr(classifier, name)
    own = getattr(classifier, f"{name}_interval")
    of_all = getattr(classifier, f"population_{name}_interval")
    for _ in range(RUNS):
        records = drawn(1000, rng)
        true = metric(exact(*records), AT)
        curves = dp.score_curves(*records, GRID, mechanism, rng=rng)
        for row, interval, truth in ((0, own, true), (1, of_all, POPULATION[name])):
            low, high = interval(curves, AT, LEVEL)
            inside[row] += (low <= truth + 1e-12) & (truth - 1e-12 <= high)
    assert (inside[0] >= (RUNS if mechanism == NoNoise() else FEWEST)).all()
    assert (inside[1] >= FEWEST).all()
    if mechanism == NoNoise():  # nothing but sampling: as often as the level says, not more
        assert (inside[1] <= RUNS * LEVEL + 5 * np.sqrt(RUNS * LEVEL * (1 - LEVEL))).all()


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("name", ["precision", "recall"])
@pytest.mark.parametrize("mechanism", [Hierarchy(0.5), Dawa(0.5)], ids=str)
def test_intervals_by_the_mechanism_cover_and_are_narrower(name, mechanism):
    rng, runs, inside, ratios = RNG(3), 60, np.zeros((2, AT.size)), []
    metric = getattr(classifier, name)
    both = (
        getattr(classifier, f"{name}_interval"),
        getattr(classifier, f"population_{name}_interval"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dp.DpcoreWarning)
        for _ in range(runs):
            labels, scores = drawn(2000, rng)
            truths = metric(exact(labels, scores), AT), POPULATION[name]
            curves = dp.score_curves(labels, scores, GRID, mechanism, rng=rng)
            for row, (interval, truth) in enumerate(zip(both, truths, strict=True)):
                low, high = interval(curves, AT, LEVEL, mechanism)
                inside[row] += (low <= truth + 1e-12) & (truth - 1e-12 <= high)
                own = metric(curves, AT)
                assert (low <= own).all()
                assert (own <= high).all()
                least, most = interval(curves, AT, LEVEL)
                ratios.append((high - low) / (most - least))
    assert (inside >= runs * LEVEL - 4 * np.sqrt(runs * LEVEL * (1 - LEVEL))).all()
    assert np.median(ratios) < 0.9


def test_shares_between_knots_reach_to_what_the_knots_allow():
    negatives, positives = np.array([4, 4, 4, 4]), np.array([2, 2, 6, 6])
    grid = dp.Grid.uniform(0, 1, 4)
    counts = np.append(negatives, positives[::-1])
    curves = dp.score_curves_from_counts(counts, grid, NoNoise())
    knots = np.array([0, 3, 4, 7])  # of negatives below 0.25, and of positives above 0.75
    curves = replace(curves, joint=replace(curves.joint, knots=knots))
    found = classifier.precision_interval(curves, [0.25, 0.5, 0.75], mechanism=NoNoise())
    assert found.low.tolist() == pytest.approx([6 / 18, 6 / 18, 6 / 18])
    assert found.high.tolist() == pytest.approx([16 / 28, 1.0, 1.0])
    found = classifier.recall_interval(curves, [0.25, 0.5, 0.75], mechanism=NoNoise())
    assert found.low.tolist() == pytest.approx([6 / 16, 6 / 16, 6 / 16])
    assert found.high.tolist() == pytest.approx([1.0, 1.0, 6 / 16])


def test_a_mechanism_that_leaves_errors_unknown_adds_nothing():
    mechanism = HistogramQueries(1.0)
    curves = dp.score_curves(*drawn(100, RNG(1)), GRID, mechanism, rng=RNG(1))
    for name in ("precision_interval", "population_recall_interval"):
        interval = getattr(classifier, name)
        for end, other in zip(
            interval(curves, AT), interval(curves, AT, 0.95, mechanism), strict=True
        ):
            assert end.tolist() == other.tolist()
    with pytest.raises(dp.ParameterError, match="must be the curves' own"):
        classifier.precision_interval(curves, AT, mechanism=Hierarchy(1.0))


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", [Hierarchy(3.0), NoNoise()], ids=str)
@pytest.mark.parametrize("n", [200, 2000])
def test_intervals_of_the_populations_area_cover(mechanism, n):
    cells = np.concatenate([[-np.inf], GRID.thresholds[:-1], [np.inf]])
    negatives, positives = (np.diff(norm.cdf(cells - middle)) for middle in (0.0, APART))
    area = positives @ (np.cumsum(negatives) - negatives / 2)
    rng, inside, widths = RNG(2), np.zeros(2), []
    for _ in range(RUNS):
        curves = dp.score_curves(*drawn(n, rng), GRID, mechanism, rng=rng)
        for row, known in enumerate((mechanism, None)):
            low, high = ROC.from_curves(curves, known).population_auc_interval(LEVEL)
            inside[row] += low <= area <= high
        narrow = ROC.from_curves(curves, mechanism).auc_interval(LEVEL)
        wide = ROC.from_curves(curves, mechanism).population_auc_interval(LEVEL)
        assert wide.low <= narrow.low <= narrow.high <= wide.high
        widths.append(wide.high - wide.low)
    assert (inside >= FEWEST).all()
    assert np.median(widths) < (0.3 if n == 200 else 0.1)


def test_classes_that_do_not_overlap_have_an_area_that_is_not_certain():
    scores = np.repeat([-1.0, 1.0], [900, 100])
    found = ROC.from_curves(exact(scores > 0, scores), NoNoise())
    assert found.auc_interval() == (1.0, 1.0)
    low, high = found.population_auc_interval()
    assert high == 1.0
    assert low == pytest.approx(1 - 1.96 / 101, abs=1e-3)


def test_without_noise_intervals_are_what_they_are_of_and_wilsons():
    curves = exact(*drawn(500, RNG(1)))
    z = norm.ppf(0.975)
    for name, whole in (("precision", (1, 3)), ("recall", (2, 3))):
        share = getattr(classifier, name)(curves, AT)
        for end in getattr(classifier, f"{name}_interval")(curves, AT):
            assert end == pytest.approx(share, abs=1e-7)
        n = sum(classifier.confusion(curves, AT)[each] for each in whole)
        middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
        low, high = getattr(classifier, f"population_{name}_interval")(curves, AT)
        assert low == pytest.approx(middle - half)
        assert high == pytest.approx(middle + half)
