"""Releases show themselves in a line, and curves in a small picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.curves import shown
from tests.curves.test_equality import FIRST

VALUES = np.linspace(0, 120, 1201)
GRID = dp.Grid.uniform(0, 120, 480)
DAYS = np.datetime64("2024-01-01") + np.arange(366)
YEAR = dp.Grid.uniform("2024-01-01", "2025-01-01", 366)
EXACT = dp.mechanisms.NoNoise()


@pytest.mark.parametrize("name", FIRST)
def test_every_release_fits_a_line_and_says_that_it_is_simulated(name):
    text = repr(FIRST[name])
    assert len(text) <= 88
    assert "\n" not in text
    assert "SIMULATED" in text
    assert "n = 500" in text or name == "box"
    assert re.search("epsilon = [15]|rho = 1", text)


def test_what_they_say():
    curve = dp.cdf(VALUES, GRID, EXACT)
    assert repr(curve) == "<CDF: n = 1201, epsilon = inf, quartiles 29.94, 59.96, 89.98, no-noise>"
    many = dp.quantiles(VALUES, np.arange(1, 20) / 20, GRID, epsilon=100.0)
    assert re.fullmatch(r"<Quantiles: 0.05: .*, 0.1: .*, \.\.\., n = 1201, .*>", repr(many))
    box = dp.BoxPlot.from_sample([1, 2, 3, 4, 5])
    assert repr(box) == "<BoxPlot: 1, 2, 3, 4, 5, not private>"
    smooth = dp.smooth([1.0, 4.0, 3.0], 5)
    assert repr(smooth).startswith("<Smoothing: shape (3,), norm 2, ")
    assert len(repr(smooth)) <= 88


def test_times_are_shown_as_times():
    curve = dp.cdf(DAYS, YEAR, EXACT)
    assert "2024-07-0" in repr(curve)
    assert len(repr(curve)) <= 88
    assert "2025-01-01" in curve._repr_html_()
    assert shown.short(np.timedelta64(36, "h")) == "1.5 d"
    assert shown.short(np.timedelta64(-90, "m")) == "-1.5 h"
    assert shown.short(np.timedelta64(1500, "us")) == "0.0015 s"
    assert shown.short(np.timedelta64(60, "s")) == "1 min"
    assert shown.short(np.datetime64("2024-01-01T10:30")) == "2024-01-01T10:30:00"


def test_the_longest_lines_are_cut_and_still_say_that_it_is_simulated():
    mechanism = dp.mechanisms.HistogramQueries(1.0, delta=1e-6, bins=7, between="linear")
    curve = dp.cdf(DAYS, YEAR, mechanism, rng=np.random.default_rng(1))
    assert len(repr(curve)) <= 88
    assert "SIMULATED" in repr(curve)


@pytest.mark.parametrize("curve", [dp.cdf(VALUES, GRID, EXACT), FIRST["cdf"]])
def test_the_picture_is_valid_and_takes_the_colour_of_the_text(curve):
    page = ElementTree.fromstring(curve._repr_html_())
    svg = page[0]
    (drawn,) = (each for each in svg if each.tag.endswith("polyline"))
    points = np.array([each.split(",") for each in drawn.get("points").split()], float)
    assert 2 <= len(points) <= 200
    assert (np.diff(points[:, 0]) > 0).all()
    assert points.min() >= 0.0
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', curve._repr_html_()))
    assert colours == {"none", "currentColor"}
    assert page[1].text == repr(curve)[1:-1]


def test_the_picture_of_one_threshold():
    ElementTree.fromstring(dp.cdf([1.0], dp.Grid([1.0]), EXACT)._repr_html_())


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.1 + 0.2, 491.0, "Interval(low=0.3, high=491.0)"),
        (np.float64(1 / 3), np.inf, "Interval(low=0.3333333, high=inf)"),
        (np.datetime64("2024-01-31"), np.datetime64("NaT"), "Interval(low=2024-01-31, high=NaT)"),
        (np.timedelta64(3, "s"), np.timedelta64(4, "s"), "Interval(low=3 s, high=4 s)"),
        (3, np.array([1.5]), "Interval(low=3, high=array([1.5]))"),
    ],
)
def test_intervals_are_short(low, high, text):
    assert repr(dp.Interval(low, high)) == text


def test_one_is_not_several():
    words = str(dp.suggest(n=100, lower=0, upper=1, epsilon=0.5))
    assert "at most 1 quantile and no curve" in words
    assert repr(dp.Grid([1.0])) == "<Grid of 1 threshold from 1 to 1>"


def test_warnings_show_ends_of_grids_with_few_digits():
    grid = dp.Grid.uniform(0.1 + 0.2, 1.0, 32)
    with pytest.warns(dp.DpcoreWarning, match=r"Grid\.uniform\(0\.3, 1\.0, 32\)"):
        dp.cdf(np.full(1000, 5.0), grid, epsilon=9.0)


def test_lines_and_tables_of_names_that_are_no_text_can_be_written():
    how = {"by": ["a", "\ud800"] * 20, "groups": ["a", "\ud800"], "epsilon": 1.0}
    grid = dp.Grid.integers(1, 2)
    results = [
        dp.counts(how["by"], how["groups"], epsilon=1.0),
        dp.cdf([1, 2] * 20, grid, **how),
        dp.cumulative_incidence([1, 2] * 20, how["by"], grid, ["\ud800"], epsilon=1.0),
        dp.survival([1, 2] * 20, [0, 1] * 20, grid, **how),
    ]
    for result in results:
        for text in (repr(result), result._repr_html_()):
            assert r"\ud800" in text.encode().decode()
    named = dp.cdf(pd.Series([1, 2] * 20, name="\ud800"), grid, epsilon=1.0)
    for result in (*results, named):
        assert dp.load(result.to_json()) == result
