"""Masked parameters are refused; masked records are missing (test_columns_of_objects)."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Hierarchy, NoNoise, above_threshold, exponential_mechanism
from dpcore.statistics import (
    BayesianBinning,
    HistogramBinning,
    IsotonicCalibration,
    ScoreHistogram,
    classifier,
)

GRID = dp.Grid.uniform(0, 1, 4)
HIDDEN = np.ma.array([0.1, 0.9, 0.3, 0.6], mask=[False, True, False, False])
SEEN = [0.1, 0.3, 0.6]
WHOLE = np.ma.array([1, 1000, 1], mask=[False, True, False])


def rng():
    return np.random.default_rng(1)


CURVE = dp.cdf([0.1, 0.4, 0.8], GRID, NoNoise())
RAW, OTHER = (dp.cdf([0.1, 0.4, 0.8], GRID, NoNoise(), isotonic=False) for _ in range(2))
CURVES = dp.score_curves([0, 1, 0, 1], [0.1, 0.4, 0.35, 0.8], GRID, NoNoise())
RATES = np.ma.array([0.5, 0.25], mask=[False, True])
CASES = {
    "thresholds": lambda: dp.Grid(np.ma.array([0.1, 0.5, 0.9], mask=[0, 1, 0])),
    "probabilities": lambda: dp.quantiles(SEEN, RATES, GRID, epsilon=1.0),
    "noisy_cumulative": lambda: dp.smooth(np.ma.array([1.0, 9.0], mask=[0, 1]), 3),
    "at": lambda: dp.smooth([1.0, 2.0], 3, at=np.ma.array([0, 1], mask=[0, 1])),
    "scores": lambda: exponential_mechanism(WHOLE, epsilon=1.0),
    "queries": lambda: above_threshold(WHOLE, 2, epsilon=1.0),
    "sample": lambda: dp.BoxPlot.from_sample(HIDDEN),
    "increments": lambda: dp.streams.RunningCount(9, epsilon=1.0).extend(WHOLE),
    "counts": lambda: dp.cdf_from_counts(np.ma.array([1] * 4, mask=[0, 0, 0, 1]), GRID, epsilon=1),
    "weights": lambda: dp.combine([RAW, OTHER], np.ma.array([1.0, 2.0], mask=[0, 1])),
    "branching": lambda: Hierarchy(1.0, branching=np.ma.array([2, 2], mask=[0, 1])),
    "budgets": lambda: Hierarchy(1.0, budgets=np.ma.array([2, 2], mask=[0, 1])),
    "t": lambda: CURVE(RATES),
    "p": lambda: CURVE.quantile(RATES),
    "t of a classifier": lambda: classifier.precision(CURVES, RATES),
    "t of a histogram": lambda: ScoreHistogram.uniform(CURVES, 2).nearest(RATES),
    "y_score": lambda: HistogramBinning.fit(CURVES, 2).predict(RATES),
    "y_score of isotonic": lambda: IsotonicCalibration.fit(CURVES).predict(RATES),
    "y_score of BBQ": lambda: BayesianBinning.fit(CURVES).predict(RATES),
    "sums": lambda: dp.PolynomialSums(
        0, 1, "moments", np.ma.array([1 << 28] * 3, mask=[0, 1, 0], dtype=np.int64)
    ),
    "reports": lambda: dp.trust.models.unary.UnaryEncoding(1.0).totals(
        np.ma.array([[1], [1]], mask=[[0], [1]], dtype=np.uint64), 3
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_masked_parameters_are_refused(name):
    with pytest.raises(dp.DtypeError, match=rf"^{name.split()[0]} must "):
        CASES[name]()


def test_a_refused_mask_takes_no_step_of_a_running_count():
    running, other = (dp.streams.RunningCount(2, epsilon=1.0, rng=rng()) for _ in range(2))
    with pytest.raises(dp.DtypeError, match="increments must not be masked"):
        running.extend(WHOLE)
    assert np.array_equal(running.extend(np.ma.array([1, 2])), other.extend([1, 2]))
