"""Distances of residual plots are within [0, 1], to the last bit."""

from __future__ import annotations

import numpy as np

from dpcore.statistics import residual_plot_distance


def test_plots_that_have_nothing_in_common_are_1_apart() -> None:
    rng = np.random.default_rng(1)
    for size in range(2, 60):
        first = rng.uniform(0, 9, (size, 2))
        second = rng.uniform(100, 109, (61 - size, 2))
        assert residual_plot_distance(first, second) == 1.0


def test_distances_are_shares_of_the_points() -> None:
    first = np.c_[np.arange(10.0), np.zeros(10)]
    second = np.r_[first[:7], first[:3] + 100]
    assert residual_plot_distance(first, second) == 0.3
    assert residual_plot_distance(second[:7], first) == 0.3
