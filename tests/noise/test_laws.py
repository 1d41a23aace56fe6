"""Draws from laws: shapes, types, generators, and parameters that are refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.noise import distributions, plans
from dpcore.noise.sources import GeneratorSource


def test_shapes_and_dtype():
    assert dp.noise.discrete_laplace(3, 5).shape == (5,)
    assert dp.noise.discrete_laplace(3, (2, 3)).shape == (2, 3)
    assert dp.noise.discrete_laplace(3, 0).dtype == np.int64
    assert dp.noise.discrete_laplace(3, np.int32(4)).shape == (4,)


def test_gaussian_shapes_and_dtype():
    assert dp.noise.discrete_gaussian(3, 5).shape == (5,)
    assert dp.noise.discrete_gaussian(3, (2, 3)).shape == (2, 3)
    assert dp.noise.discrete_gaussian(3, 0).dtype == np.int64
    assert not np.any(dp.noise.discrete_gaussian(2.0**-50, 100))


@pytest.mark.parametrize(
    ("function", "law"),
    [
        (dp.noise.discrete_laplace, dp.noise.DiscreteLaplace),
        (dp.noise.discrete_gaussian, dp.noise.DiscreteGaussian),
    ],
)
def test_a_law_fills_arrays_with_the_draws_of_its_function(function, law):
    draws = np.empty(100, np.int64)
    law(Fraction(7, 3)).fill(draws, GeneratorSource(np.random.default_rng(5)))
    assert draws.tolist() == function(Fraction(7, 3), 100, np.random.default_rng(5)).tolist()
    assert law(2.5) == law(Fraction(5, 2))


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "fill",
    [
        dp.noise.DiscreteLaplace(15).fill,
        dp.noise.DiscreteLaplace(15).fill_once,
        dp.noise.DiscreteGaussian(15).fill,
        dp.noise.DiscreteGaussian(10**9).fill,
    ],
)
@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros(4), DtypeError),
        (np.zeros(4, np.int8), DtypeError),
        (np.zeros(4, ">i8"), DtypeError),
        ([0, 0], DtypeError),
        (np.zeros(8, np.int64)[::2], ParameterError),
        (read_only(np.zeros(4, np.int64)), ParameterError),
    ],
)
def test_what_cannot_be_filled(fill, out, error):
    with pytest.raises(error, match="out must be"):
        fill(out, GeneratorSource(np.random.default_rng(5)))


@pytest.mark.parametrize("law", [dp.noise.DiscreteLaplace(15), dp.noise.DiscreteGaussian(10**9)])
def test_arrays_of_any_shape_are_filled(law):
    row, table = np.empty(10, np.int64), np.empty((5, 2), np.int64)
    for out in (row, table):
        law.fill(out, GeneratorSource(np.random.default_rng(5)))
    assert table.reshape(-1).tolist() == row.tolist()


@pytest.mark.parametrize("size", [3, 5000])
def test_nothing_is_kept_of_a_scale_that_is_used_once(size):
    kept, once = (np.empty(size, np.int64) for _ in range(2))
    law = dp.noise.DiscreteLaplace(Fraction(1234567, 891))
    before = plans.kept_laplace_digits.cache_info(), distributions.kept_floors.cache_info()
    law.fill_once(once, GeneratorSource(np.random.default_rng(5)))
    assert (
        plans.kept_laplace_digits.cache_info(),
        distributions.kept_floors.cache_info(),
    ) == before
    law.fill(kept, GeneratorSource(np.random.default_rng(5)))
    assert kept.tolist() == once.tolist()
    assert plans.kept_laplace_digits.cache_info() != before[0]


@pytest.mark.parametrize("bits", [2, 31, 53])
@pytest.mark.parametrize("exact", [Fraction(1, 3), Fraction(2**31 - 1), Fraction(10**15 + 1, 7), 1])
def test_fractions_are_rounded_up_to_so_many_bits(exact, bits):
    short = dp.noise.rounded_up(Fraction(exact), bits)
    assert exact <= short < exact + max(1, exact * Fraction(2, 2**bits))
    assert short == int(short) or short.numerator.bit_length() <= bits + 1
    assert dp.noise.rounded_up(short, bits) == short


def test_floats_ints_and_fractions_of_one_value_are_one_scale():
    draws = [
        dp.noise.discrete_laplace(scale, 100, np.random.default_rng(5)).tolist()
        for scale in (2.5, Fraction(5, 2), np.float64(2.5))
    ]
    assert draws[0] == draws[1] == draws[2]


def test_a_generator_is_advanced_so_two_calls_differ():
    rng = np.random.default_rng(5)
    first, second = (dp.noise.discrete_laplace(50, 100, rng) for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("scale", "size", "rng", "error", "words"),
    [
        (0, 3, None, dp.ParameterError, "scale must be positive and finite; got 0"),
        (-1.5, 3, None, dp.ParameterError, "scale must be positive and finite; got -1.5"),
        (float("nan"), 3, None, dp.ParameterError, "scale must be finite; got nan"),
        (float("inf"), 3, None, dp.ParameterError, "scale must be finite; got inf"),
        (2**53, 3, None, dp.ParameterError, "below 2\\^53"),
        (1e-30, 3, None, dp.ParameterError, "below 2\\^63"),
        ("2", 3, None, dp.DtypeError, "scale must be a real number; got '2'"),
        (True, 3, None, dp.DtypeError, "scale must be a real number"),
        (1, -3, None, dp.ParameterError, "size must be between 0"),
        (1, 2.0, None, dp.DtypeError, "size must be an integer"),
        (1, 3, 7, dp.DtypeError, "rng must be a generator"),
        (1, 3, np.random.RandomState(1), dp.DtypeError, "got RandomState"),
    ],
)
def test_bad_arguments(scale, size, rng, error, words):
    with pytest.raises(error, match=words):
        dp.noise.discrete_laplace(scale, size, rng)


@pytest.mark.parametrize(
    ("sigma_squared", "size", "rng", "error", "words"),
    [
        (0, 3, None, dp.ParameterError, "sigma_squared must be positive and finite; got 0"),
        (float("inf"), 3, None, dp.ParameterError, "sigma_squared must be finite; got inf"),
        (2**53, 3, None, dp.ParameterError, "below 2\\^53"),
        (Fraction(1, 2**53), 3, None, dp.ParameterError, "below 2\\^53"),
        ("2", 3, None, dp.DtypeError, "sigma_squared must be a real number; got '2'"),
        (1, -3, None, dp.ParameterError, "size must be between 0"),
        (1, 3, 7, dp.DtypeError, "rng must be a generator"),
    ],
)
def test_bad_gaussian_arguments(sigma_squared, size, rng, error, words):
    with pytest.raises(error, match=words):
        dp.noise.discrete_gaussian(sigma_squared, size, rng)
