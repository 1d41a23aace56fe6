"""Minima in floating point: as near as is said, also for inputs that make it hard."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from dpcore.errors import ConvergenceError
from dpcore.models import minimum
from dpcore.models.losses import Logistic, Squares
from dpcore.models.minimum import LEAST_PENALTY, Objective
from dpcore.models.perturbation import objective_noise
from dpcore.models.scaling import unit_records
from dpcore.models.spherical import longest, spherical
from dpcore.noise.sources import GeneratorSource
from dpcore.privacy.allowance import Allowance
from tests.reference import models as reference


def hard_objective(rng, records=12):
    """One of many kinds: columns of a kind, on the corners, or of very different size; any noise.

    Parameters are such as users may ask for, from sensible ones to senseless ones.
    """
    d, n = int(rng.integers(1, 6)), int(rng.integers(1, records))
    features = rng.uniform(-1, 1, (d, n))
    kind = rng.integers(0, 4)
    if kind == 1:
        features = np.sign(features)
    elif kind == 2:
        features *= 10.0 ** -rng.integers(0, 8, (d, 1))
    elif kind == 3:
        features = np.repeat(features[:1], d, axis=0)
    columns = unit_records(np.ascontiguousarray(features), True)
    labels = np.sign(rng.normal(size=n)) if rng.random() < 0.5 else np.sign(features[0])
    epsilon, inverse = 10.0 ** rng.uniform(-6, 3), 10.0 ** rng.uniform(-6, 10)
    penalty = max(1.0 / (n * inverse), LEAST_PENALTY)
    if rng.random() < 0.3:
        return Objective(columns, Squares(np.clip(1.5 * labels, -1, 1)), penalty)
    if rng.random() < 0.3:
        return Objective(columns * labels, Logistic(), penalty)
    budget = Allowance.checked(epsilon, None, "replace-one")
    penalty, scale = objective_noise(n, penalty, budget)
    tilt = scale / n * spherical(d + 1, GeneratorSource(rng))
    most = scale / n * longest(d + 1)
    if rng.random() < 0.1:
        tilt *= most / np.linalg.norm(tilt)
    return Objective(columns * labels, Logistic(), penalty, tilt, most)


def test_minima_are_as_near_as_is_said():
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(25):
        objective = hard_objective(rng, records=8)
        minimiser = objective.minimum()
        exact = reference.exact_minimum(objective, minimiser)
        with mp.workdps(40):
            apart = mp.sqrt(
                sum((mp.mpf(f) - e) ** 2 for f, e in zip(minimiser.tolist(), exact, strict=True))
            )
        shares.append(float(apart) / objective.distance)
    assert max(shares) < 1.0
    assert max(shares) > 1e-6  # it is floating point


@pytest.mark.full
def test_there_is_always_a_minimum():
    rng = np.random.default_rng(2)
    for _ in range(1500):
        objective = hard_objective(rng, records=60)
        minimiser = objective.minimum()
        assert np.linalg.norm(minimiser) <= objective.longest * (1 + 1e-9) + objective.distance


@pytest.mark.parametrize("tilted", [False, True])
def test_the_gradient_is_as_near_as_is_said(tilted):
    """Also where a million terms are added up: sums in pairs."""
    rng = np.random.default_rng(3)
    columns = unit_records(rng.uniform(-1, 1, (3, 200_000)), True)
    tilt = rng.normal(size=4) if tilted else None
    objective = Objective(columns, Logistic(), 1e-5, tilt, 5.0 if tilted else 0.0)
    w = rng.normal(size=4) * objective.longest / 4
    gradient = objective.gradient(w, objective.margins(w))
    exact = columns.astype(np.longdouble)
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("no numbers longer than doubles here")
    margins = w.astype(np.longdouble) @ exact
    sums = exact @ ((np.tanh(margins / 2) - 1) / 2) / margins.size + np.longdouble(1e-5) * w
    off = np.linalg.norm(gradient - sums - (0 if tilt is None else tilt))
    assert 0.0 < off < objective.rounding


@pytest.mark.parametrize("penalty", [1e-6, 0.01, 2.0])
def test_ridge_regression_is_solved(penalty):
    rng = np.random.default_rng(4)
    columns, responses = unit_records(rng.uniform(-1, 1, (4, 300)), True), rng.uniform(-1, 1, 300)
    minimiser = Objective(columns, Squares(responses), penalty).minimum()
    expected = reference.ridge_minimum(columns, responses, penalty)
    assert minimiser == pytest.approx(expected, rel=1e-8, abs=1e-10)


def test_the_order_of_records_hardly_matters():
    rng = np.random.default_rng(5)
    columns = unit_records(rng.uniform(-1, 1, (2, 5000)), True) * rng.choice([-1, 1], 5000)
    objective = Objective(columns, Logistic(), 0.01)
    turned = Objective(np.ascontiguousarray(columns[:, ::-1]), Logistic(), 0.01)
    assert np.linalg.norm(objective.minimum() - turned.minimum()) <= 2 * objective.distance


def test_a_solver_that_does_not_arrive_raises(monkeypatch):
    monkeypatch.setattr(minimum, "_FEW_STEPS", 0)
    monkeypatch.setattr(minimum, "_MOST_STEPS", 2)
    columns = unit_records(np.linspace(-1, 1, 9)[None], True)
    with pytest.raises(ConvergenceError, match="2 steps"):
        Objective(columns, Logistic(), 1e-4).minimum()
