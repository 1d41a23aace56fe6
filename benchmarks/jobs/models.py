"""Private models of five features beside exact ones. The floor: one pass over the records.

diffprivlib 0.6.6 has such models. It cannot be imported with scikit-learn 1.9, from which it
imports names that no longer exist.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

import dpcore as dp

from ..registry import Contender, Job

FEATURES = 5
STEPS = 8  # of Newton's method, by hand
SLOPES = np.array([1.0, -0.5, 0.3, 0.0, 0.8])
TOLERANCE = 0.002  # of predictions, whose range is about 1, for many records


class Inputs(NamedTuple):
    X: np.ndarray
    y: np.ndarray


def features(size: int) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng, rng.uniform(0, 10, (size, FEATURES))


def labelled(size: int) -> Inputs:
    rng, X = features(size)
    return Inputs(X, rng.random(size) < expit((X - 5) @ SLOPES))


def measured(size: int) -> Inputs:
    rng, X = features(size)
    return Inputs(X, np.clip(((X - 5) @ SLOPES + rng.normal(0, 1, size)) / 20 + 0.5, 0, 1))


def mesh() -> np.ndarray:
    return np.random.default_rng(2).uniform(0, 10, (500, FEATURES))


def with_constant(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.ones(len(X))])


# --- logistic regression


def ours_logistic(inputs: Inputs):
    model = dp.models.LogisticRegression(1.0, x_bounds=(0, 10))
    return lambda: model.fit(*inputs).predict_proba(mesh())[:, 1]


def scikit_learn_logistic(inputs: Inputs):
    from sklearn.linear_model import LogisticRegression

    return lambda: LogisticRegression(C=1e3).fit(*inputs).predict_proba(mesh())[:, 1]


def numpy_logistic(inputs: Inputs):
    def newton():
        columns, w = with_constant((inputs.X - 5) / 5), np.zeros(FEATURES + 1)
        for _ in range(STEPS):
            shares = expit(columns @ w)
            weighted = columns * (shares * (1 - shares))[:, None]
            w -= np.linalg.solve(columns.T @ weighted, columns.T @ (shares - inputs.y))
        return expit(with_constant((mesh() - 5) / 5) @ w)

    return newton


# --- linear regression


def ours_linear(inputs: Inputs):
    model = dp.models.LinearRegression(1.0, x_bounds=(0, 10), y_bounds=(0, 1))
    return lambda: model.fit(*inputs).predict(mesh())


def scikit_learn_linear(inputs: Inputs):
    from sklearn.linear_model import LinearRegression

    return lambda: LinearRegression().fit(*inputs).predict(mesh())


def numpy_linear(inputs: Inputs):
    def normal_equations():
        columns = with_constant(inputs.X)
        return with_constant(mesh()) @ np.linalg.solve(columns.T @ columns, columns.T @ inputs.y)

    return normal_equations


# --- both


def memory_pass(inputs: Inputs):
    return lambda: (inputs.X.max(), inputs.y.max())


def disagreements(exact):
    def found(inputs: Inputs, outcomes):
        expected, n = exact(inputs)(), len(inputs.y)
        off = {name: np.abs(given - expected).mean() for name, given in outcomes.items()}
        return {name: f"off by {o:g}" for name, o in off.items() if not o <= TOLERANCE + 500 / n}

    return found


def job(name, title, make, ours, scikit_learn, by_hand) -> Job:
    return Job(
        name=name,
        title=title,
        unit="records",
        sizes=(10**6,),
        quick=(10**6,),
        small=20_000,
        memory=10**6,
        make=make,
        outcome=lambda inputs, answer: answer,
        disagreements=disagreements(by_hand),
        agreement=(
            f"predictions differ by at most {TOLERANCE} plus 500 / n on average; only dpcore's"
            " are private"
        ),
        contenders=(
            Contender("dpcore", "ours", ours, noise="exact"),
            Contender("scikit-learn", "peer", scikit_learn, "sklearn.linear_model", noise="none"),
            Contender("NumPy by hand", "numpy", by_hand, noise="none"),
            Contender("memory pass", "floor", memory_pass),
        ),
    )


JOBS = (
    job(
        "logistic",
        "Logistic regression on five features; dpcore's: epsilon = 1",
        labelled,
        ours_logistic,
        scikit_learn_logistic,
        numpy_logistic,
    ),
    job(
        "least-squares",
        "Linear regression on five features; dpcore's: epsilon = 1",
        measured,
        ours_linear,
        scikit_learn_linear,
        numpy_linear,
    ),
)
