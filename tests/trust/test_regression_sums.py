"""Linear regression from released sums of products, as from one curator's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import ks_2samp

import dpcore as dp
from dpcore.models import LinearRegression
from dpcore.models.moments import checked_law
from dpcore.privacy.allowance import Allowance
from dpcore.trust import Central, DistributedNoise, SecureAggregation, vector_sum
from dpcore.trust.functions import Identity, RegressionSums
from tests.trust.rounds import RNG

LOWER, UPPER = [0.0, -2.0, 1.0], [4.0, 3.0, 9.0]


def records(n, d, seed=1):
    rng = RNG(seed)
    features = rng.uniform(LOWER[:d], UPPER[:d], (n, d))
    return np.column_stack([features, features.sum(axis=1) + rng.normal(0, 1, n)])


def sums(d, fit_intercept=True):
    return RegressionSums((LOWER[:d], UPPER[:d]), (-3, 20), fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [1, 3])
def test_without_noise_the_model_is_least_squares(d, fit_intercept):
    given, of = records(400, d), sums(d, fit_intercept)
    released = vector_sum(given, of, SecureAggregation(), rng=RNG(1))
    model = dp.trust.linear_regression(released, alpha=3.0)
    lower, upper = np.array(LOWER[:d]), np.array(UPPER[:d])
    middle, centre = ((lower + upper) / 2, 8.5) if fit_intercept else (np.zeros(d), 0.0)
    reach, height = np.maximum(upper - middle, middle - lower), 20.0 - centre
    inner = (given[:, :-1] - middle) / reach
    if fit_intercept:
        inner = np.column_stack([inner, np.ones(400)])
    y = (np.clip(given[:, -1], -3, 20) - centre) / height
    w = np.linalg.solve(inner.T @ inner + 3.0 * np.eye(inner.shape[1]), inner.T @ y)
    assert np.allclose(model.coef_, w[:d] / reach * height, rtol=1e-5)
    constant = w[d:].sum() - np.sum(w[:d] / reach * middle)
    assert model.intercept_ == pytest.approx(constant * height + centre, rel=1e-5)
    assert np.allclose(
        model.predict(given[:2, :-1]), given[:2, :-1] @ model.coef_ + model.intercept_
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_vectors_are_as_far_apart_as_stated_and_no_farther(d, fit_intercept):
    """Corners and middles of the cube, all pairs, and many random ones."""
    of = sums(d, fit_intercept)
    cube = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=d + 1)))
    cube = np.concatenate([cube, RNG(1).uniform(-1, 1, (150, d + 1))])
    bounds = [of.of("x_bounds"), of.of("y_bounds")]
    middle, reach = (np.concatenate([getattr(b, n) for b in bounds]) for n in ("middle", "reach"))
    lower, upper = (np.concatenate([getattr(b, n) for b in bounds]) for n in ("lower", "upper"))
    given = cube * reach + middle
    values = of.values(given[np.all((given >= lower) & (given <= upper), axis=1)])
    if not fit_intercept:  # as of bounds around 0, for which -1 to 1 are reached
        wide = RegressionSums(([-1.0] * d, [1.0] * d), (-1, 1), fit_intercept=False)
        values, of = wide.values(cube), wide
    apart = values[:, np.newaxis] - values
    euclidean, absolute = np.linalg.norm(apart, axis=2).max(), np.abs(apart).sum(axis=2).max()
    assert of.bound.change * (1 - 1e-12) <= euclidean <= of.bound.change * (1 + 1e-12)
    most = of.bound.absolute_change
    assert (0.95 if not fit_intercept else 1 - 1e-12) * most <= absolute <= most * (1 + 1e-12)
    assert of.size == values.shape[1] == len(of.bound.upper)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [1, 2, 9])
def test_the_noise_is_that_of_a_curator(d, fit_intercept):
    budget = Allowance.checked(0.7, None, "replace-one")
    law, bits = checked_law(d, fit_intercept, budget)
    of = RegressionSums(([0.0] * d, [1.0] * d), (0, 1), fit_intercept)
    for trust in (Central(0.7), DistributedNoise(0.7, clients=30, records=None)):
        noise = trust.sum_noise(of)
        deviation = noise.deviation(100, is_whole=True)
        assert np.allclose(deviation, np.sqrt(law.variance) / 4**bits, rtol=1e-5)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
def test_models_of_sites_are_distributed_as_those_of_a_curator():
    given, bounds = records(300, 1), {"x_bounds": (0, 4), "y_bounds": (-3, 20)}
    trust = DistributedNoise(1.0, clients=20, records=None)
    slopes = np.empty((2, 400))
    for seed in range(400):
        released = vector_sum(given, sums(1), trust, rng=RNG(seed))
        slopes[0, seed] = dp.trust.linear_regression(released).coef_[0]
        own = LinearRegression(1.0, **bounds, rng=RNG(seed + 1000))
        slopes[1, seed] = own.fit(given[:, :1], given[:, 1]).coef_[0]
    assert ks_2samp(*slopes).pvalue > 0.01


def test_a_model_says_what_it_has_cost():
    released = vector_sum(records(50, 2), sums(2), Central(rho=0.5), rng=RNG(1))
    model = dp.trust.linear_regression(dp.load(released.to_json()))
    assert model.privacy_ == released.privacy
    assert (model.privacy_.rho, model.epsilon, model.n_features_in_) == (0.5, None, 2)
    with pytest.raises(dp.DpcoreError, match="epsilon"):  # it has no budget to fit again
        model.fit(np.zeros((9, 2)), np.zeros(9))


def test_other_sums_and_parameters_are_refused():
    numbers = vector_sum(np.ones(10), Identity(0, 1), Central(1.0), rng=RNG(1))
    with pytest.raises(dp.ParameterError, match="RegressionSums"):
        dp.trust.linear_regression(numbers)
    released = vector_sum(records(50, 2), sums(2), Central(1.0), rng=RNG(1))
    for alpha in (0.0, -1.0, np.nan, "1"):
        with pytest.raises(dp.DpcoreError, match="alpha"):
            dp.trust.linear_regression(released, alpha=alpha)
    for bounds in ((0,), (1, 0), 3, ([0, 1], [2, 3, 4]), (0, np.inf), ("a", "b"), None):
        with pytest.raises(dp.DpcoreError, match="x_bounds"):
            RegressionSums(bounds, (0, 1))
        with pytest.raises(dp.DpcoreError, match="y_bounds"):
            RegressionSums((0, 1), bounds)
    with pytest.raises(dp.DtypeError, match="fit_intercept"):
        RegressionSums((0, 1), (0, 1), 1)
    with pytest.raises(dp.ParameterError, match="fewer features"):
        RegressionSums((np.zeros(6000), np.ones(6000)), (0, 1))
