"""Private logistic regression: accuracy, probabilities and labels."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as Exact

from dpcore.errors import DtypeError, MissingValueError
from dpcore.models import LogisticRegression
from dpcore.models.logistic_regression import _is_positive
from dpcore.models.perturbation import objective_noise
from dpcore.privacy.allowance import Allowance
from tests.models import estimators
from tests.models.estimators import SLOPES

METHODS = ["objective", "output"]


def records(n):
    return estimators.records(LogisticRegression, n)


def model(epsilon=1.0, **parameters):
    return estimators.model(LogisticRegression, epsilon, **parameters)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_without_noise_it_is_the_penalised_fit(method, fit_intercept):
    """Of features within [-1, 1] / sqrt(D), the constant among them."""
    X, y = records(500)
    ours = model(1e14, method=method, C=3.0, fit_intercept=fit_intercept).fit(X, y)
    size = 3 + fit_intercept
    columns = (X - 5) / 5 if fit_intercept else X / 10
    columns = np.column_stack([columns, np.ones(500)])[:, :size] / math.sqrt(size)
    exact = Exact(C=3.0, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(columns, y)
    assert ours.decision_function(X) == pytest.approx(exact.decision_function(columns), abs=1e-5)
    assert fit_intercept or ours.intercept_[0] == 0.0


@pytest.mark.parametrize(("method", "inverse"), [("objective", 1.0), ("output", 0.02)])
def test_it_is_accurate_where_records_are_many(method, inverse):
    X, y = records(20_000)
    ours = model(1.0, method=method, C=inverse).fit(X, y)
    assert ours.score(X, y) > Exact().fit(X, y).score(X, y) - 0.01
    assert ours.coef_.shape == (1, 3)
    assert ours.intercept_.shape == (1,)
    if method == "objective":
        assert ours.coef_[0] == pytest.approx(SLOPES, abs=0.15)
        assert ours.intercept_[0] == pytest.approx(-2.5, abs=0.6)


def test_noise_is_less_than_in_the_paper():
    """One factor for the determinant instead of its square, and half of epsilon at least."""
    for epsilon, n, penalty in [(1.0, 1000, 1e-3), (0.1, 1000, 1e-3), (0.5, 10, 0.2)]:
        taken, scale = objective_noise(n, penalty, Allowance.checked(epsilon, None, "replace-one"))
        left = epsilon - 2 * math.log1p(0.25 / (n * penalty))
        paper = 2 / (left if left > 0 else epsilon / 2)
        assert scale <= 2 / (epsilon / 2) * 1.02
        assert scale < paper * 1.02
        more = 0.0 if left > 0 else 0.25 / (n * math.expm1(epsilon / 4)) - penalty
        assert taken - penalty <= more * 1.02 + 1e-12


def test_probabilities_go_with_the_decision():
    X, y = records(200)
    fitted = model().fit(X, y)
    odds = X @ fitted.coef_[0] + fitted.intercept_[0]
    assert fitted.decision_function(X) == pytest.approx(odds)
    assert fitted.predict_proba(X) == pytest.approx(expit(np.column_stack([-odds, odds])))
    assert np.exp(fitted.predict_log_proba(X)) == pytest.approx(fitted.predict_proba(X))
    assert np.array_equal(fitted.predict(X), (odds > 0).astype(int))


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        ((0, 1), lambda y: y.astype(bool)),
        ((0, 1), lambda y: y.astype(float)),
        ((-1, 1), lambda y: 2 * y - 1),
        (("no", "yes"), lambda y: np.where(y, "yes", "no")),
        (("no", "yes"), lambda y: np.where(y, "yes", "no").astype(object)),
        (("no", "yes"), lambda y: pd.Series(np.where(y, "yes", "no"))),
        ((1, 0), lambda y: 1 - y),
        ((0, 1), lambda y: np.where(y, 1, 7)),  # what is not the second one is negative
    ],
)
def test_labels_of_all_kinds(classes, labels):
    X, y = records(300)
    expected = model().fit(X, y)
    fitted = model(classes=classes).fit(X, labels(y))
    assert np.array_equal(fitted.coef_, expected.coef_)
    assert fitted.classes_.tolist() == list(classes)
    assert np.array_equal(fitted.predict(X) == classes[1], expected.predict(X) == 1)


@pytest.mark.parametrize("label", [0, 1, 5])
@pytest.mark.parametrize("method", METHODS)
def test_all_labels_equal(method, label):
    X, _ = records(2000)
    fitted = model(method=method, C=0.1).fit(X, np.full(2000, label))
    assert np.mean(fitted.predict(X) == int(label == 1)) > 0.99


@pytest.mark.parametrize("other", ["b", np.array("b"), np.array("b", object)], ids=repr)
def test_a_text_of_any_type_does_not_change_which_others_are_positive(other):
    assert _is_positive(["a", "a\0", other], "a").tolist() == [True, False, False]


@pytest.mark.parametrize("other", [5, 2**70, b"b", b"\xff"], ids=str)
def test_labels_of_two_kinds_are_refused_whatever_they_are(other):
    with pytest.raises(DtypeError, match="labels of one kind"):
        model(classes=("a", "b")).fit([[0.5]] * 3, ["a", "b", other])


def test_labels_that_classes_do_not_have_are_refused_with_what_to_write():
    with pytest.raises(DtypeError, match=r"as 1 in classes is: .* classes=\(negative, positive\)"):
        model().fit([[0.5]] * 3, ["a", "b", "a"])


def test_a_missing_label_among_text_is_no_negative():
    with pytest.raises(MissingValueError):
        model(classes=("a", "b")).fit([[0.5]] * 3, ["a", "b", float("nan")])


def test_a_label_does_not_change_which_others_are_positive():
    """NumPy makes integers, doubles or objects of them: all the others would be rounded."""
    most = 2**53 - 1
    for other in (5, -1, 2**63, 2**70, -(10**400)):
        labels = _is_positive([most, most + 2, -1, other], most)
        assert labels[:3].tolist() == [True, False, False]
