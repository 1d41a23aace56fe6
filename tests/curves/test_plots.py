"""Pictures: steps and bands, names of axes and lines, colours that can be told apart."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dpcore as dp
from dpcore.curves import colours
from dpcore.curves.plots import shortly
from dpcore.mechanisms import NoNoise
from dpcore.statistics import reliability, roc


@pytest.fixture
def curve():
    return dp.cdf(np.linspace(0, 1, 300), dp.Grid.uniform(0, 1, 20), epsilon=1.0)


def test_draws_the_curve_and_its_band(curve):
    ax = curve.plot()
    (line,) = ax.lines
    # The rise to the first known height is seen.
    assert np.array_equal(line.get_xdata(), [0.0, curve.thresholds[0], *curve.thresholds])
    assert np.array_equal(line.get_ydata(), [np.nan, 0.0, *curve.counts / 300], equal_nan=True)
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
    (rise,) = np.flatnonzero(line.get_ydata() == 0.0)
    left = line.get_xdata()
    assert left[rise] == left[rise + 1]
    heights = np.delete(line.get_ydata(), rise)
    assert np.array_equal(heights[: len(begins)], begins, equal_nan=True)
    assert heights.size == grid.size + len(begins) - 1
    if not np.isnan(begins[0]) and np.isfinite(grid.start):
        assert curve(grid.lower) == begins[0]
    assert "<svg" in curve._repr_html_()


def test_a_fine_grid_is_drawn_in_steps_that_can_be_seen(tmp_path):
    fine = dp.cdf([0.3, 0.6], dp.Grid.uniform(0, 1, 2**18), epsilon=1.0)
    ax = fine.plot()
    assert ax.lines[0].get_xdata().size - 2**13 in (0, 1)  # with a rise, unless noise hides it
    assert ax.lines[0].get_xdata()[-1] == 1
    ax.figure.savefig(tmp_path / "fine.png")


def test_a_missing_extra_is_named(curve, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(dp.MissingExtraError, match=r'pip install "dpcore\[plot\]"'):
        curve.plot()
    with pytest.raises(ImportError):
        curve.plot()


# --- every picture stands alone: axes and lines have names, no two alike, and colours can be told


RNG = np.random.default_rng(1)
SCORES = RNG.beta(2, 2, 1000)
LABELS = RNG.random(1000) < SCORES
GRID = dp.Grid.uniform(0, 1, 32)
SQUARE = dp.TableGrid(dp.Grid.uniform(0, 1, 4), dp.Grid.uniform(0, 1, 4))
PRIVATE: dict[str, Any] = {"epsilon": 1.0}
ROC = dp.roc_curve(LABELS, SCORES, grid=GRID, **PRIVATE)
RESIDUALS = dp.residual_plot(SCORES, LABELS - SCORES, epsilon=5.0)
CURVE = dp.cdf(SCORES, GRID, **PRIVATE)
GROUPED = dp.cdf(SCORES, GRID, by=np.arange(1000) % 4, groups=[0, 1, 2, 3], **PRIVATE)

SURVIVAL = dp.survival_scores(SCORES, LABELS, SCORES, (0, 1), **PRIVATE)

PLOTTED: dict[str, Any] = {
    "CDF": CURVE.plot,
    "ROC": ROC.plot,
    "ROC, precision": ROC.plot_precision_recall,
    "Reliability": reliability(ROC.curves).plot,
    "HosmerLemeshow": dp.hosmer_lemeshow(LABELS, SCORES, **PRIVATE).plot,
    "BoxPlot": dp.box_plot(SCORES, GRID, **PRIVATE).plot,
    "SurvivalScores": SURVIVAL.plot,
    "Table": dp.table(SCORES, SCORES, SQUARE, **PRIVATE).plot,
    "ResidualPlot": RESIDUALS.plot,
    "ResidualPlot, density": lambda ax=None: RESIDUALS.plot(ax, kind="density"),
}


def legend(ax):
    found = ax.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def test_all_public_plots_are_looked_at():
    public = {name for name in dp.__all__ if isinstance(getattr(dp, name), type)}
    public |= {name for name in dp.statistics.__all__ if hasattr(dp.statistics, name)}
    found = {
        name
        for name in public
        for home in (dp, dp.statistics)
        if callable(getattr(getattr(home, name, None), "plot", None))
    }
    of_several = {
        "GroupedCDF",
        "GroupedROC",
        "Survival",
        "GroupedSurvival",
        "CumulativeIncidence",
        "GroupedCumulativeIncidence",
        "ClasswiseCalibration",
    }  # tests of their own
    assert found - of_several == {name.partition(",")[0] for name in PLOTTED}


@pytest.mark.parametrize("name", PLOTTED)
def test_axes_have_names_and_no_two_lines_have_the_same_one(name):
    ax = PLOTTED[name]()
    PLOTTED[name](ax)  # the same once more
    figure = ax.figure
    shown = [each for each in [*figure.axes, *ax.child_axes] if each.axison]
    for each in shown:
        ticks = [text.get_text() for text in each.get_xticklabels()]
        below = each in ax.child_axes or not ax.child_axes  # what hangs below has the axis across
        is_colorbar = bool(each.get_label() == "<colorbar>")
        assert each.get_ylabel()
        assert is_colorbar or not below or each.get_xlabel() or (name == "BoxPlot" and all(ticks))
        texts = legend(each)
        assert len(set(texts)) == len(texts), texts
    said = [*legend(ax), ax.get_title(), *(text.get_text() for text in ax.get_xticklabels())]
    assert any("epsilon = " in text for text in said)


def test_legends_say_what_it_cost_in_few_words():
    assert legend(CURVE.plot(level=0.999)) == ["private, epsilon = 1", "99.9% band for the noise"]
    low, high = ROC.auc_interval()
    assert legend(ROC.plot()) == [
        "guessing",
        f"private, epsilon = 1,\nAUC = {ROC.auc:.3f} ({low:.3f} to {high:.3f})",
        "95% band for the noise",
    ]
    assert legend(PLOTTED["HosmerLemeshow"]()) == [
        "all records of the group",
        "95% interval for the noise",
        "positives, expected",
        "positives, private, epsilon = 1",
    ]


def test_a_legend_of_many_cells_does_not_wait_for_the_interval_of_the_area(monkeypatch):
    monkeypatch.setattr(roc, "_MOST_CELLS_IN_A_LEGEND", ROC.curves.grid.size - 1)
    assert legend(ROC.plot())[1] == f"private, epsilon = 1, AUC = {ROC.auc:.3f}"


def test_what_is_not_private_does_not_say_that_it_is():
    assert shortly(NoNoise().privacy) == "not private"
    assert shortly(dp.Privacy(epsilon=0.5, delta=1e-6)) == "private, epsilon = 0.5, delta = 1e-06"
    assert shortly(replace(CURVE.privacy, simulated=True)) == "SIMULATED, epsilon = 1"


def test_curves_that_share_axes_are_told_apart():
    ax = CURVE.plot()
    for _ in range(5):
        CURVE.plot(ax)
    CURVE.plot(ax, label="mine")
    assert legend(ax)[:3] == [
        "private, epsilon = 1",
        "95% band for the noise",
        "private, epsilon = 1 (2)",
    ]
    assert legend(ax)[-1] == "mine"
    assert [line.get_color() for line in ax.lines] == list(colours.TELLING)
    assert len({str(line._dash_pattern) for line in ax.lines}) == len(colours.TELLING)


def test_axes_that_are_given_keep_their_own_colours():
    with plt.rc_context({"axes.prop_cycle": plt.cycler(color=["#123456"])}):
        _, ax = plt.subplots()
        assert CURVE.plot(ax).lines[0].get_color() == "#123456"


def test_groups_share_the_names_of_axes_and_each_column_has_numbers_across():
    axes = GROUPED.plot()
    assert [bool(ax.get_xlabel()) for ax in axes] == [False, True, True, True]
    assert [bool(ax.get_ylabel()) for ax in axes] == [True, False, False, True]
    axes[0].figure.canvas.draw()
    shown = [any(text.get_visible() for text in ax.get_xticklabels()) for ax in axes]
    assert shown == [False, True, True, True]
    assert {ax.lines[0].get_color() for ax in axes} == {colours.BLUE}
    assert all(legend(ax) == ["private, epsilon = 1", "95% band for the noise"] for ax in axes)


def test_groups_of_different_sizes_show_their_sizes():
    test = dp.hosmer_lemeshow(LABELS, SCORES, **PRIVATE)
    sizes, _ = test.plot().collections
    heights = [path.vertices[0, 1] for path in sizes.get_paths()]
    assert heights == pytest.approx(test.observed.sum(axis=1))
    assert sizes.get_label() == "all records of the group"


# --- colours, as the colour-blind see them


SEEN = {  # Machado, Oliveira & Fernandes 2009, severity 1; of linear RGB
    "as they are": [1, 0, 0, 0, 1, 0, 0, 0, 1],
    "protanopia": [0.1523, 1.0526, -0.2049, 0.1145, 0.7863, 0.0992, -0.0039, -0.0481, 1.0520],
    "deuteranopia": [0.3673, 0.8606, -0.2280, 0.2801, 0.6725, 0.0474, -0.0118, 0.0429, 0.9689],
    "tritanopia": [1.2555, -0.0767, -0.1788, -0.0784, 0.9308, 0.1476, 0.0047, 0.6914, 0.3039],
}
XYZ = np.reshape(  # of linear sRGB, white at D65
    [0.4125, 0.3576, 0.1804, 0.2127, 0.7152, 0.0722, 0.0193, 0.1192, 0.9503], (3, 3)
)


def lab(colour, seen):
    """CIELAB of a colour, as it is seen: 100 from black to white, 2.3 are just noticed."""
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    x, y, z = XYZ @ np.clip(np.reshape(seen, (3, 3)) @ linear, 0, 1) / XYZ.sum(axis=1)
    f = [np.cbrt(t) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen", SEEN)
def test_colours_are_far_apart_for_everyone(seen):
    points = [lab(at, SEEN[seen]) for at in [*colours.TELLING, colours.GREY, colours.LIGHT]]
    assert min(np.linalg.norm(a - b) for a, b in combinations(points, 2)) > 15


# --- what a picture must not hide, and what it leaves out


def test_groups_are_drawn_over_each_other_with_one_legend():
    groups = ["a", "b$", "c$"]
    found = dp.cdf(SCORES, GRID, by=np.array(groups)[np.arange(1000) % 3], groups=groups, **PRIVATE)
    ax = found.plot(plt.figure().add_subplot())
    assert legend(ax) == ["a", "95% band for the noise", "b$", "c$"]
    assert ax.get_legend().get_title().get_text() == "private, epsilon = 1"
    assert len({line.get_color() for line in ax.lines}) == 3
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())


def test_roc_curves_of_groups_are_drawn_over_each_other_with_their_areas():
    groups = ["a", "b$"]
    by = np.array(groups)[np.arange(1000) % 2]
    found = dp.roc_curve(LABELS, SCORES, GRID, by=by, groups=groups, **PRIVATE)
    ax = found.plot()
    low, high = found["b$"].auc_interval()
    assert legend(ax)[-1] == f"b$, AUC = {found['b$'].auc:.3f} ({low:.3f} to {high:.3f})"
    assert [text.partition(",")[0] for text in legend(ax)] == [
        "guessing",
        "a",
        "95% band for the noise",
        "b$",
    ]
    assert ax.get_legend().get_title().get_text() == "private, epsilon = 1"
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())


@pytest.mark.parametrize("privately", [True, False])
def test_a_band_that_says_nothing_is_dropped_and_told(privately):
    with pytest.warns(dp.DpcoreWarning, match="standard error"):
        few = dp.cdf([0.5] * 5, GRID, dp.mechanisms.Hierarchy(0.01), rng=np.random.default_rng(2))
    if not privately:  # its deviations are not known
        few = replace(few, noise_deviation=np.full(GRID.size, np.inf))
    ax = few.plot()
    why = "95% band for the noise\nis from 0 to 1" if privately else "noise is not known"
    assert any(text.startswith("no band") and text.endswith(why) for text in legend(ax))
    assert not ax.collections
    few.plot(ax)
    assert len([text for text in legend(ax) if text.startswith("no band")]) == 1


def test_a_roc_band_that_says_nothing_is_dropped_and_one_that_does_rises():
    few = dp.roc_curve(LABELS[:40], SCORES[:40], GRID, epsilon=0.1, rng=RNG).plot()
    assert not few.patches
    assert legend(few)[-1] == "no band: the 95% band for the noise\nis from 0 to 1"
    found = dp.roc_curve(LABELS, SCORES, dp.Grid.uniform(0, 1, 256), dp.mechanisms.Histogram(2.0))
    (band,) = found.plot().patches
    (above_x, below_x), (above_y, below_y) = (
        np.split(ends[: 2 * found.fpr.size], 2) for ends in band.get_xy().T
    )
    for path in (above_x, above_y, below_x[::-1], below_y[::-1]):
        assert (np.diff(path) >= 0).all()
    ends = found.band()
    assert (above_y >= ends.tpr_high).all()  # nowhere narrower than the boxes
    assert (above_x <= ends.fpr_low).all()
    assert (below_y[::-1] <= ends.tpr_low).all()
    assert (below_x[::-1] >= ends.fpr_high).all()


def test_bins_with_hardly_any_records_are_left_out_and_told():
    scores = np.append(RNG.uniform(0, 0.5, 2000), 0.95)
    labels = RNG.random(scores.size) < scores
    curves = dp.score_curves(labels, scores, dp.Grid.uniform(0, 1, 20), epsilon=1.0, rng=RNG)
    table = reliability(curves, dp.statistics.ScoreHistogram.uniform(curves, 10).bins)
    ax = table.plot()
    drawn = ax.lines[1].get_xdata()
    assert drawn.size == 5
    assert drawn.max() < 0.5
    assert legend(ax)[-1] == "5 bins left out: too few records"


def test_bars_are_not_squeezed_by_a_line_far_above_them():
    rare = RNG.random(20_000) < 0.02 + 0.02 * RNG.random(20_000)
    scores = RNG.uniform(0.02, 0.04, 20_000)
    ax = dp.hosmer_lemeshow(rare, scores, groups=5, epsilon=5.0, rng=RNG).plot()
    highest = max(bar.get_height() for bar in ax.patches)
    assert ax.get_ylim()[1] < 3 * highest  # each group has about 4,000 records
    assert "all records of the group" not in legend(ax)
    assert all(text.get_text().count("\n") == 2 for text in ax.get_xticklabels())
    often = RNG.random(20_000) < 0.9
    ax = dp.hosmer_lemeshow(often, np.full(20_000, 0.9), groups=5, epsilon=5.0, rng=RNG).plot()
    assert "all records of the group" in legend(ax)


def plotted(thresholds, lower=None):
    grid = dp.Grid(thresholds, lower=lower)
    return {
        "curve": dp.cdf(thresholds, grid, NoNoise()),
        "groups": dp.cdf(thresholds, grid, NoNoise(), by=[0] * grid.size, groups=[0]),
        "box": dp.box_plot(thresholds, grid, epsilon=1e4),
        "table": dp.table(thresholds, thresholds, dp.TableGrid(grid, grid), NoNoise()),
    }


@pytest.mark.parametrize("kind", ["curve", "groups", "box", "table"])
@pytest.mark.parametrize(
    "ends", [([-1.7e308, 0.0, 1.7e308], None), ([1e308], 0.9e308), ([1e308, 1.1e308], -1e300)]
)
def test_grids_as_far_as_doubles_go_are_refused_by_name_as_no_axis_has_them(kind, ends):
    far = plotted(*ends)[kind]
    with pytest.raises(dp.ParameterError, match=r"grid must lie within \+-1e\+307 to be drawn"):
        far.plot()
    ax = plotted([-1e307, 1e307])[kind].plot()
    ax = ax if kind != "groups" else np.ravel(ax)[0]
    ax.figure.canvas.draw()
    plt.close("all")
