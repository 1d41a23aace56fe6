"""The study of regret runs on tiny cases, and measures what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import NoNoise

SIZE, EPSILON = 24, 1.0


@pytest.fixture
def regret(study):
    """Import a part of the study by name."""
    return lambda name: study(f"_regret_{name}")


def some(regret, *kinds, count=5):
    """Outcomes of a shape of either group."""
    experiments = regret("experiments")
    cases = {
        "epsilon": EPSILON,
        "cells": SIZE,
        "shape": ["uniform", "3 spikes"],
        "ratio": [0.5, 10],
    }
    blocks = [{"kind": kind, **cases} for kind in kinds or ("epsilon",)]
    study_of = replace(experiments.errors, parameters=blocks, batch=count)
    return regret("outcomes").outcomes(studies.run(study_of, replicates=count, seed=1))


@pytest.mark.parametrize("size", [24, 64, 1024])
def test_every_shape_is_a_distribution(regret, size):
    shapes = regret("shapes").SYNTHETIC
    assert len({each.name for each in shapes}) == len(shapes)
    for shape in shapes:
        weights = shape.weights(size)
        assert weights.shape == (size,), shape.name
        assert (weights >= 0).all(), shape.name
        assert 0 < weights.sum() < np.inf, shape.name


def test_half_of_the_shapes_are_held_out_and_stay_so(regret):
    shapes = regret("shapes")
    held = [each.name for each in shapes.SYNTHETIC if each.group == "held-out"]
    assert held[0] == "beta(2, 5)"
    assert (len(held), len(shapes.SYNTHETIC)) == (12, 24)
    assert shapes.HISTOGRAMS["MEDCOST"] == "held-out"


def test_histograms_are_put_together_and_not_cut_finer(regret, tmp_path):
    (tmp_path / "dpbench").mkdir()
    np.save(tmp_path / "dpbench" / "HEPTH.n8.npy", np.arange(8))
    (shape,) = regret("shapes").of_files(tmp_path)
    assert (shape.name, shape.group) == ("HEPTH", "held-out")
    assert shape.weights(4).tolist() == [1, 5, 9, 13]
    assert shape.weights(16) is None


def test_columns_are_counted_within_public_bounds(regret):
    weights = regret("shapes").column([-5.0, 0.0, 2.4, 2.5, 9.9, 10.0, 99.0], 0, 10)
    assert weights(4).tolist() == [3, 1, 0, 3]


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["epsilon", "delta", "rho"])
def test_all_contenders_have_errors_and_the_tables_show_them(regret, kind):
    found = some(regret, kind)
    cases = found.cases
    assert list(zip(cases["shape"], cases["group"], cases["ratio"], strict=True)) == [
        ("uniform", "tuning", 0.5),
        ("uniform", "tuning", 10.0),
        ("3 spikes", "held-out", 0.5),
        ("3 spikes", "held-out", 10.0),
    ]
    contenders = regret("contenders").contenders(kind, SIZE)
    assert set(found.regret) == set(contenders)
    assert (found.regret > 0).all(axis=None)
    assert cases["covered"].between(0, 1).all()
    assert cases["best"].isin(contenders).all()
    tables = regret("outcomes")
    lines = tables.by_mechanism(found)
    assert [line.split(" | ")[0][2:] for line in lines[2:]] == list(found.regret)
    for make in (tables.summary, tables.by_setting, tables.by_shape, tables.bands, tables.winners):
        assert len({line.count("|") for line in make(found)}) == 1
    for lines in tables.worst(found):
        assert len(lines) == 2 + len(cases)


def test_the_contenders_are_in_one_order_whoever_takes_part(regret):
    found = some(regret, "rho", "delta")
    whole = list(regret("contenders").contenders("delta", SIZE))
    assert [name for name in found.regret if name in whole] == regret("outcomes")._names(whole)
    of_rho = dict(found.by("kind"))[("rho",)]
    assert set(of_rho.regret) == set(regret("contenders").contenders("rho", SIZE))


def test_gains_are_against_the_best_tree_and_regrets_against_the_best(regret):
    found = some(regret)
    ratio = found.regret["best tree"] / found.regret["dp.cdf"]
    np.testing.assert_allclose(found.cases["gain"], ratio**2)
    only = found.where(found.cases["shape"] == "uniform")
    line = regret("outcomes").summary(only)[-1].split(" | ")
    assert line[:3] == ["| tuning", "all", "2"]
    assert float(line[3]) == pytest.approx(np.sqrt(np.prod(only.cases["gain"])), abs=0.006)


def test_errors_are_those_of_f(regret):
    experiments = regret("experiments")
    curves, truth = np.array([[0.5, 0.5, 1, 1], [0.75, 0.75, 1, 1]]), np.array([0.75, 0.75, 1, 1])
    np.testing.assert_allclose(experiments.squared(curves, truth), [2 * 0.25**2 / 4, 0])


def test_other_measures_are_the_farthest_the_mean_and_the_ranks_of_deciles(regret):
    truth = np.array([0.05, 0.05, 0.6, 1.0])
    curves = np.array([[0.05, 0.45, 0.4, 1.0], truth])
    found = regret("experiments").distances(curves, truth)
    # 0.1 to 0.4 are put where ranks end at 0.05, and 0.5 is put where they begin at 0.6
    ranks = (0.05 + 0.15 + 0.25 + 0.35 + 0.1) / 9
    expected = {
        "K-S": 0.4,
        "Wasserstein": (0.4 + 0.2) / 4,
        "deciles": ranks,
        "mean": (0.4 - 0.2) / 4,
    }
    assert {name: each[1] for name, each in found.items()} == dict.fromkeys(expected, 0.0)
    for name, each in found.items():
        assert each[0] == pytest.approx(expected[name])


def test_the_best_rival_is_named_in_each_measure(regret):
    found = some(regret)
    for errors in found.others.values():
        assert list(errors) == list(found.regret)
        assert (errors > 0).all(axis=None)
    lines = regret("outcomes").by_measure(found)
    assert [line.split(" | ")[0][2:] for line in lines[2:]] == ["0.5", "10", "all", "largest"]
    assert len({line.count("|") for line in lines}) == 1
    assert not any("(dp.cdf" in line for line in lines)
    own = found.others["K-S"]["dp.cdf"]
    assert float(lines[-1].split(" | ")[2]) == pytest.approx(own.max(), abs=0.006)


def test_bands_are_counted_at_all_thresholds_and_where_f_is_inside(regret):
    released = [dp.cdf_from_counts([0, 3, 0, 5, 0], dp.Grid(range(5)), NoNoise())]
    coverage = regret("experiments").coverage
    whole, inside = coverage(released, np.array([0, 3 / 8, 3 / 8, 1, 1]))
    assert (whole.tolist(), inside.tolist()) == ([1.0], [1.0])
    whole, inside = coverage(released, np.array([0, 3 / 8, 4 / 8, 1, 1]))
    assert (whole.tolist(), inside.tolist()) == ([0.75], [0.5])
    assert np.isnan(coverage(released, np.array([0, 0, 0, 0, 1.0]))[1])


def test_the_best_in_hindsight_is_not_the_luckiest(regret):
    first = pd.DataFrame({"dp.cdf": [4.0], "best tree": [1.0], "lucky": [9.0], "away": [np.nan]})
    second = pd.DataFrame({"dp.cdf": [8.0], "best tree": [6.0], "lucky": [2.0], "away": [np.nan]})
    assert regret("outcomes").in_hindsight(first, second).tolist() == [(6.0 + 9.0) / 2]


def test_a_coarser_grid_has_straight_lines_between_its_thresholds(regret):
    contenders = regret("contenders")
    curve = contenders.coarse(2)(
        np.array([4, 0, 0, 2]) * 10**6, {"epsilon": 1e6}, np.random.default_rng(1), 1
    )
    assert curve[0] == pytest.approx(np.array([2, 4, 5, 6]) * 10**6)


def test_medians_part_the_records_in_halves(regret):
    curves = regret("contenders").medians(2)(
        np.full(64, 1000), {"epsilon": 100.0}, np.random.default_rng(1), 2
    )
    assert curves == pytest.approx(np.tile(1000.0 * np.arange(1, 65), (2, 1)), abs=1500)
    assert (curves[:, -1] == 64000).all()


def test_the_page_keeps_lines_short_and_counts_shapes(regret, monkeypatch):
    page, experiments = regret("page"), regret("experiments")
    monkeypatch.setattr(page, "LISTED", experiments.Setting("epsilon", EPSILON, SIZE))
    lines = page.of_curves(some(regret), some(regret, "delta", "rho"), 3)
    assert max(len(line) for line in lines if not line.startswith("|")) <= 100
    first = (
        "- There are 2 shapes of data. Rules may be tuned on 1 of them. The other 1 are held out"
    )
    assert first in "\n".join(lines)
    assert "## With delta = 10^-9" in lines


def test_it_is_drawn(regret, script, tmp_path):
    picture = regret("page").drawn(some(regret))
    assert list(script("_pictures").lacks(picture)) == []
    picture.savefig(tmp_path / "regret.png")
    assert (tmp_path / "regret.png").stat().st_size > 10_000
