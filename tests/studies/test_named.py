"""The studies that come with dpcore: on small sizes, what is known of their numbers."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.stats import ks_2samp

import dpcore as dp
from dpcore import studies
from dpcore.studies import files


def ran(name, replicates, **parameters):
    study = files.find(name).over(**parameters)
    return studies.run(study, replicates=replicates, seed=1, workers=1, progress=False)


def means(results, quantity):
    return results.array(quantity).mean(axis=-1)


@pytest.mark.parametrize("name", files.names())
def test_every_combination_runs(name):
    """What is not a number takes all its values, and numbers the least."""
    study = files.find(name)
    least = {
        parameter: min(values)
        for parameter, values in study.blocks[0].items()
        if all(isinstance(label, int | float) for label in values)
    }
    results = ran(name, study.size, **least)
    assert len(results) == study.size * len(study.over(**least).cells)
    for quantity in results.quantities:
        assert np.isfinite(results.array(quantity)).all()


@pytest.mark.parametrize("name", files.names())
@pytest.mark.parametrize("value", [150.5, 0, -3])
def test_no_number_of_records_or_cells_is_rounded(name, value):
    """A row that says 150.5 would be of another number."""
    names = files.find(name).names
    records = names[0]
    for parameter in {records, "cells"} & {*names}:
        with pytest.raises(studies.StudyError, match="failed at"):
            ran(name, files.find(name).size, **{records: 9, parameter: value})


@pytest.mark.parametrize("mechanism", ["hierarchy", "dyadic"])
def test_raw_errors_of_curves_are_the_noise_that_is_known(mechanism):
    made = {"hierarchy": dp.mechanisms.Hierarchy, "dyadic": dp.mechanisms.Dyadic}[mechanism]
    n, cells, epsilon = 500, 64, 0.5
    results = ran(
        "cdf", 400, n=n, cells=cells, epsilon=epsilon, shape=_one("cdf", "shape", "spike"),
        mechanism={mechanism: made},
    )  # fmt: skip
    squares = (n * results.array("raw_error")) ** 2
    known = made(epsilon).mean_squared_error(cells)
    deviations = (squares.mean() - known) / (squares.std() / squares.size**0.5)
    assert abs(deviations) < 5
    assert (results.array("error") <= results.array("raw_error") + 1e-12).all()
    assert (results.array("largest_error") >= results.array("error")).all()


def _one(name, parameter, label):
    return {label: files.find(name).blocks[0][parameter][label]}


def test_buckets_win_where_there_are_few_records():
    results = ran("cdf", 20, n=1000, epsilon=0.1, cells=1024, shape=_one("cdf", "shape", "uniform"))
    hierarchy, dyadic, dawa = means(results, "error")
    assert dawa < hierarchy < dyadic


@pytest.mark.needs_jit
def test_errors_of_deciles_fall_with_n():
    results = ran("quantiles", 10, n=[500, 50_000], epsilon=1.0, cells=1024)
    few, many = means(results, "error")  # data, release
    assert few.shape == (2, 2)
    assert (many < few / 5).all()
    assert (means(results, "largest_error") > means(results, "error")).all()
    assert many.max() < 1 / 1024  # a cell


@pytest.mark.needs_jit
def test_errors_of_roc_curves_fall_with_n_and_epsilon():
    results = ran("roc", 10, n=[300, 30_000], epsilon=[0.2, 2.0], cells=64)
    for quantity in ("distance", "area_error"):
        errors = means(results, quantity)
        assert (errors[1] < errors[0] / 5).all()
        assert (errors[:, 1] < errors[:, 0]).all()
    assert (results.array("distance") >= results.array("area_error") - 1e-12).all()


def test_errors_of_roc_curves_hardly_depend_on_the_share_of_positives_without_privacy():
    results = ran("roc", 3, n=20_000, epsilon=1e4, cells=2**14, positives=[0.1, 0.5])
    assert results.array("distance").max() < 1e-6  # cells of the exact curve, and no noise


def test_trust_costs_accuracy_and_clients_buy_it():
    results = ran("federated_auc", 20, clients=[3000, 300_000], epsilon=2.0, cells=64)
    errors = means(results, "error")
    assert (np.diff(errors, axis=1) > 0).all()  # secure aggregation, distributed noise, local
    assert (errors[1, 1:] < errors[0, 1:] / 3).all()
    assert np.array_equal(results.array("error"), np.abs(results.array("difference")))


def test_clients_in_aggregate_have_the_area_that_is_asked_for():
    from dpcore.studies.named.federated_auc import auc, shares

    rng, area, clients = np.random.default_rng(1), 0.73, 10**5
    counts = rng.multinomial(clients, shares(1024, area), size=20)
    areas = [auc(of_one, dp.mechanisms.NoNoise(), rng) for of_one in counts]
    deviation = (area * (1 - area) / clients) ** 0.5  # about twice that of such an area
    assert abs(np.mean(areas) - area) < 5 * deviation / 20**0.5


def test_bands_cover_about_as_often_as_they_say():
    shapes = _one("coverage", "shape", "normal")
    results = ran("coverage", 40, n=20_000, epsilon=1.0, cells=32, level=[0.5, 0.95], shape=shapes)
    low, high = means(results, "covered")
    assert 0.35 < low < 0.75
    assert 0.9 < high < 1.0
    widths = means(results, "width")
    assert widths[0] < widths[1]


def test_bounds_have_most_records_inside():
    results = ran("bounds", 5, n=5000, epsilon=[1.0])
    assert (means(results, "inside") > 0.9).all()
    width = means(results, "width")  # data, method
    assert width[2, 0] < width[2, 1]  # far from 0, bounds around 0 are wide
    assert width.min() > 0.9


@pytest.mark.needs_jit
@pytest.mark.parametrize("model", ["unary-encoding", "square-wave", "distributed-noise"])
def test_real_reports_have_the_law_of_their_sum(model):
    models, shapes = _one("real_reports", "model", model), _one("real_reports", "shape", "normal")
    results = ran("real_reports", 60, clients=2000, cells=16, model=models, shape=shapes)
    for quantity in ("distance", "root_mean_square"):
        reports, of_sum = results.array(quantity)
        assert ks_2samp(reports, of_sum).pvalue > 1e-3
        assert len(set(reports)) > 30  # each replicate has reports of its own
        assert not np.array_equal(reports, of_sum)


@pytest.mark.needs_jit
def test_more_clients_have_smaller_errors_in_all_models():
    shapes = _one("real_reports", "shape", "spike")
    options = {"cells": 32, "shape": shapes, "made": _one("real_reports", "made", "reports")}
    results = ran("real_reports", 4, clients=[1000, 100_000], **options)
    errors = means(results, "distance")
    assert (errors[1] < errors[0] / 3).all()


@pytest.mark.needs_jit
@pytest.mark.parametrize("name", ["unary", "square_wave", "distributed"])
def test_real_reports_take_little_memory(name):
    from dpcore.studies.named import real_reports

    counts, rng = np.full(64, 5000), np.random.default_rng(1)
    make = getattr(real_reports, name)
    make(counts, 1.0, True, rng)
    tracemalloc.start()
    made = make(counts, 1.0, True, rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made.sum() == pytest.approx(counts.sum(), rel=0.2)
    assert peak < 16 * 2**20  # a byte for each bit would take 20 MB, a share 164 MB
