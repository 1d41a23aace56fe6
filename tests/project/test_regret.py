"""The study of regret runs on tiny cases, and measures what it says."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
SIZE, EPSILON = 24, 1.0


@pytest.fixture
def study(monkeypatch):
    """Import a part of the study by name."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return lambda name: importlib.import_module(f"studies._regret_{name}")


def some(study, kind="epsilon", count=3):
    """Outcomes of a shape of either group."""
    experiments = study("experiments")
    chosen = [each for each in study("shapes").SYNTHETIC if each.name in ("uniform", "3 spikes")]
    settings = [experiments.Setting(kind, EPSILON, SIZE)]
    return experiments.run(experiments.cases(chosen, settings, (0.5, 10.0), count), 1)


@pytest.mark.parametrize("size", [24, 64, 1024])
def test_every_shape_is_a_distribution(study, size):
    shapes = study("shapes").SYNTHETIC
    assert len({each.name for each in shapes}) == len(shapes)
    for shape in shapes:
        weights = shape.weights(size)
        assert weights.shape == (size,), shape.name
        assert (weights >= 0).all(), shape.name
        assert 0 < weights.sum() < np.inf, shape.name


def test_half_of_the_shapes_are_held_out_and_stay_so(study):
    shapes = study("shapes")
    held = [each.name for each in shapes.SYNTHETIC if each.group == "held-out"]
    assert held[0] == "beta(2, 5)"
    assert (len(held), len(shapes.SYNTHETIC)) == (12, 24)
    assert shapes.HISTOGRAMS["MEDCOST"] == "held-out"


def test_histograms_are_put_together_and_not_cut_finer(study, tmp_path):
    (tmp_path / "dpbench").mkdir()
    np.save(tmp_path / "dpbench" / "HEPTH.n8.npy", np.arange(8))
    (shape,) = study("shapes").of_files(tmp_path)
    assert (shape.name, shape.group) == ("HEPTH", "held-out")
    assert shape.weights(4).tolist() == [1, 5, 9, 13]
    assert shape.weights(16) is None


def test_columns_are_counted_within_public_bounds(study):
    weights = study("shapes").column([-5.0, 0.0, 2.4, 2.5, 9.9, 10.0, 99.0], 0, 10)
    assert weights(4).tolist() == [3, 1, 0, 3]


@pytest.mark.parametrize("kind", ["epsilon", "delta", "rho"])
def test_all_contenders_have_errors_and_the_tables_show_them(study, kind):
    outcomes = some(study, kind)
    assert [(each.case.shape, each.case.ratio, each.case.n) for each in outcomes] == [
        ("uniform", 0.5, 12),
        ("uniform", 10.0, 240),
        ("3 spikes", 0.5, 12),
        ("3 spikes", 10.0, 240),
    ]
    contenders = study("contenders").contenders(kind, SIZE)
    for each in outcomes:
        assert list(each.errors) == list(contenders)
        assert all(0 < error.mean < 1 for error in each.errors.values())
        assert 0 <= each.coverage.all <= 1
    tables = study("tables")
    for name in contenders:
        assert any(line.startswith(f"| {name} |") for line in tables.by_mechanism(outcomes))
    names = "summary", "by_setting", "worst", "by_shape", "bands", "winners"
    for make in names:
        lines = getattr(tables, make)(outcomes)
        assert len({line.count("|") for line in lines[:3]}) == 1


def test_outcomes_are_the_same_again_and_have_noise_of_their_own(study):
    first, second = some(study), some(study)
    assert first == second
    assert len({error.mean for error in first[0].errors.values()}) == len(first[0].errors)


def test_errors_are_those_of_f(study):
    experiments, counts = study("experiments"), np.array([6, 0, 2, 0])
    setting = experiments.Setting("epsilon", 1.0, 4)
    case = experiments.Case("none", "tuning", setting, 1.0)

    def exact(counts, given, rng, count):
        return np.tile(np.cumsum(counts), (count, 1))

    contenders = {"exact": exact, "uniform": study("contenders").uniform}
    found = experiments.evaluate(case, counts, 4, contenders).errors
    assert np.sqrt(found["exact"].mean) == pytest.approx(0.01 / 8)
    assert found["exact"].distance == 0
    assert found["uniform"].mean == pytest.approx(np.mean(np.square([0.5, 0.25, 0.25, 0])), 1e-4)
    assert found["uniform"].distance == 0.5


def test_the_best_in_hindsight_is_not_the_luckiest(study):
    experiments = study("experiments")
    case = experiments.Case("none", "tuning", experiments.Setting("epsilon", 1.0, 4), 1.0)

    def error(first, second):
        return experiments.Error((first, second), 0.1, 0.1)

    errors = {"dp.cdf": error(4.0, 8.0), "best tree": error(1.0, 6.0), "lucky": error(9.0, 2.0)}
    found = experiments.Outcome(case, errors, experiments.Coverage(1.0, 1.0, 1.0))
    assert found.best == "best tree"
    assert found.least == (6.0 + 9.0) / 2
    assert found.regret() == pytest.approx((6.0 / 7.5) ** 0.5)
    assert found.gain() == pytest.approx(3.5 / 6.0)


def test_a_coarser_grid_has_straight_lines_between_its_thresholds(study):
    contenders = study("contenders")
    curve = contenders.coarse(2)(
        np.array([4, 0, 0, 2]) * 10**6, {"epsilon": 1e6}, np.random.default_rng(1), 1
    )
    assert curve[0] == pytest.approx(np.array([2, 4, 5, 6]) * 10**6)


def test_medians_part_the_records_in_halves(study):
    curves = study("contenders").medians(2)(
        np.full(64, 1000), {"epsilon": 100.0}, np.random.default_rng(1), 2
    )
    assert curves == pytest.approx(np.tile(1000.0 * np.arange(1, 65), (2, 1)), abs=1500)
    assert (curves[:, -1] == 64000).all()


def test_roc_curves_are_measured_beside_their_records(study):
    roc = study("roc")
    labels = np.arange(400) % 4 == 0
    scores = np.where(labels, 0.4, 0.2) + np.arange(400) / 1000
    records = roc.Scored(labels, scores)
    assert roc.calibration_error(roc.Scored(labels, labels.astype(float))) == 0
    for size in (None, 16):
        found = roc.rank(records, 1e4, size, 2)
        assert len(found.errors) == len(roc.MEASURES)
        assert max(found.errors) < 0.1
        assert len(found.intervals) == (len(roc.KINDS) if size is None else 0)


def test_the_page_says_what_was_skipped_and_keeps_lines_short(study):
    outcomes = some(study)
    lines = study("page").whole(outcomes, some(study, "delta"), None, 3)
    assert "Skipped: this part needs --data DIR with bank-full.csv." in lines
    assert max(len(line) for line in lines if not line.startswith("|")) <= 100
    assert "- 2 shapes: 1 on which rules may be tuned, and 1 held out" in "\n".join(lines)


def test_the_default_is_compared_with_the_best_grid(study):
    roc = study("roc")
    intervals = (roc.Interval(0.95, 0.1),) * 2
    ranks = {
        (size, epsilon): roc.Ranked((0.3, 0.2, 0.1 if size == 64 else 0.4), intervals)
        for size in (None, *roc.GRIDS)
        for epsilon in roc.EPSILONS
    }
    ratios = [line for line in study("tables").of_ranks(ranks) if "over the best" in line]
    assert [line.split("**")[3] for line in ratios] == ["1.00", "1.00", "4.00"]
    assert "95.0% (width 0.100)" in study("tables").of_intervals(ranks)[2]


def test_intervals_are_counted_against_either_area(study):
    roc = study("roc")
    found = roc.intervals([(0.5, 0.6), (0.5, 0.8)], ([0.55, 0.55], [0.7, 0.7]))
    assert [each.covered for each in found] == [1.0, 0.5]
    assert found[0].width == pytest.approx(0.2)
    assert roc.intervals([], ([], [])) == ()


def test_it_is_drawn(study, tmp_path):
    study("page").draw(some(study), tmp_path / "regret.png")
    assert (tmp_path / "regret.png").stat().st_size > 10_000
