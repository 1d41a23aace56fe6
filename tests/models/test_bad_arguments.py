"""Whatever a parameter is, ``fit`` gives a model, or an error of dpcore's that can be shown.

Features and labels that are no such thing are refused by scikit-learn, in its own words.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dpcore as dp
from dpcore.models import LinearRegression, LogisticRegression
from tests.project.bad_values import BAD

UNREADABLE = {"an Arrow union", "polars' Int128"}  # as an array, says their own library
X, Y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 1, 0])
LOGISTIC = {"epsilon": 1.0, "x_bounds": (0, 9), "classes": (0, 1), "C": 1.0}
LINEAR = {"epsilon": 1.0, "x_bounds": (0, 9), "y_bounds": (0, 1), "alpha": 1.0}
BOTH = {"fit_intercept": True, "rng": None}
ESTIMATORS = [
    (LogisticRegression, {**LOGISTIC, **BOTH, "method": "objective"}),
    (LogisticRegression, {**LOGISTIC, **BOTH, "method": "output"}),
    (LinearRegression, {**LINEAR, **BOTH, "method": "moments"}),
    (LinearRegression, {**LINEAR, **BOTH, "method": "output"}),
]


@pytest.mark.parametrize(("estimator", "parameters"), ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_parameters(estimator, parameters):
    for name, kind in itertools.product(parameters, BAD):
        bad = (i for i in [1]) if kind == "a generator" else BAD[kind]
        try:
            estimator(**{**parameters, name: bad}).fit(X, Y)
        except dp.DpcoreError as error:
            assert 0 < len(str(error)) < 1000  # noqa: PT017  # it need not be raised
        except Exception as error:
            error.add_note(f"{name} was {kind}")
            raise


@pytest.mark.parametrize(("estimator", "parameters"), ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_records(estimator, parameters):
    for name, kind in itertools.product(("X", "y"), BAD.keys() - UNREADABLE):
        bad = (i for i in [1]) if kind == "a generator" else BAD[kind]
        try:
            estimator(**parameters).fit(**{"X": X, "y": Y, name: bad})
        except (dp.DpcoreError, ValueError, TypeError) as error:
            assert len(str(error)) > 0  # noqa: PT017
        except Exception as error:
            error.add_note(f"{name} was {kind}")
            raise


@pytest.mark.parametrize("classes", [{0, 1}, frozenset({0, 1}), {"no", "yes"}])
def test_classes_without_an_order_are_refused(classes):
    model = LogisticRegression(1.0, x_bounds=(0, 9), classes=classes)
    with pytest.raises(dp.DtypeError, match=r"classes must be the labels .* in this order; got"):
        model.fit(X, Y)
