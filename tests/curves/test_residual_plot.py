"""Released residual plots: points and cells, quantiles, pictures, and what is stored of them."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.plots import shortly


@pytest.fixture(scope="module")
def plot():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 60, 6000)
    return dp.residual_plot(x, rng.normal(0, 1 + x / 20), epsilon=2.0, rng=rng)


def edges(grid):
    return np.append(grid.lower, grid.thresholds)


def test_as_many_points_in_each_cell_as_it_says(plot):
    grid = plot.table.grid
    counted, *_ = np.histogram2d(*plot.points.T, bins=[edges(grid.x), edges(grid.y)])
    assert np.array_equal(counted, plot.cells)
    assert plot.cells.min() == 0
    assert plot.cells.shape == grid.shape
    assert abs(plot.cells.sum() + plot.outside - plot.n) <= 1
    assert len(np.unique(plot.points)) == plot.points.size  # spread out within their cells


def test_what_it_says_of_itself(plot):
    assert repr(plot) == "<ResidualPlot: 64 x 64 cells, n = 6000, epsilon = 2, SIMULATED>"
    assert plot.predicted_range == (0.0, 64.0)
    assert plot.residual_range in {(-4.0, 4.0), (-8.0, 8.0)}
    assert plot.n == plot.table.n == 6000


def test_quantiles_by_predicted_values_show_the_spread(plot):
    """The law is normal with the deviation 1 + x / 20: quartiles 0.67 deviations from 0."""
    low, high = plot.quantiles([0.25, 0.75]).T
    middles = np.convolve(edges(plot.table.grid.x), [0.5, 0.5], "valid")
    inside = (middles > 0) & (middles < 60)
    wide = 2 * 0.6745 * (1 + middles[inside] / 20)
    assert np.abs((high - low)[inside] / wide - 1).mean() < 0.2
    assert np.corrcoef((high - low)[inside], wide)[0, 1] > 0.8
    assert plot.quantiles(0.5).shape == (64,)
    assert np.isfinite(plot.quantiles(0.5)[inside]).all()


def test_is_stored_with_what_all_of_it_cost(plot):
    stored = plot.to_json()
    found = dp.ResidualPlot.from_json(stored, np.random.default_rng(1))
    assert found.to_json() == stored
    assert found.privacy == plot.privacy
    assert found.table.privacy.epsilon < plot.privacy.epsilon == 2.0
    assert np.array_equal(found.cells, plot.cells)
    assert found.points.shape == plot.points.shape
    again = dp.ResidualPlot.from_json(stored, np.random.default_rng(1))
    assert np.array_equal(found.points, again.points)
    assert not np.array_equal(found.points, plot.points)


def broken(change):
    def made(plot):
        data = json.loads(plot.to_json())
        change(data)
        return json.dumps(data)

    return made


BROKEN = {
    "no table": broken(lambda data: data.pop("table")),
    "a table of its own format": broken(lambda data: data["table"].update(format="dpcore.cdf")),
    "no cost": broken(lambda data: data.pop("privacy")),
    "a lower cost than its table's": broken(lambda data: data["privacy"].update(epsilon=1.0)),
    "another relation": broken(lambda data: data["privacy"].update(neighbours="add-or-remove-one")),
    "not said that it is simulated": broken(lambda data: data["privacy"].update(simulated=False)),
    "a table itself": lambda plot: plot.table.to_json(),
    "no JSON": lambda plot: plot.to_json()[:-1],
    "another version": broken(lambda data: data.update(version=2)),
    "points": broken(lambda data: data.update(points=[])),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_residual_plot_is_refused(plot, name):
    with pytest.raises(dp.FormatError):
        dp.ResidualPlot.from_json(BROKEN[name](plot))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"table": 3}, dp.DtypeError, "table"),
        ({"privacy": 1.0}, dp.DtypeError, "privacy"),
        (
            {"privacy": dp.Privacy(1.0, simulated=True)},
            dp.ParameterError,
            "must be at least that of the table",
        ),
        ({"points": np.ones(3)}, dp.ParameterError, "points"),
        ({"points": [["a", "b"]]}, dp.DtypeError, "points"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(plot, change, error, message):
    with pytest.raises(error, match=message):
        replace(plot, **change)


# --- pictures


def test_draws_points_and_the_line_of_no_residual(plot):
    ax = plot.plot()
    (points,) = ax.collections
    assert np.array_equal(points.get_offsets(), plot.points)
    assert list(ax.lines[0].get_ydata()) == [0, 0]
    assert ax.get_xlim() == plot.predicted_range
    assert ax.get_ylim() == plot.residual_range
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted value", "residual")
    assert ax.get_title() == shortly(plot.privacy)


def test_draws_cells_as_colours(plot):
    ax = plot.plot(kind="density", cmap="Greys")
    (cells,) = ax.collections
    assert cells.get_array().size == plot.cells.size
    assert cells.get_cmap().name == "Greys"
    assert ax.get_ylabel() == "residual"


def test_uses_the_axes_and_the_style_it_is_given(plot):
    _, ax = plt.subplots()
    assert plot.plot(ax, color="red", s=3.0) is ax
    assert ax.collections[0].get_sizes().tolist() == [3.0]
    with pytest.raises(dp.ParameterError, match="kind"):
        plot.plot(kind="lines")


def test_no_points_are_drawn_where_all_are_outside(tmp_path):
    empty = dp.residual_plot([1.0] * 99, [np.inf] * 99, epsilon=1e9, cells=2)
    for kind in ("scatter", "density"):
        empty.plot(kind=kind).figure.savefig(tmp_path / "empty.png")


# --- likely mistakes


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"residual_range": (90, 99)}, "100 % of the records are outside"),
        ({"unit": (1.0, 1000.0)}, "1/8 of the axis of residual values: a smaller `unit`"),
        ({}, None),
    ],
)
def test_bounds_that_do_not_fit_are_told_where_they_were_asked_for(arguments, text):
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-50, 50, 5000), rng.normal(size=5000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dp.residual_plot(x, y, epsilon=5.0, cells=32, rng=rng, **arguments)
    assert [each.filename for each in caught] == [__file__] * (text is not None)
    assert all(text in str(each.message) for each in caught)


@pytest.mark.needs_jit
def test_the_example_of_the_page():
    page = Path(__file__).parents[2] / "docs" / "proofs" / "residuals.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    names: dict = {}
    exec(block, names)
    assert names["spent"] == dp.Privacy(1.0)
    inside = np.isfinite(names["low"])
    assert np.all(names["low"][inside] <= names["high"][inside])
    assert -2 < np.nanmedian(names["median"]) < 2


@pytest.mark.parametrize(
    ("style", "width"),
    [
        ({}, 0.0),
        ({"color": "red", "s": 3}, 0.0),
        ({"linewidth": 2}, 2.0),
        ({"lw": 2}, 2.0),
        ({"linewidths": 2}, 2.0),
        ({"marker": "x", "linewidth": 1}, 1.0),
    ],
)
def test_lines_around_points_are_as_wide_as_is_said(plot, style, width):
    (points,) = plot.plot(**style).collections
    assert np.all(np.asarray(points.get_linewidth()) == width)
    (markers,) = plot.plot(marker="x").collections  # which are only lines, and are seen
    assert np.all(np.asarray(markers.get_linewidth()) > 0.0)
