"""Private logistic regression: accuracy, labels, parameters, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as Exact

import dpcore as dp
from dpcore.models import LogisticRegression
from dpcore.models.perturbation import objective_noise
from dpcore.privacy.allowance import Allowance

METHODS = ["objective", "output"]
SLOPES = np.array([1.0, -0.5, 0.0])


def records(n, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, 3))
    return X, (rng.random(n) < expit((X - 5) @ SLOPES)).astype(int)


def model(epsilon=1.0, seed=2, **parameters):
    parameters = {"x_bounds": (0, 10), "rng": np.random.default_rng(seed), **parameters}
    return LogisticRegression(epsilon, **parameters)


# --- what is fitted


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
    assert fitted.predict_proba(X)[:, 1] == pytest.approx(expit(odds))
    assert fitted.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(200))
    assert np.exp(fitted.predict_log_proba(X)) == pytest.approx(fitted.predict_proba(X))
    assert np.array_equal(fitted.predict(X), (odds > 0).astype(int))


# --- privacy


def test_privacy_says_what_was_spent():
    X, y = records(50)
    release = model(0.7, rng=None).fit(X, y).privacy_
    assert release == dp.Privacy(0.7)
    assert model(Fraction(1, 3)).fit(X, y).privacy_.epsilon == pytest.approx(1 / 3)
    assert model().fit(X, y).privacy_.simulated


@pytest.mark.parametrize("method", METHODS)
def test_noise_is_drawn_anew_and_follows_the_generator(method):
    X, y = records(50)
    first, again, other = (model(seed=s, method=method).fit(X, y).coef_ for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    fitted = model(rng=None, method=method)
    assert not np.array_equal(fitted.fit(X, y).coef_, fitted.fit(X, y).coef_)


# --- labels


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        ((0, 1), lambda y: y),
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


# --- odd data


@pytest.mark.parametrize("method", METHODS)
def test_odd_data(method):
    X, y = records(100)
    assert np.isfinite(model(method=method).fit(X[:1], y[:1]).coef_).all()
    assert np.isfinite(model(method=method).fit(np.full((100, 3), 4.0), y).coef_).all()
    clipped = np.where(X > 5, 10.0, 0.0)
    huge = np.where(X > 5, np.inf, -1e308)
    assert np.array_equal(
        model(method=method).fit(clipped, y).coef_, model(method=method).fit(huge, y).coef_
    )


def test_objects_may_be_numbers_of_any_size():
    X, y = records(60)
    X = np.where(X > 5, 10, 0)
    huge = np.where(X > 5, 10**400, -Fraction(10**400, 3))
    assert np.array_equal(model().fit(X, y).coef_, model().fit(huge, y).coef_)


def test_names_of_columns_are_kept():
    X, y = records(60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = model().fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert fitted.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["b", "a", "c"]])


# --- what is refused, before anything is drawn


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": 0}, dp.ParameterError, "epsilon must be positive"),
        ({"epsilon": -1.0}, dp.ParameterError, "epsilon must be positive"),
        ({"epsilon": "1"}, dp.DtypeError, "epsilon"),
        ({"epsilon": 1e-12}, dp.ParameterError, "epsilon is too small"),
        ({"epsilon": None}, dp.ParameterError, "epsilon"),
        ({"x_bounds": None}, dp.ParameterError, "x_bounds must be public"),
        ({"x_bounds": (10, 0)}, dp.ParameterError, "x_bounds must have lower below upper"),
        ({"x_bounds": ([0, 0], [1, 1])}, dp.ParameterError, "x_bounds"),
        ({"classes": (1, 1)}, dp.ParameterError, "classes must be different"),
        ({"classes": (0, 1, 2)}, dp.ParameterError, "classes must be two"),
        ({"classes": (0, "1")}, dp.DtypeError, "classes"),
        ({"classes": (0, math.nan)}, dp.ParameterError, "classes must be different"),
        ({"classes": None}, dp.DtypeError, "classes"),
        ({"classes": ("no", "yes")}, dp.DtypeError, "y must hold labels of one kind"),
        ({"method": "input"}, dp.ParameterError, "method must be one of 'objective', 'output'"),
        ({"C": 0.0}, dp.ParameterError, "C must be positive"),
        ({"C": math.inf}, dp.ParameterError, "C must be finite"),
        ({"fit_intercept": 1}, dp.DtypeError, "fit_intercept must be a bool"),
        ({"rng": 7}, dp.DtypeError, "rng must be a generator"),
    ],
)
def test_parameters_that_are_refused(parameters, error, message):
    X, y = records(20)
    with pytest.raises(error, match=message):
        model(**parameters).fit(X, y)


def broken(X, y, what):
    if what == "NaN":
        X[3, 1] = math.nan
    elif what == "NaN label":
        y = y.astype(float)
        y[0] = math.nan
    elif what == "masked":
        X = np.ma.array(X, mask=X > 9)
    elif what == "one axis":
        X = X[:, 0]
    elif what == "lengths":
        y = y[:-1]
    elif what == "nothing":
        X, y = X[:0], y[:0]
    elif what == "None":
        X = X.astype(object)
        X[0, 0] = None
    elif what == "nullable":
        X = pd.DataFrame(X)
        X[0] = pd.array([None, *range(39)], "Int64")
    elif what == "text":
        X = X.astype(object)
        X[2, 2] = "SECRET"
    elif what == "two columns":
        y = np.column_stack([y, y])
    return X, y


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("NaN", dp.MissingValueError, "X has missing values"),
        ("NaN label", dp.MissingValueError, "y has missing values"),
        ("masked", dp.MissingValueError, "X has missing values"),
        ("None", dp.MissingValueError, "X has missing values"),
        ("nullable", dp.MissingValueError, "X has missing values"),
        ("one axis", ValueError, "Expected 2D array"),
        ("lengths", ValueError, "inconsistent numbers of samples"),
        ("nothing", ValueError, "0 sample"),
        ("text", dp.DtypeError, "X must hold real numbers; got text"),
        ("two columns", ValueError, "y should be a 1d array"),
    ],
)
def test_records_that_are_refused(what, error, message):
    rng = np.random.default_rng(3)
    before = rng.bit_generator.state
    with pytest.raises(error, match=message) as caught:
        model(rng=rng).fit(*broken(*records(40), what))
    assert "SECRET" not in str(caught.value)
    assert rng.bit_generator.state == before


def test_wide_records_are_refused():
    with pytest.raises(dp.ParameterError, match="at most 8192 features"):
        model().fit(np.zeros((2, 8193)), [0, 1])


@pytest.mark.parametrize("classes", [("a", "a\0"), ("a\0", "b"), (b"a", b"b\0")])
def test_classes_that_numpy_does_not_keep_are_refused(classes):
    y = np.array([classes[0], classes[1]] * 5, object)
    model = dp.models.LogisticRegression(1.0, x_bounds=(0, 1), classes=classes)
    with dp.Budget(epsilon=1.0) as budget, pytest.raises(dp.ParameterError, match="null character"):
        model.fit(np.zeros((10, 1)), y)
    assert budget.log == ()
