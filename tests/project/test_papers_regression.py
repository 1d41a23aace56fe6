"""The figures of the regression-diagnostics paper measure what they say, on tiny settings."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dpcore
from dpcore import studies
from dpcore.statistics import residual_plot_distance
from dpcore.studies import Results

pytestmark = pytest.mark.needs_jit  # thousands of releases

SCRIPTS = Path(__file__).parents[2] / "scripts"
FIGURES = ("figure_01", "figure_02", "figure_03", "figure_04", "figure_05", "figure_06")
FIGURES += ("figure_07", "figure_09", "table_1")


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    """Import from the scripts, without a folder of data."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.delenv("DPCORE_DATA", raising=False)


def paper(name: str) -> ModuleType:
    """Return a module of the paper: figure_01, or what figures share."""
    return importlib.import_module(f"papers.{name}")


def run(study: Any, replicates: int, **parameters: Any) -> Results:
    """Run a study on some of its parameters; if it has several blocks of them, all are given."""
    one = len(study.blocks) == 1 or set(parameters) < set(study.blocks[0])
    chosen = study.over(**parameters) if one else studies.Study(study.function, parameters)
    return studies.run(chosen, replicates=replicates, seed=1, workers=1)


# --- residual plots


def test_signals_of_plots_that_are_known():
    signals = paper("_regression").signals
    x = np.arange(9_000.0)
    waves = np.tile(np.linspace(-1, 1, 30), 300)
    assert signals(np.column_stack([x, waves])) == pytest.approx((1.0, 0.0), abs=1e-3)
    fan = signals(np.column_stack([x, np.repeat([1.0, 2.0, 3.0], 3000) * waves]))
    assert fan == pytest.approx((3.0, 0.0), abs=1e-3)
    _, hook = signals(np.column_stack([x, waves - np.repeat([0.0, 2.0, 0.0], 3000)]))
    assert 0.5 < hook < 2.0
    assert np.isnan(signals(np.zeros((3, 2)))).all()


def test_scenarios_have_the_moments_that_they_name():
    shared = paper("_regression")
    model = shared.SCENARIOS["Heteroscedastic"]
    predicted, residuals = shared.drawn(40_000, np.random.default_rng(1), **model)
    assert abs(np.sum(residuals)) < 1e-6  # as least squares leave them
    assert abs(np.sum(residuals * predicted)) < 1e-4
    for low, high in ((1, 5), (20, 30), (45, 50)):  # predicted is x, nearly
        within = (predicted > low) & (predicted < high)
        variance = np.var(residuals[within]) / np.mean(predicted[within])
        assert variance == pytest.approx(1.0, rel=0.15)  # ten deviations


@pytest.mark.sample(1)
@pytest.mark.parametrize("way", ["PriRP", "dpcore"])
def test_without_noise_both_ways_show_the_records(way):
    shared, rng = paper("_regression"), np.random.default_rng(1)
    records = shared.drawn(4000, rng, **shared.SCENARIOS["Nonlinear"])
    points = shared.CHECKED[way](records, 500.0, rng)
    assert residual_plot_distance(records.points, points) < 0.1
    assert len(points) == pytest.approx(4000, rel=0.1)


def test_the_cells_of_prirp_are_those_of_its_rule():
    shared, rng = paper("_regression"), np.random.default_rng(1)
    records, epsilon = shared.drawn(20_000, rng), 60.0
    points = shared.prirp(records, epsilon, rng)
    ends = 2 ** np.ceil(np.log2(np.abs(points).max(axis=0)))
    side = round(np.sqrt(0.95**2 * 20_000 * (epsilon - 470 / 20_000) / 10))
    edges = [np.linspace(-end, end, side + 1) for end in ends]
    expected = np.histogram2d(*records, edges)[0]
    assert expected.sum() > 18_000
    differ = np.histogram2d(*points.T, edges)[0] != expected
    assert differ.mean() < 0.02  # DAWA joins some
    assert differ[expected > 0].mean() < 0.1


@pytest.mark.sample(1)
@pytest.mark.parametrize(("way", "queries"), [("bound", 4), ("bound_of_less", 2)])
def test_the_search_of_prirp_has_the_published_noise(way, queries):
    search, rng = getattr(paper("_regression"), way), np.random.default_rng(1)
    assert search(np.repeat([3.0, 100.0], [980, 20]), 10.0, rng, 1.0) == 4.0
    assert search(np.full(1000, 4.0), 10.0, rng, 1.0) == 4.0  # both ends belong to it
    epsilon, more = 0.08, 50  # records more than are asked for
    a, b = queries / epsilon, 2 / epsilon  # of a query, and of the threshold
    if a == b:
        runs_on = np.exp(-more / a) * (1 / 2 + more / a / 4)
    else:
        runs_on = (a**2 * np.exp(-more / a) - b**2 * np.exp(-more / b)) / (2 * (a**2 - b**2))
    zeros = np.zeros(1000)
    first = [search(zeros, epsilon, rng, 1.0) == 1.0 for _ in range(6000)]
    assert 1 - np.mean(first) == pytest.approx(runs_on, abs=0.02)  # four deviations


def test_separation_is_what_the_best_threshold_achieves():
    separation = paper("_regression").separation
    assert separation(np.arange(5.0), np.arange(5.0)) == 0.0
    assert separation(np.arange(5.0), np.arange(5.0) + 9) == 1.0
    assert separation(np.array([1.0, 2, 3, 4]), np.array([3.5, 5, 6, 7])) == 0.75


def test_variation_also_tells_samples_that_no_threshold_does():
    shared, outer = paper("_regression"), np.array([0.0, 0.1, 0.9, 1.0])
    assert shared.variation(outer, np.full(4, 0.5)) == 1.0
    assert shared.separation(outer, np.full(4, 0.5)) == 0.5
    assert shared.variation(outer, outer) == 0.0


def test_fans_and_hooks_are_seen_where_they_are():
    results = run(paper("regression_figure_02").signals_of_plots, 3, way="dpcore", epsilon=50.0)
    fan, hook = results.array("fan"), results.array("hook")  # by scenario
    assert (np.abs(fan[[0, 2]] - 1) < 0.3).all()
    assert (fan[1] > 1.8).all()
    assert (np.abs(hook[:2]) < 0.15).all()
    assert (hook[2] > 0.6).all()


def test_distances_are_small_for_ideal_plots_alone():
    study, scenarios = paper("regression_figure_03").distances, list(paper("_regression").SCENARIOS)
    at = {"way": "PriRP", "epsilon": 100.0, "n": 1000, "scenario": scenarios}
    found = run(study, 3, **at).array("distance")
    assert (found[0] < 0.3).all()
    assert (found[1:] > 0.4).all()


def test_the_rise_of_a_line_that_is_off_is_released():
    figure = paper("regression_figure_04")
    x = np.linspace(0, 30, 3000)
    assert figure.rise(np.column_stack([x, 0.1 * x])) == pytest.approx(2.0, abs=0.01)
    results = run(figure.rises, 3, model="PriRP", epsilon=50.0)
    true, released = results.array("true"), results.array("released")
    np.testing.assert_allclose(released, true, atol=0.3)


def test_incomes_have_a_fan_and_their_logarithms_less_of_one():
    figure = paper("regression_figure_05")
    results = run(figure.fans, 2, way="dpcore", epsilon=50.0, n=9275)
    plain, logarithm = results.array("fan")
    true = [paper("_regression").signals(figure.survey(each).points)[0] for each in figure.UNITS]
    np.testing.assert_allclose(plain, true[0], rtol=0.15)
    np.testing.assert_allclose(logarithm, true[1], rtol=0.15)
    assert true[0] > 1.8 > 1.2 > true[1]


def test_the_least_violation_is_less_of_more_records_and_more_of_released_plots():
    study = paper("regression_table_1").least_violation
    common = {"violation": "alpha", "epsilon": 1.0, "plots": 20}
    true = run(study, 1, way="no privacy", n=(200, 2000), **common).array("least")
    released = run(study, 1, way="dpcore", n=2000, **common).array("least")
    assert 0.02 < true[0] < 0.3
    assert true[1] < 0.5 * true[0]
    assert released > true[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("seen", "verdict"), [((1, 1), "agrees"), ((1, 0), "in part")])
def test_the_verdict_on_incomes_is_about_the_records_that_there_are(tmp_path, seen, verdict):
    figure, made_of = paper("regression_figure_05"), paper("_figure")

    def fans(way, epsilon, n, outcome, rng):
        shows = n == figure.PAPER or seen[figure.EPSILONS.index(epsilon)]
        return {"fan": (2.0 if outcome == "income" else 1.1) if shows else 1.0}

    results = run(studies.Study(fans, figure.fans.parameters), 2)
    outcome = figure.draw(made_of.Made({"fans": results}, tmp_path / "picture.png", quick=True))
    assert outcome.verdict == verdict
    assert outcome.paper.startswith("of 9,275 records")
    assert f"{figure.PAPER:,}" not in outcome.paper + outcome.ours
    assert "drawn from these with replacement" in outcome.why


# --- DAWA as published


def test_costs_are_deviations_from_the_mean_of_all_intervals():
    dawa, rng = paper("_published_dawa"), np.random.default_rng(1)
    for size in (1, 2, 7, 40):
        counts = rng.poisson(rng.choice([0.2, 3.0, 50.0]), size)
        for length in 2 ** np.arange(int(size).bit_length()):
            windows = np.lib.stride_tricks.sliding_window_view(counts, length)
            expected = [np.abs(each - each.mean()).sum() for each in windows]
            np.testing.assert_allclose(dawa.deviations(counts, length), expected, atol=1e-9)


def test_the_cheapest_of_all_partitions_is_found():
    dawa, rng = paper("_published_dawa"), np.random.default_rng(1)

    def partitions(start, size):
        if start == size:
            yield ()
        for k in range((size - start).bit_length()):
            if start + 2**k <= size:
                for rest in partitions(start + 2**k, size):
                    yield (start, *rest)

    for size in (1, 2, 5, 9):
        costs = [rng.exponential(2**k, size - 2**k + 1) for k in range(size.bit_length())]

        def price(edges, costs=costs):
            lengths = np.diff(edges)
            return sum(
                costs[int(n).bit_length() - 1][a] for a, n in zip(edges, lengths, strict=False)
            )

        everything = [(*starts, size) for starts in partitions(0, size)]
        best = min(everything, key=price)
        assert tuple(dawa.cheapest(costs)) == best
    ties = [np.ones(4), np.full(3, 2.0), np.full(1, 4.0)]
    assert dawa.cheapest(ties).tolist() == [0, 4]  # the longest bucket wins


def test_the_published_noise_has_the_scale_of_the_authors_code(monkeypatch):
    dawa, scales = paper("_published_dawa"), {}

    class Rng:
        def laplace(self, scale, size):
            scales[size] = scale
            return np.full(size, 100.0)

    assert dawa.buckets(np.full(8, 5), 0.5, 1.5, Rng()).tolist() == list(range(9))
    assert scales == {7: (2 - 1 / 2 - 1 / 8) / 0.5, 5: (2 - 1 / 4 - 1 / 8) / 0.5, 1: 3.5}
    asked = []

    def buckets(counts, *shares):
        asked.append(shares[:2])
        return np.array([0, counts.size])

    monkeypatch.setattr(dawa, "buckets", buckets)
    for neighbours in ("add-or-remove-one", "replace-one"):
        dawa.published_dawa(np.arange(8), 2.0, np.random.default_rng(1), neighbours=neighbours)
    assert asked == [(0.5, 1.5), (0.25, 0.75)]


def test_published_counts_are_those_of_the_cells_where_noise_is_little():
    dawa, rng = paper("_published_dawa"), np.random.default_rng(1)
    counts = np.array([500, 500, 500, 0, 0, 90, 7, 0, 0])
    for how in ({}, {"neighbours": "replace-one", "outside": 40}):
        noisy = dawa.published_dawa(counts, 500.0, rng, **how)
        np.testing.assert_allclose(noisy, np.cumsum(counts), atol=0.5)
    much = [dawa.buckets(counts // 100, 1e-3, 1e-3, rng).size for _ in range(50)]
    assert np.median(much) <= 4  # a bucket for each power of two, at least


def test_the_published_stage_spends_more_than_it_is_given():
    """docs/proofs/dawa.md, section 2: this is why dpcore does not offer it."""
    dawa, rng = paper("_published_dawa"), np.random.default_rng(1)
    first, runs = 2.0, 4000
    equal, raised = (
        np.mean([dawa.buckets(np.array(counts), first, 1.0, rng).size == 4 for _ in range(runs)])
        for counts in ([3, 3, 3], [3, 4, 3])
    )
    least = raised - 4 * np.sqrt(raised / runs)
    most = equal + 4 * np.sqrt(equal / runs)
    assert np.log(least / most) > 1.2 * first
    assert not any("published" in name.lower() for name in dir(dpcore.mechanisms))


def test_the_paper_s_methods_do_not_run_dpcore_s_dawa(monkeypatch):
    shared, plots = paper("_regression_roc"), paper("_regression")
    records, rng = shared.binormal(500, 0.8), np.random.default_rng(1)

    def refuse(*given, **named):
        raise AssertionError("dpcore's DAWA")

    monkeypatch.setattr(dpcore.mechanisms.Dawa, "__post_init__", refuse)
    for way in ("PriROC", "PriROC-fix", shared.GENEROUS):
        shared.CHECKED[way](records, 1.0, rng)
    for way in ("PriRP", plots.LESS):
        plots.CHECKED[way](plots.drawn(300, rng), 1.0, rng)
    with plots.quietly(), pytest.raises(AssertionError, match="dpcore's DAWA"):
        shared.CHECKED[shared.OTHER_STAGE](records, 1.0, rng)


@pytest.mark.full
def test_few_records_of_skewed_scores_are_better_off_with_intervals_of_all_lengths():
    study = paper("_regression_roc").released_curves
    ways = ("PriROC", paper("_regression_roc").OTHER_STAGE)
    found = run(study, 30, data="SMS", epsilon=0.1, way=ways).array("error of the area")
    theirs, ours = found.mean(axis=1)
    assert theirs < 0.6 * ours


# --- ROC curves


def test_without_much_noise_all_ways_find_the_area():
    shared = paper("_regression_roc")
    assert shared.area(shared.exact(shared.binormal(2000, 0.8))) == pytest.approx(0.8, abs=1e-4)
    results = run(shared.released_curves, 1, data="TWITTER", epsilon=1000.0)
    assert (results.array("error of the area") < 0.01).all()
    apart = dict(zip(shared.CHECKED, results.array("area between"), strict=True))
    assert apart["PriROC"] < 0.01
    assert apart["PriROC-fix"] < 0.01
    curve = results.array("curve", way="dpcore")[0]
    assert (np.diff(curve) >= 0).all()
    assert (curve[0] < 0.2, curve[-1]) == (True, 1.0)


def test_stand_ins_have_the_sizes_of_the_data():
    shared = paper("_regression_roc")
    for data, n, positives in (("SMS", 558, 481), ("TWITTER", 684, 385)):
        records = shared.DATA[data].__wrapped__()  # whatever was read before
        assert (records.labels.size, records.labels.sum()) == (n, positives)
        assert "synthetic" in records.name


def test_a_class_without_records_is_a_guess():
    shared = paper("_regression_roc")
    assert shared.area(shared._points(np.full(4, np.nan), np.linspace(0.1, 1, 4))) == 0.5


@pytest.mark.parametrize("way", ["PriROC", "PriROC-fix"])
def test_no_class_is_counted_with_records_of_the_other(way):
    # A cell with the 481 positives, behind the 77 negatives, would share a bucket with some.
    results = run(paper("_regression_roc").released_curves, 12, data="SMS", epsilon=0.5, way=way)
    assert np.median(results.array("error of the area")) < 0.1


def test_areas_that_differ_are_told_apart():
    figure = paper("regression_figure_09")
    found = run(figure.areas, 4, way="dpcore", product=10**6, auc=(0.7, 0.725, 0.75)).array("area")
    np.testing.assert_allclose(found.mean(axis=1), [0.7, 0.725, 0.75], atol=0.005)
    assert figure.worst(dict(zip((0.7, 0.725, 0.75), found, strict=True)), 1) < 1e-3
    mixed = {0.7: found[0], 0.725: np.append(found[0][:3], 0.8), 0.75: found[2]}
    assert figure.worst(mixed, 1) > 0.05


# --- pictures


def test_areas_and_curves_are_of_the_same_releases():
    seventh, eighth = (paper(f"regression_figure_0{each}").FIGURE for each in (7, 8))
    assert seventh.runs == eighth.runs
    assert seventh.draw is not eighth.draw


SMALL: dict[str, dict[str, Any]] = {
    "figure_03": {"n": (500, 1000)},
    "figure_07": {"epsilon": (0.1, 1.0)},
    "figure_09": {"product": (1000, 3000), "auc": (0.7, 0.725)},
    "table_1": {"n": (500, 1000), "epsilon": 1.0, "plots": 4},
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FIGURES)
def test_each_is_drawn_and_says_what_came_out(name, tmp_path):
    figure, made_of = paper(f"regression_{name}").FIGURE, paper("_figure")
    found = {
        each.study.name: run(each.study, 1 if name == "table_1" else 2, **SMALL.get(name, {}))
        for each in figure.runs
    }
    made = made_of.Made(found, tmp_path / "picture.png", quick=True)
    outcome = figure.draw(made)
    assert made.path.stat().st_size > 1000
    assert outcome.verdict in ("agrees", "differs", "in part")
    assert "nan" not in f"{outcome.paper} {outcome.ours}".split()
    assert bool(made.data) == (name in ("figure_05", "figure_06", "figure_07"))
