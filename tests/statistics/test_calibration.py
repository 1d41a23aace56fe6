"""Calibration from released curves: bins, errors, tables and their picture."""

from __future__ import annotations

import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, HistogramQueries, NoNoise
from dpcore.statistics.bayesian_binning import BayesianBinning
from dpcore.statistics.binning import equi_depth_bins, uniform_bins
from dpcore.statistics.calibration import (
    expected_calibration_error,
    maximum_calibration_error,
    reliability,
)
from dpcore.statistics.calibrators import HistogramBinning, IsotonicCalibration
from tests import reference
from tests.statistics.scored_records import exact, miscalibrated, records, released

RNG = np.random.default_rng


@settings(max_examples=60)
@given(records(), st.integers(1, 30))
def test_exact_curves_have_the_textbooks_errors(data, size):
    labels, scores, grid = data
    curves = exact(labels, scores, grid)
    for make in (uniform_bins, equi_depth_bins):
        bins = make(curves, size)
        assert bins.edges.size == size + 1
        assert bins.edges[0] == 0
        assert bins.edges[-1] == 1
        assert np.all(np.diff(bins.edges) >= 0)
        for b, (own, theirs) in enumerate(reference.records_by_bin(labels, scores, bins.edges)):
            assert bins.positives[b] == own.sum()
            assert bins.negatives[b] == (~own).sum()
            if own.size:
                assert bins.mean_score[b] == pytest.approx(theirs.mean(), abs=1e-12)
                assert bins.positive_rate[b] == pytest.approx(own.mean(), abs=1e-12)
            else:
                assert math.isnan(bins.mean_score[b])
                assert math.isnan(bins.positive_rate[b])
        found = (
            expected_calibration_error(curves, bins),
            expected_calibration_error(curves, bins, norm=2),
            maximum_calibration_error(curves, bins),
        )
        assert found == pytest.approx(
            reference.calibration_errors(labels, scores, bins.edges), abs=1e-12
        )


@settings(max_examples=50)
@given(records(), st.integers(1, 30))
def test_equi_depth_bins_end_where_the_count_reaches_their_share(data, size):
    labels, scores, grid = data
    bins = equi_depth_bins(exact(labels, scores, grid), size)
    ends = reference.equi_depth_ends(grid.count(scores), size)
    assert np.array_equal(bins.edges, np.append(0, grid.thresholds)[ends])
    assert np.array_equal(bins.counts > 0, np.diff(bins.edges) > 0)


@pytest.mark.parametrize(("cells", "size"), [(1024, 10), (1000, 10), (64, 7), (5, 5)])
def test_uniform_edges_are_the_nearest_thresholds(cells, size):
    curves = exact([0], [0.5], dp.Grid.uniform(0, 1, cells))
    edges, wanted = uniform_bins(curves, size).edges, np.arange(size + 1) / size
    assert np.all(np.abs(edges - wanted) <= 0.5 / cells + 1e-12)
    if cells % size == 0:
        assert np.array_equal(edges, wanted)


def test_more_bins_than_cells_leave_some_empty():
    labels, scores = [0, 1, 1], [0.0, 0.3, 0.9]
    curves = exact(labels, scores, dp.Grid.uniform(0, 1, 2))
    bins = uniform_bins(curves, 9)
    assert sorted(set(bins.edges.tolist())) == [0.0, 0.5, 1.0]
    assert bins.counts[bins.counts > 0].tolist() == [2, 1]
    # no score falls into a bin without a cell
    found = HistogramBinning.fit(curves, bins).predict([-1.0, 0.0, 0.5, 0.6, 1.0, 7.0])
    assert found.tolist() == [0.5, 0.5, 0.5, 1.0, 1.0, 1.0]


def test_errors_agree_with_scikit_learn():
    calibration = pytest.importorskip("sklearn.calibration", reason="a reference, if installed")
    rng = RNG(1)
    labels, scores, _ = miscalibrated(4000, rng)
    scores = (np.floor(scores * 1000) + 0.5) / 1000  # the middles of the grid's cells
    curves = exact(labels, scores, dp.Grid.uniform(0, 1, 1000))
    table = reliability(curves, 20)
    rate, mean = calibration.calibration_curve(labels, scores, n_bins=20)
    some = table.counts > 0
    assert table.positive_rate[some] == pytest.approx(rate, abs=1e-12)
    assert table.mean_score[some] == pytest.approx(mean, abs=1e-12)


def test_ends_belong_to_the_end_bins():
    labels, scores = np.array([0, 1, 1, 0, 1]), np.array([0.0, 0.0, 0.2, 1.0, 1.0])
    for grid in (dp.Grid.uniform(0, 1, 10), dp.Grid([0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0])):
        bins = uniform_bins(exact(labels, scores, grid), 5)
        assert bins.counts.tolist() == [3, 0, 0, 0, 2]  # 0.2 is the upper edge of the first
        assert bins.positives.tolist() == [2, 0, 0, 0, 1]
    # with a cell {0}, scores of 0 are known
    table = reliability(exact([0, 1], [0.0, 0.0], dp.Grid([0.0, 0.5, 1.0])), 1)
    assert table.mean_score == [0.0]
    found = equi_depth_bins(exact(labels, scores, grid), 5)
    assert found.edges.tolist() == [0.0, 0.0, 0.0, 0.2, 1.0, 1.0]
    assert found.counts.tolist() == [2, 0, 1, 2, 0]
    predicted = HistogramBinning.fit(exact(labels, scores, grid), found).predict([0.0, 0.1, 1.0])
    assert predicted.tolist() == [0.5, 1.0, 0.5]


def test_the_edges_of_other_bins_are_taken_and_not_their_counts():
    grid = dp.Grid.uniform(0, 1, 100)
    first, second = (exact(*miscalibrated(500, RNG(k))[:2], grid) for k in (1, 2))
    bins = equi_depth_bins(first, 7)
    assert np.array_equal(reliability(first, bins).counts, bins.counts)
    other = reliability(second, bins)
    assert np.array_equal(other.bins.edges, bins.edges)
    assert not np.array_equal(other.counts, bins.counts)
    assert HistogramBinning.fit(second, bins).values.tolist() == other.positive_rate.tolist()


@settings(max_examples=60)
@given(records(), st.integers(1, 8), st.integers(0, 2**32), st.floats(0.0, 30.0))
def test_noise_moves_the_error_by_no_more_than_proven(data, size, seed, scale):
    labels, scores, grid = data
    curves = exact(labels, scores, grid)
    noise = RNG(seed).normal(0, scale, 2 * grid.size)
    noise[-1] = 0
    noisy = released(curves.joint.counts + noise, grid)
    moved = abs(expected_calibration_error(noisy, size) - expected_calibration_error(curves, size))
    assert moved <= 2 * (size + 1) / curves.n * np.abs(noise).max() + 1e-12


@pytest.mark.needs_jit
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("mechanism", [Hierarchy(0.1), Dawa(0.1)], ids=str)
def test_what_noise_adds_is_subtracted(mechanism, norm):
    grid, rng = dp.Grid.uniform(0, 1, 40), RNG(1)
    scores = rng.random(10_000)
    labels = rng.random(scores.size) < scores
    own, found = expected_calibration_error(exact(labels, scores, grid), norm=norm), []
    for _ in range(20):
        curves = dp.score_curves(labels, scores, grid, mechanism, rng=rng)
        plain = expected_calibration_error(curves, norm=norm)
        found.append((plain, expected_calibration_error(curves, 10, norm, mechanism)))
    plain, less = np.transpose(found)
    assert plain.mean() > 2 * own
    assert abs(less.mean() - own) < 0.75 * abs(plain.mean() - own)
    assert np.square(less - own).mean() < 0.75 * np.square(plain - own).mean()
    assert (less >= 0.0).all()


@pytest.mark.parametrize("norm", [1, 2])
def test_an_error_that_noise_lowers_is_at_most_1(norm):
    found = dp.roc_curve(
        [0, 1] * 500, [0.25, 0.75] * 500, epsilon=1e-9, rng=np.random.default_rng(0)
    )
    assert 0.9 < expected_calibration_error(found.curves, norm=norm) < 1.0
    assert expected_calibration_error(found.curves, 10, norm, found.mechanism) == 1.0


def test_nothing_is_subtracted_without_noise_or_without_its_error():
    labels, scores, _ = miscalibrated(900, RNG(1))
    grid = dp.Grid.uniform(0, 1, 40)
    for mechanism in (NoNoise(), HistogramQueries(1.0)):
        curves = dp.score_curves(labels, scores, grid, mechanism, rng=RNG(2))
        plain = expected_calibration_error(curves)
        assert expected_calibration_error(curves, mechanism=mechanism) == pytest.approx(plain)


@pytest.mark.needs_jit
def test_deviations_are_on_the_safe_side():
    labels, scores, _ = miscalibrated(60_000, RNG(1))
    grid = dp.Grid.uniform(0, 1, 64)
    true = reliability(exact(labels, scores, grid), 8)
    counts, rng = dp.score_counts(labels, scores, grid), RNG(2)
    mechanism = Hierarchy(1.0)
    raw = dp.score_curves(labels, scores, grid, mechanism, rng=RNG(3), isotonic=False)
    joints = mechanism.release(counts, rng=rng, replicates=600)
    tables = [
        reliability(replace(raw, joint=replace(raw.joint, counts=joint)), 8) for joint in joints
    ]
    rates = np.array([table.positive_rate for table in tables])
    spread = np.sqrt(np.mean((rates - true.positive_rate) ** 2, axis=0))
    bound = tables[0].noise_deviation
    assert np.all(spread < bound)
    assert np.all(spread > bound / 20)  # safe, but not useless


def test_deviations_of_exact_curves_are_those_of_sampling():
    table = reliability(exact([0, 1, 1, 1], [0.9, 0.9, 0.9, 0.9]), 2)
    assert table.noise_deviation[1] == 0
    assert table.sampling_deviation[1] == math.sqrt(0.75 * 0.25 / 4)
    assert table.standard_error[1] == table.sampling_deviation[1]
    for found in (table.noise_deviation, table.sampling_deviation, table.standard_error):
        assert math.isnan(found[0])


def on(low, high):
    return exact([0, 1], [0.2, 0.7], dp.Grid.uniform(low, high, 10))


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        (lambda: reliability(on(0, 2)), dp.ParameterError, "curves"),
        (lambda: reliability(on(0, 0.5)), dp.ParameterError, "curves"),
        (lambda: reliability(on(-1, 1)), dp.ParameterError, "curves"),
        (lambda: expected_calibration_error(on(0, 1).joint), dp.DtypeError, "curves"),
        (lambda: equi_depth_bins(on(0, 1), 0), dp.ParameterError, "bins"),
        (lambda: expected_calibration_error(on(0, 1), 2.5), dp.DtypeError, "bins"),
        (lambda: expected_calibration_error(on(0, 1), norm=3), dp.ParameterError, "norm"),
        (
            lambda: expected_calibration_error(on(0, 1), mechanism=Hierarchy(1.0)),
            dp.ParameterError,
            "mechanism",
        ),
        (lambda: BayesianBinning.fit(on(0, 1), 5), dp.DtypeError, "sizes"),
        (lambda: BayesianBinning.fit(on(0, 1), []), dp.ParameterError, "sizes"),
        (lambda: BayesianBinning.fit(on(0, 1), [2, 0]), dp.ParameterError, "sizes"),
        (lambda: HistogramBinning.fit(on(0, 1)).predict(["a"]), dp.DtypeError, "y_score"),
        (lambda: IsotonicCalibration.fit(on(0, 1)).predict(["a"]), dp.DtypeError, "y_score"),
        (lambda: BayesianBinning.fit(on(0, 1)).predict(["a"]), dp.DtypeError, "y_score"),
    ],
)
def test_bad_arguments_are_named(call, error, named):
    with pytest.raises(error, match=f"^{named} "):
        call()


@pytest.mark.usefixtures("_no_windows")
def test_plot_shows_the_table(tmp_path):
    labels, scores, _ = miscalibrated(2000, RNG(1))
    table = reliability(dp.score_curves(labels, np.minimum(scores, 0.7), epsilon=1.0), 20)
    ax = table.plot(level=0.9, color="red")
    diagonal, line, *_ = ax.lines
    assert np.array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    reach = 1.6448536 * table.noise_deviation
    told = np.minimum(table.positive_rate, 1 - table.positive_rate) + reach < 1
    some = (table.counts > 0) & told
    assert not some[15:].any()  # bins without records
    assert (
        ax.get_legend().get_texts()[-1].get_text()
        == f"{20 - some.sum()} bins left out: too few records"
    )
    assert np.array_equal(line.get_xdata(), table.mean_score[some])
    assert np.array_equal(line.get_ydata(), table.positive_rate[some])
    noise, both = ([path.vertices for path in bars.get_paths()] for bars in ax.collections)
    for inner, outer in zip(noise, both, strict=True):
        assert 0 <= outer[0, 1] <= inner[0, 1] <= inner[1, 1] <= outer[1, 1] <= 1
    middle = np.flatnonzero(some)[0]
    reach = 1.6448536 * table.standard_error[middle]
    assert both[0][1, 1] == pytest.approx(min(table.positive_rate[middle] + reach, 1))
    (below,) = ax.child_axes
    assert [bar.get_height() for bar in below.patches] == pytest.approx(table.counts)
    ax.figure.savefig(tmp_path / "reliability.png")
    with pytest.raises(dp.ParameterError, match="level"):
        table.plot(level=95)
    _, given_axes = plt.subplots()
    assert table.plot(given_axes) is given_axes


def test_noise_that_is_not_known_is_infinite():
    curves = exact([0, 1, 1], [0.2, 0.8, 0.8], dp.Grid.uniform(0, 1, 10))
    joint = replace(curves.joint, noise_deviation=np.full(20, np.inf))
    unknown = replace(curves, joint=joint)
    deviation = reliability(unknown, 5).noise_deviation
    assert deviation[[0, 3]].tolist() == [np.inf, np.inf]
    assert np.all(np.isnan(deviation[[1, 2, 4]]))
    assert BayesianBinning.fit(unknown).sizes.tolist() == [1]
    labels, scores = np.arange(200) % 2, np.linspace(0, 1, 200)
    pair = (dp.mechanisms.PolynomialProjection(5.0, delta=1e-6), Hierarchy(5.0))
    for mechanism in (pair, pair[::-1]):
        table = reliability(dp.score_curves(labels > 2, scores, mechanism=mechanism), 5)
        assert np.all(np.isinf(table.noise_deviation[table.counts > 0]))


def test_scores_on_a_grid_of_whole_numbers_are_0_and_1():
    rng = np.random.default_rng(1)
    labels, scores = rng.random(2000) < 0.3, (rng.random(2000) < 0.4).astype(int)
    curves = dp.score_curves(labels, scores, dp.Grid.integers(0, 1), dp.mechanisms.NoNoise())
    truth = np.mean(scores) - np.mean(labels[scores == 1]) * np.mean(scores)
    truth += np.mean(labels[scores == 0]) * np.mean(1 - scores)
    bins = uniform_bins(curves, 2)
    assert expected_calibration_error(curves, bins) == pytest.approx(truth)
    found = reliability(curves, bins).mean_score
    assert found[np.isfinite(found)].tolist() == [0.0, 1.0]
