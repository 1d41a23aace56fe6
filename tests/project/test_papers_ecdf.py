"""The figures of the ECDF paper are made, and what they measure follows the known laws."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from dpcore import studies
from dpcore.mechanisms import Dyadic


@pytest.fixture
def made(paper, tmp_path):
    """Make a figure from so few replicates that it takes no time."""
    contract = paper("_figure")

    def make(figure, replicates=2):
        runs = [(each.study.over(**each.quickly), replicates) for each in figure.runs]
        results = {s.name: studies.run(s, replicates=k, seed=1, workers=1) for s, k in runs}
        result = contract.Made(results, tmp_path / "figure.png", quick=True)
        return figure.draw(result), result

    return make


def test_smoothing_does_nothing_to_a_curve_that_rises_steeply(paper):
    effects = paper("_ecdf").effects_of_smoothing
    steep = effects(2**8, 10_000, 1.0, np.random.default_rng(1))
    for name, ratio in steep.items():
        assert name == "ours" or ratio == pytest.approx(1.0, rel=1e-9)


def test_without_its_bounds_smoothing_harms_where_there_is_much_noise(paper):
    effects, rng = paper("_ecdf").effects_of_smoothing, np.random.default_rng(1)
    found = [effects(2**9, 1, 0.05, rng) for _ in range(20)]
    mean = {name: np.mean([each[name] for each in found]) for name in found[0]}
    assert mean["norm 2"] < 0.5 < 1.0 < mean["norm 2, unbounded"]
    assert mean["ours"] < mean["norm 2"]


def test_the_error_of_the_curve_is_that_of_the_theorem(paper):
    size, rng = 2**8, np.random.default_rng(1)
    errors = paper("ecdf_figure_04").inverse_errors
    found = np.mean([errors(size, 1.0, rng)["curve"] for _ in range(150)])
    assert found == pytest.approx(2 * 9**3 / (3 * size) ** 2, rel=0.2)  # L = 8; over n^2


def test_published_classes_have_half_of_epsilon_each(paper):
    roc, rng, cells = paper("_ecdf_roc"), np.random.default_rng(1), 31
    exact = np.cumsum(roc.counted("Heart disease", cells), axis=1)
    noise = np.array([roc.published("Heart disease", 0.5, rng, cells) for _ in range(300)]) - exact
    tree = Dyadic(0.25, sensitivity="paper")
    assert tree.noise_scale(cells + 1) == 4 * 6  # L + 1, with L = 5
    assert noise.var(axis=0).mean() == pytest.approx(tree.variance(cells + 1), rel=0.2)
    public = roc.published("Heart disease", 0.5, rng, cells, sizes=True)
    np.testing.assert_array_equal(public[:, -1], exact[:, -1])


def test_the_exact_roc_curve_has_the_area_of_ranks(paper):
    roc = paper("_ecdf_roc")
    labels, scores, _ = roc.records("Heart disease")
    curve = roc.exact_roc("Heart disease")
    ranks, positives = np.argsort(np.argsort(scores)), labels.sum()  # no ties
    pairs = ranks[labels].sum() - positives * (positives - 1) / 2
    area = np.trapezoid(curve.tpr, curve.fpr)
    assert area == pytest.approx(pairs / positives / (~labels).sum(), abs=1e-12)


def test_a_class_without_records_has_the_diagonal(paper):
    roc = paper("_ecdf_roc")
    assert roc.rates(np.array([[1, 2], [3, 0]])) is roc.DIAGONAL
    np.testing.assert_array_equal(roc.rates(np.array([[1, 2], [3, 4]])).tpr, [0.0, 0.75, 1.0])


def test_the_statistic_of_the_records_is_that_of_the_textbook(paper):
    fit = paper("_ecdf_fit")
    labels, p, _ = fit.records("Bank")
    order, total = np.argsort(p), 0.0
    for group in np.array_split(order, fit.GROUPS):
        for observed, expected in ((labels, p), (~labels, 1 - p)):
            e = expected[group].sum()
            total += (observed[group].sum() - e) ** 2 / e
    assert fit.textbook("Bank").statistic == pytest.approx(total, rel=0.05)  # ties aside


def test_norms_are_compared_at_every_epsilon(paper):
    is_better = paper("ecdf_figure_02")._is_better
    one = np.random.default_rng(1).uniform(0.9, 1.1, (11, 20))
    gains = np.linspace(1.5, 1.0, 11)[:, None]
    assert is_better(one / gains, one)
    assert not is_better(one / gains[::-1], one)  # they are the largest where noise is least
    gains[5] = 0.9
    assert not is_better(one / gains, one)


def test_a_verdict_is_on_all_statements(paper):
    verdict = paper("_figure").verdict
    assert verdict(True, np.True_) == "agrees"
    assert verdict(False, True) == "in part"
    assert verdict(False, np.False_) == "differs"


def test_errors_fall_or_do_not(paper):
    falls, rng = paper("_ecdf").falls, np.random.default_rng(1)
    noise = rng.lognormal(sigma=0.1, size=(4, 50))
    assert falls(noise * np.array([[8.0], [4.0], [2.0], [1.0]]))
    assert not falls(noise * np.array([[8.0], [2.0], [4.0], [1.0]]))
    assert not falls(noise * np.array([[1.0], [1.0], [1.0], [2.0]]))


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "agrees"), (2.0, "differs")])
def test_times_are_compared(paper, made, factor, verdict):
    figure = paper("ecdf_figure_07")

    def times(machine, solver, norm, size, rng):
        return {"seconds": size * (factor if norm == 2 else 1.0)}

    named = {}
    for each in figure.FIGURE.runs:
        own = lambda **given: times(**given)  # noqa: E731
        own.__name__ = each.study.name
        named[each.study.name] = each._replace(study=studies.Study(own, each.study.parameters))
    outcome, _ = made(replace(figure.FIGURE, runs=tuple(named.values())))
    assert outcome.verdict == verdict


def test_a_solution_takes_time(paper):
    seconds = paper("ecdf_figure_07").seconds
    found = seconds("", "dpcore", 2, 64, np.random.default_rng(1))["seconds"]
    assert 0.0 < found < 60.0


@pytest.fixture
def small_files(paper, monkeypatch, tmp_path):
    """A folder of small data sets with the names and columns of the papers' files."""
    data, files, rng = paper("_data"), paper("_files"), np.random.default_rng(1)
    folder, known = tmp_path / "data", {}
    folder.mkdir()
    age = rng.normal(size=200)
    texts = {
        "bank-full.csv": ["age;y", *(f"{x:.3f};{'yes' if x > 1 else 'no'}" for x in age)],
        "diabetic_data.csv": [
            "age,readmitted",
            *(f"{x:.3f},{'<30' if x > 0 else 'NO'}" for x in age),
        ],
        "framingham.csv": ["age,TenYearCHD", *(f"{x:.3f},{int(x > 0)}" for x in age), ",1"],
    }
    for name, lines in texts.items():
        whole = "\n".join(lines).encode() + b"\n"
        (folder / name).write_bytes(whole)
        digest = hashlib.sha256(whole).hexdigest()
        known[name] = files.DataFile(name, name, len(whole), digest)
    monkeypatch.setattr(files, "FILES", known)
    monkeypatch.setattr(data, "KEPT", tmp_path / "kept")
    data._scored.cache_clear()
    monkeypatch.setenv("DPCORE_DATA", str(folder))
    yield data
    data._scored.cache_clear()


def test_the_table_counts_files(paper, made, small_files, tmp_path):
    outcome, found = made(paper("ecdf_table_1").FIGURE)
    assert "Heart disease has 201 records" in outcome.why
    assert outcome.verdict == "differs"
    assert found.data[0] == "Framingham"
    assert small_files.heart().labels.size == 200  # the last record is not complete
    scores = small_files.heart(0.5).scores
    small_files._scored.cache_clear()
    np.testing.assert_array_equal(small_files.heart(0.5).scores, scores)  # as they were kept
    assert 60 < scores.size < 140
    assert len(list((tmp_path / "kept").iterdir())) == 4


def test_the_table_is_not_checkable_without_files(paper, made):
    outcome, found = made(paper("ecdf_table_1").FIGURE)
    assert outcome.verdict == "not checkable"
    assert "no files of Heart disease, Bank-full, Diabetes" in outcome.why
    assert all("synthetic" in each for each in found.data)


@pytest.mark.parametrize("name", ["bank", "diabetes", "heart"])
def test_models_have_converged(small_files, name):
    labels, scores = small_files._fitted(name, 1.0)
    # the gradient of the penalised loss in the constant, which has no penalty
    assert abs(scores.mean() - labels.mean()) < 1e-8
    assert scores.std() > 0.01


def test_a_model_that_does_not_converge_is_an_error(small_files, monkeypatch):
    monkeypatch.setattr(small_files, "GRADIENT", 1e-30)
    with pytest.raises(Warning):
        small_files._fitted("heart", 1.0)


def test_the_error_of_the_grid_is_that_of_a_statistic_without_noise(paper):
    fit = paper("_ecdf_fit")
    coarse, fine = (fit.error_of_grid("Diabetes", cells) for cells in (fit.CELLS, fit.FINE))
    assert 0 < coarse < 0.02
    assert 0 < fine < 0.02
    said = fit.grid_in_words("Diabetes")
    assert f"{coarse:.2g} with 128 cells, and {fine:.2g} with 4,096" in said
    quiet = fit.fit_errors("Diabetes", 1e6, np.random.default_rng(1))["ours"]
    assert min(abs(quiet - each) / each for each in (coarse, fine)) < 0.1
