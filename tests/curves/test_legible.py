"""Pictures can be read: on small axes, on a dark ground, of few and of many records."""

from __future__ import annotations

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dpcore as dp
from dpcore.curves import colours
from dpcore.curves.legible import in_two_lines
from tests.curves.test_plots import GROUPED, LABELS, PLOTTED, RNG, ROC, SCORES, lab, legend

PRIVATE = {"epsilon": 1.0, "rng": RNG}
INCOMES = RNG.lognormal(10.5, 0.7, 1000)
DAYS = np.datetime64("2024-01-01") + RNG.integers(0, 360, 1000)
YEARS, KINDS, AXIS = RNG.exponential(5, 1000), RNG.integers(0, 3, 1000), dp.Grid.uniform(0, 12, 48)
SURVIVAL = dp.survival(YEARS, KINDS > 0, AXIS, **PRIVATE)
MANY = dp.survival_from_counts(np.full(96, 20_000), AXIS, **PRIVATE)
INCIDENCE = dp.cumulative_incidence(YEARS, KINDS, AXIS, [1, 2], **PRIVATE)
SOME = {"by": np.array(["north", "south"])[np.arange(1000) % 2], "groups": ["north", "south"]}
DRAWN = {
    **PLOTTED,
    "CDF, large numbers": dp.cdf(INCOMES, dp.Grid.uniform(0, 2e5, 128), **PRIVATE).plot,
    "CDF, days": dp.cdf(DAYS, dp.Grid.days("2024-01-01", "2024-12-31"), **PRIVATE).plot,
    "GroupedCDF": GROUPED.plot,
    "GroupedROC": dp.roc_curve(LABELS, SCORES, ROC.curves.grid, **SOME, **PRIVATE).plot,
    "Survival": SURVIVAL.plot,
    "Survival, many": MANY.plot,
    "SurvivalScores": dp.survival_scores(YEARS, KINDS > 0, YEARS, (0, 12), (0, 12), **PRIVATE).plot,
    "CumulativeIncidence": INCIDENCE.plot,
    "CumulativeIncidence, stacked": lambda ax: INCIDENCE.plot(ax, stacked=True),
}


@pytest.fixture(autouse=True)
def close_pictures():
    yield
    plt.close("all")


def texts(figure):
    """All texts that are seen, with their places in pixels."""
    figure.canvas.draw()
    outside = set()  # labels of ticks beyond the ends of axes, which are not drawn
    for axes in figure.findobj(plt.Axes):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
            outside |= {label for tick in ticks for label in (tick.label1, tick.label2)}
    found = [each for each in figure.findobj(plt.Text) if each.get_visible() and each.get_text()]
    return {each: each.get_window_extent() for each in found if each not in outside}


@pytest.mark.sample(18)
@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("size", [(3, 2), (6, 4), (12, 8)], ids=str)
def test_no_text_overlaps_another_and_none_is_cut(name, size):
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    DRAWN[name](ax)
    shown = texts(figure)
    assert len(shown) > 4
    for (one, here), (other, there) in itertools.combinations(shown.items(), 2):
        over = here.intersection(here.shrunk(1, 0.9), there.shrunk(1, 0.9))
        assert over is None or min(over.width, over.height) < 2, (one, other)
    for text, place in shown.items():
        assert place.x0 > -2, text
        assert place.y0 > -2, text
        assert place.x1 < figure.bbox.width + 2, text
        assert place.y1 < figure.bbox.height + 2, text


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "GroupedCDF"])
def test_new_axes_cut_nothing(name):
    ax = DRAWN[name](None)
    figure = np.ravel(ax)[0].figure
    for text, place in texts(figure).items():
        assert figure.bbox.expanded(1.01, 1.01).contains(place.x0, place.y0), text
        assert figure.bbox.expanded(1.01, 1.01).contains(place.x1, place.y1), text


def test_no_line_is_as_dark_as_its_ground():
    with plt.style.context("dark_background"):
        ax = SURVIVAL.plot()
        for _ in range(6):
            SURVIVAL.plot(ax)
        bands = {band.get_alpha() for band in ax.collections}
    drawn = [line.get_color() for line in ax.lines]
    assert len({*drawn}) == len(colours.TELLING)
    seen = [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert min(lab(colour, seen)[0] for colour in drawn) > 40  # black is 0, white is 100
    assert bands == {0.4}
    assert {band.get_alpha() for band in SURVIVAL.plot().collections} == {0.2}


def test_a_legend_is_where_the_curve_is_not():
    def drawn(values):
        ax = dp.cdf(values, dp.Grid.uniform(0, 1, 32), epsilon=50.0).plot()
        ax.figure.canvas.draw()
        box = ax.get_legend().get_window_extent().transformed(ax.transData.inverted())
        (line,) = ax.lines
        return [*zip(line.get_xdata(), line.get_ydata(), strict=True)], box

    for values in (RNG.beta(2, 8, 900), RNG.beta(8, 2, 900)):
        points, box = drawn(values)
        assert not any(box.contains(*point) for point in points)


def test_long_numbers_are_in_thousands_and_formats_of_callers_stay():
    ax = DRAWN["CDF, large numbers"]()
    ax.figure.canvas.draw()
    assert "100k" in [text.get_text() for text in ax.get_xticklabels()]
    _, ax = plt.subplots()
    ax.xaxis.set_major_formatter("{x:.0f} dollars")
    DRAWN["CDF, large numbers"](ax)
    ax.figure.canvas.draw()
    assert "100000 dollars" in [text.get_text() for text in ax.get_xticklabels()]


def test_areas_have_the_digits_that_their_interval_needs():
    low, high = ROC.auc_interval()
    assert 0.01 < high - low < 0.1
    assert f"({low:.3f} to {high:.3f})" in legend(ROC.plot())[1]
    rng = np.random.default_rng(3)
    scores = rng.random(200_000)
    roc = dp.roc_curve(rng.random(200_000) < scores, scores, ROC.curves.grid, epsilon=1.0)
    low, high = roc.auc_interval()
    told = legend(roc.plot())[1].partition("(")[2].rstrip(")").split(" to ")
    assert told[0] != told[1]
    assert float(told[0]) == pytest.approx(low, abs=high - low)


def test_long_texts_of_a_legend_are_broken():
    assert in_two_lines("private", "AUC = 0.5") == "private, AUC = 0.5"
    assert in_two_lines("a" * 30, "AUC = 0.5 (0 to 1)") == "a" * 30 + ",\nAUC = 0.5 (0 to 1)"
