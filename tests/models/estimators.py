"""What tests of both estimators share: records, and models with public bounds for them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from dpcore.models import LinearRegression, LogisticRegression

METHODS = [
    (LogisticRegression, "objective"),
    (LogisticRegression, "output"),
    (LinearRegression, "moments"),
    (LinearRegression, "output"),
]
of_each_method = pytest.mark.parametrize(("kind", "method"), METHODS)
SLOPES = np.array([1.0, -0.5, 0.0])


def records(kind, n, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, 3))
    if kind is LogisticRegression:
        return X, (rng.random(n) < expit((X - 5) @ SLOPES)).astype(int)
    return X, X @ SLOPES + 3.0 + rng.normal(0, 1, n)


def model(kind, epsilon=1.0, seed=2, **parameters):
    given = {"x_bounds": (0, 10), "rng": np.random.default_rng(seed)}
    if kind is LinearRegression:
        given["y_bounds"] = (-10, 20)
    return kind(epsilon, **{**given, **parameters})
