"""Residual plots drawn as users ask for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcore as dp

pytest.importorskip("matplotlib").use("agg")

PLOT = dp.residual_plot(np.arange(50.0), np.arange(50.0) % 7, epsilon=1e6)


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
def test_lines_around_points_are_as_wide_as_is_said(style: dict[str, Any], width: float) -> None:
    (points,) = PLOT.plot(**style).collections
    assert np.all(np.asarray(points.get_linewidth()) == width)


def test_markers_that_are_only_lines_are_seen() -> None:
    (points,) = PLOT.plot(marker="x").collections
    assert np.all(np.asarray(points.get_linewidth()) > 0.0)
