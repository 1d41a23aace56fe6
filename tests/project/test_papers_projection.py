"""The figures of the projection paper measure what they say, and are drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpcore import BoxPlot, studies
from dpcore.privacy.gaussian import gaussian_sigma

pytestmark = pytest.mark.needs_jit


@pytest.fixture
def task(paper):
    return paper("_projection").counted("normal", 0.5, np.random.default_rng(1), 10)


def test_without_noise_a_histogram_misses_what_is_inside_its_fullest_bin(paper, task):
    lavish = task._replace(epsilon=paper("_projection").LAVISH)
    methods = paper("_projection_methods").METHODS
    found = paper("_projection").far_off(methods, lavish)
    counts = task.parts.sum(axis=0)
    ends = np.arange(31) * counts.size // 30
    missed = max(counts[a : b - 1].sum() for a, b in itertools.pairwise(ends))
    assert found["histogram queries"][0] == pytest.approx(missed / counts.sum(), abs=1e-3)
    assert found["dp.cdf"][0] < 1e-3
    assert found["projection, ours"][0] < found["projection, published"][0] < 0.05


def test_distances_to_the_population_have_the_sampling_error_of_the_records(paper):
    projection = paper("_projection")
    methods = {"truth": lambda task: task.truth()}
    tasks = [projection.counted("uniform", 1.0, np.random.default_rng(i)) for i in range(20)]
    truth = projection.population_curve("uniform")
    found = [projection.far_off(methods, each, population=truth) for each in tasks]
    assert all(each["truth"][0] == 0 for each in found)
    off = np.mean([each["truth, population"][0] for each in found])
    assert off == pytest.approx(0.0087, rel=0.25)  # sqrt(pi / 2) ln 2 / sqrt(n), Kolmogorov's law


def test_even_shares_have_the_noise_of_their_share(paper, task):
    methods = paper("_projection_methods")
    for shares in (50, 500):
        mechanism = methods._answering(task, shares)
        expected = gaussian_sigma(task.epsilon / shares, task.delta / shares)
        assert mechanism.answer_deviation(task.grid.size) == pytest.approx(expected, rel=1e-3)
    assert task.delta == pytest.approx(1e-6)
    even = methods.EVENLY["histogram queries, even shares"](task).privacy
    assert even.rho == pytest.approx(1 / gaussian_sigma(0.5 / 30, 1e-6 / 30) ** 2)


def test_rounds_ask_all_records_again_for_their_share(paper, task):
    methods = paper("_projection_methods")
    again = methods.AGAIN["adaptive quantiles, again"](task)
    assert (again.n, again.privacy.epsilon) == (10_000, pytest.approx(0.05))
    once = methods.METHODS["adaptive quantiles"](task)
    assert (once.n, once.privacy.epsilon) == (10_000, pytest.approx(0.5))


def test_ours_is_several_times_nearer_than_what_is_published(paper):
    study = paper("_projection").alone.over(epsilon=[1.0])
    results = studies.run(study, replicates=6, seed=1)
    mean = {name: float(results.array(name)[:, 0].mean()) for name in results.quantities}
    assert 4 * mean["projection, ours"] < mean["projection, published"]
    assert mean["adaptive quantiles"] < mean["adaptive quantiles, even shares"]
    assert mean["histogram queries"] < mean["histogram queries, even shares"]


def test_claims_are_judged_by_the_numbers(paper):
    pictures = paper("_projection_pictures")

    def found(hq, aq, pp):
        values = {pictures.HQ: hq, pictures.AQ: aq, pictures.PP: pp}
        arrays = {name: np.array(each)[:, None, None] for name, each in values.items()}
        return pictures.Found(arrays, [0.1, 1.0])

    as_in_the_paper = found([0.3, 0.2], [0.1, 0.015], [0.1, 0.02])
    assert all(pictures.order(as_in_the_paper).values())
    other = found([0.05, 0.05], [0.1, 0.03], [0.4, 0.02])
    assert not any(pictures.order(other).values())
    assert list(pictures.order_of_sites(other).values()) == [False, True]
    assert list(pictures.order_of_rounds(other).values()) == [False, True]
    some = (True, True), (True, False), (False,)
    assert [pictures.verdict(each) for each in some] == ["agrees", "in part", "differs"]
    assert pictures.verdict([False], [True]) == "in part"  # on one reading of the paper
    far = found([0.3, 0.2], [0.1, 0.01], [0.1, 0.03])  # three times is not slightly
    assert list(pictures.order(far).values()) == [True, True, False]
    assert not any(pictures.better_for_beta(far).values())


def test_curves_are_judged_by_themselves(paper):
    pictures = paper("_projection_pictures")
    names = pictures.HQ, pictures.AQ, pictures.PP
    mean = dict(zip([f"{name}, without noise" for name in names], (0.1, 0.02, 0.03), strict=True))
    fits = pictures.order_of_curves(mean | {f"{pictures.PP}, with noise": 0.05})
    assert all(fits.values())
    mean[f"{pictures.AQ}, without noise"] = 0.04
    noisy = pictures.order_of_curves(mean | {f"{pictures.PP}, with noise": 0.2})
    assert list(noisy.values()) == [True, False, True, False]


def test_without_the_data_synthetic_weights_stand_in(paper):
    paper("_data").weights.cache_clear()
    task = paper("projection_figure_03").dealt_out(1.0, np.random.default_rng(1))
    assert task.parts.sum(axis=1).tolist() == [2500] * 10
    assert paper("_data").weights()[1].startswith("synthetic")


def test_box_plots_are_compared_by_their_parts(paper):
    figure = paper("projection_figure_04")
    true, moved = (BoxPlot.from_sample(np.arange(101.0) + by) for by in (0, 2))
    assert figure.off(moved, true, "minimum", "median") == 2
    released = figure.boxes(1.0, np.random.default_rng(1)).released
    assert released[figure.FIVE].outliers.size == 0 < released[figure.OURS].outliers.size
