"""Polynomial projection: sensitivities, reconstruction, ends, errors, parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
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
    mechanism = PolynomialProjection(0.1, 9, budgets=budgets, delta=1e-6)
    values = np.random.default_rng(1).uniform(-1, 1, 30)
    projection = dp.project(values, -1, 1, mechanism, rng=np.random.default_rng(3))
    curve = projection.curve(dp.Grid([-5.0, -1.0, 1.0, 2.0]))
    assert curve.counts == pytest.approx([0, 0, 30, 30], abs=1e-6)
    assert mechanism.polynomial_deviation(1).tolist() == [0]


@pytest.mark.needs_jit
@pytest.mark.parametrize(("basis", "budgets"), SCHEMES)
def test_the_polynomials_deviation_is_that_of_the_releases(basis, budgets):
    counts = np.array([5, 0, 3, 9, 1, 0, 0, 7])
    mechanism = PolynomialProjection(1.0, 4, basis, budgets, delta=1e-6)
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


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("degree", [15, 100])
def test_numpy_integers_are_degrees_like_others(kind, degree):
    mechanism = PolynomialProjection(1.0, kind(degree), delta=1e-6)
    plain = PolynomialProjection(1.0, degree, delta=1e-6)
    assert mechanism == plain
    assert mechanism.scheme.change == plain.scheme.change >= 2.0
    assert dp.project([0.5], 0, 1, mechanism).to_json()


def test_schemes_cannot_be_changed():
    asked = PolynomialProjection(rho=0.5).scheme
    with pytest.raises(ValueError, match="read-only"):
        asked.curve.matrix[0, 0] = 1.0


def test_a_grid_of_one_cell():
    mechanism = PolynomialProjection(rho=0.1)
    assert mechanism.release(np.array([7])).tolist() == [7]
    assert mechanism.noise_deviation(1).tolist() == [0]
