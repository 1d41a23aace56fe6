"""Pictures of released curves: steps, bands, and what is asked for without matplotlib."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dpcore as dp


@pytest.fixture
def curve():
    return dp.cdf(np.linspace(0, 1, 300), dp.Grid.uniform(0, 1, 20), epsilon=1.0)


@pytest.fixture(autouse=True)
def _no_windows():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def test_draws_the_curve_and_its_band(curve):
    ax = curve.plot()
    (line,) = ax.lines
    assert np.array_equal(line.get_xdata(), [0.0, *curve.thresholds])
    assert np.array_equal(line.get_ydata(), [np.nan, *curve.counts / 300], equal_nan=True)
    (band,) = ax.collections
    _, high = curve.band()
    at, heights = band.get_paths()[0].vertices.T
    assert at.min() == 0.0
    assert heights.max() == pytest.approx(high.max())
    # Over the first cell, where its records lie is not known.
    assert sorted(set(heights[at < 0.05])) == pytest.approx([0.0, high[0]])
    assert "epsilon = 1" in line.get_label()


@pytest.mark.parametrize(
    ("grid", "begins"),
    [
        (dp.Grid.integers(0, 9), [0.5]),
        (dp.Grid.days("2024-01-01", "2024-01-10"), [0.5]),
        (dp.Grid(range(10), lower=0), [0.5]),
        (dp.Grid(range(10)), [0.5]),
        (dp.Grid.uniform(0, 9, 9), [0.25, 0.5]),  # 0 and 1 share a cell
        (dp.Grid.uniform(-0.5, 9, 19), [np.nan, 0.5]),
    ],
)
def test_a_picture_begins_at_the_lower_end(grid, begins):
    first = np.zeros(grid.size, int)
    first[0] = first[5] = 10
    curve = dp.cdf_from_counts(first, grid, dp.mechanisms.NoNoise(), integers=True)
    (line,) = curve.plot().lines
    heights = line.get_ydata()
    assert np.array_equal(heights[: len(begins)], begins, equal_nan=True)
    assert heights.size == grid.size + len(begins) - 1
    if not np.isnan(begins[0]) and np.isfinite(grid.start):
        assert curve(grid.lower) == begins[0]
    assert "<svg" in curve._repr_html_()


def test_uses_the_axes_and_the_style_it_is_given(curve):
    _, ax = plt.subplots()
    assert curve.plot(ax, color="red", label="mine") is ax
    assert ax.lines[0].get_color() == "red"
    assert ax.lines[0].get_label() == "mine"


def test_a_fine_grid_is_drawn_in_steps_that_can_be_seen(tmp_path):
    fine = dp.cdf([0.3, 0.6], dp.Grid.uniform(0, 1, 2**18), epsilon=1.0)
    ax = fine.plot()
    assert ax.lines[0].get_xdata().size == 2**13
    assert ax.lines[0].get_xdata()[-1] == 1
    ax.figure.savefig(tmp_path / "fine.png")


def test_a_missing_extra_is_named(curve, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(dp.MissingExtraError, match=r'pip install "dpcore\[plot\]"'):
        curve.plot()
    with pytest.raises(ImportError):
        curve.plot()
