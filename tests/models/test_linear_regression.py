"""Private linear regression: accuracy, sums of products, and their noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as Exact
from sklearn.linear_model import Ridge

from dpcore.errors import DtypeError
from dpcore.models import LinearRegression, moments
from dpcore.models.fitting import checked_features, numbers, target
from dpcore.models.moments import largest_change, sums_of_products, value_bits
from tests.models import estimators
from tests.models.estimators import SLOPES


def records(n, seed=1):
    return estimators.records(LinearRegression, n, seed)


def model(epsilon=1.0, seed=2, **parameters):
    return estimators.model(LinearRegression, epsilon, seed, **parameters)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", ["moments", "output"])
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


def test_moments_are_accurate_and_noise_in_the_minimum_needs_more_records():
    X, y = records(5_000)
    ours, exact = model(1.0).fit(X, y), Exact().fit(X, y)
    assert ours.coef_ == pytest.approx(SLOPES, abs=0.1)
    assert ours.score(X, y) > exact.score(X, y) - 0.02
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


@pytest.mark.parametrize("alpha", [1e-300, 1e-20])
def test_sums_without_noise_are_not_singular(alpha):
    unit = {"y_bounds": (0, 1), "fit_intercept": False}
    fitted = model(1e16, alpha=alpha, **unit).fit(np.full((20, 2), 10.0), np.ones(20))
    assert fitted.coef_ == pytest.approx([0.05, 0.05], rel=1e-3)


class Counted:
    """A law whose draws are 1, 2, 3, ..., in units of a product."""

    variance = 0.0

    def fill(self, out, stream):
        out[:] = 2**24 * np.arange(1, out.size + 1)


@pytest.fixture
def solved(monkeypatch):
    """The matrices whose eigenvalues are asked for, and the systems that are solved."""
    asked, systems = [], []
    least = np.linalg.eigvalsh
    monkeypatch.setattr("numpy.linalg.eigvalsh", lambda a: asked.append(a.copy()) or least(a))
    monkeypatch.setattr("numpy.linalg.solve", lambda a, b: systems.append((a, b)) or b)
    return asked, systems


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_sums_have_noise_of_their_own(monkeypatch, solved, fit_intercept):
    """But for the number of records, which is public, and the square that is not used."""
    monkeypatch.setattr("dpcore.privacy.allowance.Allowance.law", lambda *arguments: Counted())
    X, y = np.full((8, 3), 10.0), np.full(8, 20.0)  # all products are 1
    model(fit_intercept=fit_intercept).fit(X, y)
    (products,), ((_, with_response),) = solved
    noise = products - 8
    assert np.array_equal(noise, noise.T)
    upper = noise[np.triu_indices(len(noise))].tolist()
    if fit_intercept:
        assert upper.pop() == 0.0
    drawn = [*(with_response - 8).tolist(), *upper]
    assert 0.0 not in drawn
    assert len(set(drawn)) == len(drawn)


def test_what_is_added_to_the_diagonal_is_of_noisy_sums(solved):
    """The least eigenvalue of the exact ones would be no private number."""
    X, y = np.full((50, 2), 10.0), np.full(50, 1.0)
    model(y_bounds=(0, 1), alpha=0.5).fit(X, y)
    (noisy,), ((matrix, with_response),) = solved
    added = matrix - noisy
    assert added == pytest.approx(added[0, 0] * np.eye(3), abs=1e-9)
    assert added[0, 0] >= 0.5
    entries = [*noisy[np.triu_indices(3)][:-1], *with_response]
    assert np.all(np.abs(np.array(entries) - 50.0) > 1e-6)  # all exact sums are 50


def test_sums_of_products_are_exact_integers(monkeypatch):
    """Those of a chunk in doubles, and chunks add up."""
    assert moments._CHUNK * 4**moments._MOST_BITS < 2**53
    rng = np.random.default_rng(3)
    rows = rng.uniform(-1, 1, (3, 1000))
    rows[:, :2] = [[1.0, -1.0]] * 3
    units = [[round(x * 4096) for x in row] for row in rows.tolist()]
    expected = [[sum(a * b for a, b in zip(r, s, strict=True)) for s in units] for r in units]
    assert sums_of_products(rows, 12).tolist() == expected
    monkeypatch.setattr(moments, "_CHUNK", 7)
    assert sums_of_products(rows, 12).tolist() == expected


def test_values_of_many_features_are_rounded_more():
    bits = {d: value_bits(largest_change(d, True)) for d in (1, 10, 100, 1000, 8192)}
    assert bits == {1: 12, 10: 11, 100: 8, 1000: 5, 8192: 2}
    rng = np.random.default_rng(5)
    X, y = rng.uniform(0, 10, (50, 100)), rng.uniform(-10, 20, 50)
    assert np.isfinite(model(0.01).fit(X, y).coef_).all()


def test_text_is_refused_whatever_it_is():
    for text in ("a", b"a", b"\xff", 2**70):
        with pytest.raises(DtypeError, match="must hold real numbers; got text"):
            checked_features(LinearRegression(1.0), [["a", text], [1, 2]])


def test_a_record_does_not_change_how_others_are_rounded():
    """In a list of integers: all the others would move by a unit, for one that is replaced."""
    big = 2**53 + 1  # halfway between two doubles
    others = [5, -1, 2**63, 2**70, -(10**400)]
    assert len({np.asarray([big, -1, other]).dtype for other in others}) == 3
    features = {checked_features(LinearRegression(1.0), [[big], [-1], [o]])[0, 0] for o in others}
    responses = {numbers("y", target([big, -1, other]))[0] for other in others}
    assert features == responses == {2.0**53}
