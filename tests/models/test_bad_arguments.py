"""Whatever a parameter is, ``fit`` gives a model, or an error of dpcore's that can be shown.

Features and labels that are no such thing are refused by scikit-learn, in its own words.
"""

from __future__ import annotations

import itertools
import re
from functools import partial

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


SECRET = 7654321.5
QUOTING = {
    "one dimension": lambda values: (values, Y),
    "complex features": lambda values: (values[:, None] + 0j, Y),
    "complex responses": lambda values: (X, values + 0j),
    "text": lambda values: (values[:, None].astype(str), Y),
    "bytes": lambda values: (values[:, None].astype(bytes), Y),
    "text in a list": lambda values: ([[str(value)] for value in values], Y),
    "text for responses": lambda values: (X, values.astype(str)),
    "objects": lambda values: ([[{value: value}] for value in values], Y),
    "text for predictions": lambda values: ([["7654321.5 or so"]] * 6, None),
}


@pytest.mark.parametrize("name", QUOTING)
@pytest.mark.parametrize("estimator", [LogisticRegression, LinearRegression])
def test_errors_quote_no_record_nor_the_length_of_a_text(estimator, name):
    bounds = {"x_bounds": (0, 9)} | ({"y_bounds": (0, 1)} if estimator is LinearRegression else {})
    features, responses = QUOTING[name](np.full(6, SECRET))
    model = estimator(1.0, **bounds)
    fails = partial(model.fit, features, responses)
    if responses is None:
        fails = partial(model.fit(X, Y).predict, features)
    with pytest.raises((TypeError, ValueError)) as caught:
        fails()
    error = caught.value
    assert "7654321" not in f"{error} {vars(error)} {error.__context__}"
    assert not re.search(r"[US]\d", str(error))


def test_the_error_of_a_type_does_not_show_how_long_the_longest_text_is():
    for text in ("a", "a much longer text"):
        with pytest.raises(dp.DtypeError) as caught:
            LinearRegression(1.0, x_bounds=(0, 9), y_bounds=(0, 1)).fit([[text]] * 6, Y)
        assert str(caught.value) == "X must hold real numbers; got dtype str_"
