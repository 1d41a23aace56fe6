"""One record tells nothing through what others become; odd parameters have errors of dpcore's."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.models import LinearRegression, LogisticRegression
from dpcore.models.fitting import checked_features, numbers, target
from dpcore.models.logistic_regression import _is_positive
from dpcore.models.scaling import Bounds

BIG = 2**53 + 1  # halfway between two doubles
OTHERS = [5, -1, 2**63, 2**70, -(10**400)]  # for which NumPy makes integers, doubles or objects


def test_a_record_does_not_change_how_others_are_rounded():
    """In a list of integers: all the others would move by a unit, for one that is replaced."""
    assert len({np.asarray([BIG, -1, other]).dtype for other in OTHERS}) == 3
    features = {checked_features(LinearRegression(1.0), [[BIG], [-1], [o]])[0, 0] for o in OTHERS}
    responses = {numbers("y", target([BIG, -1, other]))[0] for other in OTHERS}
    assert features == responses == {2.0**53}


def test_a_label_does_not_change_which_others_are_positive():
    """2^53 + 1 is 2^53 among doubles, so such labels cannot be classes."""
    X = np.zeros((3, 1))
    for classes in [(0, 2**53), (-(2.0**53), 0), (0, 2**70), (0, float("inf"))]:
        with pytest.raises(dp.ParameterError, match=r"classes must be below 2\^53"):
            LogisticRegression(1.0, x_bounds=(0, 1), classes=classes).fit(X, [0, 1, 2])
    most = 2**53 - 1
    found = {tuple(_is_positive([most, BIG, -1, other], most)[:3]) for other in OTHERS}
    assert found == {(True, False, False)}


@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("inverse", [5e-324, 1e-310])
def test_penalties_that_are_no_doubles_are_refused(method, inverse):
    model = LogisticRegression(1.0, x_bounds=(0, 1), method=method, C=inverse)
    with pytest.raises(dp.ParameterError, match="C must be larger"):
        model.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("alpha", [1e-300, 1e-20])
def test_sums_without_noise_are_not_singular(alpha):
    model = LinearRegression(
        1e16, x_bounds=(0, 10), y_bounds=(0, 1), alpha=alpha, fit_intercept=False
    )
    fitted = model.fit(np.full((20, 2), 10.0), np.ones(20))
    assert fitted.coef_ == pytest.approx([0.05, 0.05], rel=1e-3)


@pytest.mark.parametrize("epsilon", [3e-10, 5e-9])
@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (LogisticRegression, {"method": "objective"}),
        (LogisticRegression, {"method": "output"}),
        (LinearRegression, {"method": "output", "y_bounds": (0, 1)}),
    ],
)
def test_an_epsilon_that_is_too_small_is_refused_before_noise_is_drawn(
    estimator, parameters, epsilon
):
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    with pytest.raises(dp.ParameterError, match="epsilon is too small"):
        estimator(epsilon, x_bounds=(0, 1), rng=rng, **parameters).fit(np.eye(3), [0, 1, 1])
    assert rng.bit_generator.state == before


def test_what_is_added_to_the_diagonal_is_of_noisy_sums(monkeypatch):
    """The least eigenvalue of the exact ones would be no private number."""
    asked, solved = [], []
    least = np.linalg.eigvalsh
    monkeypatch.setattr("numpy.linalg.eigvalsh", lambda a: asked.append(a.copy()) or least(a))
    monkeypatch.setattr("numpy.linalg.solve", lambda a, b: solved.append((a, b)) or b)
    X, y = np.full((50, 2), 10.0), np.full(50, 1.0)
    rng = np.random.default_rng(1)
    LinearRegression(1.0, x_bounds=(0, 10), y_bounds=(0, 1), alpha=0.5, rng=rng).fit(X, y)
    ((noisy,), ((matrix, with_response),)) = asked, solved
    added = matrix - noisy
    assert added == pytest.approx(added[0, 0] * np.eye(3), abs=1e-9)
    entries = [*noisy[np.triu_indices(3)][:-1], *with_response]
    assert np.all(np.abs(np.array(entries) - 50.0) > 1e-6)  # all exact sums are 50


@pytest.mark.parametrize("centred", [True, False])
def test_values_below_bounds_of_one_sign_are_clipped(centred):
    bounds = Bounds.checked("x_bounds", (5, 10), 1, centred)
    lowest = bounds.scaled(np.array([[5.0]]))[0, 0]
    assert lowest == (-1.0 if centred else 0.5)
    assert bounds.scaled(np.array([[0.0]]))[0, 0] == lowest
