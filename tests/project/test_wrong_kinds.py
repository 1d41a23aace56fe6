"""Whatever object stands for another, the answer is an error that names it, or a result.

Results that are made by hand, field by field, and functions that take dpcore's own objects.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import cache

import numpy as np
import pytest

import dpcore as dp
from dpcore import trust
from dpcore.mechanisms.descriptions import from_description
from tests.project import calls, calls_of_sums
from tests.project.test_states import MADE

pytestmark = pytest.mark.needs_jit

WRONG = {
    "an integer": 5,
    "text": "x",
    "None": None,
    "an object": object(),
    "a grid": calls.GRID,
    "a curve": calls.NOISY,
    "a table": calls.TABLE,
    "a mechanism": calls.DYADIC,
    "curves of scores": calls.NOISY_CURVES,
    "a guarantee": dp.Privacy(1.0),
    "a budget": dp.Budget(epsilon=1.0),
    "a tuple": (1,),
    "a tuple of text": ("x", 2),
    "an array": np.arange(3.0),
    "an array of text": np.array(["a", "b"]),
    "a list": [1, 2],
}
BY_HAND = MADE | {
    "Comparison": lambda: dp.compare(calls.CURVE, calls.NOISY, simulations=19),
    "DistributionTest": lambda: dp.goodness_of_fit(calls.NOISY, lambda t: t, simulations=19),
    "Count": lambda: dp.count(calls.SCORES, epsilon=1.0),
    "Counts": lambda: calls.CATEGORIES,
    "Mean": lambda: calls.MEAN,
    "ClasswiseCalibration": lambda: calls.CLASSWISE,
    "RestrictedMeanDifference": lambda: dp.restricted_mean_difference(
        calls.SURVIVAL, calls.OTHERS, until=0.3
    ),
    "PairwiseTests": lambda: dp.pairwise_tests(calls.GROUPED, simulations=19),
    "Suggestion": lambda: dp.suggest(n=1000, lower=0, upper=1, epsilon=1.0, error=0.1),
    "Plan": lambda: dp.plan(100, epsilon=1.0),
    "Option": lambda: dp.plan(100, epsilon=1.0).options[0],
    "Overview": lambda: trust.overview(1000, 64, 1.0),
    "TrustOption": lambda: trust.overview(1000, 64, 1.0).options[0],
    "Advice": lambda: trust.advise(1000, 1.0, model="local"),
    "HosmerLemeshow": lambda: calls.TEST,
    "HosmerLemeshowUnderNoise": lambda: calls.TEST.under_noise(replicates=3),
    "HistogramBinning": lambda: dp.statistics.HistogramBinning.fit(calls.NOISY_CURVES, 3),
    "IsotonicCalibration": lambda: dp.statistics.IsotonicCalibration.fit(calls.NOISY_CURVES),
    "BayesianBinning": lambda: dp.statistics.BayesianBinning.fit(calls.NOISY_CURVES),
    "ROC": lambda: dp.statistics.ROC.from_curves(calls.NOISY_CURVES),
    "ResidualMoments": lambda: calls_of_sums.MOMENTS,
    "Reliability": lambda: dp.statistics.reliability(calls.NOISY_CURVES, 3),
}
BY_HAND = {name: make for name, make in BY_HAND.items() if "," not in name and name != "Mechanisms"}


@cache
def made(name):
    return BY_HAND[name]()


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.filterwarnings("ignore")
def test_a_field_of_another_kind_is_refused_by_name_or_shown(name):
    result = made(name)
    if not is_dataclass(result):
        pytest.skip("has no fields to fill")
    named = [field.name for field in fields(result)] + ["minimum to maximum"]
    for field in fields(result):
        for kind, wrong in WRONG.items() if field.init else ():
            try:
                again = replace(result, **{field.name: wrong})
                assert repr(again), str(again)
            except trust.RoundError:  # names the clients that are missing
                pass
            except (dp.DtypeError, dp.ParameterError) as error:
                assert any(name in str(error) for name in named)  # noqa: PT017
            except Exception as error:
                error.add_note(f"{field.name} was {kind}")
                raise


CALLED = {
    "a grid's description": (dp.Grid.from_description, "description"),
    "a mechanism's description": (
        lambda given: from_description(given, "replace-one"),
        "mechanism",
    ),
    "classes": (calls.CURVES.classes, "joint"),
    **{
        type(one).__name__: (one.estimated_deviation, "released")
        for one in calls.ALL
        if hasattr(one, "estimated_deviation")
    },
}


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.filterwarnings("ignore")
def test_an_argument_of_another_kind_is_refused_by_name(name):
    called, argument = CALLED[name]
    for kind, wrong in (WRONG | {"an empty dict": {}, "a bad kind": {"kind": []}}).items():
        try:
            called(wrong)
            assert argument == "released", kind  # any numbers
        except (dp.DtypeError, dp.ParameterError) as error:
            assert argument in str(error)  # noqa: PT017
        except Exception as error:
            error.add_note(f"{argument} was {kind}")
            raise
