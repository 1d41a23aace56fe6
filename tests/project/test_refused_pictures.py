"""Arguments of any picture: one that is refused is named, and no figure is left open."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction

import matplotlib.pyplot as plt
import pytest

import dpcore as dp
from tests.project.calls import PICTURED

METHODS = {
    f"{type(one).__name__}.{name}": getattr(one, name)
    for one in PICTURED
    for name in dir(one)
    if name.startswith("plot")
}
WRONG = {"level": 95, "of": "all", "kind": 0.5, "stacked": "x", "until": -1.0, "position": "x"}
STYLE = {"title": "Ages", "levl": 0.9}


@pytest.fixture(autouse=True)
def closed():
    plt.switch_backend("Agg")
    plt.close("all")
    yield
    plt.close("all")


@pytest.mark.parametrize("name", METHODS)
def test_a_picture_that_is_refused_is_not_left_open(name):
    plot = METHODS[name]
    own = {
        argument: WRONG[argument]
        for argument in inspect.signature(plot).parameters.keys() & WRONG.keys()
    }
    for argument, value in (own | STYLE).items():
        with pytest.raises(dp.DpcoreError, match=argument) as refused:
            plot(**{argument: value})
        assert re.search(rf"{value}|{type(value).__name__}", str(refused.value))
        assert plt.get_fignums() == []


@pytest.mark.parametrize(
    "name", [name for name in METHODS if "level" in inspect.signature(METHODS[name]).parameters]
)
def test_a_level_may_be_a_fraction(name):
    """It has no format before Python 3.12."""
    METHODS[name](level=Fraction(9, 10))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("projection", ["polar", "mollweide", "3d"])
def test_pictures_have_two_straight_axes(name, projection):
    ax = plt.figure().add_subplot(projection=projection)
    with pytest.raises(dp.ParameterError, match=f"ax must have two straight axes.*{projection}"):
        METHODS[name](ax)
    assert not ax.lines


def test_figures_that_others_open_meanwhile_stay_open():
    class Style:  # Matplotlib reads it while it draws
        def __str__(self):
            self.figure = plt.figure()
            raise ValueError("color")

    style = Style()
    with pytest.raises(ValueError, match="color"):
        PICTURED[0].plot(label=style)
    assert plt.get_fignums() == [style.figure.number]


def test_a_picture_of_a_report_that_is_refused_is_not_left_open(monkeypatch):
    found = next(one for one in PICTURED if isinstance(one, dp.GroupedCDF))
    monkeypatch.setattr(dp.CDF, "plot", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        dp.report([found])
    assert plt.get_fignums() == []
