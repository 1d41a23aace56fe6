"""Private linear regression: accuracy, sums of products, parameters, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as Exact
from sklearn.linear_model import Ridge

import dpcore as dp
from dpcore.models import LinearRegression
from dpcore.models.moments import largest_change, sums_of_products, value_bits

METHODS = ["moments", "output"]
SLOPES = np.array([1.0, -0.5, 0.0])


def records(n, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, 3))
    return X, X @ SLOPES + 3.0 + rng.normal(0, 1, n)


def model(epsilon=1.0, seed=2, **parameters):
    given = {"x_bounds": (0, 10), "y_bounds": (-10, 20), "rng": np.random.default_rng(seed)}
    return LinearRegression(epsilon, **{**given, **parameters})


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_without_noise_it_is_the_penalised_fit(method, fit_intercept):
    X, y = records(400)
    ours = model(1e14, method=method, alpha=2.0, fit_intercept=fit_intercept).fit(X, y)
    size = 3 + fit_intercept
    columns = np.column_stack([(X - 5) / 5 if fit_intercept else X / 10, np.ones(400)])[:, :size]
    if method == "output":
        columns /= math.sqrt(size)
    responses = (y - 5) / 15 if fit_intercept else y / 20
    exact = Ridge(alpha=2.0, fit_intercept=False).fit(columns, responses).predict(columns)
    expected = 15 * exact + 5 if fit_intercept else 20 * exact
    tolerance = 0.02 if method == "moments" else 1e-4  # of rounded values
    assert ours.predict(X) == pytest.approx(expected, abs=tolerance)
    assert ours.coef_.shape == (3,)
    assert fit_intercept or ours.intercept_ == 0.0


def test_moments_are_accurate_where_records_are_many():
    X, y = records(5_000)
    ours, exact = model(1.0).fit(X, y), Exact().fit(X, y)
    assert ours.coef_ == pytest.approx(SLOPES, abs=0.1)
    assert ours.score(X, y) > exact.score(X, y) - 0.02


def test_noise_in_the_minimum_needs_more_of_them():
    X, y = records(200_000)
    ours = model(1.0, method="output", alpha=4000.0).fit(X, y)
    assert ours.score(X, y) > Exact().fit(X, y).score(X, y) - 0.05


def test_few_records_make_no_wild_models():
    """Where the noise is larger than the sums, the penalty grows."""
    errors = []
    for seed in range(30):
        X, y = records(30, seed)
        errors.append(np.abs(model(0.1, seed).fit(X, y).predict(X) - y).max())
    assert np.median(errors) < 40.0


class Counted:
    """A law whose draws are 1, 2, 3, ..., in units of a product."""

    variance = 0.0

    def fill(self, out, stream):
        out[:] = 2**24 * np.arange(1, out.size + 1)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_sums_have_noise_of_their_own(monkeypatch, fit_intercept):
    """But for the number of records, which is public, and the square that is not used."""
    solved = []
    monkeypatch.setattr("dpcore.privacy.allowance.Allowance.law", lambda *arguments: Counted())
    monkeypatch.setattr("numpy.linalg.eigvalsh", lambda matrix: np.array([1e9]))
    monkeypatch.setattr("numpy.linalg.solve", lambda *given: solved.append(given) or given[1])
    X, y = np.full((8, 3), 10.0), np.full(8, 20.0)  # all products are 1
    model(alpha=0.5, fit_intercept=fit_intercept).fit(X, y)
    products, with_response = solved[0]
    noise = products - 8 - 0.5 * np.eye(len(products))
    assert np.array_equal(noise, noise.T)
    upper = noise[np.triu_indices(len(noise))].tolist()
    if fit_intercept:
        assert upper.pop() == 0.0
    drawn = [*(with_response - 8).tolist(), *upper]
    assert 0.0 not in drawn
    assert len(set(drawn)) == len(drawn)


def test_sums_of_products_are_exact_integers():
    rng = np.random.default_rng(3)
    rows = rng.uniform(-1, 1, (3, 1000))
    rows[:, :2] = [[1.0, -1.0]] * 3
    units = [[round(x * 4096) for x in row] for row in rows.tolist()]
    expected = [[sum(a * b for a, b in zip(r, s, strict=True)) for s in units] for r in units]
    assert sums_of_products(rows, 12).tolist() == expected


def test_chunks_of_records_add_up(monkeypatch):
    rows = np.random.default_rng(4).uniform(-1, 1, (3, 1000))
    whole = sums_of_products(rows, 12)
    monkeypatch.setattr("dpcore.models.moments._CHUNK", 7)
    assert np.array_equal(sums_of_products(rows, 12), whole)


def test_the_most_records_of_a_chunk_are_exact_in_doubles():
    from dpcore.models import moments

    assert moments._CHUNK * 4**moments._MOST_BITS < 2**53


def test_values_of_many_features_are_rounded_more():
    bits = {d: value_bits(largest_change(d, True)) for d in (1, 10, 100, 1000, 8192)}
    assert bits == {1: 12, 10: 11, 100: 8, 1000: 5, 8192: 2}
    rng = np.random.default_rng(5)
    X, y = rng.uniform(0, 10, (50, 300)), rng.uniform(-10, 20, 50)
    assert np.isfinite(model(0.01).fit(X, y).coef_).all()


@pytest.mark.parametrize("method", METHODS)
def test_privacy_and_generators(method):
    X, y = records(60)
    assert model(0.7, rng=None, method=method).fit(X, y).privacy_ == dp.Privacy(0.7)
    first, again, other = (model(seed=s, method=method).fit(X, y) for s in (1, 1, 2))
    assert first.privacy_.simulated
    assert np.array_equal(first.coef_, again.coef_)
    assert not np.array_equal(first.coef_, other.coef_)


@pytest.mark.parametrize("method", METHODS)
def test_odd_data(method):
    X, y = records(100)
    assert np.isfinite(model(method=method).fit(X[:1], y[:1]).coef_).all()
    assert np.isfinite(model(method=method).fit(np.full((100, 3), 4.0), y).coef_).all()
    assert np.isfinite(model(method=method).fit(X, np.full(100, 4.0)).coef_).all()
    clipped, bounded = np.where(X > 5, 10.0, 0.0), np.where(y > 5, 20.0, -10.0)
    huge, far = np.where(X > 5, np.inf, -1e308), np.where(y > 5, 1e300, -np.inf)
    assert np.array_equal(
        model(method=method).fit(clipped, bounded).coef_, model(method=method).fit(huge, far).coef_
    )


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": 0}, dp.ParameterError, "epsilon must be positive"),
        ({"epsilon": 1e-9}, dp.ParameterError, "epsilon is too small"),
        ({"epsilon": 1e-12, "method": "output"}, dp.ParameterError, "epsilon is too small"),
        ({"y_bounds": None}, dp.ParameterError, "y_bounds must be public"),
        ({"y_bounds": (1, 0)}, dp.ParameterError, "y_bounds must have lower below upper"),
        ({"y_bounds": ([0, 0], [1, 1])}, dp.ParameterError, "y_bounds"),
        ({"method": "objective"}, dp.ParameterError, "method must be one of 'moments', 'output'"),
        ({"alpha": 0}, dp.ParameterError, "alpha must be positive"),
        ({"rng": 7}, dp.DtypeError, "rng must be a generator"),
    ],
)
def test_parameters_that_are_refused(parameters, error, message):
    X, y = records(20)
    with pytest.raises(error, match=message):
        model(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([0.0, math.nan], dp.MissingValueError, "y has missing values"),
        (np.ma.array([0.0, 1.0], mask=[0, 1]), dp.MissingValueError, "y has missing values"),
        (["a", "b"], dp.DtypeError, "y must hold real numbers"),
        (np.array(["SECRET", 1.0], object), dp.DtypeError, "y must hold real numbers; got text"),
        (np.array([7j, 1.0], object), dp.DtypeError, "y must hold real numbers; got objects of"),
        ([1.0, 2.0, 3.0], ValueError, "inconsistent numbers of samples"),
        (None, ValueError, "y should be a 1d array"),
    ],
)
def test_responses_that_are_refused(y, error, message):
    rng = np.random.default_rng(3)
    before = rng.bit_generator.state
    with pytest.raises(error, match=message):
        model(rng=rng).fit(np.ones((2, 3)), y)
    assert rng.bit_generator.state == before
