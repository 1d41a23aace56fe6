"""Matching pursuit: its functions, its sensitivity, its fit, its noise, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.mechanisms import PolynomialProjection
from dpcore.papers.matching_pursuit import MatchingPursuit, functions_of, pursued, span
from dpcore.testing import check_mechanism
from tests.reference import papers as reference

DICTIONARIES = ["legendre", "splines", "distributions", "all"]
UNIT = 2.0**-20


def test_functions_are_those_of_their_definitions():
    x = np.linspace(-1, 1, 9)
    legendre, splines, distributions = (functions_of(name, x) for name in DICTIONARIES[:3])
    assert legendre[:, 2] == pytest.approx((3 * x**2 - 1) / 2)
    assert splines.sum(axis=1) == pytest.approx(6)  # each of the six sets is a partition of one
    knots = np.arange(-3.0, 8.0) / 2 - 1  # four intervals
    wanted = [reference.b_spline(point, knots.tolist(), 3) for point in x]
    assert splines[:, 9:16] == pytest.approx(np.array(wanted), abs=1e-9)
    assert distributions[:, 3:8] == pytest.approx(
        norm.cdf((x[:, None] - [-1, -0.5, 0, 0.5, 1]) * 4)
    )
    assert np.array_equal(functions_of("all", x), np.hstack([legendre, splines, distributions]))


@pytest.mark.parametrize("size", [1, 2, 3, 8, 33])
@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_the_sensitivity_is_the_largest_of_all_pairs(dictionary, size):
    of = span(dictionary, size)
    exact = [[int(step) for step in row] for row in of.steps]
    brute = max(
        sum((a - b) ** 2 for a, b in zip(first, second, strict=True))
        for first in exact
        for second in exact
    )
    stated = of.change / UNIT
    assert stated**2 >= brute
    assert stated**2 <= brute * (1 + 1e-8) + 1e-9 * 4.0**20
    assert of.change <= np.sqrt(size) * (1 + 1e-5)  # Bessel, and rounding
    if size > 1:
        assert of.change >= 0.7 * np.sqrt(size)


@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_neighbouring_sums_are_at_most_so_far_apart(dictionary):
    rng, of = np.random.default_rng(1), span(dictionary, 64)
    for _ in range(200):
        counts = rng.integers(0, 5, 64)
        other, (first, second) = counts.copy(), rng.integers(64, size=2)
        other[first] += 1
        other[second] -= 1
        apart = (counts - other) @ of.steps
        assert np.linalg.norm(apart * UNIT) <= of.change


@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_a_basis_is_orthonormal_and_spans_the_functions(dictionary):
    of = span(dictionary, 128)
    assert of.basis.T @ of.basis == pytest.approx(np.eye(of.basis.shape[1]), abs=1e-9)
    assert np.linalg.norm(of.atoms, axis=0) == pytest.approx(1)
    functions = functions_of(dictionary, (2.0 * np.arange(1, 129) - 128) / 128)
    functions = functions / np.linalg.norm(functions, axis=0)
    assert of.basis @ of.atoms == pytest.approx(functions, abs=1e-5)
    counts = np.arange(128)
    wanted = of.basis.T @ np.cumsum(counts)
    assert counts @ of.steps * UNIT == pytest.approx(wanted, abs=0.01)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(DICTIONARIES), st.integers(1, 6))
def test_the_fit_is_that_of_the_definition(seed, dictionary, most):
    rng, of = np.random.default_rng(seed), span(dictionary, 48)
    curve = np.cumsum(rng.exponential(size=48) ** 3)
    curve = of.basis @ (of.basis.T @ curve)
    least = 0.02 * np.linalg.norm(curve)
    fitted, chosen = reference.matching_pursuit(curve, of.basis @ of.atoms, least, most)
    found = of.basis @ pursued(of.basis.T @ curve, of.atoms, least, most)
    assert found == pytest.approx(fitted, abs=1e-6 * np.linalg.norm(curve))
    assert len(set(chosen)) == len(chosen)


def test_a_curve_of_few_functions_is_found_again():
    grid, x = dp.Grid.uniform(-1, 1, 256), np.arange(1, 257) / 128 - 1
    curve = norm.cdf(x * 8)  # one of the dictionary
    counts = np.rint(1e6 * np.diff(curve / curve[-1], prepend=0)).astype(np.int64)
    for dictionary in ("distributions", "all"):
        found = dp.cdf_from_counts(counts, grid, MatchingPursuit(1.0, dictionary, delta=1e-6))
        assert np.max(np.abs(found.counts - np.cumsum(counts))) < 200


@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_it_is_a_mechanism(dictionary):
    check_mechanism(MatchingPursuit(1.0, dictionary, atoms=4, delta=1e-6))
    check_mechanism(MatchingPursuit(rho=0.5, dictionary=dictionary), size=1)


def test_noise_is_that_of_projections_for_its_sensitivity():
    for budget in ({"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}):
        ours, theirs = MatchingPursuit(**budget), PolynomialProjection(**budget, budgets="equal")
        each = ours.noise(256).variance / span("all", 256).change ** 2
        # its orthonormal coefficients move by sqrt(2), and scales are part of the totals
        assert each == pytest.approx(theirs.noise().variance / 2, rel=1e-3)


def test_the_noise_in_the_products_is_the_stated_one(monkeypatch):
    seen = []

    def watched(products, *others):
        seen.append(products)
        return products

    monkeypatch.setattr("dpcore.papers.matching_pursuit.pursued", watched)
    mechanism, counts = MatchingPursuit(rho=0.02), np.full(64, 50)
    released = mechanism.release(counts, rng=np.random.default_rng(3), replicates=400)
    noise, of = np.array(seen), span("all", 64)
    exact = of.basis.T @ np.cumsum(counts)
    assert (noise - exact).mean() == pytest.approx(0, abs=0.3)
    assert (noise - exact).std() == pytest.approx(np.sqrt(mechanism.noise(64).variance), rel=0.02)
    assert np.all(released[:, -1] == counts.sum())


def test_curves_are_near_the_truth_and_sparse_ones_have_few_functions():
    x = (np.arange(512) + 0.5) / 512
    density = x * (1 - x) ** 4
    counts = np.random.default_rng(1).multinomial(10**6, density / density.sum())
    truth = np.cumsum(counts)
    errors = {
        atoms: np.abs(MatchingPursuit(1.0, atoms=atoms, delta=1e-6).release(counts) - truth).max()
        for atoms in (1, 32)
    }
    assert 5 * errors[32] < errors[1]


@pytest.mark.parametrize(
    ("how", "error", "argument"),
    [
        ({"dictionary": "fourier"}, ParameterError, "dictionary"),
        ({"atoms": 0}, ParameterError, "atoms"),
        ({"atoms": 1.5}, DtypeError, "atoms"),
        ({"delta": None}, ParameterError, "delta"),
        ({"epsilon": -1.0}, ParameterError, "epsilon"),
    ],
)
def test_bad_parameters_are_named(how, error, argument):
    with pytest.raises(error) as caught:
        MatchingPursuit(**{"epsilon": 1.0, "delta": 1e-6} | how)
    assert caught.value.argument == argument


def test_too_many_cells_or_records_cost_nothing():
    mechanism = MatchingPursuit(1.0, delta=1e-6)
    wide, many = np.ones(2**12 + 1, int), np.array([2**33, 1])
    with dp.Budget(2.0, delta=1e-5) as budget:
        for counts in (wide, many):
            with pytest.raises(ParameterError, match="counts"):
                mechanism.release(counts)
        with pytest.raises(ParameterError):
            dp.cdf([1.0], dp.Grid.uniform(0, 1, 2**12 + 1), mechanism)
        assert budget.log == ()
        mechanism.release(np.ones(4, int))
        assert len(budget.log) == 1
