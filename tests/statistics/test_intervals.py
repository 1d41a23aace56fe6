"""What all intervals have in common: certain answers, unknown errors, and the curves' mechanism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Hierarchy, PolynomialProjection
from dpcore.statistics import (
    ROC,
    ScoreHistogram,
    classifier,
    expected_calibration_error_interval,
    population_expected_calibration_error_interval,
)
from tests.statistics.scored_records import exact, ranked

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 64)
OF_CALIBRATION = [
    expected_calibration_error_interval,
    population_expected_calibration_error_interval,
]
OF_MECHANISMS = [
    *(
        lambda curves, mechanism, interval=interval: interval(curves, mechanism=mechanism)
        for interval in OF_CALIBRATION
    ),
    lambda curves, mechanism: ROC.from_curves(curves, mechanism).auc_interval(),
    lambda curves, mechanism: ROC.from_curves(curves, mechanism).population_auc_interval(),
    lambda curves, mechanism: ScoreHistogram.uniform(curves, 8, mechanism).auc_interval(),
]
OF_RATES = [
    getattr(classifier, f"{name}_interval")
    for name in ("precision", "recall", "population_precision", "population_recall")
]


def released(mechanism, **options):
    return dp.score_curves(*ranked(900, RNG(1)), GRID, mechanism, rng=RNG(1), **options)


@pytest.mark.parametrize("interval", OF_MECHANISMS)
def test_the_same_question_has_the_same_answer(interval):
    mechanism = Hierarchy(1.0)
    curves = released(mechanism, isotonic=False)
    low, high = interval(curves, mechanism)
    assert interval(curves, mechanism) == (low, high)
    assert type(low) is type(high) is float
    assert 0 <= low < high <= 1


@pytest.mark.parametrize("interval", OF_MECHANISMS)
def test_nothing_is_said_where_the_error_is_not_known(interval):
    mechanism = PolynomialProjection(1.0, delta=1e-6)
    curves = released(mechanism)
    assert interval(curves, None) == interval(curves, mechanism) == (0.0, 1.0)


@pytest.mark.parametrize("interval", OF_RATES)
def test_nothing_is_said_of_rates_where_nothing_is_known(interval):
    unknown, tiny = released(PolynomialProjection(1.0, delta=1e-6)), released(Hierarchy(0.001))
    assert interval(unknown, 0.5) == interval(tiny, 0.5) == (0.0, 1.0)
    if "precision" in interval.__name__:  # of no records at all
        assert interval(exact(*ranked(900, RNG(1)), GRID), 1.0) == (0.0, 1.0)


@pytest.mark.parametrize("interval", OF_MECHANISMS)
def test_the_mechanism_has_to_be_the_curves_own(interval):
    curves = released(Hierarchy(1.0))
    with pytest.raises(dp.ParameterError, match="mechanism"):
        interval(curves, Hierarchy(2.0))
    with pytest.raises(dp.DtypeError, match="mechanism"):
        interval(curves, 1.0)
    smoothed = replace(curves, joint=replace(curves.joint, processing=("smooth(norm=2)",)))
    with pytest.raises(dp.ParameterError, match="curves"):
        interval(smoothed, Hierarchy(1.0))
