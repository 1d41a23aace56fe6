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


ROWS = {
    "rows": [np.ma.array([0.0, 0.5], mask=[0, 1]), [0.0, 0.5]],
    "numbers": [[0.0, np.ma.array(0.5, mask=True)], [0.0, 0.5]],
    "tuples": ((0.0, np.ma.masked), (0.0, 0.5)),
}


@pytest.mark.parametrize("name", ROWS)
def test_masks_within_lists_of_rows_are_refused(name):
    first, central = dp.trust.functions.Identity(0, 1), dp.trust.Central(1.0)
    with pytest.raises(dp.DtypeError, match="records must not be masked"):
        dp.trust.vector_sum(ROWS[name], first, central)
    with pytest.raises(dp.DtypeError, match="y_prob must not be masked"):
        dp.top_label([0, 1], ROWS[name], [0, 1])
    with pytest.raises(dp.MissingValueError, match="X has missing values"):
        dp.models.LogisticRegression(1.0).fit(ROWS[name], [0, 1])


@pytest.mark.parametrize("hidden", [0.25, 1, True])
def test_what_the_mask_of_one_number_hides_is_missing(hidden):
    values = [np.ma.array(hidden, mask=True), np.ma.array(hidden)]
    with pytest.raises(dp.MissingValueError):
        GRID.count(values)
    assert GRID.count(values, nan_policy="omit").sum() == 1
    with pytest.raises(dp.MissingValueError):
        dp.score_curves(values, [0.5, 0.5], GRID, NoNoise())


def test_arrays_of_several_fields_are_refused_for_their_type():
    fields = np.ma.array([(1.0, 2.0)], mask=[(False, True)], dtype="f8,f8")
    with pytest.raises(dp.DtypeError, match="records must be numbers"):
        dp.trust.vector_sum(fields, dp.trust.functions.Identity(0, 1), dp.trust.Central(1.0))
