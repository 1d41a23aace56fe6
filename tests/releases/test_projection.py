"""Projections that were released: moments, sums of projections, JSON, cost and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import PolynomialProjection
from dpcore.privacy.guarantees import within_group

QUIET = {"epsilon": 1e9, "delta": 0.5}  # hardly any noise
SCHEMES = [("legendre", "auto"), ("legendre", "equal"), ("moments", "equal")]


@pytest.mark.parametrize(("basis", "budgets"), SCHEMES)
def test_moments_are_those_of_the_values(basis, budgets):
    values = np.random.default_rng(6).uniform(3, 9, 4000)
    mechanism = PolynomialProjection(**QUIET, degree=6, basis=basis, budgets=budgets)
    found = dp.project(values, 2, 10, mechanism).moments(4)
    assert found == pytest.approx([np.mean(values**i) for i in range(1, 5)], rel=1e-4)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(("basis", "budgets"), SCHEMES)
def test_moment_errors_are_those_of_the_releases(basis, budgets):
    values = np.random.default_rng(7).uniform(0, 1, 100)
    mechanism = PolynomialProjection(1.0, 4, basis, budgets, delta=1e-6)
    rng = np.random.default_rng(8)
    releases = [dp.project(values, 0, 1, mechanism, rng=rng) for _ in range(1500)]
    found = np.array([release.moments(3) for release in releases])
    errors = releases[0].moment_errors(3)
    assert found.std(axis=0) == pytest.approx(errors, rel=0.1)
    bias = found.mean(axis=0) - [np.mean(values**i) for i in range(1, 4)]
    assert np.all(np.abs(bias) < 5 * errors / math.sqrt(1500) + 1e-6)


def test_projections_add_up():
    rng = np.random.default_rng(9)
    first, second = rng.normal(0, 1, 300), rng.normal(1, 1, 200)
    mechanism = PolynomialProjection(**QUIET)
    both = dp.project(first, -4, 4, mechanism) + dp.project(second, -4, 4, mechanism)
    whole = dp.project(np.concatenate([first, second]), -4, 4, mechanism)
    assert both.n == 500
    assert both.coefficients() == pytest.approx(whole.coefficients(), abs=1e-3)
    assert both.variance == pytest.approx(2 * whole.variance)
    assert both.privacy == within_group(whole.privacy)
    assert both.mechanism == whole.mechanism


def test_sums_with_other_budgets_are_as_private_as_the_dearest():
    values = np.linspace(-1, 1, 50)
    cheap = dp.project(values, -1, 1, epsilon=0.25, delta=1e-6)
    dear = dp.project(values, -1, 1, epsilon=8.0, delta=1e-9)
    both = cheap + dear
    assert (both.privacy.epsilon, both.privacy.delta) == (8.0, 1e-6)
    assert both.bits == max(cheap.bits, dear.bits) > min(cheap.bits, dear.bits)
    assert both.variance == cheap.variance + dear.variance
    exact = [
        t / 2**cheap.bits + u / 2**dear.bits for t, u in zip(cheap.totals, dear.totals, strict=True)
    ]
    assert [t / 2**both.bits for t in both.totals] == pytest.approx(exact, rel=1e-15)


def test_other_projections_cannot_be_added():
    values = np.linspace(-1, 1, 50)
    one = dp.project(values, -1, 1, epsilon=1.0, delta=1e-6)
    with pytest.raises(dp.ParameterError, match=r"upper must be 1\.0 in both; got 2\.0"):
        one + dp.project(values, -1, 2, epsilon=1.0, delta=1e-6)
    with pytest.raises(dp.ParameterError, match="degree must be 32 in both; got 6"):
        one + dp.project(values, -1, 1, PolynomialProjection(1.0, basis="moments", delta=1e-6))
    with pytest.raises(TypeError):
        one + 1


def test_json_gives_the_same_projection():
    one = dp.project([0.25, 0.5], 0, 1, epsilon=1.0, delta=1e-6)
    again = dp.Projection.from_json(one.to_json())
    assert again == one
    with pytest.raises(dp.FormatError, match="totals"):
        dp.Projection.from_json(one.to_json().replace('"totals": [', '"totals": [0.5, '))
    with pytest.raises(dp.FormatError, match=r'has to be "dpcore\.projection"'):
        dp.Projection.from_json('{"format": "dpcore.cdf"}')
    with pytest.raises(dp.FormatError, match=r'has to be "dpcore\.cdf"'):
        dp.CDF.from_json(one.to_json())
    with pytest.raises(dp.FormatError, match="basis"):
        dp.Projection.from_json(one.to_json().replace('"legendre"', '"fourier"'))


def test_releases_say_what_they_cost():
    one = dp.project([0.25, 0.5], 0, 1, epsilon=1.0, delta=1e-6)
    assert one.privacy == dp.Privacy(1.0, 1e-6)
    simulated = dp.project([0.25], 0, 1, rho=0.5, rng=np.random.default_rng(1))
    assert simulated.privacy == dp.Privacy(rho=0.5, simulated=True)
    curve = dp.cdf([0.25, 0.5], dp.Grid.uniform(0, 1, 8), PolynomialProjection(rho=0.5))
    assert curve.privacy == dp.Privacy(rho=0.5)
    assert curve.mechanism["degree"] == 32


SUMS = dp.polynomial_sums([0.5], 0, 1, 32)
SPENT = PolynomialProjection(1.0, delta=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: dp.project([0.5, math.nan], 0, 1, SPENT), dp.MissingValueError, "values"),
        (lambda: dp.project([0.5], 1, 1, SPENT), dp.ParameterError, "upper"),
        (lambda: dp.project([], 0, 1, SPENT), dp.ParameterError, "values"),
        (lambda: dp.project([0.5], 0, 1, SPENT, epsilon=1.0), dp.ParameterError, "epsilon"),
        (lambda: dp.project([0.5], 0, 1, dp.mechanisms.Dyadic(1.0)), dp.DtypeError, "mechanism"),
        (lambda: dp.project([math.nan], 0, 1, rho=1e-30), dp.ParameterError, "rho"),
        (
            lambda: dp.project([math.nan], 0, 1, epsilon=1e-12, delta=1e-9),
            dp.ParameterError,
            "epsilon",
        ),
        (
            lambda: dp.project_sums(dp.polynomial_sums([], 0, 1, 32), SPENT),
            dp.ParameterError,
            "sums",
        ),
        (lambda: dp.project_sums(SUMS.sums, SPENT), dp.DtypeError, "sums"),
        (
            lambda: dp.project_sums(SUMS, PolynomialProjection(1.0, 6, delta=1e-6)),
            dp.ParameterError,
            "sums .*degree 6",
        ),
        (lambda: dp.project_sums(SUMS, SPENT).moments(34), dp.ParameterError, "order .* 33"),
        (lambda: dp.project_sums(SUMS, SPENT).curve([0.0, 1.0]), dp.DtypeError, "grid"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_records_without_a_value_are_left_out():
    assert dp.project([0.5, math.nan], 0, 1, SPENT, nan_policy="omit").n == 1


@pytest.mark.parametrize(("lower", "upper"), [(1.0, np.nextafter(1.0, 2.0)), (0.0, 5e-324)])
def test_bounds_that_are_next_to_each_other(lower, upper):
    mechanism = PolynomialProjection(rho=1e6)
    curve = dp.project([lower, upper], lower, upper, mechanism).curve(dp.Grid([lower, upper]))
    assert curve.counts == pytest.approx([0, 2], abs=1e-2)


def test_moments_beyond_doubles_are_refused():
    projection = dp.project([0.0, 1.0], -1e308, 1e308, rho=0.5)
    with pytest.raises(dp.ParameterError, match="order"):
        projection.moments(4)
