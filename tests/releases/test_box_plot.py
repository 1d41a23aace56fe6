"""Box plots: five private numbers, Tukey's box of a sample, and the picture."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.cbook import boxplot_stats

import dpcore as dp
from dpcore.releases import box_plot as module
from dpcore.releases.box_plot import BoxPlot, box_plot
from dpcore.releases.quantiles import quantiles_from_counts

GRID = dp.Grid.uniform(0, 100, 100)
VALUES = np.random.default_rng(1).normal(50, 12, 20_000)


def five(box):
    return [box.minimum, box.first_quartile, box.median, box.third_quartile, box.maximum]


@settings(max_examples=100)
@given(st.lists(st.floats(-1e6, 1e6) | st.integers(-3, 3), min_size=1, max_size=40))
def test_a_sample_has_tukeys_box_plot(sample):
    box = BoxPlot.from_sample(sample)
    (shown,) = boxplot_stats(sample)
    assert [box.first_quartile, box.median, box.third_quartile] == pytest.approx(
        [shown["q1"], shown["med"], shown["q3"]], abs=1e-9
    )
    assert (box.minimum, box.maximum) == (min(sample), max(sample))
    assert [box.lower_whisker, box.upper_whisker] == pytest.approx(
        [shown["whislo"], shown["whishi"]], abs=1e-9
    )
    assert box.outliers.tolist() == sorted(shown["fliers"])
    assert box.privacy is None


def test_without_noise_the_components_are_those_of_the_records():
    rng = np.random.default_rng(1)  # a quartile at the edge of a cell may be in the next one
    box = box_plot(np.arange(0.5, 100), GRID, epsilon=1e6, rng=rng)  # a record in each cell
    assert five(box) == [1.0, 25.0, 50.0, 75.0, 99.0]  # one record is left out on either side
    assert (box.lower_whisker, box.upper_whisker) == (1.0, 99.0)
    assert box.outliers.size == 0


def test_components_are_near_and_cost_what_they_say():
    box = box_plot(VALUES, GRID, epsilon=1.0)
    assert five(box)[1:4] == pytest.approx([42, 50, 58], abs=2)
    assert box.minimum < 35
    assert box.maximum > 65
    assert box.privacy == dp.Privacy(1.0)
    simulated = box_plot(VALUES, GRID, epsilon=1.0, rng=np.random.default_rng(1))
    assert simulated.privacy == dp.Privacy(1.0, simulated=True)


def test_quartiles_cost_three_fifths_and_each_end_one(monkeypatch):
    spent = []

    def drawn(counts, probabilities, grid, *, epsilon, **how):
        spent.append((probabilities, epsilon, how["rng"]))
        return quantiles_from_counts(counts, probabilities, grid, epsilon=epsilon, **how)

    def searched(counts, outside, epsilon_each, rng):
        spent.append((outside, epsilon_each, rng))
        return 3, 90

    monkeypatch.setattr(module, "quantiles_from_counts", drawn)
    monkeypatch.setattr(module, "ends", searched)
    box_plot(VALUES, GRID, epsilon=2)
    assert spent == [((0.25, 0.5, 0.75), Fraction(6, 5), None), (10, Fraction(2, 5), None)]


@pytest.mark.parametrize("n", [1, 2, 30])
@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 10.0])
def test_components_are_in_order_whatever_the_noise(n, epsilon):
    for seed in range(10):
        box = box_plot(VALUES[:n], GRID, epsilon=epsilon, rng=np.random.default_rng(seed))
        assert five(box) == sorted(five(box))
        assert np.all(np.isin(five(box), GRID.thresholds))


def test_a_grid_of_one_threshold():
    assert five(box_plot([1.0, 2.0], dp.Grid([3.0]), epsilon=1.0)) == [3.0] * 5


def test_a_curve_is_resampled_and_keeps_its_guarantee():
    curve = dp.cdf(VALUES, GRID, epsilon=1.0)
    box = BoxPlot.from_curve(curve, 5000, np.random.default_rng(1))
    again = BoxPlot.from_sample(curve.sample(5000, np.random.default_rng(1)))
    assert five(box) == five(again)
    assert np.array_equal(box.outliers, again.outliers)
    assert box.privacy == curve.privacy
    assert five(BoxPlot.from_curve(curve))[1:4] == pytest.approx([42, 50, 58], abs=2)


def test_draws_the_box_and_its_outliers():
    box = BoxPlot.from_sample([1, 2, 3, 4, 5, 6, 7, 50])
    ax = box.plot(position=3, label="mine")
    shown = {tuple(np.round(line.get_ydata(), 6)) for line in ax.lines}
    assert (box.median, box.median) in shown
    assert (50.0,) in shown
    assert (box.third_quartile, box.upper_whisker) in shown
    assert [text.get_text() for text in ax.get_xticklabels()] == ["mine"]
    assert ax.get_xticks().tolist() == [3]


@pytest.mark.parametrize(
    ("sample", "error", "message"),
    [
        (["a"], dp.DtypeError, "sample"),
        ([], dp.ParameterError, "sample"),
        ([[1.0]], dp.ParameterError, "sample"),
        ([1.0, np.nan], dp.ParameterError, "sample"),
        ([1.0, np.inf], dp.ParameterError, "sample"),
    ],
)
def test_bad_samples(sample, error, message):
    with pytest.raises(error, match=message):
        BoxPlot.from_sample(sample)


@pytest.mark.parametrize(
    ("values", "change", "error", "message"),
    [
        (VALUES, {"grid": [1, 2]}, dp.DtypeError, "grid"),
        (VALUES, {"epsilon": 0}, dp.ParameterError, "epsilon"),
        (VALUES, {"epsilon": 1e-12}, dp.ParameterError, "epsilon"),
        (VALUES, {"rng": 7}, dp.DtypeError, "rng"),
        ([np.nan], {}, dp.MissingValueError, "values"),
        ([], {}, dp.ParameterError, "values"),
    ],
)
def test_bad_arguments(values, change, error, message):
    with pytest.raises(error, match=message):
        box_plot(values, **{"grid": GRID, "epsilon": 1.0, **change})
    with pytest.raises(dp.DtypeError, match="curve"):
        BoxPlot.from_curve([0.5])
