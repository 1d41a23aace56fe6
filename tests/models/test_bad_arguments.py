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
def test_whatever_arguments_are_errors_can_be_shown(estimator, parameters):
    given = {"X": X, "y": Y}
    for name, kind in itertools.product([*parameters, *given], BAD):
        if name in given and kind in UNREADABLE:
            continue
        bad = {name: (i for i in [1]) if kind == "a generator" else BAD[kind]}
        try:
            if name in given:
                estimator(**parameters).fit(**{**given, **bad})
            else:
                estimator(**{**parameters, **bad}).fit(X, Y)
        except dp.DpcoreError as error:
            assert 0 < len(str(error)) < 1000  # noqa: PT017  # it need not be raised
        except Exception as error:
            if name in given and isinstance(error, ValueError | TypeError):
                continue  # of scikit-learn
            error.add_note(f"{name} was {kind}")
            raise


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
