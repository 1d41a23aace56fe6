"""How far a projection is from the population: our bound, the published one, and its gap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial import legendre

import dpcore as dp
from dpcore.mechanisms import PolynomialProjection
from dpcore.papers.projection_bound import published_error_bound
from dpcore.summaries.polynomials import scheme

GRID = dp.Grid.uniform(-1, 1, 1000)
FARTHEST = math.sqrt(2)  # two distribution functions on [-1, 1] are not farther apart in L2


def distance(values, mechanism, population, rng):
    """The distance in L2 of a released polynomial from a distribution function on [-1, 1]."""
    found = dp.project(values, -1, 1, mechanism, rng=rng).curve(GRID)
    x = GRID.thresholds
    return math.sqrt(2 * np.mean((found.counts / found.n - population(x)) ** 2))


def uniform(x):
    return (x + 1) / 2


def beta_2_2(x):
    return 3 * uniform(x) ** 2 - 2 * uniform(x) ** 3


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("epsilon", "degree", "basis", "budgets"),
    [
        (1.0, 3, "legendre", "auto"),
        (0.1, 32, "legendre", "auto"),
        (1.0, 12, "legendre", "equal"),
        (0.3, 6, "moments", "equal"),
    ],
)
def test_the_bound_covers_and_is_near(epsilon, degree, basis, budgets):
    mechanism = PolynomialProjection(epsilon, degree, basis, budgets, delta=1e-6)
    rng, n = np.random.default_rng(1), 2000
    far = [distance(rng.beta(2, 2, n) * 2 - 1, mechanism, beta_2_2, rng) for _ in range(100)]
    bounds = {level: mechanism.error_bound(n, level) for level in (0.5, 0.8, 0.99)}
    for level, bound in bounds.items():
        assert np.mean(np.array(far) <= bound) >= level - 3 * math.sqrt(level * (1 - level) / 100)
    assert bounds[0.99] < 3 * np.quantile(far, 0.99)


def test_what_polynomials_miss_is_added():
    """Half of the records are 0: half of a step is what no polynomial follows."""
    mechanism = PolynomialProjection(1.0, 8, delta=1e-6)
    x, weights = legendre.leggauss(400)

    def population(t):
        return uniform(t) / 2 + (t >= 0) / 2

    rng = np.random.default_rng(2)
    quiet = PolynomialProjection(1e9, 8, delta=0.5)
    whole = np.concatenate([np.zeros(20_001), np.linspace(-1, 1, 20_001)])
    grid = dp.Grid(np.append(x, 1.0))
    nearest = dp.project(whole, -1, 1, quiet, rng=rng).curve(grid).counts[:-1] / whole.size
    missed = math.sqrt(weights @ (nearest - population(x)) ** 2)
    values = np.where(rng.random((40, 5000)) < 0.5, 0.0, rng.uniform(-1, 1, (40, 5000)))
    far = [distance(row, mechanism, population, rng) for row in values]
    assert mechanism.error_bound(5000) < 0.9 * min(far)
    assert max(far) < mechanism.error_bound(5000, approximation=1.01 * missed) < 1.5 * min(far)


def test_the_noise_alone_is_that_of_the_closed_form():
    """Of so many records that sampling does not matter, and hardly one standard deviation."""
    mechanism = PolynomialProjection(rho=1e-6, degree=8)
    n = 2**33
    square = 2 * np.mean(mechanism.polynomial_deviation(4000) ** 2) / n**2
    noise = mechanism.error_bound(n, 1e-9) - math.sqrt(math.log(2 / 0.5) / n)
    assert math.sqrt(square) < noise < 3 * math.sqrt(square)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("degree", "epsilon"), [(1, 3.0), (6, 1.0), (12, 0.1)])
def test_the_published_bound_is_where_the_theorem_has_the_level(level, degree, epsilon):
    n, alpha = 5000, 0.01
    mechanism = PolynomialProjection(epsilon, degree, "moments", delta=1e-6)
    apart = published_error_bound(mechanism, n, level, approximation=alpha) - alpha
    variance = mechanism.noise().variance / n**2
    fails = 2 * math.exp(-n * apart**2 / 16) + 2 * (degree + 1) * math.exp(
        -(apart**2) / (4 * (degree + 1) ** 4 * variance)
    )
    assert fails == pytest.approx(1 - level, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_ours_is_smaller_and_the_published_one_says_nothing_at_a_tenth(epsilon):
    n = 10_000
    moments = PolynomialProjection(epsilon, basis="moments", delta=1e-6)
    published = published_error_bound(moments, n)
    assert moments.error_bound(n) < published / 3
    assert PolynomialProjection(epsilon, delta=1e-6).error_bound(n) < published / 15
    assert (published > FARTHEST) == (epsilon == 0.1)


@pytest.mark.parametrize("degree", range(1, 13))
def test_inequality_2_of_the_paper_holds_up_to_degree_3(degree):
    """The largest curve by noise of at most 1 in each moment, at x = 1."""
    largest = np.abs(scheme(degree, "moments", "equal", "exact").plain.matrix.sum(axis=0)).sum()
    claimed = (degree + 1) ** 2 / 2
    assert (largest <= claimed) == (degree <= 3)
    if degree == 4:
        assert largest == pytest.approx(13.3125)


def test_theorem_1_of_the_paper_is_wrong_at_degree_10():
    """Along the longest axis the noise alone is farther off more often than the theorem says."""
    degree, often = 10, 3.0
    axis = math.sqrt(scheme(degree, "moments", "equal", "exact").spectrum()[-1])
    eta = often * axis  # for sigma = 1, with so many records that sampling does not matter
    theorem = 2 * (degree + 1) * math.exp(-(eta**2) / (4 * (degree + 1) ** 4))
    assert math.erfc(often / math.sqrt(2)) > 1.4 * theorem


@pytest.mark.parametrize(
    ("change", "error", "argument"),
    [
        ({"records": 0}, dp.ParameterError, "records"),
        ({"records": 10.5}, dp.DtypeError, "records"),
        ({"level": 1.0}, dp.ParameterError, "level"),
        ({"approximation": -0.1}, dp.ParameterError, "approximation"),
        ({"approximation": math.inf}, dp.ParameterError, "approximation"),
    ],
)
def test_bad_arguments_are_named(change, error, argument):
    mechanism = PolynomialProjection(1.0, basis="moments", delta=1e-6)
    for bound in (
        mechanism.error_bound,
        lambda **given: published_error_bound(mechanism, **given),
    ):
        with pytest.raises(error, match=argument):
            bound(**{"records": 100, **change})


def test_the_published_bound_is_of_moments():
    with pytest.raises(dp.ParameterError, match="moments"):
        published_error_bound(PolynomialProjection(1.0, delta=1e-6), 100)
    with pytest.raises(dp.DtypeError, match="mechanism"):
        published_error_bound(dp.mechanisms.Dyadic(1.0), 100)
