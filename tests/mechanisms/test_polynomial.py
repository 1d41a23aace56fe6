"""Polynomial projection: sensitivities, reconstruction, ends, errors, messages that add up."""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import legendre

import dpcore as dp
from dpcore.mechanisms import PolynomialProjection
from dpcore.summaries.polynomials import scheme
from tests import reference

QUIET = {"epsilon": 1e9, "delta": 0.5}  # hardly any noise
SCHEMES = [("legendre", "auto"), ("legendre", "equal"), ("moments", "equal")]


def record_totals(x, asked):
    """What records add to the totals, (n, m), before any rounding."""
    degree = asked.degree
    if asked.basis == "moments":
        return x[:, None] ** np.arange(1, degree + 2)
    p = legendre.legvander(x, degree + 1)
    before = np.concatenate([np.ones((x.size, 1)), p[:, :degree]], axis=1)
    return (before - p[:, 1:]) * np.array(asked.scales) / 2**30


def farthest(asked, points=1501):
    """The largest distance of two records' totals, on a grid that is dense at the ends."""
    totals = record_totals(np.cos(np.linspace(0, np.pi, points)), asked)
    squares = np.sum(totals**2, axis=1)
    return math.sqrt((squares[:, None] + squares - 2 * totals @ totals.T).max())


@pytest.mark.parametrize("degree", [1, 2, 3, 6, 7, 16, 32])
@pytest.mark.parametrize(("basis", "budgets"), SCHEMES)
def test_sensitivity_is_an_upper_bound_and_nearly_exact(basis, budgets, degree):
    asked = scheme(degree, basis, budgets, "exact")
    found = farthest(asked)
    assert found <= asked.change <= found * 1.0035


@pytest.mark.parametrize("degree", [1, 5, 40, 128])
def test_orthonormal_coefficients_move_by_the_root_of_two_at_every_degree(degree):
    assert math.sqrt(2) <= scheme(degree, "legendre", "equal", "exact").change < 1.0001 * 2**0.5


@pytest.mark.parametrize("degree", range(1, 13))
def test_the_papers_bound_for_moments_is_above_the_truth(degree):
    paper = scheme(degree, "moments", "equal", "paper").change
    constant = (5 * degree + 8) / 2 if degree % 2 == 0 else (5 * degree + 5) / 2
    assert paper == pytest.approx(math.sqrt(constant), rel=1e-6)
    assert scheme(degree, "moments", "equal", "exact").change < paper


@pytest.mark.parametrize("x", [-1.0, -0.7, 0.0, 0.3, 0.999])
def test_coefficients_of_one_record(x):
    asked = scheme(8, "legendre", "equal", "exact")
    expected = reference.legendre_steps(x, 8)
    assert record_totals(np.array([x]), asked)[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("degree", [2, 5, 8])
@pytest.mark.parametrize(("basis", "budgets"), SCHEMES)
def test_without_noise_the_curve_is_the_nearest_polynomial(basis, budgets, degree):
    values = np.random.default_rng(1).uniform(-0.9, 0.6, 40)
    mechanism = PolynomialProjection(**QUIET, degree=degree, basis=basis, budgets=budgets)
    grid = dp.Grid.uniform(-1, 1, 64)
    curve = dp.project(values, -1, 1, mechanism).curve(grid)
    points = grid.thresholds[:-1]
    expected = reference.projected(values, points, degree)
    if basis == "legendre":
        expected = reference.with_ends(
            lambda t: reference.projected(values, t, degree), points, degree
        )
    assert curve.counts[:-1] / 40 == pytest.approx(expected, abs=2e-3)
    assert curve.counts[-1] == 40


def test_moments_give_the_papers_coefficients():
    values = np.random.default_rng(2).uniform(-1, 1, 50)
    mechanism = PolynomialProjection(**QUIET, degree=6, basis="moments")
    moments = np.array([np.mean(values**i) for i in range(1, 8)])
    found = dp.project(values, -1, 1, mechanism).coefficients()
    assert found == pytest.approx(reference.moments_coefficients(moments, 6), abs=5e-3)


@pytest.mark.parametrize("budgets", ["auto", "equal"])
def test_both_ends_are_met_whatever_the_noise(budgets):
    mechanism = PolynomialProjection(0.1, 1e-6, 9, budgets=budgets)
    values = np.random.default_rng(1).uniform(-1, 1, 30)
    projection = dp.project(values, -1, 1, mechanism, rng=np.random.default_rng(3))
    curve = projection.curve(dp.Grid([-5.0, -1.0, 1.0, 2.0]))
    assert curve.counts == pytest.approx([0, 0, 30, 30], abs=1e-6)
    assert mechanism.polynomial_deviation(1).tolist() == [0]


@pytest.mark.needs_jit
@pytest.mark.parametrize(("basis", "budgets"), SCHEMES)
def test_the_polynomials_deviation_is_that_of_the_releases(basis, budgets):
    counts = np.array([5, 0, 3, 9, 1, 0, 0, 7])
    mechanism = PolynomialProjection(1.0, 1e-6, 4, basis, budgets)
    released = mechanism.release(counts, rng=np.random.default_rng(1), replicates=40_000)
    stated = mechanism.polynomial_deviation(8)
    assert released.std(axis=0) == pytest.approx(stated, rel=0.02, abs=1e-9)
    quiet = PolynomialProjection(**QUIET, degree=4, basis=basis, budgets=budgets).release(counts)
    bias = (released.mean(axis=0) - quiet)[:-1] / stated[:-1]
    assert np.abs(bias).max() < 5 / math.sqrt(40_000)
    assert np.all(released[:, -1] == 25)


def test_counted_records_sit_in_the_middles_of_their_cells():
    grid = dp.Grid.uniform(-3, 5, 200)
    counts = grid.count(np.random.default_rng(4).normal(1, 1, 500))
    middles = np.repeat(grid.thresholds - 0.02, counts)
    mechanism = PolynomialProjection(**QUIET)
    counted = dp.cdf_from_counts(counts, grid, mechanism, isotonic=False)
    summed = dp.project(middles, -3, 5, mechanism).curve(grid)
    assert counted.counts == pytest.approx(summed.counts, abs=1e-2)
    assert (
        counted.noise_deviation.tolist() == summed.noise_deviation.tolist() == [np.inf] * 199 + [0]
    )


@settings(max_examples=30)
@given(st.lists(st.integers(0, 60), max_size=4), st.sampled_from(["legendre", "moments"]))
def test_sums_of_chunks_add_up_bit_for_bit(cuts, basis):
    values = np.random.default_rng(5).normal(0, 1, 60)
    parts = [dp.polynomial_sums(part, -2, 2, 6, basis) for part in np.split(values, sorted(cuts))]
    whole = dp.polynomial_sums(values, -2, 2, 6, basis)
    assert np.array_equal(reduce(operator.add, parts).sums, whole.sums)
    assert whole.n == 60


@pytest.mark.parametrize(("basis", "budgets"), SCHEMES)
def test_moments_are_those_of_the_values(basis, budgets):
    values = np.random.default_rng(6).uniform(3, 9, 4000)
    mechanism = PolynomialProjection(**QUIET, degree=6, basis=basis, budgets=budgets)
    found = dp.project(values, 2, 10, mechanism).moments(4)
    assert found == pytest.approx([np.mean(values**i) for i in range(1, 5)], rel=1e-4)


@pytest.mark.needs_jit
@pytest.mark.parametrize(("basis", "budgets"), SCHEMES)
def test_moment_errors_are_those_of_the_releases(basis, budgets):
    values = np.random.default_rng(7).uniform(0, 1, 100)
    mechanism = PolynomialProjection(1.0, 1e-6, 4, basis, budgets)
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
    assert both.privacy == whole.privacy
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
        one + dp.project(values, -1, 1, PolynomialProjection(1.0, 1e-6, basis="moments"))
    with pytest.raises(TypeError):
        one + 1


def test_json_gives_the_same_projection():
    one = dp.project([0.25, 0.5], 0, 1, epsilon=1.0, delta=1e-6)
    again = dp.Projection.from_json(one.to_json())
    assert again == one
    with pytest.raises(dp.FormatError, match="totals must be a list of integers"):
        dp.Projection.from_json(one.to_json().replace('"totals": [', '"totals": [0.5, '))
    with pytest.raises(dp.FormatError, match=r'has to be "dpcore\.projection"'):
        dp.Projection.from_json('{"format": "dpcore.cdf"}')
    with pytest.raises(dp.FormatError, match=r'has to be "dpcore\.cdf"'):
        dp.CDF.from_json(one.to_json())
    with pytest.raises(dp.FormatError, match="basis must be one of"):
        dp.Projection.from_json(one.to_json().replace('"legendre"', '"fourier"'))


def test_releases_say_what_they_cost():
    one = dp.project([0.25, 0.5], 0, 1, epsilon=1.0, delta=1e-6)
    assert one.privacy == dp.Privacy(1.0, 1e-6)
    simulated = dp.project([0.25], 0, 1, rho=0.5, rng=np.random.default_rng(1))
    assert simulated.privacy == dp.Privacy(rho=0.5, simulated=True)
    curve = dp.cdf([0.25, 0.5], dp.Grid.uniform(0, 1, 8), PolynomialProjection(rho=0.5))
    assert curve.privacy == dp.Privacy(rho=0.5)
    assert curve.mechanism["degree"] == 32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 1.0}, "delta must be given beside epsilon"),
        ({}, "epsilon or rho must be given"),
        ({"epsilon": 1.0, "delta": 1e-6, "degree": 0}, "degree must be between 1 and 128; got 0"),
        ({"epsilon": 1.0, "delta": 1e-6, "degree": "best"}, "degree must be an integer or"),
        ({"rho": 1.0, "degree": 33, "basis": "moments"}, "degree must be between 1 and 32"),
        ({"rho": 1.0, "basis": "fourier"}, "basis must be one of"),
        ({"rho": 1.0, "sensitivity": "paper"}, 'sensitivity must be "exact", except for moments'),
        ({"rho": 1.0, "budgets": "best"}, "budgets must be one of"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(dp.ParameterError, match=message):
        PolynomialProjection(**arguments)


def test_bad_input_is_refused_before_anything_is_spent():
    mechanism = PolynomialProjection(1.0, 1e-6)
    with pytest.raises(dp.MissingValueError):
        dp.project([0.5, math.nan], 0, 1, mechanism)
    assert dp.project([0.5, math.nan], 0, 1, mechanism, nan_policy="omit").n == 1
    with pytest.raises(dp.ParameterError, match="upper must be greater than lower"):
        dp.project([0.5], 1, 1, mechanism)
    with pytest.raises(dp.ParameterError, match="values must hold at least one record"):
        dp.project([], 0, 1, mechanism)
    with pytest.raises(dp.ParameterError, match="epsilon must not be given with a mechanism"):
        dp.project([0.5], 0, 1, mechanism, epsilon=1.0)
    with pytest.raises(dp.DtypeError, match="mechanism must be a PolynomialProjection"):
        dp.project([0.5], 0, 1, dp.mechanisms.Dyadic(1.0))
    with pytest.raises(dp.ParameterError, match="sums must be of at least one record"):
        dp.project_sums(dp.polynomial_sums([], 0, 1, 32), mechanism)
    sums = dp.polynomial_sums([0.5], 0, 1, 32)
    with pytest.raises(dp.DtypeError, match="sums must be PolynomialSums"):
        dp.project_sums(sums.sums, mechanism)
    with pytest.raises(dp.ParameterError, match="sums must be of basis 'legendre' and degree 6"):
        dp.project_sums(sums, PolynomialProjection(1.0, 1e-6, 6))
    with pytest.raises(dp.ParameterError, match="order must be between 1 and 33"):
        dp.project_sums(sums, mechanism).moments(34)
    with pytest.raises(dp.DtypeError, match="grid must be a Grid"):
        dp.project_sums(sums, mechanism).curve([0.0, 1.0])
    for budget in ({"rho": 1e-30}, {"epsilon": 1e-12, "delta": 1e-9}):
        with pytest.raises(dp.ParameterError, match=f"{next(iter(budget))} is too small"):
            dp.project([math.nan], 0, 1, **budget)


def test_sums_that_are_none_are_refused():
    good = dp.polynomial_sums([0.5, 0.25], 0, 1, 4)
    with pytest.raises(dp.DtypeError, match="sums must be int64"):
        replace(good, sums=good.sums.astype(float))
    for change, message in [
        ({0: 5}, "sums must be of 0 to 8589934592 records"),
        ({0: 2**62}, "sums must be of 0 to 8589934592 records"),
        ({3: 2**62}, "sums must be sums of n numbers up to 1"),
        ({3: -(2**63)}, "sums must be sums of n numbers up to 1"),
    ]:
        wrong = good.sums.copy()
        for k, value in change.items():
            wrong[k] = value
        with pytest.raises(dp.ParameterError, match=message):
            replace(good, sums=wrong)
    with pytest.raises(dp.ParameterError, match=r"lower must be 0\.0 in both; got -1\.0"):
        good + dp.polynomial_sums([0.5], -1, 1, 4)
    with pytest.raises(dp.ParameterError, match="degree must be 4 in both; got 5"):
        good + dp.polynomial_sums([0.5], 0, 1, 5)
    most = good.sums.copy()
    most[0] = 2**61
    with pytest.raises(dp.ParameterError, match="sums must be of at most 8589934592 records"):
        replace(good, sums=most) + good


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint32, np.int64])
@pytest.mark.parametrize("degree", [15, 26, 31, 100])
def test_numpy_integers_are_degrees_like_others(kind, degree):
    mechanism = PolynomialProjection(1.0, 1e-6, kind(degree))
    assert mechanism == PolynomialProjection(1.0, 1e-6, degree)
    assert mechanism.scheme.change >= 2.0
    assert mechanism.scheme.change == PolynomialProjection(1.0, 1e-6, degree).scheme.change
    assert dp.project([0.5], 0, 1, mechanism).to_json()


@pytest.mark.parametrize(("lower", "upper"), [(1.0, np.nextafter(1.0, 2.0)), (0.0, 5e-324)])
def test_bounds_that_are_next_to_each_other(lower, upper):
    mechanism = PolynomialProjection(rho=1e6)
    curve = dp.project([lower, upper], lower, upper, mechanism).curve(dp.Grid([lower, upper]))
    assert curve.counts == pytest.approx([0, 2], abs=1e-2)


def test_moments_beyond_doubles_are_refused():
    projection = dp.project([0.0, 1.0], -1e308, 1e308, rho=0.5)
    with pytest.raises(dp.ParameterError, match="order must be lower: some moments are"):
        projection.moments(4)


def test_schemes_cannot_be_changed():
    asked = PolynomialProjection(rho=0.5).scheme
    with pytest.raises(ValueError, match="read-only"):
        asked.curve.matrix[0, 0] = 1.0


def test_infinite_values_count_as_the_bounds():
    beyond = dp.polynomial_sums([-math.inf, math.inf, 7.0], 0, 1, 9)
    assert np.array_equal(beyond.sums, dp.polynomial_sums([0.0, 1.0, 1.0], 0, 1, 9).sums)


@pytest.mark.needs_jit
def test_workers_do_not_change_releases():
    counts = np.arange(50)
    mechanism = PolynomialProjection(rho=0.1)
    one, two = (
        mechanism.release(counts, rng=np.random.default_rng(1), replicates=5000, workers=workers)
        for workers in (1, 2)
    )
    assert np.array_equal(one, two)


def test_a_grid_of_one_cell():
    mechanism = PolynomialProjection(rho=0.1)
    assert mechanism.release(np.array([7])).tolist() == [7]
    assert mechanism.noise_deviation(1).tolist() == [0]


def test_replaced_bounds_are_not_the_same_projection():
    one = dp.project([0.25, 0.5], 0, 1, epsilon=1.0, delta=1e-6)
    assert replace(one, lower=-1.0) != one
