"""Methods of results, pictures, and reports of clients, with arguments that they take."""

from __future__ import annotations

import numpy as np

import dpcore as dp
from dpcore import mechanisms, trust
from dpcore import statistics as st

COUNTS = np.ones(8, int)
LABELS, SCORES = [0, 1, 1, 0, 1] * 40, [0.1, 0.2, 0.6, 0.7, 0.9] * 40
GRID = dp.Grid.uniform(0, 1, 8)
CURVES = dp.score_curves(LABELS, SCORES, GRID, epsilon=20.0, rng=np.random.default_rng(1))
CURVE = dp.cdf(SCORES, GRID, epsilon=20.0, rng=np.random.default_rng(1))
GROUPED = dp.cdf(SCORES, GRID, epsilon=20.0, by=LABELS, groups=[0, 1], rng=np.random.default_rng(1))
POINTS = dp.residual_plot(SCORES, SCORES, epsilon=20.0, rng=np.random.default_rng(1))
CELLS = dp.TableGrid.uniform((0, 1), (0, 1), (4, 2))
TABLE = dp.table(SCORES, SCORES, CELLS, epsilon=20.0, rng=np.random.default_rng(1))
BOX = dp.BoxPlot.from_curve(CURVE)
NOISY = [1.0, 3.0, 2.0]
SMOOTHED = dp.smooth(NOISY, 4)
UNARY = trust.UnaryEncoding(1.0)
WAVE = trust.SquareWaveEncoding(1.0, 8)
DRAWN = {"counts": COUNTS, "rng": None}


def smoothed(matrix, lower, upper):
    return dp.smooth(NOISY, 4, solver="osqp", constraints=(matrix, lower, upper))


def drawn(plot):
    """Return a function that plots, and closes the picture."""

    def call(**arguments):
        from matplotlib import pyplot

        try:
            plot(**arguments)
        finally:
            pyplot.close("all")

    return call


RESULTS = {
    "smooth, under constraints": (
        smoothed,
        {"matrix": [[1, 0, 0]], "lower": [0], "upper": [1]},
    ),
    "Smoothing.is_optimal": (SMOOTHED.is_optimal, {"tolerance": 1e-4}),
    "Smoothing.reshaped": (SMOOTHED.reshaped, {"shape": (1, 1)}),
    "CDF.plot": (drawn(CURVE.plot), {"ax": None, "level": 0.9}),
    "GroupedCDF.plot": (drawn(GROUPED.plot), {"level": 0.9}),
    "ROC.plot": (drawn(st.ROC.from_curves(CURVES).plot), {"ax": None, "level": 0.9}),
    "Reliability.plot": (drawn(st.reliability(CURVES).plot), {"ax": None, "level": 0.9}),
    "HosmerLemeshow.plot": (drawn(st.HosmerLemeshow.from_curves(CURVES, 3).plot), {"ax": None}),
    "ResidualPlot.plot": (drawn(POINTS.plot), {"ax": None, "kind": "scatter"}),
    "Table.plot": (drawn(TABLE.plot), {"ax": None}),
    "BoxPlot.plot": (drawn(BOX.plot), {"ax": None, "position": 1}),
    "BayesianBinning.fit": (st.BayesianBinning.fit, {"curves": CURVES, "sizes": None}),
    "HistogramBinning.fit": (st.HistogramBinning.fit, {"curves": CURVES, "bins": 3}),
    "IsotonicCalibration.fit": (st.IsotonicCalibration.fit, {"curves": CURVES, "bins": 3}),
    "AdaptiveQuantiles.release_from_sites": (
        mechanisms.AdaptiveQuantiles(rho=1.0, steps=3).release_from_sites,
        {"counts": np.ones((2, 8), int), "rng": None, "replicates": None, "workers": None},
    ),
    "Dawa.release_with_deviation": (mechanisms.Dawa(1.0).release_with_deviation, DRAWN),
    "Local.estimated_deviation": (
        trust.Local(1.0, clients=8).estimated_deviation,
        {"released": np.ones(8)},
    ),
    "UnaryEncoding.perturbed_totals": (
        UNARY.perturbed_totals,
        {**DRAWN, "reports": 8, "workers": None},
    ),
    "UnaryEncoding.simulated_totals": (
        UNARY.simulated_totals,
        {**DRAWN, "reports": 8, "rng": np.random.default_rng(1), "replicates": None},
    ),
    "UnaryEncoding.variance": (UNARY.variance, {"reports": 8, "count": 0}),
    "SquareWaveEncoding": (trust.SquareWaveEncoding, {"epsilon": 1.0, "size": 8}),
    "SquareWaveEncoding.perturb": (
        WAVE.perturb,
        {"cells": [1, 2], "rng": None, "workers": None},
    ),
    "SquareWaveEncoding.perturbed_totals": (WAVE.perturbed_totals, {**DRAWN, "workers": None}),
    "SquareWaveEncoding.simulated_totals": (
        WAVE.simulated_totals,
        {**DRAWN, "rng": np.random.default_rng(1)},
    ),
    "SquareWaveEncoding.totals": (WAVE.totals, {"reports": [1, 2]}),
    "SquareWaveEncoding.reconstruct": (
        WAVE.reconstruct,
        {"totals": WAVE.totals([1, 2]), "smoothing": "auto", "tolerance": 1e-5},
    ),
}
