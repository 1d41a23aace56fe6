"""Totals of unary encodings: sums of bits, estimates without bias, and bad arguments."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import dpcore as dp
from dpcore.trust.models.unary import UnaryEncoding
from tests.trust.unary_bits import fits, unpacked


@pytest.mark.parametrize(
    ("rows", "size"), [(0, 5), (1, 1), (1, 64), (3, 65), (300, 63), (301, 1000), (40, 9000)]
)
def test_totals_are_the_sums_of_bits(rows, size):
    reports = np.random.default_rng(1).integers(0, 2**64, (rows, -(-size // 64)), dtype=np.uint64)
    totals = UnaryEncoding(1).totals(reports, size)
    assert totals.dtype == np.int64
    assert np.array_equal(totals, unpacked(reports, size).sum(axis=0, dtype=np.int64))
    again = UnaryEncoding(1).totals(np.asfortranarray(reports), size)
    assert np.array_equal(totals, again)


@given(st.integers(0, 700), st.integers(1, 200), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_totals_of_any_shape(rows, size, seed):
    rng = np.random.default_rng(seed)
    reports = rng.integers(0, 2**64, (rows, -(-size // 64)), dtype=np.uint64)
    true = unpacked(reports, size).sum(axis=0, dtype=np.int64)
    assert np.array_equal(UnaryEncoding(1).totals(reports, size), true)


@pytest.mark.needs_jit
def test_totals_of_more_reports_than_the_planes_hold():
    reports = np.full((2**20 + 12345, 1), 2**64 - 1, np.uint64)
    reports[::3] = 5
    bits = unpacked(reports[:6])
    thirds = -(-reports.shape[0] // 3)
    true = np.where(bits[0], reports.shape[0], reports.shape[0] - thirds)
    assert np.array_equal(UnaryEncoding(1).totals(reports, 64), true)


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1, 5])
def test_estimates_are_unbiased_with_the_stated_variance(epsilon):
    encoding, clients, repeats = UnaryEncoding(epsilon), 300, 1200
    counts = np.array([200, 60, 0, 0, 10])
    rng = np.random.default_rng(2)
    totals = [encoding.perturbed_totals(counts, clients, rng, workers=1) for _ in range(repeats)]
    check_moments(encoding, counts, clients, np.array(totals))
    check_moments(encoding, counts, clients, encoding.simulated_totals(counts, clients, rng, 30000))


def check_moments(encoding, counts, clients, totals):
    estimates = encoding.estimates(totals, clients)
    variances = np.array([encoding.variance(clients, int(count)) for count in counts])
    errors = np.sqrt(variances / len(totals))
    assert np.all(np.abs(estimates.mean(axis=0) - counts) < 5 * errors)
    assert np.all(np.abs(estimates.var(axis=0) / variances - 1) < 6 * np.sqrt(2 / len(totals)))


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [0.7, 4])
def test_totals_of_reports_and_simulated_ones_have_one_law(epsilon):
    """Worked out for five clients: two have value 0, one has value 1, and two have none."""
    encoding, counts, repeats = UnaryEncoding(epsilon), np.array([2, 1, 0]), 20000
    q, rng = float(encoding.q), np.random.default_rng(4)
    laws = [
        np.convolve(binom.pmf(range(n + 1), n, 0.5), binom.pmf(range(6 - n), 5 - n, q))
        for n in counts
    ]
    expected = repeats * np.einsum("i,j,k->ijk", *laws).reshape(-1)
    reports = encoding.perturb(np.tile([0, 0, 1, -1, 7], repeats), 3, rng)
    made = unpacked(reports, 3).reshape(repeats, 5, 3).sum(axis=1, dtype=np.int64)
    simulated = encoding.simulated_totals(counts, 5, rng, repeats)
    for totals in (made, simulated):
        found = np.bincount(totals @ [36, 6, 1], minlength=216)
        assert fits(found, expected)
    one_by_one = np.array([encoding.perturbed_totals(counts, 5, rng, 1) for _ in range(1500)])
    assert fits(np.bincount(one_by_one @ [36, 6, 1], minlength=216), expected * 1500 / repeats)


def test_estimates_are_not_clipped():
    encoding = UnaryEncoding(1)
    estimates = encoding.estimates([[0, 10], [5, 3]], 10)
    assert estimates.shape == (2, 2)
    assert estimates[0, 0] < 0
    assert estimates[0, 1] > 10
    q = float(encoding.q)
    assert np.allclose(estimates, (np.array([[0, 10], [5, 3]]) - 10 * q) / (0.5 - q), rtol=1e-13)
    assert encoding.variance(10) == pytest.approx(10 * q * (1 - q) / (0.5 - q) ** 2, rel=1e-13)
    mixed = (6 * q * (1 - q) + 4 / 4) / (0.5 - q) ** 2
    assert encoding.variance(10, 4) == pytest.approx(mixed, rel=1e-13)


def test_shapes():
    encoding = UnaryEncoding(2.5)
    assert encoding.epsilon == Fraction(5, 2)
    assert encoding == UnaryEncoding(Fraction(5, 2))
    assert encoding.perturb(np.empty(0, np.int64), 65).shape == (0, 2)
    assert encoding.perturb([3, -1], 65).dtype == np.uint64
    assert encoding.perturbed_totals([0, 0], 0).tolist() == [0, 0]
    rng = np.random.default_rng(1)
    assert encoding.simulated_totals([1, 2], 9, rng).shape == (2,)
    assert encoding.simulated_totals([1, 2], 9, rng, 4).shape == (4, 2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda e: UnaryEncoding(0), dp.ParameterError, "epsilon must be positive"),
        (
            lambda e: UnaryEncoding(41),
            dp.ParameterError,
            "epsilon must be between 2\\^-20 and 40; got 41",
        ),
        (lambda e: UnaryEncoding(2.0**-21), dp.ParameterError, "between 2\\^-20 and 40"),
        (lambda e: UnaryEncoding("1"), dp.DtypeError, "epsilon must be a real number"),
        (lambda e: e.perturb([1], 0), dp.ParameterError, "size must be between 1"),
        (lambda e: e.perturb([1.0], 3), dp.DtypeError, "values must hold integers"),
        (lambda e: e.perturb([[1]], 3), dp.ParameterError, "values must have one dimension"),
        (lambda e: e.perturb([1], 3, 7), dp.DtypeError, "no integer seeds"),
        (lambda e: e.perturb([1], 3, workers=0), dp.ParameterError, "workers must be"),
        (lambda e: e.totals(np.zeros((2, 1), int), 3), dp.DtypeError, "reports must hold uint64"),
        (lambda e: e.totals(np.zeros((2, 1), np.uint64), 65), dp.ParameterError, r"shape \(R, 2\)"),
        (lambda e: e.estimates([0.5], 3), dp.DtypeError, "totals must hold integers"),
        (lambda e: e.estimates([1], -1), dp.ParameterError, "reports must be between 0"),
        (lambda e: e.variance(3, 4), dp.ParameterError, "count must be between 0 and 3"),
        (lambda e: e.simulated_totals([1], 3, None), dp.DtypeError, "rng must be a generator"),
        (lambda e: e.perturbed_totals([1, 3], 3), dp.ParameterError, "reports must not be less"),
        (lambda e: e.perturbed_totals([[1]], 3), dp.ParameterError, "counts must have the shape"),
        (lambda e: e.perturbed_totals([1], 3, 7), dp.DtypeError, "no integer seeds"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call(UnaryEncoding(1))
