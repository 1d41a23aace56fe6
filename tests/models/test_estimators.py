"""Both estimators: their noise, odd records, and what is refused before anything is spent."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.models import LinearRegression, LogisticRegression
from tests.models.estimators import model, of_each_method, records
from tests.project.bad_values import BAD


@of_each_method
def test_noise_is_drawn_anew_or_follows_the_generator(kind, method):
    X, y = records(kind, 60)
    first, again, other = (model(kind, seed=s, method=method).fit(X, y) for s in (1, 1, 2))
    assert first.privacy_.simulated
    assert np.array_equal(first.coef_, again.coef_)
    assert not np.array_equal(first.coef_, other.coef_)
    fitted = model(kind, Fraction(7, 10), rng=None, method=method)
    coefficients = fitted.fit(X, y).coef_
    assert fitted.privacy_ == dp.Privacy(Fraction(7, 10))
    assert not np.array_equal(fitted.fit(X, y).coef_, coefficients)


@of_each_method
def test_records_of_one_value_or_beyond_the_bounds(kind, method):
    X, y = records(kind, 100)
    for features, responses in [(X[:1], y[:1]), (np.full_like(X, 4.0), y), (X, np.full(100, 4))]:
        assert np.isfinite(model(kind, method=method).fit(features, responses).coef_).all()
    clipped, huge = np.where(X > 5, 10.0, 0.0), np.where(X > 5, np.inf, -1e308)
    bounded, far = y, y
    if kind is LinearRegression:
        bounded, far = np.where(y > 5, 20.0, -10.0), np.where(y > 5, 1e300, -np.inf)
    fitted = [model(kind, method=method).fit(*given) for given in ((clipped, bounded), (huge, far))]
    assert np.array_equal(fitted[0].coef_, fitted[1].coef_)


def test_objects_may_be_numbers_of_any_size():
    X, y = records(LogisticRegression, 60)
    X = np.where(X > 5, 10, 0)
    huge = np.where(X > 5, 10**400, -Fraction(10**400, 3))
    fitted = [model(LogisticRegression).fit(features, y) for features in (X, huge)]
    assert np.array_equal(fitted[0].coef_, fitted[1].coef_)


@of_each_method
def test_no_feature_is_an_error_where_underflow_is_one(kind, method):
    X, y = records(kind, 60)
    X[::2] = 5e-324
    with np.errstate(all="raise"):
        fitted = model(kind, x_bounds=(-1e150, 1e150), fit_intercept=False, method=method).fit(X, y)
    assert np.isfinite(fitted.coef_).all()


def test_names_of_columns_are_kept():
    X, y = records(LogisticRegression, 60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = model(LogisticRegression).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert fitted.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["b", "a", "c"]])


# --- what is refused, before anything is drawn or spent


def check_refused(kind, parameters, X, y, error, match):
    rng = np.random.default_rng(3)
    before = rng.bit_generator.state
    with dp.Budget(epsilon=1000.0) as budget, pytest.raises(error, match=match) as caught:
        model(kind, **{"rng": rng, **parameters}).fit(X, y)
    assert budget.log == ()
    assert rng.bit_generator.state == before
    assert "SECRET" not in str(caught.value)


TOO_SMALL = [
    *((LogisticRegression, m, e) for m in ("objective", "output") for e in (1e-12, 3e-10, 5e-9)),
    *((LinearRegression, "output", e) for e in (1e-12, 3e-10, 5e-9)),
    (LinearRegression, "moments", 1e-9),
]


@pytest.mark.parametrize(("kind", "method", "epsilon"), TOO_SMALL)
def test_an_epsilon_that_is_too_small_is_refused(kind, method, epsilon):
    X, y = records(kind, 20)
    parameters = {"epsilon": epsilon, "method": method}
    check_refused(kind, parameters, X, y, dp.ParameterError, "epsilon")


@pytest.mark.parametrize(
    ("kind", "parameters", "error"),
    [
        (LogisticRegression, {"epsilon": 0}, dp.ParameterError),
        (LinearRegression, {"epsilon": -1.0}, dp.ParameterError),
        (LogisticRegression, {"epsilon": "1"}, dp.DtypeError),
        (LogisticRegression, {"epsilon": None}, dp.ParameterError),
        (LogisticRegression, {"x_bounds": None}, dp.ParameterError),
        (LogisticRegression, {"x_bounds": (10, 0)}, dp.ParameterError),
        (LogisticRegression, {"x_bounds": ([0, 0], [1, 1])}, dp.ParameterError),
        (LinearRegression, {"y_bounds": None}, dp.ParameterError),
        (LinearRegression, {"y_bounds": (1, 0)}, dp.ParameterError),
        (LinearRegression, {"y_bounds": ([0, 0], [1, 1])}, dp.ParameterError),
        (LogisticRegression, {"classes": (1, 1)}, dp.ParameterError),
        (LogisticRegression, {"classes": (0, 1, 2)}, dp.ParameterError),
        (LogisticRegression, {"classes": (0, math.nan)}, dp.ParameterError),
        (LogisticRegression, {"classes": (0, "1")}, dp.DtypeError),
        (LogisticRegression, {"classes": None}, dp.DtypeError),
        # sets have another order in each process
        (LogisticRegression, {"classes": {0, 1}}, dp.DtypeError),
        (LogisticRegression, {"classes": frozenset({0, 1})}, dp.DtypeError),
        # doubles do not tell such numbers apart: 2^53 + 1 is 2^53 among them
        (LogisticRegression, {"classes": (0, 2**53)}, dp.ParameterError),
        (LogisticRegression, {"classes": (-(2.0**53), 0)}, dp.ParameterError),
        (LogisticRegression, {"classes": (0, 2**70)}, dp.ParameterError),
        (LogisticRegression, {"classes": (0, 10**400)}, dp.ParameterError),
        (LogisticRegression, {"classes": (np.complex128(0), np.complex128(1))}, dp.DtypeError),
        (LogisticRegression, {"classes": (0, math.inf)}, dp.ParameterError),
        # NumPy does not keep null characters at the end
        (LogisticRegression, {"classes": ("a", "a\0")}, dp.ParameterError),
        (LogisticRegression, {"classes": ("a\0", "b")}, dp.ParameterError),
        (LogisticRegression, {"classes": (b"a", b"b\0")}, dp.ParameterError),
        (LogisticRegression, {"method": "moments"}, dp.ParameterError),
        (LinearRegression, {"method": "objective"}, dp.ParameterError),
        (LogisticRegression, {"C": 0.0}, dp.ParameterError),
        (LogisticRegression, {"C": math.inf}, dp.ParameterError),
        (LogisticRegression, {"C": 5e-324}, dp.ParameterError),  # the penalty is no double
        (LogisticRegression, {"C": 1e-310, "method": "output"}, dp.ParameterError),
        (LinearRegression, {"alpha": 0}, dp.ParameterError),
        (LogisticRegression, {"fit_intercept": 1}, dp.DtypeError),
        (LinearRegression, {"rng": 7}, dp.DtypeError),
    ],
)
def test_parameters_that_are_refused(kind, parameters, error):
    X, y = records(kind, 20)
    check_refused(kind, parameters, X, y, error, next(iter(parameters)))


ONES, NULLABLE = np.ones((2, 3)), pd.DataFrame({"a": pd.array([None, 1], "Int64"), "b": [1, 2]})


@pytest.mark.parametrize(
    ("kind", "X", "y", "error", "match"),
    [
        (LogisticRegression, [[1.0], [math.nan]], [0, 1], dp.MissingValueError, "X"),
        (LogisticRegression, [[1.0], [None]], [0, 1], dp.MissingValueError, "X"),
        (LogisticRegression, np.ma.array(ONES, mask=ONES), [0, 1], dp.MissingValueError, "X"),
        (LogisticRegression, NULLABLE, [0, 1], dp.MissingValueError, "X"),
        (LogisticRegression, [[1.0], ["SECRET"]], [0, 1], dp.DtypeError, "X"),
        (LogisticRegression, np.array([["SECRET", 1.0]], object), [0], dp.DtypeError, "X"),
        (LogisticRegression, np.zeros((2, 8193)), [0, 1], dp.ParameterError, "X.*8192"),
        (LogisticRegression, [1.0, 2.0], [0, 1], ValueError, "2D"),
        (LogisticRegression, ONES[:0], [], ValueError, "0 sample"),
        (LogisticRegression, ONES, [0.0, math.nan], dp.MissingValueError, "y"),
        (LogisticRegression, ONES, ["no", "yes"], dp.DtypeError, "y"),
        (LogisticRegression, ONES, [0, 1, 0], ValueError, "numbers of samples"),
        (LogisticRegression, ONES, [[0, 1], [1, 0]], ValueError, "1d"),
        (LinearRegression, ONES, [0.0, math.nan], dp.MissingValueError, "y"),
        (LinearRegression, ONES, np.ma.array([0.0, 1], mask=[0, 1]), dp.MissingValueError, "y"),
        (LinearRegression, ONES, ["a", "b"], dp.DtypeError, "y"),
        (LinearRegression, ONES, np.array(["SECRET", 1.0], object), dp.DtypeError, "y"),
        (LinearRegression, ONES, np.array([7j, 1.0], object), dp.DtypeError, "y"),
        (LinearRegression, ONES, [1.0, 2.0, 3.0], ValueError, "numbers of samples"),
        (LinearRegression, ONES, None, ValueError, "1d"),
    ],
)
def test_records_that_are_refused(kind, X, y, error, match):
    check_refused(kind, {}, X, y, error, match)


UNREADABLE = {"an Arrow union", "polars' Int128"}  # as an array, says their own library


@of_each_method
@pytest.mark.filterwarnings("ignore")
def test_whatever_arguments_are_errors_can_be_shown(kind, method):
    given = dict(zip("Xy", records(kind, 6), strict=True))
    for name, what in itertools.product([*model(kind).get_params(), *given], BAD):
        if name in given and what in UNREADABLE:
            continue
        bad = {name: (i for i in [1]) if what == "a generator" else BAD[what]}
        try:
            if name in given:
                model(kind, method=method).fit(**{**given, **bad})
            else:
                model(kind, **{"method": method, **bad}).fit(**given)
        except dp.DpcoreError as error:
            assert 0 < len(str(error)) < 1000  # noqa: PT017  # it need not be raised
        except Exception as error:
            if name in given and isinstance(error, ValueError | TypeError):
                continue  # of scikit-learn
            error.add_note(f"{name} was {what}")
            raise


SECRETS, X, Y = np.full(6, 7654321.5), np.eye(6), np.array([0, 1, 0, 1, 1, 0])
QUOTING = {
    "one dimension": (SECRETS, Y),
    "complex features": (SECRETS[:, None] + 0j, Y),
    "complex responses": (X, SECRETS + 0j),
    "text": (SECRETS[:, None].astype(str), Y),
    "bytes": (SECRETS[:, None].astype(bytes), Y),
    "text in a list": ([[str(value)] for value in SECRETS], Y),
    "text for responses": (X, SECRETS.astype(str)),
    "objects": ([[{value: value}] for value in SECRETS], Y),
    "text for predictions": ([["7654321.5 or so"]] * 6, None),
}


@pytest.mark.parametrize("what", QUOTING)
@pytest.mark.parametrize("kind", [LogisticRegression, LinearRegression])
def test_errors_quote_no_record_nor_the_length_of_a_text(kind, what):
    features, responses = QUOTING[what]
    fails = partial(model(kind).fit, features, responses)
    if responses is None:
        fails = partial(model(kind).fit(X, Y).predict, features)
    with pytest.raises((TypeError, ValueError)) as caught:
        fails()
    error = caught.value
    assert "7654321" not in f"{error} {vars(error)} {error.__context__}"
    assert not re.search(r"[US]\d", str(error))


# --- the room, without scikit-learn


def test_scikit_learn_is_imported_when_a_model_is_used():
    script = """
import sys
import dpcore as dp
print({*dp.models.__all__} <= {*dir(dp.models)}, "sklearn" in sys.modules)
sys.modules["sklearn"] = None
try:
    dp.models.LogisticRegression
except dp.MissingExtraError as error:
    print(error)
del sys.modules["sklearn"]
print(repr(dp.models.LinearRegression(0.5, x_bounds=(0, 1))), "sklearn" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "True False",
        'dpcore.models needs an extra: pip install "dpcore[models]"',
        "LinearRegression(epsilon=0.5, x_bounds=(0, 1)) True",
    ], done.stderr


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="Ridge"):
        _ = dp.models.Ridge
