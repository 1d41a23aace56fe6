"""Studies behind pages measure what they say, on cases whose answer is known."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def study(monkeypatch):
    """Import a study by name."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return lambda name: importlib.import_module(f"studies.{name}")


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_deciles_of_whole_numbers_are_exact_without_noise_where_cells_are_theirs(study, rng):
    quantiles = study("quantiles")
    exact = {
        name: quantiles.whole_numbers(name, 1e6, rng)["inverted_cdf"]
        for name in quantiles.WHOLE_NUMBERS
    }
    wide = exact.pop("integers, cells four wide")
    assert set(exact.values()) == {100.0}
    assert wide < 50
    fine, coarse = (
        quantiles.smooth_data(quantiles.beta, 1000, 1e6, cells, rng) for cells in (1024, 16)
    )
    assert fine["linear"] < coarse["linear"] < coarse["inverted_cdf"] < 100 / 16


def test_bounds_are_refused_or_have_the_records_within(study, rng):
    bounds = study("bounds")
    assert np.isnan(bounds.one_column("normal, sd 1", "bounds", 25, rng)["width"])
    found = bounds.one_column("normal, sd 1", "symmetric", 1e6, rng)
    assert found["width"] == 4  # the first power of two that 95 % are within, on both sides
    assert found["inside"] > 0.95
    assert bounds.true_width("uniform on [1, 50]", 0.5) == pytest.approx(49 / 2)


@pytest.mark.parametrize("method", ["searches around zero, 95 %", "boxes around zero, 8 %"])
def test_boxes_of_much_budget_have_the_records_within(study, rng, method):
    found = study("bounds").both_axes(method, 1e5, 500, rng)
    assert found["inside"] > 0.9
    assert 1 < found["area"] < 8


def test_errors_of_a_table_are_none_if_it_is_right(study, rng):
    tables = study("tables")
    true, corners = rng.poisson(5, (8, 8)), tables.boxes(8)
    found = tables.errors(true.astype(float), true, corners)
    np.testing.assert_allclose(found, [0, 0, 0, tables.BLUR / 8])
    moved = true.astype(float)
    moved[0, 0] += 1
    moved[7, 7] -= 1
    assert tables.errors(moved, true, corners)[0] == pytest.approx(1 / true.sum())


def test_the_nearest_cells_of_zero_or_more_have_the_same_sum(study, rng):
    projected = study("tables").projected
    cells = rng.normal(1, 2, (6, 6))
    found = projected(cells)
    assert found.min() == 0
    assert found.sum() == pytest.approx(cells.sum())
    np.testing.assert_allclose(projected(found), found)


def test_all_shapes_of_tables_are_probabilities(study):
    shapes = study("_table_shapes")
    for shape in (*shapes.TUNING, *shapes.HELD_OUT):
        found = shapes.chances(shape, 16)
        assert found.shape == (16, 16), shape
        assert found.min() >= 0, shape
        assert found.sum() == pytest.approx(1), shape


def test_tables_are_compared_over_shapes(study):
    tables = study("tables")
    compared = tables.Compared.__new__(tables.Compared)
    compared.shapes = [*tables.TUNING, *tables.HELD_OUT]
    shape = (len(compared.shapes), len(tables.SIDES), len(tables.RATIOS), 4)
    compared.errors = {"one": np.ones(shape), "other": np.full(shape, 2.0)}
    compared.errors["one"][..., 3] = 2 * 16
    found = compared.over("one", "other")
    assert found.shape == (5, len(tables.SIDES), len(tables.RATIOS))
    np.testing.assert_allclose(found[:, 0, 0], [2 ** (1 / 4), 0.5, 0.5, 0.5, 16])


def test_models_lose_little_to_much_budget(study, rng):
    models = study("models")
    lost = models.linear(2, 1e6, 1000, rng)
    assert abs(lost["`moments`, alpha = 1"]) < 0.01
    assert lost["`output`, alpha = 0.01 n"] < lost["`output`, alpha = 0.1 n"]


def test_intervals_are_no_wider_than_the_bound_which_covers(study, rng):
    found = study("intervals").areas("binormal", 26_000, 1.0, rng)
    assert found["covered by bound"]
    assert not found["nothing"]
    assert found["wider"] >= 1


def test_bands_of_a_study_are_shares(study, rng, monkeypatch):
    intervals = study("intervals")
    monkeypatch.setattr(intervals, "RELEASES", 2)
    monkeypatch.setattr(intervals, "CELLS", 32)
    found = intervals.bands("uniform", 100_000, rng)
    assert all(0.5 <= found[name] <= 1 for name in ("default", "closed", "simulated"))
    assert {2 * found[f"{name}, least"] for name in ("default", "closed")} <= {0, 1, 2}
    assert 0.3 < found["ratio"] < 1.3


def test_intervals_of_quantiles_and_means_cover(study, rng):
    intervals = study("intervals")
    for curve in ("hierarchy", "hierarchy, raw", "histogram"):
        found = intervals.quantiles_and_means("10 spikes", curve, 10_000, rng)
        assert len(found) == 16
        assert np.mean(list(found.values())) > 0.7


def test_intervals_of_rare_values_cover_although_the_middles_are_off(study, rng):
    found = study("intervals").rare_values("128", "right", 1.0, rng)
    assert found["own"]
    assert found["population"]
    assert found["off"] > 0.001
    assert found["own, width"] > 0.5 / 128


def test_errors_of_exact_curves_are_none(study, rng):
    accuracy = study("accuracy")
    curves = np.cumsum(rng.poisson(3, (2, 64)), axis=1).astype(float)
    curves[:, -1] = n = 300
    np.testing.assert_allclose(accuracy.smoothed(curves[:, :], n), curves, atol=1e-6)


def test_fitted_models_are_likeliest_and_a_wrong_slope_is_rejected(study, rng):
    fitted = study("fitted_models")
    records = fitted.drawn(15, 2000, True, rng)
    np.testing.assert_allclose(fitted.other(1.0, records, rng), expit(records.logits))
    assert np.mean(records.logits) == pytest.approx(fitted.BASE)
    residuals = records.labels - fitted.released(0.0, records, rng)
    np.testing.assert_allclose(records.x.T @ residuals, 0, atol=1e-6)
    assert fitted.rejected(list(fitted.CASES)[-1], rng)["exact"]


def test_models_of_the_study_of_fits_draw_nothing_from_the_global_generator(study, rng):
    fitted = study("fitted_models")
    records = fitted.drawn(3, 500, False, rng)
    before = pickle.dumps(np.random.get_state(legacy=False))  # noqa: NPY002
    fitted.boosted(0.1, records, rng)
    fitted.penalised(1.0, records, rng)
    assert pickle.dumps(np.random.get_state(legacy=False)) == before  # noqa: NPY002


def test_what_is_far_apart_is_told_apart_in_the_study_of_comparisons(study, rng):
    pairs = study("compare").pairs
    for mechanism in ("default", "hierarchy"):
        apart = pairs("half at one", mechanism, 10.0, "1,000 and 1,000", 0.5, rng)
        width = apart.pop("width")
        assert apart == dict.fromkeys(apart, True)
        assert width >= 2.0  # a cell of each curve
