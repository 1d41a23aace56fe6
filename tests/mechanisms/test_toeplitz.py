"""The square-root factorisation: exact sensitivity, exact integers, the predicted error."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.mechanisms import Dyadic, Hierarchy, ToeplitzGaussian
from dpcore.mechanisms.toeplitz import exact_convolution, factors
from tests import reference

RELATIONS = ["replace-one", "add-or-remove-one"]


@pytest.mark.parametrize("size", [1, 2, 7, 60])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_strategy_and_errors_are_those_of_the_matrices(size, neighbours):
    assert (
        factors(size, True).strategy.tolist() == reference.square_root_matrix(size)[:, 0].tolist()
    )
    mechanism = ToeplitzGaussian(rho=0.4, neighbours=neighbours)
    expected = reference.square_root_errors(
        size, mechanism.noise(size).variance, neighbours == "replace-one"
    )
    assert mechanism.noise_deviation(size) ** 2 == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 31, 64])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbours_spend_more_and_some_spend_the_budget(size, neighbours):
    matrix = reference.square_root_matrix(size)
    columns = [matrix[:, j] for j in range(size)]
    changes = columns
    if neighbours == "replace-one":
        changes = [a - b for i, a in enumerate(columns) for b in columns[:i]]
    most = max((int((change**2).sum()) for change in changes), default=0)
    sigma_squared = ToeplitzGaussian(rho=0.4, neighbours=neighbours).noise(size).sigma_squared
    spent = Fraction(most) / (2 * sigma_squared)
    assert spent <= Fraction(0.4)
    assert size == 1 or spent > Fraction(0.4) * (1 - Fraction(1, 2**26))


@settings(max_examples=50)
@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=200))
def test_integers_are_convolved_exactly(values):
    counts, both = np.array(values), factors(len(values), True)
    exact = np.convolve(counts.astype(object), both.strategy.astype(object))[: counts.size]
    assert exact_convolution(counts, both.transforms[0]).tolist() == exact.tolist()


def test_large_counts_on_large_grids_are_convolved_exactly():
    counts = np.random.default_rng(1).integers(0, 2**36, 2**16)
    both = factors(counts.size, True)
    strategy, found = both.strategy, exact_convolution(counts, both.transforms[0])
    for at in (0, 1, 1000, 40_000, counts.size - 1):
        assert found[at] == sum(
            map(int.__mul__, counts[: at + 1].tolist(), strategy[at::-1].tolist())
        )


def test_the_error_for_one_more_or_less_is_the_known_factorisations():
    # sigma = 1 for the unit sensitivity: the sum of c_k^2 (Henzinger, Upadhyay & Upadhyay 2023)
    size = 2**12
    k = np.arange(1, size)
    known = 1.0 + np.sum(np.cumprod((2 * k - 1) / (2 * k)) ** 2)
    found = ToeplitzGaussian(rho=0.5, neighbours="add-or-remove-one").noise_deviation(size).max()
    assert found == pytest.approx(known, rel=1e-3)


def test_it_is_the_most_accurate_for_large_grids():
    root, tree, hierarchy = (
        mechanism.noise_deviation(2**12).max()
        for mechanism in (ToeplitzGaussian(rho=0.5), Dyadic(rho=0.5), Hierarchy(rho=0.5))
    )
    assert root < 0.8 * hierarchy < 0.8 * tree
