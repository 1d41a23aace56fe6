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
    assert np.array_equal(line.get_xdata(), curve.thresholds)
    assert np.array_equal(line.get_ydata(), curve.counts / 300)
    (band,) = ax.collections
    low, high = curve.band()
    assert band.get_paths()[0].vertices[:, 1].min() == pytest.approx(low.min())
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(high.max())
    assert "epsilon = 1" in line.get_label()


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
