"""Doubles beside zero are subnormal: who has underflow raised gets a release all the same."""

import numpy as np

import dpcore as dp


def test_residual_plots_where_underflow_is_an_error() -> None:
    x = np.linspace(0.1, 5, 400)
    with np.errstate(all="raise"):
        dp.residual_plot(x, x - 2, epsilon=1.0)
        dp.residual_plot(x, x - 2, epsilon=1.0, predicted_range=(0, 5))
        dp.residual_plot(x, x - 2, epsilon=1.0, search="sparse-vector", cells=4)
